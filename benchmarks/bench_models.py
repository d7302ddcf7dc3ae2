"""Reading a reply with four calls and answering it, and telling a model of 1,000 tools, against `json` on the same."""

from __future__ import annotations

import json
from copy import deepcopy
from itertools import count

import _common as common

from executor import ToolDefinition, ToolResult, models

CALLS, TOOLS = 4, 1_000
READ, FIRST, SHARE = 60e-6, 20e-3, 0.5
NAMES = {f"tool{number}": f"ns:tool{number}" for number in range(CALLS)}
REPLY = {
    "type": "message",
    "role": "assistant",
    "content": [
        {"type": "text", "text": "One moment."},
        *(
            {"type": "tool_use", "id": f"toolu_{number}", "name": f"tool{number}", "input": {"city": "Oslo", "days": 3}}
            for number in range(CALLS)
        ),
    ],
}
CHAT = {
    "choices": [
        {
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": f"c{number}", "function": {"name": f"tool{number}", "arguments": '{"city": "Oslo"}'}}
                    for number in range(CALLS)
                ],
            }
        }
    ]
}


def reading(reply: object, form: str, ids: str) -> None:
    """Print what it costs to read a reply and to answer it."""
    results = [ToolResult(f"{ids}{number}", True, content="21 degrees") for number in range(CALLS)]
    answered = models.read(reply, form, NAMES).answer(results)

    def turn() -> object:
        return models.read(reply, form, NAMES).answer(results)

    def in_json() -> object:
        return json.loads(text), json.dumps(answered)

    text = json.dumps(reply)
    times = common.rounds(200, fast=50)
    ours, plain = common.medians(common.per_call(turn, 20), common.per_call(in_json, 20), times=times)
    against = f"its JSON read and written: {common.micro(plain)}"
    common.row(
        f"read + answer of {CALLS} calls, {form}", common.micro(ours), against, common.micro(READ), holds=ours <= READ
    )


def definitions(number: int) -> list[ToolDefinition]:
    """Tools whose schemas no other round has had."""
    schemas = [deepcopy(common.PAIR_SCHEMA) | {"title": f"Number {number}"} for _ in range(TOOLS)]
    return [ToolDefinition(f"ns:tool{place}", "Adds.", schema) for place, schema in enumerate(schemas)]


def telling(form: str) -> None:
    """Print what it costs to tell of the tools, for the first time and again."""
    numbers = count()
    known = definitions(next(numbers))

    def first() -> float:
        new = definitions(next(numbers))
        return common.per_call(lambda: models.tools(new, form))()

    again = common.per_call(lambda: models.tools(known, form))
    in_json = common.per_call(lambda: [json.loads(json.dumps(each.input_schema)) for each in known])
    again()
    new, kept, plain = common.medians(first, again, in_json, times=common.rounds(15, fast=7))
    against = f"their schemas to JSON and back: {common.milli(plain)}"
    what = f"`tools` of {TOOLS:,}, {form}"
    common.row(what, common.milli(new), against, common.milli(FIRST), holds=new <= FIRST)
    common.row(f"{what}, again", common.milli(kept), against, f"{SHARE:g} of the first", holds=kept <= SHARE * new)


def main() -> None:
    reading(REPLY, "anthropic", "toolu_")
    reading(CHAT, "openai-chat", "c")
    telling("anthropic")
    telling("gemini")


if __name__ == "__main__":
    main()

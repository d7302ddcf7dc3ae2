"""Reading a reply with four calls and answering it, and telling a model of 1,000 tools, against `json` on the same."""

from __future__ import annotations

import json
from copy import deepcopy

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


def telling(form: str) -> None:
    """Print what it costs to tell of the tools, for the first time and again."""
    definitions = [ToolDefinition(f"ns:tool{number}", "Adds.", deepcopy(common.PAIR_SCHEMA)) for number in range(TOOLS)]

    def first() -> object:
        fresh = [ToolDefinition(each.name, each.description, dict(each.input_schema)) for each in definitions]  # type: ignore[arg-type]  # they are dicts
        return measured(lambda: models.tools(fresh, form))

    def in_json() -> float:
        return measured(lambda: [json.loads(json.dumps(each.input_schema)) for each in definitions])

    measured = lambda fn: common.per_call(fn)()  # noqa: E731 -- a name for it
    again = common.per_call(lambda: models.tools(definitions, form))
    again()
    times = common.rounds(15, fast=5)
    new, kept, plain = common.medians(first, again, in_json, times=times)
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

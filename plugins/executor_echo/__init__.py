"""The smallest plugin: one tool. Copy this file to start your own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor import current_call, hookimpl

if TYPE_CHECKING:
    from executor.hookspecs import RegisterTool

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "What to say back."}},
    "required": ["text"],
    "additionalProperties": False,
}


def echo(args: dict[str, Any]) -> dict[str, Any]:
    """Say the text back, word by word on the live output, and as the result."""
    for word in args["text"].split():
        current_call().emit(f"{word}\n")
    return {"text": args["text"]}


@hookimpl
def executor_register_tools(register: RegisterTool) -> None:
    register("echo", echo, schema=SCHEMA, annotations={"read_only": True, "idempotent": True})

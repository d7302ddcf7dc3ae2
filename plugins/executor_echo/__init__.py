"""The smallest plugin: one tool. Copy this file to start your own."""

from __future__ import annotations

from typing import Any

from executor import current_call, hookimpl


def echo(args: dict[str, Any]) -> dict[str, Any]:
    """Say the text back, word by word on the live output, and as the result."""
    call = current_call()
    for word in args["text"].split():
        if call is not None:
            call.emit(word + "\n")
    return {"text": args["text"]}


@hookimpl
def executor_register_tools(register: Any) -> None:
    register(
        "echo",
        echo,
        schema={
            "type": "object",
            "properties": {"text": {"type": "string", "description": "What to say back."}},
            "required": ["text"],
            "additionalProperties": False,
        },
        annotations={"read_only": True, "idempotent": True},
    )

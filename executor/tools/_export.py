"""A tool in the words of a model API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.values import ToolDefinition


# What each model API calls a tool's parts, and the longest name it takes.
FORMATS = ("mcp", "openai", "openai-chat", "anthropic", "gemini")
_LONGEST = {"mcp": 128, "anthropic": 128, "openai": 64, "openai-chat": 64, "gemini": 64}


def wire_name(name: str, form: str) -> str:
    """*name* as the model API *form* allows it: ``:`` becomes ``__``, ``.`` becomes ``_``, too long ones are cut."""
    if form == "mcp" and ":" not in name:
        return name
    wire = name.replace(":", "__").replace(".", "_")
    if len(wire) > _LONGEST[form]:
        import hashlib

        wire = wire[: _LONGEST[form] - 9] + "_" + hashlib.sha256(name.encode()).hexdigest()[:8]
    return wire


def wire_names(names: list[str], form: str) -> dict[str, str]:
    """
    From the names a model API sees back to the tools' own.

    Raises:
        ValueError: Two tools would get one name.
    """
    result: dict[str, str] = {}
    for name in names:
        wire = wire_name(name, form)
        other = result.setdefault(wire, name)
        if other != name:
            raise ValueError(
                f"the tools {other!r} and {name!r} would both be {wire!r} in the {form} format: rename one"
            )
    return result


def export(definition: ToolDefinition, form: str) -> dict[str, Any]:
    """
    The tool in the words of a model API: ``mcp``, ``openai`` (responses), ``openai-chat``, ``anthropic`` or ``gemini``.

    Raises:
        ValueError: Another format.
    """
    if form not in FORMATS:
        raise ValueError(f"unknown format {form!r}: use one of {', '.join(FORMATS)}")
    name, told = wire_name(definition.name, form), definition.description
    schema = definition.input_schema
    parameters: Any = dict(schema) if isinstance(schema, Mapping) else {}
    parameters.setdefault("type", "object")
    parameters.setdefault("properties", {})
    if form == "mcp":
        hints = definition.annotations.to_dict() if definition.annotations else {}
        extra = {"title": definition.title, "outputSchema": definition.output_schema, "annotations": hints or None}
        kept = {key: value for key, value in extra.items() if value is not None}
        return {"name": name, "description": told, "inputSchema": parameters, **kept}
    if form == "openai":
        return {"type": "function", "name": name, "description": told, "parameters": parameters}
    if form == "openai-chat":
        return {"type": "function", "function": {"name": name, "description": told, "parameters": parameters}}
    if form == "anthropic":
        return {"name": name, "description": told, "input_schema": parameters}
    return {"name": name, "description": told, "parametersJsonSchema": parameters}

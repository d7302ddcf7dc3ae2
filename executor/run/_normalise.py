"""The stage that makes one kind of result of whatever a backend returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor._json import parse, to_text
from executor._written_out import MOST, is_endless
from executor.errors import ExecutionError, InvalidArgumentsError, SchemaError, ToolFailedError
from executor.run._backends import RunResult
from executor.tools._schema import compiled
from executor.values import BackendKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from executor.run._backends import Prepared

SCALARS = frozenset({str, int, float, bool, type(None)})
PLAIN = SCALARS | {dict, list}


def normalise(prepared: Prepared, value: Any) -> RunResult:
    """
    The result, by what came back and not by where it came from.

    An MCP answer is recognised by its ``content``, ``structured_content`` and ``is_error``. Everything else is a value
    as it is, JSON or not. A pair of dicts is a result and its metadata only if every key of the second is one of
    the setup's metadata keys; any other tuple is a value like any other.

    Raises:
        ExecutionError: An MCP server gave no answer, or the value has no end when it is written out.
    """
    kind = type(value)
    if is_endless(value):
        raise ExecutionError(
            f"{prepared.entry.name} returned a value that holds the same lists and objects again and again: written "
            f"out it has more than {MOST:,} values. Return what is meant once, and refer to it by a name",
            tool_id=prepared.entry.name,
            backend=prepared.backend,
        )
    if kind is dict or kind is str:
        return RunResult(prepared.entry.tool, prepared.backend, value)
    if kind in PLAIN:
        if value is None and prepared.backend.kind is BackendKind.MCP:
            raise ExecutionError(
                f"The MCP server {prepared.backend.server_name} gave no answer",
                tool_id=prepared.entry.name,
                backend=prepared.backend,
            )
        return RunResult(prepared.entry.tool, prepared.backend, value)
    if kind is tuple:
        metadata_keys = prepared.setup.metadata_keys
        if metadata_keys and len(value) == 2 and _is_metadata(value[1], metadata_keys) and isinstance(value[0], dict):
            return RunResult(prepared.entry.tool, prepared.backend, value[0], metadata=value[1])
    elif hasattr(value, "structured_content") and hasattr(value, "content") and hasattr(value, "is_error"):
        return _answer(prepared, value)
    return RunResult(prepared.entry.tool, prepared.backend, value)


def _is_metadata(value: Any, keys: AbstractSet[str]) -> bool:
    return isinstance(value, dict) and value.keys() <= keys


def _answer(prepared: Prepared, answer: Any) -> RunResult:
    content = tuple(answer.content or ())
    structured = answer.structured_content
    if structured is None:
        structured = _value_of(content, None if answer.is_error else prepared)
    warnings = tuple(getattr(answer, "warnings", ()))
    is_error = bool(answer.is_error)
    return RunResult(prepared.entry.tool, prepared.backend, structured, content, answer, is_error, warnings=warnings)


def _value_of(content: Sequence[Any], prepared: Prepared | None) -> Any:
    """
    The value in these blocks.

    One text is a value that it is the JSON of (see `_from_text`), several are the list of them. With other blocks
    among them it is the list of all blocks, each with its type. No blocks, or empty texts only, are None.
    """
    texts = [text_of(block) for block in content]
    if None in texts:
        return [_as_dict(block) for block in content]
    said = [text for text in texts if text]
    if len(said) == 1:
        return _from_text(said[0], prepared)
    return said or None


def _from_text(text: str, prepared: Prepared | None) -> Any:
    """Text that is a JSON object or array is that; other text stays text, unless only its JSON fits the schema."""
    try:
        value = parse(text)
    except InvalidArgumentsError:
        return text
    if isinstance(value, dict | list):
        return value
    if prepared is None or prepared.entry.tool.output_schema is None:
        return text
    try:
        validator = compiled(prepared.entry.tool.output_schema, prepared.entry.name)
    except SchemaError:
        return text  # said where the result is compared with it
    return value if validator.is_valid(value) and not validator.is_valid(text) else text


def text_of(block: Any) -> str | None:
    """The text of a text block, an object or a dict; None for blocks of other types."""
    if isinstance(block, dict):
        return block.get("text") if block.get("type") == "text" else None
    return getattr(block, "text", None) if getattr(block, "type", None) == "text" else None


def _as_dict(block: Any) -> Any:
    if hasattr(block, "model_dump"):
        return block.model_dump(mode="json", by_alias=True, exclude_none=True)
    return block if isinstance(block, dict) else dict(vars(block))


def texts_of(content: Sequence[Any]) -> str | None:
    """The texts among these blocks, joined by newlines, for a model; None when there are none."""
    texts = [text for block in content if (text := text_of(block)) is not None]
    return "\n".join(texts) if texts else None


def failure_of(result: RunResult) -> ToolFailedError:
    """The error that an answer with ``is_error`` stands for."""
    said = texts_of(result.content) or (to_text(result.structured) if result.structured is not None else "")
    return ToolFailedError(
        said or "The tool answered with an error and said nothing about it",
        tool_id=result.tool.id,
        backend=result.backend,
        result=result.structured if result.mcp_result is None or not isinstance(result.structured, str) else None,
    )

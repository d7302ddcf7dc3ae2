"""The stages that compare values with schemas: arguments before the gate, the result after dispatch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor._json import copy_arguments
from executor._schema import compiled, explain, in_words
from executor.errors import InvalidArgumentsError, InvalidResultError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor._tools import Registered
    from executor._types import ToolBackend


def validate_input(
    entry: Registered, backend: ToolBackend, arguments: Mapping[str, Any] | str | None, *, check: bool
) -> dict[str, Any]:
    """
    A copy of *arguments* that fits the tool's schema; a tool without one takes any object.

    Raises:
        InvalidArgumentsError: They do not fit, or are no JSON object.
        SchemaError: The tool's schema is none.
    """
    try:
        copied = copy_arguments(arguments)
    except InvalidArgumentsError as error:
        error.tool_id, error.backend = entry.name, backend
        raise
    if not check:
        return copied
    schema = entry.tool.input_schema
    if schema is None:
        errors = []
    else:
        validator = compiled(schema, entry.name)
        errors = [] if validator.is_valid(copied) else explain(schema, validator, copied)
    if not errors and entry.check is not None:
        errors = entry.check(copied)
    if errors:
        raise InvalidArgumentsError(
            f"Invalid arguments for {entry.name}: {in_words(errors)}",
            errors=errors,
            tool_id=entry.name,
            backend=backend,
        )
    return copied


def validate_output(entry: Registered, backend: ToolBackend, value: Any) -> None:
    """
    Raises:
        InvalidResultError: The tool's result does not fit its output schema, or is no JSON.
        SchemaError: The tool's output schema is none.
    """
    schema = entry.tool.output_schema
    if schema is None:
        return
    validator = compiled(schema, entry.name)
    try:
        fits = validator.is_valid(value)
    except (ValueError, TypeError):  # not JSON: explain() says what is wrong with it
        fits = False
    if not fits:
        errors = explain(schema, validator, value)
        raise InvalidResultError(
            f"The result of {entry.name} does not fit its output schema: {in_words(errors)}",
            errors=errors,
            tool_id=entry.name,
            backend=backend,
            result=value,
        )

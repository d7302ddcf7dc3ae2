"""The stages that compare values with schemas: arguments before the gate, the result after dispatch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from executor._json import copy_arguments
from executor.errors import InvalidArgumentsError, InvalidResultError
from executor.tools._schema import compiled, explain, in_words
from executor.tools._surely import surely_fits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor.run._backends import SchemaValidator
    from executor.tools._make import Registered
    from executor.tools._schema import Schema
    from executor.values import ToolBackend


def validate_input(
    entry: Registered,
    backend: ToolBackend,
    arguments: Mapping[str, Any] | str | None,
    check: bool,  # noqa: FBT001 -- the runner's setting; by keyword it would cost every call
    validator: SchemaValidator | None,
) -> dict[str, Any]:
    """
    A copy of *arguments* that fits the tool's schema; a tool without one takes any object.

    Args:
        validator: Asked in place of the built-in validation.

    Raises:
        InvalidArgumentsError: They do not fit, or are no JSON object.
        SchemaError: The tool's schema is not valid JSON Schema.
    """
    try:
        copied = copy_arguments(arguments)
    except InvalidArgumentsError as error:
        error.tool_id, error.backend = entry.name, backend
        raise
    if not check:
        return copied
    if validator is None and (entry.check is None or entry.bind is not None):
        fits = entry.accepts is None and surely_fits(entry.tool.input_schema, copied)
        # A process that makes one call compiles nothing.
        accepts = _at_the_next(entry) if fits else _all_of(entry)
        if (fits or accepts(copied)) and (entry.bind is None or entry.bind(copied) is not None):
            entry.compare_only_with(accepts)
            return copied
    errors, cause = _wrong(entry, copied, validator)
    if errors:
        raise InvalidArgumentsError(
            f"Invalid arguments for {entry.name}: {in_words(errors)}",
            errors=errors,
            tool_id=entry.name,
            backend=backend,
        ) from cause
    return copied


def _wrong(
    entry: Registered, copied: dict[str, Any], validator: SchemaValidator | None
) -> tuple[list[dict[str, str]], BaseException | None]:
    """What is wrong with these arguments, and what said so where that was a validator of somebody else's."""
    errors: list[dict[str, str]] = []
    cause: BaseException | None = None
    schema = entry.tool.input_schema
    if validator is not None:
        try:
            validator.validate_input(entry.tool, copied)
        except Exception as error:  # noqa: BLE001 -- whatever it raises says what is wrong
            errors, cause = _said(error), error
    elif schema is not None:
        built = compiled(schema, entry.name)
        if not built.is_valid(copied):
            errors = explain(schema, built, copied)
    if not errors and entry.check is not None:
        errors = entry.check(copied)
    return errors, cause


def _anything(_: object) -> bool:
    return True


def _all_of(entry: Registered) -> Callable[[Any], bool]:
    """Whether arguments fit the tool's schema. Raises SchemaError."""
    schema = entry.tool.input_schema
    return _anything if schema is None else compiled(schema, entry.name).is_valid


def _at_the_next(entry: Registered) -> Callable[[Any], bool]:
    """The same, compiled at the first call that asks; from then on what it compiled to is asked."""

    def accepts(copied: Any) -> bool:
        compare = _all_of(entry)
        entry.compare_only_with(compare)
        return compare(copied)

    return accepts


def _wrong_in(value: Any, schema: Schema, name: str) -> list[dict[str, str]]:
    """What is wrong with a result; objects in it are compared as the data that they stand for."""
    built = compiled(schema, name)
    try:
        fits = built.is_valid(value)
    except (ValueError, TypeError):  # it is no JSON
        from executor.values._data import data_of

        try:
            value = json.loads(json.dumps(value, default=data_of, allow_nan=False))
            fits = built.is_valid(value)
        except Exception:  # noqa: BLE001 -- nor does it stand for any, or it raises when it is read: explain() says what is wrong
            fits = False
    return [] if fits else explain(schema, built, value)


def _said(error: Exception) -> list[dict[str, str]]:
    return [{"path": "", "keyword": "", "message": str(error) or type(error).__name__}]


def validate_output(entry: Registered, backend: ToolBackend, value: Any, validator: SchemaValidator | None) -> None:
    """
    Compare *value* with the output schema of a tool that has one.

    Raises:
        InvalidResultError: The tool's result does not fit its output schema, or is no JSON.
        SchemaError: The tool's output schema is not valid JSON Schema.
    """
    schema = entry.tool.output_schema
    assert schema is not None, "tools without one have nothing to compare"
    errors: list[dict[str, str]] = []
    cause: BaseException | None = None
    if validator is not None:
        try:
            validator.validate_output(entry.tool, value)
        except Exception as error:  # noqa: BLE001 -- as for the arguments
            errors, cause = _said(error), error
    else:
        errors = _wrong_in(value, schema, entry.name)
    if errors:
        raise InvalidResultError(
            f"The result of {entry.name} does not fit its output schema: {in_words(errors)}",
            errors=errors,
            tool_id=entry.name,
            backend=backend,
            result=value,
        ) from cause

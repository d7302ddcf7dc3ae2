"""What a function takes: one mapping, or typed parameters that become a schema."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from executor._json import pointer
from executor._signatures import signature_of
from executor.errors import SchemaError

if TYPE_CHECKING:
    import pydantic

    from executor.tools._exact import Exact

Handler: TypeAlias = Callable[[dict[str, Any]], Any]
Check: TypeAlias = "Callable[[dict[str, Any]], list[dict[str, str]]]"
Bind: TypeAlias = "Callable[[dict[str, Any]], Callable[[], Any] | None]"


def is_async(fn: Callable[..., Any]) -> bool:
    return is_kind(fn, inspect.iscoroutinefunction) or is_kind(fn, inspect.isasyncgenfunction)


def is_kind(fn: Callable[..., Any], kind: Callable[[object], bool]) -> bool:
    """Whether *fn*, or the method that makes it callable, is a function of this *kind* of `inspect`'s."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return kind(fn) or kind(getattr(fn, "__call__", None))  # noqa: B004 -- the method itself is looked at


def makes_generator(fn: Callable[..., Any]) -> bool:
    """Whether *fn* is a generator function, sync or async."""
    return is_kind(fn, inspect.isgeneratorfunction) or is_kind(fn, inspect.isasyncgenfunction)


def takes_mapping(fn: Callable[..., Any], name: str) -> bool:
    """Whether *fn* has the form ``fn(args)``: one required parameter, positional, unannotated or a mapping."""
    try:
        parameters = signature_of(fn).parameters.values()
    except (ValueError, TypeError) as error:
        raise SchemaError(
            f"The signature of the tool {name!r} cannot be read: wrap it in a function of your own", tool_id=name
        ) from error
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if len(required) != 1 or required[0].kind is inspect.Parameter.KEYWORD_ONLY:
        return False
    annotation = required[0].annotation
    if isinstance(annotation, str):
        annotation = _evaluate(annotation, fn)
    if annotation is inspect.Parameter.empty or annotation is Any:
        return True
    kind = getattr(annotation, "__origin__", annotation)
    return isinstance(kind, type) and issubclass(kind, Mapping)


def _evaluate(annotation: str, fn: Callable[..., Any]) -> Any:
    """What a textual annotation stands for; itself when that cannot be told here (pydantic knows more ways)."""
    namespace = getattr(inspect.unwrap(_function_of(fn)), "__globals__", {})
    try:
        return eval(annotation, dict(namespace))  # noqa: S307 -- the text of a function's own annotation, as typing does
    except Exception:  # noqa: BLE001 -- an annotation may be anything; then the function is a typed one
        return annotation


def _function_of(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The plain function behind a partial, a method or a callable object."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    if not (inspect.isroutine(fn) or isinstance(fn, type)):
        fn = type(fn).__call__
    return getattr(fn, "__func__", fn)


class Typed(NamedTuple):
    """
    A function whose parameters are the tool's arguments.

    Attributes:
        handler: Calls it.
        check: Says what is wrong with arguments.
        bind: Binds arguments to it; None: they do not fit.
        schema: That of its arguments.
        exact: Given the tool's schema, what copies arguments that are exactly so; see `executor.tools._exact`.
    """

    handler: Handler
    check: Check
    bind: Bind
    schema: dict[str, Any]
    exact: Callable[[Mapping[str, Any]], Exact | None]


def typed(fn: Callable[..., Any], name: str) -> Typed:
    """What a function whose parameters are the tool's arguments needs to be called. Raises SchemaError."""
    import pydantic  # 70 ms, paid by the first typed function

    from executor.tools._exact import exact

    def bind(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, kwargs

    bind.__signature__ = signature = signature_of(fn)  # type: ignore[attr-defined]  # functions take attributes
    if any(each.kind in (each.POSITIONAL_ONLY, each.VAR_POSITIONAL) for each in signature.parameters.values()):
        raise SchemaError(
            f"The tool {name!r} takes *args or positional-only parameters, which arguments given by name cannot reach: "
            "name each parameter, or take one mapping",
            tool_id=name,
        )
    hints = {key: each.annotation for key, each in signature.parameters.items() if each.annotation is not each.empty}
    bind.__annotations__ = hints
    bind.__module__ = getattr(_function_of(fn), "__module__", __name__)
    try:
        adapter: Any = pydantic.TypeAdapter(cast("Any", bind))
        schema = _schema_of(adapter)
    except Exception as error:
        raise SchemaError(f"The signature of the tool {name!r} has no JSON Schema: {error}", tool_id=name) from error
    validate = adapter.validator.validate_python  # what adapter.validate_python calls, a step later

    def handler(arguments: dict[str, Any]) -> Any:
        args, kwargs = validate(arguments)
        return fn(*args, **kwargs)

    def bind_to(arguments: dict[str, Any]) -> Callable[[], Any] | None:
        try:
            args, kwargs = validate(arguments)
        except pydantic.ValidationError:
            return None
        return functools.partial(fn, *args, **kwargs)

    def check(arguments: dict[str, Any]) -> list[dict[str, str]]:
        try:
            validate(arguments)
        except pydantic.ValidationError as error:
            return [
                {"path": pointer(found["loc"]), "keyword": found["type"], "message": found["msg"]}
                for found in error.errors(include_url=False, include_context=False)
            ]
        return []

    defaults = {key: parameter.default for key, parameter in signature.parameters.items()}
    return Typed(handler, check, bind_to, schema, functools.partial(exact, adapter.core_schema, defaults))


def _schema_of(adapter: pydantic.TypeAdapter[Any]) -> dict[str, Any]:
    from pydantic.json_schema import GenerateJsonSchema
    from pydantic_core import PydanticSerializationError

    class Schema(GenerateJsonSchema):
        def field_title_should_be_set(self, _: Any) -> bool:
            return False  # "A" for a parameter `a` tells a model nothing

        def encode_default(self, default: Any) -> Any:
            try:
                json.dumps(encoded := super().encode_default(default), allow_nan=False)
            except ValueError as error:  # NaN, which no API takes in a schema
                raise PydanticSerializationError(str(error)) from error
            return encoded

        def emit_warning(self, *_: Any) -> None:
            """Of a default that JSON cannot hold, as a mark for "not given" is: it is left out, and nobody is told."""

    return adapter.json_schema(schema_generator=Schema)

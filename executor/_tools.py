"""From a function, a toolbox object or a raw schema to a tool; and from a tool to what model APIs take."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast, get_args, overload

from executor._json import pointer
from executor._schema import check_schema
from executor._types import ArgumentKind, Tool, ToolAnnotations, ToolBackend, ToolDefinition
from executor.errors import InvalidToolIdError, SchemaError

if TYPE_CHECKING:
    from executor._retry import RetryConfig

Handler: TypeAlias = Callable[[dict[str, Any]], Any]
Check: TypeAlias = "Callable[[dict[str, Any]], list[dict[str, str]]]"

MAX_NAME = 128
_NAME = re.compile(r"[A-Za-z0-9_.-]+(:[A-Za-z0-9_.-]+){0,2}")
_KINDS = get_args(ArgumentKind)


def check_name(name: object) -> str:
    """
    Returns:
        *name*, when it is a tool id: one to three parts of ``[A-Za-z0-9_.-]+`` joined by colons, 128 characters in all.

    Raises:
        InvalidToolIdError: It is not.
    """
    if not isinstance(name, str) or len(name) > MAX_NAME or _NAME.fullmatch(name) is None:
        shown = ascii(name) if isinstance(name, str) else f"of type {type(name).__name__}"
        raise InvalidToolIdError(
            f"Invalid tool id {shown[:160]}: use 1 to 3 parts of letters, digits, '_', '.', '-' "
            f"joined by ':', {MAX_NAME} characters in all"
        )
    return name


class ToolId(NamedTuple):
    """The parts of a tool id: ``name``, ``namespace:name`` or ``namespace:name:version``."""

    name: str
    namespace: str | None = None
    version: str | None = None

    @classmethod
    def parse(cls, text: str) -> ToolId:
        """The parts of *text*. Raises InvalidToolIdError."""
        parts = check_name(text).split(":")
        return cls(parts[0]) if len(parts) == 1 else cls(parts[1], parts[0], *parts[2:])


@dataclass(frozen=True, slots=True)
class Registered:
    """
    A tool that is callable, with what a call needs of it.

    Attributes:
        name: The id by which it is called.
        handler: Called with the arguments (a dict); returns the result, or for async tools a coroutine. None: the
            backend knows.
        check: For typed functions: what is wrong with arguments that the schema let through.
        is_async: Whether `handler` returns a coroutine or an async generator.
        streams: Whether `handler` returns a generator, of either kind: its result comes in pieces.
        plugin_name: Who registered it.
        background: Whether it may go to the background.
        carrier: The call inside its arguments is judged, not the call itself.
    """

    name: str
    tool: Tool
    definition: ToolDefinition
    backends: tuple[ToolBackend, ...]
    handler: Handler | None
    check: Check | None
    is_async: bool
    plugin_name: str
    background: bool
    carrier: bool
    streams: bool = False


def make_tool(
    name: str | Tool | Callable[..., Any] | None,
    fn: Callable[..., Any] | None = None,
    *,
    description: str | None = None,
    schema: Mapping[str, Any] | bool | None = None,
    output_schema: Mapping[str, Any] | bool | None = None,
    auto_background: float | None = None,
    timeout: float | None = None,
    annotations: ToolAnnotations | Mapping[str, Any] | None = None,
    argument_kinds: Mapping[str, ArgumentKind] | None = None,
    title: str | None = None,
    retry: object = None,
    retry_unsafe: bool = False,
    isolation: Literal["thread", "process"] = "thread",
) -> Tool:
    """
    The tool that these arguments of `register` describe; *name* may be a finished `Tool`, or the function itself.

    Raises:
        InvalidToolIdError, SchemaError, ValueError: See `ToolExecutor.register`.
    """
    if isinstance(name, Tool):
        if fn is not None:
            raise ValueError(f"the tool {name.id!r} brings its own function: register it without another one")
        return name
    if fn is None and callable(name):
        fn, name = name, None
    if fn is None or not callable(fn):
        raise ValueError(f"the tool {name!r} has no function: register(name, fn) or register(tool)")
    if name is None:
        name = getattr(fn, "__name__", None)
        if not isinstance(name, str) or name == "<lambda>":
            raise ValueError("this function has no name: register it with one")
    return Tool(
        cast("str", name),
        input_schema=schema,
        output_schema=output_schema,
        description=inspect.getdoc(fn) or "" if description is None else description,
        title=title,
        annotations=ToolAnnotations.of(annotations),
        argument_kinds=dict(argument_kinds) if argument_kinds else None,
        fn=fn,
        auto_background=auto_background,
        timeout=timeout,
        retry=_retries(retry, unsafe=retry_unsafe),
        isolation=isolation,
    )


def _retries(value: object, *, unsafe: bool) -> RetryConfig | None:
    if value is None:
        return None
    from executor._retry import RetryConfig

    config = RetryConfig.of(value)
    return replace(config, retry_unsafe=True) if unsafe else config


def prepare(
    tool: Tool,
    *,
    plugin_name: str = "local",
    background: bool = False,
    carrier: bool = False,
    backend: ToolBackend | None = None,
) -> Registered:
    """
    Check a tool and make it callable; one with a threshold may go to the background in any case.

    Args:
        backend: Where a tool without a function runs.

    Raises:
        InvalidToolIdError: Its name is malformed.
        SchemaError: A schema is not valid JSON Schema, or the function's signature has no schema.
        ValueError: An option has a value that cannot be meant.
    """
    name = check_name(tool.id)
    fn = tool.fn
    if fn is None and backend is None:
        raise ValueError(f"the tool {name!r} has no function: give it one, or the backend that runs it")
    if fn is not None and backend is not None:
        raise ValueError(f"the tool {name!r} has both a function and a backend: which of them is to run?")
    _check_options(tool, name)
    if tool.retry is not None:
        tool.retry.check(tool)
    check: Check | None = None
    handler: Handler | None = fn
    if fn is not None and not _takes_mapping(fn, name):
        handler, check, schema = _typed(fn, name)
        if tool.input_schema is None:
            tool = replace(tool, input_schema=schema)
    if fn is not None and tool.isolation == "process":
        handler = _isolated(fn, name)
    if tool.input_schema is not None:
        check_schema(tool.input_schema, name)
    if tool.output_schema is not None:
        check_schema(tool.output_schema, name, what="output")
    return Registered(
        name=name,
        tool=tool,
        definition=tool.definition,
        backends=(backend or ToolBackend.local(name),),
        handler=handler,
        check=check,
        is_async=fn is not None and tool.isolation == "thread" and _is_async(fn),
        plugin_name=plugin_name,
        background=background or tool.auto_background is not None,
        carrier=carrier,
        streams=fn is not None and makes_generator(fn),
    )


def _is_async(fn: Callable[..., Any]) -> bool:
    return _is(fn, inspect.iscoroutinefunction) or _is(fn, inspect.isasyncgenfunction)


def _isolated(fn: Callable[..., Any], name: str) -> Handler:
    from executor._isolate import check_isolated, isolated

    if makes_generator(fn) or _is(fn, inspect.isasyncgenfunction):
        raise ValueError(f"the tool {name!r} gives its result in pieces, which a process of its own cannot")
    check_isolated(fn, name)
    return isolated(fn)


def _check_options(tool: Tool, name: str) -> None:
    if tool.isolation not in ("thread", "process"):
        raise ValueError(f"the tool {name!r}: isolation is {tool.isolation!r}, not 'thread' or 'process'")
    for option, least in (("auto_background", 0.0), ("timeout", 0.0)):
        value = getattr(tool, option)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least or math.isinf(value):
            raise ValueError(f"the tool {name!r}: {option} is {value!r}, not a number of seconds from 0 on, or None")
    if tool.timeout == 0:
        raise ValueError(f"the tool {name!r}: a timeout of 0 would never let it run; None is no time limit")
    for argument, kind in (tool.argument_kinds or {}).items():
        if kind not in _KINDS:
            raise ValueError(
                f"the tool {name!r}: argument kind {kind!r} of {argument!r} is none of {', '.join(_KINDS)}"
            )


def _is(fn: Callable[..., Any], kind: Callable[[object], bool]) -> bool:
    """Whether *fn*, or the method that makes it callable, is a function of this *kind* of `inspect`'s."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return kind(fn) or kind(getattr(fn, "__call__", None))  # noqa: B004 -- the method itself is looked at


def makes_generator(fn: Callable[..., Any]) -> bool:
    """Whether *fn* is a generator function, sync or async."""
    return _is(fn, inspect.isgeneratorfunction) or _is(fn, inspect.isasyncgenfunction)


def _takes_mapping(fn: Callable[..., Any], name: str) -> bool:
    """Whether *fn* has the form ``fn(args)``: one required parameter, positional, unannotated or a mapping."""
    try:
        parameters = inspect.signature(fn).parameters.values()
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
    if not hasattr(fn, "__annotations__"):
        fn = type(fn).__call__
    return getattr(fn, "__func__", fn)


def _typed(fn: Callable[..., Any], name: str) -> tuple[Handler, Check, dict[str, Any]]:
    """Handler, check and schema of a function whose parameters are the tool's arguments."""
    import pydantic  # 70 ms, paid by the first typed function
    from pydantic.json_schema import GenerateJsonSchema

    class Schema(GenerateJsonSchema):
        def field_title_should_be_set(self, _: Any) -> bool:
            return False  # "A" for a parameter `a` tells a model nothing

    def bind(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, kwargs

    function = _function_of(fn)
    bind.__signature__ = signature = inspect.signature(fn)  # type: ignore[attr-defined]  # functions take attributes
    hints = getattr(function, "__annotations__", {})
    bind.__annotations__ = {key: hint for key, hint in hints.items() if key in signature.parameters}
    bind.__module__ = getattr(function, "__module__", __name__)
    try:
        adapter: Any = pydantic.TypeAdapter(cast("Any", bind))
        schema = adapter.json_schema(schema_generator=Schema)
    except Exception as error:
        raise SchemaError(f"The signature of the tool {name!r} has no JSON Schema: {error}", tool_id=name) from error
    if schema.get("type") != "object":
        raise SchemaError(
            f"The tool {name!r} takes *args or positional-only parameters, which arguments given by name cannot reach: "
            "name each parameter, or take one mapping",
            tool_id=name,
        )

    def handler(arguments: dict[str, Any]) -> Any:
        args, kwargs = adapter.validate_python(arguments)
        return fn(*args, **kwargs)

    def check(arguments: dict[str, Any]) -> list[dict[str, str]]:
        try:
            adapter.validate_python(arguments)
        except pydantic.ValidationError as error:
            return [
                {"path": pointer(found["loc"]), "keyword": found["type"], "message": found["msg"]}
                for found in error.errors(include_url=False, include_context=False)
            ]
        return []

    return handler, check, schema


@overload
def tool(name: Callable[..., Any], /) -> Tool: ...
@overload
def tool(name: str | None = None, /, **options: Any) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(name: Any = None, /, **options: Any) -> Any:
    """
    Make a `Tool` of a function, to be registered by ``register(tool)``; it can still be called as a function.

    Args:
        name: The tool's name; by default the function's.
        options: As for `ToolExecutor.register`.
    """
    if callable(name) and not options:
        return make_tool(name)
    return lambda fn: make_tool(name, fn, **options)


def toolbox(box: object, prefix: str = "") -> Iterator[Tool]:
    """A tool for each public method of *box*, named *prefix* and the method's name."""
    for name in dir(type(box)):  # the class is looked at, so that no property is evaluated
        if not name.startswith("_") and inspect.isroutine(inspect.getattr_static(type(box), name)):
            yield make_tool(prefix + name, getattr(box, name))


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

"""From a function, a toolbox object or a raw schema to a tool that can be called."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NoReturn, Required, TypedDict, Unpack, cast, get_args, overload

from executor.errors import BackendUnavailableError
from executor.tools._names import check_name
from executor.tools._options import ToolOptions, refuse_unknown, retries
from executor.tools._schema import check_schema
from executor.tools._signature import Bind, Check, Handler, is_async, is_kind, makes_generator, takes_mapping, typed
from executor.values import ArgumentKind, Tool, ToolAnnotations, ToolBackend, ToolDefinition
from executor.values._frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from executor.calls._limits import Rate
    from executor.tools._exact import Exact
    from executor.values._profile import ProfileName
    from executor.values._retry import RetryConfig

_KINDS = get_args(ArgumentKind)


class Exposure:
    """
    One exposing of a plugin, with one configuration.

    Attributes:
        over: Whether the plugin was taken away since, maybe to be configured anew.
    """

    __slots__ = ("_plugin", "over")

    def __init__(self, plugin: str) -> None:
        self._plugin = plugin
        self.over = False

    def check(self) -> None:
        """Raises `gone` where it is over."""
        if self.over:
            raise self.gone()

    def gone(self) -> BackendUnavailableError:
        """That the plugin is by now another one than a call was made, and maybe judged, with."""
        return BackendUnavailableError(
            f"Nothing was started: the plugin {self._plugin!r} was taken away, or configured anew, since the call was "
            "made. Make it again",
            started=False,
        )


@dataclass(frozen=True, slots=True)
class Registered:
    """
    A tool that is callable, with what a call needs of it.

    Attributes:
        name: The id by which it is called.
        handler: Called with the arguments (a dict); returns the result, or for async tools a coroutine. None: the
            backend knows.
        check: For typed functions: what is wrong with arguments that the schema let through.
        bind: For typed functions: the function with arguments that were looked at, ready to be called once; None where
            they do not fit.
        exact: For typed functions: a copy of arguments that are exactly of its types, which need no other look; None
            where they are not.
        is_async: Whether `handler` returns a coroutine or an async generator.
        streams: Whether `handler` returns a generator, of either kind: its result comes in pieces.
        limited: Whether other calls can keep one of it from running: by its resources, its number or its rate.
        rate: How often it may begin, or None.
        accepts: Whether arguments fit its schema, where that is all there is to compare them with; None before the
            first call that was compared with it.
        plugin_name: Who registered it.
        background: Whether it may go to the background.
        carrier: The call inside its arguments is judged, not the call itself.
        plain: Whether nothing about it makes a call of it wait: the thread that asks for it may run it.
        only_timed: Whether nothing about it makes a call of it wait but a time limit.
        only_awaited: Whether nothing about it makes a call of it wait but that it is async.
        exposure: Of the plugin that registered it; None for a tool of no plugin.
        told: What a model is told about it; None before the first `definition`.
    """

    name: str
    tool: Tool
    backends: tuple[ToolBackend, ...]
    handler: Handler | None
    check: Check | None
    is_async: bool
    plugin_name: str
    background: bool
    carrier: bool
    streams: bool = False
    limited: bool = False
    rate: Rate | None = None
    bind: Bind | None = None
    exact: Exact | None = None
    exposure: Exposure | None = field(default=None, compare=False, repr=False)
    accepts: Callable[[Any], bool] | None = field(default=None, init=False, compare=False, repr=False)
    plain: bool = field(init=False, repr=False)
    only_timed: bool = field(init=False, repr=False)
    only_awaited: bool = field(init=False, repr=False)
    told: ToolDefinition | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        stays = not self.limited and self.tool.auto_background is None
        timeless = stays and self.tool.timeout is None
        object.__setattr__(self, "plain", timeless and not self.is_async)
        object.__setattr__(self, "only_timed", stays and not self.is_async)
        object.__setattr__(self, "only_awaited", timeless and self.is_async)

    @property
    def definition(self) -> ToolDefinition:
        """What a model is told about it; made once, because all tools are listed again whenever one changes."""
        told = self.told
        if told is None:
            told = self.tool.definition
            object.__setattr__(self, "told", told)
        return told

    def compare_only_with(self, accepts: Callable[[Any], bool]) -> None:
        """From now on *accepts* is all that is asked about arguments, where calls are prepared."""
        object.__setattr__(self, "accepts", accepts)

    def look_closely(self) -> None:
        """Its arguments are right without being exactly of its types: whoever writes 1 for 1.0 does so again."""
        object.__setattr__(self, "exact", None)


def make_tool(
    name: str | Tool | Callable[..., Any] | None,
    fn: Callable[..., Any] | None = None,
    **options: Unpack[ToolOptions],
) -> Tool:
    """
    The tool that these arguments of `register` describe; *name* may be a finished `Tool`, or the function itself.

    Raises:
        InvalidToolIdError, SchemaError, TypeError, ValueError: See `ToolExecutor.register`.
    """
    refuse_unknown(options)
    if isinstance(name, Tool):
        _refuse_additions(name, fn, options)
        return name
    if fn is None and callable(name):
        fn, name = name, None
    if fn is None or not callable(fn):
        raise ValueError(f"the tool {name!r} has no function: register(name, fn) or register(tool)")
    if name is None:
        name = getattr(fn, "__name__", None)
        if not isinstance(name, str) or name == "<lambda>":
            raise ValueError("this function has no name: register it with one")
    named = cast("str", name)
    schema, description = options.get("schema"), options.get("description")
    kinds = options.get("argument_kinds")
    if not isinstance(kinds, Mapping | None):
        told = "give a mapping such as {'command': 'shell'}"
        raise ValueError(f"the tool {named!r}: argument_kinds is {kinds!r}: {told}")  # noqa: TRY004 -- as other options
    return Tool(
        named,
        input_schema=schema,
        output_schema=options.get("output_schema"),
        description=_description(fn, named, schema) if description is None else description,
        title=options.get("title"),
        annotations=ToolAnnotations.of(options.get("annotations")),
        argument_kinds=dict(kinds) if kinds else None,
        fn=fn,
        auto_background=options.get("auto_background"),
        timeout=options.get("timeout"),
        retry=_retries(options.get("retry"), unsafe=options.get("retry_unsafe", False)),
        isolation=options.get("isolation", "thread"),
        confine=options.get("confine"),
        resources=options.get("resources"),
        max_concurrent=options.get("max_concurrent"),
        rate=options.get("rate"),
        folder=options.get("folder"),
    )


def _refuse_additions(tool: Tool, fn: Callable[..., Any] | None, options: ToolOptions) -> None:
    if fn is not None:
        raise ValueError(f"the tool {tool.id!r} brings its own function: register it without another one")
    if options:
        raise ValueError(f"the tool {tool.id!r} has its own {', '.join(options)}: change it with dataclasses.replace")


def _description(fn: Callable[..., Any], name: str, schema: object) -> str:
    from executor.tools._docstring import read_docs

    docs = read_docs(fn)
    # A schema that is given, or that nobody gives, has no place for the texts of the parameters.
    whole = bool(docs.parameters) and (schema is not None or takes_mapping(fn, name))
    return docs.whole if whole else docs.description


def _retries(value: object, *, unsafe: bool) -> RetryConfig | None:
    config = retries(value)
    return replace(config, retry_unsafe=True) if config is not None and unsafe else config


def prepare(
    tool: Tool,
    *,
    plugin_name: str = "local",
    background: bool = False,
    carrier: bool = False,
    backend: ToolBackend | None = None,
    exposure: Exposure | None = None,
) -> Registered:
    """
    Check a tool and make it callable; one with a threshold may go to the background in any case.

    Args:
        backend: Where a tool without a function runs.
        exposure: Of the plugin that registers it.

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
    _check_retries(tool)
    tool, way = _way_into(tool, name)
    if tool.schemas is None:
        _check_schemas(tool, name)
    return Registered(
        name=name,
        tool=tool,
        backends=(backend or ToolBackend.local(name),),
        **way,
        is_async=fn is not None and tool.isolation == "thread" and is_async(fn),
        plugin_name=plugin_name,
        background=background or tool.auto_background is not None,
        carrier=carrier,
        streams=fn is not None and makes_generator(fn),
        limited=tool.resources is not None or tool.max_concurrent is not None or tool.rate is not None,
        rate=_rate(tool, name),
        exposure=exposure,
    )


class _Way(TypedDict, total=False):
    """How the function of a tool is called: fields of `Registered`."""

    handler: Required[Handler | None]
    check: Required[Check | None]
    bind: Bind
    exact: Exact | None


def _way_into(tool: Tool, name: str) -> tuple[Tool, _Way]:
    """How the function of *tool* is called, and the tool with a schema if its parameters have types."""
    fn = tool.fn
    way: _Way = {"handler": fn, "check": None}
    if fn is not None and not takes_mapping(fn, name):
        parts = typed(fn, name)
        if tool.input_schema is None:
            from executor.tools._docstring import describe_parameters

            describe_parameters(parts.schema, fn)
            tool = replace(tool, input_schema=parts.schema)
        way = {"handler": parts.handler, "check": parts.check, "bind": parts.bind}
        if isinstance(tool.input_schema, dict):
            way["exact"] = parts.exact(tool.input_schema)
    if fn is not None and tool.isolation == "process":
        way = {"handler": _isolated(fn, name, tool.confine), "check": way["check"]}
    return tool, way


def _check_schemas(tool: Tool, name: str) -> None:
    if tool.input_schema is not None:
        check_schema(tool.input_schema, name)
    if tool.output_schema is not None:
        check_schema(tool.output_schema, name, what="output")


def _check_retries(tool: Tool) -> None:
    retry = tool.retry
    if retry is not None and retry.retry.max_retries > 0 and not retry.retry_unsafe and not tool.repeatable:
        raise ValueError(
            f"the tool {tool.id!r} is not known to be idempotent or read-only, so a second try might do its work "
            'twice: say annotations={"idempotent": True}, or retry_unsafe=True if you want that'
        )


def _isolated(fn: Callable[..., Any], name: str, confine: ProfileName | None) -> Handler:
    from executor.tools._isolate import check_isolated, isolated  # with subprocess behind it

    if makes_generator(fn) or is_kind(fn, inspect.isasyncgenfunction):
        raise ValueError(f"the tool {name!r} gives its result in pieces, which a process of its own cannot")
    check_isolated(fn, name)
    return isolated(fn, confine)


def _check_confine(tool: Tool, name: str) -> None:
    from executor.values._profile import PROFILE_NAMES

    if tool.confine not in PROFILE_NAMES:
        raise ValueError(f"the tool {name!r}: confine is {tool.confine!r}: use {', '.join(PROFILE_NAMES)}")
    if tool.fn is not None and tool.isolation != "process":
        raise ValueError(f"the tool {name!r}: only a process of its own can be in a box: set isolation='process'")


def _check_options(tool: Tool, name: str) -> None:
    if tool.isolation not in ("thread", "process"):
        raise ValueError(f"the tool {name!r}: isolation is {tool.isolation!r}, not 'thread' or 'process'")
    if not (isinstance(tool.description, str) and isinstance(tool.title, str | None)):
        _refuse_texts(tool, name)
    if tool.confine is not None:
        _check_confine(tool, name)
    for option, value in (("auto_background", tool.auto_background), ("timeout", tool.timeout)):
        if value is None:
            continue
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 <= value < threading.TIMEOUT_MAX:
            raise ValueError(f"the tool {name!r}: {option} is {value!r}, not a number of seconds from 0 on, or None")
    if tool.timeout == 0:
        raise ValueError(f"the tool {name!r}: a timeout of 0 would never let it run; None is no time limit")
    _check_limits(tool, name)
    for argument, kind in (tool.argument_kinds or {}).items():
        if kind not in _KINDS:
            raise ValueError(f"the tool {name!r}: the kind of {argument!r} is {kind!r}: use one of {', '.join(_KINDS)}")


def _refuse_texts(tool: Tool, name: str) -> NoReturn:
    option, said = ("title", tool.title) if isinstance(tool.description, str) else ("description", tool.description)
    raise ValueError(f"the tool {name!r}: {option} is {said!r}, not a text")


def _check_limits(tool: Tool, name: str) -> None:
    if tool.resources is not None and not callable(tool.resources):
        raise ValueError(f"the tool {name!r}: resources is not a function from the arguments to names")
    if tool.max_concurrent is not None:
        from executor.calls._limits import check_max_concurrent  # for tools with limits

        try:
            check_max_concurrent(tool.max_concurrent)
        except ValueError as error:
            raise ValueError(f"the tool {name!r}: {error}") from error


def _rate(tool: Tool, name: str) -> Rate | None:
    if tool.rate is None:
        return None
    from executor.calls._limits import parse_rate  # as above

    try:
        return parse_rate(tool.rate)
    except (ValueError, TypeError) as error:
        raise ValueError(f"the tool {name!r}: {error}") from error


@overload
def tool(name: Callable[..., Any], /) -> Tool: ...
@overload
def tool(name: str | None = None, /, **options: Unpack[ToolOptions]) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(name: Any = None, /, **options: Unpack[ToolOptions]) -> Any:
    """
    Make a `Tool` of a function, to be registered by ``register(tool)``; it can still be called as a function.

    Args:
        name: The tool's name; by default the function's.
        options: See `ToolOptions`.

    Raises:
        TypeError: An option does not exist; the nearest is named.
    """
    refuse_unknown(options)
    if callable(name) and not options:
        return make_tool(name)
    return lambda fn: make_tool(name, fn, **options)


def toolbox(box: object, prefix: str = "") -> Iterator[Tool]:
    """A tool for each public method of *box*, named *prefix* and the method's name."""
    for name in dir(type(box)):  # the class is looked at, so that no property is evaluated
        if not name.startswith("_") and inspect.isroutine(inspect.getattr_static(type(box), name)):
            yield make_tool(prefix + name, getattr(box, name))

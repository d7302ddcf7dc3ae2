"""
The hooks, each as a typed method. This is the only module that touches pluggy.

Each plugin is registered with a pluggy manager of its own, which checks its implementations and calls them. A manager
of several plugins ends a call at the first implementation that raises; here a failure is only its own plugin's.
"""

from __future__ import annotations

import sys
from functools import partial
from types import AsyncGeneratorType, CoroutineType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import pluggy

from executor import hookspecs
from executor._log import warn
from executor.errors import PluginLoadError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    import click

    from executor.hookspecs import CallScope, RegisterTool
    from executor.registry._failures import Failures, Origin
    from executor.values import Decision, OutputCallback, TaskInfo, ToolCall, ToolResult
    from executor.values._approval import Channel

    Opinion = tuple[str, Callable[[ToolCall, Mapping[str, Any] | None], Decision | None]]

_NOT_BEGUN = (CoroutineType, GeneratorType, AsyncGeneratorType)  # what a call gives that has run nothing so far
HOOKS = tuple(name for name in vars(hookspecs) if name.startswith("executor_"))
OBSERVERS = ("executor_start_call", "executor_before_call", "executor_deny_call", "executor_after_call")
# The hooks that all exposed plugins are called for, one after another: tryfirst and trylast choose the place. The
# others are called of one plugin at a time, when it is exposed or taken away.
IN_ORDER = ("executor_check_permission", *OBSERVERS, "executor_task_done", "executor_register_commands")
_HOOKABLE = (FunctionType, MethodType, staticmethod, classmethod)  # all that pluggy takes for an implementation


class _Manager(pluggy.PluginManager):
    """As pluggy's own, which looks each name of a plugin up in all ways that there are: a tenth of a listing."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
        """The options of an implementation; None at once for what surely is none."""
        if type(plugin) is ModuleType:
            value = vars(plugin).get(name)
            if not isinstance(value, _HOOKABLE) or (type(value) is FunctionType and not vars(value)):
                return None
        elif name in _OF_EVERY_OBJECT and not isinstance(plugin, type):
            its_own = any(name in vars(one) for one in type(plugin).__mro__[:-1])
            if not its_own:
                return None
        return super().parse_hookimpl_opts(plugin, name)


_OF_EVERY_OBJECT = frozenset(dir(object))


class PluginHooks:
    """
    The hooks of one plugin.

    Attributes:
        implemented: The names of those that it implements.
        remarks: What its author should know: hooks that do not exist, an order that cannot matter.

    Raises:
        PluginLoadError: pluggy does not take it, it is a class whose hooks want an object, or it has a hook wrapper, or
            two implementations of one hook.
    """

    def __init__(self, name: str, plugin: object, origin: Origin, *, trace: bool = False) -> None:
        self.name = name
        self.origin = origin
        manager = _Manager("executor")
        try:
            manager.register(plugin, name=name)
            callers = {caller.name: caller for caller in manager.get_hookcallers(plugin) or ()}
            specs = {hook: getattr(hookspecs, hook) for hook in HOOKS if hook in callers}
            if specs:
                manager.add_hookspecs(type("Specs", (), specs))
        except Exception as error:
            raise PluginLoadError(f"could not be registered: {error}", plugin=name) from error
        _refuse_class(name, plugin, callers)
        if trace:
            manager.add_hookcall_monitoring(self._trace, lambda *_: None)
        self._callers = {hook: callers[hook] for hook in specs}
        self._places = {hook: self._place(caller) for hook, caller in callers.items()}
        self.implemented = tuple(sorted(specs))
        self.remarks = (*self._remarks(callers), *_unmarked(plugin, callers))

    def _place(self, caller: pluggy.HookCaller) -> int:
        impl, *others = caller.get_hookimpls()
        if impl.hookwrapper or impl.wrapper:
            told = "is a hook wrapper, which would run around other plugins' answers: implement the hook itself"
            raise PluginLoadError(f"{caller.name} {told}", plugin=self.name)
        if others:
            raise PluginLoadError(f"{caller.name} is implemented twice: make it one function", plugin=self.name)
        return -1 if impl.tryfirst else int(impl.trylast)

    def _remarks(self, callers: Iterable[str]) -> Iterable[str]:
        for hook in callers:
            if hook not in HOOKS:
                import difflib  # wanted by mistakes only

                near = difflib.get_close_matches(hook, HOOKS, 1)
                advice = f"did you mean {near[0]}?" if near else "is it misspelt?"
                yield f"it implements {hook}, which is no hook: {advice}"
            elif hook not in IN_ORDER and self._places[hook]:
                yield f"tryfirst and trylast mean nothing for {hook}, which is called for one plugin at a time"

    def _trace(self, hook: str, impls: Sequence[pluggy.HookImpl], _: Mapping[str, Any]) -> None:
        for impl in impls:
            print(f"{hook} -> {self.name}({', '.join(impl.argnames)})", file=sys.stderr)  # noqa: T201 -- asked for by the environment

    def place(self, hook: str) -> int:
        """-1 if it wants to be called before others, 1 if after them, else 0."""
        return self._places[hook]

    def call(self, hook: str, **arguments: object) -> None:
        """Call *hook*, if it is implemented. Raises what the plugin raises."""
        caller = self._callers.get(hook)
        if caller is None:
            return
        given = caller(**arguments)
        if given and isinstance(given[0], _NOT_BEGUN):
            if isinstance(given[0], CoroutineType):
                given[0].close()  # Python would warn of it, too
            raise TypeError(f"{hook} is async or has a yield in it, so nothing of it ran: make it a plain function")

    def check_permission(self, call: ToolCall, context: Mapping[str, Any] | None) -> Decision | None:
        """The plugin's opinion, which it must have implemented. Raises what the plugin raises."""
        given: list[Decision] = self._callers["executor_check_permission"](call=call, context=context)
        return given[0] if given else None

    def start_call(self, call: ToolCall) -> CallScope | None:
        """What the plugin, which must have implemented it, puts around a call. Raises what the plugin raises."""
        given: list[CallScope] = self._callers["executor_start_call"](call=call)
        return given[0] if given else None

    def configure(self, config: Mapping[str, Any]) -> None:
        """Give the plugin its configuration. Raises what the plugin raises, as do the next four."""
        if config and "executor_configure" not in self._callers:
            warn(f"The plugin {self.name!r} has no settings: {', '.join(map(repr, config))} is not used. Leave it out.")
        self.call("executor_configure", config=config)

    def register_tools(self, register: RegisterTool) -> None:
        """Ask for the plugin's tools."""
        self.call("executor_register_tools", register=register)

    def register_channels(self, register: Callable[[str, Channel], None]) -> None:
        """Ask for the plugin's channels."""
        self.call("executor_register_channels", register=register)

    def register_backends(self, register: Callable[[str, object], None]) -> None:
        """Ask for the plugin's backends."""
        self.call("executor_register_backends", register=register)

    def set_output_callback(self, callback: OutputCallback | None) -> None:
        """Give the plugin the callback for output that belongs to no call."""
        self.call("executor_set_output_callback", callback=callback)

    def shutdown(self) -> None:
        """Have the plugin free what it holds. Raises what the plugin raises."""
        self.call("executor_shutdown")


def _refuse_class(name: str, plugin: object, callers: Iterable[str]) -> None:
    """Raise PluginLoadError for the class of a plugin; one whose hooks are class methods is a plugin itself."""
    if isinstance(plugin, type) and any(type(_in_class(plugin, hook)) is FunctionType for hook in callers):
        told = "name the module in the entry point, and the class 'executor_plugin' in it, or register an object of it"
        raise PluginLoadError(f"{plugin!r} is a class, whose hooks want an object: {told}", plugin=name)


def _in_class(plugin: type, name: str) -> object:
    return next((vars(each)[name] for each in plugin.__mro__ if name in vars(each)), None)


def _unmarked(plugin: object, marked: Collection[str]) -> Iterable[str]:
    """Functions with the name of a hook that are not called: what people forget most."""
    unmarked = [hook for hook in HOOKS if hook in set(dir(plugin)) and hook not in marked]
    for hook in unmarked:
        yield f"its {hook} is not marked with @hookimpl: it is never called"
    if not unmarked and not marked and not isinstance(plugin, ModuleType):
        yield f"it is {plugin!r}, which has no hooks: does the entry point, or executor_plugin, give what is meant?"


class Hooks:
    """
    The hooks of all exposed plugins. Never changed: replaced when a plugin is exposed or taken away.

    Those with tryfirst are called first, then the others in the order of their registration, then those with trylast.
    One that raises is recorded, and the next one called.

    Attributes:
        opinions: Of the permission hook: (plugin, function) pairs, for gates, which judge failures themselves.
        observes: Whether any of them observes calls.
        surrounds: Whether any of them may put something around calls.
    """

    def __init__(self, plugins: Sequence[PluginHooks], failures: Failures) -> None:
        self._failures = failures
        self._plugins = {
            hook: tuple(
                sorted((plugin for plugin in plugins if hook in plugin.implemented), key=lambda p: p.place(hook))
            )
            for hook in HOOKS
        }
        self.opinions: Sequence[Opinion] = tuple(
            (plugin.name, plugin.check_permission) for plugin in self._plugins["executor_check_permission"]
        )
        self.observes = any(self._plugins[hook] for hook in OBSERVERS)
        self.surrounds = bool(self._plugins["executor_start_call"])

    def start_call(self, call: ToolCall) -> tuple[Mapping[str, str], Callable[[], None] | None]:
        """A call comes in. Returns what records of it carry beside, and what leaves all that was put around it."""
        notes: dict[str, str] = {}
        entered: list[tuple[PluginHooks, AbstractContextManager[object]]] = []
        for plugin in self._plugins["executor_start_call"]:
            try:
                scope = plugin.start_call(call)
                if scope is None:
                    continue
                notes.update(scope.notes)
                if scope.around is not None:
                    scope.around.__enter__()  # left elsewhere: a call is no block of code
                    entered.insert(0, (plugin, scope.around))
            except BaseException as error:  # noqa: BLE001 -- as in _call
                self._failures.record(plugin.name, "executor_start_call", error, plugin.origin)
        return notes, partial(self._leave, entered) if entered else None

    def _leave(self, entered: Sequence[tuple[PluginHooks, AbstractContextManager[object]]]) -> None:
        for plugin, around in entered:
            try:
                around.__exit__(None, None, None)
            except BaseException as error:  # noqa: BLE001 -- as in _call
                self._failures.record(plugin.name, "executor_start_call", error, plugin.origin)

    def before_call(self, call: ToolCall) -> None:
        """A call has come in."""
        self._call("executor_before_call", call=call)

    def deny_call(self, call: ToolCall, decision: Decision) -> None:
        """A call was denied."""
        self._call("executor_deny_call", call=call, decision=decision)

    def after_call(self, call: ToolCall, result: ToolResult) -> None:
        """A call was answered."""
        self._call("executor_after_call", call=call, result=result)

    def task_done(self, task: TaskInfo) -> None:
        """A background task has ended."""
        self._call("executor_task_done", task=task)

    def register_commands(self, cli: click.Group) -> None:
        """Add the plugins' commands to *cli*."""
        self._call("executor_register_commands", cli=cli)

    def set_output_callback(self, callback: OutputCallback | None) -> None:
        """Give *callback* to every plugin that takes it."""
        self._call("executor_set_output_callback", callback=callback)

    def _call(self, hook: str, **arguments: object) -> None:
        for plugin in self._plugins[hook]:
            try:
                plugin.call(hook, **arguments)
            except BaseException as error:  # noqa: BLE001 -- SystemExit too: a plugin does not end a call
                self._failures.record(plugin.name, hook, error, plugin.origin)

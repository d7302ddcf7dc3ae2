"""
The plugin registry: bundled plugins first, then entry points, each one's failures kept to itself.

This is the only module that touches pluggy's manager. `PluginRegistry._lock` guards loading, exposing and the tables
made from them. The tables are replaced, never changed, so that running calls read them without the lock. Hooks are
called under it only while a plugin is exposed or unexposed.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
import threading
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pluggy

from executor import hookspecs
from executor._log import warn
from executor.errors import PluginConflictError, PluginError, PluginLoadError
from executor.protocols import BackgroundCapable
from executor.tools._make import Registered, make_tool, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from executor.values import Decision, OutputCallback, Tool, ToolBackend


Plugin = object

# By name only: the core never imports a plugin by statement. Registered before every entry point, so that nothing can
# take a bundled plugin's name.
BUNDLED: Mapping[str, str] = {
    "shell": "executor_shell",
    "files": "executor_files",
    "background": "executor_background",
    "echo": "executor_echo",
    "mcp": "executor_mcp",
    "openapi": "executor_openapi",
}


@dataclass(frozen=True, slots=True)
class PluginFailure:
    """
    What went wrong with one plugin.

    Attributes:
        plugin: Its name.
        stage: ``load``, ``configure``, ``register``, or the hook that raised.
        distribution: The package that brought it, or None for one registered by hand.
    """

    plugin: str
    stage: str
    error: str
    distribution: str | None = None
    version: str | None = None
    traceback: str = ""


@dataclass(slots=True)
class _Loaded:
    """A plugin that can be exposed."""

    name: str
    plugin: Plugin
    bundled: bool = False
    distribution: str | None = None
    version: str | None = None
    exposed: bool = False
    config: Mapping[str, Any] | None = None
    tools: dict[str, Registered] = field(default_factory=dict)
    channels: dict[str, Any] = field(default_factory=dict)
    backends: dict[str, Any] = field(default_factory=dict)


class PluginRegistry:
    """
    Finds plugins, and holds the tools of those that are exposed. One registry may serve several executors.

    ``TOOLEXEC_PLUGINS=a,b`` loads only these, ``TOOLEXEC_BLOCK_PLUGINS=a`` never that one, ``TOOLEXEC_STRICT=1``
    raises instead of leaving a broken plugin out, ``TOOLEXEC_TRACE_PLUGINS=1`` prints each hook call to stderr.

    Args:
        bundled: Whether the plugins that come with this package are loaded.
        entry_points: Whether installed packages are searched for plugins (entry-point group ``executor``).
        blocked: Names that are never loaded.
    """

    def __init__(self, *, bundled: bool = True, entry_points: bool = True, blocked: Iterable[str] = ()) -> None:
        self._manager = pluggy.PluginManager("executor")
        self._manager.add_hookspecs(hookspecs)
        self._lock = threading.RLock()
        self._bundled = bundled
        self._entry_points = entry_points
        self._blocked = {*blocked, *_names("TOOLEXEC_BLOCK_PLUGINS")}
        self._only = set(_names("TOOLEXEC_PLUGINS")) if "TOOLEXEC_PLUGINS" in os.environ else None
        self._strict = os.environ.get("TOOLEXEC_STRICT", "") not in ("", "0")
        self._trace = os.environ.get("TOOLEXEC_TRACE_PLUGINS", "") not in ("", "0")
        self._discovered = False
        self._loaded: dict[str, _Loaded] = {}
        self._failures: list[PluginFailure] = []
        self._warned: set[tuple[str, str]] = set()
        self._users = 0
        self._output_callback: OutputCallback | None = None
        self._tools: Mapping[str, Registered] = {}
        self._hooks: Mapping[str, Sequence[tuple[str, Callable[..., Any]]]] = {}
        self.opinions: Sequence[
            tuple[str, Callable[..., Decision | None]]
        ] = ()  # of the permission hook, read by gates
        self._changed: list[Callable[[], None]] = []

    # Loading -----------------------------------------------------------------------------------------------------

    def discover(self) -> list[str]:
        """Load the bundled plugins, then those of installed packages. Returns the names of all that are there now."""
        with self._lock:
            if not self._discovered:
                self._discovered = True
                for name, module in BUNDLED.items() if self._bundled else ():
                    self._load(name, partial(importlib.import_module, module), bundled=True)
                for entry in importlib.metadata.entry_points(group="executor") if self._entry_points else ():
                    package = entry.dist.name if entry.dist else None
                    version = entry.dist.version if entry.dist else None
                    self._load(entry.name, entry.load, distribution=package, version=version)
            return list(self._loaded)

    def register(self, plugin: Plugin, name: str | None = None) -> str:
        """
        Make a module or object with hook implementations available.

        Returns:
            The name under which it can be exposed.

        Raises:
            PluginConflictError: There is a plugin of this name.
            PluginLoadError: It is no plugin.
        """
        name = name or getattr(plugin, "__name__", None) or type(plugin).__name__
        with self._lock:
            self._add(_Loaded(name, plugin))
        return name

    def _load(
        self,
        name: str,
        load: Callable[[], Plugin],
        *,
        bundled: bool = False,
        distribution: str | None = None,
        version: str | None = None,
    ) -> None:
        if name in self._blocked or (self._only is not None and name not in self._only):
            return
        try:
            try:
                plugin = load()
            except (Exception, SystemExit) as error:  # a module that calls sys.exit() ends nobody's process
                raise PluginLoadError(f"could not be imported: {error!r}", plugin=name) from error
            self._add(_Loaded(name, plugin, bundled=bundled, distribution=distribution, version=version))
        except PluginError as error:
            self._fail(name, "load", error, distribution=distribution, version=version)

    def _add(self, loaded: _Loaded) -> None:
        name, plugin = loaded.name, loaded.plugin
        if name in self._loaded:
            raise PluginConflictError(f"there is a plugin {name!r} already: it keeps the name", plugin=name)
        try:
            self._manager.register(plugin, name=name)
        except Exception as error:
            raise PluginLoadError(f"could not be registered: {error}", plugin=name) from error
        callers = self._manager.get_hookcallers(plugin) or []
        for caller in callers:
            for impl in caller.get_hookimpls():
                if impl.plugin is plugin and (impl.hookwrapper or impl.wrapper):
                    self._manager.unregister(name=name)
                    raise PluginLoadError(
                        f"{caller.name} is a hook wrapper, which would run around other plugins' answers: "
                        "implement the hook itself",
                        plugin=name,
                    )
                if impl.plugin is plugin and caller.spec is None:
                    warn(f"The plugin {name!r} implements {caller.name}, which is no hook: is it misspelt?")
        self._loaded[name] = loaded

    # Exposing ----------------------------------------------------------------------------------------------------

    def list_available(self) -> list[str]:
        """The names of all plugins that could be loaded, bundled ones first."""
        return self.discover()

    def list_exposed(self) -> list[str]:
        """The names of the plugins whose tools can be called."""
        with self._lock:
            return [name for name, loaded in self._loaded.items() if loaded.exposed]

    def expose(self, name: str, config: Mapping[str, Any] | None = None) -> bool:
        """
        Configure a plugin and make its tools callable; an exposed one whose configuration differs is exposed anew.

        Returns:
            Whether it is exposed now; if not, `failures` says why.

        Raises:
            PluginError: There is no plugin of this name.
        """
        with self._lock:
            self.discover()
            loaded = self._get(name)
            if loaded.exposed:
                if config is None or config == loaded.config:
                    return True
                self.unexpose(name)
            self._failures = [old for old in self._failures if old.plugin != name or old.stage == "load"]
            loaded.config = dict(config or {})
            stage = "configure"
            try:
                self._call_own(loaded, "executor_configure", config=loaded.config)
                self._call_own(loaded, "executor_set_output_callback", callback=self._output_callback)
                stage = "register"
                self._collect(loaded)
            except (Exception, SystemExit) as error:  # noqa: BLE001 -- one that fails is left out; the others work
                loaded.tools, loaded.channels, loaded.backends = {}, {}, {}
                self._fail(name, stage, error)
                return False
            loaded.exposed = True
            self._rebuild()
            return True

    def expose_all(self, configs: Mapping[str, Mapping[str, Any]] | None = None) -> list[str]:
        """Expose every plugin there is. Returns the names of those that could be."""
        configs = configs or {}
        return [name for name in self.discover() if self.expose(name, configs.get(name))]

    def unexpose(self, name: str) -> None:
        """Take a plugin's tools away; calls that run go on."""
        with self._lock:
            loaded = self._get(name)
            if loaded.exposed:
                loaded.exposed = False
                loaded.tools, loaded.channels, loaded.backends = {}, {}, {}
                self._rebuild()

    def refresh(self, name: str) -> None:
        """
        Ask an exposed plugin for its tools again, and replace those it had; calls that run go on.

        A failure is recorded, and leaves the tools as they were.
        """
        with self._lock:
            loaded = self._loaded.get(name)
            if loaded is None or not loaded.exposed:
                return
            before = loaded.tools
            loaded.tools = {}
            try:
                # Its own tools of before must not count as somebody else's.
                self._tools = {tool: entry for tool, entry in self._tools.items() if entry.plugin_name != name}
                self._call_own(loaded, "executor_register_tools", register=_Register(self, loaded))
            except Exception as error:  # noqa: BLE001 -- as in expose
                loaded.tools = before
                self._record(name, "register", error)
            self._rebuild()

    def _take_tool(
        self, loaded: _Loaded, tool: Tool, *, carrier: bool = False, backend: ToolBackend | None = None
    ) -> None:
        if carrier and not loaded.bundled:
            raise PluginError("only bundled plugins may register carriers", plugin=loaded.name)
        plugin = loaded.plugin
        background = isinstance(plugin, BackgroundCapable) and plugin.supports_background(tool.id)
        if isinstance(plugin, BackgroundCapable) and background and tool.auto_background is None:
            tool = replace(tool, auto_background=plugin.get_auto_background_threshold(tool.id))
        entry = prepare(tool, plugin_name=loaded.name, background=background, carrier=carrier, backend=backend)
        owner = self._tools.get(entry.name)
        if owner is not None:
            message = f"the tool {entry.name!r} is the plugin {owner.plugin_name!r}'s already: it keeps the name"
            self._fail(loaded.name, "register", PluginConflictError(message, plugin=loaded.name))
            return
        loaded.tools[entry.name] = entry

    def _collect(self, loaded: _Loaded) -> None:
        self._call_own(loaded, "executor_register_tools", register=_Register(self, loaded))
        self._call_own(loaded, "executor_register_channels", register=self._taker(loaded, "channels"))
        self._call_own(loaded, "executor_register_backends", register=self._taker(loaded, "backends"))

    def _taker(self, loaded: _Loaded, what: str) -> Callable[[str, Any], None]:
        def register(name: str, value: Any) -> None:
            if name in self._merged(what):
                error = PluginConflictError(f"there is a {what[:-1]} {name!r} already: it stays", plugin=loaded.name)
                self._fail(loaded.name, "register", error)
            else:
                getattr(loaded, what)[name] = value

        return register

    def _rebuild(self) -> None:
        """Make the tables that calls read; the order is that of registration, so that the first one wins."""
        exposed = [loaded for loaded in self._loaded.values() if loaded.exposed]
        self._tools = {name: entry for loaded in exposed for name, entry in loaded.tools.items()}
        self._hooks = {
            hook: tuple(
                (loaded.name, fn) for loaded in exposed if (fn := self._implementation(loaded, hook)) is not None
            )
            for hook in _HOOKS
        }
        self.opinions = tuple((name, _positional(fn)) for name, fn in self._hooks["executor_check_permission"])
        for fn in self._changed:
            fn()

    def _implementation(self, loaded: _Loaded, hook: str) -> Callable[..., Any] | None:
        for impl in getattr(self._manager.hook, hook).get_hookimpls():
            if impl.plugin is loaded.plugin:
                return self._caller(loaded.name, hook, impl.function, impl.argnames)
        return None

    def _caller(self, name: str, hook: str, fn: Callable[..., Any], wanted: Sequence[str]) -> Callable[..., Any]:
        def call(**arguments: Any) -> Any:
            if self._trace:
                print(f"{hook} -> {name}({', '.join(wanted)})", file=sys.stderr)  # noqa: T201 -- asked for by the environment
            return fn(*[arguments[argument] for argument in wanted])

        return call

    def _call_own(self, loaded: _Loaded, hook: str, **arguments: Any) -> None:
        implementation = self._implementation(loaded, hook)
        if implementation is not None:
            implementation(**arguments)

    # What executors use ------------------------------------------------------------------------------------------

    def get_plugin(self, name: str) -> Plugin | None:
        """The plugin itself, or None."""
        with self._lock:
            loaded = self._loaded.get(name)
            return loaded.plugin if loaded is not None else None

    def get_plugin_for_tool(self, tool: str) -> Plugin | None:
        """The exposed plugin that brought *tool*, or None."""
        entry = self._tools.get(tool)
        return self.get_plugin(entry.plugin_name) if entry is not None else None

    def failures(self) -> list[PluginFailure]:
        """What went wrong, oldest first."""
        with self._lock:
            return list(self._failures)

    def describe(self) -> list[dict[str, Any]]:
        """Each plugin for a person: name, origin, version, status, tools, hooks."""
        with self._lock:
            self.discover()
            rows = [
                {
                    "name": loaded.name,
                    "origin": "bundled" if loaded.bundled else loaded.distribution or "registered",
                    "version": loaded.version,
                    "status": "exposed" if loaded.exposed else "available",
                    "tools": sorted(loaded.tools),
                    "hooks": sorted(hook for hook in _HOOKS if self._implementation(loaded, hook) is not None),
                }
                for loaded in self._loaded.values()
            ]
            failed = {
                failure.plugin for failure in self._failures if failure.stage in ("load", "configure", "register")
            }
            for row in rows:
                if row["name"] in failed and row["status"] != "exposed":
                    row["status"] = "failed"
            known = {row["name"] for row in rows}
            for failure in self._failures:
                if failure.plugin not in known:
                    known.add(failure.plugin)
                    origin = failure.distribution or "registered"
                    empty: dict[str, Any] = {"status": "failed", "tools": [], "hooks": []}
                    rows.append({"name": failure.plugin, "origin": origin, "version": failure.version, **empty})
            return rows

    @property
    def tools(self) -> Mapping[str, Registered]:
        """The tools of the exposed plugins, by name. Never changed: replaced when something is exposed."""
        return self._tools

    def channels(self) -> dict[str, Any]:
        """The surfaces that exposed plugins registered; of two with one name the first."""
        return self._merged("channels")

    def backends(self) -> dict[str, Any]:
        """What exposed plugins registered to run tools elsewhere, by kind; of two of a kind the first."""
        return self._merged("backends")

    def _merged(self, what: str) -> dict[str, Any]:
        result: dict[str, Any] = {}
        with self._lock:
            for loaded in self._loaded.values():
                for name, value in getattr(loaded, what).items():
                    result.setdefault(name, value)
        return result

    def notify(self, hook: str, **arguments: Any) -> None:
        """Call *hook* of every exposed plugin; one that raises is recorded, and the next one called."""
        for name, implementation in self._hooks.get(hook, ()):
            try:
                implementation(**arguments)
            except BaseException as error:  # noqa: BLE001 -- SystemExit too: a plugin does not end a call
                self._record(name, hook, error)

    def has(self, hook: str) -> bool:
        """Whether an exposed plugin implements *hook*."""
        return bool(self._hooks.get(hook))

    def attach(self, changed: Callable[[], None]) -> None:
        """An executor uses this registry; *changed* is called whenever the tables are replaced."""
        with self._lock:
            self._users += 1
            self._changed.append(changed)

    def detach(self, changed: Callable[[], None]) -> None:
        """An executor has shut down. After the last one the plugins are told to free what they hold."""
        with self._lock:
            if changed not in self._changed:
                return
            self._changed.remove(changed)
            self._users -= 1
            last = self._users == 0
        if last:
            self.notify("executor_shutdown")

    def set_output_callback(self, callback: OutputCallback | None) -> None:
        """Give *callback* to every plugin that takes it, also to those exposed later."""
        with self._lock:
            self._output_callback = callback
        self.notify("executor_set_output_callback", callback=callback)

    def _get(self, name: str) -> _Loaded:
        loaded = self._loaded.get(name)
        if loaded is None:
            there = ", ".join(self._loaded) or "none"
            raise PluginError(f"There is no plugin {name!r}; available: {there}", plugin=name)
        return loaded

    def _fail(
        self,
        name: str,
        stage: str,
        error: BaseException,
        *,
        distribution: str | None = None,
        version: str | None = None,
    ) -> None:
        """Record a failure to load or expose, or raise it where that was asked for."""
        if self._strict:
            raise error
        self._record(name, stage, error, distribution, version)

    def _record(
        self, name: str, stage: str, error: BaseException, distribution: str | None = None, version: str | None = None
    ) -> None:
        import traceback  # wanted by failures only

        told = "".join(traceback.format_exception(error))
        loaded = self._loaded.get(name)
        if loaded is not None and distribution is None:
            distribution, version = loaded.distribution, loaded.version
        failure = PluginFailure(name, stage, str(error) or repr(error), distribution, version, told)
        with self._lock:
            first = (name, stage) not in self._warned
            self._warned.add((name, stage))
            self._failures = [*self._failures[-99:], failure]
        if first:
            warn(f"The plugin {name!r} failed ({stage}): {failure.error}. It is left out; everything else works.")


class _Register:
    """What a plugin registers its tools with; see `hookspecs.RegisterTool`."""

    def __init__(self, registry: PluginRegistry, loaded: _Loaded) -> None:
        self._registry = registry
        self._loaded = loaded

    def __call__(
        self,
        name: Any,
        fn: Callable[..., Any] | None = None,
        *,
        carrier: bool = False,
        backend: ToolBackend | None = None,
        **options: Any,
    ) -> None:
        tool = make_tool(name, fn, **options)
        self._registry._take_tool(self._loaded, tool, carrier=carrier, backend=backend)  # noqa: SLF001 -- of this module

    def again(self) -> None:
        self._registry.refresh(self._loaded.name)


def _positional(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda call, context: fn(call=call, context=context)


_HOOKS = tuple(name for name in vars(hookspecs) if name.startswith("executor_"))


def _names(variable: str) -> list[str]:
    return [name.strip() for name in os.environ.get(variable, "").split(",") if name.strip()]

"""
The plugin registry.

Locks: `_exposing` is held while plugins are loaded, exposed and ended, and these hooks are called under it; who listens
for changes is told without it. `_lock` guards the tables and what they are made from; nothing of anybody else is called
under it, and it is taken after `_exposing` and after a plugin's `asking`. The tables are replaced, never changed, so
that running calls read them without a lock.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from executor._log import warn
from executor.errors import PluginConflictError, PluginError
from executor.registry._failures import Failures, Origin, missing_row
from executor.registry._hooks import Hooks, PluginHooks
from executor.registry._load import ON_REQUEST, Choice, Found, find, is_set, load, make
from executor.registry._plugin import Loaded, Registrations
from executor.registry._recipe import Recipe, module_of, recipe_of
from executor.registry._users import Users
from executor.run._limits import function, names, table, text, truth
from executor.threads._fork import fork_safe
from executor.tools._listeners import Listeners

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from executor.registry._failures import PluginFailure
    from executor.registry._hooks import Opinion
    from executor.tools._make import Registered
    from executor.tools._settings import ToolSettings
    from executor.values import OutputCallback
    from executor.values._approval import Channel


class PluginRegistry:
    """
    Finds plugins, and holds the tools of those that are exposed. One registry may serve several executors.

    ``TOOLEXEC_PLUGINS=a,b`` loads only these, ``TOOLEXEC_BLOCK_PLUGINS=a`` never that one, ``TOOLEXEC_STRICT=1``
    raises instead of leaving a broken plugin out, ``TOOLEXEC_TRACE_PLUGINS=1`` prints each hook call to stderr.

    As a context manager it ends the plugins at the end; see `close`.

    Args:
        bundled: Whether the plugins that come with this package are loaded.
        entry_points: Whether installed packages are searched for plugins (entry-point group ``executor``).
        blocked: Names that are never loaded.

    Attributes:
        hooks: The hooks of the exposed plugins. Never changed: replaced when something is exposed.
    """

    def __init__(self, *, bundled: bool = True, entry_points: bool = True, blocked: Iterable[str] = ()) -> None:
        self._exposing = fork_safe(self, "_exposing", threading.RLock)
        self._lock = fork_safe(self, "_lock", threading.Lock)
        self._find = partial(find, bundled=truth(bundled, "bundled"), entry_points=truth(entry_points, "entry_points"))
        self._choice = Choice(blocked := names(blocked, "blocked"))
        self._options = {"bundled": bundled, "entry_points": entry_points, "blocked": blocked}
        self._trace = is_set("TOOLEXEC_TRACE_PLUGINS")
        self._failures = Failures(strict=is_set("TOOLEXEC_STRICT"))
        self._discovered = False
        self._loaded: dict[str, Loaded] = {}
        self._users = Users(self.on_tools_changed)
        self._output_callback: OutputCallback | None = None
        self._listeners = Listeners()
        self._tools: Mapping[str, Registered] = {}
        self._settings: dict[str, ToolSettings] = {}
        self.hooks = Hooks((), self._failures)

    def discover(self) -> list[str]:
        """Load the bundled plugins, then those of installed packages. Returns the names of all that are there now."""
        with self._exposing:
            if not self._discovered:
                self._discovered = True
                for found in self._find():
                    if found.name in self._choice:
                        self._load(found)
            return list(self._loaded)

    def register(self, plugin: object, name: str | None = None) -> str:
        """
        Make a module or object with hook implementations available.

        Args:
            plugin: Of a module with a function or class ``executor_plugin``, what that makes is the plugin.

        Returns:
            The name under which it can be exposed.

        Raises:
            PluginConflictError: There is a plugin of this name.
            PluginLoadError: It is no plugin.
        """
        name = text(name or getattr(plugin, "__name__", None) or type(plugin).__name__, "name")
        with self._exposing:
            self._add(name, plugin, Origin(), 0.0)
        return name

    def _load(self, found: Found) -> None:
        try:
            plugin, seconds = load(found)
            self._add(found.name, plugin, found.origin, seconds)
        except PluginError as error:
            self._failures.fail(found.name, "load", error, found.origin)

    def _add(self, name: str, plugin: object, origin: Origin, seconds: float) -> None:
        if name in self._loaded:
            raise PluginConflictError(f"there is a plugin {name!r} already: it keeps the name", plugin=name)
        module, plugin = module_of(plugin), make(plugin, name)
        loaded = Loaded(plugin, PluginHooks(name, plugin, origin, trace=self._trace), seconds, module=module)
        for remark in loaded.hooks.remarks:
            warn(f"The plugin {name!r}: {remark}")
        with self._lock:
            self._loaded = {**self._loaded, name: loaded}

    # Exposing ----------------------------------------------------------------------------------------------------

    def list_available(self) -> list[str]:
        """The names of all plugins that could be loaded, bundled ones first."""
        return self.discover()

    def list_exposed(self) -> list[str]:
        """The names of the plugins whose tools can be called."""
        return [loaded.name for loaded in self._exposed()]

    def expose(self, name: str, config: Mapping[str, Any] | None = None) -> bool:
        """
        Configure a plugin and make its tools callable; an exposed one whose configuration differs is exposed anew.

        Returns:
            Whether it is exposed now; if not, `failures` says why.

        Raises:
            PluginError: There is no plugin of this name.
        """
        self.discover()
        loaded = self._get(name)
        if loaded.exposed and config is not None and config != loaded.config:
            self.unexpose(name)
        with self._exposing:
            if loaded.exposed:
                return True
            self._failures.forget(name)
            exposed = self._expose(loaded, table(config, f"the configuration of {name}"))
        self._listeners.notify()
        return exposed

    def _expose(self, loaded: Loaded, config: dict[str, Any]) -> bool:
        self._end(loaded)  # if another thread has unexposed it just now
        stage = "configure"
        try:
            loaded.config = config
            loaded.hooks.configure(config)
            loaded.live = True
            loaded.hooks.set_output_callback(self._output_callback)
            stage = "register"
            self._take(loaded, loaded.registered, loaded.collect(partial(self.refresh, loaded.name)))
        except BaseException as error:  # one that fails, however, is left out; the others work
            self._withdraw([loaded])
            self._end(loaded)
            if isinstance(error, KeyboardInterrupt):
                raise
            self._failures.fail(loaded.name, stage, error, loaded.hooks.origin)
            return False
        return True

    def expose_all(self, configs: Mapping[str, Mapping[str, Any]] | None = None) -> list[str]:
        """
        Expose every plugin there is, but ``otel`` only if *configs* has a configuration for it, maybe an empty one.

        Returns:
            The names of those that could be. Of the others, and of what is only in *configs*, `failures` says why not.
        """
        configs = table(configs, "configs")
        wanted = [name for name in self.discover() if name not in ON_REQUEST or name in configs]
        for name in configs.keys() - self._loaded.keys() - {failure.plugin for failure in self._failures.all()}:
            if name in self._choice:
                self._failures.fail(name, "configure", self._absent(name), Origin())
        return [name for name in wanted if self.expose(name, configs.get(name))]

    def unexpose(self, name: str) -> None:
        """
        Take a plugin's tools away, and have it free what it holds; exposing it again configures it anew.

        Calls that run are not waited for: those that need what the plugin held (a server, a command) fail. So do those
        that were made and have not begun, as they wait for a person: they were judged with the plugin as it was.
        """
        self._unexpose([self._get(name)])

    def close(self) -> None:
        """Unexpose every plugin, the last one first: each frees what it holds. May be called more than once."""
        self._unexpose(list(reversed(self._loaded.values())))

    def _unexpose(self, plugins: Sequence[Loaded]) -> None:
        with self._exposing:
            self._withdraw(plugins)
        self._listeners.notify()  # no executor calls a tool of a plugin that has been ended
        with self._exposing:
            for loaded in plugins:
                if not loaded.exposed:
                    self._end(loaded)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(self, name: str) -> None:
        """
        Ask an exposed plugin for its tools again, and replace those it had; calls that run go on.

        A failure is recorded, and leaves the tools as they were.
        """
        loaded = self._loaded.get(name)
        if loaded is None:
            return
        with loaded.asking:
            before = loaded.registered
            if not loaded.exposed:
                return
            loaded.live = True
            try:
                tools = loaded.collect_tools(partial(self.refresh, name)).tools
                self._take(loaded, before, Registrations(tools, before.channels, before.backends))
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 -- as when it was exposed
                self._failures.record(name, "register", error, loaded.hooks.origin)
        self._listeners.notify()

    def _take(self, loaded: Loaded, before: Registrations, made: Registrations) -> None:
        """
        Put what a plugin has registered into the tables, but for the names that another plugin has already.

        Args:
            before: What it had when it was asked; if it has been exposed anew or taken away since, *made* is too old.
        """
        with self._lock:
            if loaded.registered is not before:
                return
            others = [other for other in self._loaded.values() if other.exposed and other is not loaded]
            loaded.registered = kept = made.free_of(others)
            loaded.exposed = True
            self._rebuild()
        for conflict in kept.conflicts:
            self._failures.fail(loaded.name, "register", conflict, loaded.hooks.origin)

    def _withdraw(self, plugins: Iterable[Loaded]) -> None:
        """Take the tools of plugins away."""
        with self._lock:
            for loaded in plugins:
                loaded.withdraw()
            self._rebuild()

    def _rebuild(self) -> None:
        """Make the tables that calls read. The lock must be held."""
        exposed = self._exposed()
        made = {name: entry for loaded in exposed for name, entry in loaded.registered.tools.items()}
        told = self._settings
        self._tools = {name: told[name].applied(entry) if name in told else entry for name, entry in made.items()}
        self.hooks = Hooks([loaded.hooks for loaded in exposed], self._failures)

    def _end(self, loaded: Loaded) -> None:
        """Have a plugin free what it holds, once; a failure is recorded."""
        with self._exposing:
            if not loaded.live:
                return
            loaded.live = False
            try:
                loaded.hooks.shutdown()
            except BaseException as error:  # noqa: BLE001 -- SystemExit too: the other plugins are to be ended
                self._failures.record(loaded.name, "executor_shutdown", error, loaded.hooks.origin)

    # What hosts and executors use --------------------------------------------------------------------------------

    def adjust(self, tool: str, settings: ToolSettings) -> None:
        """Give a plugin's tool these options in place of its own, now and whenever it is exposed. Raises TypeError."""
        from executor.tools._settings import check_name  # loaded by whoever made *settings*

        with self._lock:
            self._settings = {**self._settings, check_name(tool, settings): settings}
            self._rebuild()
        self._listeners.notify()

    @property
    def settings(self) -> Mapping[str, ToolSettings]:
        """What was said by `adjust`, by tool. Never changed: replaced."""
        return self._settings

    def recipe(self) -> Recipe:
        """What another process needs to have the same plugins, configured and exposed alike."""
        return recipe_of(self._options, self._loaded.values(), self._settings)

    def get_tool(self, name: str) -> Registered:
        """A tool of the exposed plugins. Raises InvalidToolIdError, and ToolNotFoundError with names that are near."""
        from executor.run._resolve import resolve  # wanted by commands; with it come the backends
        from executor.tools._catalogue import Catalogue

        catalogue = Catalogue()
        catalogue.use(self)
        return resolve(name, (catalogue,))

    def get_plugin(self, name: str) -> object | None:
        """The plugin itself, or None."""
        loaded = self._loaded.get(name)
        return loaded.plugin if loaded is not None else None

    def get_plugin_for_tool(self, tool: str) -> object | None:
        """The exposed plugin that brought *tool*, or None."""
        entry = self._tools.get(tool)
        return self.get_plugin(entry.plugin_name) if entry is not None else None

    def failures(self) -> list[PluginFailure]:
        """What went wrong, oldest first."""
        return self._failures.all()

    def describe(self) -> list[dict[str, Any]]:
        """
        Each plugin for a person.

        Returns:
            For each its ``name``, ``origin``, ``version``, ``status`` (exposed, available or failed), ``tools``,
            ``hooks``, ``load_seconds`` and ``remarks``: what its author should know.
        """
        self.discover()
        failures = self.failures()
        failed = {failure.plugin for failure in failures if failure.stage in ("load", "configure", "register")}
        rows = [loaded.row(failed=loaded.name in failed) for loaded in self._loaded.values()]
        missing = {failure.plugin: failure for failure in failures if failure.plugin not in self._loaded}
        return rows + [missing_row(failure) for failure in missing.values()]

    @property
    def tools(self) -> Mapping[str, Registered]:
        """The tools of the exposed plugins, by name. Never changed: replaced when something is exposed."""
        return self._tools

    @property
    def opinions(self) -> Sequence[Opinion]:
        """The permission hooks of the exposed plugins, as (plugin, function) pairs."""
        return self.hooks.opinions

    def channels(self) -> dict[str, Channel]:
        """The surfaces that exposed plugins registered, by name."""
        return {name: channel for loaded in self._exposed() for name, channel in loaded.registered.channels.items()}

    def backends(self) -> dict[str, object]:
        """What exposed plugins registered to run tools elsewhere, by kind."""
        return {kind: backend for loaded in self._exposed() for kind, backend in loaded.registered.backends.items()}

    def on_tools_changed(self, fn: Callable[[], object]) -> Callable[[], None]:
        """
        Call *fn* whenever a plugin was exposed, unexposed or asked for its tools again.

        It is called in the thread that made the change, one change after another, so it should be quick.

        Returns:
            A function that ends this.
        """
        return self._listeners.add(fn)

    def attach(self, changed: Callable[[], object]) -> None:
        """
        An executor uses this registry.

        Args:
            changed: Called whenever the tables are replaced. Of a method the object, the executor, is not kept alive
                by that: one that is dropped without `detach` counts no more.
        """
        with self._exposing:
            self._users.add(changed)
            for loaded in self._exposed():
                loaded.live = True  # whoever was ended with the last executor works again for this one

    def detach(self, changed: Callable[[], object]) -> None:
        """An executor has shut down. After the last one the plugins are told to free what they hold."""
        with self._exposing:
            if self._users.remove(changed):
                for loaded in reversed(self._exposed()):
                    self._end(loaded)

    def set_output_callback(self, callback: OutputCallback | None) -> None:
        """Give *callback* to every plugin that takes it, also to those exposed later."""
        self._output_callback = function(callback, "callback")
        self.hooks.set_output_callback(callback)

    def _exposed(self) -> list[Loaded]:
        return [loaded for loaded in self._loaded.values() if loaded.exposed]

    def _get(self, name: str) -> Loaded:
        if name not in self._loaded:  # they are never taken out
            raise self._absent(name)
        return self._loaded[name]

    def _absent(self, name: str) -> PluginError:
        return PluginError(f"There is no plugin {name!r}; available: {', '.join(self._loaded) or 'none'}", plugin=name)

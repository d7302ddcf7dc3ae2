"""One plugin of a registry: its state, and what it has registered."""

from __future__ import annotations

import threading
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from executor.errors import PluginConflictError, PluginError
from executor.protocols import BackgroundCapable
from executor.tools._make import Exposure, Registered, make_tool, prepare
from executor.values._frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from executor.registry._hooks import PluginHooks
    from executor.tools._options import ToolOptions
    from executor.values import Tool, ToolBackend
    from executor.values._approval import Channel

V = TypeVar("V")
SLOW_SECONDS = 0.2  # an import that takes longer is felt at every start of the command


@dataclass(slots=True)
class Registrations:
    """
    What one plugin has registered, by name.

    Attributes:
        conflicts: What it could not register because the name was taken; the first keeps it.
    """

    tools: dict[str, Registered] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    backends: dict[str, object] = field(default_factory=dict)
    conflicts: list[PluginConflictError] = field(default_factory=list)

    def add_tool(self, tool: Registered) -> None:
        """Register a tool."""
        if tool.name in self.tools:
            self.conflicts.append(_conflict("tool", tool.name, "this plugin"))
        self.tools.setdefault(tool.name, tool)

    def add_channel(self, name: str, channel: Channel) -> None:
        """Register a surface on which a person can be asked."""
        if name in self.channels:
            self.conflicts.append(_conflict("channel", name, "this plugin"))
        self.channels.setdefault(name, channel)

    def add_backend(self, kind: str, backend: object) -> None:
        """Register what runs the tools of a kind."""
        if kind in self.backends:
            self.conflicts.append(_conflict("backend", kind, "this plugin"))
        self.backends.setdefault(kind, backend)

    def free_of(self, others: Sequence[Loaded]) -> Registrations:
        """These without what one of the *others* has, as a conflict for each."""
        conflicts = list(self.conflicts)
        owners = {name: other.name for other in others for name in other.registered.tools}
        tools = _free("tool", self.tools, owners, conflicts)
        owners = {name: other.name for other in others for name in other.registered.channels}
        channels = _free("channel", self.channels, owners, conflicts)
        owners = {kind: other.name for other in others for kind in other.registered.backends}
        return Registrations(tools, channels, _free("backend", self.backends, owners, conflicts), conflicts)


def _free(
    what: str, mine: Mapping[str, V], owners: Mapping[str, str], conflicts: list[PluginConflictError]
) -> dict[str, V]:
    conflicts += [_conflict(what, name, f"the plugin {owners[name]!r}") for name in mine if name in owners]
    return {name: value for name, value in mine.items() if name not in owners}


def _conflict(what: str, name: str, owner: str) -> PluginConflictError:
    return PluginConflictError(f"the {what} {name!r} is taken: {owner} registered it first and keeps it")


def told_of_import(seconds: float, module: str | None) -> list[str]:
    """What is to be said of an import that took so long: one text, or none."""
    if seconds <= SLOW_SECONDS:
        return []
    shows = f" ('python -X importtime -c \"import {module}\"' shows what is)" if module else ""
    return [f"its import took {seconds:.1f} s: import what is heavy{shows} inside the functions that need it"]


@dataclass(slots=True, eq=False)
class Loaded:
    """
    A plugin that can be exposed.

    Attributes:
        seconds: How long its import took.
        module: By which name it is imported, or None.
        config: What it was last configured with.
        exposed: Whether its tools can be called.
        live: Whether it may hold something that `executor_shutdown` frees.
        exposure: Its last exposing; of tools that it registered in an earlier one no call begins any more.
        asking: Held while it is asked for its tools again, so that the newest answer is the one that stays.
    """

    plugin: object
    hooks: PluginHooks
    seconds: float = 0.0
    module: str | None = None
    config: Mapping[str, Any] | None = None
    exposed: bool = False
    live: bool = False
    exposure: Exposure = field(init=False)
    registered: Registrations = field(default_factory=Registrations)
    asking: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.exposure = Exposure(self.name)

    @property
    def name(self) -> str:
        """The name under which it is exposed."""
        return self.hooks.name

    @property
    def remarks(self) -> list[str]:
        """What its author should know."""
        return [*self.hooks.remarks, *told_of_import(self.seconds, self.module)]

    def row(self, *, failed: bool) -> dict[str, Any]:
        """What `PluginRegistry.describe` says of it."""
        return {
            "name": self.name,
            "origin": str(self.hooks.origin),
            "version": self.hooks.origin.version,
            "status": "exposed" if self.exposed else "failed" if failed else "available",
            "tools": sorted(self.registered.tools),
            "hooks": list(self.hooks.implemented),
            "load_seconds": round(self.seconds, 3),
            "remarks": self.remarks,
        }

    def withdraw(self) -> None:
        """Its tools can be called no more. The registry's lock is held."""
        self.exposed, self.registered = False, Registrations()
        self.exposure.over, self.exposure = True, Exposure(self.name)

    def collect(self, again: Callable[[], None]) -> Registrations:
        """Ask for all that the plugin has to register. Raises what the plugin raises."""
        made = self.collect_tools(again)
        self.hooks.register_channels(made.add_channel)
        self.hooks.register_backends(made.add_backend)
        return made

    def collect_tools(self, again: Callable[[], None]) -> Registrations:
        """Ask for the plugin's tools. Raises what the plugin raises."""
        made = Registrations()
        self.hooks.register_tools(_Register(self, made.add_tool, again))
        return made


class _Register:
    """What a plugin registers its tools with; see `hookspecs.RegisterTool`."""

    def __init__(self, loaded: Loaded, add: Callable[[Registered], None], again: Callable[[], None]) -> None:
        self._loaded = loaded
        self._add = add
        self._capable = loaded.plugin if isinstance(loaded.plugin, BackgroundCapable) else None  # slow to find out
        self.again = again

    def __call__(
        self,
        name: str | Tool | Callable[..., Any],
        fn: Callable[..., Any] | None = None,
        *,
        backend: ToolBackend | None = None,
        carrier: bool = False,
        **options: Unpack[ToolOptions],
    ) -> None:
        tool = make_tool(name, fn, **options)
        loaded, capable = self._loaded, self._capable
        if carrier and not loaded.hooks.origin.bundled:
            raise PluginError("only bundled plugins may register carriers", plugin=loaded.name)
        background = capable is not None and capable.supports_background(tool.id)
        if capable is not None and background and tool.auto_background is None:
            tool = replace(tool, auto_background=capable.get_auto_background_threshold(tool.id))
        made = prepare(
            tool,
            plugin_name=loaded.name,
            background=background,
            carrier=carrier,
            backend=backend,
            exposure=loaded.exposure,
        )
        self._add(made)

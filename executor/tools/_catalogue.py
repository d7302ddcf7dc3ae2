"""The tools of one executor: its own, then those of its registry's exposed plugins."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

from executor.threads._fork import fork_safe
from executor.tools._listeners import Listeners

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from executor.tools._make import Registered
    from executor.values import ToolDefinition


class Plugins(Protocol):
    """What a catalogue takes over from a `PluginRegistry`; both are replaced there, never changed."""

    @property
    def tools(self) -> Mapping[str, Registered]: ...

    @property
    def opinions(self) -> Sequence[tuple[str, Callable[..., Any]]]: ...


class Catalogue:
    """
    A source of tools for a runner. Changed under its lock, read without one.

    Attributes:
        find: The tool of a name, or None: the look-up of one table, which every call makes.
        opinions: The permission hook of the plugins, as (name, function) pairs.
    """

    find: Callable[[str], Registered | None]

    def __init__(self) -> None:
        self._lock = fork_safe(self, "_lock", threading.Lock)
        self._listeners = Listeners()
        self._own: dict[str, Registered] = {}
        self._plugins: Mapping[str, Registered] = {}
        # Both, an own one before a plugin's. Changed by single operations: no tool that stays is ever missing.
        self._table: dict[str, Registered] = {}
        self.find = self._table.get
        self._told: dict[str, ToolDefinition] | None = None  # of the own ones, from the first listing on
        self._definitions: list[ToolDefinition] | None = None
        self.opinions: Sequence[tuple[str, Callable[..., Any]]] = ()

    def names(self) -> Iterable[str]:
        """The names of all tools."""
        return [entry.name for entry in self.entries()]

    def entries(self) -> list[Registered]:
        """All tools, in the order of their registration; an own one hides a plugin's of the same name."""
        own = self._own.copy()
        return [*own.values(), *(entry for name, entry in self._plugins.items() if name not in own)]

    def definitions(self) -> list[ToolDefinition]:
        """What a model is told of all tools."""
        with self._lock:
            if self._definitions is None:
                if self._told is None:
                    self._told = {name: entry.definition for name, entry in self._own.items()}
                plugins = (entry.definition for name, entry in self._plugins.items() if name not in self._own)
                self._definitions = [*self._told.values(), *plugins]
            return self._definitions.copy()

    def on_changed(self, fn: Callable[[], object]) -> Callable[[], None]:
        """
        Call *fn* whenever tools were added, replaced or taken out, in the thread that did it, without the lock.

        Returns:
            A function that ends this.
        """
        return self._listeners.add(fn)

    def add(self, entry: Registered) -> None:
        """Take a tool in, in place of one of the same name."""
        with self._lock:
            self._own[entry.name] = self._table[entry.name] = entry
            self._definitions = None
            if self._told is not None:
                self._told[entry.name] = entry.definition
        self._listeners.notify()

    def remove(self, name: str) -> bool:
        """Take an own tool out. Returns whether there was one."""
        with self._lock:
            self._definitions = None
            removed = self._own.pop(name, None) is not None
            if self._told is not None:
                self._told.pop(name, None)
            if name in self._plugins:
                self._table[name] = self._plugins[name]
            else:
                self._table.pop(name, None)
        if removed:
            self._listeners.notify()
        return removed

    def clear(self) -> None:
        """Take all own tools out."""
        with self._lock:
            self._own.clear()
            self._told = None
            self._fill()
        self._listeners.notify()

    def use(self, registry: Plugins | None) -> None:
        """Take the tools and opinions of this registry as they are now; None: of no plugin."""
        with self._lock:
            self._plugins = registry.tools if registry is not None else {}
            self.opinions = registry.opinions if registry is not None else ()
            self._fill()
        self._listeners.notify()

    def _fill(self) -> None:
        self._definitions = None
        self._table.update({**self._plugins, **self._own})
        for name in [name for name in self._table if name not in self._own and name not in self._plugins]:
            del self._table[name]

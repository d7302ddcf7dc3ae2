"""The plugins as one call of the command sees them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from executor.registry._registry import PluginRegistry
from executor.values import ToolBackend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from executor.cli._interrupts import Presence
    from executor.tools._make import Registered


class CommandRegistry(PluginRegistry):
    """A registry that hands out a tool changed for the call that the command makes; see `adapt` and `stand_in`."""

    def __init__(self, *, blocked: Iterable[str] = ()) -> None:
        super().__init__(blocked=blocked)
        self._adapted: dict[str, Registered] = {}

    @property
    def tools(self) -> Mapping[str, Registered]:
        return {**super().tools, **self._adapted}

    def adapt(self, entry: Registered, threshold: float | None, presence: Presence) -> None:
        """
        From now on, for executors made later, hand *entry* out changed.

        Args:
            threshold: Seconds after which a call of it goes to the background; None leaves its own.
            presence: Knows who is in its function, also when nobody waits for it any more.
        """
        handler, tool = entry.handler, entry.tool
        if threshold is not None:
            tool = replace(tool, auto_background=threshold)

        def watched(arguments: dict[str, Any]) -> Any:
            assert handler is not None
            with presence.inside():
                return handler(arguments)

        # A coroutine function returns before its work begins; its work is ended by being cancelled.
        changed = handler if handler is None or entry.is_async else watched
        background = entry.background or threshold is not None
        self._adapted[entry.name] = replace(entry, tool=tool, handler=changed, background=background)

    def stand_in(self, entry: Registered, fn: Callable[[dict[str, Any]], Any]) -> None:
        """From now on, for executors made later, call *fn* with the arguments in place of the tool *entry*."""
        self._adapted[entry.name] = replace(
            entry,
            tool=replace(entry.tool, timeout=None, auto_background=None, retry=None),
            backends=(ToolBackend.local(entry.name),),
            handler=fn,
            is_async=False,
            streams=False,
            background=False,
        )

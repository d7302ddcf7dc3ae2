"""The plugins as one call of the command sees them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from executor._host import PluginRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from executor._tools import Registered


class CommandRegistry(PluginRegistry):
    """A registry that hands out a tool changed for the call that the command makes; see `adapt`."""

    def __init__(self, *, blocked: Iterable[str] = ()) -> None:
        super().__init__(blocked=blocked)
        self._adapted: dict[str, Registered] = {}

    @property
    def tools(self) -> Mapping[str, Registered]:
        return {**super().tools, **self._adapted}

    def adapt(self, entry: Registered, threshold: float | None, returned: Callable[[], None]) -> None:
        """
        From now on, for executors made later, hand *entry* out changed.

        Args:
            threshold: Seconds after which a call of it goes to the background; None leaves its own.
            returned: Called each time its function has come back, also when nobody waits for it any more.
        """
        handler, tool = entry.handler, entry.tool
        if threshold is not None:
            tool = replace(tool, auto_background=threshold)

        def tell(arguments: dict[str, Any]) -> Any:
            assert handler is not None
            try:
                return handler(arguments)
            finally:
                returned()

        watched = handler if handler is None or entry.is_async else tell
        background = entry.background or threshold is not None
        self._adapted[entry.name] = replace(entry, tool=tool, handler=watched, background=background)

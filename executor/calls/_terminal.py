"""The terminal on which something runs for a call: known to the call, and to the task that it is or becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._state import CallState
    from executor.values._terminal import Terminal


def offer(state: CallState, terminal: Terminal) -> Callable[[], None]:
    """A person may use *terminal* from now on, by the task of this call or of one around it. Returns its end."""

    def set_to(value: Terminal | None) -> None:
        around: CallState | None = state
        while around is not None:
            if value is not None or around.terminal is terminal:
                around.terminal = value
                if around.on_terminal is not None:
                    around.on_terminal()
            around = around.parent

    set_to(terminal)
    return lambda: set_to(None)

"""The terminal on which something runs for a call: known to the call, and to the task that it is or becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor._log import warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._state import CallState
    from executor.values._terminal import Terminal


UNSEEN = "a person who types unseen at its terminal: toolexec tasks attach"


def awaited_at(terminal: Terminal) -> str | None:
    """What a call waits for whose command asks for a secret at its terminal; None: it does not."""
    try:
        return UNSEEN if terminal.mode == "unseen" else None
    except Exception as error:  # noqa: BLE001 -- a plugin's terminal must not keep anybody from looking at tasks
        warn(f"A terminal does not say what becomes of what is typed: {error!r}", error=error)
        return None


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

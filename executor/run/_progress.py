"""Progress of calls and chains, in order and never going back, to callbacks that cannot end what they watch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor._log import warn
from executor.errors import ToolCancelledError
from executor.run._values import ProgressEvent

if TYPE_CHECKING:
    from collections.abc import Callable


class Progress:
    """
    Tells one callback; None tells nobody.

    Args:
        total: How much there is to do, until the tool says otherwise.
    """

    def __init__(self, on_progress: Callable[[ProgressEvent], object] | None, total: float = 1) -> None:
        self._callback = on_progress
        self._reached = 0.0
        self._total: float | None = total

    def notify(self, done: float, total: float | None, message: str | None) -> None:
        """Say how far it is; what lies behind what was said before is said as that."""
        self._reached = max(self._reached, done)
        self._total = total
        if self._callback is None:
            return
        try:
            self._callback(ProgressEvent(self._reached, total, message))
        except Exception as error:  # noqa: BLE001 -- who watches does not decide
            self._callback = None
            warn(f"A progress callback raised and is left out from now on: {error!r}", error=error)

    def started(self) -> None:
        """Say that it begins."""
        self.notify(0, self._total, "started")

    def ended(self, error: BaseException | None) -> None:
        """Say how it ended: ``completed`` at the whole, else ``error`` or ``cancelled`` where it got to."""
        if error is None:
            whole = max(self._reached, self._total or 1)
            self.notify(whole, whole, "completed")
        else:
            self.notify(self._reached, self._total, "cancelled" if isinstance(error, ToolCancelledError) else "error")

"""How one call is made, and what a host adds to the way of its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from executor.run._limits import function

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._state import CallState
    from executor.calls._until import Settling
    from executor.calls._work import Work
    from executor.run._backends import Prepared, RunResult
    from executor.run._ended import Ended, HandedOver
    from executor.values import ToolResult


class Observer(Protocol):
    """Told of calls; nothing is made for it while nobody listens (`wanted`)."""

    wanted: bool

    def call_starts(self, call: CallState) -> None: ...
    def call_prepared(self, prepared: Prepared) -> None: ...
    def call_ended(self, call: CallState, ended: Ended, began: float) -> None: ...


class Background(Protocol):
    """Takes over work that nobody waits for any more."""

    def watch(self, work: Work) -> None:
        """*work* may be handed over: keep its output from now on."""
        ...

    def unwatch(self, work: Work) -> None:
        """*work* has ended in the foreground."""
        ...

    def withdraw(self, work: Work) -> None:
        """Who waits for *work* was interrupted: a task that it may be by now is none, since nobody has its id."""
        ...

    @property
    def lead(self) -> float | None:
        """How many seconds before its threshold `prepare` should be called; None: not at all."""
        ...

    @property
    def ready(self) -> bool:
        """Whether taking work over before it begins does not take long."""
        ...

    def prepare(self, work: Work, prepared: Prepared) -> Settling | None:
        """*work* is about to be taken over; what is returned is waited for a little, if it is not settled by then."""
        ...

    def hand_over(self, work: Work, prepared: Prepared, threshold: float, options: Options) -> HandedOver | None:
        """Take it over; None when it has ended, or there is no room for it."""
        ...

    def start(self, work: Work, prepared: Prepared, options: Options) -> HandedOver:
        """Take it over before it begins. Raises what keeps it from that."""
        ...


class Done(Protocol):
    """Given what a submitted call comes to. It must not raise."""

    def __call__(self, ended: Ended) -> object:
        """In the thread that submitted it, or on a worker."""
        ...

    def at_once(self, result: RunResult) -> bool:
        """Before that, on the loop, which must not be held up. Returns whether all is done."""
        ...


class Options:
    """
    How one call is made.

    Attributes:
        timeout: Seconds, instead of the tool's own limit.
        background: False: never handed over; True: from the start; None: past the tool's threshold.
        on_done: Given the final result of a call that goes on as a task.
        plain: Whether it leaves everything to the tool.
        away: Whether it runs on a worker in any case, so that a stop ends the wait for it at once.
        stored: Whether it begins only if its task is in the store, where it is in the background from the start.
    """

    __slots__ = ("away", "background", "on_done", "plain", "stored", "timeout")

    def __init__(
        self,
        timeout: float | None = None,
        background: bool | None = None,  # noqa: FBT001 -- one of three, not a switch
        on_done: Callable[[ToolResult], object] | None = None,
        *,
        away: bool = False,
        stored: bool = False,
    ) -> None:
        if background not in (None, True, False):
            raise ValueError(f"background is {background!r}: use True, False, or None for the tool's own threshold")
        self.timeout = timeout
        self.background = background
        self.on_done = function(on_done, "on_done")
        self.away = away
        self.stored = stored
        self.plain = timeout is None and not background and not away

    def limit(self, prepared: Prepared, default: float | None) -> float | None:
        """The call's time limit in seconds: the caller's, else the tool's own, else *default*; None is none."""
        if self.timeout is not None:
            return self.timeout
        own = prepared.entry.tool.timeout
        return own if own is not None else default

    def threshold(self, prepared: Prepared, limit: float | None) -> float | None:
        """Seconds after which it goes to the background; None never."""
        if self.background is not None:
            return 0.0 if self.background else None
        own = prepared.entry.tool.auto_background
        if own is not None and limit is not None and limit <= own:
            return None  # it is given up before it would go to the background
        return own


ORDINARY = Options()

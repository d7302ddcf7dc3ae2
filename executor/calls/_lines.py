"""
What calls stand in line for: a name, the places of a tool, the turns of its rate; and how one call stands in them.

Plain tables without a lock of their own: that of `executor.calls._locks.Locks` guards them.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeAlias

from executor.calls._limits import Rate

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from collections.abc import Set as AbstractSet

Resume: TypeAlias = "Callable[[BaseException | None], object]"


class Request:
    """
    What one call wants, and how far it has come.

    Attributes:
        owner: The call.
        parents: The calls it is made in, outermost first.
        family: All of these.
        label: What people know the call by, as in ``call_12 (writeFile)``.
        number: Later requests have higher ones.
        lines: What it wants, each with whether it shares it.
        limit: How many calls of its tool may run at the same time, if one of its lines is of places.
        granted: Whether the call may begin, or might have: it stays True to the end.
        left: Whether it holds and wants nothing any more.
        error: What ended the wait instead, or None.
        resumes: Whom to tell of the end of the wait.
    """

    __slots__ = (
        "error", "family", "granted", "label", "left", "limit", "lines", "number", "owner", "parents", "resumes",
    )  # fmt: skip

    def __init__(self, owner: Hashable, parents: tuple[Hashable, ...], label: str) -> None:
        self.owner = owner
        self.parents = parents
        self.family = frozenset((owner, *parents))
        self.label = label
        self.number = 0
        self.lines: dict[Line, bool] = {}
        self.limit = 1
        self.granted = self.left = False
        self.error: BaseException | None = None
        self.resumes: tuple[Resume, ...] = ()


class Line:
    """
    A name: one call alone holds it, or several that share it.

    Attributes:
        key: Under which `Locks` keeps it.
        text: What it is, for people.
        holders: Who holds it.
        waiting: Who waits, in the order they came, for each chain of callers. Those of one chain may take the same
            things, so that when the first cannot begin those behind it need no look.
    """

    __slots__ = ("holders", "key", "text", "waiting")

    def __init__(self, name: str) -> None:
        self.key = type(self), name
        self.text = name
        self.holders: dict[Request, None] = {}
        self.waiting: dict[tuple[Hashable, ...], dict[Request, None]] = {}

    @property
    def unused(self) -> bool:
        """Whether it can be forgotten."""
        return not self.holders and not self.waiting

    def enter(self, request: Request) -> None:
        self.waiting.setdefault(request.parents, {})[request] = None

    def leave(self, request: Request) -> None:
        """It neither holds nor waits any more, if it did."""
        self.holders.pop(request, None)
        self.wait_no_more(request)

    def take(self, request: Request, now: float) -> None:  # noqa: ARG002 -- a rate keeps the time
        self.holders[request] = None

    def wait_no_more(self, request: Request) -> None:
        """It holds what it waited for."""
        group = self.waiting.get(request.parents, {})
        group.pop(request, None)
        if not group:
            self.waiting.pop(request.parents, None)

    def in_the_way(self, request: Request, among: AbstractSet[Hashable] | None = None) -> list[Request]:
        """The holders that *request* waits for, if only the calls in *among* were left; None: all."""
        shared = request.lines[self]
        return [
            holder
            for holder in self.holders
            if not (shared and holder.lines[self])
            and holder.owner not in request.family
            and (among is None or holder.owner in among)
        ]

    def room(self, request: Request, now: float) -> int:  # noqa: ARG002 -- a rate depends on the time
        """How many of those that wait could begin, *request* being the first."""
        return 0 if self.in_the_way(request) else 1

    def lender(self, request: Request) -> Hashable | None:  # noqa: ARG002 -- only places are lent
        """The caller of *request* whose place it can have, so that it needs none of the room."""
        return None


class Places(Line):
    """The places of a tool: so many of its calls run at the same time."""

    __slots__ = ()

    def in_the_way(self, request: Request, among: AbstractSet[Hashable] | None = None) -> list[Request]:
        others = super().in_the_way(request, among)
        return others if len(_in_their_places(others)) >= request.limit else []

    def room(self, request: Request, now: float) -> int:  # noqa: ARG002 -- as above
        return max(0, request.limit - len(_in_their_places(super().in_the_way(request))))

    def lender(self, request: Request) -> Hashable | None:
        return next((owner for owner in _in_their_places(self.holders) if owner in request.parents), None)


def _in_their_places(holders: Iterable[Request]) -> list[Hashable]:
    """Those that take a place: a call that has inner calls here has lent them its own."""
    callers = {parent for holder in holders for parent in holder.parents}
    return [holder.owner for holder in holders if holder.owner not in callers]


class Turns(Line):
    """
    The rate of a tool. Nobody holds it: time gives back what was taken.

    Attributes:
        rate: How many may begin in how long.
        due: The time for which an alarm is set, or None.
        take_back: Takes the alarm back, once that is known.
    """

    __slots__ = ("_starts", "due", "rate", "take_back")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.rate = Rate(1, 1)
        self._starts: deque[float] = deque()
        self.due: float | None = None
        self.take_back: Callable[[], None] | None = None

    @property
    def unused(self) -> bool:
        return super().unused and not self._starts

    def take(self, request: Request, now: float) -> None:  # noqa: ARG002 -- whose start it is does not matter
        self._starts.append(now)

    def room(self, request: Request | None, now: float) -> int:  # noqa: ARG002 -- the same for all
        while self._starts and now >= self._starts[0] + self.rate.seconds:
            self._starts.popleft()
        return max(0, self.rate.count - len(self._starts))

    def next_start(self, now: float) -> float | None:
        """When more of those that wait will have room; None: all of them have, as far as this line goes."""
        room = self.room(None, now)
        if not self._starts or sum(map(len, self.waiting.values())) <= room:
            return None
        return self._starts[0] + self.rate.seconds

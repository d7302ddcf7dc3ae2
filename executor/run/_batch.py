"""Several calls side by side: the one way in which batches, groups of a chain and `execute_many` run."""

from __future__ import annotations

import contextvars
from collections import deque
from contextlib import nullcontext
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from executor.calls._token import CancelToken, source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from executor.threads._workers import Workers

Q = TypeVar("Q")
Q_contra = TypeVar("Q_contra", contravariant=True)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

_AT_ONCE = 16  # lanes: with fewer the loop is gone round more often, with more their ends come all at once


class Beginning(Protocol[Q_contra, R_co]):
    """How requests are begun that no thread need wait for; the end of each is told once."""

    def may(self, request: Q_contra) -> bool:
        """Whether *request* is one of these."""
        ...

    def may_on_loop(self, request: Q_contra) -> bool:
        """Whether it is, and may be begun on the event loop, too: that does not block."""
        ...

    def begin(self, request: Q_contra, stop: CancelToken, end: Callable[[R_co], object]) -> None:
        """Begin *request*; *end* is told its result."""
        ...

    def on_loop(self, fn: Callable[[], object]) -> bool:
        """Call *fn* there, in a context like the caller's. Returns False: it is not called."""
        ...


def check_bound(value: int | None) -> int | None:
    """*value*, a number of calls at once, or None for as many as may be. Raises ValueError for anything else."""
    if value is not None and (type(value) is not int or value < 1):
        raise ValueError(f"max_concurrency is {value!r}, not a whole number from 1 on, or None")
    return value


def as_completed(
    call: Callable[[Q, CancelToken], R],
    requests: Sequence[Q],
    workers: Workers,
    max_concurrency: int | None = None,
    cancel: CancelToken | None = None,
    *,
    nested: bool = False,
    begin: Beginning[Q, R] | None = None,
) -> Iterator[tuple[int, R]]:
    """
    Each request's place and result, as soon as it is there. Closing the iterator stops the rest.

    Args:
        call: Carries one out. What it raises is raised here, and stops the rest.
        nested: Whether the caller is itself inside a call, whose place on a worker may then be taken.
        begin: Asked first; None: a worker waits for each.
    """
    stop = CancelToken()
    link = source_of(cancel).propagate(source_of(stop)) if cancel is not None else None

    def blocking_here() -> AbstractContextManager[None]:
        return workers.blocking_here() if nested or workers.here else nullcontext()

    try:
        with blocking_here():
            lanes = _Lanes(call, begin, requests, stop, workers)
            lanes.open(min(len(requests), max(1, workers.free), max_concurrency or len(requests)))
        for _ in requests:
            with blocking_here():
                index, result, error = lanes.next_end()
            if error is not None:
                raise error  # noqa: TRY301 -- the rest is stopped, as for every other end
            yield index, cast("R", result)
    except BaseException:  # the reader went away, or was interrupted: whatever has not ended is not wanted
        stop.cancel("Nobody waits for this call any more")
        raise
    finally:
        if link is not None:
            link.end()


def in_order(ended: Iterable[tuple[int, R]]) -> list[R]:
    """The results of `as_completed`, in the order of the requests."""
    found = dict(ended)
    return [found[place] for place in sorted(found)]


class _Lanes(Generic[Q, R]):
    """
    As many lanes as requests may be on their way at once: each takes the next one until none is left.

    A lane is on a worker as long as its request needs one. A worker that is done with one lane opens the next, and
    before it carries anything out has another worker come for those that are left: none waits for one that blocks.

    Nothing here is locked: taking from a deque is atomic, and a worker too many finds nothing to do.
    """

    def __init__(
        self,
        call: Callable[[Q, CancelToken], R],
        begin: Beginning[Q, R] | None,
        requests: Sequence[Q],
        stop: CancelToken,
        workers: Workers,
    ) -> None:
        self.ended: SimpleQueue[tuple[int, R | None, BaseException | None] | None] = SimpleQueue()
        self._call = call
        self._begin = begin
        self._stop = stop
        self._workers = workers
        self._left = deque(enumerate(requests))
        self._closed: deque[None] = deque()
        self._coming = False  # a worker
        self._context = contextvars.copy_context()

    def open(self, lanes: int) -> None:
        """Let *lanes* requests be on their way. Without any worker they are carried out by whoever reads their ends."""
        self._closed.extend([None] * lanes)
        # A worker would only take turns with the loop's thread: one of the two can run Python.
        if not (self._begins_on_loop() and self._begin and self._begin.on_loop(self._open_on_loop)):
            self._open_elsewhere()

    def _begins_on_loop(self) -> bool:
        if self._begin is None or not self._left:
            return False
        first = self._left[0][1]
        return self._begin.may(first) and self._begin.may_on_loop(first)

    def next_end(self) -> tuple[int, R | None, BaseException | None]:
        """Wait for the end of a request. Without any worker, this thread carries out what is left meanwhile."""
        while (end := self.ended.get()) is None:
            self._lane()
        return end

    def _open_elsewhere(self) -> None:
        if not self._send(self._open):
            self._begin = None
            self.ended.put(None)

    def _open_on_loop(self) -> None:
        """Open a few lanes, on the event loop, and the next after what these have begun."""
        for _ in range(min(len(self._closed), _AT_ONCE)):
            self._closed.pop()
            self._lane_on_loop()
        begin = self._begin  # as in `_lane`
        if self._closed and not (begin is not None and begin.on_loop(self._open_on_loop)):
            self._open_elsewhere()

    def _send(self, fn: Callable[[], None]) -> bool:
        context = self._context.copy()
        return self._workers.submit(lambda: context.run(fn))

    def _open(self) -> None:
        """Open lanes, on a worker, until there are enough."""
        self._coming = False
        while self._left:
            try:
                self._closed.pop()
            except IndexError:
                return
            if not self._coming and self._closed and len(self._left) > 1:
                self._coming = True
                if not self._send(self._open):
                    self._coming = False
            self._lane()

    def go_on(self) -> None:
        """Carry out what is left, on a worker, else where the ends are read: the loop must not be held up."""
        if self._left and not self._send(self._lane):
            self.ended.put(None)

    def _lane_on_loop(self) -> None:
        """Begin the next request, on the event loop, if that may be; else a worker does, and goes on."""
        try:
            index, request = self._left.popleft()
        except IndexError:
            return
        begin = self._begin  # as in `_lane`
        if begin is None or not begin.may_on_loop(request):
            self._left.appendleft((index, request))
        elif self._begun(begin, index, request):
            return
        self.go_on()

    def _lane(self) -> None:
        """Carry out what is left, in this thread, until a request goes on without it."""
        while True:
            try:
                index, request = self._left.popleft()
            except IndexError:
                return
            begin = self._begin  # another thread lets go of it, where there are no workers any more
            if begin is not None and begin.may(request):
                if self._begun(begin, index, request):
                    return
                continue
            try:
                self.ended.put((index, self._call(request, self._stop), None))
            except BaseException as error:  # noqa: BLE001 -- raised again where the results are read
                self.ended.put((index, None, error))

    def _begun(self, begin: Beginning[Q, R], index: int, request: Q) -> bool:
        """Whether *request* is on its way without this thread, and not over already."""
        try:
            begin.begin(request, self._stop, end := _End(self, index))
        except BaseException as error:  # noqa: BLE001 -- raised again where the results are read
            self.ended.put((index, None, error))
            return False
        return end.is_to_come()


class _End(Generic[R]):
    """What is told the end of a request that goes on by itself. The lane goes on with whoever is the second to come."""

    __slots__ = ("_first", "_index", "_lanes")

    def __init__(self, lanes: _Lanes[Any, R], index: int) -> None:
        self._lanes = lanes
        self._index = index
        self._first = [None]  # popping is atomic

    def is_to_come(self) -> bool:
        """Whether this is the first to come, of the end and of who has begun it."""
        try:
            self._first.pop()
        except IndexError:
            return False
        return True

    def __call__(self, result: R) -> None:
        self._lanes.ended.put((self._index, result, None))
        if not self.is_to_come():
            self._lanes.go_on()

"""
Which calls wait for which: resources by name, places of a tool (``max_concurrent``), turns of its rate.

A request stands in one line for each thing that it wants, in the order in which requests came. It is granted all of
them at once, when each line has room for it and nobody earlier wants that room: a call that waits holds nothing, and
nobody overtakes. Two things are different for an inner call, one that is made by a tool inside its own call:

* What its callers hold is not in its way, and it has the place of one that has the same tool. Other inner calls of the
  same caller wait for it as everybody does.
* It goes before those that wait, directly or through others, for one of its callers: they cannot begin before it ends.

So calls can wait for one another for ever only when inner calls wait for what other outer calls *hold*. The request
that would complete such a circle is refused. A caller counts as waiting for every inner call that it has begun.

A rate is kept exactly: no stretch of its length sees more starts than its number, and all of these may come at once. A
call that waits for its turn keeps its place in its other lines, and holds nothing.

`Locks._lock` guards all tables, those of tickets and lines too. No function of anybody else is called under it but the
clock. No thread is held or started here: who wants to wait blocks its own, or leaves a function to be called.

A Ctrl-C may come in the middle of each step. What is to be done once the lock is free stands in the tables too, and
each step can be taken again: then nobody holds what it has no use for, or waits for what is free.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from executor._log import warn
from executor.calls._limits import check_resources
from executor.calls._lines import Line, Places, Request, Turns
from executor.calls._ticket import Ticket
from executor.calls._waits import listed, reached, refuse_deadlock, waits_for
from executor.errors import ToolCancelledError
from executor.threads._fork import of_this_process

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from executor.calls._limits import Rate, Shared
    from executor.calls._lines import Resume

At: TypeAlias = "Callable[[float, Callable[[], object]], Callable[[], None]]"
_L = TypeVar("_L", bound=Line)
FEW_LINES = 64  # among which none is looked for that could be forgotten
# Whoever is told may release at once, and so on: more than these would be more than the thread's stack can hold.
DEEPEST = 16
_nested = threading.local()


def _nothing(_: object) -> None: ...


class Locks:
    """
    What the calls of one executor hold and wait for.

    Args:
        at: Calls a function at a monotonic time and returns what takes that back (`Deadlines.at`); for rates, and for
            long rows of calls of which each ends where the one before it made room.
        clock: The monotonic time in seconds.
        spawn: Runs a function on a thread of its own: others are told there of what the main thread makes happen, in
            which a Ctrl-C would end what is theirs.
    """

    def __init__(
        self,
        *,
        at: At,
        clock: Callable[[], float] = time.monotonic,
        spawn: Callable[[Callable[[], object]], object] | None = None,
    ) -> None:
        self._at = at
        self._clock = clock
        self._spawn = spawn
        self._numbers = itertools.count()
        self._lines: dict[tuple[type[Line], str], Line] = {}
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        """Nobody holds or waits; in the child of a fork again, where the calls of the parent do not run."""
        for line in self._lines.values():  # a ticket of the parent that is released here wakes nobody
            line.holders.clear()
            line.waiting.clear()
        self._lock = threading.Lock()
        self._lines = {}
        self._look_at = FEW_LINES  # lines, at which those that nobody needs any more are looked for
        self._unset: dict[Turns, None] = {}  # whose alarm may be wrong
        self._untold: dict[Request, None] = {}  # whose wait has ended
        self._inner: dict[Hashable, dict[Request, None]] = {}  # by caller: its inner calls that wait

    def request(
        self,
        *,
        owner: Hashable,
        parents: tuple[Hashable, ...] = (),
        tool: str,
        resources: Iterable[str | Shared] = (),
        max_concurrent: int | None = None,
        rate: Rate | None = None,
        label: str,
        keep: Callable[[Ticket], object] = _nothing,
    ) -> Ticket:
        """
        Stand in line for all that a call needs. What is free, with nobody earlier waiting for it, is granted at once.

        Args:
            owner: The call; one request at a time.
            parents: The calls it is made in, outermost first.
            tool: The name under which places and turns are counted.
            resources: As the tool's function returned them.
            max_concurrent: How many calls of the tool may run at the same time when this one does, itself included.
            rate: How many of them may begin in how long; the latest request's counts.
            label: What people know the call by, as in ``call_12 (writeFile)``.
            keep: Given the ticket before it stands in any line.

        Raises:
            DeadlockError: It would wait for a call that waits for it. It holds nothing, and stands in no line.
            TypeError: *resources* are not names.
            ValueError: A name is empty.
        """
        names = check_resources(resources)
        ticket = Ticket(self, owner, parents, label)
        keep(ticket)
        try:
            with self._lock:
                self._enter(ticket, names, tool, max_concurrent, rate)
                now = self._clock()
                if self._may_begin(ticket, now):
                    self._grant(ticket, now)
                elif parents:
                    refuse_deadlock(ticket, tool, self._inner)
                    self._pass_on(self._newly_overtaking(ticket), now)
            self._finish()
        except BaseException:
            self._mend(ticket, None)
            raise
        return ticket

    def notify(self, ticket: Ticket, resume: Resume) -> bool:
        """Call *resume* when the wait of *ticket* ends. Returns False when it has ended: it will not be called."""
        with self._lock:
            waits = not (ticket.granted or ticket.left)
            if waits:
                ticket.resumes += (resume,)
            return waits

    def leave(self, ticket: Ticket, error: BaseException | None) -> None:
        """
        *ticket* holds and wants nothing from now on.

        Args:
            error: What its wait ends with; when it does not wait, nothing is done. None: it leaves in any case.
        """
        try:
            self._leave(ticket, error)
        except BaseException:
            self._mend(ticket, error)
            raise

    def _leave(self, ticket: Ticket, error: BaseException | None) -> None:
        with self._lock:
            if ticket.left or (ticket.granted and error is not None):
                return
            if not ticket.granted:
                ticket.error = error or ToolCancelledError("The call was given up before its turn came")
                self._untold[ticket] = None
            self._withdraw(ticket)
            self._pass_on(list(ticket.lines), self._clock())
        self._finish()

    def _mend(self, ticket: Ticket, error: BaseException | None) -> None:
        """*ticket* leaves, and all is as it should be, wherever an interrupt came."""
        self._leave(ticket, error)
        with self._lock:
            lines = list(self._lines.values())
            for line in lines:
                for request in [each for group in line.waiting.values() for each in group if each.granted or each.left]:
                    line.wait_no_more(request)
            self._unset.update((line, None) for line in lines if isinstance(line, Turns))
            self._pass_on(lines, self._clock())
        self._finish()

    def describe(self, ticket: Ticket) -> str | None:
        """What *ticket* waits for, for people, or None."""
        with self._lock:
            now = self._clock()
            for line in () if ticket.granted or ticket.left else ticket.lines:
                if holders := line.in_the_way(ticket):
                    return f"{line.text}, held by {listed(holders)}"
                if not self._is_next(line, ticket, now):
                    before = next(self._ahead(line, ticket), None) if line.room(ticket, now) > 0 else None
                    return line.text if before is None else f"{line.text}, after {before.label}"
            return None

    # All below, but for _finish, _set_alarm and _ring, is called under the lock.

    def _enter(
        self, request: Request, names: dict[str, bool], tool: str, max_concurrent: int | None, rate: Rate | None
    ) -> None:
        request.number = next(self._numbers)
        for name, shared in names.items():
            request.lines[self._line(Line, name)] = shared
        if max_concurrent is not None:
            places = self._line(Places, tool)
            places.text = f"a place of {tool} (max_concurrent={max_concurrent})"
            request.limit = max_concurrent
            request.lines[places] = False
        if rate is not None:
            turns = self._line(Turns, tool)
            turns.rate, turns.text = rate, f"the rate of {tool} ({rate})"
            request.lines[turns] = False
            self._unset[turns] = None
        for line in request.lines:
            line.enter(request)
        for parent in request.parents:
            self._inner.setdefault(parent, {})[request] = None

    def _line(self, kind: type[_L], name: str) -> _L:
        line = self._lines.get((kind, name))
        if line is None:
            if len(self._lines) >= self._look_at:
                self._forget_rested()
            line = self._lines[kind, name] = kind(name)
        assert isinstance(line, kind)
        return line

    def _forget_rested(self) -> None:
        """Rates that time has given back, of tools that may be no more: nobody has come to their lines since."""
        now = self._clock()
        for line in [line for line in self._lines.values() if isinstance(line, Turns)]:
            line.room(None, now)
            if line.unused:
                del self._lines[line.key]
        self._look_at = 2 * len(self._lines) + FEW_LINES

    def _withdraw(self, request: Request) -> None:
        self._wait_no_more(request)
        for line in request.lines:
            line.leave(request)
            if isinstance(line, Turns):
                self._unset[line] = None
            if line.unused and self._lines.get(line.key) is line:  # another one after a fork
                del self._lines[line.key]
        request.left = True

    def _wait_no_more(self, request: Request) -> None:
        for parent in request.parents:
            waiting = self._inner.get(parent, {})
            waiting.pop(request, None)
            if not waiting:
                self._inner.pop(parent, None)

    def _grant(self, request: Request, now: float) -> None:
        self._wait_no_more(request)
        for line in request.lines:
            line.take(request, now)
            if isinstance(line, Turns):
                self._unset[line] = None
        request.granted = True
        if request.resumes:  # who has not asked to be told sees it
            self._untold[request] = None
        for line in request.lines:
            line.wait_no_more(request)

    def _may_begin(self, request: Request, now: float) -> bool:
        return all(self._is_next(line, request, now) for line in request.lines)

    def _is_next(self, line: Line, request: Request, now: float) -> bool:
        lender = line.lender(request) if request.parents else None
        if lender is not None and not any(lender in other.parents for other in self._ahead(line, request)):
            return True
        room = min(line.room(request, now), sys.maxsize)
        return room > 0 and sum(1 for _ in itertools.islice(self._ahead(line, request), room)) < room

    def _ahead(self, line: Line, request: Request) -> Iterator[Request]:
        """Those that stand in *line* before *request*, want it in its place, and are not to be overtaken."""
        shared = request.lines[line]
        for group in line.waiting.values():
            for other in group:
                if other.number >= request.number:
                    break
                other_shared = other.lines[line]
                if shared and other_shared:
                    continue
                # What both are inner calls of is in neither's way: only the other callers of *request* count.
                if request.parents and waits_for(other, {*request.parents} - other.family, self._inner):
                    if not other_shared:
                        break  # the rest of the group waits for this one
                    continue
                yield other

    def _pass_on(self, lines: list[Line], now: float) -> None:
        """Grant what now can be in *lines*."""
        for line in lines:  # grows
            for group in list(line.waiting.values()):
                while (request := self._first(line, group, now)) is not None:
                    self._grant(request, now)
                    if request.parents:  # it may have a place from its caller, and leave to others the one it stood for
                        lines.extend(request.lines)

    def _first(self, line: Line, group: dict[Request, None], now: float) -> Request | None:
        """The first of *group* that may begin."""
        passed = 0
        for request in group:
            if self._may_begin(request, now):
                return request
            passed += not request.lines[line]
            if passed >= line.room(request, now):
                break  # those behind it find even less
        return None

    def _newly_overtaking(self, request: Request) -> list[Line]:
        """The lines of inner calls for which the order may have changed, as *request* waits now and its callers do."""
        if self._inner.keys() <= request.family:
            return []
        inner = (each for each in reached(request, self._inner) if each.parents and not each.granted)
        return list(dict.fromkeys(line for each in inner for line in each.lines))

    def _finish(self) -> None:
        """Outside the lock: set the alarms of the rates that were touched, and tell those whose wait has ended."""
        while self._unset:
            try:
                line, _ = self._unset.popitem()
            except KeyError:  # another thread was faster
                break
            self._set_alarm(line)
        if self._untold:
            if self._spawn is not None and threading.current_thread() is threading.main_thread():
                self._spawn(self._tell_all)
            else:
                self._tell_all()

    def _tell_all(self) -> None:
        with ExitStack() as stack:  # each is told, whatever another one raises
            for request in reversed([*self._untold]):
                stack.callback(self._tell, request)

    def _tell(self, request: Request) -> None:
        if self._untold.pop(request, self) is None:  # it was there, and nobody else tells it
            for resume in request.resumes:
                self._notify(resume, request.error)

    def _notify(self, resume: Resume, error: BaseException | None) -> None:
        depth = getattr(_nested, "depth", 0)
        if depth == DEEPEST:
            self._at(self._clock(), partial(self._notify, resume, error))
            return
        _nested.depth = depth + 1
        try:
            resume(error)
        except Exception as failure:  # noqa: BLE001 -- whoever released has nothing to do with it
            warn(f"A call could not be told that its wait is over: {failure!r}", error=failure)
        finally:
            _nested.depth = depth

    def _set_alarm(self, line: Turns) -> None:
        """
        Have the line looked at again when it has more room. Grants what can be now: time goes on, and what has room
        without an alarm has had its chance.
        """
        with self._lock:
            now = self._clock()
            self._pass_on([line], now)
            due = line.next_start(now)
            if due == line.due:
                return
            take_back, line.take_back, line.due = line.take_back, None, due
        if take_back is not None:
            take_back()
        if due is None:
            return
        take_back = self._at(due, partial(self._ring, line, due))
        with self._lock:
            wanted = line.due == due and line.take_back is None
            if wanted:
                line.take_back = take_back
        if not wanted:  # it rang already, or there is another one
            take_back()

    def _ring(self, line: Turns, due: float) -> None:
        with self._lock:
            if line.due == due:
                line.due = line.take_back = None
            self._unset[line] = None
            self._pass_on([line], self._clock())
        self._finish()

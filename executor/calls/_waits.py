"""
Who waits for whom, and whether that can ever end. Called under the lock of `executor.calls._locks.Locks`.

A request waits for those who hold its lines and for those who stand before it; a call that runs waits for its inner
calls that wait. The order in a line can always be given up (see `Locks._ahead`), what is held cannot: only waits for
holders make a deadlock. Of several places any will do: only when too many never come back is a request stuck.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias

from executor.errors import DeadlockError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from executor.calls._lines import Line, Request

Inner: TypeAlias = "Mapping[Hashable, Mapping[Request, None]]"  # by caller: its inner calls that wait
_Wait: TypeAlias = "tuple[Request, Line, Request]"  # who waits, for what, held by whom


def waits_for(request: Request, owners: AbstractSet[Hashable], inner: Inner) -> bool:
    """Whether *request* waits for one of these calls, directly or through others."""
    return bool(owners) and any(other.owner in owners for other in reached(request, inner))


def reached(request: Request, inner: Inner) -> Iterator[Request]:
    """All that *request* waits for, directly or through others."""
    seen = {request}
    stack = [request]
    looked: dict[Line, int] = {}  # up to which number a line has been looked through
    while stack:
        each = stack.pop()
        for other in inner.get(each.owner, ()) if each.granted else _waited_for(each, looked):
            if other not in seen:
                seen.add(other)
                stack.append(other)
                yield other


def _waited_for(request: Request, looked: dict[Line, int]) -> Iterator[Request]:
    """Who holds the lines of *request*, and who stands before it."""
    for line in request.lines:
        yield from line.in_the_way(request)
        begin = looked.get(line, -1)
        if begin >= request.number:
            continue
        looked[line] = request.number
        for group in line.waiting.values():
            for other in takewhile(lambda other: other.number < request.number, group):
                if other.number > begin:
                    yield other


def refuse_deadlock(request: Request, tool: str, inner: Inner) -> None:
    """
    Look whether *request*, an inner call that waits now, may.

    Raises:
        DeadlockError: It could never be granted; or others share what its caller shares and it wants alone.
    """
    for line in request.lines:
        if holders := _shared_beside(line, request):
            raise DeadlockError(
                f"{request.label} wants {line.text} alone, which its caller shares with {listed(holders)}: "
                "let the resources of the outer tool name it without Shared",
                waits=[_text(request, line, holder) for holder in holders],
                tool_id=tool,
            )
    if circle := _circle(request, inner):
        waits = [_text(*wait) for wait in circle]
        raise DeadlockError(
            f"Calls would wait for one another for ever: {'; '.join(waits)}, which waits for {request.label}. "
            "Let the resources of the outer tools name all that their inner calls need",
            waits=waits,
            tool_id=tool,
        )


def _shared_beside(line: Line, request: Request) -> list[Request]:
    """Who shares *line* with a caller of *request*, and is no inner call of that caller."""
    keepers = {holder.owner for holder in line.holders if holder.owner in request.family and holder.lines[line]}
    if not keepers:
        return []
    return [holder for holder in line.in_the_way(request) if keepers.isdisjoint(holder.parents)]


def _circle(request: Request, inner: Inner) -> list[_Wait]:
    """How *request* would wait for itself; empty when it can be granted once others have ended."""
    stuck = _stuck(request, inner)
    if request not in stuck:
        return []
    blocked = _callers(stuck)
    way: dict[Request, list[_Wait]] = {request: []}
    for each in (queue := [request]):
        for line in each.lines:
            for holder in line.in_the_way(each, blocked):
                found = [*way[each], (each, line, holder)]
                if holder.owner in request.parents:
                    return found
                news = [other for other in inner.get(holder.owner, ()) if other in stuck and other not in way]
                way.update(dict.fromkeys(news, found))
                queue += news
    return []  # what it waits for is stuck without it


def _stuck(request: Request, inner: Inner) -> set[Request]:
    """Of *request* and those whose ends it needs: who waits, and could not be granted however many calls end."""
    stuck = {request}
    for each in (queue := [request]):
        holders = [holder for line in each.lines for holder in line.in_the_way(each)]
        news = {other for holder in holders for other in inner.get(holder.owner, ())} - stuck
        stuck |= news
        queue += news
    while True:
        blocked = _callers(stuck)
        still = {each for each in stuck if any(line.in_the_way(each, blocked) for line in each.lines)}
        if still == stuck:
            return stuck
        stuck = still


def _callers(requests: set[Request]) -> set[Hashable]:
    return {parent for each in requests for parent in each.parents}


def listed(requests: list[Request]) -> str:
    """The first of them by its label, and how many more."""
    more = f" and {len(requests) - 1} more" if len(requests) > 1 else ""
    return f"{requests[0].label}{more}"


def _text(waiter: Request, line: Line, holder: Request) -> str:
    return f"{waiter.label} for {line.text}, held by {holder.label}"

"""Calls that go on beyond who makes them: the result comes in pieces, or another process has it."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from executor.calls._scope import block, leave_scope, link
from executor.calls._state import current, nothing
from executor.run._backends import Prepared
from executor.run._ended import HandedOver
from executor.run._turns import taken

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._state import CallState
    from executor.calls._token import CancelToken
    from executor.run._backends import RunResult
    from executor.run._way import Way

T = TypeVar("T")


def open_call(
    way: Way,
    call: CallState,
    start: Callable[[Prepared, Callable[[RunResult | BaseException], object], Callable[[], object]], T],
    cancel: CancelToken | None,
) -> T:
    """
    Make *call*, whose result comes in pieces, up to its turn; *start* takes it from there. Raises ToolError.

    Args:
        start: Given the prepared call, what it has to tell its end, and what to call when its thread is back.
    """
    before, began = current.get(), time.monotonic()
    try:
        link(call, cancel)
        way.calls.add(call)
        current.set(call)
        prepared = _allowed(way, call)
        turn = way.turns.of(prepared)
        if turn is not None:
            block(taken(prepared, turn, way.threads.workers))
        made = start(prepared, partial(way.let_go, call, began), turn.release if turn else nothing)
        call.turn = None  # held until its thread is back
        return made
    except BaseException as error:
        way.let_go(call, began, error)
        raise
    finally:
        try:
            leave_scope(call)
        finally:
            current.set(before)


def leave_call(way: Way, call: CallState, take: Callable[[Prepared], T]) -> T:
    """*call* is made elsewhere by *take*, which is given it as it may run. Raises what keeps it from that."""
    before, began = current.get(), time.monotonic()
    try:
        way.calls.add(call)
        current.set(call)
        made = take(_allowed(way, call))
    except BaseException as error:
        way.let_go(call, began, error)
        raise
    else:
        way.let_go(call, began, made if isinstance(made, HandedOver) else None)
        return made
    finally:
        try:
            leave_scope(call)
        finally:
            current.set(before)


def _allowed(way: Way, call: CallState) -> Prepared:
    """*call* as it may run, after its gates, which are waited for. Raises what keeps it from running."""
    prepared = way.admit(call)
    if not isinstance(prepared, Prepared):
        raise prepared
    if prepared.judging is not None:
        block(prepared.judging)
    return prepared

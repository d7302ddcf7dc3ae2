"""A call's turn, for tools that do not run beside every other call: their resources, their number, their rate."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from executor._json import copy_checked
from executor.calls._until import TurnPause
from executor.errors import ExecutionError, ToolCancelledError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from executor.calls._locks import Locks
    from executor.calls._scope import Steps
    from executor.calls._state import CallState
    from executor.calls._until import Turn
    from executor.calls._work import Threads
    from executor.run._backends import Prepared
    from executor.threads._workers import Workers


class Turns:
    """
    Of one executor or runner; nothing is made before a tool needs it.

    `_making` guards the making of the locks: two of them would keep no call waiting for those of the other.

    Args:
        threads: What wakes those that wait.
    """

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._making = threading.Lock()
        self._locks: Locks | None = None

    def of(self, prepared: Prepared) -> Turn | None:
        """
        The turn of a call whose tool does not run beside every other; None for all others.

        Raises:
            DeadlockError: It would wait for a call that waits for it.
            ExecutionError: What it needs could not be told.
            TypeError, ValueError: Its resources are not names.
        """
        entry = prepared.entry
        if not entry.limited:
            return None
        locks = self._locks or self._made()
        call, tool = prepared.call, entry.tool
        parents: list[CallState] = []
        around = call.parent
        while around is not None:
            parents.insert(0, around)
            around = around.parent
        return locks.request(
            owner=call,
            parents=tuple(parents),
            tool=entry.name,
            resources=_needed(prepared, tool.resources) if tool.resources is not None else (),
            max_concurrent=tool.max_concurrent,
            rate=entry.rate,
            label=f"{call.id} ({entry.name})",
            keep=partial(setattr, call, "turn"),
        )

    def _made(self) -> Locks:
        from executor.calls._locks import Locks  # for tools with limits

        with self._making:
            if self._locks is None:
                self._locks = Locks(at=self._threads.deadlines.at, spawn=self._threads.spawn)
            return self._locks


def taken(prepared: Prepared, turn: Turn, workers: Workers) -> Steps[None]:
    """Wait for *turn*. Raises why it never came: the call was stopped, or would have waited for itself."""
    if turn.granted:
        return
    call = prepared.call
    call.begin_wait(turn.waiting_for or "its turn")
    forget = call.source.on_cancel(
        lambda: turn.abandon(call.source.error or ToolCancelledError("The call was cancelled"))
    )
    try:
        yield TurnPause(turn, workers)
    except BaseException:
        turn.release()
        raise
    finally:
        forget()
        call.end_wait()


def give_back(call: CallState) -> None:
    """The turn of *call*, unless it is its work's to give back."""
    if call.turn is not None:
        call.turn.release()
        call.turn = None


def _needed(prepared: Prepared, resources: Callable[[dict[str, Any]], Iterable[Any]]) -> Iterable[Any]:
    """What the call needs. The function is given a copy: what was judged is what runs."""
    try:
        return resources(copy_checked(prepared.arguments))
    except Exception as error:  # of the tool's author
        reason = f"{type(error).__name__}: {error}"
        raise ExecutionError(f"Which resources {prepared.entry.name} needs could not be told: {reason}") from error

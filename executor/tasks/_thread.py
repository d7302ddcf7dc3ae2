"""The one thread of a process that writes to a store, and what it is given to write."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections import deque
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from executor._log import warn
from executor.errors import ExecutorUnavailableError
from executor.tasks._connection import AGAIN, BUSY, code_of, is_suspect, patiently, unavailable
from executor.tasks._store import REST
from executor.threads._condition import Condition
from executor.threads._one import OneThread

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.tasks._store import Store

T = TypeVar("T")
WAIT = 0.3  # seconds that a caller waits at most for what it has given to be stored
# Seconds for other processes' readers to let a transaction be committed. Meanwhile SQLite lets no new ones begin: one
# that hangs, or copies the store, must not keep the others from it. Less than readers wait (`_store.PATIENCE`).
READERS = 0.2
RETRY = 0.1  # seconds that a try takes once nobody waits any more, and between two of them
IDLE = 2.0  # seconds without anything to write after which the thread ends
MOST_AT_ONCE = 500  # changes in a transaction
LEAD, MOST_LEAD = 0.010, 0.25  # seconds; see `StoreThread.lead`
FIRST_LEAD = 0.050  # the same before the store was used: it has to be opened, and the dead to be looked for


class Change(Generic[T]):
    """
    Something that is to be written, and whoever waits for it.

    Args:
        apply: Writes it, within a transaction; it may be called again when that failed.
        kept: Whether it stays until it is written, however long the store is away; else it fails with the store.
        before: Called before the transaction, for what must be on the disk by then.
        slow: Whether that may take long: then it keeps no other change waiting.
        after: Called when it has been written.

    Attributes:
        stored: Whether it is on the disk.
        error: What kept it from that, so far.
        result: What *apply* returned.
    """

    __slots__ = ("_told", "after", "apply", "before", "error", "kept", "result", "slow", "stored", "taken")

    def __init__(
        self,
        apply: Callable[[sqlite3.Connection], T],
        *,
        kept: bool = False,
        slow: bool = False,
        before: Callable[[], object] | None = None,
        after: Callable[[], object] | None = None,
    ) -> None:
        self.apply = apply
        self.kept = kept
        self.slow = slow
        self.before = before
        self.after = after
        self.stored = False
        self.taken = False
        self.error: ExecutorUnavailableError | None = None
        self.result: T | None = None
        self._told: list[Callable[[], object]] | None = []

    @property
    def settled(self) -> bool:
        """Whether nobody has to wait any longer."""
        return self._told is None

    def settle(self, error: ExecutorUnavailableError | None) -> None:
        """It is stored, or cannot be for now: wake who waits. The thread that writes calls this."""
        self.error = error
        told, self._told = self._told, None
        for fn in told or ():
            fn()

    def on_settled(self, fn: Callable[[], object]) -> None:
        """Call *fn*, which must be quick, once nobody has to wait any longer; perhaps twice."""
        told = self._told
        if told is not None:
            told.append(fn)  # atomic; should it be settled in between, that is seen below
        if self._told is None:
            fn()

    def wait(self, seconds: float = WAIT) -> bool:
        """Whether it is stored, at the latest after so many seconds."""
        if not self.settled and seconds > 0:
            gate: SimpleQueue[None] = SimpleQueue()  # cheaper than an Event, and may be told twice as well
            self.on_settled(partial(gate.put, None))
            with contextlib.suppress(Empty):
                gate.get(timeout=seconds)
        return self.stored


class StoreThread:
    """
    Writes to the store what it is given, in order, as much as there is in each transaction.

    While the store is locked, slow, full or gone it goes on trying, and tells everybody else so at once (`broken`).
    Whatever is `kept` stays with it; its number is `backlog`.

    Args:
        store: Its writing connection belongs to this thread.
        damaged: Called in this thread when the file seems damaged. Returns whether it was, and was set aside.

    `_lock` guards the queues and the flags below; it is held for list operations only.
    """

    def __init__(self, store: Store, damaged: Callable[[], bool]) -> None:
        self._store = store
        self._damaged = damaged
        self._lock = threading.RLock()
        self._news = Condition(self._lock)
        self._queue: deque[Change[Any]] = deque()
        self._slow: deque[Change[Any]] = deque()  # those with something to do before: they do not keep others waiting
        self._worker = OneThread(self._lock, self._run, "executor-store")
        self._closing = False
        self._last_try = 0.0  # when it is closing, and the store is away
        self._recent: deque[float] = deque([FIRST_LEAD / 2], maxlen=8)  # seconds that it took to write
        self._error: ExecutorUnavailableError | None = None
        self._error_until = 0.0
        self._contended = False  # whether other processes were in the way of the last transaction

    @property
    def lead(self) -> float:
        """How many seconds before it is needed a change should be given, so that it is stored by then."""
        return min(MOST_LEAD, max(LEAD, 2 * max(self._recent, default=0.0)))

    @property
    def broken(self) -> ExecutorUnavailableError | None:
        """Why nobody has to wait for the store now."""
        return self._error if time.monotonic() < self._error_until else None

    @property
    def here(self) -> bool:
        """Whether the caller is this thread."""
        return self._worker.here

    @property
    def backlog(self) -> int:
        """How many changes are to be written."""
        return len(self._queue) + len(self._slow)

    def put(self, change: Change[T]) -> Change[T]:
        """Have *change* written."""
        with self._lock:
            broken = self.broken
            if broken is not None:
                change.settle(broken)
                if not change.kept:
                    return change
            (self._slow if change.slow else self._queue).append(change)
            self._news.notify()
            try:
                self._worker.start()
                return change
            except RuntimeError as error:  # the system has no thread left: the next change tries again
                away = unavailable(self._store.path, error)
        change.settle(away)
        return change

    def do(self, apply: Callable[[sqlite3.Connection], T], seconds: float | None = None) -> T:
        """
        Write something now, and wait for it.

        Args:
            seconds: How long at most; by default `WAIT`, or as long as the store is waited for.

        Raises:
            ExecutorUnavailableError: It could not be written by then. It may be, later.
        """
        if self.here:
            return self._transaction([Change(apply)])[0]  # type: ignore[no-any-return]  # what apply returns
        change = self.put(Change(apply))
        if not self.wait(change, seconds):
            raise change.error or self._is_slow()
        return change.result  # type: ignore[return-value]  # it is stored

    def wait(self, change: Change[Any], seconds: float | None = None) -> bool:
        """`Change.wait`, by default as `do`; when it was in vain nobody else waits until something has been written."""
        stored = change.wait(max(WAIT, self._store.patience) if seconds is None else seconds)
        if not stored and not change.settled:
            self._trip(self._is_slow())
        return stored

    def _trip(self, error: ExecutorUnavailableError) -> None:
        self._error, self._error_until = error, time.monotonic() + REST

    def _is_slow(self) -> ExecutorUnavailableError:
        return unavailable(self._store.path, OSError("it is slow"))

    def until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Wait until *done*, which is looked at each time something has been written. Returns what it says at last."""
        with self._lock:
            return self._news.wait_for(done, seconds)

    def close(self, seconds: float) -> bool:
        """
        End the thread, at the latest after so many seconds; what can be written is written before.

        Returns:
            Whether everything was.
        """
        with self._lock:
            self._closing, self._last_try = True, time.monotonic() + WAIT
            self._news.notify()
            if not self.here:
                self._news.wait_for(lambda: not self._worker.alive, seconds)
            left = self.backlog and not self._worker.alive
            if left:  # an interpreter that exits starts no more threads
                self._worker.be_here()
        if left:
            self._run()
        return not self.backlog

    # The thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while batch := self._take():
            try:
                self._write(batch)
            except BaseException as error:  # noqa: BLE001 -- all tasks depend on this thread
                warn(f"The task store's thread went wrong: {error!r}", error=error)
                self._fail(batch, unavailable(self._store.path, error))

    def _take(self) -> list[Change[Any]]:
        """What is to be written next; nothing when there has been nothing for a while."""
        with self._lock:
            if self._error is not None and self.backlog:
                self._news.wait(RETRY / 5 if self._closing else RETRY)
            elif not self.backlog and not self._closing:
                self._news.wait_for(lambda: self.backlog or self._closing, IDLE)
            if not self.backlog or (self._closing and self._error is not None and time.monotonic() > self._last_try):
                self._worker.leave()
                self._news.notify_all()
                return []
            if not self._queue:
                return [self._slow.popleft()]
            return [self._queue.popleft() for _ in range(min(MOST_AT_ONCE, len(self._queue)))]

    def _write(self, batch: list[Change[Any]]) -> None:
        began = time.monotonic()
        ready = [change for change in batch if self._prepared(change)]
        if not ready:
            return
        try:
            results = self._transaction(ready)
        except Exception as error:  # noqa: BLE001 -- whatever the store does, it is an error of the store
            self._failed(ready, error)
            return
        self._recent.append(time.monotonic() - began)
        contended = self._contended
        self._error, self._error_until = None, 0.0
        self._store.forget_failure()
        for change, result in zip(ready, results, strict=True):
            change.result, change.stored = result, True
            if change.after is not None:
                change.after()
            change.apply, change.before, change.after = _written, None, None  # live tasks keep their last change
            change.settle(None)
        with self._lock:
            self._news.notify_all()
        if contended:
            time.sleep(2 * AGAIN)  # who has waited for this process has a turn

    def _prepared(self, change: Change[Any]) -> bool:
        change.taken = True  # from here on what changes needs a change of its own
        try:
            if change.before is not None:
                change.before()
        except Exception as error:  # noqa: BLE001 -- a file that cannot be written, most likely
            self._fail([change], unavailable(self._store.path, error))
            return False
        return True

    def _failed(self, batch: list[Change[Any]], error: Exception) -> None:
        if is_suspect(error) and self._damaged():
            self._write(batch)
            return
        if self._is_its_own(error):
            if len(batch) > 1:  # one of them cannot be written: the others can
                for change in batch:
                    self._write([change])
                return
            warn(f"A change of a task cannot be stored: {error!r}", error=error)
            batch[0].kept = False
            batch[0].settle(unavailable(self._store.path, error))
            return
        self._fail(batch, unavailable(self._store.path, error))

    @staticmethod
    def _is_its_own(error: Exception) -> bool:
        """Whether it is the change, and not the store, that is at fault."""
        own = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError)
        return isinstance(error, own) or not isinstance(error, (sqlite3.Error, OSError, ExecutorUnavailableError))

    def _fail(self, batch: list[Change[Any]], error: ExecutorUnavailableError) -> None:
        """The store is away: nobody waits any more, and what is kept is tried again."""
        with self._lock:
            self._trip(error)
            for change in reversed(batch):
                if change.kept:
                    (self._slow if change.slow else self._queue).appendleft(change)
            waiting = [*batch, *self._queue, *self._slow]
            self._queue = deque(change for change in self._queue if change.kept)
        for change in waiting:
            if not change.settled:
                change.settle(error)

    def _transaction(self, batch: list[Change[Any]]) -> list[Any]:
        connection = self._begin()
        try:
            try:
                results = [change.apply(connection) for change in batch]
                patiently(lambda: connection.execute("COMMIT"), READERS)
            except BaseException:
                with contextlib.suppress(Exception):
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                self._store.writer.close()
                raise
        finally:
            self._store.writer.lock.release()
        return results

    def _begin(self) -> sqlite3.Connection:
        """A connection within a transaction, its lock held."""
        writer = self._store.writer

        self._contended = False

        def begin() -> sqlite3.Connection:
            writer.lock.acquire()
            try:
                connection = writer.get()
                connection.execute("BEGIN IMMEDIATE")
            except BaseException as error:
                if code_of(error) in BUSY:
                    self._contended = True
                else:
                    writer.close()
                writer.lock.release()
                raise
            return connection

        return patiently(begin, self._store.patience if self._error is None else RETRY)


def _written(_: sqlite3.Connection) -> Any:
    raise AssertionError("what is written is not written again")

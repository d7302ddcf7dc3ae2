"""One call of this process that a cluster carries out: what is heard of it becomes what its task is here."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from executor._log import warn
from executor.engines._line import ANEW
from executor.engines._wire import ENDED, GONE, PIECE, QUEUED, RUNNING, Seen, read_record, sent
from executor.errors import BackendUnavailableError, ExecutorUnavailableError, ToolError, ToolInterruptedError
from executor.run._ended import Finished
from executor.tasks._answers import Stored, restore
from executor.tasks._left import A_WORKER
from executor.values import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._state import CallState
    from executor.calls._work import Threads
    from executor.engines._dask import DaskEngine
    from executor.engines._wire import Record
    from executor.tasks._spool import Spool
    from executor.threads._jobs import Job
    from executor.values import TaskInfo


AGAIN = 0.5  # seconds until a worker that does not answer is asked again


class Tasks(Protocol):
    """What a call on a cluster asks of the tasks of this process."""

    def get(self, task_id: str) -> TaskInfo: ...
    def stored(self, task_id: str) -> bool: ...
    def leave(self, task_id: str) -> None: ...


class Remote:
    """
    A call on its way to a cluster, on it, and back.

    `hear` and what follows from it are used on the engine's loop, `stop` and `leave` anywhere. What may take its time
    (listeners, the end, which is stored) is done on workers of the executor, in order.

    Args:
        let_go: Called when this process has no more to do with the call, which goes on.

    Attributes:
        accepted: Held until the scheduler has answered.
        given: Whether the scheduler was asked to take it.
        has_it: Whether it did.
        engine_ref: By what any process finds the engine; see `executor.tasks._rows.Entry`.
        got: Bytes of output that are here.
        over: Whether it has its end here.
    """

    __slots__ = (
        "_busy", "_following", "_given", "_last", "_let_go", "_lock", "_mail", "_since", "_spool", "_tasks", "_threads",
        "_waits",
        "accepted", "call", "engine", "engine_ref", "given", "got", "has_it", "job", "name",
        "task_id",
    )  # fmt: skip

    def __init__(
        self,
        engine: DaskEngine,
        call: CallState,
        name: str,
        arguments: str,
        order: bytes,
        *,
        ref: str,
        spool: Spool,
        tasks: Tasks,
        threads: Threads,
        let_go: Callable[[CallState], object],
    ) -> None:
        self.engine = engine
        self.engine_ref = engine.name, ref
        self.call = call
        self.name = name
        self._given: tuple[str, bytes] | None = arguments, order
        self.task_id = ""
        self.job: Job[Any] | None = None
        self.got = 0
        self.given = self.has_it = False
        self.accepted = threading.Lock()
        self.accepted.acquire()
        self._spool = spool
        self._tasks = tasks
        self._threads = threads
        self._let_go = let_go
        self._lock = threading.Lock()
        self._since = time.monotonic()
        self._last: Seen | None = None
        self._following = self._waits = False
        self._mail: list[Callable[[], object]] = []  # short: what one step leaves to the workers
        self._busy = False

    @property
    def over(self) -> bool:
        """Whether it has its end here."""
        return self.job is not None and self.job.result is not None

    @property
    def stored(self) -> bool:
        """Whether the store has all of it. Until then the cluster knows it, should this process die."""
        return self._tasks.stored(self.task_id)

    # For the work it is ------------------------------------------------------------------------------------------

    def start(self, job: Job[Any]) -> bool:
        """Its turn has come: give it to the cluster."""
        self.job = job
        if job.result is None:
            self.engine.submit(self)
        return True

    def sent(self) -> bytes:
        """As it goes to a worker; before it is known to be there."""
        assert self._given is not None
        arguments, order = self._given
        return sent(self.task_id, self.name, arguments, order)

    def stop(self, error: ToolError) -> None:
        """It is stopped: so is the work on the worker, whose last output is fetched if that answers at once."""
        job = self.job
        if job is None or job.result is not None:
            return
        if self.engine.stop(self, error.message):
            job.running = False
        else:
            job.begin()  # it may be at work there, heard of or not

    def leave(self) -> None:
        """This process has no more to do with it. Its task is whoever's asks for it next."""
        self.engine.release(self.task_id)
        self._tell_who_waits()
        job = self.job
        if job is not None and job.follow(_nothing):
            self._tasks.leave(self.task_id)
            job.complete(Finished((False, {}), TaskStatus.RUNNING, None))  # what waits for its turn need not wait
            self._let_go(self.call)

    # What is heard, on the loop ----------------------------------------------------------------------------------

    def taken(self) -> None:
        """The scheduler has it."""
        self.given, self.has_it, self._given = True, True, None
        if self._last is None and not self.over:
            self._wait_for(A_WORKER)
        self._tell_who_waits()

    def not_known(self) -> None:
        """It may have been taken: that is known when the scheduler can be reached again."""
        self.given, self._given = True, None
        self._tell_who_waits()

    def _tell_who_waits(self) -> None:
        with contextlib.suppress(RuntimeError):
            self.accepted.release()

    def hear(self, found: Seen) -> None:
        """How it is now."""
        job = self.job
        if job is None:
            return
        if found["state"] == GONE:
            self._fail(self._lost(found))
            return
        if found["state"] == QUEUED:
            return
        self._wait_for(None)
        if job.started is None and found["state"] == RUNNING:
            job.begin()
        self._last = found
        if found["progress"] is not None and tuple(found["progress"]) != self.call.reached:
            self._post(partial(self.call.progress, *found["progress"]))
        if self._following or (found["state"] != ENDED and found["size"] <= self.got):
            return
        if found["record"] is None or not self._read_end(found["record"]):
            self._following = True
            self.engine.loop.start(self._follow(), _nothing)

    def _read_end(self, text: str) -> bool:
        """It has ended with this record. Returns False where there is output that has to be fetched."""
        assert self._last is not None
        if self._last["size"] > self.got:
            with contextlib.suppress(ValueError):  # which is told below
                self._take_rest(read_record(text)["output"] or "")
            if self._last["size"] > self.got:
                return False
        self._post(partial(self._complete, text))
        return True

    def _lost(self, found: Seen) -> ToolError:
        why = found["why"] or "it is gone"
        if found["worker"] is None and found["why"] != ANEW:
            return BackendUnavailableError(f"The cluster did not begin the call: {why}", started=False)
        return ToolInterruptedError(
            f"Interrupted: {why}. What it did until then may have had effects; its output so far is kept. Nothing is "
            "started again by itself"
        )

    async def _follow(self) -> None:
        """Fetch what there is of its output, and then its end."""
        try:
            while not self.engine.away and self._last is not None:
                try:
                    if await self._has_followed(self._last):
                        return
                except ExecutorUnavailableError as error:  # what is away with the scheduler is told anew after that
                    self.cut_off(str(error))
                    await asyncio.sleep(AGAIN)
                else:
                    self.cut_off(None)
        finally:
            self._following = False

    async def _has_followed(self, last: Seen) -> bool:
        """Fetch something. Returns whether there is no more to do until something new is heard."""
        if last["record"] is not None and self._read_end(last["record"]):
            return True
        if last["size"] > self.got and await self._fetch():
            return False
        if last["state"] == ENDED:
            await self._end(last["record"])
            return True
        return last is self._last

    async def _fetch(self) -> bool:
        """Have more of the output. Returns False when there is none to be had now."""
        offset = self.got
        piece = await self.engine.read(self.task_id, offset, PIECE)
        # Of output there always is a text: of one that goes on without there would be no end.
        return piece is not None and bool(piece["text"]) and self.take(offset, piece["text"], piece.get("next", offset))

    def take(self, offset: int, text: str, end: int) -> bool:
        """The output from *offset* to *end*. Returns whether that was new."""
        with self._lock:
            if offset != self.got or end <= offset:
                return False
            self.got = end
        size = len(text.encode("utf-8", "replace"))
        if size < end - offset:
            self._spool.skip(end - offset - size)
        self._spool.append(text)
        if text and self.call.listener is not None:
            self._post(partial(self._show, text))
        return True

    def _take_rest(self, output: str) -> None:
        data = output.encode("utf-8", "replace")
        if len(data) > self.got:
            self.take(self.got, data[self.got :].decode("utf-8", "replace"), len(data))

    def _show(self, text: str) -> None:
        sink, self.call.sink = self.call.sink, None  # it is there already
        try:
            self.call.emit(text)
        finally:
            self.call.sink = sink

    async def _end(self, text: str | None) -> None:
        """It has ended, and its output is here as far as it can be had."""
        text = text or await self.engine.record(self.task_id)
        if not text:
            self._fail(ToolInterruptedError("The call has ended, and its result was lost with the worker that had it"))
            return
        self._post(partial(self._complete, text))

    def _complete(self, text: str) -> None:
        assert self.job is not None
        try:
            record = read_record(text)
            if record["progress"] is not None:
                self.call.progress(*record["progress"])
            ended: Any = finished(record, self._tasks.get(self.task_id))
            # By the worker's clock, which may have been set meanwhile: it was not begun before it was given.
            self.job.began(max(self._since, time.monotonic() - max(0.0, record["ended"] - record["started"])))
        except Exception as error:  # noqa: BLE001 -- a record that makes no sense is an end all the same
            ended = ToolInterruptedError(f"What the worker said of the call's end cannot be read: {error!r}")
        self._over(ended)

    def refused(self, error: BaseException) -> None:
        """Nothing was started."""
        self._tell_who_waits()
        why = error if isinstance(error, BackendUnavailableError) else None
        self._fail(why or BackendUnavailableError(f"The cluster did not take the call: {error}", started=False))

    def _fail(self, error: ToolError) -> None:
        """It is not carried out to its end. Of a call that was stopped that is heard as well, and is no news."""
        error = self.call.source.error or error
        error.tool_id = error.tool_id or self.name
        self._post(partial(self._over, error))

    def _over(self, ended: Any) -> None:
        """It has this end, which is stored now, if that does not take long."""
        job = self.job
        self._wait_for(None)
        if job is None or (job.result is not None and not job.running):
            self.engine.over(self)
            return
        job.complete(ended)
        self.engine.over(self)

    def cut_off(self, what: str | None) -> None:
        """The cluster cannot be reached (*what* it waits for), or can again (None)."""
        self._wait_for(what)
        if what is not None:
            self._let_go(self.call)

    def _wait_for(self, what: str | None) -> None:
        """It waits for *what* from now on; None: for nothing."""
        if what is not None:
            self._waits = True
            self.call.begin_wait(what)
        elif self._waits:
            self._waits = False
            self.call.end_wait()

    # In order, on workers ----------------------------------------------------------------------------------------

    def _post(self, fn: Callable[[], object]) -> None:
        with self._lock:
            self._mail.append(fn)
            if self._busy:
                return
            self._busy = True
        self._threads.spawn(self._deliver)

    def _deliver(self) -> None:
        while True:
            with self._lock:
                if not self._mail:
                    self._busy = False
                    return
                fn = self._mail.pop(0)
            try:
                fn()
            except BaseException as error:  # noqa: BLE001 -- what one of them raises must not lose the others
                warn(f"The task {self.task_id} on a cluster: {error!r}", error=error)


def finished(record: Record, info: TaskInfo) -> Finished:
    """What a record says, as the end of a call. Raises ValueError, KeyError, TypeError: its `more` makes no sense."""
    import json

    outcome = (bool(record["success"]), json.loads(record["value"]))
    status = TaskStatus(record["status"])
    result = restore(info, Stored(outcome, record["more"]))
    return Finished(outcome, status, result)


def _nothing(*_: object) -> None:
    pass

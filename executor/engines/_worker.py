"""What a worker of a cluster does: makes the plugins once, carries out one named tool at a time, keeps its output."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import pickle
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor._log import warn
from executor.calls._outcome import failure
from executor.engines._permission import InnerCalls
from executor.engines._plugins import difference, plugin_set
from executor.engines._wire import INLINE, WHOLE, Order, Record, Setup, sent_progress
from executor.errors import ExecutionError, ToolExecutorError
from executor.registry._registry import PluginRegistry
from executor.run._ended import outcome_of, result_of, settled, status_of
from executor.tasks._files import FileSpool, OutputFolder
from executor.tasks._manager import TaskManager
from executor.tasks._owners import OwnerLock
from executor.tasks._recovery import end_orphans
from executor.tasks._rows import End
from executor.threads._workers import Workers
from executor.values import TaskStatus, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributed import Worker

    from executor.calls._state import CallState
    from executor.tasks._spool import Groups
    from executor.tools._make import Registered

UNBOUNDED = 1 << 60  # bytes of content: it is made short where a model reads it
MOST_SETUPS = 8  # executors that are kept; past it the one that was used longest ago goes, unless it has calls
HINT = 0.002  # seconds after which output is told of, with what has come by then
MOST_THREADS = 1 << 30  # what bounds calls are the hosts' own limits


class Running:
    """A call on this worker, and what is kept of it."""

    __slots__ = ("back", "call", "hinted", "over", "record", "spool", "stopped", "task_id")

    def __init__(self, task_id: str, spool: FileSpool, loop: asyncio.AbstractEventLoop) -> None:
        self.task_id = task_id
        self.spool = spool
        self.over: asyncio.Future[None] = loop.create_future()  # it has ended, and that was said
        self.call: CallState | None = None
        self.record: str | None = None
        self.hinted = False
        self.stopped: str | None = None  # why it is not to begin
        self.back = threading.Event()  # its thread has come back

    @property
    def progress(self) -> list[Any] | None:
        """The last progress, as it is sent."""
        return sent_progress(self.call.reached) if self.call is not None else None


class Made:
    """An executor, made of a `Setup`."""

    def __init__(self, setup: Setup) -> None:
        registry = setup.recipe.follow(PluginRegistry) if setup.recipe is not None else None
        self.wrong = difference(setup.plugins, plugin_set(registry))
        self.failures = "; ".join(f"{each.plugin}: {each.error}" for each in registry.failures()) if registry else ""
        self.executor = setup.make(
            registry=registry,
            permission_plugin=InnerCalls(),
            tasks=TaskManager.in_memory(),
            max_content=UNBOUNDED,
        )
        self.calls = 0
        self._registry = registry
        self._registered: dict[str, tuple[bytes, Registered]] = {}
        self._checked: dict[str, tuple[Registered, str]] = {}
        self._lock = threading.Lock()

    def tool(self, name: str, order: Order, worker: str) -> Registered:
        """The tool that is meant. Raises ExecutionError: this worker has another one, or none."""
        if self.wrong:
            raise ExecutionError(
                f"The worker {worker} has other plugins than the host: {self.wrong}. Install the same on both, and "
                "start the worker anew",
                tool_id=name,
            )
        plugins = self._registry.tools if self._registry is not None else {}
        entry = plugins.get(name) if order.tool is None else self._own(name, order.tool, worker)
        if entry is None:
            failed = f" ({self.failures})" if self.failures else ""
            raise ExecutionError(f"The worker {worker} has no tool {name}{failed}", tool_id=name)
        checked = self._checked.get(name)
        if checked is not None and checked[0] is entry and checked[1] == order.definition:
            return entry
        if entry.tool.definition_hash != order.definition:
            raise ExecutionError(
                f"The worker {worker} has another {name} than the host: its description, schema or annotations differ. "
                "Install the same version on both, and start the worker anew",
                tool_id=name,
            )
        self._checked[name] = entry, order.definition
        return entry

    def _own(self, name: str, told: bytes, worker: str) -> Registered:
        """One that the host has registered by itself, found by its name by the calls that tools make here."""
        with self._lock:
            known = self._registered.get(name)
            if known is not None and known[0] == told:
                return known[1]
            tool, function = pickle.loads(told)  # noqa: S301 -- of the host, which may run what it likes here
            try:
                own = function.found(tool)
            except (ImportError, AttributeError) as error:
                where = f"{function.module}.{function.qualified}"
                raise ExecutionError(
                    f"The worker {worker} cannot import {where}: {error}. Install the module there", tool_id=name
                ) from error
            self.executor.register(own)
            entry: Registered = self.executor.get_tool(name)
            self._registered[name] = told, entry
            return entry


class Side:
    """
    Our part of a worker.

    `_lock` guards the tables; nothing is called under it but what is quick. What is said to the scheduler is said on
    the worker's loop, of as many calls at once as there are.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._loop: asyncio.AbstractEventLoop = worker.loop.asyncio_loop  # type: ignore[attr-defined]  # of tornado's
        self._threads = Workers(warm=0, limit=MOST_THREADS)
        self._lock = threading.Lock()
        self._making = threading.Lock()  # held while plugins are loaded
        self._running: dict[str, Running] = {}
        self._setups: dict[str, Made] = {}
        self._offered: dict[str, bytes] = {}  # by the scheduler, and not made yet
        self._ended: list[tuple[Running, tuple[str, str | None, int, bool]]] = []
        self._news: list[Running] = []
        self._telling = False
        self._noted = False
        folder = Path(worker.local_directory)
        self._output = OutputFolder(folder / "toolexec")
        owners = folder.parent / "toolexec"
        self._owner: OwnerLock | None = None
        with contextlib.suppress(ToolExecutorError):  # a folder that has no locks: commands of the dead are not ended
            self._owner = OwnerLock(owners)
            end_orphans(owners, self._owner.id)
        worker.handlers["toolexec_read"] = self.on_read
        worker.handlers["toolexec_cancel"] = self.on_cancel
        worker.handlers["toolexec_forget"] = self.on_forget

    # A call ------------------------------------------------------------------------------------------------------

    async def carry_out(self, calls: list[bytes]) -> None:
        """Begin those of these calls, each as `sent`, that nobody has; do each on a thread, and say what it came to."""
        came: list[tuple[Running, str, str, Order]] = []
        for sent in calls:
            # Of the host, which may run what it likes here.
            task_id, name, args_json, pickled = pickle.loads(sent)  # noqa: S301 -- as said
            order: Order = pickle.loads(pickled)  # noqa: S301 -- as said
            spool = FileSpool(lambda: self._output, order.output_cap, self._note_groups)
            running = Running(task_id, spool, self._loop)
            with self._lock:  # first: whoever wants it stopped from now on finds it
                if self._running.setdefault(task_id, running) is running:
                    came.append((running, name, args_json, order))
        ids = [running.task_id for running, *_ in came]
        first = await self._may_begin(ids, {order.setup for *_, order in came}) if came else set()
        begun = [each[0] for each in came if each[0].task_id in first]
        for each in came:
            if each[0] in begun:
                self._begin(*each)
            else:
                self._forget(each[0].task_id)
        for running in begun:
            await running.over

    async def _may_begin(self, task_ids: list[str], setups: set[str]) -> set[str]:
        """Ask the scheduler which of these nobody has begun. Raises OSError: that cannot be asked."""
        try:
            # Not in the stream of what Dask has to say, where the answer would wait up to 2 ms for others.
            told = await self._worker.scheduler.toolexec_begin(
                worker=self._worker.address, task_ids=task_ids, setups=list(setups - self._setups.keys())
            )
        except BaseException:
            for task_id in task_ids:
                self._forget(task_id)
            raise
        self._offered.update(told["setups"])
        return set(told["first"])

    def _begin(self, running: Running, name: str, args_json: str, order: Order) -> None:
        began = time.time()
        if not self._threads.submit(partial(self._carry_out, running, name, args_json, order, began)):
            error = ExecutionError(f"The worker {self._worker.address} has no thread left", tool_id=name)
            self._end(running, self._record(running, *_failed(error), began))

    def _carry_out(self, running: Running, name: str, args_json: str, order: Order, began: float) -> None:
        """Do it, on a thread of its own."""
        try:
            running.spool.keep(running.task_id)
            text = self._done(running, name, args_json, order)
        except BaseException as error:  # noqa: BLE001 -- whatever it is, it is what the call came to
            text = self._record(running, *_failed(error), began)
        self._end(running, text)

    def _done(self, running: Running, name: str, args_json: str, order: Order) -> str:
        made = self._made(order.setup)
        entry = made.tool(name, order, self._worker.address)
        began = time.time()
        call = made.executor._judged_elsewhere(  # noqa: SLF001 -- the one way in for what was judged elsewhere
            ToolCall(order.call_id, name, json.loads(args_json)),
            lambda _: self._hint(running),
            lambda *_: self._hint(running),
            pickle.loads(order.context) if order.context is not None else None,  # noqa: S301 -- as above
            entry,
        )
        call.sink, call.permission, call.confine, call.judge = (
            running.spool, order.permission, order.confine, order.judge,
        )  # fmt: skip
        with self._lock:
            running.call = call
            made.calls += 1
        if running.stopped is not None:
            call.source.cancel(running.stopped)
        try:
            ended = settled(made.executor._carry_out(call, order.timeout))  # noqa: SLF001 -- as above
        finally:
            with self._lock:
                made.calls -= 1
        end = End.of(outcome_of(ended, call), result_of(ended, call), whole=True)  # made short enough where it is read
        return self._record(running, status_of(ended), end, began)

    def _made(self, digest: str) -> Made:
        with self._making:
            made = self._setups.get(digest)
            if made is not None:
                self._setups[digest] = self._setups.pop(digest)
                return made
            setup = self._offered.pop(digest, None)
            if setup is None:
                raise ExecutionError("The scheduler has forgotten how the tools are to be made: start the call anew")
            if hashlib.sha256(setup).hexdigest() != digest:
                raise ExecutionError("What the tools are to be made of was changed on its way to the worker")
            try:
                made = self._setups[digest] = Made(pickle.loads(setup))  # noqa: S301 -- of the host, as above
            except Exception as error:
                raise ExecutionError(
                    f"The worker {self._worker.address} cannot have the host's plugins: {error!r}. Install them there, "
                    "and start the worker anew"
                ) from error
            idle = [key for key, each in self._setups.items() if not each.calls and each is not made]
            gone = [self._setups.pop(key) for key in idle[: max(0, len(self._setups) - MOST_SETUPS)]]
        for each in gone:
            each.executor.shutdown(wait=False)
        return made

    def _record(self, running: Running, status: TaskStatus, end: End, began: float) -> str:
        running.spool.finish()
        size = running.spool.size
        record: Record = {
            "status": str(status),
            "success": end.success,
            "value": end.value,
            "more": end.more,
            "size": size,
            "output": "" if size == 0 else running.spool.read(0)[0] if size <= WHOLE else None,
            "progress": running.progress,
            "started": began,
            "ended": time.time(),
        }
        return json.dumps(record, default=str)

    def _end(self, running: Running, text: str) -> None:
        size = running.spool.size
        inline = text if len(text) <= INLINE else None
        kept = inline is None or size > WHOLE
        running.record = text
        running.back.set()
        if not kept:
            self._forget(running.task_id)
        if self._owner is not None and self._noted and not self._running:
            self._noted = False
            self._owner.forget()
        self._on_loop(self._add_end, running, (running.task_id, inline, size, kept))

    def _forget(self, task_id: str) -> None:
        with self._lock:
            running = self._running.pop(task_id, None)
        if running is not None and running.spool.size:  # else there is no file to look for
            running.spool.discard()

    def _note_groups(self, task_id: str, groups: Groups) -> None:
        """Commands work for a call: should this worker be killed, the next one on this machine ends them."""
        del task_id
        if self._owner is not None:
            self._noted = True
            self._owner.note(json.dumps({"groups": groups}))

    def _on_loop(self, fn: Callable[..., object], *args: Any) -> None:
        with contextlib.suppress(RuntimeError):  # it is closed: nobody can be told any more
            self._loop.call_soon_threadsafe(fn, *args)

    # What is asked and told for all calls, on the worker's loop --------------------------------------------------

    def _add_end(self, running: Running, said: tuple[str, str | None, int, bool]) -> None:
        if not self._ended:
            self._loop.call_soon(self._tell_ends)
        self._ended.append((running, said))

    def _tell_ends(self) -> None:
        """Say what has ended; then Dask may say so too."""
        batch, self._ended = self._ended, []
        self._worker.batched_send({"op": "toolexec-end", "ended": [said for _, said in batch]})
        for running, _ in batch:
            if not running.over.done():
                running.over.set_result(None)

    def _hint(self, running: Running) -> None:
        """There is output, or progress; from any thread."""
        if not running.hinted:
            running.hinted = True
            self._on_loop(self._add_news, running)

    def _add_news(self, running: Running) -> None:
        self._news.append(running)
        if not self._telling:
            self._telling = True
            self._loop.call_later(HINT, self._tell)

    def _tell(self) -> None:
        self._telling = False
        batch, self._news = self._news, []
        news = []
        for running in batch:
            running.hinted = False  # first: what comes from here on is told of anew
            if running.record is None:  # else its end says more
                news.append((running.task_id, running.spool.size, running.progress))
        if news:
            self._worker.batched_send({"op": "toolexec-news", "news": news})

    # What hosts ask, through the scheduler -----------------------------------------------------------------------

    def on_read(self, task_id: str, what: str, offset: int, limit: int) -> dict[str, Any] | None:
        """Part of an output, or of a record."""
        running = self._running.get(task_id)
        if running is None:
            return None
        if what == "record":
            return {"text": (running.record or "")[offset : offset + limit]}
        return _piece(running.spool, offset, limit)

    async def on_cancel(self, task_id: str, reason: str, offset: int, wait: float) -> dict[str, Any] | None:
        """Stop a call, and wait a little for its end."""
        running = self._running.get(task_id)
        if running is None:
            return None
        with self._lock:
            if running.call is None:  # its tools are being made
                running.stopped = reason
                return {"ended": False, "text": "", "next": offset}
        loop, back = asyncio.get_running_loop(), running.back
        source = running.call.source
        await loop.run_in_executor(None, source.cancel, reason)  # what is called at a stop may take its time
        ended = back.is_set() or await loop.run_in_executor(None, back.wait, wait)
        return {"ended": ended, **_piece(running.spool, offset, 1 << 20)}

    def on_forget(self, task_ids: list[str]) -> None:
        """What is kept of these calls is needed no more."""
        for task_id in task_ids:
            self._forget(task_id)


def _piece(spool: FileSpool, offset: int, limit: int) -> dict[str, Any]:
    text, end, gone = spool.read(offset, limit)
    return {"text": text, "next": end, "gone": gone}


def _failed(error: BaseException) -> tuple[TaskStatus, End]:
    warn(f"A call could not be carried out here: {error!r}", error=error)
    return TaskStatus.FAILED, End.of(failure(error), None)

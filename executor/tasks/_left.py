"""
Tasks that engines carry out and no process looks after, because theirs has left them, or has died.

Whoever asks for one of them finds how far it is. Of one that has ended it fetches the output and the result, and stores
them: which process that is, is decided by comparing and setting the owner of the row.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from executor.errors import ExecutorUnavailableError
from executor.tasks._changes import adopt, end_adopted, leave_to_engine
from executor.tasks._files import FileSpool
from executor.tasks._rows import End, Entry
from executor.values import TaskInfo, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from executor.tasks._engines import Reattached
    from executor.tasks._place import Place
    from executor.tasks._rows import Row

STOPPING = 3.0  # seconds for a worker to end a call that is stopped: commands take 2 s to end
PIECE = 1024 * 1024  # bytes of output that are fetched at once
IN_STORE = 64 * 1024  # characters of JSON of a result that are in the store; longer ones are in files
A_WORKER = "a worker of the cluster"  # what it waits for
LOST = "it has ended, and its result was lost with the worker that had it"


class Seen(NamedTuple):
    """How far a task is."""

    state: str
    size: int
    progress: Sequence[Any] | None
    waits: str | None

    def told(self, info: TaskInfo) -> TaskInfo:
        """*info*, with what the engine says."""
        running = self.state == "running"
        done = self.progress
        return replace(
            info,
            status=TaskStatus.RUNNING if running else info.status,
            started=info.started or (info.created if running else None),
            output_bytes=max(self.size, info.output_bytes),
            progress=(done[0], done[1], done[2]) if done else info.progress,
            waiting_for=self.waits or info.waiting_for,
        )


class LeftToEngines:
    """What this process does for such tasks."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def visit(self, rows: Iterable[Row]) -> dict[str, Seen]:
        """
        How far tasks are. The ends of those that have ended are stored.

        Returns:
            Those that live, as far as is known: an engine that cannot be reached is what its tasks wait for.
        """
        left = {row.id: row for row in rows}
        seen: dict[str, Seen] = {}
        by_engine: dict[tuple[str, str], list[str]] = {}
        for task_id, found in self._place.store.engines(list(left)).items():
            by_engine.setdefault(found, []).append(task_id)
        for (name, ref), ids in by_engine.items():
            try:
                engine = self._place.engines.of(name, ref)
                told = engine.probe(ids)
            except ExecutorUnavailableError as error:
                seen |= {task_id: Seen("unknown", 0, None, str(error)) for task_id in ids}
                continue
            for task_id in ids:
                each = self._one(engine, left[task_id], told[task_id])
                if each is not None:
                    seen[task_id] = each
        return seen

    def _one(self, engine: Reattached, row: Row, told: Mapping[str, Any]) -> Seen | None:
        """A task that lives; None for one that has, or now has, its end in the store."""
        if told["state"] in ("queued", "running"):
            waits = A_WORKER if told["state"] == "queued" else None
            return Seen(told["state"], told["size"], told["progress"], waits)
        if not self._place.write(lambda connection: adopt(connection, row.id, self._place.present(connection))):
            return None if (now := self._place.store.get(row.id)) is None or not now.live else _ending(told)
        try:
            if told["state"] == "unknown" and not engine.withdraw(row.id):  # it was still on its way
                self._give_back(row.id)
                return Seen("queued", 0, None, None)
            self._store_end(engine, row, told)
        except ExecutorUnavailableError as error:  # the engine has gone away in the middle of it
            self._give_back(row.id)
            return Seen("unknown", told["size"], told["progress"], str(error))
        engine.forget([row.id])
        return None

    def _give_back(self, task_id: str) -> None:
        with contextlib.suppress(ExecutorUnavailableError):  # then it is when this process ends
            self._place.write(lambda connection: leave_to_engine(connection, self._place.own_id, task_id))

    def _store_end(self, engine: Reattached, row: Row, told: Mapping[str, Any]) -> None:
        record, why = _record(engine, row, told)
        size = self._fetch_output(engine, row, record)
        if record is None:
            never = told["state"] == "unknown"
            self._finish(row, *(_never(row) if never else _interrupted(row, why, size)))
            return
        status, error = TaskStatus(record["status"]), _error(record)
        took = max(0.0, min(float(record["ended"]) - float(record["started"]), time.time() - row.created))
        # By the worker's clock. One that is wrong must not make it an old task, which is forgotten soon; one that was
        # set meanwhile makes it begin no earlier than it was given.
        ended = min(max(float(record["ended"]), row.created + took), time.time())
        info = replace(
            row.info(size), status=status, started=ended - took, ended=ended, error=error, output_bytes=size,
            duration=took,
        )  # fmt: skip
        self._finish(row, info, End(bool(record["success"]), str(record["value"]), record["more"]))

    def _fetch_output(self, engine: Reattached, row: Row, record: Mapping[str, Any] | None) -> int:
        """Have its output here, as far as it can be had. Returns how many bytes it has written."""
        output = self._place.output
        here = output.size(row.id)
        if record is not None and record["size"] == here:
            return here
        whole = record["output"] if record is not None else None
        if whole is None and engine.read(row.id, 0, 1) is None:
            return here  # gone with its worker: what was fetched before is kept
        spool = FileSpool(lambda: output, row.output_cap)
        output.remove(row.id)
        spool.keep(row.id)
        if whole is not None:
            spool.append(whole)
        else:
            _copy(engine, row.id, spool)
        spool.finish()
        spool.sync(row.id)
        return spool.size

    def _finish(self, row: Row, info: TaskInfo, end: End) -> None:
        filed = len(end.value) + len(end.more or "") > IN_STORE
        if filed:
            self._place.output.save_result(row.id, json.dumps([end.value, end.more]))
        final = Entry(info, row.output_cap, end=end).final()
        assert final is not None
        if filed:
            final.update(value=json.dumps({"error": "The result is in a file"}), more=None, filed=True)
        self._place.write(lambda connection: end_adopted(connection, self._place.own_id, final))

    def read(self, row: Row, offset: int, limit: int | None) -> tuple[str, int, int]:
        """Output of a task that lives; where the engine cannot be reached, what was fetched before."""
        found = self._place.store.engines([row.id]).get(row.id)
        if found is not None:
            with contextlib.suppress(ExecutorUnavailableError):
                piece = self._place.engines.of(*found).read(row.id, offset, PIECE if limit is None else limit)
                if piece is not None:
                    return piece
        return self._place.output.read(row.id, offset, limit, row.output_cap, total=None, complete=False)

    def cancel(self, row: Row, reason: str) -> bool:
        """Stop a task. Returns whether that is what ended it. Raises ExecutorUnavailableError: nobody can be told."""
        found = self._place.store.engines([row.id]).get(row.id)
        if found is None:
            return False
        engine = self._place.engines.of(*found)
        if row.id not in self.visit([row]):
            return False  # it had ended
        stopped = engine.cancel(row.id, reason, STOPPING)
        if not self._place.write(lambda connection: adopt(connection, row.id, self._place.present(connection))):
            return False
        try:
            told = engine.probe([row.id])[row.id]
            record, _ = _record(engine, row, told)
            if record is not None and record["status"] != TaskStatus.CANCELLED:
                self._store_end(engine, row, told)  # it was faster
                engine.forget([row.id])
                return False
        except ExecutorUnavailableError:  # whoever asks for it next finds what became of it
            self._give_back(row.id)
            raise
        self._store_cancelled(engine, row, record, reason, abandoned=not stopped)
        if stopped:
            engine.forget([row.id])
        return True

    def _store_cancelled(
        self, engine: Reattached, row: Row, record: Mapping[str, Any] | None, reason: str, *, abandoned: bool
    ) -> None:
        size = self._place.output.size(row.id)
        with contextlib.suppress(ExecutorUnavailableError):  # its worker does not answer: what is here is kept
            size = self._fetch_output(engine, row, record)
        now = time.time()
        info = replace(
            row.info(size), status=TaskStatus.CANCELLED, ended=now, error=reason, output_bytes=size,
            duration=max(0.0, now - (row.started or now)), abandoned=abandoned,
        )  # fmt: skip
        self._finish(row, info, End.of((False, {"error": reason, "cancelled": True}), None))


def _record(engine: Reattached, row: Row, told: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, str]:
    """The record of a task, and else why there is none."""
    why = str(told["why"] or LOST)
    if told["state"] != "ended":
        return None, why
    try:
        return engine.record(row.id, told), why
    except ValueError as error:
        return None, f"what its worker said of its end cannot be read: {error}"


def _copy(engine: Reattached, task_id: str, spool: FileSpool) -> None:
    offset = 0
    while (piece := engine.read(task_id, offset, PIECE)) is not None and piece[1] > offset:
        text, end, gone = piece
        if not text:  # what goes on without a text has no end
            return
        if gone:
            spool.skip(gone)
        spool.append(text)
        offset = end


def _ending(told: Mapping[str, Any]) -> Seen:
    return Seen("running", told["size"], told["progress"], None)


def _interrupted(row: Row, why: str, size: int) -> tuple[TaskInfo, End]:
    error = (
        f"Interrupted: {why}. What it did until then may have had effects; its output so far is kept. Nothing is "
        "started again by itself"
    )
    now = time.time()
    info = replace(
        row.info(size), status=TaskStatus.INTERRUPTED, ended=now, error=error, output_bytes=size,
        duration=max(0.0, now - (row.started or now)),
    )  # fmt: skip
    return info, End.of((False, {"error": error, "interrupted": True}), None)


def _never(row: Row) -> tuple[TaskInfo, End]:
    """The end of a task whose process was gone before the engine had it."""
    error = "The call never reached the cluster: nothing was started"
    info = replace(row.info(0), status=TaskStatus.FAILED, ended=time.time(), error=error, output_bytes=0, duration=0.0)
    return info, End.of((False, {"error": error, "unavailable": True}), None)


def _error(record: Mapping[str, Any]) -> str | None:
    """What the task says went wrong."""
    if record["success"]:
        return None
    value = json.loads(record["value"])
    return str(value.get("error")) if isinstance(value, dict) else str(value)

"""What other processes change, and cannot be waited for: tasks, their output, grants, the ledger."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Any

from executor.errors import TaskNotFoundError, ToolExecutorError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from executor.tasks import TaskInfo, TaskManager
    from executor_console._hub import Hub, Page

EVERY = 1.0  # seconds between two looks where nothing runs
BUSY = 0.25  # where something does
MOST_TASKS = 60
MOST_ENDED = 8  # of them that have ended
PIECE = 65536  # bytes of output at once


def told(info: TaskInfo) -> dict[str, Any]:
    """A task as JSON."""
    return {
        "id": info.id,
        "tool": info.tool_name,
        "status": str(info.status),
        "ended": info.status.final,
        "duration": round(info.duration, 1),
        "error": info.error,
        "output_bytes": info.output_bytes,
        "owner": info.owner,
        "progress": info.progress,
        "waiting_for": info.waiting_for,
        "conversation": info.conversation,
    }


class Watch:
    """
    Looks again and again while a page is open, and tells the pages what is new. Used on the loop.

    Args:
        tasks: Those of all processes.
        files: Files whose changes are told of, by the name of the event.
    """

    def __init__(self, tasks: TaskManager, files: Mapping[str, Path]) -> None:
        self._tasks = tasks
        self._files = files
        self._work: asyncio.Task[None] | None = None
        self._rest = asyncio.Event()
        self._shown: list[dict[str, Any]] = []
        self._problem = ""
        self._stamps: dict[str, object] = {}

    def start(self, hub: Hub) -> None:
        """Look; if that is done already, at once, and tell all that there is."""
        self._rest.set()
        if self._work is None:
            self._work = asyncio.get_running_loop().create_task(self._run(hub))

    async def stop(self) -> None:
        """Look no more."""
        work, self._work = self._work, None
        if work is not None:
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work

    def hurry(self) -> None:
        """Look at once."""
        self._rest.set()

    async def _run(self, hub: Hub) -> None:
        everything = True
        while True:
            self._rest.clear()
            busy = await self._look(hub, everything=everything)
            try:
                await asyncio.wait_for(self._rest.wait(), BUSY if busy else EVERY)
                everything = True
            except TimeoutError:
                everything = False

    async def _look(self, hub: Hub, *, everything: bool) -> bool:
        """Tell what is new, or all that there is. Returns whether anything is likely to be new soon."""
        self._look_at_files(hub)
        try:
            infos = await asyncio.to_thread(self.tasks_now)
            self._look_at_tasks(hub, infos, everything=everything or bool(self._problem))
            self._problem = ""
            for page in hub.pages:
                for task_id in () if page.behind else tuple(page.follows):
                    await self._follow(page, task_id)
        except Exception as error:  # noqa: BLE001 -- it is said, and the next look may fare better
            told = error.message if isinstance(error, ToolExecutorError) else repr(error)
            if told != self._problem:
                hub.tell("problem", {"error": told})
            self._problem = told
            return False
        return any(not info.status.final for info in infos) or any(page.follows for page in hub.pages)

    def tasks_now(self) -> list[TaskInfo]:
        """Those that live, however long ago they began, and of the others the newest."""
        tasks = self._tasks
        found: dict[str, TaskInfo] = {}
        # In the order of a task's life: one that goes on meanwhile is found twice, and not missed.
        for state in ("pending", "running", None):
            found |= {info.id: info for info in tasks.list(state, limit=MOST_TASKS)}
        return sorted(found.values(), key=lambda info: info.created, reverse=True)

    def _look_at_tasks(self, hub: Hub, infos: list[TaskInfo], *, everything: bool) -> None:
        live, ended = ([info for info in infos if info.status.final is final] for final in (False, True))
        shown = [told(info) for info in [*live, *ended[:MOST_ENDED]]]
        if everything or _apart_from_time(shown) != _apart_from_time(self._shown):
            self._shown = shown
            hub.tell("tasks", shown)

    def _look_at_files(self, hub: Hub) -> None:
        for name, path in self._files.items():
            stamp = _stamp(path)
            if self._stamps.setdefault(name, stamp) != stamp:
                self._stamps[name] = stamp
                hub.tell(name, {})

    async def _follow(self, page: Page, task_id: str) -> None:
        """Send a page the output that it has not had yet."""
        offset = page.follows[task_id]
        try:
            ended = (await asyncio.to_thread(self._tasks.get, task_id)).status.final
            text, end, dropped = await asyncio.to_thread(self._tasks.output, task_id, offset, PIECE)
        except TaskNotFoundError:
            text, end, dropped, ended = "", offset, 0, True
        if page.follows.get(task_id) != offset:
            return  # it has been asked for anew meanwhile
        over = ended and not text and not dropped
        if text or dropped or over:
            page.tell(("output", {"id": task_id, "text": text, "dropped": dropped, "offset": end, "over": over}))
        if over:
            del page.follows[task_id]
        else:
            page.follows[task_id] = end


def _apart_from_time(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**each, "duration": None} for each in shown]


def _stamp(path: Path) -> object:
    try:
        status = os.stat(path)  # noqa: PTH116 -- every second
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino

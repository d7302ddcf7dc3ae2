"""What the scheduler knows: tasks of ours, the shares of work that they are in, and the processes whose they are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from executor.engines._wire import QUEUED, Seen, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class Entry:
    """A task of ours: the state, and who is to be told of it."""

    __slots__ = (
        "host", "kept", "number", "progress", "record", "share", "size", "state", "task_id", "why", "worker",
    )  # fmt: skip

    def __init__(self, task_id: str, host: str) -> None:
        self.task_id = task_id
        self.host = host
        self.share: Share | None = None  # None: the cluster has not been given it yet
        self.state = QUEUED
        self.worker: str | None = None
        self.size = 0
        self.progress: list[Any] | None = None
        self.record: str | None = None
        self.kept = False  # whether the worker still has something of it
        self.why: str | None = None
        self.number = 0  # of its last change

    def told(self) -> Seen:
        """As hosts are told of it."""
        return {
            "state": self.state,
            "worker": self.worker,
            "size": self.size,
            "progress": self.progress,
            "record": self.record,
            "why": self.why,
        }


class Share:
    """
    Calls that came together and go to one worker: one task of the cluster, since each costs it more than a call.

    Attributes:
        left: Those that the cluster still has to do with.
    """

    __slots__ = ("future", "key", "left")

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.key = key_of(entries[0].host, entries[0].task_id)
        self.left = {entry.task_id for entry in entries}
        for entry in entries:
            entry.share = self
        self.future: Any = None  # the cluster keeps the task as long as this is held


class Host:
    """A process that has tasks here: those of which it has not heard the last."""

    __slots__ = ("answered", "changed", "news", "number", "tasks", "watching")

    def __init__(self) -> None:
        self.answered = 0.0  # when it was last told of news, by the loop's clock
        self.watching = 0
        self.tasks: set[str] = set()
        self.changed: dict[str, None] = {}
        self.news = asyncio.Event()
        self.number = 0

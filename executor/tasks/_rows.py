"""What the store holds of a task: one of this process as a row, and a row as everybody sees it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from executor.tasks._answers import encode, encode_more
from executor.values import TaskInfo, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor.tasks._spool import Groups
    from executor.values import Outcome, ToolResult

COLUMNS = (
    "id, status, tool, plugin, call, created, started, ended, duration, error, output_bytes, pid, abandoned, "
    "task.owner, output_cap, host, name, progress"
)
_STATUSES = {str(status): status for status in TaskStatus}  # a third of the time of a look for the value
_TEXT, _NUMBER, _NONE = (str,), (int, float), (type(None),)
_KINDS = (
    _TEXT, _TEXT, _TEXT, _TEXT, _TEXT, _NUMBER, _NUMBER + _NONE, _NUMBER + _NONE, _NUMBER + _NONE, _TEXT + _NONE,
    (int, *_NONE), (int,), (int,), _TEXT, (int,), _TEXT, _TEXT + _NONE, _TEXT + _NONE,
)  # fmt: skip
_WIDTH = len(_KINDS)
_sound: set[tuple[type, ...]] = set()  # the types of rows that were looked at: a look costs as much as the row
TASKS = "task LEFT JOIN conversation ON conversation.task = task.id"


class Row(NamedTuple):
    """What the store knows of a task: the columns that readers want."""

    id: str
    status: str
    tool: str
    plugin: str
    call: str
    created: float
    started: float | None
    ended: float | None
    duration: float | None
    error: str | None
    output_bytes: int | None
    pid: int
    abandoned: int
    owner: str
    output_cap: int
    host: str
    conversation: str | None
    progress: str | None

    @classmethod
    def of(cls, columns: Sequence[Any]) -> Row | None:
        """A row of the store; None for one that damage has made nonsense of, though the file can be read."""
        if len(columns) > _WIDTH:
            columns = columns[:_WIDTH]
        types = tuple(map(type, columns))
        if types not in _sound:
            if not all(map(isinstance, columns, _KINDS)):
                return None
            _sound.add(types)
        return tuple.__new__(cls, columns)  # what _make does, in half of its time: as many as _KINDS

    @property
    def live(self) -> bool:
        return self.ended is None

    def info(self, output_bytes: int, *, abandoned: bool = False) -> TaskInfo:
        """As everybody sees it; whether its thread is still at work depends on its process too."""
        # Taken apart at once: by its names that would be a quarter of a listing's time.
        (
            task_id, status, tool, plugin, call, created, started, ended, duration, error,
            _, pid, _, _, _, _, conversation, said,
        ) = self  # fmt: skip
        live = ended is None
        if duration is None:
            duration = max(0.0, time.time() - started) if started is not None else 0.0
        progress, waits = _progress(said) if said is not None else (None, None)
        return TaskInfo(
            id=task_id,
            status=_STATUSES.get(status) or _damaged(live=live),
            tool_name=tool,
            plugin_name=plugin,
            call_id=call,
            created=created,
            started=started,
            ended=ended,
            duration=duration,
            error=error,
            output_bytes=output_bytes,
            owner=str(pid),
            progress=progress,
            abandoned=abandoned,
            conversation=conversation or None,
            waiting_for=waits if live else None,
        )


def _damaged(*, live: bool) -> TaskStatus:
    """The state of a damaged row: whether it has ended is still known."""
    return TaskStatus.RUNNING if live else TaskStatus.INTERRUPTED


def _progress(text: str) -> tuple[tuple[float, float | None, str | None] | None, str | None]:
    """The progress, and what the task waits for."""
    try:
        done, total, message, *more = json.loads(text)
    except (ValueError, TypeError):
        return None, None
    return None if done is None else (done, total, message), (more[0] or None) if more else None


class End(NamedTuple):
    """
    What a task came to, as it is stored.

    Attributes:
        value: JSON.
        more: JSON; see `Stored.more`.
    """

    success: bool
    value: str
    more: str | None

    @classmethod
    def of(cls, outcome: Outcome, result: ToolResult | None, *, whole: bool = False) -> End:
        """It, of what a call came to and its result, if somebody has made one; *whole*: see `Stored.is_whole`."""
        value = encode(outcome[1])
        return cls(outcome[0], value, encode_more(result, value, whole=whole) if result is not None else None)


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A task of this process at one moment, as the store is to have it.

    Attributes:
        info: Its state; its owner is the process id.
        cap: How many bytes of output are kept.
        groups: The process groups that work for it.
        end: What it came to, once it has ended.
        told: Whether its done-callback has been called.
        acknowledged: Whether its result was delivered.
        engine: What carries it out, where that is not this process: a name, and by what any process finds it.
    """

    info: TaskInfo
    cap: int
    groups: Groups = ()
    end: End | None = None
    told: bool = False
    acknowledged: bool = False
    engine: tuple[str, str] | None = None

    def values(self, owner: str, host: str, *, detached: bool) -> dict[str, Any]:
        """The columns of a row without an end, by name."""
        info = self.info
        values: dict[str, Any] = {
            "id": info.id,
            "status": str(info.status if self.end is None else TaskStatus.RUNNING),
            "tool": text(info.tool_name),
            "plugin": text(info.plugin_name),
            "call": text(info.call_id),
            "owner": owner,
            "pid": int(info.owner),
            "host": text(host),
            "created": info.created,
            "started": info.started,
            "output_cap": self.cap,
            "groups": json.dumps(self.groups),
        }
        if info.conversation is not None:
            values["name"] = text(info.conversation)
        if info.progress is not None or info.waiting_for is not None:
            waits = () if info.waiting_for is None else (text(info.waiting_for),)
            values["progress"] = json.dumps((*(info.progress or (None, None, None)), *waits), default=str)
        if detached:
            values["detached"] = True
        if self.engine is not None:
            values["engine"] = self.engine
        return values

    def final(self) -> dict[str, Any] | None:
        """The columns of its end, by name; None while it has none."""
        if self.end is None:
            return None
        info, end = self.info, self.end
        return {
            "id": info.id,
            "status": str(info.status),
            "started": info.started,
            "ended": info.ended,
            "duration": info.duration,
            "error": None if info.error is None else text(info.error),
            "output_bytes": info.output_bytes,
            "abandoned": info.abandoned,
            "success": end.success,
            "value": end.value,
            "more": end.more,
            "filed": False,
        }


def text(value: str) -> str:
    """*value* as the store can hold it: half of a surrogate pair becomes a question mark, and no text its text."""
    return str(value).encode("utf-8", "replace").decode()

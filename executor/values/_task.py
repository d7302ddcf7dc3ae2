"""A background task at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.values._frozen import dataclass

if TYPE_CHECKING:
    from executor.values._status import TaskStatus


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """
    What is known of one background task at one moment. Times are seconds since the epoch.

    Attributes:
        duration: Seconds from start to end, or up to now while it runs; 0 before it started.
        output_bytes: How many bytes of output (UTF-8) it has written so far.
        owner: Which process runs it.
        progress: The last (done, total, message) it reported, or None.
        abandoned: It has a final state, but its thread has not come back yet.
        conversation: Which conversation of the host it belongs to, or None.
        waiting_for: What it waits for, or a call that it makes: a resource that another call holds, a rate, the answer
            of a person; None: nothing that is known.
    """

    id: str
    status: TaskStatus
    tool_name: str
    plugin_name: str
    call_id: str
    created: float
    started: float | None = None
    ended: float | None = None
    duration: float = 0.0
    error: str | None = None
    output_bytes: int = 0
    owner: str = ""
    progress: tuple[float, float | None, str | None] | None = None
    abandoned: bool = False
    conversation: str | None = None
    waiting_for: str | None = None

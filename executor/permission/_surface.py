"""A surface: shows the questions of every process of the user, and answers them. What meets is in `_meeting`."""

from __future__ import annotations

import contextvars
import queue
import secrets
import threading
import weakref
from typing import TYPE_CHECKING, Self

from executor._log import warn
from executor.errors import ExecutorUnavailableError, ToolCancelledError
from executor.permission._meeting import Meeting, can_meet
from executor.permission._wire import answer_to_json
from executor.threads._loop import LoopThread

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.permission._showing import Showing
    from executor.values._approval import Approval


class Surface:
    """
    Shows the questions of every process of this user, and answers them.

    While one is open that *stays*, processes that have something to ask have somebody to ask; a question that was shown
    waits even if the surface closes, for the next one. A surface in a process that a call has started is shown nothing.

    Args:
        kind: What it is called as `Answer.by`: ``page``, ``terminal``.
        on_event: ``on_event("asked", approval)`` and ``on_event("closed", approval)``, one after another, on a thread
            of the surface's own. It may answer there.
        stays: False for one that only looks, or answers once: nobody counts on it.
        meeting: Where processes meet.
        name: Its name there.
    """

    def __init__(
        self,
        kind: str,
        on_event: Callable[[str, Approval], object] | None = None,
        *,
        stays: bool = True,
        meeting: Meeting | None = None,
        name: str | None = None,
    ) -> None:
        self._kind = kind
        self._stays = stays
        self._meeting = meeting or Meeting()
        self._name = name or secrets.token_hex(8)
        self._loop = LoopThread("executor-surface", _closed)
        self._on_event = on_event
        self._events: queue.SimpleQueue[tuple[str, Approval] | None] = queue.SimpleQueue()
        self._showing: Showing | None = None
        self._end: weakref.finalize[[], object] | None = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """
        Begin. When this returns, what was asked before is among `pending`.

        Raises:
            ExecutorUnavailableError: The folder in the user's state cannot be used, or this system has no such sockets.
        """
        if not can_meet():
            raise ExecutorUnavailableError(
                "This system has no local sockets: questions are shown in their process only"
            )
        from executor.permission._showing import Showing  # asyncio, wanted once there is a surface

        if self._on_event is not None:
            told = self._events, self._on_event
            threading.Thread(target=_tell, args=told, name="executor-surface-events", daemon=True).start()
        # Set first: who is told of a question answers it, while others that were asked to tell theirs are waited for.
        self._showing = Showing(self._kind, self._name, self._meeting, self._events.put, stays=self._stays)
        try:
            contextvars.Context().run(self._loop.run, self._showing.open())
        except OSError as error:
            self.close()
            raise ExecutorUnavailableError(
                f"Other processes' questions cannot be shown: {self._meeting.folder} cannot be used ({error}). Make it "
                "writable, or set XDG_STATE_HOME to a folder that is"
            ) from error

    def pending(self) -> list[Approval]:
        """The open questions of all processes, in the order in which they came."""
        return self._showing.pending() if self._showing is not None else []

    def answer(self, approval_id: str, said: object, *, digest: str | None = None) -> bool:
        """
        Answer a question.

        Args:
            said: See `parse_answer`.
            digest: The `Approval.digest` that the person saw; by default that of the question as it is here.

        Returns:
            False when it is not open any more, was about something else, or the answer is none of its options.
        """
        if self._showing is None:
            return False
        try:
            return self._loop.run(self._showing.answer(approval_id, answer_to_json(said), digest))
        except (ExecutorUnavailableError, ToolCancelledError):
            return False

    def close(self) -> None:
        """End, and wait for the end."""
        self.retire(timeout=2.0)

    def retire(self, timeout: float = 0.0) -> None:
        """End, and wait at most so many seconds."""
        if self._end is not None:
            self._end.detach()  # else what it holds would stay as long as that owner
        self._events.put(None)
        self._loop.close(timeout)

    def end_with(self, owner: object) -> None:
        """End when *owner* is dropped, at the latest."""
        self._end = weakref.finalize(owner, self.retire)
        self._end.atexit = False


def _tell(events: queue.SimpleQueue[tuple[str, Approval] | None], on_event: Callable[[str, Approval], object]) -> None:
    while (event := events.get()) is not None:
        try:
            on_event(*event)
        except Exception as error:  # noqa: BLE001 -- an observer must not keep others from being asked
            warn(f"A function that shows questions raised: {error!r}", error=error)


def _closed() -> Exception:
    return ExecutorUnavailableError("The surface is closed")

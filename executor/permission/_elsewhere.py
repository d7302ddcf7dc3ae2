"""
The open questions of one inbox, shown on the surfaces of every process of the user. What meets is in `_meeting`.

`Elsewhere._lock` guards what is offered and whether somebody works on it; no code of others is called under it.
"""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING, Protocol

from executor._log import warn
from executor.permission._meeting import SURFACE, can_meet
from executor.threads._fork import of_this_process

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.permission._asking import Asking
    from executor.permission._meeting import Meeting
    from executor.values._approval import Approval


class Decide(Protocol):
    """
    Answers a question; returns whether that is what decided it. If so, *claimed* is called before anybody acts on it:
    the program may have been waiting for nothing else, and end.
    """

    def __call__(self, said: object, *, digest: str | None, by: str, claimed: Callable[[], object]) -> bool: ...


class Offered:
    """
    An open question.

    Attributes:
        fresh: It is not known yet whether it can be shown to anybody.
        seen: It has been shown on a surface that stays.
    """

    __slots__ = ("approval", "decide", "fresh", "lost", "seen")

    def __init__(self, approval: Approval, decide: Decide, lost: Callable[[], None]) -> None:
        self.approval = approval
        self.decide = decide
        self.lost = lost
        self.fresh = True
        self.seen = False


class Elsewhere:
    """
    Shows questions on the surfaces of other processes, and takes the answers. A thread works while one is open.

    Args:
        meeting: Where they are met.

    Attributes:
        id: The name of this inbox among those that meet; a surface of its own is not asked.
    """

    def __init__(self, meeting: Meeting) -> None:
        self.id = secrets.token_hex(8)
        self._meeting = meeting
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        if (left := getattr(self, "_work", None)) is not None:  # of the parent of this process: its end must be seen
            left.abandon()
        self._lock = threading.Lock()
        self._offered: dict[str, Offered] = {}
        self._work: Asking | None = None

    def anyone(self) -> bool:
        """Whether there is a surface, as far as can be told at once."""
        return can_meet() and any(name != self.id for name in self._meeting.names(SURFACE))

    def offer(self, approval: Approval, decide: Decide, lost: Callable[[], None]) -> None:
        """
        Show a question wherever there is a surface, and wherever one opens as long as it waits.

        Args:
            decide: Answers it.
            lost: Called from another thread when it turns out that there is nobody to show it to. It must not block.
        """
        if not can_meet():
            return
        why = None
        with self._lock:
            self._offered[approval.id] = Offered(approval, decide, lost)
            if self._work is None:
                from executor.permission._asking import Asking  # asyncio, wanted once a person is asked

                work = Asking(self, self._meeting)
                try:
                    work.begin()
                    self._work = work
                except OSError as error:
                    del self._offered[approval.id]
                    why = error
            else:
                self._work.look_again()
        if why is not None:
            warn(f"Questions cannot be shown to other processes: {why}")

    def holds(self, approval_id: str) -> bool:
        """Whether the question may be answered elsewhere: it was shown there, or that is still to be seen."""
        with self._lock:
            offered = self._offered.get(approval_id)
            return offered is not None and (offered.seen or offered.fresh)

    def withdraw(self, approval_id: str) -> None:
        """The question needs no answer any more."""
        with self._lock:
            if self._offered.pop(approval_id, None) is not None and self._work is not None:
                self._work.look_again()

    def open(self) -> dict[str, Offered]:
        """What is offered now."""
        with self._lock:
            return dict(self._offered)

    def rest(self, work: Asking, *, failed: bool = False) -> bool:
        """*work* would end. Returns False where there is a question again."""
        with self._lock:
            if self._offered and not failed:
                return False
            if self._work is work:
                self._work = None
            return True

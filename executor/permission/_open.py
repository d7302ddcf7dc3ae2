"""An open question to a person, and those who wait for its answer."""

from __future__ import annotations

import contextvars
import itertools
import os
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from executor._json import copy_checked, to_text
from executor._log import warn
from executor.calls._state import current
from executor.permission._visible import visible
from executor.values._approval import Approval, NoChannelError, asker_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from executor.calls._state import CallState
    from executor.permission._elsewhere import Elsewhere
    from executor.values import Decision
    from executor.values._approval import Answer, Channel

_numbers = itertools.count(1)
_NO = ("no", "timeout", "error")  # what ends any question, whatever its options


class Waiter:
    """
    Whoever waits for an answer, and what is to be undone when it is there. Guarded by the inbox's lock.

    Attributes:
        asks: The id of the question that it has put: where it has joined another's, not that of the open one.
        call: Which waits too, or None.
    """

    __slots__ = ("asks", "call", "on_answer", "undo")

    def __init__(self, asks: str, on_answer: Callable[[Answer], object]) -> None:
        self.asks = asks
        self.on_answer = on_answer
        self.call = current.get()
        if self.call is not None:
            self.call.begin_wait("the answer of a person")
        self.undo: list[Callable[[], None]] = []

    def free(self) -> None:
        """The wait is over, whatever for."""
        if self.call is not None:
            self.call.end_wait()
        for fn in self.undo:
            fn()

    def notify(self, answer: Answer) -> None:
        """Tell of the answer."""
        try:
            self.on_answer(answer)
        except Exception as error:  # noqa: BLE001 -- the others who wait for this answer are told all the same
            warn(f"A function that waits for an answer raised: {error!r}", error=error)


class Question:
    """
    An open question: who waits for it, and where it is shown. Guarded by the inbox's lock.

    Attributes:
        takes: Whether an answer can be acted upon; None: every one can.
        showing: How many threads are about to show it somewhere.
        spare: Surfaces on which it is shown where nobody else can be reached.
        context: That of whoever asks, in which surfaces are asked.
    """

    __slots__ = (
        "answer", "approval", "context", "elsewhere", "showing", "shown_on", "spare", "subscribers", "takes", "waiting",
    )  # fmt: skip

    def __init__(self, approval: Approval, takes: Callable[[Answer], bool] | None = None) -> None:
        self.approval = approval
        self.takes = takes
        self.elsewhere: Elsewhere | None = None
        self.answer: Answer | None = None
        self.showing = 1
        self.shown_on: dict[str, Channel] = {}
        self.spare: dict[str, Channel] = {}
        self.context = contextvars.copy_context()
        self.subscribers: list[Callable[[str, Approval], object]] = []
        self.waiting: list[Waiter] = []

    def fits(self, answer: Answer) -> bool:
        """Whether *answer* is one to this question."""
        if answer.word not in self.approval.options and answer.word not in _NO:
            return False
        return self.takes is None or self.takes(answer)

    def place(self, channels: Mapping[str, Channel], spare: Collection[str], only: Collection[str] | None) -> None:
        """Where it is to be shown: of these channels those that are *spare* only if need be, and *only* those."""
        allowed = {name: channel for name, channel in channels.items() if only is None or name in only}
        self.spare = {name: allowed.pop(name) for name in spare if name in allowed}
        self.shown_on = allowed

    def is_asked_by(self, approval_id: str) -> bool:
        """Whether who has put the question of this id waits for the answer to this one."""
        return any(waiter.asks == approval_id for waiter in self.waiting)

    def given(self, answer: Answer, approval_id: str) -> Answer:
        """*answer*, to the question of this id; where who put that has given up, to the first who still waits."""
        asks = [waiter.asks for waiter in self.waiting]
        return replace(answer, to=approval_id if approval_id in asks else asks[0])

    def close(self, answer: Answer) -> list[Waiter]:
        """Set the answer. Returns those who are to be told."""
        self.answer = answer
        waiting, self.waiting = self.waiting, []
        return waiting


def show_on(
    question: Question,
    channels: Iterable[tuple[str, Channel]],
    answer: Callable[[str, object], bool],
    lost: Callable[[str], object],
) -> None:
    """
    Have *channels* show a question.

    Args:
        answer: Given a channel's name and an answer that came there.
        lost: Told of a channel on which nobody can be reached.
    """
    for name, channel in channels:
        try:
            question.context.copy().run(channel.ask, question.approval, partial(answer, name))
        except NoChannelError:
            lost(name)
        except BaseException as error:  # noqa: BLE001 -- a broken surface is none; the others are asked
            warn(f"The channel {name!r} could not show a question: {error!r}", error=error)
            lost(name)


def end_wait(waiting: Iterable[Waiter], answer: Answer | None) -> None:
    """Those who wait need not do so any more; they are told *answer*, if there is one."""
    for waiter in waiting:
        waiter.free()
        if answer is not None:
            waiter.notify(answer)


def withdraw_from(channels: Iterable[Channel], approval_id: str) -> None:
    """Take a question back from where it was shown."""
    for channel in channels:
        try:
            channel.withdraw(approval_id)
        except BaseException as error:  # noqa: BLE001 -- as above
            warn(f"A channel could not withdraw a question: {error!r}", error=error)


def tell(subscribers: list[Callable[[str, Approval], object]], event: str, approval: Approval) -> None:
    """Tell *subscribers* that a question was ``asked`` or is ``closed``."""
    for fn in subscribers:
        try:
            fn(event, approval)
        except BaseException as error:  # noqa: BLE001 -- an observer must not decide by failing
            warn(f"A subscriber of the approval inbox raised: {error!r}", error=error)


def same(one: Approval, other: Approval) -> bool:
    """Whether an answer to one question answers the other: the same call, of one asker, in the same words."""
    return (one.tool, one.digest, one.asker, one.reason, one.text, one.options) == (
        other.tool, other.digest, other.asker, other.reason, other.text, other.options,
    )  # fmt: skip


def approval_of(
    call: CallState,
    arguments: dict[str, Any],
    decision: Decision,
    context: Mapping[str, Any] | None,
    seconds: float,
) -> Approval:
    """The question that *decision* puts about a call, for so many seconds."""
    return Approval(
        new_approval_id(),
        call.tool.id,
        copy_checked(arguments),
        decision.reason,
        decision.parts,
        text=f"{visible(call.tool.id)}: {visible(decision.reason)}\n{visible(to_text(arguments))}",
        deadline=time.time() + seconds,
        asker=asker_of(context, call.host.conversation if call.host is not None else None),
    )


def new_approval_id() -> str:
    """An id that no other question of any process has."""
    return f"ask_{os.urandom(8).hex()}_{next(_numbers)}"

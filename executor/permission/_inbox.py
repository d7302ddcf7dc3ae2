"""
The open questions to a person: any number of surfaces show them, the first answer wins.

`Inbox._lock` guards the open questions and the surfaces. Nothing of somebody else's is called under it.
"""

from __future__ import annotations

import itertools
import os
import queue
import threading
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from executor._log import warn
from executor.calls._token import CancelToken  # noqa: TC001 -- part of a public signature
from executor.threads._deadlines import Deadlines
from executor.values._approval import Answer, Approval, Channel, NoChannelError, parse_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_numbers = itertools.count(1)
_NO = ("no", "timeout", "error")  # what ends any question, whatever its options


class _Waiter:
    """Whoever waits for an answer, and what is to be undone when it is there. Guarded by the inbox's lock."""

    __slots__ = ("on_answer", "undo")

    def __init__(self, on_answer: Callable[[Answer], object]) -> None:
        self.on_answer = on_answer
        self.undo: list[Callable[[], None]] = []

    def notify(self, answer: Answer) -> None:
        try:
            self.on_answer(answer)
        except Exception as error:  # noqa: BLE001 -- the others who wait for this answer are told all the same
            warn(f"A function that waits for an answer raised: {error!r}", error=error)


class _Question:
    """An open question: who waits for it, and where it is shown. Guarded by the inbox's lock."""

    __slots__ = ("answer", "approval", "showing", "shown_on", "subscribers", "waiting")

    def __init__(self, approval: Approval) -> None:
        self.approval = approval
        self.answer: Answer | None = None
        self.showing = True
        self.shown_on: dict[str, Channel] = {}
        self.subscribers: list[Callable[[str, Approval], object]] = []
        self.waiting: list[_Waiter] = []

    def close(self, answer: Answer) -> list[_Waiter]:
        """Set the answer. Returns those who are to be told."""
        self.answer = answer
        waiting, self.waiting = self.waiting, []
        return waiting


class Inbox:
    """
    The open questions, and the surfaces that show them.

    Args:
        at: ``at(when, fn)`` calls *fn* at the monotonic time *when*, and returns a function that takes it back.
            Default: a thread that exists only while a question with a time limit is open.
    """

    def __init__(self, at: Callable[[float, Callable[[], object]], Callable[[], None]] | None = None) -> None:
        self._lock = threading.Lock()
        self._at = at if at is not None else Deadlines().at
        self._open: dict[str, _Question] = {}
        self._channels: dict[str, Channel] = {}
        self._subscribers: list[Callable[[str, Approval], object]] = []

    def pending(self) -> list[Approval]:
        """The questions that wait for an answer, oldest first."""
        with self._lock:
            return [question.approval for question in self._open.values()]

    def decide(self, approval_id: str, answer: object, *, digest: str | None = None, by: str = "") -> bool:
        """
        Answer a question.

        Args:
            answer: See `parse_answer`.
            digest: The `Approval.digest` that the person saw, where the surface may show an older state.

        Returns:
            False when it is no longer open, was about something else, or the answer is none of its options.
        """
        said = replace(parse_answer(answer, by), to=approval_id)
        with self._lock:
            question = self._open.get(approval_id)
            if question is None or (digest is not None and digest != question.approval.digest):
                return False
            if said.word not in question.approval.options and said.word not in _NO:
                return False
            del self._open[approval_id]
            waiting = question.close(said)
        self._end(question, waiting, said)
        return True

    def subscribe(self, fn: Callable[[str, Approval], object]) -> Callable[[], None]:
        """
        Be told of each question: ``fn("asked", approval)`` and ``fn("closed", approval)``. A subscriber counts as a
        surface: it is expected to see to it that somebody decides.

        Returns:
            A function that ends it.
        """
        with self._lock:
            self._subscribers.append(fn)

        def end() -> None:
            with self._lock:
                if fn in self._subscribers:
                    self._subscribers.remove(fn)

        return end

    def add_channel(self, name: str, channel: Channel) -> None:
        """Show questions on *channel* too; another one of this name is replaced."""
        with self._lock:
            self._channels[name] = channel

    def channels(self) -> dict[str, Channel]:
        """The surfaces that show questions now, by name."""
        with self._lock:
            return dict(self._channels)

    def remove_channel(self, name: str) -> None:
        """Show no more questions there."""
        with self._lock:
            self._channels.pop(name, None)

    def ask(
        self,
        approval: Approval,
        *,
        channels: Mapping[str, Channel] | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Answer:
        """
        Put a question, and wait for its answer: `put`, for those who have a thread to wait in.

        Returns:
            The answer; ``timeout``, ``cancelled`` or ``no_channel`` without a person's.
        """
        answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        take_back = self.put(approval, answers.put, channels=channels, timeout=timeout, cancel=cancel)
        try:
            return answers.get()
        finally:
            take_back()

    def put(
        self,
        approval: Approval,
        on_answer: Callable[[Answer], object],
        *,
        channels: Mapping[str, Channel] | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Callable[[], None]:
        """
        Put a question, and return at once. Where its asker has an identical one open, it is joined, not put again.

        Args:
            on_answer: Called once with the answer, in whatever thread it comes from: of a surface, of whoever cancels,
                of the time limits, or this one where nobody can be reached. It must not block.
            channels: Where to ask; by default on every channel of the inbox.
            timeout: Seconds after which the answer is ``timeout``; None waits as long as it takes.
            cancel: Makes the answer ``cancelled``.

        Returns:
            A function that takes the question back, after which *on_answer* is called no more.
        """
        waiter = _Waiter(on_answer)
        question, joined = self._open_or_join(approval, waiter)
        if not joined:
            self._show(question, channels)
        if question.answer is None:
            undo = []
            if timeout is not None:
                timed_out = partial(self._leave, question, waiter, Answer("timeout"))
                undo.append(self._at(time.monotonic() + timeout, timed_out))
            if cancel is not None:
                undo.append(cancel.on_cancel(partial(self._leave, question, waiter, Answer("cancelled"))))
            with self._lock:
                if waiter in question.waiting:
                    waiter.undo, undo = undo, []
            for fn in undo:  # it was answered meanwhile
                fn()
        return partial(self._leave, question, waiter, None)

    def _open_or_join(self, approval: Approval, waiter: _Waiter) -> tuple[_Question, bool]:
        with self._lock:
            for question in self._open.values():
                if _same(question.approval, approval):
                    question.waiting.append(waiter)
                    return question, True
            question = _Question(approval)
            question.waiting.append(waiter)
            self._open[approval.id] = question
            return question, False

    def _show(self, question: _Question, channels: Mapping[str, Channel] | None) -> None:
        with self._lock:
            question.shown_on = dict(self._channels if channels is None else channels)
            question.subscribers = list(self._subscribers)
        approval = question.approval
        for name, channel in tuple(question.shown_on.items()):

            def answer(said: object, name: str = name) -> bool:
                if isinstance(said, Answer) and said.word == "no_channel":
                    self._lost(question, name)
                    return True
                return self.decide(approval.id, said, digest=approval.digest, by=name)

            try:
                channel.ask(approval, answer)
            except NoChannelError:
                self._lost(question, name)
            except BaseException as error:  # noqa: BLE001 -- a broken surface is none; the others are asked
                warn(f"The channel {name!r} could not show a question: {error!r}", error=error)
                self._lost(question, name)
        self._lost(question, "")
        self._notify("asked", question)
        with self._lock:
            question.showing = False
            over = not question.waiting
        if over:
            self._take_back(question)

    def _lost(self, question: _Question, name: str) -> None:
        """Nobody can be reached on this surface; without any surface left the question has no answer."""
        answer = Answer("no_channel")
        with self._lock:
            question.shown_on.pop(name, None)
            if question.shown_on or question.subscribers or question.answer is not None:
                return
            self._open.pop(question.approval.id, None)
            waiting = question.close(answer)
        self._end(question, waiting, answer)

    def _leave(self, question: _Question, waiter: _Waiter, answer: Answer | None) -> None:
        """One of those who wait gives up, and is told *answer*; with the last one the question ends."""
        with self._lock:
            if waiter not in question.waiting:
                return
            question.waiting.remove(waiter)
            over = not question.waiting
            if over:
                self._open.pop(question.approval.id, None)
        if over:
            self._take_back(question)
        _free(waiter)
        if answer is not None:
            waiter.notify(answer)

    def _end(self, question: _Question, waiting: list[_Waiter], answer: Answer) -> None:
        """The question is closed: take it from its surfaces, and tell those who wait."""
        self._take_back(question)
        for waiter in waiting:
            _free(waiter)
            waiter.notify(answer)

    def _take_back(self, question: _Question) -> None:
        with self._lock:
            if question.showing:  # whoever shows it takes it back when it has been shown everywhere
                return
            shown_on, question.shown_on = list(question.shown_on.values()), {}
        for channel in shown_on:
            try:
                channel.withdraw(question.approval.id)
            except BaseException as error:  # noqa: BLE001 -- as in _show
                warn(f"A channel could not withdraw a question: {error!r}", error=error)
        self._notify("closed", question)

    def _notify(self, event: str, question: _Question) -> None:
        for fn in question.subscribers:
            try:
                fn(event, question.approval)
            except BaseException as error:  # noqa: BLE001 -- an observer must not decide by failing
                warn(f"A subscriber of the approval inbox raised: {error!r}", error=error)


def _same(one: Approval, other: Approval) -> bool:
    """Whether an answer to one question answers the other: the same call, of one asker, in the same words."""
    return (one.tool, one.digest, one.asker, one.reason, one.text, one.options) == (
        other.tool, other.digest, other.asker, other.reason, other.text, other.options,
    )  # fmt: skip


def _free(waiter: _Waiter) -> None:
    for fn in waiter.undo:
        fn()


def new_approval_id() -> str:
    """An id that no other question of any process has."""
    return f"ask_{os.urandom(8).hex()}_{next(_numbers)}"

"""
The open questions to a person: any number of surfaces show them, the first answer wins.

`Inbox._lock` guards the open questions and the surfaces. Nothing of somebody else's is called under it.
"""

from __future__ import annotations

import itertools
import os
import threading
from typing import TYPE_CHECKING

from executor._log import warn
from executor.calls._token import CancelToken  # noqa: TC001 -- part of a public signature
from executor.permission._questions import Answer, Approval, Channel, NoChannelError, parse_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_numbers = itertools.count(1)


class _Question:
    """An open question: who waits for it, and where it is shown. Guarded by the inbox's lock."""

    __slots__ = ("answer", "approval", "shown_on", "subscribers", "waiting")

    def __init__(self, approval: Approval) -> None:
        self.approval = approval
        self.answer: Answer | None = None
        self.shown_on: dict[str, Channel] = {}
        self.subscribers: list[Callable[[str, Approval], object]] = []
        self.waiting: list[threading.Event] = []

    def close(self, answer: Answer) -> None:
        self.answer = answer
        for gate in self.waiting:
            gate.set()


class Inbox:
    """The open questions, and the surfaces that show them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
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
        said = parse_answer(answer, by)
        with self._lock:
            question = self._open.get(approval_id)
            if question is None or (digest is not None and digest != question.approval.digest):
                return False
            if said.word not in question.approval.options and said.word != "no":
                return False
            del self._open[approval_id]
            question.close(said)
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
        Put a question, and wait for its answer. An identical one that is open already is joined, not put again.

        Args:
            channels: Where to ask; by default on every channel of the inbox.
            timeout: Seconds after which the answer is ``timeout``; None waits as long as it takes.
            cancel: Ends the wait with ``cancelled``.
        """
        gate = threading.Event()
        question, joined = self._open_or_join(approval, gate)
        if not joined:
            self._show(question, channels)
        forget = cancel.on_cancel(gate.set) if cancel is not None else None
        try:
            gate.wait(timeout)
        finally:
            if forget is not None:
                forget()
            self._leave(question, gate)
        if question.answer is not None:
            return question.answer
        return Answer("cancelled" if cancel is not None and cancel.cancelled else "timeout")

    def _open_or_join(self, approval: Approval, gate: threading.Event) -> tuple[_Question, bool]:
        with self._lock:
            for question in self._open.values():
                same = question.approval
                if (same.tool, same.digest, same.reason) == (approval.tool, approval.digest, approval.reason):
                    question.waiting.append(gate)
                    return question, True
            question = _Question(approval)
            question.waiting.append(gate)
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
            except Exception as error:  # noqa: BLE001 -- a broken surface is none; the others are asked
                warn(f"The channel {name!r} could not show a question: {error!r}", error=error)
                self._lost(question, name)
        self._lost(question, "")
        self._tell("asked", question)

    def _lost(self, question: _Question, name: str) -> None:
        """Nobody can be reached on this surface; without any surface left the question has no answer."""
        with self._lock:
            question.shown_on.pop(name, None)
            if not question.shown_on and not question.subscribers and question.answer is None:
                self._open.pop(question.approval.id, None)
                question.close(Answer("no_channel"))

    def _leave(self, question: _Question, gate: threading.Event) -> None:
        """One of those who wait has its answer, or has given up; the last one takes the question from its surfaces."""
        with self._lock:
            question.waiting.remove(gate)
            if question.waiting:
                return
            self._open.pop(question.approval.id, None)
            shown_on = list(question.shown_on.values())
        for channel in shown_on:
            try:
                channel.withdraw(question.approval.id)
            except Exception as error:  # noqa: BLE001 -- as in _show
                warn(f"A channel could not withdraw a question: {error!r}", error=error)
        self._tell("closed", question)

    def _tell(self, event: str, question: _Question) -> None:
        for fn in question.subscribers:
            try:
                fn(event, question.approval)
            except Exception as error:  # noqa: BLE001 -- an observer must not decide by failing
                warn(f"A subscriber of the approval inbox raised: {error!r}", error=error)


def new_approval_id() -> str:
    """An id that no other question of any process has."""
    return f"ask_{os.urandom(8).hex()}_{next(_numbers)}"

"""
Questions to a person: one inbox, any number of surfaces that show it, the first answer wins.

`Inbox._lock` guards the open questions and the surfaces. Nothing of somebody else's is called under it.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TextIO, TypeAlias, cast

from executor._log import warn
from executor._output import CancelToken  # noqa: TC001 -- part of a public signature

Word: TypeAlias = Literal[
    "yes",
    "no",
    "once",
    "always",
    "never",
    "turn",
    "idle",
    "all",
    "comment",
    "edit",
    "timeout",
    "no_channel",
    "cancelled",
]
_SHORT: dict[str, Word] = {
    "y": "yes", "n": "no", "o": "once", "a": "always", "t": "turn", "i": "idle", "c": "comment", "e": "edit",
}  # fmt: skip
WORDS: tuple[Word, ...] = ("yes", "no", "once", "always", "never", "turn", "idle", "all", "comment", "edit")
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Approval:
    """
    One question: may this call run?

    Attributes:
        id: Answers carry it; another question's answer is refused.
        arguments: What the tool would get; a copy.
        reason: Why a person is asked.
        parts: What was judged one by one (the commands of a shell line).
        text: The question as shown, with nothing in it that a terminal or page could take for markup.
        offered_rule: The rule that ``always`` and ``never`` would store, or None.
        deadline: When the answer is taken to be no, in seconds since the epoch, or None.
        options: The answers that can be given.
        digest: SHA-256 of tool and arguments: an answer is bound to what it saw.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any]
    reason: str = ""
    parts: tuple[Any, ...] = ()
    text: str = ""
    offered_rule: str | None = None
    deadline: float | None = None
    options: tuple[str, ...] = ("yes", "no", "comment")
    digest: str = field(default="")

    def __post_init__(self) -> None:
        if not self.digest:
            import hashlib

            told = json.dumps([self.tool, self.arguments], sort_keys=True, default=str)
            digest = hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()
            object.__setattr__(self, "digest", digest)


@dataclass(frozen=True, slots=True)
class Answer:
    """
    What a person said, or why nobody did (``timeout``, ``no_channel``, ``cancelled``).

    Attributes:
        value: The comment's text, or the edited arguments.
        by: The surface that it came from.
    """

    word: Word
    value: Any = None
    by: str = ""

    @property
    def allowed(self) -> bool:
        return self.word in ("yes", "once", "always", "turn", "idle", "all")


def parse_answer(value: object, by: str = "") -> Answer:
    """
    The answer that *value* means: a word, its short form, ``c:text``, ``("comment", text)``, ``("edit", arguments)``.

    Whatever is not understood is a no.
    """
    if isinstance(value, Answer):
        return value
    if isinstance(value, tuple) and len(value) == 2 and value[0] in ("comment", "edit"):
        fits = isinstance(value[1], str if value[0] == "comment" else Mapping)
        return Answer(value[0], value[1], by) if fits else Answer("no", None, by)
    if not isinstance(value, str):
        return Answer("no", None, by)
    word, separator, rest = value.strip().partition(":")
    known = _SHORT.get(word.strip().lower(), word.strip().lower())
    if separator and known == "comment":
        return Answer("comment", rest.strip(), by)
    if separator or known not in WORDS or known == "edit":
        return Answer("no", None, by)
    return Answer(cast("Word", known), None, by)


class Channel(Protocol):
    """A surface on which a person can be asked."""

    def ask(self, approval: Approval, answer: Callable[[object], bool]) -> None:
        """
        Show *approval* and return at once; call *answer* from any thread when the person has decided.

        *answer* returns False when the question was already answered, or the answer is not one of its options.

        Raises:
            NoChannelError: Nobody can be reached here.
        """
        ...

    def withdraw(self, approval_id: str) -> None:
        """The question needs no answer any more: it was answered elsewhere, timed out or was cancelled."""
        ...


class NoChannelError(Exception):
    """Raised by a channel on which nobody can be reached."""


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


def visible(text: str, limit: int = 2000) -> str:
    """
    *text* with everything visible that a terminal would act on or hide: controls, bidi marks, zero-width characters.

    Newlines stay, marked; longer texts keep head and tail around a count.
    """
    if len(text) > limit:
        text = f"{text[: limit // 2]} …[{len(text) - limit} characters more]… {text[-(limit // 2) :]}"
    shown = []
    for character in text:
        if character == "\n":
            shown.append("⏎\n")
        elif character == " " or (
            unicodedata.category(character)[0] not in "CZ" and character not in "\u115f\u1160\u3164\uffa0\u2800"
        ):
            shown.append(character)
        else:
            shown.append(f"<U+{ord(character):04X}>")
    return "".join(shown)


class TerminalChannel:
    """
    Asks on the terminal, one question at a time. Input typed before a question is shown is thrown away.

    Args:
        source: Where answers are read; a terminal, or nobody can be reached. Default: stdin.
        target: Where questions are written. Default: stderr.
    """

    def __init__(self, source: TextIO | None = None, target: TextIO | None = None) -> None:
        self._source = source
        self._target = target
        self._lock = threading.Lock()  # guards the queue and the thread's existence
        self._queue: list[tuple[Approval, Callable[[object], bool]]] = []
        self._current: str | None = None
        self._alive = False
        self._wake: tuple[int, int] | None = None

    def ask(self, approval: Approval, answer: Callable[[object], bool]) -> None:
        """Queue the question. Raises NoChannelError without a terminal."""
        source = self._source or sys.stdin
        if source is None or source.closed or not source.isatty():
            raise NoChannelError
        with self._lock:
            self._queue.append((approval, answer))
            if self._alive:
                return
            self._alive = True
            self._wake = os.pipe()
        threading.Thread(target=self._serve, args=(source.fileno(),), name="executor-terminal", daemon=True).start()

    def withdraw(self, approval_id: str) -> None:
        """Take the question back; the person is told if it was the one on the screen."""
        with self._lock:
            self._queue = [entry for entry in self._queue if entry[0].id != approval_id]
            if self._current == approval_id and self._wake is not None:
                os.write(self._wake[1], b".")

    def _serve(self, source: int) -> None:
        while True:
            with self._lock:
                if not self._queue:
                    self._alive = False
                    for end in self._wake or ():
                        os.close(end)
                    self._wake = None
                    return
                approval, answer = self._queue.pop(0)
                self._current = approval.id
                wake = cast("tuple[int, int]", self._wake)[0]
            try:
                self._put(approval, answer, source, wake)
            finally:
                with self._lock:
                    self._current = None

    def _put(self, approval: Approval, answer: Callable[[object], bool], source: int, wake: int) -> None:
        _discard_input(source)
        options = "/".join(approval.options)
        self._write(f"\n{approval.text}\n[{options}] ")
        while True:
            left = None if approval.deadline is None else max(0.0, approval.deadline - time.time())
            ready, _, _ = select.select([source, wake], [], [], left)
            if wake in ready:
                os.read(wake, 1)
                self._write("(no longer needed)\n")
                return
            if not ready:
                self._write("(no answer in time: no)\n")
                return  # whoever asked keeps the deadline
            line = os.read(source, 4096)
            if not line:
                answer(Answer("no_channel"))  # the terminal is gone
                return
            text = line.decode("utf-8", "replace").strip()
            if text and answer(text):
                return
            self._write(f"Please answer with one of {options}: ")

    def _write(self, text: str) -> None:
        target = self._target or sys.stderr
        try:
            target.write(text)
            target.flush()
        except (OSError, ValueError):
            return  # nobody can read it; the deadline, or the closed input, ends the question


def _discard_input(source: int) -> None:
    """Throw away what was typed before the question: it was no answer to it."""
    try:
        import termios
    except ImportError:  # Windows
        return
    termios.tcflush(source, termios.TCIFLUSH)

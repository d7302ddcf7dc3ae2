"""A question to a person, its answer, and the surfaces on which it is shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, cast

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

"""A question to a person, its answer, and the surfaces on which it is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol, TypeAlias, cast

from executor.values._frozen import dataclass

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
    "error",
]
Scope: TypeAlias = Literal["session", "project", "user"]
CLIENT = "client"  # the surface on which the program that makes the call asks: it may have answered by itself
WORDS: tuple[Word, ...] = ("yes", "no", "once", "always", "never", "turn", "idle", "all", "comment", "edit")
_SHORT: dict[str, Word] = {
    "y": "yes", "n": "no", "o": "once", "a": "always", "t": "turn", "i": "idle", "c": "comment", "e": "edit",
}  # fmt: skip
_WITH_TEXT = ("yes", "no", "once", "comment")  # what may be followed by a colon and a text for the model
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_FOR = re.compile(r"for\s+(\d{1,6})\s*([smhd])[a-z]*\b", re.IGNORECASE)
_TIMES = re.compile(r"(\d{1,6})\s*times?\b", re.IGNORECASE)
_MOST = 999_999  # calls, or days: what the words can say


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
        asker: Stands for who asks, and in which context; see `asker_of`. Only questions of one asker are joined.
        help: What the answers do, for a person who wants to know more.
        draft: What an ``edit`` begins with, where that is not the arguments (a form to fill in).
        details: What else a person may want to see, by name: the folder, the agent, the server.
        secret: The answer is for who asks alone: no surface shows it, and nothing keeps it.
        origin: Where it is asked, if that is another process: its program, number and folder. Else empty.
        form: The JSON schema of what an ``edit`` gives, where that is a form to fill in.
        rules: What ``always`` and ``never`` would store, by these words, where a person may write other rules instead
            (`Lasting.rules`).
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
    asker: str = ""
    help: str = ""
    draft: Mapping[str, Any] | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    secret: bool = False
    form: Mapping[str, Any] | None = None
    rules: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", _sha256([self.tool, self.arguments]))


def asker_of(context: Mapping[str, Any] | None, conversation: str | None = None) -> str:
    """What `Approval.asker` is for a call with this context: a digest of all of it, the agent included."""
    if conversation is not None:
        return _sha256([context or {}, conversation])
    return "" if not context else _sha256(context)


def _sha256(value: object) -> str:
    import hashlib

    try:
        told = json.dumps(value, sort_keys=True, default=repr)
    except (TypeError, ValueError):  # keys of several types, or a value that holds itself
        told = repr(value)
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class Lasting:
    """
    How far ``always`` and ``never`` reach.

    Attributes:
        scope: None leaves it to whoever asked.
        seconds: After how long they end, or None.
        times: For how many calls they hold, or None.
        whole_tool: Whether they are about the whole tool rather than the rule that is shown.
        rules: What a person has written instead of the rules that were offered; see `Approval.rules`.
    """

    scope: Scope | None = None
    seconds: float | None = None
    times: int | None = None
    whole_tool: bool = False
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """
    What a person said, or why nobody did (``timeout``, ``no_channel``, ``cancelled``, ``error``).

    Attributes:
        value: Of a ``comment``, a ``yes`` or a ``no``: a text for the model, or None. Of an ``edit``: the arguments.
            Of ``always`` and ``never``: a `Lasting`, or None. Of an ``error``: what went wrong, or None.
        by: The surface that it came from.
        to: The question that it was given to. Whoever asked the same is given the same answer.
    """

    word: Word
    value: Any = None
    by: str = ""
    to: str = field(default="", compare=False)

    @property
    def yes_method(self) -> str:
        """How a plain yes is recorded: whether it came from a person's own surface, or from the caller's."""
        return "client_approved" if self.by == CLIENT else "user_approved"

    @property
    def allowed(self) -> bool:
        return self.word in ("yes", "once", "always", "turn", "idle", "all")


def parse_answer(value: object, by: str = "") -> Answer:
    """The answer that *value* means, as `read_answer` says; whatever is not understood is a no."""
    return read_answer(value, by) or Answer("no", None, by)


_REACHES = frozenset({"scope", "for", "times", "whole_tool", "rules"})


def read_answer(value: object, by: str = "") -> Answer | None:
    """
    The answer that *value* means; None for what is not understood.

    It is a word, or its short form; ``yes: TEXT``, ``no: TEXT`` and ``comment: TEXT`` (or ``("yes", TEXT)`` …) with a
    text for the model; ``("edit", ARGUMENTS)``; ``always`` and ``never`` with how far they reach: ``session``,
    ``project`` or ``user``, ``for 1h``, ``10 times``, ``tool``, in any order, or as a pair with a mapping of ``scope``,
    ``for``, ``times``, ``whole_tool`` and ``rules``.
    """
    if isinstance(value, Answer):
        read = _with_value(value.word, value.value, value.by or by)
        return value if read == value else read
    if isinstance(value, tuple) and len(value) == 2 and value[0] in WORDS:
        return _with_value(value[0], value[1], by) if value[1] is not None else None
    if not isinstance(value, str):
        return None
    head, colon, text = value.strip().partition(":")
    word = _SHORT.get(head.strip().lower(), head.strip().lower())
    if colon:
        return Answer(cast("Word", word), text.strip() or None, by) if word in _WITH_TEXT else None
    if word in WORDS:
        return None if word == "edit" else Answer(cast("Word", word), None, by)
    head, _, rest = " ".join(head.split()).partition(" ")
    word = _SHORT.get(head.lower(), head.lower())
    lasting = _read_lasting(rest) if word in ("always", "never") else None
    return None if lasting is None else Answer(cast("Word", word), lasting, by)


def _with_value(word: Word, value: Any, by: str) -> Answer | None:
    """An answer with a value, which has to fit its word."""
    if word in ("always", "never") and isinstance(value, Mapping):
        lasting = _lasting_of(value)
        return None if lasting is None else Answer(word, lasting, by)
    if word == "edit":
        return Answer(word, value, by) if isinstance(value, Mapping) else None
    if value is None or word == "error":
        return Answer(word, value, by)
    if isinstance(value, Lasting):
        return Answer(word, value, by) if word in ("always", "never") and _is_sound(value) else None
    return Answer(word, value, by) if word in _WITH_TEXT and isinstance(value, str) else None


def _lasting_of(value: Mapping[str, Any]) -> Lasting | None:
    if not _REACHES.issuperset(value):  # a limit that is called otherwise would be none
        return None
    scope, seconds, times, rules = (value.get(key) for key in ("scope", "for", "times", "rules"))
    if isinstance(seconds, str):
        match = _FOR.fullmatch(f"for {seconds}")
        seconds = int(match[1]) * _SECONDS[match[2].lower()] if match else -1
    rules = () if rules is None else tuple(rules) if isinstance(rules, list) else rules
    lasting = Lasting(scope, seconds, times, value.get("whole_tool", False), rules)
    return lasting if _is_sound(lasting) else None


def _is_sound(lasting: Lasting) -> bool:
    """Whether it says what a person can: what is of another type is not guessed at, and no number is beyond words."""
    seconds, times, rules = lasting.seconds, lasting.times, lasting.rules
    return (
        lasting.scope in (None, "session", "project", "user")
        and (seconds is None or (type(seconds) in (int, float) and 0 < seconds <= _MOST * _SECONDS["d"]))
        and (times is None or (type(times) is int and 0 < times <= _MOST))
        and type(lasting.whole_tool) is bool
        and isinstance(rules, tuple)
        and all(isinstance(rule, str) for rule in rules)
    )


def _read_lasting(text: str) -> Lasting | None:
    """What follows ``always``; None for ``always, but not …``: nothing may be read into that."""
    value: dict[str, Any] = {}
    if match := _FOR.search(text):
        value["for"] = int(match[1]) * _SECONDS[match[2].lower()]
        text = text.replace(match[0], " ", 1)
    if match := _TIMES.search(text):
        value["times"] = int(match[1])
        text = text.replace(match[0], " ", 1)
    for extra in text.lower().split():
        if extra == "tool":
            value["whole_tool"] = True
        elif extra in ("session", "project", "user") and "scope" not in value:
            value["scope"] = extra
        else:
            return None
    return _lasting_of(value)


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

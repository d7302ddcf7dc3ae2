"""What a person may answer: ``always``, ``always project for 1h``, ``never tool``, ``("edit", {…})`` and the like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from executor.approval import Answer, parse_answer

if TYPE_CHECKING:
    from executor_permissions.store._grants import Scope

_LASTING = re.compile(r"(always|a|never)(?:\s+(?P<rest>.*))?\Z", re.IGNORECASE | re.DOTALL)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_FOR = re.compile(r"for\s+(\d{1,6})\s*([smhd])[a-z]*\b", re.IGNORECASE)
_TIMES = re.compile(r"(\d{1,6})\s*times?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Choice:
    """
    An answer, understood.

    Attributes:
        word: One of the inbox's words, or ``error``.
        value: A comment's text, or edited arguments.
        scope: How far ``always`` and ``never`` reach.
        seconds: After how long they end, or None.
        times: For how many calls they hold, or None.
        whole_tool: Whether they are about the whole tool rather than the rule that is shown.
    """

    word: str
    value: Any = None
    scope: Scope = "session"
    seconds: float | None = None
    times: int | None = None
    whole_tool: bool = False
    by: str = ""

    def as_answer(self) -> Answer:
        """The same, in the inbox's form."""
        lasting = {"scope": self.scope, "for": self.seconds, "times": self.times, "whole_tool": self.whole_tool}
        # The inbox takes no word of failure: it is a no, and says which.
        failed = self.word in ("error", "timeout")
        word = "no" if failed else self.word
        value = lasting if word in ("always", "never") else self.word if failed else self.value
        return Answer(cast("Any", word), value, self.by)


def read_choice(said: object) -> Choice:
    """What *said* means; whatever is not understood is a no."""
    if isinstance(said, Choice):
        return said
    if isinstance(said, Answer):
        if said.word in ("always", "never") and isinstance(said.value, Mapping):
            return _lasting(said.word, said.value, said.by)
        if said.word == "no" and said.value in ("error", "timeout"):
            return Choice(said.value, by=said.by)
        if said.word == "edit" and not isinstance(said.value, Mapping):
            return Choice("no", by=said.by)
        return Choice(said.word, said.value, by=said.by)
    if isinstance(said, tuple) and len(said) == 2 and said[0] in ("always", "never") and isinstance(said[1], Mapping):
        return _lasting(said[0], said[1], "")
    if isinstance(said, str):
        match = _LASTING.match(said.strip())
        if match:
            return _lasting_text("never" if match[1].lower() == "never" else "always", match["rest"] or "")
    return read_choice(parse_answer(said))


def _lasting(word: str, value: Mapping[str, Any], by: str) -> Choice:
    scope = value.get("scope", "session")
    seconds, times = value.get("for"), value.get("times")
    if isinstance(seconds, str):
        match = _FOR.fullmatch(f"for {seconds}")
        seconds = int(match[1]) * _SECONDS[match[2].lower()] if match else -1
    sound = (
        scope in ("session", "project", "user")
        and (seconds is None or (isinstance(seconds, int | float) and seconds > 0))
        and (times is None or (type(times) is int and times > 0))
    )
    if not sound:
        return Choice("no", by=by)
    return Choice(word, None, scope, seconds, times, bool(value.get("whole_tool")), by)


def _lasting_text(word: str, rest: str) -> Choice:
    value: dict[str, Any] = {}
    if match := _FOR.search(rest):
        value["for"] = int(match[1]) * _SECONDS[match[2].lower()]
        rest = rest.replace(match[0], " ")
    if match := _TIMES.search(rest):
        value["times"] = int(match[1])
        rest = rest.replace(match[0], " ")
    for extra in rest.split():
        if extra.lower() in ("session", "project", "user"):
            value["scope"] = extra.lower()
        elif extra.lower() == "tool":
            value["whole_tool"] = True
        else:
            return Choice("no")  # "always, but not …": nothing may be read into that
    return _lasting(word, value, "")

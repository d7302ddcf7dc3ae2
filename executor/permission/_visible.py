"""Text for a person, with nothing hidden in it."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from executor._json import to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_BLANKS = re.compile(r"[ \t]{9,}|\n{4,}")
# What Unicode has among letters, marks and symbols, and nobody sees. The page has the same in text.js.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00013441\U00013442\U0001d159\U000e0100-\U000e01ef]"
)
# Letters that are written from right to left, and what is kept free for more of them. The page has the same in text.js.
_LEFTWARD = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]+")
_IN_PLACE = "\u200e\\g<0>\u200e"  # LEFT-TO-RIGHT MARK, see UAX 9
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_LABELS = frozenset({"agent", "always", "client", "folder", "server"})  # of a question, those that are such names
_MOST_MARKS = 3  # on one letter, as languages have them: more of them grow over what is beside it


def visible(text: str, limit: int = 2000) -> str:
    """
    *text* with everything visible that a terminal or a page would act on or hide.

    Controls, bidi marks, characters without width or shape, and marks heaped on one letter are shown by number; long
    runs of blanks are counted. Newlines stay, marked; longer texts keep head and tail around a count.
    """
    text = counted(text)
    if len(text) > limit:
        text = f"{text[: limit // 2]} …[{len(text) - limit} characters more]… {text[-(limit // 2) :]}"
    shown, marks = [], 0
    for character in text:
        if " " <= character <= "~":  # as nearly all are
            shown.append(character)
            marks = 0
            continue
        kind = unicodedata.category(character)[0]
        marks = marks + 1 if kind == "M" else 0
        if character == "\n":
            shown.append("⏎\n")
        elif kind in "CZ" or marks > _MOST_MARKS or _UNSEEN.match(character):
            shown.append(f"<U+{ord(character):04X}>")
        else:
            shown.append(character)
    return "".join(shown)


def in_order(text: str) -> str:
    """
    What `visible` gave, with its words in their order: for what is to be run.

    Where words are written from right to left, terminals swap them with their neighbours: of ``cp א ב`` the second one
    would be shown first. Marks that nobody sees keep each in its place.
    """
    return _LEFTWARD.sub(_IN_PLACE, text)


def counted(text: str) -> str:
    """*text* with long runs of blanks and of empty lines counted."""
    return _BLANKS.sub(lambda match: f"[{len(match[0])} {'newlines' if match[0][0] == chr(10) else 'blanks'}]", text)


def named(name: str) -> str:
    """The name of an argument, as whoever calls wrote it: in quotes where it could be taken for words of a question."""
    if _PLAIN_NAME.fullmatch(name) and name not in _LABELS:
        return visible(name)
    return in_order(visible(json.dumps(name, ensure_ascii=False)))


def indented(text: str) -> str:
    """*text*, of which no line begins where those of a question do."""
    return text.replace("\n", "\n      ")


def question_text(tool: str, arguments: Mapping[str, Any], reason: str) -> str:
    """What a person is asked about a call whose asker has no words of its own."""
    lines = [f"  {named(key)}: {indented(in_order(visible(to_text(value))))}" for key, value in arguments.items()]
    return "\n".join([f"Run {visible(tool)}? ({indented(visible(reason))})", *lines, f"Run {visible(tool)}?"])

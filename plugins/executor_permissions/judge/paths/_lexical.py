"""What is settled about a text by its characters alone."""

from __future__ import annotations

import re
from functools import lru_cache

MAX_BYTES = 32 * 1024  # nobody reviews more; the parser and the walk over its tree stay under 50 ms

# Control characters but TAB and LF, blanks that are none to bash, and what a person cannot see: zero-width, bidi, tags.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u2800\u3000\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_HIDDEN_ASCII = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_NAME = re.compile(r"[\w.-]+")
_LOOKS_LIKE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.*-]*://")


def has_hidden_characters(text: str) -> bool:
    """Whether *text* has characters that a person cannot see, or a terminal would obey."""
    return (_HIDDEN_ASCII if text.isascii() else _HIDDEN).search(text) is not None


def looks_like_url(text: str) -> bool:
    """Whether a rule's value is one about URLs, whatever its argument is called."""
    return _LOOKS_LIKE_URL.match(text) is not None


def mentions(text: str, words: frozenset[str]) -> str | None:
    """
    The first of *words* that occurs in *text* as a word of its own, or None: behind no letter, digit, ``_``, ``.`` or
    ``-``, and in front of none of these but a dot. However many they are, that takes as long.
    """
    if not words:
        return None
    longest, others = _kinds(words)
    once = " ".join(dict.fromkeys(text.split()))  # in long texts most are there again and again
    names: dict[str, None] = dict.fromkeys(_NAME.findall(once))
    for name in names:
        if name in words:
            return name
        dot = name.find(".", 1)
        while 0 < dot <= longest:
            if name[:dot] in words:
                return name[:dot]
            dot = name.find(".", dot + 1)
    found = others.search(text) if others is not None else None
    return found[0] if found else None


@lru_cache(maxsize=64)
def _kinds(words: frozenset[str]) -> tuple[int, re.Pattern[str] | None]:
    """The length of the longest of *words*, and what finds those that are no names: ``g++``."""
    others = "|".join(re.escape(word) for word in sorted(words) if _NAME.fullmatch(word) is None)
    return max(map(len, words)), re.compile(rf"(?<![\w.-])(?:{others})(?![\w-])") if others else None

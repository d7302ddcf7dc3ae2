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
_LOOKS_LIKE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.*-]*://")


def has_hidden_characters(text: str) -> bool:
    """Whether *text* has characters that a person cannot see, or a terminal would obey."""
    return (_HIDDEN_ASCII if text.isascii() else _HIDDEN).search(text) is not None


def looks_like_url(text: str) -> bool:
    """Whether a rule's value is one about URLs, whatever its argument is called."""
    return _LOOKS_LIKE_URL.match(text) is not None


@lru_cache(maxsize=64)
def _words_pattern(words: frozenset[str]) -> re.Pattern[str]:
    return re.compile(r"(?<![\w.-])(?:" + "|".join(map(re.escape, sorted(words))) + r")(?![\w-])")


@lru_cache(maxsize=64)
def _letters_pattern(words: frozenset[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(words))))


def holds(text: str, words: frozenset[str]) -> bool:
    """Whether one of *words* occurs in *text*, be it within another word: if not, nothing in it can mean one."""
    return _letters_pattern(words).search(text) is not None


def mentions(text: str, words: frozenset[str]) -> str | None:
    """The first of *words* that occurs in *text* as a word of its own, or None."""
    if not words:
        return None
    found = _words_pattern(words).search(text)
    return found[0] if found else None

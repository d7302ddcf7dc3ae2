"""
What a tool that is not ours may make of a path: blanks stripped, braces and globs expanded, ``%2e`` decoded.

Our own file tools take a path as it is written. Of another one nobody knows, so a rule allows it only what is one path
in every reading, and a deny rule counts for each of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from executor_permissions.judge.paths._globs import Wildcard, escaped
from executor_permissions.judge.paths._paths import LONGEST_PATH

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_EXPANDED = 64  # texts that wait; what is beyond may be anything, see `may_become`
_MAX_STEPS = 500
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_SPECIAL = re.compile(r"[*?\[\]{}$`]")
_ANYTHING = re.compile(r"[$`{}]")
_WILD = re.compile(r"[*?$`\[\]{}]")
_FILE_URL = re.compile(r"\A(?:[\w.-]+:)*file:(?:[/\\]{2}[^/\\]*)?", re.IGNORECASE)
_HOME = re.compile(r"\A\$(?:HOME\b|\{HOME\})")
_FIRST = re.compile(r"\s*['\"]?(?:[/~$]|\.\.?/|(?:[\w.-]+:)*file:|[A-Za-z]:\\)", re.IGNORECASE)
_QUOTES = "\"'<>"
# Behind what parts a list, another path begins; the ":" of a drive parts none.
_SECOND = re.compile(r"(?:[\s,;|]|(?<!\A[A-Za-z]):)['\"]?(?:[/~]|\.\.?/)")
_BETWEEN = re.compile(r"[\s,;|:'\"]+")
_INNERMOST = re.compile(r"\{([^{}]*)\}")


def is_plain(text: str) -> bool:
    """Whether every tool takes *text* for the same path."""
    if text != text.strip() or "\t" in text or text[:1] == "-" or (text[:1] == "~" and text[1:2] not in ("", "/")):
        return False
    return all(sign.search(text) is None for sign in (_SPECIAL, _PERCENT, _SECOND))


def spellings(text: str) -> list[str]:
    """The paths that a tool may take *text* for; itself is among them."""
    found = {text: None, text.strip(): None}
    if len(text) > LONGEST_PATH:
        return [one for one in found if one]
    for one in list(found):
        found[unquote(one)] = None
    for one in list(found):
        found.update(dict.fromkeys(expanded(one)))
    if _SECOND.search(text):
        found.update(dict.fromkeys(_BETWEEN.split(text)))
    return [one for one in found if one]


def expanded(text: str) -> Iterable[str]:
    """*text* with its braces expanded, as far as that is not beyond all use."""
    waiting = [text]
    for _ in range(_MAX_STEPS):
        if not waiting:
            return
        one = waiting.pop()
        braces = _INNERMOST.search(one)
        if braces is None:
            yield one
        elif len(waiting) < _MAX_EXPANDED:
            before, after = one[: braces.start()], one[braces.end() :]
            waiting += [before + part + after for part in braces[1].split(",")[:_MAX_EXPANDED]]


def may_be_one(text: str) -> bool:
    """Whether *text* is one path with wildcards or ``%2e`` in it, as a tool may take it; a sentence is none."""
    if _FIRST.match(text) is None or len(text) > LONGEST_PATH or (_WILD.search(text) or _PERCENT.search(text)) is None:
        return False
    return len(text.split(maxsplit=1)) == 1


def places_of(spelled: Iterable[str], home: str) -> list[str]:
    """The `spellings` of a text, also where it is a ``file:`` URL, in quotes, or begins with ``$HOME``."""
    found: dict[str, None] = {}
    for one in spelled:
        bare = _FILE_URL.sub("", one.strip().strip(_QUOTES)).replace("\\", "/")
        found.update(dict.fromkeys((one, _HOME.sub(home, bare))))
    return list(found)


def has_wildcard(path: str) -> bool:
    """Whether `may_become` says more of *path* than that it is that."""
    return _WILD.search(path) is not None


def may_become(text: str, place: str) -> bool:
    """
    Whether a shell may make *place* (absolute), or something below it, of *text*, an absolute path with wildcards.

    It errs on the side of yes.
    """
    if _WILD.search(text) is None:
        return False
    if _ANYTHING.search(text):
        return True  # it may hold slashes and ".." too
    given, wanted = text.split("/"), place.rstrip("/").split("/")
    for i, part in enumerate(wanted):
        if i >= len(given):
            return False
        if "**" in given[i] or given[i] == "..":
            return True
        if not _glob(given[i]).fits(part):
            return False
    return True


def _glob(part: str) -> Wildcard:
    """One part of a path, each of whose special characters may stand for any text."""
    return Wildcard(tuple(re.split(r"\[[^\]]*\]|[*?\[\]]", part))) if _WILD.search(part) else Wildcard.of(escaped(part))

"""Rules that are regular expressions, or that give several words as one, in our own notation."""

from __future__ import annotations

import re
from itertools import product
from math import prod

from executor_permissions.judge.options import walk

MOST_WRITTEN = 8  # rules that are spelled out instead of one
_MOST_READ = 500  # characters
_WORDS = r"[\w./-]+(?: [\w./-]+)*"
_GROUP = r"\((?:\?:)?([\w./-]+(?:\|[\w./-]+)+)\)"
_SIGNS = re.compile(rf"\^|\.\*|\\b\w|.*\\[bswd](?![\w/])|.*[\w*)\]]\$\Z|{_GROUP}|.*\s{_GROUP}")
_ONLY_GROUPS = re.compile(rf"(?:[^\\^$()]|{_GROUP})*\Z")
_NOT_LISTED = re.compile(r"[!^]|.*[\[\\:]")
_EITHER = re.compile(r"[\w-]+(?:\|[\w-]+)+\Z")
_ANYTHING_AT_LAST = re.compile(r".*(?<![.*])\.\*\$?\Z")
_BARS = re.compile(r"\|(?![^(\[]*[)\]])")
_PART = re.compile(
    rf"(?P<blank>\\s\+?(?![*?])|[ ]\+?(?!\?))|(?P<edge>\\b(?=\s|\\s|\.\*|\$?\Z))|(?P<any>\.[*+]|(?<=\ )\*(?=\s|\Z))"
    rf"|\((?:\?:)?(?P<group>{_WORDS}(?:\|{_WORDS})+)\)(?![*+?{{])|(?P<letters>\[[^\]]+\])(?![*+?{{])|(?:\\(?=\W))?(?P<self>[\w./:=@%,~-])(?![*+?{{])",
)


def is_regular(text: str) -> bool:
    """Whether *text* is a regular expression, or gives several words as one: ``git (push|pull)``."""
    return any(form.match(text) for form in (_SIGNS, _EITHER, _ANYTHING_AT_LAST))


def letters(inside: str) -> list[str]:
    """The characters that ``[inside]`` gives for one; none where these are too many, or all but some."""
    found: list[str] = []
    for begin, end, single in re.findall(r"(\w)-(\w)|(.)", inside):
        found += [single] if single else map(chr, range(ord(begin), min(ord(end), ord(begin) + MOST_WRITTEN) + 1))
    return found if not _NOT_LISTED.match(inside) and len(found) <= MOST_WRITTEN else []


def plain(text: str, *, allows: bool) -> list[str]:
    """
    The rules that say what the regular expression *text* does; none where that is not sure.

    Args:
        allows: Whether it is to allow: then they cover no more than it does, else no less.
    """
    if len(text) > _MOST_READ or (allows and _ANYTHING_AT_LAST.match(text) and not _surely_regular(text)):
        return []
    is_exact = bool(_ONLY_GROUPS.match(text)) and not _ANYTHING_AT_LAST.match(text)
    written = [_plain(one, allows=allows, is_exact=is_exact) for one in _BARS.split(text)]
    rules = [rule for each in written for rule in each]
    return list(dict.fromkeys(rules)) if all(written) and len(rules) <= MOST_WRITTEN else []


def _surely_regular(text: str) -> bool:
    """Whether what ends in ``.*`` is none of the files whose names begin so: ``cat a.*``."""
    begins = text.removesuffix("$").removesuffix(".*")
    if len(begins.split()) < 2 or begins[-1:].isspace():
        return _SIGNS.match(text) is not None or begins.split() == [begins]
    found = walk(begins.split())
    return _SIGNS.match(text) is not None or (found is not None and found.named == len(begins.split()))


def _plain(text: str, *, allows: bool, is_exact: bool) -> list[str]:
    """The same for a text without alternatives of its own; *is_exact* if it ends where it ends."""
    text = text.removeprefix("^").removeprefix("\\b")
    is_closed = text.endswith("$") or (is_exact and allows)
    parts = _parts(text.removesuffix("$"))
    if parts is None or prod(map(len, parts)) > MOST_WRITTEN:
        return []
    has_edge = bool(parts) and parts[-1] == ["\\b"]
    rules = ["".join(one).replace("\\b", "") for one in product(*parts)]
    if not all(rule.strip("* ") for rule in rules):
        return []
    return [_ended(rule, allows=allows, is_closed=is_closed, has_edge=has_edge or is_exact) for rule in rules]


def _ended(rule: str, *, allows: bool, is_closed: bool, has_edge: bool) -> str:
    """What goes on behind a rule, as we write it."""
    if is_closed and not rule.endswith("*"):
        return rule.strip()
    begins = rule.rstrip("*")
    if begins[-1:].isspace() or (begins and has_edge) or (allows and begins[-1:].isalnum()):
        return f"{begins.strip()} *"
    return f"{begins}*"


def _parts(text: str) -> list[list[str]] | None:
    """What each part of the text may be; None where one is not understood."""
    parts: list[list[str]] = []
    at = 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            return None
        at = found.end()
        if found["letters"]:
            each = letters(found["letters"][1:-1])
            if not each:
                return None
            parts.append(each)
        elif found["blank"] or found["any"]:
            parts.append([" " if found["blank"] else "*"])
        else:
            single = "\\b" if found["edge"] else found["self"]
            parts.append(found["group"].split("|") if found["group"] else [single])
    return parts

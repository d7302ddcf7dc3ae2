"""
Redirections in rules that deny or ask: ``* > /etc/*`` is about what is written there, however that is spelled.

A rule for a whole line as it is written finds ``> /etc/x``; this finds ``>| /etc/x`` and ``cd /etc; echo > x`` as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from executor_permissions.judge.bash._expand import ANYWHERE
from executor_permissions.judge.bash._words import Glob, Unknown
from executor_permissions.judge.paths._globs import STAR, Wildcard
from executor_permissions.judge.rules._fitting import Match, bare, fits
from executor_permissions.judge.rules._from_project import MOST_PLACES, place
from executor_permissions.judge.rules._tokens import TokenPattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.bash._words import Redirect

_OPERATOR = re.compile(r"(?:\A|(?<=\*))([1&]?>>|[1&]?>[|&]?|<>?)(?![<>&(])")
_QUOTING = frozenset("'\"\\")


class Redirected(NamedTuple):
    """
    What a rule says of a command with a redirection.

    Attributes:
        command: The command, without that.
        operator: ``>`` for whatever writes, ``>>`` for what appends, ``<`` for what reads.
        target: The files.
    """

    command: TokenPattern
    operator: str
    target: Wildcard

    def catches(self, words: list[str], redirect: Redirect, folders: Folders, project: str) -> Match:
        """Whether *words* with *redirect* are it in one of *folders*; paths are compared as written from *project*."""
        found = self.command.catches(words) if self._is_about(redirect) else 0
        best: Match = 0
        if not found:
            return best
        for target in _places(redirect.target, folders, project):
            best = max(best, fits(target, self.target))
        return min(found, best)

    def _is_about(self, redirect: Redirect) -> bool:
        if self.operator == "<":
            return redirect.operator[0] == "<" and not redirect.is_text
        return redirect.writes and (self.operator == ">" or redirect.operator.endswith(">>"))


def redirected(text: str, tokens: Sequence[str], *, tail: bool) -> Redirected | None:
    """What a rule, written as *text*, says of one redirection at its end; None if it says nothing of one."""
    if not ("<" in text or ">" in text) or not _QUOTING.isdisjoint(text):
        return None
    parts = [part for token in tokens for part in _OPERATOR.split(token) if part]
    at = [i for i, part in enumerate(parts) if _OPERATOR.fullmatch(part)]
    behind = parts[at[0] + 1 :] if len(at) == 1 else []
    if len(at) != 1 or at[0] == 0 or len(behind) > 1 or not (behind or tail):
        return None
    operator = parts[at[0]].lstrip("1&")
    kind = "<" if operator[0] == "<" else ">>" if operator == ">>" else ">"
    target = Wildcard.of(bare(behind[0]) if behind else STAR)
    return Redirected(TokenPattern.of(text, parts[: at[0]]), kind, target)


def _places(target: str, folders: Folders, project: str) -> Iterator[str]:
    """The file that is redirected to, as written and, in each of *folders*, as it is from *project*."""
    if type(target) not in (str, Glob):
        yield Unknown(target)
        return
    yield target
    if len(folders) > MOST_PLACES or (ANYWHERE in folders and target[:1] != "/"):
        yield Unknown(target)
    for folder in sorted(folders)[:MOST_PLACES]:
        if folder != ANYWHERE or target[:1] == "/":
            yield type(target)(place(target, folder, project))

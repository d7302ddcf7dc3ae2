"""
Whether words of a command fit what a pattern wants, one by one and in their order: surely, or maybe. For denying.

``.e*``, a glob of the shell, may become the ``.env`` of a rule.
"""

from __future__ import annotations

import os.path
import re
from typing import Literal

from executor_permissions.judge.bash._words import Glob, Unknown
from executor_permissions.judge.paths._globs import STAR, Wildcard
from executor_permissions.judge.rules._tokenize import unquoted

Match = Literal[0, 1, 2]  # no; it may be, only the running shell knows; yes

_GLOB = re.compile(r"\[[^\]]*\]|[*?]")


def fits(word: str, wanted: Wildcard) -> Match:
    """Whether *word* is what is wanted, or may become it when it is run."""
    if type(word) is Unknown:
        return 1
    if wanted.fits(word) or ("/" in word and type(word) is str and wanted.fits(normal(word))):
        return 2
    return 1 if type(word) is Glob and may_become(bare(unquoted(word)), wanted) else 0


def may_become(word: str, wanted: Wildcard) -> bool:
    """Whether a file whose name fits the shell's glob *word* may be what is wanted. It errs on the side of yes."""
    given = _GLOB.split(word)
    if len(wanted.pieces) == 1:
        return Wildcard(tuple(given)).fits(wanted.pieces[0]) and not _hides(wanted.pieces[0], word)
    starts, ends = (given[0], wanted.pieces[0]), (given[-1], wanted.pieces[-1])
    return (starts[0].startswith(starts[1]) or starts[1].startswith(starts[0])) and (
        ends[0].endswith(ends[1]) or ends[1].endswith(ends[0])
    )


def _hides(name: str, glob: str) -> bool:
    """Whether a part of *name* begins with a dot where *glob* has a wildcard, which takes none there."""
    names, globs = name.split("/"), glob.split("/")
    return len(names) == len(globs) and any(
        one[:1] == "." and other[:1] in ("*", "?") for one, other in zip(names, globs, strict=True)
    )


def value_of(token: str) -> Wildcard:
    """What fits *token*; behind a last ``=`` any value does."""
    return Wildcard.of(token + STAR if token.endswith("=") else token)


def bare(word: str) -> str:
    """A relative path without the ``./`` in front."""
    return word.removeprefix("./") or word


def normal(word: str) -> str:
    """A path without ``//``, ``/./`` and ``..``, nor ``./`` in front."""
    if type(word) is not str:
        return word
    return os.path.normpath("/" + word.lstrip("/") if word.startswith("/") else word)


def in_order(wanted: tuple[Wildcard | None, ...], operands: list[tuple[str, bool]], *, open_end: bool) -> Match:
    """
    Whether the wanted words come in this order; values of options may stand between them, None is any number.

    Each bit of a number is a place in *wanted* that the words so far may have led to.
    """
    end = 1 << len(wanted)
    gaps = sum(1 << i for i, one in enumerate(wanted) if one is None)
    sure = maybe = _past_gaps(1, gaps)
    for word, skippable in operands:
        if open_end and sure & end:
            return 2
        if type(word) is Unknown or (open_end and maybe & end):
            return 1
        sure = _advanced(word, wanted, sure, gaps, skippable=skippable, least=2)
        maybe = _advanced(word, wanted, maybe, gaps, skippable=skippable, least=1)
        if not maybe:
            return 0
    return 2 if sure & end else 1 if maybe & end else 0


def _advanced(
    word: str, wanted: tuple[Wildcard | None, ...], states: int, gaps: int, *, skippable: bool, least: Match
) -> int:
    """The places reached after *word*, by what fits it at least so well."""
    further = states if skippable else states & gaps
    for i, one in enumerate(wanted):
        if states >> i & 1 and one is not None and fits(word, one) >= least:
            further |= 2 << i
    return _past_gaps(further, gaps)


def _past_gaps(states: int, gaps: int) -> int:
    while (further := states | (states & gaps) << 1) != states:
        states = further
    return states

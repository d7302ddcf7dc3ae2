"""Which words of a command lead through links, and where to: what a person allowed was about the files of then."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import TYPE_CHECKING

from executor_permissions.judge.paths._path_texts import expanded
from executor_permissions.judge.paths._paths import LONGEST_PATH, UnclearPathError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_JOINTS = re.compile(r"[\s;&|<>()'\"`=@:,{}]+")
_APART = re.compile(r"[\s;&|<>()'\"`]+")  # what parts words, and no path of a list in braces
_GLUED = re.compile(r"-[A-Za-z](?=[^-])")  # an option whose value is right behind it: -oout/a, -Iout
_MOST_WORDS = 200  # of a line; of a longer one the first
_MOST_FOLDERS = 10


def through_links(
    words: Iterable[str], folders: Iterable[str], real: Callable[[str], str]
) -> frozenset[tuple[str, str]]:
    """
    The words that lead through a link from one of *folders*, each with the end of it.

    Args:
        words: Those of a command; parts of one may be files too: ``--out=a``, ``-oa``, of a script ``touch a``.
        folders: Absolute, without links.
        real: Where an absolute path leads.
    """
    pieces = {piece for word in words for piece in (word, *_pieces(word))}
    pieces.update([piece[2:] for piece in pieces if _GLUED.match(piece)])
    texts = {piece for piece in pieces if piece and len(piece) < LONGEST_PATH}
    return frozenset(found for folder in folders if folder for text in texts for found in _followed(text, folder, real))


def _followed(text: str, folder: str, real: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    written = os.path.normpath(os.path.join(folder, text))  # noqa: PTH118 -- text
    try:
        end = real(os.path.join(folder, text))  # noqa: PTH118 -- as above
    except (UnclearPathError, OSError, ValueError):
        return
    if end != written:
        yield text, end


def _pieces(text: str) -> Iterator[str]:
    """What may be files in *text*: what stands between its joints, also once lists in braces are what they become."""
    yield from _JOINTS.split(text)
    for part in _APART.split(text) if "{" in text else ():
        if "{" in part:
            for one in expanded(part):
                yield from _JOINTS.split(one)


def words_of_line(line: str) -> list[str]:
    """What may be files in a line that is remembered as a whole, whatever its grammar."""
    return [word for word in islice(dict.fromkeys(_pieces(line)), _MOST_WORDS) if word]


def folders_of_line(words: Iterable[str], base: str) -> list[str]:
    """Where a line may be: in *base*, and in the folders that it names."""
    named = (os.path.realpath(os.path.join(base, word)) for word in words)  # noqa: PTH118 -- as above
    return [base, *dict.fromkeys(path for path in named if os.path.isdir(path))][:_MOST_FOLDERS]  # noqa: PTH112 -- as above

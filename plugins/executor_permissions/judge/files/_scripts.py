"""
The files that scripts on the command line name, those of sed, awk, databases, editors and interpreters.

``sed -n "w out" in`` writes ``out``, and ``awk '{print > "out"}'`` does.
"""

# ruff: noqa: SIM905 -- lines of words
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge.options import _programs, kind_of
from executor_permissions.judge.options._awk import texts_of_awk
from executor_permissions.judge.options._editors import EDITORS
from executor_permissions.judge.options._sed import NamedFile, files_of_sed
from executor_permissions.judge.runs._fed import PARTING, names_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TOLD = (
    frozenset("sqlite3 duckdb psql mysql mariadb gnuplot bc dc".split()) | EDITORS
)  # whose texts are commands of theirs
_MAKES = frozenset("make gmake".split())
_SCRIPTED = _programs.SEDS | _programs.AWKS | _TOLD | _programs.INTERPRETERS
_EXPRESSION = re.compile(r"--expression=|-[nErsuzi]*e(?=.)")
_DOING = re.compile(r"[>|]|system")  # awk writes, or runs something
# What a program of an interpreter has that writes, moves or removes something.
_WRITING = re.compile(
    r"['\"][wax][bt+]*['\"]|[Ww]rit|unlink|remove|rename|rmtree|cop[iy]|symlink|mkdir|touch|>>?\s*['\"$./]"
)


def files_of(words: list[str]) -> Iterable[NamedFile]:
    """The files that the script among *words* names, as far as it may do more than print."""
    program = words[0].rpartition("/")[2] if words else ""
    if program not in _SCRIPTED or kind_of(words) == "reader":
        return ()
    return dict.fromkeys(_files_of(program, words))  # each once


def _files_of(program: str, words: list[str]) -> Iterator[NamedFile]:
    for word in words[1:]:
        if type(word) is not str:
            continue
        if program in _programs.SEDS:
            option = _EXPRESSION.match(word)
            if option is not None or word[:1] != "-":
                yield from files_of_sed(word[option.end() :] if option is not None else word)
        elif program in _programs.AWKS:
            writes = _DOING.search(word) is not None
            for name in names_in(" ".join(texts_of_awk(word))):
                yield NamedFile(name, writes, sure=False)
        elif PARTING.search(word):
            writes = program in _TOLD or _WRITING.search(word) is not None
            for name in names_in(word) if writes else ():  # what is read is looked for anyhow
                yield NamedFile(name, writes=True, sure=False)


def written_by(program: str, text: str) -> list[str]:
    """What *text*, which *program* does as it says, may write."""
    if program in _programs.SEDS:
        return [file.name for file in files_of_sed(text) if file.writes and file.name]
    if program in _programs.AWKS:
        return names_in(" ".join(texts_of_awk(text))) if _DOING.search(text) else []
    writes = program in _TOLD or program in _MAKES or (program in _SCRIPTED and _WRITING.search(text))
    return names_in(text) if writes else []

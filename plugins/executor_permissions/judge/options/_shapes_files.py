"""Programs about files whose arguments are not read in the usual way: find, tar, copies, links, editors of streams."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import Glob, Unknown
from executor_permissions.judge.options import _walk
from executor_permissions.judge.options._programs import FIND_RUNS
from executor_permissions.judge.options._walk import option_at, walk_plainly

if TYPE_CHECKING:
    from executor_permissions.judge.options._entry import Grammar
    from executor_permissions.judge.options._walk import Walk

_MAKING_ARCHIVES = frozenset("--create --append --update --catenate --concatenate --delete".split())  # noqa: SIM905 -- reads best so
_MAKING_LETTERS = frozenset("cruA")
_HARD_LINKS = re.compile(r"-[^-]*l|--l")  # of cp
_FOLDERS = re.compile(r"-[^-]*d|--d")  # of install
_SOFT_LINKS = re.compile(r"-[bdfFiLnPrvT]*s|--sy")  # of ln
_RELATIVE = re.compile(r"-[^-]*R|--rel")  # of rsync
_OPERATORS = frozenset({"!", "-not", "-a", "-and", "-o", "-or", ",", "(", ")"})
# With these what they are given to read is gone then.
_TAR_REMOVES = re.compile(r"--remove-f")
_RSYNC_REMOVES = re.compile(r"--remove-s")  # "-sent-files" is an older name
_ZIP_MOVES = re.compile(r"-[^-]*m|--mo")
# With these it is written over.
_SED_IN_PLACE = re.compile(r"-[nErsuzb]*i|--i")
_YQ_IN_PLACE = re.compile(r"-[A-Za-z]*i|--in?p?l")
_AWK_IN_PLACE = re.compile(r".*inplace")
_YQ_COMMANDS = frozenset({"eval", "e", "eval-all", "ea"})


def walk_find(walk: Walk, grammar: Grammar, at: int) -> None:
    """Folders, then an expression; ``--`` ends only the options in front of the folders."""
    walk.grammar = grammar
    words, count = walk.words, len(walk.words)
    while at < count and words[at] in ("-H", "-L", "-P", "-O0", "-O1", "-O2", "-O3", "--"):
        at += 1
    while at < count and words[at][:1] != "-" and words[at] not in _OPERATORS:
        if type(words[at]) is Unknown or (type(words[at]) is Glob and words[at][0] in "*?["):
            walk.ask(at)
        walk.reads.append(words[at])
        at += 1
    while at < count:
        word = words[at]
        if type(word) is not str:
            walk.ask(at)
            at += 1
        elif word in FIND_RUNS:
            end = _end_of_run(words, at + 1)
            walk.inner.append((at + 1, end))
            at = end + 1
        elif word in _OPERATORS:
            at += 1
        elif word[:1] == "-" != word:
            if word == "-delete":
                walk.writes[:0] = walk.reads
            at = option_at(walk, grammar, at)
        else:
            walk.ask(at)
            at += 1


def _end_of_run(words: list[str], at: int) -> int:
    while at < len(words) and words[at] != ";" and not (words[at] == "+" and words[at - 1] == "{}"):
        at += 1
    return at


def walk_tar(walk: Walk, grammar: Grammar, at: int) -> None:
    """The first word may hold letters without a dash; their values follow in order."""
    words = walk.words
    if at < len(words) and words[at][:1] != "-" and type(words[at]) is str:
        following = at + 1
        for letter in words[at]:
            option = grammar.options.get("-" + letter)
            if option is None or not option.safe:
                walk.ask(at)
            if option is not None and option.arity == 1 and following < len(words):
                walk.is_value(option.value, words[following], following)
                following += 1
        at = following
    walk_plainly(walk, grammar, at)
    _remove_sources(walk, _TAR_REMOVES, 1)
    (walk.writes if _makes_an_archive(words) else walk.reads).extend(walk.archives)


def _makes_an_archive(words: list[str]) -> bool:
    """Whether one of the options makes tar write the archive: a word, or a letter with or without a dash."""
    letters = [word.partition("f")[0] for i, word in enumerate(words) if i == 1 or (word[:1] == "-" != word[1:2])]
    return not (_MAKING_LETTERS.isdisjoint("".join(letters)) and _MAKING_ARCHIVES.isdisjoint(words))


def walk_linking(walk: Walk, grammar: Grammar, at: int) -> None:
    """What has a second name is written by whoever writes that: ``ln a b``, ``cp -l a b``."""
    walk_plainly(walk, grammar, at)
    makes_links = _HARD_LINKS if walk.words[0].endswith("cp") else _SOFT_LINKS
    words = walk.words[at : walk.words.index("--")] if "--" in walk.words else walk.words[at:]
    if any(map(makes_links.match, words)) == (makes_links is _HARD_LINKS):
        walk.writes[:0] = walk.reads
    if "--parents" in words and makes_links is _HARD_LINKS:
        _write_whole_paths(walk)


def walk_copying(walk: Walk, grammar: Grammar, at: int) -> None:
    """``rsync -R``: as `_write_whole_paths` says."""
    walk_plainly(walk, grammar, at)
    if any(map(_RELATIVE.match, walk.words[at:])):
        _write_whole_paths(walk)
    _remove_sources(walk, _RSYNC_REMOVES, at)


def _write_whole_paths(walk: Walk) -> None:
    """Below the target the whole path of each source is made, with every ``..`` in it."""
    if walk.writes:
        target = walk.writes[-1]
        walk.writes[:0] = [type(source)(f"{target}/{source}") for source in walk.reads]


def walk_install(walk: Walk, grammar: Grammar, at: int) -> None:
    """With ``-d`` every operand is a folder to be made."""
    walk_plainly(walk, grammar, at)
    words = walk.words
    if any(map(_FOLDERS.match, words[at : words.index("--")] if "--" in words else words[at:])):
        walk.writes[:0] = walk.reads


def walk_zip(walk: Walk, grammar: Grammar, at: int) -> None:
    """``zip -m`` moves into the archive."""
    walk_plainly(walk, grammar, at)
    _remove_sources(walk, _ZIP_MOVES, at)


def walk_sed(walk: Walk, grammar: Grammar, at: int) -> None:
    """``sed -i``."""
    walk_plainly(walk, grammar, at)
    _remove_sources(walk, _SED_IN_PLACE, at)


def walk_awk(walk: Walk, grammar: Grammar, at: int) -> None:
    """``gawk -i inplace``: a library of its own."""
    walk_plainly(walk, grammar, at)
    _remove_sources(walk, _AWK_IN_PLACE, at)


def walk_yq(walk: Walk, grammar: Grammar, at: int) -> None:
    """``yq -i``. In front of the filter there may be what is the only command that it has for most."""
    words = walk.words
    walk_plainly(walk, grammar, at + 1 if at < len(words) and words[at] in _YQ_COMMANDS else at)
    _remove_sources(walk, _YQ_IN_PLACE, at)


def _remove_sources(walk: Walk, option: re.Pattern[str], at: int) -> None:
    """What is read is written as well if one of the words from *at* on is *option*."""
    if any(map(option.match, walk.words[at:])):
        walk.writes[:0] = walk.reads


_walk.SHAPES.update(
    awk=walk_awk,
    copying=walk_copying,
    find=walk_find,
    install=walk_install,
    linking=walk_linking,
    sed=walk_sed,
    tar=walk_tar,
    yq=walk_yq,
    zip=walk_zip,
)

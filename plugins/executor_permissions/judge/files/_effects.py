"""
What a command does to the files that it names, by the table of its program: ``cp a b`` reads ``a`` and writes ``b``.
"""

# ruff: noqa: SIM905 -- lines of words
from __future__ import annotations

import re
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import Command, Glob
from executor_permissions.judge.files._made_links import MAKING_LINKS
from executor_permissions.judge.files._places import PLACING, names_in_targets
from executor_permissions.judge.options import kind_of, only_reads, walk
from executor_permissions.judge.options._programs import GREPS
from executor_permissions.judge.runs._peel import innermost, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

COPYING = frozenset(
    "cp tar gtar bsdtar pax 7z 7za 7zr 7zz rar lha zip scp restic borg duplicity mksquashfs genisoimage mkisofs xorriso"
    " ditto jar shar".split()
)
# Of programs with sub-commands: those that take a folder along, to a machine or a store. What an image is built of,
# .dockerignore says.
_SENDING = {
    "docker": frozenset({"cp"}),
    "podman": frozenset({"cp"}),
    "kubectl": frozenset({"cp"}),
    "aws": frozenset("cp sync mv".split()),
    "gsutil": frozenset("cp rsync mv".split()),
    "gcloud": frozenset("cp rsync scp builds deploy".split()),
    "az": frozenset("upload-batch sync upload".split()),
    "mc": frozenset("cp mirror mv".split()),
    "rclone": frozenset("copy copyto sync move moveto bisync".split()),
}
# They take what is in a folder along.
MOVING = COPYING | frozenset("rm mv rmdir rsync chown chmod shred".split())
_BUILDING = frozenset("builds deploy upload-batch upload".split())
_INTO = re.compile(r"-[A-Za-z]*t|--t")  # mv --target-directory
_TAKING_ELSEWHERE = COPYING | {"rsync", "mv"}
# They take along what the links lead to that they meet, always or if they are told to.
_FOLLOWING = {
    "cp": re.compile(r"-[^-]*[LH]|--de"),
    "tar": re.compile(r"-[^-]*h|--(?:de|har)"),
    "bsdtar": re.compile(r"-[^-]*[LH]"),
    "pax": re.compile(r"-[^-]*[LH]"),
    "rsync": re.compile(r"-[^-]*[Lk]|--copy-"),
    "scp": re.compile(""),
    "7z": re.compile(""),
}
_SYMBOLIC = re.compile(r"-[^-]*s|--s")  # ln
_SEARCHING = frozenset({"find", "fd", "fdfind"})  # what they run is given what they find
_LISTING = GREPS | frozenset("echo printf find fd fdfind ls tree rg ag ack".split())
_KEEPING_LINKS = re.compile(r"-[^-]*y|--sy")  # zip


_MOST_PARTS = 20  # of an address
_BRACES, _RANGE, _NUMBER = re.compile(r"\{([^{}]*)\}"), re.compile(r"\[[^\]]*\]"), re.compile(r"#[0-9]+")  # of curl
_FETCHING = frozenset("wget wget2 curl".split())
# They write a file of the name without its end, and some only if they are told to.
_UNPACKING = frozenset(
    "gzip gunzip pigz unpigz bzip2 bunzip2 pbzip2 lbzip2 xz unxz lzma unlzma zstd unzstd pzstd lz4 uncompress".split()
)
_BELOW = re.compile(r"-[a-zA-Z0-9]*r|--re")  # all that is in a folder
_UNPACKS = re.compile(r"-[^-]*d|--(?:de|unc)")
_PRINTS = re.compile(r"-[^-]*[ctl]|--(?:st|to-s|te|li)")
_PACKED = re.compile(r"\.(?:gz|z|bz2?|xz|lzma|zst|lz4)\Z", re.IGNORECASE)
_FURTHER = MOVING | PLACING | _FETCHING | _UNPACKING
_WITH_FOLDERS = re.compile(r"-[a-zA-Z]*[xrpm]|--(?:fo|rec|page|mir)")  # of wget
_BY_REMOTE_NAME = re.compile(r"-[a-zA-Z]*O|--remote-n")  # of curl


def _fetched(words: list[str], *, named: bool) -> Iterator[str]:
    """The files that are made of the addresses among *words*; if *named*, as by curl, only with an option for it."""
    if named:
        yield from _numbered(words)
        if not any(map(_BY_REMOTE_NAME.match, words)):
            return
        words = [one for word in words for one in _several(word)]
    from urllib.parse import unquote  # only here

    for word in words[1:]:
        if type(word) in (str, Glob) and word[:1] != "-" and "/" in word:
            path = re.split(r"[?#]", word, maxsplit=1)[0]
            names = {path.rpartition("/")[2]}
            if not named and any(map(_WITH_FOLDERS.match, words)):  # below the host, if that is not left out, too
                parts = path.rpartition("://")[2].split("/")
                names.update("/".join(parts[i:]) for i in range(min(len(parts), _MOST_PARTS)))
            yield from map(type(word), {*names, *map(unquote, names)} - {""})


def _several(word: str) -> Iterator[str]:
    """The words that *word* stands for in curl, which has braces and ranges of its own: ``x/{a,b}[1-9]``."""
    parts = [part.split(",") if i % 2 else [part] for i, part in enumerate(_BRACES.split(word))]
    if type(word) is not str or (len(parts) == 1 and "[" not in word):
        yield word
    elif prod(map(len, parts)) > _MOST_PARTS:
        yield Glob(_RANGE.sub("*", _BRACES.sub("*", word)))
    else:
        yield from (Glob(_RANGE.sub("*", one)) if "[" in one else one for one in map("".join, product(*parts)))


def _numbered(words: list[str]) -> Iterator[str]:
    """The outputs of curl that are named by what its braces and ranges become: ``-o '#1.txt' x/{a,b}``."""
    outputs = [word for word in words if type(word) is str and _NUMBER.search(word)]
    if not outputs:
        return
    told = [part for word in words for found in _BRACES.findall(word) for part in found.split(",")]
    if any("[" in word for word in words) or len(told) > _MOST_PARTS:
        told = ["*"]
    for output in outputs:
        around = _NUMBER.split(output)
        for part in told if len(around) == 2 else ["*"]:  # of several each may become another one
            named = part.join(around)
            yield Glob(named) if part == "*" else named


def _unpacked(words: list[str]) -> list[str]:
    """The files that a program for packed ones makes of those among *words*."""
    unpacks = words[0].rpartition("/")[2].startswith("un") or "unzip" in words[0] or any(map(_UNPACKS.match, words))
    if not unpacks or any(map(_PRINTS.match, words[1:])):
        return []
    return [word[: found.start()] for word in words[1:] if (found := _PACKED.search(word))]


def _copied_from_afar(words: list[str]) -> list[str]:
    """The files that scp makes, if what it is given last is a folder."""
    *sources, target = [word for word in words[1:] if word[:1] != "-"] or [""]
    return [f"{target}/{one.rpartition('/')[2]}" for one in sources if ":" in one and "/" in one and ":" not in target]


def affects_by_itself(command: Command) -> bool:
    """Whether *command*, and not what it runs, does something to files besides those that it names: what is in them."""
    return command.program in _FURTHER or _sends(command) or (command.program == "git" and "mv" in command.words)


def _sends(command: Command) -> bool:
    """Whether *command* takes folders along by one of its sub-commands."""
    subs = _SENDING.get(command.program or "")
    return subs is not None and not subs.isdisjoint(command.words)


class Effect:
    """
    What a command does to the files that it names, as far as its table says.

    Attributes:
        words: Those of the command that it stands for: of ``timeout 5 cp a b`` those of ``cp``.
        program: The program of that.
        moves: Whether it takes along, or changes, what is in a folder that it is given.
    """

    # Asked about each word, and looked at once.
    _found: bool | frozenset[str] | None = None
    _put: frozenset[str] | None = None
    _follows: bool | None = None

    def __init__(self, command: Command) -> None:
        inner = innermost(command)
        self._command = command
        self.words, self.program = inner.words, inner.program
        if self.program == "git" and "mv" in self.words:
            self.words, self.program = self.words[self.words.index("mv") :], "mv"
        self._sends = _sends(inner)
        self._packs = self.program in _UNPACKING and any(map(_BELOW.match, self.words))
        self.moves = self.program in MOVING or self._sends or self._packs

    def reads(self, word: str) -> bool:
        """Whether it only reads the file *word*."""
        if self._found is None:
            self._found = self._look()
        return self._found if isinstance(self._found, bool) else word in self._found

    def makes(self) -> list[str]:
        """The files that it makes under names that others have now, at their addresses, or that its links lead to."""
        if self.program in _FETCHING:
            return list(_fetched(self.words, named=self.program == "curl"))
        if self.program in _UNPACKING:
            return _unpacked(self.words)
        if self.program == "scp":
            return _copied_from_afar(self.words)
        if self.program not in PLACING:
            return []
        found = names_in_targets(self.words, walk(self.words))
        if self.program == "ln" and any(map(_SYMBOLIC.match, self.words)):
            *targets, link = [word for word in self.words if word[:1] != "-"]
            places = (link, link.rpartition("/")[0]) if "/" in link else (link,)
            found += [f"{place}/{target}" for place in places for target in targets[1:] if target[:1] != "/"]
        return found

    def links(self) -> bool:
        """Whether it makes links to what it is given."""
        return self.program == "ln" or (self.program == "cp" and any(map(MAKING_LINKS.match, self.words)))

    def takes_elsewhere(self, word: str) -> bool:
        """Whether it copies or moves what is in the folder *word*, and does not only put something there."""
        words, program = self.words, self.program
        if self._packs:
            return True
        if program not in _TAKING_ELSEWHERE and not self._sends:
            return False
        if self._sends and word == words[-1] and _BUILDING.isdisjoint(words):
            return not any(":" in one for one in words[1:-1])  # else it is where something remote is put
        if program == "mv":
            if self._put is None:
                self._put = frozenset() if any(map(_INTO.match, words)) else frozenset(words[-1:])
            return word in words and word not in self._put
        if self._put is None:
            found = walk(words)
            if found is None or found.reach >= 0:
                self._put = frozenset()
            else:
                self._put = frozenset(found.writes).difference(found.reads)
        return word not in self._put

    def lists(self) -> bool:
        """Whether what it prints may be names of files."""
        return self.program in _LISTING

    def follows_links(self) -> bool:
        """Whether it takes along what the links lead to that are in a folder."""
        if self._follows is None:
            self._follows = self._look_for_following()
        return self._follows

    def _look_for_following(self) -> bool:
        program, *words = self.words
        program = program.rpartition("/")[2]
        if program == "zip":
            return not any(map(_KEEPING_LINKS.match, words))
        options = ["-" + words[0].lstrip("-"), *words] if program == "tar" and words else words
        pattern = _FOLLOWING.get(program)
        return pattern is not None and any(map(pattern.match, options))

    def _look(self) -> bool | frozenset[str]:
        words = self._command.words
        if not words or type(words[0]) is not str:
            return False
        if self._command.program in _SEARCHING:
            if kind_of(words) == "reader":
                return True  # what it compares names with, too: find . -not -path './.git/*'
            found = walk(words)
            if found is not None and found.inner:
                return False
        for command in parts_of(self._command) or [self._command]:
            if not only_reads(command.words):
                break
        else:
            return True
        found = walk(words)
        return frozenset(found.reads) - frozenset(found.writes) if found is not None and found.reach < 0 else False


class _Redirected(Effect):
    """That of a redirection."""

    def __init__(self, *, reads: bool) -> None:
        super().__init__(Command([], ""))
        self._found = reads


READS, WRITES = _Redirected(reads=True), _Redirected(reads=False)

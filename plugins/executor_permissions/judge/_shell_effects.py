"""What a command does to the files and folders that it names, as far as its table says."""

# ruff: noqa: SIM905 -- lines of words
from __future__ import annotations

import re

from executor_permissions.judge._peel import parts_of
from executor_permissions.judge._shell_places import PLACING, names_in_targets
from executor_permissions.judge._words import Command
from executor_permissions.judge.options import kind_of, only_reads, walk

COPYING = frozenset("cp tar bsdtar pax 7z zip scp".split())
# They take what is in a folder along.
MOVING = COPYING | frozenset("rm mv rmdir rsync chown chmod shred".split())
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
_LINKING = re.compile(r"-[^-]*[sl]|--(?:s|li)")  # cp --symbolic-link, --link
_SYMBOLIC = re.compile(r"-[^-]*s|--s")  # ln
_SEARCHING = frozenset({"find", "fd", "fdfind"})  # what they run is given what they find
_LISTING = frozenset("echo printf find fd fdfind ls tree rg grep egrep fgrep ag ack".split())
_KEEPING_LINKS = re.compile(r"-[^-]*y|--sy")  # zip


_FURTHER = MOVING | PLACING


def affects_further_names(command: Command) -> bool:
    """Whether *command* does something to files besides those that it names: what is in them, what it calls so."""
    parts = parts_of(command)
    return (parts[-1] if parts else command).program in _FURTHER


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
        parts = parts_of(command)
        inner = parts[-1] if parts else command
        self._command = command
        self.words, self.program = inner.words, inner.program
        self.moves = inner.program in MOVING

    def reads(self, word: str) -> bool:
        """Whether it only reads the file *word*."""
        if self._found is None:
            self._found = self._look()
        return self._found if isinstance(self._found, bool) else word in self._found

    def makes(self) -> list[str]:
        """The files that it makes under the names that others have now, and what links lead to from where they are."""
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
        return self.program == "ln" or (self.program == "cp" and any(map(_LINKING.match, self.words)))

    def takes_elsewhere(self, word: str) -> bool:
        """Whether it copies or moves what is in the folder *word*, and does not only put something there."""
        words, program = self.words, self.program
        if program not in _TAKING_ELSEWHERE:
            return False
        if program == "mv":
            if self._put is None:
                self._put = frozenset() if any(map(_INTO.match, words)) else frozenset(words[-1:])
            return word not in self._put
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
        if self._command.program in _SEARCHING and kind_of(words) != "reader":
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

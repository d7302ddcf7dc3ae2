"""
The files that a shell command names: the policy's own, those that the blacklist keeps from tools, and secrets.

With ``**/*.pem`` denied to ``readFile``, ``cat keys/a.pem`` is denied, ``cat keys/*`` and ``cat ~/.ssh/id_rsa`` are
asked.
"""

# ruff: noqa: PTH118, PTH119 -- lines of words; texts, not files
from __future__ import annotations

import os
import re
from contextlib import suppress
from itertools import chain, filterfalse
from typing import TYPE_CHECKING, Literal

from executor_permissions.judge.bash._expand import ANYWHERE
from executor_permissions.judge.bash._words import DEFINITE, KNOWN, REST, Glob
from executor_permissions.judge.files._effects import COPYING, MOVING, READS, WRITES, Effect, affects_by_itself
from executor_permissions.judge.files._findings import Finding, finding_of, may_be_worse, possible, softened, worse
from executor_permissions.judge.files._operands import (
    SETTLED,
    TEXTS,
    WHOLE,
    candidates,
    looked_at,
    operands,
    told_by_variables,
)
from executor_permissions.judge.files._search import Searches
from executor_permissions.judge.files._unpacked import kept_in
from executor_permissions.judge.files._unseen import (
    anywhere,
    given_unseen,
    may_be_given,
    may_be_opened,
    options_listed,
    patterns_of,
    there,
)
from executor_permissions.judge.options import takes_files_by_option, walk
from executor_permissions.judge.paths._globbed import WILDCARD
from executor_permissions.judge.paths._overlap import may_meet, name_may_meet
from executor_permissions.judge.paths._paths import LONGEST_PATH, Place, UnclearPathError
from executor_permissions.judge.paths._secrets import is_secret, may_be_secret, secret_places
from executor_permissions.judge.runs._peel import innermost

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.bash._words import Command
    from executor_permissions.judge.paths._links import Links
    from executor_permissions.judge.rules._file_rules import FileRules, Found

_LOOKS_OF_A_GLOB = 60  # and of each that it becomes behind links
_MOST_LOOKS = 2500  # at operands, in each folder they may be in, times what comparing one costs: `FileRules.looks`
_MOST_ENTRIES = 2000  # entries of folders in which links are looked for that a glob may become
_ODD_NAME = re.compile(r"(?:\A|/)(?:[./]|\Z)")  # in a path: one that is empty, or begins with a dot
# Between names of files, in whatever a word is made of; what follows a bracket at once is an attribute: "a[0].env".
_NO_NAME = re.compile(r"(?:[\s/\"'`(){},;|&<>=$\[!^:@#%~+\\]|\](?![\w.-]))+")


class Operands:
    """
    Looks at the files that the commands of one call name.

    Args:
        rules: The files that the policy keeps.
        home: Where the user's secrets are.
        links: Resolves paths.
    """

    lists_names = False  # whether what is printed may be taken for names of files
    changes_listed = False  # and the files of these names be written
    options_sent = False  # and options be among them
    is_followed = False  # whether more runs than one command, so that a link may be used
    _searches: Searches | None = None
    _looks = _entries = 0

    def __init__(self, rules: FileRules, home: str, links: Links) -> None:
        self._rules = rules
        self._links = links
        self._home = home
        self._folders: dict[str, bool] = {}  # by folder, whether it is a usual one
        self._entries_of: dict[str, list[tuple[str, bool]]] = {}
        self._known: dict[tuple[str, str], tuple[Place, list[Found]]] = {}

    def found(
        self, command: Command, folders: Folders, *, changed: bool = False, linked: bool = False
    ) -> Finding | None:
        """
        The worst that is to be said of the files that *command* names, in whichever of *folders* it runs.

        Args:
            changed: Whether a command before it may have made files or links: then a name alone is enough to ask.
            linked: Whether one may have made links that lead anywhere: then no name says what it is.
        """
        worst = self._named(command, folders, changed=changed, linked=linked)
        if (command.assignments or command.program == "export") and may_be_worse(worst):
            for text in told_by_variables(command):
                for finding in () if self._are_usual([text], folders) else self._word(text, "", folders, WRITES):
                    worst = worse(worst, softened(finding))
        return worst

    def _named(self, command: Command, folders: Folders, *, changed: bool, linked: bool) -> Finding | None:
        """The same of its words alone."""
        program = command.program or ""
        if program in TEXTS and not self.lists_names:
            return None
        words, worst = looked_at(program, command.words), None
        inner = innermost(command)
        unpacked = kept_in(inner, folders, self._rules, self._links, plain=not (changed or linked))
        if changed or linked or unpacked or affects_by_itself(inner) or not self._are_usual(words, folders):
            effect = Effect(command)
            made = effect.makes()
            worst = options_listed(command.words, folders, self._links, changed=changed)
            further = (*((path, "path") for path in made), *((path, "name") for path in unpacked or ()))
            for word, role in (*operands(program, words), *further):
                for finding in self._word(word, program, folders, effect):
                    worst = worse(worst, finding if role == "path" else softened(finding))
                    if worst is not None and worst.verdict == "deny":
                        return worst
                for finding in self._somewhere(word) if changed and may_be_worse(worst) else ():
                    worst = worse(worst, finding)
                if linked and worst is None and role == "path" and word[:1] != "-":
                    worst = Finding("ask", f"a command before it may have made a link of {word}")
                if self._looks > _MOST_LOOKS and worst is not None:
                    return worst  # it says so of every further word
        if unpacked is None:
            worst = worse(worst, Finding("ask", "the patch that git applies cannot be looked at"))
        told = self._rules.keeps_from_reading and may_be_worse(worst)
        return worse(worst, self._told_of(command.words)) if told else worst

    def _told_of(self, words: list[str]) -> Finding | None:
        """Whether a file is named in a text that a program may run: in that of ``python -c``, of ``ssh HOST``."""
        texts = [word for word in words[1:] if type(word) is str and _NO_NAME.search(word)]
        found = walk(words) if texts else None
        if not texts or (found is not None and found.reach < 0):
            return None
        return self.told_in(" ".join(texts))

    def told_in(self, text: str) -> Finding | None:
        """Whether a file is named in *text*, which a program may do as it says."""
        names = set(_NO_NAME.split(text)) if self._rules.keeps_from_reading else set[str]()
        every = "fsdir" in names  # SQLite's, of all that is in a folder
        for path, one in self._rules.roots.items():
            name = os.path.basename(path)
            if one.kept == "read" and (
                name in names or (every and self._links.exists(path)) or (name in text and _NO_NAME.search(name))
            ):
                return Finding("maybe", f"it may be about {path}, which a rule denies", one.rule)
        found = self._rules.named_among(names, every=every)
        return found and Finding("maybe", f"it may be about {found.path}, which a rule denies", found.rule)

    def fed(self, words: list[str]) -> Finding | None:
        """Whether a program that shows, copies or writes files is given names that only the running shell knows."""
        unseen = self.lists_names or not KNOWN.issuperset(map(type, words))
        does = given_unseen(words) if unseen else None
        kept = self._kept(does) if does is not None else None
        if kept is not None:
            return Finding("maybe", f"{words[0]} may be given {kept.path}, which a rule denies", kept.rule)
        if self.options_sent and REST in words and "--" not in words and takes_files_by_option(words, lists=True):
            return Finding("ask", f"an option may be among what {words[0]} is given: write -- in front")
        return None

    def _kept(self, does: Literal["read", "write"]) -> Found | None:
        """A file that no program may read, and that is there, as far as is looked; or one that none may write."""
        return next(chain(self._rules.globs(does), there(self._rules, self._links, does)), None)

    def target(self, path: str, folders: Folders, *, writes: bool) -> Finding | None:
        """The same for a file that is redirected to or from."""
        worst: Finding | None = None
        for folder in folders:
            for finding in self._opened(path, folder, writes=writes):
                worst = worse(worst, finding)
        return worst

    def _opened(self, path: str, folder: str, *, writes: bool) -> Iterator[Finding]:
        if type(path) is Glob:
            yield from self._glob(path, folder, "", WRITES if writes else READS)
        elif type(path) is not str:
            yield from self._unsettled(path, folder, writes=writes)
        elif folder == ANYWHERE and path[:1] != "/":
            yield from self._from_anywhere(path, writes=writes)
        else:
            if not self._is_usual([path], folder):
                yield from self._path(path, folder, "", WRITES if writes else READS)
            if not writes and self._links.exists(os.path.join(folder, path, ".")):
                with suppress(UnclearPathError):  # which was said just now
                    yield from self._taken(self._look(path, folder)[0], follow=True)  # by names like /dev/fd/3/x

    def _unsettled(self, text: str, folder: str, *, writes: bool) -> Iterator[Finding]:
        """A target of which the shell works out a part."""
        yield from self._somewhere(text, writes=writes)
        yield from possible(may_be_opened(text, folder, self._rules, self._links, self._home, writes=writes))

    def _partly_known(self, text: str, folder: str, *, writes: bool) -> Iterator[Finding]:
        """The same of an operand; of one of which nothing is written out, `fed` says whether it is a file."""
        yield from self._somewhere(text)
        yield from possible(may_be_given(text, folder, self._rules, self._links, self._home, writes=writes))

    def _word(self, word: str, program: str, folders: Folders, effect: Effect) -> Iterator[Finding]:
        try:
            texts = candidates(word, self._rules)
        except UnclearPathError as error:
            yield Finding("maybe", str(error))
            return
        for text in texts:
            for folder in folders:
                if folder == ANYWHERE and text[:1] != "/" and type(word) in DEFINITE:
                    yield from self._from_anywhere(text, writes=not effect.reads(word))
                    continue
                looks = self._rules.looks if type(word) is str else 1 + len(self._rules.patterns)
                self._looks += looks * (2 if effect.moves else 1)  # what is in it, too
                if self._looks > _MOST_LOOKS:
                    yield Finding("maybe", "it names more files than are looked at")
                    return
                if type(word) is Glob:
                    yield from self._glob(text, folder, program, effect)
                elif type(word) not in DEFINITE:
                    yield from self._partly_known(text, folder, writes=not effect.reads(word))
                elif effect.moves or not self._is_usual([text], folder):
                    yield from self._path(text, folder, program, effect)

    def _are_usual(self, words: list[str], folders: Folders) -> bool:
        """Whether `_word` has nothing to say of any of *words*, as for nearly every command."""
        if not KNOWN.issuperset(map(type, words)) or max(map(len, words), default=0) > LONGEST_PATH:
            return False
        texts = list(filter(WHOLE.match, words))
        try:
            for word in filterfalse(SETTLED.match, words) if len(texts) < len(words) else ():
                texts.extend(candidates(word, self._rules))
        except UnclearPathError:
            return False
        looks = self._looks + len(texts) * len(folders) * self._rules.looks
        if looks > _MOST_LOOKS:
            return False
        for folder in folders:
            if not self._is_usual(texts, folder):
                return False
        self._looks = looks
        return True

    def _path(self, text: str, folder: str, program: str, effect: Effect) -> Iterable[Finding]:
        try:
            place, found = self._look(text, folder)
        except UnclearPathError as error:
            return (Finding("maybe", str(error)),)
        if found or effect.moves or is_secret(place.real, self._home) or place.written != place.real:
            return self._against(text, place, found, program, effect)
        return ()  # as for nearly every word

    def _against(self, text: str, place: Place, found: list[Found], program: str, effect: Effect) -> Iterator[Finding]:
        """What is to be said of *place*, which *text* names, and which the rules *found* are about."""
        changed = (self.changes_listed and effect.lists()) or (self.is_followed and effect.links())
        for one in found:
            if one.kept != "write" or changed or not effect.reads(text):
                yield finding_of(one, place.written, program)
        if is_secret(place.real, self._home) or (place.written != place.real and is_secret(place.written, self._home)):
            yield Finding("ask", f"{place.written} may hold secrets")
        if effect.moves:
            yield from self._within(text, place, effect)

    def _within(self, text: str, place: Place, effect: Effect) -> Iterator[Finding]:
        """What is to be said of what is in the folder *place*, which is copied, moved or deleted."""
        program = effect.program or ""
        if program in MOVING and (program != "mv" or effect.takes_elsewhere(text)):
            for one in self._rules.below(place.real, "own"):
                if program not in COPYING or self._links.exists(one.path):
                    yield Finding("maybe", f"{place.written} holds the permission policy's own files")
        if effect.takes_elsewhere(text):
            if program == "mv":
                for one in self._rules.below(place.real, "write"):
                    if self._links.exists(one.path):
                        yield Finding("maybe", f"{place.written} holds {one.path}", one.rule)
            yield from self._taken(place, follow=effect.follows_links())

    def _taken(self, place: Place, *, follow: bool) -> Iterator[Finding]:
        """What is in the folder *place*, or with *follow* behind links in it, and no tool may read, or is secret."""
        if self._searches is None:
            self._searches = Searches(self._rules, self._home, self._links)
        try:
            one, secret = self._searches.first_in(place.real, follow=follow)
        except UnclearPathError:
            yield Finding("maybe", f"{place.written} holds more files than are looked at")
            return
        if one is not None:
            yield Finding("maybe", f"{place.written} holds {one.path}", one.rule)
        if secret is not None:
            yield Finding("ask", f"{place.written} holds {secret}, which may hold secrets")

    def _look(self, text: str, folder: str) -> tuple[Place, list[Found]]:
        """Where a path leads, and the rules about that."""
        known = self._known.get((text, folder))
        if known is None:
            place = self._links.place(os.path.join(folder, text), folder or None)
            known = self._known[(text, folder)] = place, self._rules.about(place, self._links)
        return known

    def _is_usual(self, texts: list[str], folder: str) -> bool:
        """Whether there is nothing to say of paths: below a usual folder, no name in one has a rule or is a link."""
        if not texts:
            return True
        usual = self._folders.get(folder)
        if usual is None:
            # What is said of a folder that is settled rests on nothing but the rules.
            known = folder in self._rules.usual and folder in self._links.folders
            usual = self._folders[folder] = known or (folder != ANYWHERE and self._is_usual_folder(folder))
        joined = "/".join(texts)
        if not usual or _ODD_NAME.search(joined) or not self._rules.is_plain(joined):
            return False
        if self._links.has_links(folder, texts):
            return False
        self._links.take_as_written(folder, texts)
        return True

    def _is_usual_folder(self, folder: str) -> bool:
        """Whether *folder* is no link, no rule is about it, and no name without a dot in it is known to be secret."""
        try:
            place = self._links.place(folder, folder or None)
        except UnclearPathError:
            return False
        plain = place.real == place.written == folder and not may_be_secret(f"{folder}/")
        usual = plain and not self._rules.about(place, self._links)
        if usual and folder in self._links.folders and not self._links.looked_beyond:
            self._rules.keep_usual(folder)
        return usual

    def _somewhere(self, text: str, *, writes: bool = False) -> Iterator[Finding]:
        """A path of which only a part is known, or not the folder that it starts from."""
        names, patterns = set(filter(None, _NO_NAME.split(text))), patterns_of(text)
        for name, one in self._rules.kept_by_name(writes=writes).items():
            if name in names or any(name_may_meet(pattern, name, dots=True) for pattern in patterns):
                yield Finding("maybe", f"it may be {one.path}, which a rule denies", one.rule)
                return

    def _from_anywhere(self, text: str, *, writes: bool) -> Iterator[Finding]:
        yield from self._somewhere(text, writes=writes)
        yield from possible(anywhere(text, self._rules, self._links))  # also what is written, or moved: no rule lets it

    def _glob(self, text: str, folder: str, program: str, effect: Effect) -> Iterator[Finding]:
        try:
            patterns = list(self._resolved(os.path.join(folder, text), folder))
        except UnclearPathError as error:
            yield Finding("maybe", str(error))
            return
        for pattern in patterns:
            self._looks += _LOOKS_OF_A_GLOB
            if self._looks > _MOST_LOOKS:
                yield Finding("maybe", "its patterns may be more files than are looked at")
                return
            for one in self._rules.may_become(pattern):
                if one.kept != "write" or not effect.reads(text):
                    finding = finding_of(one, one.path, program)
                    yield finding if one.kept == "own" and not effect.reads(text) else softened(finding)
            secret = next((place for place in secret_places(self._home) if may_meet(pattern, place)), None)
            if secret is not None or is_secret(pattern, self._home):
                yield Finding("ask", f"{secret or pattern} may hold secrets")

    def _resolved(self, path: str, folder: str) -> Iterator[str]:
        """The pattern with its fixed beginning resolved; and where a link may be met, the pattern behind it."""
        parts = [part for part in path.split("/") if part]
        waiting = [("/", parts)]
        while waiting:
            start, rest = waiting.pop()
            self._count_entry(len(rest))
            fixed = next((i for i, part in enumerate(rest) if WILDCARD.search(part)), len(rest))
            if ".." in rest[fixed:]:
                raise UnclearPathError(f"{path} goes up from a folder that only the running shell knows")
            end = [""] if fixed < len(rest) else []  # it is a folder, and no descriptor
            real = self._links.real("/".join([start.rstrip("/"), *rest[:fixed], *end]) or "/", folder or None)
            yield "/".join([real.rstrip("/"), *rest[fixed:]]) or "/"
            if fixed < len(rest):
                waiting.extend(
                    (f"{real.rstrip('/')}/{name}", rest[fixed + 1 :])
                    for name, link in self._links_in(real)
                    if (link or len(rest) > fixed + 1) and self._may_meet("/" + rest[fixed], "/" + name)
                )

    def _links_in(self, folder: str) -> list[tuple[str, bool]]:
        """The links and folders in *folder*, each with whether it is a link."""
        found = self._entries_of.get(folder)
        if found is None:
            found = self._entries_of[folder] = []
            for entry in self._links.entries(folder):  # the shell cannot look at others either
                self._count_entry()
                if entry.is_link or entry.is_folder:
                    found.append((entry.path.rpartition("/")[2], entry.is_link))
        return found

    def _may_meet(self, pattern: str, name: str) -> bool:
        self._count_entry()
        return may_meet(pattern, name)

    def _count_entry(self, count: int = 1) -> None:
        self._entries += count
        if self._entries > _MOST_ENTRIES:
            raise UnclearPathError("it has a pattern for more files than are looked at")

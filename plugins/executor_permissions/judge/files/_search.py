"""What a recursive search finds below its folders: ``grep -r key .`` may show a ``.env`` that no word of it names."""

# ruff: noqa: PTH112, PTH118 -- lines of words; texts, not files
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from executor_permissions.judge.bash._expand import ANYWHERE
from executor_permissions.judge.bash._words import Glob, program_of
from executor_permissions.judge.files._rg_settings import is_configured, with_settings
from executor_permissions.judge.files._searching import Search
from executor_permissions.judge.files._unseen import there
from executor_permissions.judge.git._work_tree import work_tree_of
from executor_permissions.judge.paths._globbed import globbed
from executor_permissions.judge.paths._paths import Place, UnclearPathError
from executor_permissions.judge.paths._secrets import secret_places_below
from executor_permissions.judge.rules._file_rules import Found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.paths._links import Links
    from executor_permissions.judge.rules._file_rules import FileRules

_MOST_ENTRIES = 10_000  # names that are looked at for one decision
_MOST_MATCHED = 2000  # of them those that are compared with patterns of the search


class Searches:
    """
    Looks below the folders that the commands of one call search.

    Args:
        rules: The files that the policy keeps.
        home: Where the user's secrets are.
        links: Resolves paths.
    """

    def __init__(self, rules: FileRules, home: str, links: Links) -> None:
        self._rules = rules
        self._home = home
        self._links = links
        self._entries = self._matched = 0
        self._first: dict[tuple[str, bool], tuple[Found | None, str | None]] = {}

    def reached(self, words: list[str], folders: Folders) -> tuple[Literal["maybe", "ask"], str, str | None] | None:
        """
        Why a program with its arguments may show what no tool may read, and the rule about that; None if it does not.

        ``maybe`` if a rule denies it, ``ask`` if it is only known to be secret.
        """
        if is_configured(program_of(words)):
            self._links.looked_beyond = True
            words = with_settings(words)
        search = Search.of(words)
        if search is None:
            return None
        if ANYWHERE in folders and any(path[:1] != "/" for path in search.operands or [""]):
            return self._somewhere(search)
        asked = None
        for folder in folders - {ANYWHERE}:
            if search.unless_repository and work_tree_of(folder, self._links) is not None:
                continue
            try:
                for path in self._tops(search.operands, folder):
                    top = self._links.real(path, folder)
                    if not search.follows and top.startswith(folder + "/") and self._rules.is_bare(folder, self._home):
                        continue  # as nearly every search
                    found = self._reached_below(search, top)
                    if found is not None and found[0] == "maybe":
                        return found
                    asked = asked or found
            except UnclearPathError as error:
                return "maybe", str(error), None
        return asked

    def _somewhere(self, search: Search) -> tuple[Literal["maybe"], str, str] | None:
        for one in (*there(self._rules, self._links, "read"), *self._rules.globs("read")):
            return "maybe", f"it {search.does} a folder that is not known, which may hold {one.path}", one.rule
        return None

    def _reached_below(self, search: Search, top: str) -> tuple[Literal["maybe", "ask"], str, str | None] | None:
        for one in self.held(top, follow=search.follows, deep=search.deep, skips=search.skips):
            if not self._leaves_out(search, one.path, top):
                why = f"it {search.does} {one.path}, which a rule denies{self._hint(search, one.path)}"
                return "maybe", why, one.rule
        for path in self.secrets_below(top):
            if not self._leaves_out(search, path, top):
                return "ask", f"it {search.does} {path}, which may hold secrets{self._hint(search, path)}", None
        return None

    def _tops(self, operands: list[str], folder: str) -> Iterator[str]:
        """Where is searched from *folder*; of a pattern of the shell, what that becomes there now."""
        for text in operands:
            if type(text) is not Glob:
                yield os.path.join(folder, text)
                continue
            self._links.looked_beyond = True
            found = globbed(text, folder)
            if len(found) > _MOST_ENTRIES:
                raise UnclearPathError("it searches more files than are looked at")
            yield from (os.path.join(folder, each) for each in found)

    def _leaves_out(self, search: Search, path: str, top: str) -> bool:
        """Whether *search* looks at nothing of the file or folder *path*, by what is in the file system now."""
        self._links.looked_beyond = True
        if search.leaves_out(path, top):
            return True
        if not search.choice.files or not os.path.isdir(path):
            return False
        waiting = [path]
        while waiting:
            for file, link in self._files_in(waiting.pop(), waiting):
                self._matched += 1
                if self._matched > _MOST_MATCHED or (link and search.follows) or not search.leaves_out(file, top):
                    return False
        return True

    def _hint(self, search: Search, path: str) -> str:
        self._links.looked_beyond = True
        return search.hint(path)

    def secrets_below(self, top: str) -> Iterator[str]:
        """The places of secrets below the folder *top* that are there, or whose name only the running program knows."""
        for path in secret_places_below(top, self._home):
            if "*" in path or self._links.exists(path):
                yield path

    def first_in(self, folder: str, *, follow: bool) -> tuple[Found | None, str | None]:
        """The first of `held`, and of `secrets_below`: one command may name the same folder over and over."""
        known = self._first.get((folder, follow))
        if known is None:
            one = next(self.held(folder, follow=follow), None)
            known = self._first[(folder, follow)] = one, next(self.secrets_below(folder), None)
        return known

    def held(
        self, top: str, *, follow: bool = False, deep: bool = True, skips: Callable[[str], bool] | None = None
    ) -> Iterator[Found]:
        """
        What is below the folder *top*, and no tool may read; with *follow* behind links as well.

        Unless *deep*, links and patterns count for what is in the folder itself. They do not in folders of names that
        it *skips*.
        """
        for one in self._rules.below(top, "read"):
            if self._links.exists(one.path):
                yield one
        if not self._rules.patterns and not follow:
            return
        waiting, seen = [top], {top}
        while waiting:
            for path, link in self._looked_at(waiting.pop(), waiting if deep else [], skips, follow=follow):
                place = self._links.place(path) if link else Place(path, path, path)
                for one in self._rules.about(place, self._links):
                    if one.kept == "read":
                        yield Found(path, one.rule, one.kept)
                if link and deep and place.real not in seen:
                    seen.add(place.real)
                    waiting.append(place.real)
                    yield from self.held(place.real, follow=False)

    def _looked_at(
        self, folder: str, waiting: list[str], skips: Callable[[str], bool] | None, *, follow: bool
    ) -> list[tuple[str, bool]]:
        """Those of `_files_in` that a rule may be about, and with *follow* all of them."""
        found = list(self._files_in(folder, waiting, skips))
        if follow:
            return found
        if not self._rules.may_be_in(folder, [path for path, _ in found], self._links):
            return []  # as of nearly every folder
        return [(path, link) for path, link in found if not link]

    def _files_in(
        self, folder: str, waiting: list[str], skips: Callable[[str], bool] | None = None
    ) -> Iterator[tuple[str, bool]]:
        """
        The files and links in *folder*, each with whether it is a link; its folders are added to *waiting*, but for
        those of names that it *skips*.
        """
        for entry in self._links.entries(folder):
            self._entries += 1
            if self._entries > _MOST_ENTRIES:
                raise UnclearPathError("it searches more files than are looked at")
            if entry.is_folder:
                if skips is None or not skips(entry.path.rpartition("/")[2]):
                    waiting.append(entry.path)
            else:
                yield entry.path, entry.is_link

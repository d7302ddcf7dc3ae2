"""Where the paths of one call lead, each looked up once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor_permissions.judge._path_texts import is_plain, spellings
from executor_permissions.judge._paths import Place, UnclearPathError, locate

if TYPE_CHECKING:
    from executor_permissions.judge._paths import Resolve

_LONGEST_PATH = 4096  # PATH_MAX of Linux
_MOST_PLACES = 500  # paths that one call may name; each is looked up, which takes 20 µs


class Scene:
    """
    What paths are relative to, for the judging of one call; a path is looked up once.

    Attributes:
        base: The folder that relative paths start from.
        home: What ``~`` stands for.
        resolve: Resolves paths in place of `executor.paths`, if given.
    """

    __slots__ = ("_found", "_left", "_spelled", "base", "home", "resolve")

    def __init__(self, base: str, home: str, resolve: Resolve | None = None) -> None:
        self.base = base
        self.home = home
        self.resolve = resolve
        self._found: dict[str, Place] = {}
        self._spelled: dict[str, list[str]] = {}
        self._left = _MOST_PLACES

    def locate(self, value: str) -> Place:
        """Where *value* leads. Raises `UnclearPathError`."""
        place = self._found.get(value)
        if place is None:
            if len(value) > _LONGEST_PATH:
                raise UnclearPathError(f"{value[:80]!r}… is longer than any path")
            if len(self._found) >= _MOST_PLACES:
                raise UnclearPathError("it names more paths than are looked at")
            place = self._found[value] = locate(value, self.base, self.home, self.resolve)
        return place

    def spellings(self, value: str) -> list[str]:
        """The paths that a tool may take *value* for; none if the call has named more of them than are looked at."""
        found = self._spelled.get(value)
        if found is None:
            found = self._spelled[value] = spellings(value) if self._left > 0 or is_plain(value) else []
            self._left -= len(found)
        return found

"""Landlock rulesets: everything but the hidden places may be read, little may be written."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from executor.confine import _kernel
from executor.confine._disk import Kind
from executor.confine._places import DEVICE_FOLDER, DEVICES
from executor.confine._written import is_regular

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.confine._disk import Disk, Listing


@dataclass(frozen=True, slots=True)
class Allowance:
    """
    What a ruleset gives.

    Attributes:
        hidden: Files and folders that may not be read, whether they are there or not.
        folders: Folders in which everything may be done.
        files: Files that may be written, without links on the way to them; read only where everything may be.
        tcp: Whether TCP connections may be opened.
        project: Where other commands may be at work, which can exchange a folder for a link at any moment.
    """

    hidden: tuple[str, ...]
    folders: tuple[str, ...]
    files: tuple[str, ...]
    tcp: bool
    project: str


class Ruleset:
    """
    A ruleset in the kernel, for as many threads as one likes; `close` it.

    A rule holds for all that is below its path, so a place is hidden by rules for everything beside it: the folders on
    the way to it are listed, and what comes into them later can be read once it has `caught_up`.
    """

    def __init__(self, allowance: Allowance, abi: int, disk: Disk) -> None:
        self._abi = abi
        # Disks, whole and past every hidden file; cameras, microphones, keyboards; the terminals of people, who may be
        # typing a password there. A command's own terminal is open already, and /dev/tty; what else it may use is
        # listed.
        self._asked = (*allowance.hidden, DEVICE_FOLDER)
        self._project = allowance.project.rstrip("/") + "/"
        self._listed: dict[str, Listing] = {}
        self._uncertain: set[str] = set()  # folders of which a rule may be about something that was not listed
        self._written: dict[str, tuple[int, int] | None] = {}
        self.descriptor = _kernel.make_ruleset(abi, tcp=allowance.tcp)
        try:
            self._allow_reading(disk)
            for path in allowance.folders:
                plain = f"{path.rstrip('/')}/" == self._project  # a command in one around it may have put a link there
                self._add_written(path, _kernel.WRITE, _kernel.open_plain if plain else os.open)
            for path in allowance.files:
                self._add_written(path, _kernel.WRITE_ALONE, _open_file)
            for name in DEVICES:
                self._add(f"/dev/{name}", _kernel.WRITE_ONE)
        except BaseException:
            self.close()
            raise

    def fresh(self) -> bool:
        """Whether it still is what would be made now: a rule follows what it was made for, wherever that is moved."""
        return self._writes_the_same() and all(known.holds() for known in self._listed.values())

    def caught_up(self, disk: Disk) -> bool:
        """
        Whether it is what would be made now, once there are rules for what has come into its folders.

        Nothing can be taken out of it: False where anything is gone, or was put in the place of another.

        Raises:
            OSError: The kernel refuses.
        """
        changed = {folder: disk.listed(folder) for folder, known in self._listed.items() if not known.holds()}
        if not self._writes_the_same() or not self._uncertain.isdisjoint(changed):
            return False
        # A link has no rule that keeps its number: another one may have it, and lead to what is to be hidden.
        if any(Kind.LINK in now.entries.values() for now in changed.values()):
            return False
        if not all(now.has_all_of(self._listed[folder]) for folder, now in changed.items()):
            return False
        new = [
            (folder, name)
            for folder, now in changed.items()
            for name in now.entries.keys() - self._listed[folder].entries.keys()
        ]
        if changed and disk.find(self._asked) != self._found:
            return False
        self._listed |= changed
        for folder, name in new:
            self._allow(folder, name)
        return self._uncertain.isdisjoint(changed)

    def _writes_the_same(self) -> bool:
        return all(_identity(path) == before for path, before in self._written.items())

    def close(self) -> None:
        """Threads that are under it stay so."""
        os.close(self.descriptor)

    def _add(self, path: str, rights: int, opened: Callable[[str, int], int] = os.open) -> None:
        _kernel.add_rule(self.descriptor, self._abi, path, rights, opened)

    def _add_written(self, path: str, rights: int, opened: Callable[[str, int], int]) -> None:
        """As `_add`, and keep which one it was that *path* led to."""
        self._written[path] = None

        def looked_at(path: str, flags: int) -> int:
            beneath = opened(path, flags)
            self._written[path] = _identity(beneath)
            return beneath

        self._add(path, rights, looked_at)

    def _allow_reading(self, disk: Disk) -> None:
        """Let everything be read but what is hidden."""
        self._found = disk.find(self._asked)
        self._add("/", _kernel.READ_DIR)
        waiting = ["/"] if "/" not in self._found.there else []
        while waiting:
            folder = waiting.pop()
            listed = disk.listed(folder)
            if listed.stamp is not None:
                self._listed[folder] = listed
                waiting += filter(None, [self._allow(folder, name) for name in listed.entries])

    def _allow(self, folder: str, name: str) -> str | None:
        """Let be read what was listed as *name*. Returns its path if it is a folder in which something is hidden."""
        kind, path = self._listed[folder].entries[name], f"{folder.rstrip('/')}/{name}"
        if kind is Kind.LINK or path in self._found.there:
            return None  # a link leads to where other rules are
        if path in self._found.ways:
            return path if kind is Kind.FOLDER else None
        opened = _kernel.open_plain if f"{folder}/".startswith(self._project) else os.open

        def looked_at(path: str, flags: int) -> int:
            beneath = opened(path, flags)
            found = os.fstat(beneath)
            same_kind = stat.S_ISDIR(found.st_mode) is (kind is Kind.FOLDER)
            if not (same_kind and self._listed[folder].is_it(name, found)):
                self._uncertain.add(folder)
            if not same_kind:  # it came in the place of what was listed
                os.close(beneath)
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            return beneath

        self._add(path, _kernel.READ if kind is Kind.FOLDER else _kernel.READ_ONE, looked_at)
        return None


def _open_file(path: str, flags: int) -> int:
    """As `open_plain`, of one file: a right that a folder has holds for all that is in it."""
    opened = _kernel.open_plain(path, flags)
    if not is_regular(opened):
        os.close(opened)
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    return opened


def _identity(place: str | int) -> tuple[int, int] | None:
    """
    Which file or folder is at a path, or open; a rule keeps its number from being given to another. None if there is
    none.
    """
    try:
        found = os.stat(place) if isinstance(place, int) else os.lstat(place)
    except OSError:
        return None
    return found.st_dev, found.st_ino

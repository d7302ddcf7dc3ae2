"""Landlock rulesets: everything but the hidden places may be read, little may be written."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from executor.confine import _kernel
from executor.confine._disk import Kind
from executor.confine._places import DEVICE_FOLDER, DEVICES
from executor.confine._written import is_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from executor.confine._disk import Disk, Stamp


@dataclass(frozen=True, slots=True)
class Allowance:
    """
    What a ruleset gives.

    Attributes:
        hidden: Files and folders that may not be read, whether they are there or not.
        folders: Folders in which everything may be done.
        files: Files that may be written, without links on the way to them.
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
    the way to it are listed, and what comes into them later can be read once the ruleset is made anew (`fresh`).
    """

    def __init__(self, allowance: Allowance, abi: int, disk: Disk) -> None:
        self._abi = abi
        self.descriptor = _kernel.make_ruleset(abi, tcp=allowance.tcp)
        try:
            self._stamps = tuple(self._allow_reading(allowance, disk))
            self._written: dict[str, tuple[int, int] | None] = {}
            for path in allowance.folders:
                self._add_written(path, _kernel.WRITE, os.open)
            for path in allowance.files:
                self._add_written(path, _kernel.WRITE_ONE, _open_file)
            for name in DEVICES:
                self._add(f"/dev/{name}", _kernel.WRITE_ONE)
        except BaseException:
            self.close()
            raise

    def fresh(self) -> bool:
        """Whether it still is what would be made now: a rule follows what it was made for, wherever that is moved."""
        written = all(_identity(path) == before for path, before in self._written.items())
        return written and all(stamp.holds() for stamp in self._stamps)

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

    def _allow_reading(self, allowance: Allowance, disk: Disk) -> Iterator[Stamp]:
        """Let everything be read but what is hidden. Yields the folders that were listed for it."""
        # Disks, whole and past every hidden file; cameras, microphones, keyboards; the terminals of people, who may be
        # typing a password there. A command's own terminal is open already, and /dev/tty; what else it may use is
        # listed.
        hidden, ways = disk.find((*allowance.hidden, DEVICE_FOLDER))
        project = allowance.project.rstrip("/") + "/"
        self._add("/", _kernel.READ_DIR)
        waiting = ["/"] if "/" not in hidden else []
        while waiting:
            folder = waiting.pop()
            stamp, entries = disk.listed(folder)
            if stamp is None:
                continue
            yield stamp
            opened = _kernel.open_plain if f"{folder}/".startswith(project) else os.open
            for name, kind in entries.items():
                path = f"{folder.rstrip('/')}/{name}"
                if kind is Kind.LINK or path in hidden:
                    continue  # a link leads to where other rules are
                if path not in ways:
                    self._add(path, _kernel.READ if kind is Kind.FOLDER else _kernel.READ_ONE, opened)
                elif kind is Kind.FOLDER:
                    waiting.append(path)


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

"""
The folder of a project's boxes: their TMPDIRs, the cache they share, and what they had to make to close it off.

::

    boxes/<digest of the project>.lock
    boxes/<digest of the project>/
        kept/<random>/      TMPDIR of one command at a time, for as long as this process lives
        runs/<random>/      TMPDIR of one command
        trials/<random>/    what no box may write, while one is tried
        */<random>.lock     the lock on a TMPDIR
        *.gone/<random>     what was left in one, and is being removed
        kept.lock, …        the lock on such a folder, see `held`
        cache/              what programs cache
        repositories.json   the repositories that boxes have made, see `Claims`
        made.json           placeholders in the project, see `Placeholders`

A TMPDIR is in use while somebody holds the lock on it; what nobody holds any more is removed by the next box.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if sys.platform != "win32":  # where there are no boxes, and only that is to be told
    import fcntl

from executor._log import warn
from executor.confine._disk import stamp_of
from executor.confine._mounted import other_names
from executor.confine._removal import opened, remove
from executor.confine._values import AGAIN, PASSING
from executor.errors import ConfinementError
from executor.ownfolders import make_private
from executor.wholefiles import holding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor.confine._disk import Stamp
    from executor.confine._mounted import Mount
    from executor.confine._places import Places


_LOCK, _GONE = ".lock", ".gone"  # behind the name of a folder


class UnusableError(ConfinementError):
    """toolexec's own folders cannot be used now; it says nothing of the boxes that this machine can make."""


@contextlib.contextmanager
def _using_own() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        passes = error.errno in PASSING
        hint = AGAIN if passes else ". Mend that and try again, or set XDG_STATE_HOME"
        if isinstance(error, TimeoutError):
            hint = ""  # it says what to do
        raise UnusableError(f"The folder of the boxes cannot be used: {error}{hint}") from error


@_using_own()
def boxes_of(project: str, places: Places) -> str:
    """
    The folder of *project*'s boxes, made if need be.

    Where there is no state folder that can be written (a service without a home), it is in the system's temporary
    folder.

    Raises:
        UnusableError: There neither.
    """
    name = hashlib.sha256(project.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    try:
        return _private(os.path.join(_private(os.path.join(_private(places.own), "boxes")), name))
    except OSError:
        shared = _private(os.path.join(tempfile.gettempdir(), f"toolexec-{os.getuid()}"))
        return _private(os.path.join(shared, name))


def own_elsewhere(boxes: str, places: Places, mounted: tuple[Mount, ...]) -> tuple[str, ...]:
    """
    What is to be hidden because *boxes* is in it, by each of its names: nothing, where that is in the state folder,
    which always is.
    """
    around = os.path.dirname(boxes)
    if around == os.path.join(places.own, "boxes"):
        return ()
    return (around, *other_names([os.path.realpath(around)], mounted))


def _private(folder: str) -> str:
    """*folder*, made if need be, for this user only. Raises OSError when it is somebody else's, or a link."""
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        make_private(Path(folder))
        found = os.lstat(folder)
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
        if stat.S_IMODE(found.st_mode) != 0o700:  # a command may have taken away the rights to what it was given
            os.chmod(folder, 0o700)
        if os.access(folder, os.W_OK):
            return folder
    raise PermissionError(f"{folder} is not a folder of this user's own")


@_using_own()
def cache_of(boxes: str) -> str:
    """The folder for what programs cache in boxes of one project. Raises UnusableError."""
    return _private(os.path.join(boxes, "cache"))


class Temporary:
    """
    A private folder, locked for as long as `descriptor`, or a copy of it, is open somewhere.

    That is of a file beside it, which boxes are handed: whoever has a folder of outside open, or can look at somebody
    who has, gets from there to all that is above it.

    Args:
        parent: In which it is made; others there that nobody holds are removed.

    Raises:
        UnusableError: It cannot be made.
    """

    @_using_own()
    def __init__(self, parent: str) -> None:
        _private(parent)
        with held(parent):
            _remove_all_unheld(parent)
            self.path = tempfile.mkdtemp(dir=parent, prefix="")
            self._lock = _lock(self.path, os.O_CREAT | os.O_EXCL)
            self.descriptor = self._lock.fileno()
        self._empty: Stamp | None = None  # as it was when nothing was in it

    def emptied(self) -> bool:
        """Whether nothing is in it any more; False where that cannot be seen."""
        if self._empty is not None and self._empty.holds():
            return True
        try:
            if stat.S_IMODE(os.lstat(self.path).st_mode) != 0o700:  # a command has taken away the rights to it
                os.close(opened(self.path))
            self._empty = stamp_of(self.path)
            left = os.listdir(self.path)
            for name in left:
                remove(os.path.join(self.path, name))
            return not left or not os.listdir(self.path)
        except OSError:
            return False

    def close(self) -> None:
        """Remove it, unless it is still held."""
        self.release()
        parent = os.path.dirname(self.path)
        with left_if_need_be(parent):
            with held(parent):
                _remove_if_unheld(self.path)
            clear(parent)

    def release(self) -> None:
        """Leave it to whoever removes what nobody holds. A second time does nothing."""
        self._lock.close()


@contextlib.contextmanager
def left_if_need_be(folder: str) -> Iterator[None]:
    """What cannot be cleared away in *folder* is left to the next box, and told: no command's result is lost by it."""
    try:
        yield
    except (OSError, UnusableError) as error:
        # Else somebody has, or the next box takes the rights back, or has those that this process gave up.
        if not isinstance(error.__cause__ or error, FileNotFoundError | PermissionError):
            _warn_once(folder, error)


_warned: set[str] = set()


def _warn_once(folder: str, error: Exception) -> None:
    if folder not in _warned:
        _warned.add(folder)
        warn(f"What a box left in {folder} could not be cleared away, and is left to the next one: {error}")


@contextlib.contextmanager
def held(folder: str) -> Iterator[None]:
    """
    While the lock on *folder* is held: one process, and one thread of it, at a time.

    It is that of a file beside it, which no box can open: folders can be opened wherever they are, and be locked then.

    Raises:
        UnusableError: It cannot be had, or somebody does not let go of it.
    """
    path = folder + _LOCK
    with contextlib.ExitStack() as stack:
        with _using_own():
            descriptor = _lock_file(path)
            stack.callback(os.close, descriptor)
            stack.enter_context(holding(descriptor, path))
        yield


def _lock_file(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except PermissionError:
        os.chmod(path, 0o600)  # under Landlock a command may have taken away the rights to what it cannot open
        return os.open(path, flags, 0o600)


def _lock(folder: str, flags: int = 0) -> io.FileIO:
    """
    Lock a TMPDIR. Raises BlockingIOError when somebody holds it, FileNotFoundError when it has no lock any more.

    It is a file, which closes itself should an interrupt come before it is where it belongs.
    """

    def opener(path: str, _: int) -> int:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)

    file = io.FileIO(folder + _LOCK, opener=opener)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        file.close()
        raise
    return file


def in_use(parent: str) -> list[str]:
    """The folders in *parent* that somebody holds who lives. Raises OSError, UnusableError."""
    with held(parent):  # whoever makes one must not find it locked by this
        names = [name for name in os.listdir(parent) if not name.endswith(_LOCK)]
        return [folder for folder in (os.path.join(parent, name) for name in names) if _is_held(folder)]


def _is_held(folder: str) -> bool:
    try:
        _lock(folder).close()
    except BlockingIOError:
        return True
    except OSError:
        pass  # whoever made it came no further, or was long ago
    return False


def remove_unheld(parent: str) -> bool:
    """Remove the folders in *parent* that nobody holds, see `clear`. Returns whether none is left. Raises OSError."""
    with held(parent):  # whoever makes one there holds it by then
        return _remove_all_unheld(parent)


def _remove_all_unheld(parent: str) -> bool:
    names = {name.removesuffix(_LOCK) for name in os.listdir(parent)}
    return [name for name in names if not _remove_if_unheld(os.path.join(parent, name))] == []


def _remove_if_unheld(folder: str) -> bool:
    """Returns False if somebody holds it. Nobody can begin to: whoever does holds the folder that it is in."""
    try:
        _lock(folder).close()
    except FileNotFoundError:
        pass  # whoever made it came no further
    except OSError:
        return False  # what cannot be looked at may be held
    _put_aside(folder)
    remove(folder + _LOCK)
    return True


def _put_aside(folder: str) -> None:
    """A command may have left a million files: whoever waits for the lock does not wait until they are removed."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)
        return
    with contextlib.suppress(OSError):
        os.close(opened(folder))  # whoever moves a folder must be able to write it
        aside = tempfile.mkdtemp(dir=_private(os.path.dirname(folder) + _GONE), prefix="")
        os.rename(folder, aside)  # which is empty
        return
    remove(folder)


def clear(parent: str) -> None:
    """
    Remove what was put aside of *parent*, unless somebody is at that; for whoever holds no lock.

    Raises:
        OSError: It cannot be told what is there.
    """
    aside = parent + _GONE
    if not os.path.lexists(aside):
        return
    with contextlib.suppress(BlockingIOError), _lock(aside, os.O_CREAT):
        for name in os.listdir(aside):
            remove(os.path.join(aside, name))

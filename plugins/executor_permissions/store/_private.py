"""Files that nobody but their user reads, written as a whole."""

from __future__ import annotations

import errno
import json
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from executor.ownfolders import make_private
from executor.paths import regular_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


LONGEST_SESSION = 30 * 86400.0  # seconds after which nobody comes back to a terminal
_LONGEST_SECONDS = 20.0  # that another process is waited for, which only reads a file and writes it
_FIRST_PAUSE, _LONGEST_PAUSE = 0.000_5, 0.1  # seconds
_LOCKS = "/proc/locks"  # see proc_locks(5)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """
    Hold the lock of this file: one process, and one thread of it, at a time.

    Raises:
        TimeoutError: Somebody has held it for `_LONGEST_SECONDS`; the message says who, where the system does.
        OSError: The file cannot be opened.
    """
    try:
        import fcntl
    except ImportError:  # Windows: the last writer wins
        yield
        return
    with open(path, "a", opener=regular_only) as stream:
        end, pause = time.monotonic() + _LONGEST_SECONDS, _FIRST_PAUSE
        # Asked for again and again: flock(2) knows no limit, and waking it is for the whole program's signals only.
        while not _try(lambda: fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB), path):
            if time.monotonic() >= end:
                raise TimeoutError(errno.ETIMEDOUT, _held_by(path), str(path))
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        try:
            yield
        finally:
            with suppress(OSError):  # what was done under it is done, and closing it lets go as well
                fcntl.flock(stream, fcntl.LOCK_UN)  # a program that forked meanwhile has a copy of it


def _try(lock: Callable[[], object], path: Path) -> bool:
    try:
        with _about(path):
            lock()
    except BlockingIOError:
        return False
    return True


@contextmanager
def _about(path: Path) -> Iterator[None]:
    """What the system refuses is about *path*: of a lock, of what is read and of a full disk it names no file."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # one of the system's
            error.filename = str(path)
            del error.filename2  # None would be shown as a name
        raise


def _held_by(path: Path) -> str:
    holder = _holder(path)
    who = f"Process {holder}" if holder else "Another process"
    how = f"`ps -fp {holder}` shows it" if holder else f"`fuser {path}` tells which"
    return (
        f"{who} has not let go of this file for {_LONGEST_SECONDS:.0f} seconds: it is stopped or hangs. "
        f"{how}; end it, or have it go on (kill -CONT), and try again"
    )


def _holder(path: Path) -> int | None:
    """Who has locked *path*; None where the system does not say, or another namespace has that number."""
    try:
        number = path.stat().st_ino
        with open(_LOCKS, encoding="ascii") as listed:  # noqa: PTH123 -- no path of ours
            found = (line.split() for line in listed)
            return (
                next((int(told[4]) for told in found if told[1] == "FLOCK" and told[5].endswith(f":{number}")), None)
                or None
            )
    except (OSError, ValueError, IndexError):
        return None


def stamp_of(path: str | Path) -> tuple[int, int, int] | None:
    """What is another one when this file has been written; None where there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 -- every judged call comes by here
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def first_missing(path: Path) -> str | None:
    """
    The first on the way to *path* that does not exist; None where all does.

    Raises:
        OSError: It cannot be looked for. What may be there is not missing: somebody may have said never in it.
    """
    missing = None
    for each in (path, *path.parents):
        try:
            each.stat()
        except (FileNotFoundError, NotADirectoryError):
            missing = str(each)
        else:
            break
    return missing


def read_private(path: Path) -> Any:
    """
    The JSON that `write_private` has written. What is put in its place is not waited for.

    Raises:
        FileNotFoundError: There is none.
        ValueError: It is no JSON, or no regular file; says why.
        OSError: It cannot be read.
    """
    try:
        with _about(path), open(path, encoding="utf-8", opener=regular_only) as stream:
            return json.loads(stream.read())
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    except OSError as error:
        if os.path.lexists(path) and not path.is_file():
            raise ValueError("it is no regular file") from error
        raise


def write_private(path: Path, value: Any) -> None:
    """
    Write JSON so that readers see the old file or the new one, and nobody else can read either.

    Raises:
        OSError: It cannot be written; its ``filename`` is *path*, or the folder that cannot be made.
    """
    make_private(path.parent)
    with _about(path), _beside(path, json.dumps(value, indent=1)) as new:
        new.replace(path)


@contextmanager
def _beside(path: Path, text: str) -> Iterator[Path]:
    """A new file beside *path*, the user's alone, with all of *text*; gone at the end, unless it has another name."""
    new = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        yield new
    finally:
        with suppress(OSError):  # it has been moved; or it is in a folder that cannot be written, and is not there
            new.unlink()


def private_folder(path: Path) -> str | None:
    """
    Make *path* a folder of the user's alone.

    Returns:
        Why it cannot be one, or None.
    """
    try:
        make_private(path)
        status = path.stat()
        if status.st_uid != os.getuid():
            return f"{path} belongs to another user: name a folder of your own"
        if status.st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        return f"{path} cannot be made a private folder: {error.strerror}"
    return None


def read_or_make_secret(path: Path) -> str:
    """The secret in this file, which is made if need be; the user's alone."""
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        pass
    make_private(path.parent)
    with _beside(path, os.urandom(32).hex() + "\n") as new, suppress(FileExistsError):
        os.link(new, path)  # unless another process was quicker: its secret holds
    return path.read_text(encoding="ascii").strip()

"""Files that nobody but their user reads, written as a whole."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from executor.ownfolders import lost_link, make_private
from executor.paths import regular_only
from executor.terminalsession import is_open
from executor.wholefiles import about_file, beside, write_whole

LONGEST_SESSION = 30 * 86400.0  # seconds after which nobody comes back to a session, unless its terminal is still open


def is_forgotten(session: str, since: float, now: float) -> bool:
    """Whether nobody comes back to *session*, of which something was said at *since*. Raises OSError."""
    return since < now - LONGEST_SESSION and not is_open(session)


def stamp_of(path: str | Path) -> tuple[int, int, int] | None:
    """What is another one when this file has been written; None where there is none. Raises OSError."""
    try:
        status = os.stat(path)  # noqa: PTH116 -- every judged call comes by here
    except FileNotFoundError:
        return None if lost_link(Path(path)) is None else (0, 0, 0)
    return status.st_mtime_ns, status.st_size, status.st_ino


def first_missing(path: Path) -> str | None:
    """
    The first on the way to *path* that does not exist; None where all does, or a link on it leads to nothing.

    Raises:
        OSError: It cannot be looked for. What may be there is not missing: somebody may have said never in it.
    """
    if lost_link(path) is not None:
        return None
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
        ValueError: It is no JSON, no regular file, or behind a link that leads to nothing; says why.
        OSError: It cannot be read.
    """
    try:
        with about_file(path), open(path, encoding="utf-8", opener=regular_only) as stream:
            return json.loads(stream.read())
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    except OSError as error:
        link = lost_link(path)
        if link is not None:
            raise ValueError(f"the link {link} leads to nothing") from error
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
    write_whole(path, json.dumps(value, indent=1))


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
    with beside(path, f"{os.urandom(32).hex()}\n".encode()) as new, suppress(FileExistsError):
        os.link(new, path)  # unless another process was quicker: its secret holds
    return path.read_text(encoding="ascii").strip()

"""Ignore files, of git and of searches: what they surely leave out, and what they may have looked at all the same."""

from __future__ import annotations

from executor.paths import regular_only
from executor_permissions.judge.paths._overlap import may_meet

_OF_SEARCHES = (".ignore", ".rgignore", ".agignore", ".gitignore", ".git/info/exclude")
_LONGEST = 1 << 16  # bytes


def is_ignored(path: str, top: str) -> bool:
    """Whether ``.gitignore`` beside the file plainly names it, and nothing there may take that back."""
    folder, _, name = path.rpartition("/")
    lines = _lines(f"{top}/.gitignore") if folder == top else None
    if lines is None or any(line[:1] == "!" for line in lines):
        return False
    return any(line.removesuffix("\r").rstrip(" ") in (name, "/" + name) for line in lines)


def is_shown(path: str, hidden: list[str]) -> bool:
    """Whether an ignore file on the way to *path* may tell a search to look at its *hidden* parts all the same."""
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        for name in _OF_SEARCHES:
            lines = _lines(f"{folder}/{name}")
            if lines is None:
                return True
            shown = [line[1:].strip().rstrip("/").rpartition("/")[2] for line in lines if line[:1] == "!"]
            if any(
                "\\" in one or "{" in one or may_meet("/" + one, "/" + part, dots=True)
                for one in shown
                for part in hidden
            ):
                return True
    return False


def _lines(path: str) -> list[str] | None:
    """A newline alone ends a line. None of a file that is longer than is read, nothing where there is none."""
    try:
        with open(path, "rb", opener=regular_only) as file:
            data = file.read(_LONGEST + 1)
    except OSError:
        return []
    return None if len(data) > _LONGEST else data.decode("utf-8", "replace").split("\n")

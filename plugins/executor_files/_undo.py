"""undoFileChange: the last change of a file is taken back."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from executor import paths
from executor.errors import ToolFailedError
from executor_files._common import Options, explained, shown
from executor_files._diff import unified_diff
from executor_files._history import NOTHING, Change, History, State, state_of
from executor_files._withheld import Withheld, check_may
from executor_files._write import check_unchanged, replace, turn

if TYPE_CHECKING:
    from pathlib import Path

_MAX_DIFFED = 1 << 20  # bytes of a file up to which a diff is shown


def undo_file_change(options: Options, arguments: dict[str, Any]) -> dict[str, Any]:
    """The tool undoFileChange."""
    path = options.resolve_entry(arguments["path"])
    check_may("writeFile", path, "written", content="")
    history = History()
    with turn(path), explained("Cannot undo the change of", path):
        try:
            now = state_of(path)
            change = _last(history, path, now)
            former = history.content(change) if change.content is not None else None
        except sqlite3.Error as error:
            raise ToolFailedError(f"What was kept of {shown(path)} cannot be read: {error}") from error
        _check_possible(path, change, now, former)
        result = {
            "path": shown(path), "undone": change.tool, "changed_at": when(change.at), "now": _kind(change.before)
        }  # fmt: skip
        if change.before.startswith("file:") and not Withheld().keeps(path):
            result["diff"] = _diff(path, now, former or b"")  # before the change, as in `write_file`
        _restore(path, change, now, former)
        with suppress(OSError, sqlite3.Error):  # it is done; who asks next time sees that, see `_last`
            history.mark_undone(change.id)
    return result


def when(at: float) -> str:
    """A time as people read it."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _kind(mark: str) -> str:
    return mark.partition(":")[0]


def _last(history: History, path: Path, now: State) -> Change:
    """The last change that still holds. Raises ToolFailedError: there is none."""
    for change in history.changes(path):
        if change.undone:
            continue
        if change.after != now.mark and change.before == now.mark:  # taken back by hand, or never made
            history.mark_undone(change.id)
            continue
        return change
    raise ToolFailedError(
        f"There is no change of {shown(path)} to take back: only what writeFile, editFile and deleteFile did in the "
        "last 14 days is known"
    )


def _check_possible(path: Path, change: Change, now: State, former: bytes | None) -> None:
    if change.after != now.mark:
        raise ToolFailedError(
            f"{shown(path)} was changed by somebody else after {change.tool} at {when(change.at)}. Nothing was undone: "
            "look at it with readFile, and change it with editFile"
        )
    if change.lost is not None or (former is None and _kind(change.before) in ("file", "link", "large")):
        why = change.lost or "it is gone"
        raise ToolFailedError(f"What {shown(path)} was before {change.tool} was not kept: {why}")


def _restore(path: Path, change: Change, now: State, former: bytes | None) -> None:
    kind = _kind(change.before)
    if kind == "file":
        assert former is not None
        replace(path, former, expected=now.status, mode=change.mode & 0o777)
        return
    with paths.open_parent(path) as (folder, name):
        if kind == "link":
            assert former is not None
            os.symlink(os.fsdecode(former), name, dir_fd=folder)
        elif kind == "folder":
            os.mkdir(name, change.mode & 0o777, dir_fd=folder)
        else:
            assert change.before == NOTHING.mark
            check_unchanged(path, now.status, folder, name)
            os.unlink(name, dir_fd=folder)


def _diff(path: Path, now: State, former: bytes) -> str:
    old = now.data if now.data is not None and now.mark.startswith("file:") else b""
    try:
        texts = old.decode(), former.decode()
    except UnicodeDecodeError:
        return ""
    if max(len(old), len(former)) > _MAX_DIFFED or texts[0] == texts[1]:
        return ""
    return unified_diff(*texts, shown(path.name))

"""listFiles and searchFiles: bounded looks into folders."""

from __future__ import annotations

import stat
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from executor import paths
from executor.errors import ToolFailedError
from executor_files._common import Options, check_stop, explained, kind_of, number, open_file, shown
from executor_files._ignored import Ignored
from executor_files._match import MAX_LINE, Matcher, matcher
from executor_files._walk import Glob, Walk
from executor_files._withheld import Withheld

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from pathlib import Path

LIST_LIMIT = 1000
SEARCH_LIMIT = 200
MAX_SEARCHED_BYTES = 10 << 20  # larger files are data, logs or images of disks: they would take the time of all others
_MAX_SHOWN = 300  # characters of a line that are shown
_MAX_RESULT = 200_000  # characters of all lines that are shown: with much context, the limit on matches bounds little


def list_files(options: Options, arguments: dict[str, Any]) -> dict[str, Any]:
    """The tool listFiles."""
    path = options.resolve(arguments.get("path", "."))
    pattern = arguments.get("pattern")
    glob = None if pattern is None else Glob(pattern)
    limit = number(arguments, "limit", LIST_LIMIT)
    recursive = arguments.get("recursive", False) or (glob is not None and glob.spans_folders)
    hidden = arguments.get("include_hidden", False)
    entries: list[dict[str, Any]] = []
    truncated = False
    withheld = Withheld("listFiles", arguments)
    withheld.check(path, "listed")
    with explained("Cannot list", path):
        _check_folder(path)
        walk = Walk(
            path,
            recursive=recursive,
            skip=lambda name: not hidden and name.startswith("."),
            closed=lambda below: withheld.closes(path / below),
        )
        for below, entry in walk:
            if (glob is not None and not glob(below)) or withheld.keeps(path / below):
                continue
            if len(entries) == limit:
                truncated = True
                break
            entries.append(_described(below, entry))
    result: dict[str, Any] = {"path": shown(path), "entries": entries, "truncated": truncated}
    if truncated:
        result["note"] = f"There is more than these {limit}: narrow it with path or pattern, or raise limit"
    if walk.unreadable:
        result["unreadable_folders"] = walk.unreadable
    return result


def _check_folder(path: Path) -> None:
    kind = kind_of(paths.stat_resolved(path))
    if kind != "folder":
        raise ToolFailedError(f"{shown(path)} is a {kind}, not a folder: use readFile to see a file")


def _described(below: str, entry: os.DirEntry[str]) -> dict[str, Any]:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:  # removed meanwhile
        return {"path": shown(below), "type": "gone"}
    kind = kind_of(status)
    described: dict[str, Any] = {"path": shown(below), "type": kind}
    if kind == "file":
        described["size"] = status.st_size
    described["modified"] = _time(status.st_mtime)
    return described


def _time(seconds: float) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):  # a year that datetime does not know
        return None


def search_files(options: Options, arguments: dict[str, Any]) -> dict[str, Any]:
    """The tool searchFiles."""
    path = options.resolve(arguments.get("path", "."))
    pattern = arguments.get("glob")
    search = _Search(
        glob=None if pattern is None else Glob(pattern),
        limit=number(arguments, "limit", SEARCH_LIMIT),
        context=number(arguments, "context_lines", 0),
        ignored=arguments.get("include_ignored", False),
        withheld=Withheld("searchFiles", arguments),
    )
    with (
        matcher(arguments["pattern"], ignore_case=arguments.get("ignore_case", False)) as match,
        explained("Cannot search", path),
    ):
        search.run(path, match)
    return {"path": shown(path)} | search.result()


class _Search:
    """One search: what it looks for, and what it has found so far."""

    def __init__(self, glob: Glob | None, limit: int, context: int, withheld: Withheld, *, ignored: bool) -> None:
        self._glob = glob
        self._limit = limit
        self._context = context
        self._with_ignored = ignored
        self._matches: list[dict[str, Any]] = []
        self._skipped: Counter[str] = Counter()
        self._searched = 0
        self._room = _MAX_RESULT
        self._truncated = False
        self._withheld = withheld

    def run(self, path: Path, match: Matcher) -> None:
        """
        Search the file *path*, or the files below it.

        Raises:
            ToolFailedError: It may not be told of.
            OSError: It cannot be looked at.
        """
        self._withheld.check(path, "searched")
        for file, name in self._files(path):
            check_stop()
            lines = self._lines(file)
            if lines is not None:
                self._searched += 1
                self._take(name, lines, match([line[:MAX_LINE] for line in lines]))
            if self._truncated:
                return

    def result(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "matches": self._matches,
            "files_searched": self._searched,
            "truncated": self._truncated,
        }
        if skipped := +self._skipped:  # those that are not 0
            result["skipped"] = dict(sorted(skipped.items()))
        if self._truncated:
            result["note"] = "There may be more: narrow it with path, glob or the pattern, or raise limit"
        return result

    def _files(self, path: Path) -> Iterator[tuple[Path, str]]:
        if stat.S_ISREG(paths.stat_resolved(path).st_mode):
            yield path, path.name
            return
        _check_folder(path)
        leave_out = None if self._with_ignored else self._leaving_out(path)
        walk = Walk(
            path,
            recursive=True,
            skip=lambda name: name == ".git",
            closed=lambda below: self._withheld.closes(path / below),
            leave_out=leave_out,
        )
        for below, entry in walk:
            if entry.is_dir(follow_symlinks=False) or (self._glob is not None and not self._glob(below)):
                continue
            if self._withheld.keeps(path / below):  # before it is counted, or read: nothing told must depend on it
                continue
            if entry.is_file(follow_symlinks=False):
                yield path / below, below
            else:
                self._skipped["links" if entry.is_symlink() else "special_files"] += 1
        if walk.unreadable:
            self._skipped["unreadable_folders"] = walk.unreadable

    def _leaving_out(self, path: Path) -> Callable[[str, bool], bool]:
        ignored = Ignored(path)

        def leave_out(below: str, folder: bool) -> bool:  # noqa: FBT001 -- as Walk calls it
            found = ignored(below, folder=folder)
            self._skipped["ignored"] += found and not self._withheld.keeps(path / below)
            return found

        return leave_out

    def _lines(self, file: Path) -> list[str] | None:
        try:
            with open_file(file) as (fd, status), open(fd, "rb", closefd=False) as reader:
                if status.st_size > MAX_SEARCHED_BYTES:
                    self._skipped["too_large"] += 1
                    return None
                data = reader.read(MAX_SEARCHED_BYTES)
        except ToolFailedError:
            self._skipped["unreadable"] += 1
            return None
        if b"\0" in data:
            self._skipped["binary"] += 1
            return None
        lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
        return lines if lines[-1] else lines[:-1]

    def _take(self, name: str, lines: list[str], found: list[tuple[int, int]]) -> None:
        for index, column in found:
            if len(self._matches) == self._limit or self._room <= 0:
                self._truncated = True
                return
            match: dict[str, Any] = {"file": shown(name), "line": index + 1, "text": _cut(lines[index], column)}
            if self._context:
                match["before"] = [_cut(line) for line in lines[max(index - self._context, 0) : index]]
                match["after"] = [_cut(line) for line in lines[index + 1 : index + 1 + self._context]]
            self._room -= sum(map(len, [match["text"], *match.get("before", ()), *match.get("after", ())]))
            self._matches.append(match)


def _cut(line: str, column: int = 0) -> str:
    """The part of a long line that is around *column*."""
    if len(line) <= _MAX_SHOWN:
        return line
    start = max(min(column - _MAX_SHOWN // 3, len(line) - _MAX_SHOWN), 0)
    end = start + _MAX_SHOWN
    before, after = "…" if start else "", "…" if end < len(line) else ""
    return f"{before}{line[start:end]}{after} ({len(line)} characters)"

"""Keeping what a change replaces, around the change."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from executor_files._withheld import Withheld

if TYPE_CHECKING:
    from pathlib import Path

    from executor_files._common import Options


class Keeping:
    """
    While it is entered, a tool changes *path*: what was there is kept, unless the change fails.

    A change is made whether or not that can be done; its result says so.

    Args:
        path: As resolved.
        tool: What changes it.
        after: The new content; None: nothing is there afterwards.
    """

    def __init__(self, options: Options, path: Path, tool: str, after: bytes | None) -> None:
        self._wanted = options.undo
        self._path = path
        self._tool = tool
        self._after = after
        self._change: int | None = None
        self._lost: str | None = None

    def __enter__(self) -> Self:
        if not self._wanted:
            return self
        import sqlite3  # with it 4 ms, for those who change files

        from executor_files._history import NOTHING, History, mark_of, state_of

        after = NOTHING.mark if self._after is None else mark_of(self._after)
        try:
            before = state_of(self._path)
            keep = before.data is None or not Withheld().keeps(self._path)
            if before.mark != after or not keep:  # of what may not be read it is not told either that it is the same
                self._change, self._lost = History().add(self._path, self._tool, before, after, keep=keep)
        except (OSError, sqlite3.Error) as error:
            self._lost = f"what was there could not be kept: {error}"
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self._change is not None:
            import sqlite3

            from executor_files._history import History

            with suppress(OSError, sqlite3.Error):
                History().remove(self._change)

    def told(self) -> dict[str, Any]:
        """What a result says of it: nothing, unless the change cannot be taken back."""
        return {} if self._lost is None else {"undo": f"not possible: {self._lost}"}

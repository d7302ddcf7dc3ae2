"""Where a call is at work, and what its paths mean: looked at once, for who judges it and who carries it out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from executor.values import Tool


class Places:
    """
    What was found for one call. It is sent along to another process that carries the call out.

    Attributes:
        here: The working folder, once it was asked for.
        paths: What was found, by the path, what that is relative to, and whether a link at its end stays one.
    """

    __slots__ = ("here", "paths")

    def __init__(self) -> None:
        self.here: str | None = None
        self.paths: dict[tuple[str, str, bool], Path] = {}

    def folder(self, tool: Tool | None) -> str:
        """Where relative paths of a call of *tool* start. Raises FileNotFoundError where the working folder is gone."""
        if self.here is None:
            self.here = os.getcwd()  # noqa: PTH109 -- of many judgements
        return self.here if tool is None or tool.folder is None else os.path.join(self.here, tool.folder)  # noqa: PTH118 -- as above

    def resolve(self, path: str, base: str, *, entry: bool) -> Path:
        """`executor.paths.resolve` (or `resolve_entry`), answered once."""
        from executor import paths  # with pathlib behind it, 4 ms

        key = (path, base, entry)
        if key not in self.paths:
            self.paths[key] = (paths.resolve_entry if entry else paths.resolve)(path, base=base)
        return self.paths[key]

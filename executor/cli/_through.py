"""What a command writes goes where this command writes, as it comes and whole, where nobody watches at a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from executor.cli._errors import CliError
from executor.cli._render import pass_on
from executor.values import OutputChunk

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.cli._render import Screen


class Through:
    """
    Takes a call's output: of a command its stdout goes to stdout, and its stderr to stderr.

    A reader that is slow holds the command up, as in any pipe; one that has gone ends it.

    Args:
        enough: Called when nothing more can be written.
        live: Whether all output is shown on stderr as well.

    Attributes:
        streams: Those of which something came.
        gone: Whether nobody reads stdout any more.
        error: Why stdout could not be written, or None.
    """

    def __init__(self, screen: Screen, enough: Callable[[], object], *, live: bool) -> None:
        self.streams: set[str] = set()
        self.gone = False
        self.error: CliError | None = None
        self._screen = screen
        self._out = sys.stdout  # while a call runs, what is printed goes elsewhere
        self._enough = enough
        self._live = live

    def __call__(self, chunk: str) -> None:
        """Take a piece of output."""
        stream = chunk.stream if isinstance(chunk, OutputChunk) else None
        if stream is not None:
            self.streams.add(stream)
        if self._live or stream == "stderr":
            self._screen.output(chunk)
        if isinstance(chunk, OutputChunk) and stream == "stdout" and not self.gone:
            self._pass_on(chunk)

    def _pass_on(self, chunk: OutputChunk) -> None:
        try:
            self.gone = not pass_on(self._out, chunk, chunk.raw)
        except CliError as error:
            self.gone, self.error = True, error
        if self.gone:
            self._enough()

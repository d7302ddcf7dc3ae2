"""``toolexec call --stream``: the events of one call, as they come."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from executor.cli._errors import of_library
from executor.cli._follow import Call, Options
from executor.cli._render import stand_in, write
from executor.errors import ToolExecutorError
from executor.jsontext import to_text
from executor.run import ProgressEvent, StreamEvent, StreamEventKind
from executor.values import OutputChunk

if TYPE_CHECKING:
    from executor import ToolExecutor
    from executor.cli._app import App
    from executor.tools import Registered
    from executor.values import Outcome


class StreamedCall(Call):
    """One call whose chunks go to stdout as they come; with ``--json`` all its events do, one JSON object a line."""

    def __init__(self, app: App, entry: Registered, arguments: dict[str, Any], options: Options) -> None:
        super().__init__(app, entry, arguments, options)
        self._out = sys.stdout  # while a call runs, what is printed goes elsewhere
        self._open_line = False

    def _follow(self, executor: ToolExecutor) -> Outcome:
        options, chunks = self._options, []
        stream = executor.execute_stream(
            self._entry.name,
            self._arguments,
            self._show_output if options.as_json else self._listener,
            timeout=options.timeout,
            cancel=self._cancel,
            adapt=True,
        )
        for event in stream:
            if event.kind is StreamEventKind.CHUNK:
                chunks.append(event.data)
            if event.error is not None and not options.as_json:
                self._end_line()
            self._show(event)
            if isinstance(event.error, ToolExecutorError):
                raise of_library(event.error) from event.error
            if event.error is not None:
                raise event.error
        value = stream.result.structured if stream.result is not None else None
        if not options.as_json:
            self._end_line()
            passed = self.through is not None and self.through.streams
            if not passed and chunks not in (value, [value]):  # the tool returned more than the pieces that were shown
                self._write(to_text(value) + "\n")
        return True, value

    def _show_output(self, chunk: str) -> None:
        told = {"kind": "output", "data": str(chunk)}
        self._write(json.dumps(told | ({"stream": chunk.stream} if isinstance(chunk, OutputChunk) else {})) + "\n")

    def _show(self, event: StreamEvent) -> None:
        if self._options.as_json:
            self._write(json.dumps(event.to_dict(), default=stand_in) + "\n")
        elif event.kind is StreamEventKind.CHUNK:
            if self.through is not None and self.through.streams and not isinstance(event.data, str):
                return  # the result of a command, whose output was passed on
            text = event.data if isinstance(event.data, str) else to_text(event.data) + "\n"
            self._open_line = not text.endswith("\n") if text else self._open_line
            self._write(text)
        elif isinstance(event.data, ProgressEvent) and self._options.live:
            self._app.screen.progress(event.data.progress, event.data.total, event.data.message)

    def _end_line(self) -> None:
        if self._open_line:
            self._open_line = False
            self._write("\n")

    def _write(self, text: str) -> None:
        if not self._gone and not write(self._out, text):
            self._cut_short()

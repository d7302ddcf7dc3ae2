"""
The spans of calls: from the moment a call comes in to the end of its work, in the background too.

Names and values are those of the conventions for generative AI (Development), ``gen_ai.execute_tool``; the metric has
the duration of the span. What they have no word for stands under ``toolexec``. ``error.type`` is a `ResultKind`.

Single operations on dictionaries are atomic: of two that end a span, one finds it.
"""

from __future__ import annotations

import functools
import json
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from executor import ResultKind, current_call
from executor.approval import mask
from executor.errors import ToolExecutorError
from executor.hookspecs import CallScope

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

    from executor import CurrentCall, ToolCall, ToolResult

SCOPE = "executor_otel"
OPERATION = "execute_tool"
OTHER = "_OTHER"  # the conventions' own word: a model may ask for any name, and each would be a series of its own
MOST = 16 * 1024  # characters of an argument or result that are recorded
# Seconds: what the conventions advise for the durations of operations.
BOUNDARIES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """
    A span that has not ended.

    Attributes:
        call: Whose it is; held, because it is found by its identity.
        began: Monotonic, in ns; its start by the clock is what the span has.
        measured: The attributes of the measurement.
    """

    call: CurrentCall
    span: Span
    started: int
    began: int
    measured: dict[str, str] = field(default_factory=dict)


class Spans:
    """
    Begins and ends them.

    Args:
        content: Whether arguments, results and the texts of errors are recorded.
    """

    def __init__(self, tracers: TracerProvider | None, meters: MeterProvider | None, *, content: bool) -> None:
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=tracers)
        self._durations = metrics.get_meter(SCOPE, meter_provider=meters).create_histogram(
            "gen_ai.execute_tool.duration",
            unit="s",
            description="The duration of a single tool execution.",
            explicit_bucket_boundaries_advisory=BOUNDARIES,
        )
        self._content = content
        self._calls: dict[int, Open] = {}
        self._tasks: dict[str, Open] = {}

    def begin(self, call: ToolCall) -> CallScope | None:
        """The span of the current call begins. Returns what makes it the current span, and what names its trace."""
        current = current_call()
        if current is None:
            return None
        started = time.time_ns()
        name = _name(call.name)
        attributes = {
            "gen_ai.operation.name": OPERATION,
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": _cut(call.id),
        }
        span = self._tracer.start_span(
            f"{OPERATION} {name}", kind=SpanKind.INTERNAL, attributes=attributes, start_time=started
        )
        if self._content and span.is_recording():
            span.set_attribute("gen_ai.tool.call.arguments", _shown(call.arguments))
        measured = {"gen_ai.operation.name": OPERATION, "gen_ai.tool.name": OTHER}
        self._calls[id(current)] = Open(current, span, started, time.monotonic_ns(), measured)
        found = span.get_span_context()
        notes = {"trace_id": f"{found.trace_id:032x}", "span_id": f"{found.span_id:016x}"} if found.is_valid else {}
        around = trace.use_span(span, record_exception=False, set_status_on_exception=False)
        return CallScope(notes, around)

    def describe(self, call: ToolCall) -> None:
        """Which tool it is for is known."""
        found = self._calls.get(id(current_call()))
        if found is None:
            return
        found.measured.update({"gen_ai.tool.name": call.name, "gen_ai.tool.type": "function"})
        if found.span.is_recording():
            found.span.set_attribute("gen_ai.tool.name", call.name)
            found.span.set_attribute("gen_ai.tool.type", "function")
            if found.call.tool.description:
                found.span.set_attribute("gen_ai.tool.description", _cut(found.call.tool.description))

    def answer(self, result: ToolResult) -> None:
        """The current call is answered."""
        found = self._calls.pop(id(current_call()), None)
        if found is None:
            return
        for name in ("decision", "method"):
            if result.permission is not None and name in result.permission:
                found.span.set_attribute(f"toolexec.permission.{name}", str(result.permission[name]))
        if result.task_id is None or not result.backgrounded:
            self._end(found, result)
            return
        found.span.set_attribute("toolexec.task.id", result.task_id)
        self._tasks[result.task_id] = found
        if not self._goes_on_here(found, result.task_id):
            self.end_task(result.task_id)

    def _goes_on_here(self, found: Open, task_id: str) -> bool:
        """Whether the end of the task is still to come, and will be told: not of one that another process runs."""
        try:
            info = found.call.host.tasks.get(task_id)
        except ToolExecutorError:
            return False
        return not info.status.final and info.owner in ("", str(os.getpid()))

    def end_task(self, task_id: str) -> None:
        """The work of a call in the background has ended, or is none of this process."""
        found = self._tasks.pop(task_id, None)
        if found is None:
            return
        try:
            result = found.call.host.tasks.tool_result(task_id)
        except ToolExecutorError:  # it goes on elsewhere, or the store is away
            self._end(found, None)
        else:
            self._end(found, result)

    def _end(self, found: Open, result: ToolResult | None) -> None:
        """
        Args:
            result: What the work came to; None where nobody here knows.
        """
        span, lasted = found.span, time.monotonic_ns() - found.began
        if result is not None and result.kind not in (ResultKind.OK, ResultKind.BACKGROUNDED):
            kind = str(result.kind)
            found.measured["error.type"] = kind
            span.set_attribute("error.type", kind)
            span.set_status(Status(StatusCode.ERROR, _shown(result.error or kind) if self._content else kind))
        elif result is not None and self._content and span.is_recording():
            span.set_attribute("gen_ai.tool.call.result", _shown(result.content))
        self._durations.record(lasted / 1e9, found.measured, trace.set_span_in_context(span))
        span.end(found.started + lasted)

    def close(self) -> None:
        """End all that have not ended."""
        for spans in (self._calls, self._tasks):
            while spans:
                try:
                    _, found = spans.popitem()
                except KeyError:  # it has just ended
                    break
                self._end(found, None)


def _shown(value: Any) -> str:
    """A value as JSON, secrets masked; of a text that is JSON itself, those too that its names tell of."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return _cut(str(mask(value)))
    return _cut(json.dumps(mask(value), ensure_ascii=False))


@functools.lru_cache(maxsize=256)  # masking takes as long as the rest of a span, and most names come again
def _name(name: str) -> str:
    """The name of a tool, which a model may have made up: secrets masked."""
    return _cut(str(mask(name)))


def _cut(text: str) -> str:
    """A text that is not too long, and that an exporter can encode: one that it cannot would take others with it."""
    text = text if len(text) <= MOST else f"{text[:MOST]}… ({len(text) - MOST} more characters)"
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()

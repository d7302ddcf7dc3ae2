"""
OpenTelemetry: a span and a measurement of each call, by the conventions for generative AI (``execute_tool``).

It is exposed only where it is asked for: ``registry.expose("otel")``, or ``[plugins.otel]`` in the configuration. It
needs the extra ``otel``, and tells whatever tracer and meter provider the program has set up.

Configuration (``executor_configure``): ``content``, whether arguments, results and the texts of errors are recorded
too, with secrets masked; by default they are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from executor import TaskInfo, ToolCall, ToolResult
    from executor.hookspecs import CallScope
    from executor_otel._spans import Spans

__all__ = ["OtelPlugin"]


class OtelPlugin:
    """
    Observes calls.

    Args:
        tracer_provider: Where spans go; by default to the program's own.
        meter_provider: Where measurements go, likewise.
    """

    def __init__(
        self, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
    ) -> None:
        self._providers = (tracer_provider, meter_provider)
        self._spans: Spans | None = None

    @hookimpl
    def executor_configure(self, config: Mapping[str, Any]) -> None:
        """
        Take ``content``.

        Raises:
            ValueError: A key is unknown, or a value cannot be meant.
            RuntimeError: OpenTelemetry is not installed.
        """
        unknown, content = sorted(set(config) - {"content"}), config.get("content", False)
        if unknown:
            raise ValueError(f"executor_otel: unknown key {unknown[0]!r}: use content")
        if not isinstance(content, bool):
            raise ValueError(f"executor_otel: content is {content!r}: give true or false")  # noqa: TRY004 -- one class for all that configuration gets wrong
        try:
            from executor_otel._spans import Spans  # 20 ms, for those who have asked for it
        except ImportError as error:
            raise RuntimeError(f"executor_otel: {error}: install toolexec[otel]") from error
        self._spans = Spans(*self._providers, content=content)

    @hookimpl
    def executor_start_call(self, call: ToolCall) -> CallScope | None:
        """A call has come in: its span begins, and is the parent of all spans below it."""
        return self._spans.begin(call) if self._spans is not None else None

    @hookimpl
    def executor_before_call(self, call: ToolCall) -> None:
        """It is known by now which tool it is for."""
        if self._spans is not None:
            self._spans.describe(call)

    @hookimpl
    def executor_after_call(self, result: ToolResult) -> None:
        """It is answered: its span ends, unless its work goes on in the background."""
        if self._spans is not None:
            self._spans.answer(result)

    @hookimpl
    def executor_task_done(self, task: TaskInfo) -> None:
        """Its work has ended in the background, and so does its span."""
        if self._spans is not None:
            self._spans.end_task(task.id)

    @hookimpl
    def executor_shutdown(self) -> None:
        """What is still at work is nobody's to observe any more."""
        if self._spans is not None:
            self._spans.close()
            self._spans = None


executor_plugin = OtelPlugin  # one for each registry

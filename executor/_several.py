"""The ways of making several calls, or one whose result comes in pieces. Each call goes the one way (`run._way`)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from executor._calls import Calls, asked_for
from executor._deprecated import renamed_parameters
from executor._older import done_callback
from executor.calls._state import current
from executor.run._ended import run_result_of
from executor.run._limits import count, function, seconds
from executor.run._options import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from executor.calls._token import CancelToken
    from executor.run import ChainResult, ChainStep, ProgressEvent, RunResult, Stream
    from executor.run._way import Way
    from executor.tools._make import Registered
    from executor.values import ToolCall, ToolOutputCallback, ToolResult


class SeveralCalls(Calls):
    """The half of `ToolExecutor` that makes several calls."""

    def execute_many(
        self,
        calls: Iterable[ToolCall],
        *,
        max_concurrency: int | None = None,
        on_output: Callable[[ToolCall, str], None] | None = None,
        on_progress: Callable[[ToolCall, float, float | None, str | None], None] | None = None,
        on_done: Callable[[ToolResult], object] | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> list[ToolResult]:
        """
        Run several calls side by side.

        Args:
            max_concurrency: At most so many at once; by default as many as there are free workers.
            on_output: Takes each call's output as it comes.
            on_progress: ``on_progress(call, done, total, message)``.
            on_done: Given each final result once, as for `call`.
            timeout: Time limit of each call in seconds.
            cancel: Stops all of them; those that have not begun never do.
            context: As for `call`.

        Returns:
            One result for each call, in the order of the calls.
        """
        from executor.run._batch import in_order

        makers = self._makers(on_output, on_progress, on_done, timeout, context)
        return in_order(self._completed(calls, *makers, max_concurrency, cancel))

    def as_completed(
        self,
        calls: Iterable[ToolCall],
        *,
        max_concurrency: int | None = None,
        on_output: Callable[[ToolCall, str], None] | None = None,
        on_progress: Callable[[ToolCall, float, float | None, str | None], None] | None = None,
        on_done: Callable[[ToolResult], object] | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Iterator[ToolResult]:
        """`execute_many`, but each result as soon as it is there. Closing the iterator stops what still runs."""
        makers = self._makers(on_output, on_progress, on_done, timeout, context)
        return (result for _, result in self._completed(calls, *makers, max_concurrency, cancel))

    def _completed(
        self,
        calls: Iterable[ToolCall],
        call: Callable[[ToolCall, CancelToken], ToolResult],
        begin: _Beginning,
        max_concurrency: int | None,
        cancel: CancelToken | None,
    ) -> Iterator[tuple[int, ToolResult]]:
        from executor.run._batch import as_completed

        bound, nested, workers = _bound(max_concurrency), current.get() is not None, self._way.threads.workers
        return as_completed(call, _requests(calls), workers, bound, cancel, nested=nested, begin=begin)

    def _makers(
        self,
        on_output: Callable[[ToolCall, str], None] | None,
        on_progress: Callable[[ToolCall, float, float | None, str | None], None] | None,
        on_done: Callable[[ToolResult], object] | None,
        timeout: float | None,
        context: Mapping[str, Any] | None,
    ) -> tuple[Callable[[ToolCall, CancelToken], ToolResult], _Beginning]:
        """What carries a call out in its thread, and what begins one that no thread need wait for; see `run._batch`."""
        options = Options(seconds(timeout), on_done=done_callback(on_done, self._duration))
        function(on_output, "on_output")
        function(on_progress, "on_progress")

        def listeners(call: ToolCall) -> tuple[Any, Any]:
            return (
                partial(on_output, call) if on_output is not None else None,
                partial(on_progress, call) if on_progress is not None else None,
            )

        def make(call: ToolCall, token: CancelToken) -> ToolResult:
            output, progress = listeners(call)
            return self.call(
                call,
                on_output=output,
                on_progress=progress,
                on_done=options.on_done,
                timeout=options.timeout,
                cancel=token,
                context=context,
            )

        def begin(call: ToolCall, token: CancelToken, end: Callable[[ToolResult], object]) -> None:
            self._begin(self._asked_for(call, *listeners(call), context), options, token, end, anywhere=True)

        return make, _Beginning(self._way, options, begin)

    @renamed_parameters(tool_output_callback="on_output")
    def execute_chain(
        self,
        steps: Iterable[object],
        *,
        on_output: ToolOutputCallback | None = None,
        on_progress: Callable[[ProgressEvent], object] | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> ChainResult:
        """
        Run steps in their order, each a call of its own: judged, recorded and shown like any other.

        Args:
            steps: See `Runner.run_chain`.
            on_output: Takes the tools' output as it comes.
            on_progress: Told after each step how many of them have ended.
            timeout: Seconds for the whole chain.
            cancel: Stops the chain.
            context: As for `call`.

        Returns:
            The last result and the records of the steps. Steps are waited for; none goes to the background.

        Raises:
            ChainError: The chain is wrong (before anything runs), or a step failed, which is the cause.
            ToolCancelledError, ToolTimeoutError: It was stopped, or a step ran out of time.
        """
        from executor.run._chain import run_chain  # with plan and values 6 ms, for those who make chains

        step = partial(self._call_step, function(on_output, "on_output"), context)
        function(on_progress, "on_progress")
        return run_chain(steps, step, self._way.threads.workers, on_progress, timeout=timeout, cancel=cancel)

    def _call_step(
        self,
        listener: ToolOutputCallback | None,
        context: Mapping[str, Any] | None,
        step: ChainStep,
        arguments: Mapping[str, Any],
        limit: float | None,
        token: CancelToken | None,
    ) -> RunResult:
        """One step of a chain, through the whole pipeline. Raises what it failed with."""
        call = self._new_call(None, step.tool_id, arguments, listener, context=context)
        call.retry = step.retries()
        return run_result_of(self._way.block(call, Options(limit, background=False), token))

    @renamed_parameters(args="arguments", tool_output_callback="on_output")
    def execute_stream(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        on_output: ToolOutputCallback | None = None,
        call_id: str | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        adapt: bool = False,
        context: Mapping[str, Any] | None = None,
    ) -> Stream:
        """
        Run a tool whose result comes in pieces, and return an iterator of its events.

        Validation and the gate come first, now. The call is never handed over to the background.

        Args:
            arguments: As for `execute`.
            on_output: Takes the tool's output as it comes.
            call_id: As for `execute`.
            timeout: Seconds for the whole stream, instead of the tool's own time limit.
            cancel: Stops the stream.
            adapt: Stream what gives its result in one piece, too: one chunk, then the end.
            context: As for `call`.

        Raises:
            StreamNotSupportedError: The tool gives its result in one piece, and *adapt* is false.
            ToolError: It cannot, or may not, run.
        """
        from executor.run._stream import open_stream  # with values 4 ms, for those who stream

        call = self._new_call(call_id, name, arguments, on_output, context=context)
        return open_stream(self._way, call, seconds(timeout), cancel, adapt=adapt)


class _Beginning:
    """How calls are begun that no thread need wait for; see `run._batch.Beginning`."""

    def __init__(
        self,
        way: Way,
        options: Options,
        begin: Callable[[ToolCall, CancelToken, Callable[[ToolResult], object]], None],
    ) -> None:
        self._way = way
        self._options = options
        self._loop = way.setup.loop
        self.begin = begin
        self.on_loop = self._loop.call

    def may(self, call: ToolCall) -> bool:
        entry = self._entry(call)
        if entry is None or (entry.plain and self._options.timeout is None):
            return False  # the thread that asks for it does it all
        return not self._loop.would_deadlock  # else that says why not

    def may_on_loop(self, call: ToolCall) -> bool:
        way, entry = self._way, self._entry(call)
        if entry is None or not entry.only_awaited or way.setup.gates:
            return False
        if entry.bind is not None and entry.exact is None:
            return False  # its arguments are looked at by validators of its own
        return way.pipeline.own and way.only_tools_wait(self._options)

    def _entry(self, call: ToolCall) -> Registered | None:
        return self._way.setup.find(call.name) if type(call.name) is str else None


def _bound(value: int | None) -> int | None:
    return None if value is None else count(value, "max_concurrency", least=1)


def _requests(calls: Iterable[ToolCall]) -> list[ToolCall]:
    """The calls, none of which is made if one is no request."""
    if not isinstance(calls, Iterable):
        raise TypeError(f"calls is {calls!r}: give a list of requests, each a ToolCall(id, name, arguments)")
    found = list(calls)
    for call in found:
        asked_for(call)
    return found

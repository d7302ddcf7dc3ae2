"""The ways in which calls are made: one, a chain, a stream, a batch; each through every stage of the pipeline."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from executor.calls._current import Apart, CurrentCall, _current
from executor.run._batch import as_completed, check_bound, run_many
from executor.run._normalise import failure_of
from executor.run._pipeline import Pipeline
from executor.run._race import raced, seconds
from executor.values._retry import RetryConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from executor.calls._token import CancelToken
    from executor.run._backends import Prepared, RunResult
    from executor.run._chain import CallStep
    from executor.run._stream import Stream
    from executor.run._values import ChainResult, ChainStep, ProgressEvent, StepResult
    from executor.values import ToolCall

_call_numbers = itertools.count(1)


class Runner(Pipeline):
    """
    Makes calls. May be used from any thread; `Pipeline` says what it is made from.

    ``with Runner(…) as runner:`` ends its threads; one that is dropped ends them too.
    """

    # One call ----------------------------------------------------------------------------------------------------

    def run(
        self,
        tool_id: str,
        args: Mapping[str, Any] | str | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> RunResult:
        """
        Run one call. With neither limit nor token it runs in the caller's thread, else on a worker.

        Args:
            args: A mapping, JSON text, or None for no arguments.
            timeout: Seconds, counted from after the gate, instead of the tool's own time limit.
            cancel: Stops the call: the wait for it ends at once, and the tool is told.

        Raises:
            ToolError: It could not run, or failed; see `prepare` and `finish`.
            Exception: What an index or a resolver raised, other than "not found".
        """
        return self._run(self._new_call(tool_id, args), None if timeout is None else seconds(timeout), cancel)

    def run_with_progress(
        self,
        tool_id: str,
        args: Mapping[str, Any] | str | None = None,
        on_progress: Callable[[ProgressEvent], object] | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> RunResult:
        """`run`, and tell *on_progress* how far it is: ``started``, what the tool says, and how it ended."""
        from executor.run._progress import Progress

        progress = Progress(on_progress)
        progress.started()
        call = self._new_call(tool_id, args)
        call.follow(progress.tell)
        try:
            result = self._run(call, seconds(timeout), cancel)
        except BaseException as error:
            progress.ended(error)
            raise
        progress.ended(failure_of(result) if result.is_error else None)
        return result

    def _new_call(self, tool_id: str, args: Any, call_id: str | None = None) -> CurrentCall:
        parent = _current.get()
        # Without an executor there is no host; a tool that wants one finds the enclosing call's, or fails saying so.
        if call_id is None:
            call_id = f"run_{next(_call_numbers)}"
        if parent is None:
            return CurrentCall(call_id, tool_id, args, None)  # type: ignore[arg-type]  # as said above
        return CurrentCall(call_id, tool_id, args, parent.host, parent.emit, None, parent.depth + 1)

    def _run(self, call: CurrentCall, timeout: float | None, cancel: CancelToken | None) -> RunResult:
        parent = _current.get()
        forget_parent = parent.token.pass_on(call.token) if parent is not None else None
        forget = cancel.pass_on(call.token) if cancel is not None else None
        reset = _current.set(call)
        try:
            if call.token.error is not None:
                raise call.token.error
            prepared = self.prepare(call)
            limit = self.limit(prepared, timeout)
            if limit is None and cancel is None:
                return self.finish(prepared)
            if limit is not None:
                call.deadline = time.monotonic() + limit
            return raced(self.workers, call, limit, partial(self.finish, prepared))
        finally:
            _current.reset(reset)
            call.close()
            if forget is not None:
                forget()
            if forget_parent is not None:
                forget_parent()

    # Chains ------------------------------------------------------------------------------------------------------

    def run_chain(
        self, steps: Iterable[object], *, timeout: float | None = None, cancel: CancelToken | None = None
    ) -> ChainResult:
        """
        Run steps in their order; the first one that fails ends the chain.

        Args:
            steps: Each a `ChainStep`, a `Parallel` or a list of steps (which run side by side), or the JSON form.
            timeout: Seconds for the whole chain.
            cancel: Stops the chain.

        Raises:
            ChainError: The chain is wrong (before anything runs), or a step failed, which is the cause.
            ToolCancelledError, ToolTimeoutError: It was stopped, or a step ran out of time; ``result`` holds a
                `ChainResult` of the records so far.
        """
        return self.run_chain_with_progress(steps, None, timeout=timeout, cancel=cancel)

    def run_chain_with_progress(
        self,
        steps: Iterable[object],
        on_progress: Callable[[ProgressEvent], object] | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> ChainResult:
        """`run_chain`, and tell *on_progress* after each step how many of them have ended."""
        return self.chain(steps, self._call_step, on_progress, timeout=timeout, cancel=cancel)

    def chain(
        self,
        steps: Iterable[object],
        call_step: CallStep,
        on_progress: Callable[[ProgressEvent], object] | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> ChainResult:
        """`run_chain_with_progress` for a host that makes each step a call of its own by *call_step*."""
        from executor.run._chain import Chain  # with this, plan and values: 6 ms for those who make chains
        from executor.run._plan import plan
        from executor.run._progress import Progress

        planned, limit = plan(steps), seconds(timeout)
        parent = _current.get()
        total = sum(len(getattr(each, "steps", "1")) for each in planned)
        progress = Progress(on_progress, total)
        if planned:
            progress.started()
        return Chain(
            planned,
            call_step,
            lambda run, steps, most, token: as_completed(
                run, steps, self.workers, most, token, nested=parent is not None
            ),
            token=cancel,
            deadline=None if limit is None else time.monotonic() + limit,
            on_step=progress.tell if on_progress is not None else None,
        ).run()

    def _call_step(
        self, step: ChainStep, arguments: Mapping[str, Any], limit: float | None, token: CancelToken | None
    ) -> RunResult:
        call = self._new_call(step.tool_id, arguments)
        if step.retry is not None:
            call.apart = Apart(retry=RetryConfig.of(step.retry))
        return self._run(call, limit, token)

    # Streams -----------------------------------------------------------------------------------------------------

    def run_stream(
        self,
        tool_id: str,
        args: Mapping[str, Any] | str | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        adapt: bool = False,
    ) -> Stream:
        """
        Start a call whose result comes in pieces, and return an iterator of its events.

        Everything up to the gate happens now. The call is not tried again.

        Args:
            timeout: Seconds for the whole stream, instead of the tool's own time limit.
            cancel: Stops the call.
            adapt: Stream what gives its result in one piece, too: one chunk, then the end.

        Raises:
            StreamNotSupportedError: The tool gives its result in one piece, and *adapt* is false.
            ToolError: It could not run; see `prepare`.
        """
        call = self._new_call(tool_id, args)
        return self.stream(call, self.prepare, lambda _: None, timeout=timeout, cancel=cancel, adapt=adapt)

    def stream(
        self,
        call: CurrentCall,
        prepare: Callable[[CurrentCall], Prepared],
        ended: Callable[[RunResult | BaseException], object],
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        adapt: bool = False,
    ) -> Stream:
        """`run_stream` for a host that makes and prepares the call, and is told how it *ended*."""
        from executor.run._stream import open_stream

        return open_stream(self, call, prepare, ended, seconds(timeout), cancel, adapt=adapt)

    # Batches -----------------------------------------------------------------------------------------------------

    def run_many(
        self,
        calls: Iterable[ToolCall],
        max_concurrency: int | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> list[StepResult]:
        """
        Run several calls side by side; one that fails stops no other.

        Args:
            max_concurrency: At most so many at once; by default as many as there are free workers.
            timeout: Seconds for each call.
            cancel: Stops all of them; those that have not begun never do.

        Returns:
            One record for each call, with its result or its error, in the order of the calls.
        """
        call, requests, nested = self._batch(calls, timeout)
        return run_many(call, requests, self.workers, check_bound(max_concurrency), cancel, nested=nested)

    def as_completed(
        self,
        calls: Iterable[ToolCall],
        max_concurrency: int | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Iterator[StepResult]:
        """`run_many`, but each record as soon as it is there. Closing the iterator stops the calls that still run."""
        call, requests, nested = self._batch(calls, timeout)
        found = as_completed(call, requests, self.workers, check_bound(max_concurrency), cancel, nested=nested)
        return (record for _, record in found)

    def _batch(
        self, calls: Iterable[ToolCall], timeout: float | None
    ) -> tuple[Callable[[tuple[int, ToolCall], CancelToken], StepResult], list[tuple[int, ToolCall]], bool]:
        from executor.run._values import StepResult

        limit = seconds(timeout)

        def call(request: tuple[int, ToolCall], token: CancelToken) -> StepResult:
            (place, asked), began = request, time.monotonic()
            record = StepResult(asked.name, name=asked.id, place=place)
            try:
                result = self._run(self._new_call(asked.name, asked.arguments, asked.id), limit, token)
            except BaseException as error:  # noqa: BLE001 -- one failure never stops the others
                backend = getattr(error, "backend", None)
                return replace(record, backend=backend, error=error, duration=time.monotonic() - began)
            return replace(record, backend=result.backend, result=result, duration=time.monotonic() - began)

        return call, list(enumerate(calls)), _current.get() is not None

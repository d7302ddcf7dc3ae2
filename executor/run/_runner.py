"""The ways in which calls are made: one, a chain, a stream, a batch; each through every stage of the pipeline."""

from __future__ import annotations

import itertools
import time
import weakref
from typing import TYPE_CHECKING, Any, Self

from executor.calls._state import CallState, current
from executor.calls._work import Threads
from executor.run._backends import Backends, RunResult, Setup
from executor.run._batch import as_completed, check_bound, in_order
from executor.run._collection import Tools
from executor.run._ended import run_result_of
from executor.run._gate import asked_on
from executor.run._limits import seconds
from executor.run._normalise import failure_of
from executor.run._options import ORDINARY, Options
from executor.run._pipeline import Pipeline
from executor.run._resolve import ResolverSource
from executor.run._way import Way
from executor.threads._deadlines import Deadlines
from executor.threads._loop import LoopThread
from executor.threads._workers import Workers
from executor.tools._options import retries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from executor.calls._token import CancelToken
    from executor.run._backends import (
        BackendSelector,
        BackendsResolver,
        Gate,
        LocalRegistry,
        MCPExecutor,
        Middleware,
        ProviderExecutor,
        SchemaValidator,
        Source,
        ToolIndex,
        ToolResolver,
    )
    from executor.run._stream import Stream
    from executor.run._values import ChainResult, ChainStep, ProgressEvent, StepResult
    from executor.tools._make import Registered
    from executor.values import ToolCall

WORKERS = 256  # threads for calls with a time limit, groups, batches and streams; as many as an executor has
_NOWHERE: dict[str, Registered] = {}  # a runner has no table of its own: its sources are asked
_call_numbers = itertools.count(1)


class Runner:
    """
    Makes calls. May be used from any thread.

    ``with Runner(…) as runner:`` ends its threads; one that is dropped ends them too.

    Args:
        index: Where tools are looked for first.
        tool_resolver: Asked for a tool that the index does not know.
        backends_resolver: Where a tool of *tool_resolver* runs.
        backend_selector: Chooses one of a tool's backends, or several to be tried in turn while they are down; by
            default local before provider before MCP.
        validator: Compares values with schemas in place of the built-in validation.
        validate_input: Whether arguments are compared with the tool's schema.
        validate_output: Whether results are compared with the tool's output schema.
        strict_output: Whether one of a server or service that does not fit is a failure. By default it is a success
            with ``warnings``, for the tool has done its work by then.
        mcp: Calls tools of MCP servers.
        provider: Calls tools of other providers.
        local: Local functions by backend name, for tools that bring none.
        gate: Asked with a `Prepared` before it runs; raises PermissionDeniedError, or returns a `Verdict`.
        retry: Retries of all tools that have none of their own (see `RetryConfig.of`); of a tool not known to be
            idempotent or read-only only failures before it began are tried again.
        middleware: Each called as ``(prepared, proceed) -> value`` around dispatch; the last one is outermost.
        sources: Further places where tools are looked for, before all others.
        metadata_keys: See `normalise`.

    Attributes:
        gate: As it was given.
    """

    def __init__(
        self,
        index: ToolIndex | None = None,
        tool_resolver: ToolResolver | None = None,
        backends_resolver: BackendsResolver | None = None,
        backend_selector: BackendSelector | None = None,
        validator: SchemaValidator | None = None,
        *,
        validate_input: bool = True,
        validate_output: bool = True,
        strict_output: bool = False,
        mcp: MCPExecutor | None = None,
        provider: ProviderExecutor | None = None,
        local: LocalRegistry | None = None,
        gate: Gate | None = None,
        retry: object = None,
        middleware: Sequence[Middleware] = (),
        sources: Sequence[Source] = (),
        metadata_keys: AbstractSet[str] = frozenset(),
    ) -> None:
        own: list[Source] = [*sources]
        if index is not None:
            own.append(index if isinstance(index, Tools) else ResolverSource(index.get_tool, index.get_all_backends))
        if tool_resolver is not None:
            own.append(ResolverSource(tool_resolver, backends_resolver))
        threads = Threads(Workers(warm=4, limit=WORKERS), Deadlines())
        self.gate = gate
        gates = asked_on(gate, threads.workers)
        backends = Backends(local, mcp, provider)
        setup = Setup(tuple(own), gates, backends, frozenset(metadata_keys), LoopThread(), _NOWHERE.get)
        self.pipeline = Pipeline(
            selector=backend_selector,
            validator=validator,
            check_input=validate_input,
            check_output=validate_output,
            strict=strict_output,
            retry=retries(retry),
            middleware=middleware,
        )
        self.way = Way(self.pipeline, setup, threads)
        # A runner that is dropped without close() leaves no idle threads behind.
        weakref.finalize(self, _free, threads.workers, setup.loop).atexit = False

    def close(self) -> None:
        """End the threads; what runs on them goes on to its end."""
        _free(self.way.threads.workers, self.way.setup.loop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        if timeout is None and cancel is None:
            ended = self.way.block(self._new_call(tool_id, args))
            return ended if type(ended) is RunResult else run_result_of(ended)
        return self._run(self._new_call(tool_id, args), seconds(timeout), cancel)

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
        call.on_progress = progress.notify
        try:
            result = self._run(call, seconds(timeout), cancel)
        except BaseException as error:
            progress.ended(error)
            raise
        progress.ended(failure_of(result) if result.is_error else None)
        return result

    def _new_call(self, tool_id: str, args: Any, call_id: str | None = None) -> CallState:
        parent = current.get()
        # Without an executor there is no host; a tool that wants one finds the enclosing call's, or fails saying so.
        if call_id is None:
            call_id = f"run_{next(_call_numbers)}"
        if parent is None:
            return CallState(call_id, tool_id, args, None)
        return CallState(call_id, tool_id, args, parent.host, parent.emit, None, parent)

    def _run(self, call: CallState, timeout: float | None, cancel: CancelToken | None) -> RunResult:
        options = ORDINARY if timeout is None and cancel is None else Options(timeout, away=cancel is not None)
        return run_result_of(self.way.block(call, options, cancel))

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
        from executor.run._chain import run_chain  # with plan and values 6 ms, for those who make chains

        workers = self.way.threads.workers
        return run_chain(steps, self._call_step, workers, on_progress, timeout=timeout, cancel=cancel)

    def _call_step(
        self, step: ChainStep, arguments: Mapping[str, Any], limit: float | None, token: CancelToken | None
    ) -> RunResult:
        call = self._new_call(step.tool_id, arguments)
        call.retry = step.retries()
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
        from executor.run._stream import open_stream  # with values 4 ms, for those who stream

        return open_stream(self.way, self._new_call(tool_id, args), seconds(timeout), cancel, adapt=adapt)

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
        return in_order(self._batch(calls, max_concurrency, timeout, cancel))

    def as_completed(
        self,
        calls: Iterable[ToolCall],
        max_concurrency: int | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Iterator[StepResult]:
        """`run_many`, but each record as soon as it is there. Closing the iterator stops the calls that still run."""
        return (record for _, record in self._batch(calls, max_concurrency, timeout, cancel))

    def _batch(
        self, calls: Iterable[ToolCall], max_concurrency: int | None, timeout: float | None, cancel: CancelToken | None
    ) -> Iterator[tuple[int, StepResult]]:
        from executor.run._values import StepResult

        limit = seconds(timeout)

        def call(request: tuple[int, ToolCall], token: CancelToken) -> StepResult:
            (place, asked), began = request, time.monotonic()
            record = StepResult(asked.name, name=asked.id, place=place)
            try:
                result = self._run(self._new_call(asked.name, asked.arguments, asked.id), limit, token)
            except BaseException as error:  # noqa: BLE001 -- one failure never stops the others
                record.backend, record.error = getattr(error, "backend", None), error
            else:
                record.backend, record.result = result.backend, result
            record.duration = time.monotonic() - began
            return record

        requests, nested = list(enumerate(calls)), current.get() is not None
        bound, workers = check_bound(max_concurrency), self.way.threads.workers
        return as_completed(call, requests, workers, bound, cancel, nested=nested)


def _free(workers: Workers, loop: LoopThread) -> None:
    loop.close()
    workers.close()

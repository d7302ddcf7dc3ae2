"""
The order of the stages, and the ways in which calls are made: one, a chain, a stream, a batch.

::

    prepare   resolve → select → validate input → gate (edited arguments: validated, and through the gate again)
    finish    middleware → dispatch (retries and further backends inside) → normalise → validate output
"""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from executor._outcome import describe
from executor._output import Apart, CurrentCall, _current
from executor._retry import RetryConfig
from executor._workers import Deadlines, LoopThread, Workers
from executor.errors import ExecutionError, ToolError
from executor.run._attempts import attempts, unmark
from executor.run._backends import Backends, Prepared, RunResult
from executor.run._batch import as_completed, run_many
from executor.run._chain import Chain
from executor.run._collection import Tools
from executor.run._dispatch import dispatch
from executor.run._gate import pass_gate
from executor.run._normalise import failure_of, normalise
from executor.run._plan import plan
from executor.run._progress import Progress
from executor.run._race import raced, seconds
from executor.run._resolve import IndexSource, ResolverSource, resolve, select
from executor.run._stream import open_stream
from executor.run._validate import validate_input, validate_output
from executor.run._values import ChainResult, ProgressEvent, StepResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from executor._output import CancelToken
    from executor._types import ToolCall
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
    from executor.run._chain import CallStep
    from executor.run._stream import Stream
    from executor.run._values import ChainStep

WORKERS = 256  # threads for calls with a time limit, groups, batches and streams; as many as an executor has
_call_numbers = itertools.count(1)


class Runner:
    """
    Runs calls through every stage. May be used from any thread.

    Args:
        index: Where tools are looked for first.
        tool_resolver: Asked for a tool that the index does not know.
        backends_resolver: Where a tool of *tool_resolver* runs.
        backend_selector: Chooses one of a tool's backends, or several to be tried in turn while they are down; by
            default local before provider before MCP.
        validator: Compares values with schemas in place of the built-in validation.
        validate_input: Whether arguments are compared with the tool's schema.
        validate_output: Whether results are compared with the tool's output schema.
        mcp: Calls tools of MCP servers.
        provider: Calls tools of other providers.
        local: Local functions by backend name, for tools that bring none.
        gate: Asked with a `Prepared` before it runs; raises PermissionDeniedError, or returns a `Verdict`.
        retry: Retries of all tools that have none of their own (see `RetryConfig.of`); of a tool not known to be
            idempotent or read-only only failures before it began are tried again.
        middleware: Each called as ``(prepared, proceed) -> value`` around dispatch; the last one is outermost.
        sources: Further places where tools are looked for, before all others.
        metadata_keys: See `normalise`.
        workers: Threads to use; by default its own, made when first needed.
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
        mcp: MCPExecutor | None = None,
        provider: ProviderExecutor | None = None,
        local: LocalRegistry | None = None,
        gate: Gate | None = None,
        retry: object = None,
        middleware: Sequence[Middleware] = (),
        sources: Sequence[Source] = (),
        metadata_keys: AbstractSet[str] = frozenset(),
        workers: Workers | None = None,
    ) -> None:
        own: list[Source] = []
        if index is not None:
            own.append(index if isinstance(index, Tools) else IndexSource(index))
        if tool_resolver is not None:
            own.append(ResolverSource(tool_resolver, backends_resolver))
        self.sources = (*sources, *own)
        self.backends = Backends(local, mcp, provider)
        self.metadata_keys = metadata_keys
        self.selector = backend_selector
        self._validator = validator
        self._check_input = validate_input
        self._check_output = validate_output
        self.retry = RetryConfig.of(retry) if retry is not None else None
        self.middleware = tuple(middleware)
        self._plain = backend_selector is None and not middleware
        self._gate = gate
        self._workers = workers
        self._deadlines: Deadlines | None = None
        self._lock = threading.Lock()  # guards the making of what is made when first needed
        self.loop = LoopThread()

    def behind(
        self, gate: Gate, sources: Sequence[Source], workers: Workers, metadata_keys: AbstractSet[str]
    ) -> Runner:
        """A runner with this one's sources (after *sources*), backends and ways, for a host that has a gate."""
        made = Runner(
            None,
            backend_selector=self.selector,
            validator=self._validator,
            validate_input=self._check_input,
            validate_output=self._check_output,
            mcp=self.backends.mcp,
            provider=self.backends.provider,
            local=self.backends.local,
            gate=gate,
            middleware=self.middleware,
            sources=(*sources, *self.sources),
            metadata_keys=metadata_keys,
            workers=workers,
        )
        made.retry = self.retry
        return made

    # The stages --------------------------------------------------------------------------------------------------

    def prepare(self, call: CurrentCall) -> Prepared:
        """
        Everything before the tool runs, in the caller's thread.

        Raises:
            InvalidToolIdError, ToolNotFoundError, NoBackendsError, InvalidArgumentsError, PermissionDeniedError:
                The call cannot, or may not, run. The tool was not called.
            SchemaError: The tool's own schema is none.
            ExecutionError: The selector chose a backend that the tool does not have.
        """
        entry = resolve(call.name, self.sources)
        call.tool, call.plugin_name = entry.tool, entry.plugin_name
        candidates = select(entry, self.selector)
        arguments = validate_input(entry, candidates[0], call.arguments, self._check_input, self._validator)
        retry = entry.tool.retry or self.retry
        if call.apart is not None:
            retry = call.apart.retry or retry
        prepared = Prepared(call, entry, candidates, arguments, retry)
        if self._gate is not None and not entry.carrier:
            pass_gate(prepared, self._gate, self._validated)
        return prepared

    def _validated(self, prepared: Prepared, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return validate_input(prepared.entry, prepared.backend, arguments, self._check_input, self._validator)

    def finish(self, prepared: Prepared, work: Callable[[Prepared], Any] | None = None) -> RunResult:
        """
        Run the tool and look at what it returned; inline or on a worker.

        Args:
            work: Gets at the raw value in another way than by dispatch.

        Raises:
            ToolFailedError, ExecutionError, RetriesExhaustedError, InvalidResultError: It went wrong.
            ToolCancelledError, ToolTimeoutError: It was stopped first; whatever it came to is dropped.
        """
        token = prepared.call.token
        if token.error is not None:
            raise token.error  # stopped before it ran: it never does
        try:
            if work is None and prepared.retry is None and self._plain:
                value = dispatch(prepared, self.backends, self.loop)
            else:
                value = self._surrounded(prepared, work or self._attempts)
            result = normalise(prepared, value, self.metadata_keys)
            if self._check_output and not result.is_error:
                validate_output(prepared.entry, prepared.backend, result.structured, self._validator)
        except BaseException as error:
            unmark(error)
            stopped = token.end()
            if stopped is not None and stopped is not error:
                raise stopped from error
            raise
        stopped = token.end()
        if stopped is not None:
            raise stopped
        return result

    def _attempts(self, prepared: Prepared) -> Any:
        attempt = partial(dispatch, prepared, self.backends, self.loop)
        if prepared.retry is None and len(prepared.candidates) == 1:
            return attempt()
        return attempts(prepared, attempt, self._cross_gate)

    def _cross_gate(self, prepared: Prepared) -> None:
        if self._gate is not None and not prepared.entry.carrier:
            pass_gate(prepared, self._gate, self._validated)

    def _surrounded(self, prepared: Prepared, work: Callable[[Prepared], Any]) -> Any:
        """What *work* comes to, with every middleware around it."""
        proceed: Callable[[], Any] = partial(work, prepared)
        for middleware in self.middleware:
            proceed = partial(middleware, prepared, proceed)
        try:
            return proceed()
        except ToolError:
            raise
        except Exception as error:
            raise ExecutionError(describe(error), tool_id=prepared.entry.name, backend=prepared.backend) from error

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
            limit = timeout if timeout is not None else prepared.entry.tool.timeout
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
        return run_many(call, requests, self.workers, max_concurrency, cancel, nested=nested)

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
        found = as_completed(call, requests, self.workers, max_concurrency, cancel, nested=nested)
        return (record for _, record in found)

    def _batch(
        self, calls: Iterable[ToolCall], timeout: float | None
    ) -> tuple[Callable[[tuple[int, ToolCall], CancelToken], StepResult], list[tuple[int, ToolCall]], bool]:
        limit = seconds(timeout)

        def call(request: tuple[int, ToolCall], token: CancelToken) -> StepResult:
            (place, asked), began = request, time.monotonic()
            record = StepResult(asked.name, name=asked.id, place=place)
            try:
                result = self._run(self._new_call(asked.name, asked.arguments, asked.id), limit, token)
            except BaseException as error:  # noqa: BLE001 -- one failure never stops the others
                backend = getattr(error, "backend", None)
                return record._replace(backend=backend, error=error, duration=time.monotonic() - began)
            return record._replace(backend=result.backend, result=result, duration=time.monotonic() - began)

        return call, list(enumerate(calls)), _current.get() is not None

    # What is made when first needed ------------------------------------------------------------------------------

    @property
    def workers(self) -> Workers:
        """The threads."""
        if self._workers is None:
            with self._lock:
                if self._workers is None:
                    self._workers = Workers(warm=4, limit=WORKERS)
                    # A runner that is dropped without close() leaves no idle threads behind.
                    weakref.finalize(self, self._workers.close).atexit = False
        return self._workers

    @property
    def deadlines(self) -> Deadlines:
        """What ends streams whose time is up, read or not."""
        if self._deadlines is None:
            with self._lock:
                if self._deadlines is None:
                    self._deadlines = Deadlines()
        return self._deadlines

    def close(self) -> None:
        """End the threads; what runs on them goes on to its end."""
        self.loop.close()
        if self._workers is not None:
            self._workers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

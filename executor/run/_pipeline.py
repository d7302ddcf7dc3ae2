"""
The order of the stages.

::

    prepare   resolve → select → validate input → gate (edited arguments: validated, and through the gate again)
    finish    middleware → dispatch (retries and further backends inside) → normalise → validate output
"""

from __future__ import annotations

import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from executor.calls._outcome import describe
from executor.errors import ExecutionError, ToolError
from executor.run._attempts import attempts, unmark
from executor.run._backends import Backends, Prepared, RunResult
from executor.run._collection import Tools
from executor.run._dispatch import dispatch
from executor.run._gate import pass_gate
from executor.run._normalise import normalise
from executor.run._resolve import IndexSource, ResolverSource, resolve, select
from executor.run._validate import validate_input, validate_output
from executor.threads._deadlines import Deadlines
from executor.threads._loop import LoopThread
from executor.threads._workers import Workers
from executor.values._retry import RetryConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from executor.calls._current import CurrentCall
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

WORKERS = 256  # threads for calls with a time limit, groups, batches and streams; as many as an executor has


class Pipeline:
    """
    Takes calls through every stage. May be used from any thread.

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
        self.default_timeout: float | None = None
        self._gate = gate
        self._workers = workers
        self._deadlines: Deadlines | None = None
        self._lock = threading.Lock()  # guards the making of what is made when first needed
        self.loop = LoopThread()

    def behind(self, gate: Gate, sources: Sequence[Source], workers: Workers, metadata_keys: AbstractSet[str]) -> Self:
        """Another one with this one's sources (after *sources*), backends and ways, for a host that has a gate."""
        made = type(self)(
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

    def limit(self, prepared: Prepared, timeout: float | None) -> float | None:
        """The time limit of a call in seconds: the caller's, else the tool's own, else the default; None is none."""
        if timeout is not None:
            return timeout
        own = prepared.entry.tool.timeout
        return own if own is not None else self.default_timeout

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

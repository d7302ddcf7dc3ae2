"""
`ToolExecutor`: a runner, a gate, workers, tasks, a ledger and a registry. It has no stage of its own.

Locks: `_lock` guards the making of what is made when first needed; nothing else is taken under it. The set of running
calls is changed by single operations, which are atomic.
"""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from executor._log import warn
from executor.background._background import Background
from executor.calls import _outcome
from executor.calls._answer import answer
from executor.calls._content import MAX_CONTENT, bounded
from executor.calls._current import Apart, CurrentCall, _current
from executor.calls._kinds import kind_of_task
from executor.errors import CapacityError, ExecutorUnavailableError, ToolNotFoundError
from executor.permission._gate import Gate
from executor.records._report import Reports, tell_done
from executor.run._normalise import failure_of
from executor.run._race import seconds
from executor.run._runner import Runner
from executor.threads._workers import Workers
from executor.tools._catalogue import Catalogue
from executor.tools._make import make_tool, prepare, toolbox
from executor.values import ResultKind, blocks_of
from executor.values._retry import RetryConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Executor

    from executor.calls._token import CancelToken
    from executor.permission._gate import PermissionPlugin, TwoStepPlugin
    from executor.permission._inbox import Inbox
    from executor.protocols import Ledger, ToolExecutorPort
    from executor.registry._registry import PluginRegistry
    from executor.run import ChainResult, ChainStep, Prepared, ProgressEvent, RunResult, Stream
    from executor.tasks import TaskManager
    from executor.tasks._table import TaskTable
    from executor.tools._make import Registered
    from executor.values import (
        Outcome,
        OutputCallback,
        ProgressCallback,
        TaskDoneCallback,
        TaskInfo,
        Tool,
        ToolCall,
        ToolDefinition,
        ToolOutputCallback,
        ToolResult,
        Verdict,
    )

MAX_DEPTH = 100  # calls within calls; an endless recursion is found long before threads or memory run out
METADATA_KEYS = frozenset({"continuation_id", "show_output", "show_popup"})
_call_numbers = itertools.count(1)


class ToolExecutor:
    """
    Runs the tool calls of a model: permission first, output live, long work in the background under an id.

    Every call ends in exactly one result, whichever route it comes by, and nothing a tool, plugin, callback or ledger
    raises escapes it. An executor may be used from any thread, and by its own tools.

    Args:
        ledger: Where the events of calls are recorded (``record(stage, payload)``).
        auto_background_enabled: Whether calls go to the background past their tool's threshold.
        auto_background_pool_size: How many idle worker threads are kept.
        registry: Plugins; None: only what is registered here.
        permission_plugin: Asked before every call; see `set_permission_plugin`.
        permission_context: Passed to it unchanged.
        runner: Its index, resolvers and local functions are asked after this executor's own tools.
        tasks: Where background tasks are kept; by default `TaskManager.open()`, which outlives the process.
        pool: Any `concurrent.futures.Executor`: runs what is started in the background on purpose, or has a threshold
            of 0. On other pools than of threads a tool has no output but its result. It stays yours to shut down.
        max_workers: How many worker threads there may be.
        max_background_tasks: How many tasks there may be before starts in the background are refused.
        default_timeout: Time limit in seconds for tools that have none of their own.
    """

    def __init__(
        self,
        ledger: Ledger | None = None,
        auto_background_enabled: bool = True,  # noqa: FBT001, FBT002 -- positional in the interface people know
        auto_background_pool_size: int = 4,
        *,
        registry: PluginRegistry | None = None,
        permission_plugin: PermissionPlugin | TwoStepPlugin | None = None,
        permission_context: Mapping[str, Any] | None = None,
        runner: Runner | None = None,
        tasks: TaskManager | None = None,
        pool: Executor | None = None,
        max_workers: int = 256,
        max_background_tasks: int = 64,
        default_timeout: float | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self.max_content = MAX_CONTENT
        self.conversation: str | None = None
        self._auto_background = auto_background_enabled
        self._tasks = tasks
        self._inbox: Inbox | None = None
        self._registry: PluginRegistry | None = None
        self._listener: ToolOutputCallback | None = None
        self._output_callback: OutputCallback | None = None
        self._calls: set[CurrentCall] = set()
        self._closed = False
        self._call_ended = threading.Condition()
        self._catalogue = Catalogue()
        self._reports = Reports(self._engine)
        self._workers = Workers(warm=_count(auto_background_pool_size, "auto_background_pool_size"), limit=max_workers)
        self._gate = Gate(lambda: self._catalogue.opinions, lambda: self.approvals, lambda: self._reports.record)
        self._runner = (runner if runner is not None else Runner()).behind(
            self._judge, (self._catalogue,), self._workers, METADATA_KEYS
        )
        self._runner.default_timeout = seconds(default_timeout, "default_timeout")
        self._own_backends = self._runner.backends
        self._background = Background(
            self._workers, self._engine, max_background_tasks, self._finish, self._task_ended, pool
        )
        # An executor that is dropped without shutdown() leaves no idle threads behind.
        weakref.finalize(self, _free, self._workers, self._runner.loop).atexit = False
        self.set_ledger(ledger)
        self.set_registry(registry)
        self.set_permission_plugin(permission_plugin, permission_context)

    # Settings ----------------------------------------------------------------------------------------------------

    def set_ledger(self, ledger: Ledger | None) -> None:
        """Record the events of calls there; None: nowhere."""
        self._reports.to_ledger(ledger)

    def set_registry(self, registry: PluginRegistry | None) -> None:
        """Use the tools, hooks and channels of this registry's exposed plugins; None: none."""
        if self._registry is not None:
            self._registry.detach(self._registry_changed)
        self._registry = registry
        if registry is not None:
            registry.attach(self._registry_changed)
            if self._output_callback is not None:
                registry.set_output_callback(self._output_callback)
        self._registry_changed()

    def set_permission_plugin(
        self, plugin: PermissionPlugin | TwoStepPlugin | None, context: Mapping[str, Any] | None = None
    ) -> None:
        """
        Ask *plugin* before every call; None: nobody but the plugins that have an opinion.

        Args:
            plugin: An object with ``check_permission(name, args, context, call_id) -> (allowed, info)``, or with the
                two steps ``decide(call, context) -> Decision`` and ``ask(call, decision) -> Verdict``.
            context: Passed to it unchanged.
        """
        two_steps = hasattr(plugin, "decide") and hasattr(plugin, "ask")
        if plugin is not None and not two_steps and not hasattr(plugin, "check_permission"):
            raise TypeError(f"{plugin!r} is no permission plugin: it has neither check_permission nor decide and ask")
        self._gate.plugin, self._gate.context = plugin, context

    def set_output_callback(self, callback: OutputCallback | None) -> None:
        """Give ``callback(source, text, mode)`` to every plugin that takes it, and to the permission plugin."""
        self._output_callback = callback
        if self._registry is not None:
            self._registry.set_output_callback(callback)
        take = getattr(self._gate.plugin, "set_output_callback", None)
        if take is not None:
            try:
                take(callback)
            except Exception as error:  # noqa: BLE001 -- as for every plugin: it is said, and the others work
                warn(f"The permission plugin did not take the output callback: {error!r}", error=error)

    def get_output_callback(self) -> OutputCallback | None:
        """The callback for output that belongs to no call."""
        return self._output_callback

    def set_tool_output_callback(self, callback: ToolOutputCallback | None) -> None:
        """Show tools' output by ``callback(chunk)``, for calls that bring no callback and are in no other call."""
        self._listener = callback

    def get_tool_output_callback(self) -> ToolOutputCallback | None:
        """The callback of the current call, else the instance's."""
        call = _current.get()
        return call.emit if call is not None else self._listener

    def set_task_done_callback(self, callback: TaskDoneCallback | None) -> None:
        """
        Be told of the end of every task: ``callback(task_id, success, error, duration)``, exactly once each.

        Tasks that ended while there was no callback are told now.
        """
        self._reports.to_task_done(callback)

    # Tools -------------------------------------------------------------------------------------------------------

    def register(
        self, name: str | Tool | Callable[..., Any], fn: Callable[..., Any] | None = None, **options: Any
    ) -> Tool:
        """
        Make a tool callable; one of the same name is replaced.

        Args:
            name: Its name, a `Tool`, or the function itself.
            fn: ``fn(args: dict)``, or any typed function, whose parameters then are the arguments; sync or async.
            options: ``description``, ``schema``, ``output_schema`` (JSON Schema), ``auto_background`` (seconds),
                ``timeout`` (seconds), ``annotations`` (``read_only``, ``destructive``, ``idempotent``, ``open_world``),
                ``argument_kinds`` (``{"command": "shell" | "argv" | "path" | "url"}``), ``title``, ``isolation``
                (``"process"``: each call in a process of its own, which a stop kills).

        Raises:
            InvalidToolIdError: The name is malformed.
            SchemaError: A schema is not valid JSON Schema, or the signature has none.
            ValueError: An option has a value that cannot be meant.
        """
        entry = prepare(make_tool(name, fn, **options))
        self._catalogue.add(entry)
        return entry.tool

    def register_toolbox(self, box: object, *, prefix: str = "") -> list[Tool]:
        """Register each public method of *box*, named *prefix* and the method's name."""
        return [self.register(tool) for tool in toolbox(box, prefix)]

    def unregister(self, name: str) -> bool:
        """Take a tool away that was registered here. Returns whether there was one; calls that run go on."""
        return self._catalogue.remove(name)

    def clear_executors(self) -> None:
        """Take every tool away that was registered here; those of plugins stay."""
        self._catalogue.clear()

    def register_metadata_keys(self, *keys: str) -> None:
        """Let tools return these keys beside their result, as ``(result, metadata)``."""
        self._runner.metadata_keys = frozenset({*self._runner.metadata_keys, *keys})

    def list_tools(self) -> list[ToolDefinition]:
        """Every tool a model may be told of: those registered here, then those of exposed plugins."""
        return self._catalogue.definitions()

    def get_tool(self, name: str) -> Registered:
        """A tool, with who registered it. Raises ToolNotFoundError."""
        entry = self._catalogue.find(name)
        if entry is None:
            raise ToolNotFoundError(f"No executor registered for {name}", tool_id=name)
        return entry

    def background_tools(self) -> list[tuple[str, str, float | None]]:
        """(tool, plugin, threshold in seconds or None) of every tool that may go to the background."""
        return [(e.name, e.plugin_name, e.tool.auto_background) for e in self._catalogue.entries() if e.background]

    # Calls -------------------------------------------------------------------------------------------------------

    def execute(
        self,
        name: str,
        args: Mapping[str, Any] | str | None = None,
        tool_output_callback: ToolOutputCallback | None = None,
        call_id: str | None = None,
    ) -> Outcome:
        """
        Run a tool.

        Args:
            args: A mapping, None, or the JSON text some model APIs give.
            tool_output_callback: Takes the tool's output as it comes.
            call_id: For `cancel`, ledgers and permission plugins; one is made up if None.

        Returns:
            ``(True, result)``, or ``(False, {"error": …, …})``. Never raises for anything the call does.
        """
        return self._run(self._new_call(call_id, name, args, tool_output_callback), None, None)[0]

    def call(
        self,
        call: ToolCall,
        *,
        on_output: ToolOutputCallback | None = None,
        on_progress: ProgressCallback | None = None,
        on_done: TaskDoneCallback | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> ToolResult:
        """
        Run one request of a model.

        Args:
            on_output: Takes the tool's output as it comes.
            on_progress: ``on_progress(done, total, message)``.
            on_done: ``on_done(task_id, success, error, duration)``, if the call goes to the background.
            timeout: Time limit in seconds, instead of the tool's own.
            cancel: Stops the call.
        """
        current = self._new_call(call.id, call.name, call.arguments, on_output, on_progress)
        timeout = seconds(timeout, "timeout")
        done = partial(tell_done, on_done) if on_done is not None else None
        if cancel is None:
            outcome, task_id = self._run(current, timeout, done)
        else:
            forget, task_id = cancel.pass_on(current.token), None
            try:
                outcome, task_id = self._run(current, timeout, done)
            finally:
                if task_id is None:
                    forget()
            if task_id is not None:  # a token may live as long as a session: it holds no call that is over
                self._engine().on_done(task_id, lambda _: forget())
        kind = ResultKind.BACKGROUNDED if task_id is not None else kind_of_task(_outcome.status(outcome), outcome[1])
        return answer(
            call.id,
            outcome,
            kind,
            permission=current.permission,
            task_id=task_id,
            blocks=current.apart.blocks if current.apart is not None else (),
            bound=lambda content: bounded(content, self.max_content, self._engine().save_result),
        )

    def execute_many(
        self, calls: Iterable[ToolCall], *, max_concurrency: int | None = None, cancel: CancelToken | None = None
    ) -> list[ToolResult]:
        """
        Run several calls side by side.

        Args:
            max_concurrency: At most so many at once; by default as many as there are free workers.
            cancel: Stops all of them; those that have not begun never do.

        Returns:
            One result for each call, in the order of the calls.
        """
        from executor.run._batch import run_many

        if max_concurrency is not None:
            _count(max_concurrency, "max_concurrency", least=1)
        nested = _current.get() is not None
        return run_many(
            lambda call, token: self.call(call, cancel=token),
            list(calls),
            self._workers,
            max_concurrency,
            cancel,
            nested=nested,
        )

    def execute_chain(
        self,
        steps: Iterable[object],
        *,
        tool_output_callback: ToolOutputCallback | None = None,
        on_progress: Callable[[ProgressEvent], object] | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> ChainResult:
        """
        Run steps in their order, each a call of its own: judged, recorded and shown like any other.

        Args:
            steps: See `Runner.run_chain`.
            tool_output_callback: Takes the tools' output as it comes.
            on_progress: Told after each step how many of them have ended.
            timeout: Seconds for the whole chain.
            cancel: Stops the chain.

        Returns:
            The last result and the records of the steps. Steps are waited for; none goes to the background.

        Raises:
            ChainError: The chain is wrong (before anything runs), or a step failed, which is the cause.
            ToolCancelledError, ToolTimeoutError: It was stopped, or a step ran out of time.
        """
        return self._runner.chain(
            steps, partial(self._call_step, tool_output_callback), on_progress, timeout=timeout, cancel=cancel
        )

    def execute_stream(
        self,
        name: str,
        args: Mapping[str, Any] | str | None = None,
        tool_output_callback: ToolOutputCallback | None = None,
        call_id: str | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        adapt: bool = False,
    ) -> Stream:
        """
        Run a tool whose result comes in pieces, and return an iterator of its events.

        Validation and the gate come first, now. The call is never handed over to the background.

        Args:
            timeout: Seconds for the whole stream, instead of the tool's own time limit.
            adapt: Stream what gives its result in one piece, too: one chunk, then the end.

        Raises:
            StreamNotSupportedError: The tool gives its result in one piece, and *adapt* is false.
            ToolError: It cannot, or may not, run.
        """
        call = self._new_call(call_id, name, args, tool_output_callback)
        limit = seconds(timeout, "timeout")
        began = time.monotonic()

        def ended(how: RunResult | BaseException) -> None:
            self._over(call)
            if self._reports.wanted:
                self._reports.call_ended(call, self._came_to(how, call), None, began)

        self._calls.add(call)
        try:
            return self._runner.stream(call, self._prepare, ended, timeout=limit, cancel=cancel, adapt=adapt)
        except BaseException as error:
            ended(error)
            raise

    def start(
        self,
        call: ToolCall,
        timeout: float | None = None,
        *,
        on_output: ToolOutputCallback | None = None,
        on_done: TaskDoneCallback | None = None,
    ) -> ToolResult:
        """
        Start a tool in the background. Validation and the gate come first, as for every call.

        Args:
            timeout: Time limit in seconds, instead of the tool's own.

        Returns:
            A result with a ``task_id``.

        Raises:
            ToolError: It cannot, or may not, run: unknown, wrong arguments, denied, no room (`CapacityError`), or not
                fit for the background (`ExecutionError`).
        """
        current = self._new_call(call.id, call.name, call.arguments, on_output)
        limit = seconds(timeout, "timeout")
        began = time.monotonic()
        reset = _current.set(current)
        self._calls.add(current)
        try:
            prepared = self._prepare(current)
            done = partial(tell_done, on_done) if on_done is not None else None
            outcome, task_id = self._background.start(prepared, self._runner.limit(prepared, limit), done)
        except BaseException as error:
            self._over(current)
            if self._reports.wanted:
                self._reports.call_ended(current, _outcome.failure(error, current.permission), None, began)
            raise
        finally:
            _current.reset(reset)
        if self._reports.wanted:
            self._reports.call_ended(current, outcome, task_id, began)
        return _outcome.result(call.id, outcome, current.permission, task_id)

    def cancel(self, call_id: str) -> bool:
        """Stop the running call with this id. Returns whether this is what ended it."""
        stopped = [call.token.cancel() for call in list(self._calls) if call.id == call_id]
        return any(stopped)

    def as_port(self) -> ToolExecutorPort:
        """This executor behind the narrow face that model loops know."""
        return _Port(self)

    # What hosts and tools look at --------------------------------------------------------------------------------

    @property
    def tasks(self) -> TaskManager:
        """The background tasks."""
        if self._tasks is None:
            with self._lock:
                if self._tasks is None:
                    from executor.tasks import TaskManager

                    self._tasks = TaskManager.open()
        return self._tasks

    def _engine(self) -> TaskTable:
        from executor.tasks._manager import engine_of

        return engine_of(self.tasks)

    @property
    def approvals(self) -> Inbox:
        """The questions that wait for a person."""
        if self._inbox is None:
            from executor.permission._inbox import Inbox

            channels = self._registry.channels() if self._registry is not None else {}
            with self._lock:
                if self._inbox is None:
                    self._inbox = Inbox()
                    for name, channel in channels.items():
                        self._inbox.add_channel(name, channel)
        return self._inbox

    @property
    def registry(self) -> PluginRegistry | None:
        """The plugins in use."""
        return self._registry

    @property
    def abandoned(self) -> int:
        """How many threads still work on calls that were given up."""
        return len(self._background.abandoned)

    # The way of a call -------------------------------------------------------------------------------------------

    def _new_call(
        self,
        call_id: str | None,
        name: str,
        arguments: Mapping[str, Any] | str | None,
        listener: ToolOutputCallback | None,
        on_progress: ProgressCallback | None = None,
    ) -> CurrentCall:
        parent = _current.get()
        if parent is None:
            depth = 0
            if listener is None:
                listener = self._listener
        else:
            depth = parent.depth + 1
            if listener is None:
                listener = parent.emit
        if call_id is None:
            call_id = f"call_{next(_call_numbers)}"
        return CurrentCall(call_id, name, arguments, self, listener, on_progress, depth, self._background.aside)

    def _run(
        self, call: CurrentCall, timeout: float | None, on_done: Callable[[TaskInfo], object] | None
    ) -> tuple[Outcome, str | None]:
        task_id: str | None = None
        parent = _current.get()
        forget = parent.token.pass_on(call.token) if parent is not None else None
        reset = _current.set(call)
        self._calls.add(call)
        began = time.monotonic() if self._reports.wanted else 0.0
        try:
            try:
                prepared = self._prepare(call)
            except BaseException as error:  # noqa: BLE001 -- a resolver's or validator's SystemExit ends its call only
                outcome = self._came_to(error, call)
            else:
                tool = prepared.entry.tool
                threshold = tool.auto_background if self._auto_background and call.apart is None else None
                limit = self._runner.limit(prepared, timeout)
                if threshold is None and limit is None and not prepared.entry.is_async:
                    outcome = self._finish(prepared)
                else:
                    outcome, task_id = self._background.run(prepared, threshold, limit, on_done)
        finally:
            _current.reset(reset)
            if forget is not None:
                forget()
            if task_id is None:
                self._over(call)
        if self._reports.wanted:
            self._reports.call_ended(call, outcome, task_id, began)
        return outcome, task_id

    def _prepare(self, call: CurrentCall) -> Prepared:
        if self._closed:
            raise ExecutorUnavailableError("The executor has been shut down")
        if call.depth > MAX_DEPTH:
            raise CapacityError(f"Calls are nested deeper than {MAX_DEPTH}: does a tool call itself without end?")
        if self._reports.wanted:
            self._reports.call_starts(call)
        if call.token.error is not None:
            raise call.token.error
        prepared = self._runner.prepare(call)
        if self._reports.wanted:
            self._reports.call_runs(prepared)
        return prepared

    def _judge(self, prepared: Prepared) -> Verdict | None:
        return self._gate.judge(prepared.call, prepared.arguments)

    def _finish(self, prepared: Prepared) -> Outcome:
        """The second half of a call, inline or on a worker. Never raises."""
        call = prepared.call
        try:
            result = self._runner.finish(prepared)
            if call.apart is None and result.mcp_result is None:
                return _outcome.success(result.structured, result.metadata, call.permission)
        except BaseException as error:  # noqa: BLE001 -- whatever it is, it is this call's result
            return self._came_to(error, call)
        return self._came_to(result, call)

    def _came_to(self, ended: RunResult | BaseException, call: CurrentCall) -> Outcome:
        if call.apart is not None and call.apart.collect is not None:
            call.apart.collect(ended)
        if isinstance(ended, BaseException):
            return _outcome.failure(ended, call.permission)
        if ended.is_error:
            return _outcome.failure(failure_of(ended), call.permission)
        call.apart = call.apart or Apart()
        call.apart.blocks = blocks_of(ended.content)
        return _outcome.success(ended.structured, ended.metadata, call.permission)

    def _call_step(
        self,
        listener: ToolOutputCallback | None,
        step: ChainStep,
        arguments: Mapping[str, Any],
        limit: float | None,
        token: CancelToken | None,
    ) -> RunResult:
        """One step of a chain, through the whole pipeline. Raises what it failed with."""
        ended: list[RunResult | BaseException] = []
        call = self._new_call(None, step.tool_id, arguments, listener)
        retry = RetryConfig.of(step.retry) if step.retry is not None else None
        call.apart = Apart(retry=retry, collect=ended.append)
        forget = token.pass_on(call.token) if token is not None else None
        outcome, _ = self._run(call, limit, None)
        if forget is not None:
            forget()
        stopped = call.token.error
        if stopped is not None:
            raise stopped
        if not ended:  # it was answered without having run
            raise ExecutorUnavailableError(str(outcome[1]["error"]))
        if isinstance(ended[0], BaseException):
            raise ended[0]
        return ended[0]

    def _over(self, call: CurrentCall) -> None:
        """Nothing of this call runs any more, or is waited for."""
        call.close()
        self._calls.discard(call)
        if self._closed:
            with self._call_ended:
                self._call_ended.notify_all()

    def _task_ended(self, call: CurrentCall, info: TaskInfo) -> None:
        self._over(call)
        self._reports.task_ended(info)

    def _registry_changed(self) -> None:
        registry = self._registry
        self._catalogue.use(registry)
        self._reports.to_plugins(registry)
        plugged = registry.backends() if registry is not None else {}
        self._runner.backends = self._own_backends.with_others(plugged)
        if registry is not None and self._inbox is not None:
            for name, channel in registry.channels().items():
                self._inbox.add_channel(name, channel)

    # The end -----------------------------------------------------------------------------------------------------

    def shutdown(self, wait: bool = True, cancel: bool = False, timeout: float | None = None) -> bool:  # noqa: FBT001, FBT002 -- as concurrent.futures has it
        """
        Take no more calls, and end.

        Args:
            wait: Wait for running calls and tasks. Those that were given up are never waited for, and a tool that
                calls this waits for nothing.
            cancel: Stop them first.
            timeout: Wait at most so many seconds.

        Returns:
            Whether everything had ended.
        """
        self._closed = True
        if cancel:
            for call in list(self._calls):
                call.token.cancel("The executor is shutting down")
        if wait and _current.get() is None:  # a tool that shuts its own executor down cannot wait for itself
            with self._call_ended:
                limit = threading.TIMEOUT_MAX if timeout is None else min(timeout, threading.TIMEOUT_MAX)
                self._call_ended.wait_for(lambda: not self._calls, limit)
        self._workers.close()
        self._runner.close()
        if self._registry is not None:
            self._registry.detach(self._registry_changed)
        return not self._calls

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # After Ctrl-C or exit() nobody wants to wait for what still runs; after an ordinary error its work is kept.
        self.shutdown(cancel=kind is not None and not issubclass(kind, Exception))


class _Port:
    """`ToolExecutorPort` over an executor."""

    def __init__(self, executor: ToolExecutor) -> None:
        self._executor = executor

    def list_tools(self) -> list[ToolDefinition]:
        return self._executor.list_tools()

    def execute(self, call: ToolCall) -> ToolResult:
        result = self._executor.call(call)
        if not result.success and isinstance(result.value, dict) and result.value.get("unavailable"):
            raise ExecutorUnavailableError(result.error or "The tool's backend is unavailable")
        return result


def _free(workers: Workers, loop: Any) -> None:
    workers.close()
    loop.close()


def _count(value: int, name: str, least: int = 0) -> int:
    if type(value) is not int or value < least:
        raise ValueError(f"{name} is {value!r}, not a whole number from {least} on")
    return value

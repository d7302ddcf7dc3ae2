"""The ways of making one call: each makes the state of a call, and sends it the one way (`run._way`)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from executor._answering import Answering, answered
from executor._older import done_callback
from executor.calls._apart import Judged, Rehearsal
from executor.calls._outcome import describe
from executor.calls._state import CallState, current
from executor.errors import ExecutionError, ToolExecutorError
from executor.run._backends import RunResult
from executor.run._beyond import leave_call
from executor.run._ended import error_of, outcome_of, result_of
from executor.run._limits import function, seconds, text
from executor.run._options import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor._submitted import CallFuture
    from executor.background._handover import HandOver
    from executor.calls._host import Host
    from executor.calls._token import CancelToken
    from executor.permission._gate import Gate
    from executor.protocols import ToolExecutorPort
    from executor.run._ended import Ended
    from executor.run._way import Way
    from executor.tasks import TaskManager
    from executor.tools._make import Registered
    from executor.values import (
        Check,
        Outcome,
        ProgressCallback,
        ToolCall,
        ToolDefinition,
        ToolOutputCallback,
        ToolResult,
    )

_call_numbers = itertools.count(1)


def asked_for(call: ToolCall) -> tuple[str | None, str, Mapping[str, Any] | str | None]:
    """Id, name and arguments of a request. Raises TypeError: it is none, or its id is no text."""
    try:
        call_id, name, arguments = call.id, call.name, call.arguments
    except AttributeError:
        raise TypeError(f"{call!r} is no request: use ToolCall(id, name, arguments)") from None
    if call_id is not None and type(call_id) is not str:
        text(call_id, "the id of a call")
    return call_id, name, arguments


class Calls:
    """The half of `ToolExecutor` that makes calls."""

    _way: Way
    _gate: Gate
    _hand_over: HandOver
    _spawn: Callable[[Callable[[], object]], None]  # bound once: every call is given it
    _listener: ToolOutputCallback | None

    def list_tools(self) -> list[ToolDefinition]:
        raise NotImplementedError

    @property
    def tasks(self) -> TaskManager:
        raise NotImplementedError

    # One call ----------------------------------------------------------------------------------------------------

    def execute(
        self,
        name: str,
        args: Mapping[str, Any] | str | None = None,
        tool_output_callback: ToolOutputCallback | None = None,
        call_id: str | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Outcome:
        """
        Run a tool.

        Args:
            args: A mapping, None, or the JSON text some model APIs give.
            tool_output_callback: Takes the tool's output as it comes.
            call_id: For `cancel`, ledgers and permission plugins; one is made up if None.
            timeout: Time limit in seconds, instead of the tool's own.
            cancel: Stops the call.

        Returns:
            ``(True, result)``, or ``(False, {"error": …, …})``. Never raises for anything the call does.
        """
        call = self._new_call(call_id, name, args, tool_output_callback)
        if timeout is None and cancel is None:
            ended = self._way.block(call)
            if type(ended) is RunResult and not ended.is_error and ended.metadata is None and call.permission is None:
                return True, ended.structured  # by far the most calls
            return outcome_of(ended, call)
        return outcome_of(self._way.block(call, Options(seconds(timeout)), cancel), call)

    def call(
        self,
        call: ToolCall,
        *,
        on_output: ToolOutputCallback | None = None,
        on_progress: ProgressCallback | None = None,
        on_done: Callable[[ToolResult], object] | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        background: bool | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """
        Run one request of a model, and wait for its result.

        Args:
            on_output: Takes the tool's output as it comes.
            on_progress: ``on_progress(done, total, message)``.
            on_done: Given the final result once: now, or when the task has ended that the call became.
            timeout: Time limit in seconds, instead of the tool's own.
            cancel: Stops the call.
            background: False: wait for the end, whatever the tool's threshold; True: start it in the background.
            context: What the permission plugin is given, in place of the executor's own; with the calls that the tool
                makes, too.
        """
        on_done = done_callback(on_done, self._duration)
        state = self._asked_for(call, on_output, on_progress, context)
        ended = self._way.block(state, Options(seconds(timeout), background, on_done), cancel)
        return answered(result_of(ended, state, self._hand_over.bounded), on_done)

    def submit(
        self,
        call: ToolCall,
        *,
        on_output: ToolOutputCallback | None = None,
        on_progress: ProgressCallback | None = None,
        on_done: Callable[[ToolResult], object] | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        background: bool | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> CallFuture:
        """
        Make a call without waiting for it: no thread does, not for a person's answer either.

        The call is resolved, validated and judged now, in this thread; what takes its time is left to others.

        Args:
            on_output, on_progress, on_done, timeout, cancel, background, context: As for `call`.

        Returns:
            A `concurrent.futures.Future` of the `ToolResult`; cancelling it stops the call.
        """
        from executor._submitted import CallFuture  # with concurrent.futures 8 ms, for those who submit

        options = Options(seconds(timeout), background, on_done)
        state = self._asked_for(call, on_output, on_progress, context)
        setup = self._way.setup
        entry = setup.find(state.name) if type(state.name) is str else None
        on_loop = setup.loop if entry is not None and entry.is_async else None
        future = CallFuture(state.source, self._way.threads.workers, on_loop)
        self._begin(state, options, cancel, future.deliver)
        return future

    def _begin(
        self,
        state: CallState,
        options: Options,
        cancel: CancelToken | None,
        deliver: Callable[[ToolResult], object],
        *,
        anywhere: bool = False,
    ) -> None:
        """
        Make a call without a thread that waits for it; *deliver* is given its result, here or on a worker.

        Args:
            anywhere: Whether *deliver* may be called on the loop, too: it runs nobody's code, and waits for nothing.
        """
        self._way.submit(state, options, cancel, Answering(state, options, self._hand_over, deliver, anywhere))

    async def acall(
        self,
        call: ToolCall,
        *,
        on_output: ToolOutputCallback | None = None,
        on_progress: ProgressCallback | None = None,
        on_done: Callable[[ToolResult], object] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 -- the call's limit, which goes on past a hand-over
        cancel: CancelToken | None = None,
        background: bool | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """`submit`, awaited in the caller's own event loop; cancelling the awaiting task stops the call."""
        import asyncio

        return await asyncio.wrap_future(
            self.submit(
                call,
                on_output=on_output,
                on_progress=on_progress,
                on_done=on_done,
                timeout=timeout,
                cancel=cancel,
                background=background,
                context=context,
            )
        )

    def start(
        self,
        call: ToolCall,
        timeout: float | None = None,
        *,
        on_output: ToolOutputCallback | None = None,
        on_progress: ProgressCallback | None = None,
        on_done: Callable[[ToolResult], object] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """
        Start a tool in the background. Validation and the gate come first, as for every call.

        Args:
            timeout: Time limit in seconds, instead of the tool's own.
            on_done: Given the final result once, when the task has ended.
            on_output, on_progress, context: As for `call`.

        Returns:
            A result with a ``task_id``.

        Raises:
            ToolError: It cannot, or may not, run: unknown, wrong arguments, denied, no room (`CapacityError`).
        """
        on_done = done_callback(on_done, self._duration)
        state = self._asked_for(call, on_output, on_progress, context)
        return self._started(state, Options(seconds(timeout), background=True, on_done=on_done))

    def _started(self, state: CallState, options: Options) -> ToolResult:
        """What `start` returns. Raises what it raises."""
        ended = self._way.block(state, options)
        error = error_of(ended)
        if error is None:
            return result_of(ended, state, self._hand_over.bounded)
        if isinstance(error, ToolExecutorError | KeyboardInterrupt):
            raise error
        raise ExecutionError(describe(error), tool_id=state.name) from error

    def check(self, call: ToolCall, *, context: Mapping[str, Any] | None = None) -> Check:
        """
        What would become of a call: whether the tool is known and its arguments fit, and what would be decided.

        Nothing runs, nobody is asked, and nothing is recorded. A gate that a `Runner` brought is not asked.
        """
        from executor.run._check import check

        state = self._asked_for(call, context=context, make=Rehearsal)
        return check(self._way, state, self._gate.opinion)

    def judged(self, call: ToolCall, *, context: Mapping[str, Any] | None = None) -> Outcome:
        """
        Have a call judged that is to be made elsewhere: a person is asked where the policy says so; nothing runs here.

        Returns:
            ``(True, arguments)``, checked and as the gate has allowed them, or ``(False, {"error": …, …})``.
        """
        state = self._asked_for(call, context=context)
        try:
            return True, leave_call(self._way, state, lambda prepared: prepared.arguments)
        except BaseException as error:  # noqa: BLE001 -- whatever keeps it from running is the answer, as for `execute`
            return outcome_of(error, state)

    def _judged_elsewhere(
        self,
        call: ToolCall,
        listener: ToolOutputCallback,
        on_progress: ProgressCallback,
        context: Mapping[str, Any] | None,
        entry: Registered,
    ) -> Judged:
        """A call of *entry*, which another process has judged; for `_carry_out`. For workers of a cluster only."""
        made = self._asked_for(call, listener, on_progress, context, make=Judged)
        assert isinstance(made, Judged)
        made.entry = entry
        return made

    def _carry_out(self, call: CallState, timeout: float | None) -> Ended:
        """What such a call comes to."""
        return self._way.block(call, Options(timeout, background=False))

    def cancel(self, call_id: str) -> bool:
        """Stop the running call with this id. Returns whether this is what ended it."""
        stopped = [call.source.cancel() for call in list(self._way.calls) if call.id == call_id]
        return any(stopped)

    def as_port(self) -> ToolExecutorPort:
        """This executor behind the narrow face that model loops know."""
        from executor._port import Port

        return Port(self.list_tools, self.call)

    def _asked_for(
        self,
        call: ToolCall,
        listener: ToolOutputCallback | None = None,
        on_progress: ProgressCallback | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        make: type[CallState] = CallState,
    ) -> CallState:
        call_id, name, arguments = asked_for(call)
        return self._new_call(call_id, name, arguments, listener, on_progress, context, make=make)

    def _new_call(
        self,
        call_id: str | None,
        name: str,
        arguments: Mapping[str, Any] | str | None,
        listener: ToolOutputCallback | None,
        on_progress: ProgressCallback | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        make: type[CallState] = CallState,
    ) -> CallState:
        parent = current.get()
        if listener is None:
            listener = self._listener if parent is None else parent.emit
        elif not callable(listener):
            function(listener, "the callback for output")
        if on_progress is not None:
            function(on_progress, "on_progress")
        if call_id is None:
            call_id = f"call_{next(_call_numbers)}"
        elif type(call_id) is not str:
            text(call_id, "the id of a call")
        host: Host = self  # type: ignore[assignment]  # the half of one that makes calls
        call = make(call_id, name, arguments, host, listener, on_progress, parent)
        call.spawn = self._spawn
        if context is None:  # whoever a call is made for, the calls that its tool makes are for the same
            context = parent.context if parent is not None and parent.host is host else self._gate.context
        call.context = context
        return call

    def _duration(self, task_id: str) -> float:
        return self.tasks.get(task_id).duration

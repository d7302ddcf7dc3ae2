"""
The order of the stages, and nothing else.

::

    prepare   resolve → select → validate input → gate (edited arguments: validated, and through the gate again)
    finish    dispatch → normalise → validate output
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from executor._output import CancelToken, CurrentCall, _current
from executor._types import Decision
from executor._workers import LoopThread
from executor.errors import PermissionDeniedError
from executor.run._backends import Prepared, RunResult
from executor.run._dispatch import dispatch
from executor.run._normalise import normalise
from executor.run._resolve import IndexSource, ResolverSource, resolve, select
from executor.run._validate import validate_input, validate_output

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from executor._types import Host
    from executor.run._backends import (
        BackendSelector,
        BackendsResolver,
        Gate,
        LocalRegistry,
        Source,
        ToolIndex,
        ToolResolver,
    )

MAX_EDITS = 5  # a person may correct a correction; a plugin that edits for ever is refused


class Runner:
    """
    Runs one call through every stage.

    Args:
        index: Where tools are looked for first.
        tool_resolver: Asked for a tool that the index does not know.
        backends_resolver: Where a tool of *tool_resolver* runs.
        backend_selector: Chooses one of a tool's backends; by default local before provider before MCP.
        local: Local functions by backend name, for tools that bring none.
        validate_input: Whether arguments are compared with the tool's schema.
        validate_output: Whether results are compared with the tool's output schema.
        gate: Asked with a `Prepared` before it runs; raises PermissionDeniedError, or returns a `Verdict`.
        sources: Further places where tools are looked for, before all others.
        metadata_keys: See `normalise`.
    """

    def __init__(
        self,
        index: ToolIndex | None = None,
        tool_resolver: ToolResolver | None = None,
        backends_resolver: BackendsResolver | None = None,
        backend_selector: BackendSelector | None = None,
        *,
        local: LocalRegistry | None = None,
        validate_input: bool = True,
        validate_output: bool = True,
        gate: Gate | None = None,
        sources: Sequence[Source] = (),
        metadata_keys: AbstractSet[str] = frozenset(),
    ) -> None:
        own: list[Source] = [IndexSource(index)] if index is not None else []
        if tool_resolver is not None:
            own.append(ResolverSource(tool_resolver, backends_resolver))
        self.sources = (*sources, *own)
        self.local = local
        self.metadata_keys = metadata_keys
        self._selector = backend_selector
        self._validate_input = validate_input
        self._validate_output = validate_output
        self._gate = gate
        self.loop = LoopThread()

    def prepare(self, call: CurrentCall) -> Prepared:
        """
        Everything before the tool runs, in the caller's thread.

        Raises:
            InvalidToolIdError, ToolNotFoundError, NoBackendsError, InvalidArgumentsError, PermissionDeniedError:
                The call cannot, or may not, run. The tool was not called.
        """
        entry = resolve(call.name, self.sources)
        call.tool, call.plugin_name = entry.tool, entry.plugin_name
        backend = select(entry, self._selector)
        arguments = validate_input(entry, backend, call.arguments, check=self._validate_input)
        prepared = Prepared(call, entry, backend, arguments)
        if self._gate is not None and not entry.carrier:
            self._pass_gate(prepared, self._gate)
        return prepared

    def _pass_gate(self, prepared: Prepared, gate: Gate) -> None:
        verdict = gate(prepared)
        if verdict is None:
            return
        edited = False
        for _ in range(MAX_EDITS):
            if verdict is None or verdict.arguments is None:
                break
            changed = validate_input(prepared.entry, prepared.backend, verdict.arguments, check=self._validate_input)
            if changed == prepared.arguments:
                break
            edited = True
            prepared.arguments = changed
            verdict = gate(prepared)
        else:
            reason = f"the arguments were edited {MAX_EDITS} times without being accepted as they are"
            raise PermissionDeniedError(
                f"Permission denied: {reason}",
                decision=Decision("deny", reason, "invalid"),
                info={"decision": "denied", "reason": reason, "method": "invalid"},
                tool_id=prepared.entry.name,
            )
        if verdict is not None and verdict.info is not None:
            prepared.call.permission = {**verdict.info, "was_edited": True} if edited else verdict.info

    def finish(self, prepared: Prepared) -> RunResult:
        """
        Run the tool and look at what it returned; inline or on a worker.

        Raises:
            ToolFailedError, ExecutionError, InvalidResultError: It went wrong.
            ToolCancelledError, ToolTimeoutError: It was stopped first; whatever it came to is dropped.
        """
        token = prepared.call.token
        if token.error is not None:
            raise token.error  # stopped before it ran: it never does
        try:
            value = dispatch(prepared, self.local, self.loop)
            result = normalise(prepared, value, self.metadata_keys)
            if self._validate_output and not result.is_error:
                validate_output(prepared.entry, prepared.backend, result.structured)
        except BaseException as error:
            stopped = token.end()
            if stopped is not None and stopped is not error:
                raise stopped from error
            raise
        stopped = token.end()
        if stopped is not None:
            raise stopped
        return result

    def run(
        self, tool_id: str, args: Mapping[str, Any] | str | None = None, *, cancel: CancelToken | None = None
    ) -> RunResult:
        """`prepare` and `finish` in the caller's thread, without an executor around them."""
        parent = _current.get()
        # Without an executor there is no host; a tool that wants one finds the enclosing call's, or fails saying so.
        call = CurrentCall("call", tool_id, args, cast("Host", parent.host if parent is not None else None))
        forget = cancel.pass_on(call.token) if cancel is not None else None
        token = _current.set(call)
        try:
            return self.finish(self.prepare(call))
        finally:
            _current.reset(token)
            call.close()
            if forget is not None:
                forget()

    def close(self) -> None:
        """End the thread that runs coroutines."""
        self.loop.close()

"""What a call comes to, and what becomes of it: an outcome, a `ToolResult`, a task's state, or an exception."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from executor._json import snapshot
from executor.calls import _outcome
from executor.calls._answer import answer
from executor.calls._kinds import kind_of, state_of
from executor.errors import ExecutionError
from executor.run._backends import RunResult
from executor.run._normalise import failure_of
from executor.values import ResultKind, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._state import CallState
    from executor.run._backends import Prepared
    from executor.values import Block, Outcome, ToolResult

Ended: TypeAlias = "RunResult | BaseException | HandedOver | Finished"


class Finished(NamedTuple):
    """What a call came to that was carried out in another process, in all the forms that are wanted of it."""

    outcome: Outcome
    status: TaskStatus
    result: ToolResult | None


class HandedOver:
    """
    What a call comes to whose work goes on in the background.

    Attributes:
        threshold: Seconds after which that happened; None when it was started there.
        durable: Whether the task is in the store; else it is in memory only, until the store is back.
    """

    __slots__ = ("durable", "plugin_name", "task_id", "threshold", "tool_name")

    def __init__(self, task_id: str, prepared: Prepared, threshold: float | None, *, durable: bool = True) -> None:
        self.task_id = task_id
        self.tool_name = prepared.entry.name
        self.plugin_name = prepared.entry.plugin_name
        self.threshold = threshold
        self.durable = durable

    def told(self) -> dict[str, Any]:
        """The value of the call's result."""
        told: dict[str, Any] = {"task_id": self.task_id, "plugin_name": self.plugin_name, "tool_name": self.tool_name}
        if not self.durable:
            told = {**told, "durable": False}
        then = f"Use task_id '{self.task_id}' to check status and output."
        if self.threshold is None:
            return {**told, "message": f"Started in the background. {then}"}
        return {
            "auto_backgrounded": True,
            **told,
            "threshold_seconds": self.threshold,
            "message": f"Task exceeded {self.threshold:g}s threshold, continuing in background. {then}",
        }


def settled(ended: Ended) -> Ended:
    """The same, whatever becomes of the object that a tool has returned: all that is made of it is of one moment."""
    if type(ended) is not RunResult:
        return ended
    try:
        return replace(ended, structured=snapshot(ended.structured))
    except BaseException:  # noqa: BLE001 -- it ends whoever looks at it: see `result_in_any_case`
        return ended


def error_of(ended: Ended) -> BaseException | None:
    """Why the call failed, or None."""
    if isinstance(ended, BaseException):
        return ended
    return None if isinstance(ended, HandedOver | Finished) or not ended.is_error else failure_of(ended)


def outcome_of(ended: Ended, call: CallState) -> Outcome:
    """What `execute` returns. A value, or an error, that raises when it is looked at makes the call fail with that."""
    try:
        return _outcome_of(ended, call)
    except BaseException as broken:  # noqa: BLE001 -- SystemExit too: what a tool returns ends nobody's thread
        return _outcome.failure(_readable(broken), call.permission)


def _outcome_of(ended: Ended, call: CallState) -> Outcome:
    if type(ended) is RunResult and not ended.is_error:
        return _outcome.success(ended.structured, ended.metadata, call.permission)
    if isinstance(ended, Finished):
        return ended.outcome
    if isinstance(ended, HandedOver):
        return _outcome.success(ended.told(), None, call.permission)
    error = error_of(ended)
    assert error is not None, "all that is no success is told above"
    return _outcome.failure(error, call.permission)


def _readable(broken: BaseException) -> BaseException:
    """*broken*, or what can be said in its place if it raises when it is looked at as well."""
    try:
        _outcome.failure(broken)
    except BaseException as worse:  # noqa: BLE001 -- as in `outcome_of`
        return ExecutionError(f"What the call came to raises when it is read: {type(worse).__name__}")
    return broken


def result_of(ended: Ended, call: CallState, bound: Callable[[str], str] | None = None) -> ToolResult:
    """What `call` returns; *bound* makes its content short enough for a model."""
    return result_in_any_case(ended, call, bound)[1]


def _result_of(ended: Ended, call: CallState, bound: Callable[[str], str] | None, task_id: str | None) -> ToolResult:
    if isinstance(ended, Finished) and ended.result is not None:
        made = replace(ended.result, call_id=call.id, task_id=task_id)
        return made if bound is None else replace(made, content=bound(made.content))
    outcome = outcome_of(ended, call)
    blocks: tuple[Block, ...] = ()
    if type(ended) is RunResult and not ended.is_error:
        kind = ResultKind.OK
        if ended.content:
            from executor.values._blocks import blocks_of  # for MCP answers

            blocks = blocks_of(ended.content)
    elif isinstance(ended, HandedOver):
        kind, task_id = ResultKind.BACKGROUNDED, ended.task_id
    else:
        error = error_of(ended)
        kind = ResultKind.OK if error is None else kind_of(error)
    return answer(call.id, outcome, kind, permission=call.permission, task_id=task_id, blocks=blocks, bound=bound)


def result_in_any_case(
    ended: Ended, call: CallState, bound: Callable[[str], str] | None = None, task_id: str | None = None
) -> tuple[Ended, ToolResult]:
    """
    What a call came to, and its `result_of`; *task_id* is of the task that it was, where it was one.

    A value that ends whoever looks at it is no result: what it raises is what the call came to.
    """
    try:
        return ended, _result_of(ended, call, bound, task_id)
    except BaseException as broken:  # noqa: BLE001 -- as in `outcome_of`
        error = _readable(broken)
        return error, _result_of(error, call, bound, task_id)


def run_result_of(ended: Ended) -> RunResult:
    """What the run layer returns. Raises what the call failed with."""
    if type(ended) is RunResult:
        return ended
    if isinstance(ended, BaseException):
        raise ended
    raise AssertionError("only a host hands calls over")


def status_of(ended: Ended) -> TaskStatus:
    """The final state of a task that came to this."""
    if isinstance(ended, Finished):
        return ended.status
    error = error_of(ended)
    return TaskStatus.COMPLETED if error is None else state_of(error)

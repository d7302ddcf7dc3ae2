"""The way of a served call: begun, followed until there is a result, or its client is sent away with questions."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

import mcp.types as t
from mcp import MCPError
from mcp.types import INVALID_PARAMS
from pydantic import ValidationError

from executor.mcp.serving import _peers
from executor.mcp.serving._call import ServedCall
from executor.mcp.serving._relay import Line
from executor.permission._visible import visible
from executor.values import ToolCall
from executor.values._approval import CLIENT, Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.mcp.serving._host import Host
    from executor.mcp.serving._listing import Offered
    from executor.mcp.serving._questions import Question

COMPLETE = {"resultType": "complete"}  # since 2026-07-28 every result says what it is


def begin(
    host: Host, context: Any, offered: Offered, arguments: Mapping[str, Any], *, background: bool | None
) -> ServedCall:
    """Have a call made for the client that has sent this request."""
    request = ToolCall(_new_id(), offered.id, dict(arguments))
    call = ServedCall(
        request,
        offered,
        host.workers,
        client=_peers.client_of(context),
        reachable=host.asks and _peers.can_elicit(context),
        on_end=lambda: _over(host, call),
    )
    host.calls.add(call)
    call.begin(host.executor, caller(host, context, request.id), background=background)
    return call


def come_back(host: Host, params: Any) -> ServedCall:
    """The call to which its client has come back, with answers. Raises MCPError where none waits for that."""
    call = host.unpark(params.request_state)
    if call is None:
        why = "No call waits for this any more: it was answered already, or given up"
        raise MCPError(INVALID_PARAMS, f"{why}. It may have been carried out: look before you make it again")
    call.take(params.input_responses or {})
    return call


async def follow(host: Host, call: ServedCall, context: Any, *, logs: bool) -> t.InputRequiredResult | None:
    """
    Return when there is a result, or what the client is to be asked first.

    Args:
        logs: Whether its output may be sent as log messages.
    """
    turns = _modern_turns if _peers.is_modern(context) else _legacy_turns
    call.relay.attach(Line(context, call.offered.id, logs=logs))
    try:
        with _peers.gone(context, call.leave):
            asked = await turns(call, context)
            await call.relay.flush()
    except asyncio.CancelledError:  # the client does not want the result any more, or is gone
        call.leave()
        raise
    call.relay.attach(None)
    if asked is not None:
        host.park(call)
    return asked


async def _modern_turns(call: ServedCall, context: Any) -> t.InputRequiredResult | None:
    """Until there is a result (None), or questions with which the client is sent away."""
    leaves = call.offered.leaves_after == 0 and _peers.follows_tasks(context)
    while call.result is None:
        # What a tool asks that leaves at once, it asks as a task.
        if call.questions and not (leaves and all(each.inside for each in call.questions.values())):
            requests: dict[str, Any] = {each.id: each.request for each in call.questions.values()}
            return t.InputRequiredResult(input_requests=requests, request_state=call.id)
        await call.turn()
    return None


async def _legacy_turns(call: ServedCall, context: Any) -> None:
    """Until there is a result; the client is asked whatever comes up meanwhile."""
    asking: dict[str, asyncio.Task[None]] = {}
    try:
        while call.result is None:
            await call.turn()
            for question in call.questions.values():
                if question.id not in asking:
                    asking[question.id] = asyncio.ensure_future(_elicit(call, question, context))
    finally:
        for task in asking.values():
            task.cancel()
        if asking:
            await asyncio.wait(asking.values())


async def _elicit(call: ServedCall, question: Question, context: Any) -> None:
    """Ask the client; what it says that is no answer is a no, and where it could not ask nobody has said anything."""
    answer: Answer | None
    try:
        reply = await context.session.elicit_form(
            question.message, question.schema, related_request_id=context.request_id
        )
        answer = question.read(reply)
    except Exception as error:  # noqa: BLE001 -- whatever kept the client from answering
        answer = Answer("error", f"the client that made the call could not ask: {visible(_why(error), 300)}", CLIENT)
    if question.id in call.questions:
        call.settle(question, answer or question.refusal)


def _why(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_input=False, include_url=False)[0]
    return f"its answer is none of the protocol's ({'.'.join(map(str, first['loc']))}: {first['msg']})"


def _over(host: Host, call: ServedCall) -> None:
    host.calls.discard(call)
    if call.task_id is not None:
        host.tasks.pop(call.task_id, None)


def caller(host: Host, context: Any, call_id: str) -> dict[str, Any]:
    """What the permission plugin is told of who calls."""
    # With the call's id: a question about it is not joined with that of another call, whose client may be gone.
    told: dict[str, Any] = {"via": "mcp", "request": call_id}
    if host.agent:
        told["agent"] = host.agent
    label = _peers.client_name(context)
    return told if label is None else {**told, "client": label}


def _new_id() -> str:
    return f"mcp_{secrets.token_hex(8)}"

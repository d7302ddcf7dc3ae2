"""``tools/list`` and ``tools/call``."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

import mcp.types as t
from mcp import MCPError
from mcp.types import INVALID_PARAMS, MISSING_REQUIRED_CLIENT_CAPABILITY

from executor.mcp.serving import _peers
from executor.mcp.serving._call import ServedCall
from executor.mcp.serving._relay import Line
from executor.mcp.serving._results import told_result
from executor.mcp.serving._tasks import created_task
from executor.values import ToolCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from executor.mcp.serving._host import Host
    from executor.mcp.serving._listing import Offered
    from executor.mcp.serving._questions import Question

COMPLETE = {"resultType": "complete"}  # since 2026-07-28 every result says what it is
PAGE = 100  # tools in one answer


class Tools:
    """
    The handlers.

    Args:
        host_of: What is served to whoever sent a request.
        connections: Those of the older era.
    """

    def __init__(self, host_of: Callable[[Any], Awaitable[Host]], connections: _peers.Connections) -> None:
        self._host_of = host_of
        self._connections = connections

    async def list(self, context: Any, params: Any) -> Any:
        """One page of the tools."""
        listing = await (await self._host_of(context)).listing()
        return paged("tools", listing.told, params, PAGE)

    async def call(self, context: Any, params: t.CallToolRequestParams) -> Any:
        """Make a call, or go on with one to which the client has come back with answers."""
        host = await self._host_of(context)
        if params.request_state is not None:
            call = host.unpark(params.request_state)
            if call is None:
                raise MCPError(INVALID_PARAMS, "This call is over: make it again")
            call.take(params.input_responses or {})
        else:
            call = await self._begin(host, context, params)
        return await self._follow(host, call, context)

    async def _begin(self, host: Host, context: Any, params: t.CallToolRequestParams) -> ServedCall:
        offered = (await host.listing()).tools.get(params.name)
        if offered is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        _refuse_without(host.options.requires.get(offered.id, {}), offered, context)
        request = ToolCall(_new_id(), offered.id, params.arguments or {})
        call = ServedCall(
            request,
            offered,
            host.workers,
            reachable=host.asks and _peers.can_elicit(context),
            on_end=lambda: _over(host, call),
        )
        host.calls.add(call)
        call.begin(host.executor, _caller(host, context, request.id), background=False if host.options.wait else None)
        return call

    async def _follow(self, host: Host, call: ServedCall, context: Any) -> Any:
        line = Line(context, call.offered.id, logs=self._connections.takes_logs(context))
        turns = _modern_turns if _peers.is_modern(context) else _legacy_turns
        call.relay.attach(line)
        try:
            asked = await turns(call, context)
            await call.relay.flush()
        except asyncio.CancelledError:  # the client does not want the result any more, or is gone
            call.unreach()
            call.stop()
            raise
        call.relay.attach(None)
        if asked is not None:
            host.park(call)
            return asked
        return _answer(host, call, context)


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
    """Ask the client; what it says that is no answer is a no."""
    try:
        reply = await context.session.elicit_form(
            question.message, question.schema, related_request_id=context.request_id
        )
        answer = question.read(reply)
    except Exception:  # noqa: BLE001 -- whatever kept the client from answering: nobody has said yes
        answer = None
    if question.id in call.questions:
        call.settle(question, answer or question.refusal)


def _answer(host: Host, call: ServedCall, context: Any) -> Any:
    """The result; where the client follows tasks, the task that the call became."""
    assert call.result is not None, "the turns are over"
    if call.task_id is not None:
        if _peers.follows_tasks(context):
            if call in host.calls:
                host.tasks[call.task_id] = call
            return created_task(host, call.task_id)
        call.unreach()
    told = told_result(call.result, context.protocol_version, has_schema=call.offered.has_schema)
    return {**told, **COMPLETE}


def _over(host: Host, call: ServedCall) -> None:
    host.calls.discard(call)
    if call.task_id is not None:
        host.tasks.pop(call.task_id, None)


def _refuse_without(needed: Mapping[str, Any], offered: Offered, context: Any) -> None:
    """Raises MCPError where the client has not declared what is *needed* for a tool."""
    if needed and not _peers.declares(context, needed):
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"{offered.id} cannot be called by a client that does not declare {', '.join(_peers.named(needed))}",
            {"requiredCapabilities": needed},
        )


def _caller(host: Host, context: Any, call_id: str) -> dict[str, Any]:
    """What the permission plugin is told of who calls."""
    # With the call's id: a question about it is not joined with that of another call, whose client may be gone.
    told: dict[str, Any] = {"via": "mcp", "request": call_id}
    if host.principal:
        told["agent"] = host.principal
    label = _peers.client_name(context)
    return told if label is None else {**told, "client": label}


def _new_id() -> str:
    return f"mcp_{secrets.token_hex(8)}"


def paged(name: str, items: Any, params: Any, size: int) -> dict[str, Any]:
    """
    One page of *items* as a result has it: under *name*, with ``nextCursor`` where there are more.

    Raises:
        MCPError: The cursor is none that was given out.
    """
    cursor = params.cursor if params is not None else None
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise MCPError(INVALID_PARAMS, f"{cursor[:100]!r} is no cursor: begin again without one")
    begin = int(cursor or 0)
    # Nothing is kept by the client: whoever wants to know of changes is told of them.
    page: dict[str, Any] = {name: items[begin : begin + size], **COMPLETE, "ttlMs": 0, "cacheScope": "private"}
    if begin + size < len(items):
        page["nextCursor"] = str(begin + size)
    return page

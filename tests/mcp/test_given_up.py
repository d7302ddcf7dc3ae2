"""What a server over HTTP goes on sending though nobody waits for it any more, or never takes."""

from __future__ import annotations

import asyncio
import gzip
import importlib.util
import json
import threading
from pathlib import Path

import mcp.types as t
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from executor.errors import ToolFailedError, ToolTimeoutError
from executor.mcp import _http
from executor.mcp._pace import LINES_BURST, LINES_PER_SECOND, LONG_LINE, PIECE, LinePace
from executor.mcp._sent import GivenUpError, sending, sent
from executor.mcp._sieve import _Asked

_spec = importlib.util.spec_from_file_location("mcp_web", Path(__file__).with_name("web.py"))
_web = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_web)

EVENTS = {"content-type": "text/event-stream"}


class Odd:
    """
    A server of the revision 2025-11-25 without SDK.

    Attributes:
        answers: What it answers to a tool, by its name; a coroutine function of the number of the request.
        notice: The same for a notification; of the method.
        goodbye: The same for the end of a session.
        left: Set when an answer that has no end has lost its reader.
        held: Set when something is kept waiting.
    """

    def __init__(self):
        self.answers, self.notice, self.goodbye = {}, None, None
        self.left, self.held = threading.Event(), threading.Event()
        self.app = Starlette(routes=[Route("/mcp", self.endpoint, methods=["POST", "GET", "DELETE"])])

    async def endpoint(self, request):
        if request.method != "POST":
            if request.method == "DELETE" and self.goodbye is not None:
                return await self.goodbye()
            return Response(status_code=405)
        told = json.loads(await request.body())
        method, number = told.get("method"), told.get("id")
        if number is None:
            return await self.notice(method) if self.notice is not None else Response(status_code=202)
        if method == "initialize":
            info = {"name": "odd", "version": "1"}
            told = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            return self.result(number, told, {"Mcp-Session-Id": "s"})
        if method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("do", *self.answers)]
            return self.result(number, {"tools": tools})
        if method != "tools/call":
            error = {"code": -32601, "message": "no"}
            return JSONResponse({"jsonrpc": "2.0", "id": number, "error": error}, status_code=404)
        name = told["params"]["name"]
        if name in self.answers:
            return await self.answers[name](number)
        return self.result(number, {"content": [{"type": "text", "text": "done"}]})

    @staticmethod
    def result(number, result, headers=None):
        return JSONResponse({"jsonrpc": "2.0", "id": number, "result": result}, headers=headers)

    async def hold(self, *_):
        """Never answer, until whoever asked is gone."""
        self.held.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left.set()

    def endless(self, kind, chunk):
        """An answer of *chunk* again and again."""

        async def chunks():
            try:
                while True:
                    yield chunk
                    await asyncio.sleep(0)
            finally:
                self.left.set()

        async def answer(_):
            return StreamingResponse(chunks(), headers={"content-type": kind})

        return answer


@pytest.fixture
def odd():
    server = Odd()
    served = _web.Served(server.app, lifespan="off")
    server.url = f"{served.url}/mcp"
    yield server
    served.stop()


@pytest.mark.parametrize(
    ("kind", "chunk"),
    [
        ("text/event-stream", b": nothing\n\n" * 100),
        ("text/event-stream", b"id: 7\n\n" * 100),  # after which the SDK would ask for the rest
        ("text/event-stream", b'data: {"jsonrpc": "2.0", "method": "notifications/x"}\n\n'),
        ("application/json", b" "),
    ],
)
def test_what_comes_after_a_call_was_given_up_is_not_read(bridge_to, odd, kind, chunk):
    odd.answers["flood"] = odd.endless(kind, chunk)
    bridge = bridge_to({"s": {"url": odd.url}})
    assert bridge.call_tool("s", "do").content[0].text == "done"
    with pytest.raises(ToolTimeoutError):
        bridge.call_tool("s", "flood", timeout=0.5)
    assert odd.left.wait(10)
    assert bridge.call_tool("s", "do").content[0].text == "done"
    assert bridge.status()["s"].starts == 1


def test_a_notice_that_is_never_taken_holds_up_no_call_for_ever(bridge_to, odd, monkeypatch):
    monkeypatch.setattr(_http, "NOTICE_SECONDS", 0.2)
    odd.answers["hang"] = odd.hold

    async def notice(method):
        return await odd.hold() if method == "notifications/cancelled" else Response(status_code=202)

    odd.notice = notice
    bridge = bridge_to({"s": {"url": odd.url}})
    bridge.call_tool("s", "do")
    with pytest.raises(ToolTimeoutError):
        bridge.call_tool("s", "hang", timeout=0.3)
    assert bridge.call_tool("s", "do", timeout=20).content[0].text == "done"


def test_the_end_of_a_session_that_is_never_taken_is_no_end_of_the_server(bridge_to, odd, monkeypatch):
    monkeypatch.setattr(_http, "GOODBYE_SECONDS", 0.2)
    odd.goodbye = odd.hold
    bridge = bridge_to({"s": {"url": odd.url}})
    bridge.call_tool("s", "do")
    bridge.stop("s")
    assert odd.held.is_set()
    assert bridge.call_tool("s", "do", timeout=20).content[0].text == "done"


def test_a_redirect_that_breaks_costs_no_other_call(bridge_to, odd):
    begun, finish = threading.Event(), asyncio.Event()
    loops = []

    async def slow(number):
        loops.append(asyncio.get_running_loop())
        begun.set()
        await finish.wait()
        return odd.result(number, {"content": [{"type": "text", "text": "slow"}]})

    async def broken(_):
        headers = {"location": "/mcp", "content-encoding": "gzip"}
        return Response(b"this is not packed", 307, headers=headers)

    odd.answers.update(slow=slow, broken=broken)
    bridge, got = bridge_to({"s": {"url": odd.url}}), []
    thread = threading.Thread(target=lambda: got.append(bridge.call_tool("s", "slow").content[0].text))
    thread.start()
    assert begun.wait(20)
    try:
        with pytest.raises(ToolFailedError, match="Redirect"):  # it leads to itself
            bridge.call_tool("s", "broken", timeout=20)
    finally:
        loops[0].call_soon_threadsafe(finish.set)
        thread.join()
    assert got == ["slow"]


def test_events_that_were_packed_small_do_not_hold_up_the_calls_beside_them(bridge_to, odd):
    async def bomb(_):
        return Response(gzip.compress(b"\n" * 2**24), headers={**EVENTS, "content-encoding": "gzip"})

    odd.answers["bomb"] = bomb
    bridge = bridge_to({"s": {"url": odd.url}})
    bridge.call_tool("s", "do")
    with pytest.raises(ToolTimeoutError):  # after its burst it is read slowly, and meanwhile the loop has its turns
        bridge.call_tool("s", "bomb", timeout=3)
    assert bridge.call_tool("s", "do", timeout=5).content[0].text == "done"


def test_a_request_is_over_when_it_was_answered_or_given_up_and_nothing_is_awaited_for_it():
    async def run():
        asked = _Asked()
        first = asked.put(t.JSONRPCRequest(jsonrpc="2.0", id=1, method="ping"))
        second = asked.put(t.JSONRPCRequest(jsonrpc="2.0", id=2, method="ping"))
        assert asked.put(t.JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")) is None
        with sending(second):
            assert sent() is second
        assert sent() is None
        asleep = asyncio.create_task(second.wait(asyncio.Event().wait))
        await asyncio.sleep(0)
        told = {"requestId": 2}
        asked.put(t.JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=told))
        with pytest.raises(GivenUpError):
            await asleep
        asked.take(1)
        with pytest.raises(GivenUpError):
            await first.wait(asyncio.Event().wait)

    asyncio.run(run())


def test_lines_beyond_a_burst_are_waited_for_and_a_long_one_is_not():
    now = [0.0]
    pace = LinePace(lambda: now[0])
    lines = b": x\n" * (PIECE // 4)
    assert [pace.owed(lines) for _ in range(int(LINES_BURST) // PIECE)] == [0.0] * (int(LINES_BURST) // PIECE)
    assert pace.owed(lines) == pytest.approx(PIECE / LINES_PER_SECOND)
    now[0] += 1e6
    assert pace.owed(b"x" * int(LINES_BURST) * 4 + b"\n") == 0.0
    assert pace.owed(b"\n") == 0.0
    assert LONG_LINE < PIECE
    assert [len(piece) for piece in pace.pieces(b"\n" * (2 * PIECE + 1))] == [PIECE, PIECE, 1]

"""Floods, hangs and long answers of one server, beside another one that is called."""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import threading
import time

import mcp.types as t
import pytest
from mcp.shared.message import SessionMessage

from executor.errors import BackendUnavailableError, ToolTimeoutError
from executor.mcp._pace import BURST, FREE, PAUSE_AFTER, PER_SECOND, Pace
from executor.mcp._sieve import _Asked, _Reader
from executor.mcp._values import ServerConfig


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_a_burst_is_taken_and_a_flood_is_not():
    clock = Clock()
    pace = Pace(clock)
    assert all(pace.admits() for _ in range(BURST))
    assert not pace.admits()
    clock.now += 10 / PER_SECOND
    assert [pace.admits() for _ in range(12)] == [True] * 10 + [False] * 2
    clock.now += 3600
    assert sum(pace.admits() for _ in range(2 * BURST)) == BURST


def test_others_have_their_turn_between_the_messages_of_a_flood():
    async def run():
        pace, turns = Pace(Clock()), []

        async def other():
            while True:
                turns.append(pace.dropped)
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        for _ in range(BURST + 3 * PAUSE_AFTER):
            pace.admits()
            await pace.turn()
        task.cancel()
        return turns, pace.dropped

    turns, dropped = asyncio.run(run())
    assert dropped == 3 * PAUSE_AFTER
    assert turns.count(0) > BURST - FREE  # after each that was taken
    assert set(turns) >= {PAUSE_AFTER, 2 * PAUSE_AFTER}


@pytest.fixture
def pair(bridge_to, raw):
    """A bridge to a quiet server and one that misbehaves; and the median of the times of calls of the quiet one."""
    bridge = bridge_to({"quiet": raw(), "loud": raw()})
    for server in ("quiet", "loud"):
        bridge.call_tool(server, "echo", {"text": "it runs"})

    def call_time(calls=60):
        times = []
        for index in range(calls):
            began = time.perf_counter()
            assert bridge.call_tool("quiet", "echo", {"text": str(index)}, timeout=20).content[0].text == str(index)
            times.append(time.perf_counter() - began)
        return statistics.median(times)

    return bridge, call_time


def test_a_flood_of_one_server_leaves_the_others_their_calls(pair):
    bridge, call_time = pair
    idle = call_time()
    assert bridge.call_tool("loud", "flood", {}).content[0].text == "it begins"
    print(f"a call beside a flood: {call_time() * 1000:.2f} ms, idle {idle * 1000:.2f} ms")
    bridge.stop("loud")


def test_a_line_without_end_of_one_server_leaves_the_others_their_calls(pair):
    bridge, call_time = pair
    idle, ended = call_time(), []

    def endless():
        with pytest.raises(BackendUnavailableError) as caught:
            bridge.call_tool("loud", "endless", timeout=60)
        ended.append(caught.value)

    thread = threading.Thread(target=endless)
    thread.start()
    print(f"a call beside 64 MiB: {call_time(20) * 1000:.2f} ms, idle {idle * 1000:.2f} ms")
    thread.join()
    assert "67108864 bytes" in str(ended[0])


def test_a_server_that_hangs_is_started_again_at_its_next_use(pair, monkeypatch):
    from executor.mcp import _session

    monkeypatch.setattr(_session, "PING_SECONDS", 0.3)
    bridge, _ = pair
    pid = bridge.status()["loud"].pid
    with pytest.raises(ToolTimeoutError):
        bridge.call_tool("loud", "stop", timeout=0.5)
    assert bridge.call_tool("loud", "echo", {"text": "works"}, timeout=20).content[0].text == "works"
    assert bridge.status()["loud"].pid != pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_server_that_hangs_is_started_again_though_it_is_never_used_by_one_alone(pair, monkeypatch):
    from executor.mcp import _session

    monkeypatch.setattr(_session, "PING_SECONDS", 0.3)
    bridge, _ = pair
    os.kill(bridge.status()["loud"].pid, signal.SIGSTOP)
    answered, begun = [], threading.Barrier(2)

    def call(offset):
        begun.wait()
        for attempt in range(40):
            try:
                seconds = 0.8 + offset if attempt == 0 else 0.8
                answered.append(bridge.call_tool("loud", "echo", {"text": "works"}, timeout=seconds))
                return
            except (ToolTimeoutError, BackendUnavailableError):
                pass

    threads = [threading.Thread(target=call, args=(offset,)) for offset in (0.0, 0.4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.content[0].text for answer in answered] == ["works", "works"]
    assert bridge.status()["loud"].starts == 2


def test_a_server_that_reads_nothing_any_more_is_started_again_whatever_it_has_not_read(pair, monkeypatch):
    from executor.mcp import _session

    monkeypatch.setattr(_session, "PING_SECONDS", 0.3)
    bridge, _ = pair
    with pytest.raises(ToolTimeoutError):
        bridge.call_tool("loud", "stop", timeout=0.5)

    def fill():
        with pytest.raises((ToolTimeoutError, BackendUnavailableError)):
            bridge.call_tool("loud", "echo", {"text": "x" * 1_000_000}, timeout=0.5)

    threads = [threading.Thread(target=fill) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bridge.call_tool("loud", "echo", {"text": "works"}, timeout=20).content[0].text == "works"


def test_a_server_that_is_only_slow_is_not(pair, tmp_path):
    bridge, _ = pair
    pid = bridge.status()["loud"].pid
    with pytest.raises(ToolTimeoutError):
        bridge.call_tool("loud", "hang", {"text": str(tmp_path / "marker")}, timeout=0.5)
    assert bridge.call_tool("loud", "echo", {"text": "works"}).content[0].text == "works"
    assert (bridge.status()["loud"].pid, bridge.status()["loud"].starts) == (pid, 1)
    os.kill(pid, signal.SIGCONT)


def test_of_too_many_tools_it_is_said_how_many_are_left_out(bridge_to):
    from mcp.server import MCPServer

    from executor.mcp import _client

    server = MCPServer("many", log_level="CRITICAL")
    for number in range(12):
        server.add_tool(lambda: "", name=f"t{number}")
    most, _client.MOST_TOOLS = _client.MOST_TOOLS, 10
    try:
        listing = bridge_to({"s": server}).listing("s")
    finally:
        _client.MOST_TOOLS = most
    assert len(listing.tools) == 10
    assert dict(listing.left_out) == {"…": "2 after the first 10 tools: it has too many"}


class Ear:
    def __init__(self):
        self.told = []

    def heard(self):
        pass

    def asks(self, method):
        pass

    def refresh(self, what):
        self.told.append(what)


def test_of_what_nobody_asked_for_too_much_is_dropped_but_no_change_is_missed():
    ear = Ear()
    reader = _Reader(None, _Asked(), ear, ServerConfig("s"))
    reader._pace = Pace(Clock())

    def passing(kind, **fields):
        messages = [kind(jsonrpc="2.0", **fields) for _ in range(2 * BURST)]
        return sum(reader._passes(SessionMessage(message)) for message in messages)

    assert passing(t.JSONRPCNotification, method="notifications/tools/list_changed") == BURST
    assert ear.told == ["tools"] * 2 * BURST
    assert passing(t.JSONRPCNotification, method="notifications/nothing") == 0
    assert passing(t.JSONRPCResponse, id=7, result={}) == 0
    assert passing(t.JSONRPCError, id=7, error=t.ErrorData(code=1, message="x")) == 0
    assert passing(t.JSONRPCRequest, id=7, method="ping") == 2 * BURST  # each has to be answered; it waits
    reader._asked.put(t.JSONRPCRequest(jsonrpc="2.0", id=8, method="ping"))
    answer = SessionMessage(t.JSONRPCResponse(jsonrpc="2.0", id=8, result={}))
    assert [reader._passes(answer) for _ in range(2)] == [True, False]

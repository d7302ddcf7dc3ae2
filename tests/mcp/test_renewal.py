"""Tokens that are renewed without a person: by one at a time, and with no call waiting for another."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from executor import CancelToken
from executor.errors import BackendUnavailableError, ToolCancelledError
from executor.mcp import MCPBridge, login
from executor.mcp._oauth import Login
from executor.wholefiles import locking


@pytest.fixture
def slow(world, browser):
    """Makes bridges to the server after a log-in, and there a tool that begins and ends with these events."""
    began, end = threading.Event(), threading.Event()

    async def work() -> str:
        began.set()
        await asyncio.to_thread(end.wait, 20)
        return "done"

    world.server.add_tool(work, name="work")
    login(world.config, browser)
    with contextlib.ExitStack() as stack, ThreadPoolExecutor() as pool:
        stack.callback(end.set)
        yield lambda: stack.enter_context(MCPBridge({"guarded": world.config}, cache=None)), began, end, pool


def call(bridge, tool="echo", **arguments):
    return bridge.call_tool("guarded", tool, arguments, timeout=20).content[0].text


def test_a_call_that_takes_long_keeps_no_other_waiting(slow):
    bridge_to, began, end, pool = slow
    bridge = bridge_to()
    working = pool.submit(call, bridge, "work")
    assert began.wait(20)
    assert call(bridge, text="hello") == "hello"
    assert not working.done()
    end.set()
    assert working.result() == "done"


def test_tokens_that_another_process_renews_in_a_call_are_taken_by_the_next(world, slow):
    bridge_to, began, end, pool = slow
    one, other = bridge_to(), bridge_to()  # they share nothing but the file
    working = pool.submit(call, one, "work")
    assert began.wait(20)
    world.access.clear()
    assert call(other, text="hello") == "hello"
    end.set()
    assert working.result() == "done"
    assert call(one, text="hello") == "hello"
    assert (world.renewed, len(world.asked)) == (1, 1)


def test_processes_that_renew_at_once_take_turns(world, slow, monkeypatch):
    bridge_to, _, _, pool = slow
    one, other = bridge_to(), bridge_to()
    for bridge in (one, other):
        call(bridge, text="hello")
    second = threading.Event()  # has come: here, or to the authority

    @contextlib.contextmanager
    def watched(path):
        with locking(path) as pauses:
            yield (second.set() or pause for pause in pauses)

    monkeypatch.setattr("executor.mcp._oauth.locking", watched, raising=False)
    first = threading.Lock()
    world.may_renew = lambda: second.wait(20) if first.acquire(blocking=False) else second.set()
    world.access.clear()
    calls = [pool.submit(call, bridge, text="hello") for bridge in (one, other)]
    assert [made.result() for made in calls] == ["hello", "hello"]
    assert (world.renewed, len(world.asked)) == (1, 1)


def test_renewed_tokens_that_cannot_be_kept_are_used_all_the_same(world, slow, monkeypatch, caplog):
    bridge = slow[0]()
    call(bridge, text="hello")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("executor.mcp._oauth.replace_file", full)
    world.access.clear()
    assert [call(bridge, text="hello") for _ in range(2)] == ["hello", "hello"]
    assert world.renewed == 1
    assert "could not be kept" in caplog.text


@pytest.fixture
def held(world):
    """A renewal that the authority has come to, and has not answered; and what has it answer."""
    came, go = threading.Event(), threading.Event()
    world.may_renew = lambda: came.set() or go.wait(20)
    yield came, go
    go.set()


@pytest.mark.parametrize("then", ["goes on", "closes"])
def test_a_call_that_is_cancelled_while_tokens_are_renewed_does_not_lose_them(world, slow, held, then):
    bridge_to, _, _, pool = slow
    came, go = held
    bridge, token = bridge_to(), CancelToken()
    call(bridge, text="hello")
    world.access.clear()
    made = pool.submit(bridge.call_tool, "guarded", "echo", {"text": "hello"}, timeout=20, cancel=token)
    assert came.wait(20)
    token.cancel()
    with pytest.raises(ToolCancelledError):
        made.result()
    if then == "closes":
        closing = pool.submit(bridge.close)
        go.set()
        closing.result()
        bridge = bridge_to()
    go.set()
    assert call(bridge, text="hello") == "hello"
    assert (world.renewed, len(world.asked)) == (1, 1)


def test_a_lock_that_is_not_let_go_of_is_waited_for_once_by_all(world, slow, monkeypatch):
    bridge_to, _, _, pool = slow
    bridge, old, waits = bridge_to(), [], []
    call(bridge, text="hello")
    newest = Login._newest

    def noted(login):
        is_new = newest(login)
        if not is_new:
            old.append(login)
        return is_new

    @contextlib.contextmanager
    def stopped(path):
        def pauses():
            while len(old) < 2:
                yield 0.0
            raise TimeoutError(errno.ETIMEDOUT, "Process 7 has not let go of this file", str(path))

        waits.append(path)
        yield pauses()

    monkeypatch.setattr(Login, "_newest", noted)
    monkeypatch.setattr("executor.mcp._oauth.locking", stopped)
    world.access.clear()
    for made in [pool.submit(call, bridge, text="hello") for _ in range(2)]:
        with pytest.raises(BackendUnavailableError, match=r"renewed: .*Process 7 has not let go"):
            made.result()
    assert len(waits) == 1


def test_tokens_that_cannot_be_renewed_for_a_disk_end_no_other_call(world, slow, monkeypatch):
    bridge_to, began, end, pool = slow
    bridge = bridge_to()
    working = pool.submit(call, bridge, "work")
    assert began.wait(20)

    def read_only(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("executor.mcp._oauth.replace_file", read_only)
    world.access.clear()
    world.clients.clear()  # so that the client is to be forgotten
    with pytest.raises(BackendUnavailableError, match=r"could not be renewed: .*Read-only file system"):
        call(bridge, text="hello")
    end.set()
    assert working.result() == "done"


def test_an_authority_that_does_not_answer_a_renewal_is_not_waited_for_for_ever(world, slow, held, monkeypatch):
    bridge = slow[0]()
    call(bridge, text="hello")
    monkeypatch.setattr("executor.mcp._oauth.ANSWER_SECONDS", 0.1)
    world.access.clear()
    with pytest.raises(BackendUnavailableError, match="its tokens could not be renewed: TimeoutError"):
        call(bridge, text="hello")

"""The opening of a stream: whoever may stop the call need not wait for a backend elsewhere that does not answer."""

from __future__ import annotations

import threading

import pytest

from executor import CancelToken, ToolExecutor, errors
from executor.run import StreamEvent
from executor.testing import HeldTool, StubStreams


class Opening(StubStreams):
    """Streams that open in their own time; knows in which threads they were opened."""

    def __init__(self, opened=None, arrived=None):
        super().__init__([StreamEvent("done")])
        self.threads = []
        self._opened, self._arrived = opened, arrived

    def call_tool_stream(self, *where, **options):
        self.threads.append(threading.current_thread())
        if self._opened is not None:
            self._arrived()
            assert self._opened.wait(20)
        return super().call_tool_stream(*where, **options)


@pytest.mark.parametrize("timeout", [None, 30.0])
def test_a_cancel_ends_the_wait_for_a_stream_that_does_not_open(remote, timeout):
    opened, token = threading.Event(), CancelToken()
    backend = Opening(opened, lambda: token.cancel("enough"))
    try:
        with pytest.raises(errors.ToolCancelledError, match="enough"):
            remote("mcp", backend).run_stream("x", cancel=token, timeout=timeout)
    finally:
        opened.set()
    assert len(backend.threads) == 1


@pytest.mark.parametrize("cancel", [None, CancelToken()])
def test_a_time_limit_ends_the_wait_for_a_stream_that_does_not_open(remote, cancel):
    opened = threading.Event()
    try:
        with pytest.raises(errors.ToolTimeoutError):
            remote("mcp", Opening(opened, lambda: None)).run_stream("x", cancel=cancel, timeout=0.02)
    finally:
        opened.set()


def test_a_stream_that_cannot_be_opened_fails_at_once_whoever_may_stop_it(remote):
    class Broken(StubStreams):
        def call_tool_stream(self, *where, **options):
            raise SystemExit("broken")

    with pytest.raises(errors.ToolError, match="broken"):
        remote("mcp", Broken([])).run_stream("x", timeout=50)


def test_a_stream_that_nobody_can_stop_is_opened_in_the_callers_thread(remote):
    backend = Opening()
    assert [str(event.kind) for event in remote("mcp", backend).run_stream("x")] == ["done"]
    assert backend.threads == [threading.current_thread()]


def test_a_local_stream_opens_while_every_worker_is_busy():
    with ToolExecutor(max_workers=1) as executor, HeldTool() as tool:
        executor.register("holder", tool, timeout=30)
        executor.register("count", lambda args: (yield 1), timeout=5)
        holding = threading.Thread(target=executor.execute, args=("holder", {}))
        holding.start()
        assert tool.started.wait(10)
        stream = executor.execute_stream("count")
        assert tool.calls == 1
        tool.go_on()
        assert next(stream).data == 1
        assert str(next(stream).kind) == "done"
        holding.join(10)


@pytest.mark.parametrize("timeout", [None, 30.0])
def test_a_call_that_its_own_opening_stops_gives_no_stream(remote, timeout):
    class Stopping(StubStreams):
        def call_tool_stream(self, *where, **options):
            options["cancel"].cancel("enough")
            return super().call_tool_stream(*where, **options)

    with pytest.raises(errors.ToolCancelledError, match="enough"):
        remote("mcp", Stopping([StreamEvent("done")])).run_stream("x", timeout=timeout)

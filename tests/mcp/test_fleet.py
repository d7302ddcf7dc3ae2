"""What a bridge keeps of its servers: one loop, one of each server, and one end."""

from __future__ import annotations

import os
import re
import sys
import threading

import pytest

from executor.errors import BackendUnavailableError, ToolCancelledError
from executor.mcp._fleet import Fleet

SECONDS = 10.0


@pytest.fixture
def fleet():
    made = Fleet()
    yield made
    made.close()


def test_closing_cancels_the_calls_that_run_and_their_servers_are_told(bridge_to, raw, tmp_path):
    fifo, errors = tmp_path / "fifo", []
    os.mkfifo(fifo)
    bridge = bridge_to({"s": raw()})

    def call():
        try:
            bridge.call_tool("s", "hang", {"text": str(fifo)})
        except ToolCancelledError as error:
            errors.append(error)

    calling, closing = threading.Thread(target=call), threading.Thread(target=bridge.close)
    calling.start()
    assert fifo.read_text() == "started"
    closing.start()
    assert fifo.read_text() == "cancelled"
    calling.join(SECONDS)
    closing.join(SECONDS)
    assert len(errors) == 1
    assert bridge.status()["s"].state == "stopped"


def test_threads_that_want_a_server_at_once_get_the_same_one(fleet):
    barrier, got = threading.Barrier(4), []

    def ask():
        barrier.wait(SECONDS)
        got.append(fleet.server("s", lambda kind: object()))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert len(got) == 4
    assert len(set(got)) == 1


def test_without_the_package_mcp_a_server_is_unavailable_and_the_error_says_what_to_do(fleet, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    for _ in range(2):
        with pytest.raises(BackendUnavailableError, match=re.escape("pip install 'mcp>=2.3,<3'")) as caught:
            fleet.server("s", pytest.fail)
        assert caught.value.started is False


def test_no_server_is_called_from_the_thread_on_which_all_run(fleet):
    async def asks():
        return fleet.loop

    with pytest.raises(RuntimeError, match="use another thread"):
        fleet.loop.run(asks())


def test_a_closed_fleet_has_no_servers(fleet):
    fleet.close()
    with pytest.raises(BackendUnavailableError, match="have been closed"):
        fleet.server("s", pytest.fail)

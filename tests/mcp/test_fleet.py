"""What a bridge keeps of its servers: one loop, one of each server, and one end."""

from __future__ import annotations

import os
import threading

import pytest

from executor.errors import BackendUnavailableError, ToolCancelledError
from executor.mcp._fleet import MOST_OF_CLIENTS, Fleet

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
        got.append(fleet.server("s", "", lambda: object()))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert len(got) == 4
    assert len(set(got)) == 1


def test_no_server_is_called_from_the_thread_on_which_all_run(fleet):
    async def asks():
        return fleet.loop

    with pytest.raises(RuntimeError, match="use another thread"):
        fleet.loop.run(asks())


def test_a_bridge_that_is_closed_asks_no_server(bridge_to, raw):
    bridge = bridge_to({"s": raw()})
    bridge.close()
    with pytest.raises(BackendUnavailableError, match="have been closed"):
        bridge.call_tool("s", "echo")
    assert bridge.status()["s"].starts == 0


class Made:
    """A server of a client."""

    def __init__(self):
        self.busy = False
        self.ended = threading.Event()

    async def stop(self):
        self.ended.set()


def test_each_client_has_its_own_until_it_is_gone(fleet):
    mine, yours, ours = (fleet.server("s", client, lambda: Made()) for client in ("me", "you", ""))
    assert len({mine, yours, ours}) == 3
    assert fleet.server("s", "me", pytest.fail) is mine
    fleet.end_client("me")
    assert mine.ended.wait(SECONDS)
    assert fleet.server("s", "me", lambda: Made()) is not mine
    fleet.end_client("")
    assert fleet.server("s", "", pytest.fail) is ours
    assert not yours.ended.is_set()


def test_a_client_that_takes_new_names_ends_its_own_servers(fleet):
    yours = [fleet.server("s", f"bob/{number}", lambda: Made()) for number in range(10)]
    for number in range(2 * MOST_OF_CLIENTS):
        fleet.server("s", f"ada/{number}", lambda: Made())
    assert not any(server.ended.is_set() for server in yours)
    for (_, client), server in fleet.servers.items():
        server.busy = client.startswith("ada/")
    with pytest.raises(BackendUnavailableError):
        fleet.server("s", "ada/another", pytest.fail)
    more = [fleet.server("s", f"eve/{number}", lambda: Made()) for number in range(5)]
    assert not any(server.ended.is_set() for server in (*yours, *more))
    assert len(fleet.servers) <= MOST_OF_CLIENTS


def test_of_too_many_the_one_that_was_not_used_for_longest_goes_if_it_is_idle(fleet):
    made = [fleet.server("s", f"client {number}", lambda: Made()) for number in range(MOST_OF_CLIENTS)]
    fleet.server("s", "client 0", pytest.fail)
    made[1].busy = True
    fleet.server("s", "one more", lambda: Made())
    assert made[2].ended.wait(SECONDS)
    assert not made[0].ended.is_set()
    assert not made[1].ended.is_set()
    for server in fleet.servers.values():
        server.busy = True
    with pytest.raises(BackendUnavailableError, match='"shared": true'):
        fleet.server("s", "another", pytest.fail)

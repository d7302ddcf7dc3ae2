"""Tools of an executor in another process, as a provider."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from executor.errors import BackendUnavailableError, ToolCancelledError, ToolFailedError
from executor.mcp import RemoteExecutorProvider
from executor.run import CancelToken, Runner, Tool, ToolBackend

ENTRY = {"command": sys.executable, "args": [str(Path(__file__).with_name("executor_server.py"))]}


@pytest.fixture
def remote():
    with RemoteExecutorProvider({"there": ENTRY, "down": {"command": "no-such-executor"}}, cache=None) as provider:
        yield provider


def test_values_come_back_as_they_were(remote):
    assert remote.call_tool("there", "double", {"n": 21}) == 42
    assert remote.call_tool("there", "pair", {"b": [1, None]}) == {"a": 1, "b": [1, None]}
    assert remote.call_tool("there", "wrapped", {"value": 5}) == {"result": 5}
    assert remote.call_tool("there", "wrapped", {"value": "x"}) == {"result": "x"}


def test_a_failure_over_there_is_a_failure_here(remote):
    with pytest.raises(ToolFailedError, match="division by zero"):
        remote.call_tool("there", "fail", {})


def test_a_process_that_is_not_there_is_unavailable(remote):
    with pytest.raises(BackendUnavailableError, match="no program"):
        remote.call_tool("down", "double", {"n": 1})


def test_its_tools_are_told_with_what_they_say_of_themselves(remote):
    tools = remote.tools("there")
    assert set(tools) == {"double", "pair", "wrapped", "fail", "wait"}
    assert tools["double"].annotations.read_only


def test_the_run_layer_calls_them_and_cancelling_reaches_the_other_process(remote, tmp_path):
    marker = tmp_path / "marker"
    os.mkfifo(marker)
    runner = Runner(
        tool_resolver=lambda name: Tool(name),
        backends_resolver=lambda name: [ToolBackend.provider("there", name)],
        provider=remote,
    )
    assert runner.run("double", {"n": 2}).structured == 4
    token, caught = CancelToken(), []

    def call():
        try:
            runner.run("wait", {"marker": str(marker)}, cancel=token)
        except ToolCancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert marker.read_text() == "started"
    token.cancel()
    assert marker.read_text() == "cancelled"
    thread.join()
    assert caught
    runner.close()

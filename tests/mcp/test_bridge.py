"""Calls through the bridge to servers that behave: real processes, and one inside this process."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from executor import CancelToken, ToolCall, ToolExecutor, current_call
from executor.errors import BackendUnavailableError, ToolCancelledError, ToolFailedError, ToolTimeoutError
from executor.mcp import MCPBridge, parse_entry


@pytest.fixture
def fifo(tmp_path):
    """A pipe by name: reading it waits until the server writes into it."""
    path = tmp_path / "marker"
    os.mkfifo(path)
    return path


@pytest.fixture(params=["today", "before"])
def either(request, bridge_to, small_server, raw):
    """A bridge to a server of the current revision, and to one of those before it."""
    return bridge_to({"s": small_server if request.param == "today" else raw()})


def text_of(result) -> str:
    return result.content[0].text


def test_a_tool_that_is_not_the_one_that_is_meant_is_not_called(bridge_to, raw):
    bridge, seen = bridge_to({"s": raw()}), []
    assert bridge.call_tool("s", "echo", {"text": "x"}, meant=lambda told: not seen.append(told["name"])).content
    assert seen == ["echo"]
    with pytest.raises(ToolFailedError, match="s: hang was not called"):
        bridge.call_tool("s", "hang", {"text": "/never/written"}, meant=lambda _: False)


def test_a_call_is_answered_and_the_server_keeps_running(either):
    first = either.call_tool("s", "echo", {"text": "hello"})
    assert "hello" in text_of(first)
    pid = either.status()["s"].pid
    assert "again" in text_of(either.call_tool("s", "echo", {"text": "again"}))
    status = either.status()["s"]
    assert (status.pid, status.starts, status.answered, status.calls, status.state) == (pid, 1, 2, 0, "running")


def test_a_server_is_started_by_its_first_call_and_gone_after_close(bridge_to, raw):
    bridge = bridge_to({"s": raw()})
    assert (bridge.status()["s"].state, bridge.status()["s"].starts) == ("stopped", 0)
    bridge.call_tool("s", "echo", {"text": "x"})
    pid = bridge.status()["s"].pid
    bridge.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(BackendUnavailableError, match="closed"):
        bridge.call_tool("s", "echo", {"text": "x"})


def test_nothing_of_the_sdk_is_imported_before_the_first_use(tmp_path):
    program = f"""
import sys
from executor.mcp import MCPBridge, parse_entry
bridge = MCPBridge({{"s": {{"command": "none"}}}}, cache={str(tmp_path)!r})
bridge.status(), bridge.known_listing("s"), bridge.close()
print([name for name in ("mcp", "pydantic", "anyio", "httpx2", "asyncio") if name in sys.modules])
"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_an_error_answer_is_an_answer(bridge_to, small_server):
    result = bridge_to({"s": small_server}).call_tool("s", "fail", {"text": "no milk"})
    assert result.is_error
    assert "no milk" in text_of(result)


def test_a_refused_request_is_a_failure_with_the_servers_words(bridge_to, raw):
    with pytest.raises(ToolFailedError, match=r"no resources/read here \(MCP error -32601\)"):
        bridge_to({"s": raw()}).read_resource("s", "memo://one")


def test_progress_comes_in_order_in_the_thread_that_waits(bridge_to, small_server):
    told = []
    bridge_to({"s": small_server}).call_tool(
        "s",
        "steps",
        {"count": 5},
        on_progress=lambda *news: told.append((news, threading.current_thread() is threading.main_thread())),
    )
    assert told == [((float(n), 5.0, f"step {n}"), True) for n in range(1, 6)]


def test_a_progress_callback_that_raises_does_not_end_the_call(bridge_to, small_server, caplog):
    def broken(*_):
        raise ZeroDivisionError("mine")

    result = bridge_to({"s": small_server}).call_tool("s", "steps", {"count": 3}, on_progress=broken)
    assert text_of(result) == "done"
    assert "left out from now on" in caplog.text


def test_what_a_server_logs_is_output_of_the_call(bridge_to, raw, executor, recorder):
    bridge = bridge_to({"s": raw()})
    executor.register("log", lambda args: text_of(bridge.call_tool("s", "log", args)))
    assert executor.execute("log", {"text": "half way"}, recorder) == (True, "logged")
    assert recorder.text == "[info] half way\n"


def test_a_call_that_takes_too_long_is_told_to_stop(either, fifo):
    caught = []

    def call():
        with pytest.raises(ToolTimeoutError, match=r"s: hang: no answer within 0.5 s") as error:
            either.call_tool("s", "hang", {"text": str(fifo), "marker": str(fifo)}, timeout=0.5)
        caught.append(error)

    either.call_tool("s", "echo", {"text": "it runs"})
    thread = threading.Thread(target=call)
    thread.start()
    assert fifo.read_text() == "started"
    assert fifo.read_text() == "cancelled"
    thread.join()
    assert caught
    assert "after" in text_of(either.call_tool("s", "echo", {"text": "after"}))


def test_a_cancelled_call_ends_at_once_and_is_told_to_stop(either, fifo):
    token, caught = CancelToken(), []

    def call():
        with pytest.raises(ToolCancelledError, match="enough") as error:
            either.call_tool("s", "hang", {"text": str(fifo), "marker": str(fifo)}, cancel=token)
        caught.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert fifo.read_text() == "started"
    token.cancel("enough")
    assert fifo.read_text() == "cancelled"
    thread.join()
    assert caught


def test_a_token_that_is_cancelled_already_starts_no_server(bridge_to, raw):
    bridge, token = bridge_to({"s": raw()}), CancelToken()
    token.cancel("never mind")
    with pytest.raises(ToolCancelledError, match="never mind"):
        bridge.call_tool("s", "echo", {"text": "x"}, cancel=token)
    assert bridge.status()["s"].starts == 0


def test_answers_belong_to_their_calls_whatever_the_number_of_threads(bridge_to, raw):
    bridge, wrong = bridge_to({"s": raw()}), []
    together = threading.Barrier(20)

    def work(number):
        together.wait()
        for index in range(20):
            text = f"{number}/{index}"
            if bridge.call_tool("s", "echo", {"text": text}).structured_content["text"] != text:
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (wrong, bridge.status()["s"].answered, bridge.status()["s"].starts) == ([], 400, 1)


def test_a_server_sees_no_more_of_the_environment_than_it_was_given(bridge_to, raw, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "xyz")
    seen = text_of(bridge_to({"s": raw(GIVEN="yes")}).call_tool("s", "environment"))
    assert '"GIVEN": "yes"' in seen
    assert '"PATH"' in seen
    assert "SECRET_TOKEN" not in seen


def test_a_server_object_runs_in_this_process(bridge_to):
    from mcp.server import MCPServer

    server = MCPServer("inside")

    @server.tool()
    def where(word: str) -> str:
        return f"{word} {os.getpid()}"

    bridge = bridge_to({"inside": server})
    assert text_of(bridge.call_tool("inside", "where", {"word": "here"})) == f"here {os.getpid()}"
    assert [tool["name"] for tool in bridge.list_tools("inside")] == ["where"]


def test_a_call_from_the_thread_of_all_servers_is_refused_rather_than_waiting_for_itself(bridge_to):
    from mcp.server import MCPServer

    server, bridges = MCPServer("inside"), []

    @server.tool()
    async def again() -> str:
        return text_of(bridges[0].call_tool("inside", "again"))

    bridges.append(bridge_to({"inside": server}))
    result = bridges[0].call_tool("inside", "again", timeout=5)
    assert result.is_error


def test_an_unknown_server_is_named_with_those_there_are(bridge_to):
    with pytest.raises(BackendUnavailableError, match=r"no MCP server 'tim'; configured: time"):
        bridge_to({"time": {"command": "x"}}).call_tool("tim", "now")


def test_resources_and_prompts_are_read(bridge_to, small_server):
    bridge = bridge_to({"s": small_server})
    assert [resource["uri"] for resource in bridge.list_resources("s")] == ["note://today"]
    assert [template["uriTemplate"] for template in bridge.list_resource_templates("s")] == ["note://{day}"]
    assert bridge.read_resource("s", "note://monday")["contents"][0]["text"] == "nothing on monday"
    assert bridge.list_prompts("s")[0]["name"] == "greeting"
    prompt = bridge.get_prompt("s", "greeting", {"name": "Ada"})
    assert prompt["messages"][0]["content"]["text"] == "Say hello to Ada"
    assert bridge.listing("s").prompts
    assert bridge.listing("s").resources


def test_an_idle_server_is_stopped_and_started_by_the_next_call(raw, bridge_to):
    bridge = bridge_to({"s": replace(parse_entry("s", raw()), idle_timeout=0.05)})
    pid = bridge.call_tool("s", "echo", {"text": "x"}).structured_content["pid"]
    gone = os.pidfd_open(pid)
    assert select.select([gone], [], [], 10)[0]
    os.close(gone)
    assert bridge.call_tool("s", "echo", {"text": "x"}).structured_content["pid"] != pid


def test_a_dropped_bridge_leaves_nothing_behind(raw):
    import gc

    bridge = MCPBridge({"s": raw()}, cache=None)
    pid = bridge.call_tool("s", "echo", {"text": "x"}).structured_content["pid"]
    del bridge
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_call_that_runs_is_known_to_servers_inside_this_process(bridge_to):
    from mcp.server import MCPServer

    server = MCPServer("inside")

    @server.tool()
    async def who() -> str:
        call = current_call()
        return call.id if call is not None else "nobody"

    bridge = bridge_to({"inside": server})
    with ToolExecutor() as executor:
        executor.register("who", lambda _: text_of(bridge.call_tool("inside", "who")))
        assert executor.call(ToolCall("call-7", "who")).value == "call-7"

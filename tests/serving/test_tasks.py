"""Calls that become tasks: for clients that follow tasks, for others, and when the client or the server is gone."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from executor import TaskManager
from executor.mcp._tasks import TasksExtension
from executor.mcp.serving._pipes import MAX_MESSAGE
from executor.mcp.serving._stdio import ANSWER_SECONDS
from executor.mcp.serving._tasks import _told
from executor.mcp.serving._unread import request_id
from executor.values import TaskInfo, TaskStatus


def test_a_client_that_follows_tasks_is_given_the_result_in_the_end(connect, run, tmp_path):
    path = tmp_path / "go"

    async def session():
        async with connect("2026-07-28", extensions=[TasksExtension()]) as client:
            call = asyncio.create_task(client.call_tool("finishLater", {"path": str(path)}))
            path.write_text("")
            return await call

    assert run(session()).content[0].text == "finished"


def test_others_are_told_the_id_and_wait_keeps_the_call(connect, run, era, tmp_path):
    path = tmp_path / "go"
    path.write_text("")

    async def session(*words):
        async with connect(era, *words) as client:
            return await client.call_tool("finishLater", {"path": str(path)})

    assert run(session()).structured_content["task_id"]
    assert run(session("--wait")).content[0].text == "finished"


def test_a_task_that_was_a_call_first_has_not_changed_before_it_was_created():
    info = TaskInfo("local_1", TaskStatus.RUNNING, "wait", "", "1", created=20.0, started=10.0)
    told = _told(info, "working")
    assert told["createdAt"] == told["lastUpdatedAt"] == "1970-01-01T00:00:20.000Z"


def test_output_is_a_document(connect, run, tmp_path):
    async def session():
        async with connect("2026-07-28") as client:
            told = await client.call_tool("leave", {"path": str(tmp_path / "mark")})
            uri = f"task://{told.structured_content['task_id']}/output"
            while not (read := (await client.read_resource(uri)).contents[0].text):  # noqa: ASYNC110 -- a process writes
                await asyncio.sleep(0.01)
            listed = [str(each.uri) for each in (await client.list_resources()).resources]
            return uri in listed, read

    assert run(session()) == (True, "holding\n")


def test_a_task_of_a_server_that_was_killed_is_interrupted_with_its_output(wire, until, tmp_path):
    first = wire()
    made = first.call("leave", {"path": str(tmp_path / "mark")})
    assert made["resultType"] == "task"
    uri = f"task://{made['taskId']}/output"
    until(lambda: "holding" in json.dumps(first.ask("resources/read", uri=uri)))
    first.process.kill()
    first.process.wait()
    second = wire()
    told = second.ask("tasks/get", taskId=made["taskId"])["result"]
    assert told["status"] == "completed"
    assert told["statusMessage"].startswith("interrupted")
    assert told["result"]["isError"] is True
    assert "holding" in json.dumps(told["result"]["content"])


def test_a_task_is_cancelled_and_unknown_ones_are_refused(wire, until, tmp_path):
    server = wire()
    made = server.call("leave", {"path": str(tmp_path / "mark")})
    assert server.ask("tasks/get", taskId=made["taskId"])["result"]["status"] == "working"
    assert server.ask("tasks/cancel", taskId=made["taskId"])["result"]["resultType"] == "complete"
    until(lambda: server.ask("tasks/get", taskId=made["taskId"])["result"]["status"] == "cancelled")
    assert server.ask("tasks/get", taskId="nobody's")["error"]["code"] == -32602


@pytest.mark.parametrize("bridged", [False, True])
def test_what_came_before_stdin_ended_is_answered(wire, request, bridged):
    server = wire(request.getfixturevalue("broker").bridge()) if bridged else wire()
    numbers = [server.send("tools/list"), server.send("tools/call", name="add", arguments={"a": 1, "b": 2})]
    server.process.stdin.close()
    told = [json.loads(line) for line in server.process.stdout]
    assert {each["id"] for each in told if "result" in each} == {*numbers}
    assert server.process.wait(10) == 0


def test_the_end_of_stdin_stops_calls_and_ends_the_server(wire, until, tmp_path):
    server, mark = wire(), tmp_path / "mark"
    server.send("tools/call", name="hold", arguments={"path": str(mark)})
    until(lambda: mark.exists() and mark.read_text() == "started")
    server.process.stdin.close()
    assert server.process.wait(20) == 0
    assert mark.read_text() == "stopped"


def test_answers_that_nobody_reads_do_not_keep_the_server_from_ending(wire):
    server = wire(modern=False)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}}
    server.ask("initialize", **hello, clientInfo={"name": "wire", "version": "1"})
    server.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert "result" in server.ask("tools/list")
    for _ in range(20):
        server.send("tools/call", name="guarded", arguments={})  # each asks the client something
    for _ in range(3000):
        server.send("tools/list")
    idle = wire()
    assert "result" in idle.ask("tools/list")
    took = []
    for each in (idle, server):
        began = time.monotonic()
        each.process.stdin.close()
        assert each.process.wait(20) == 0
        took.append(time.monotonic() - began)
    assert took[1] < ANSWER_SECONDS + 1.5 + 4 * took[0], took  # most of both is the end of the interpreter


def test_signals_end_the_server_in_order(wire, until, tmp_path):
    for number in (signal.SIGINT, signal.SIGTERM):
        server, mark = wire(), tmp_path / f"mark{number}"
        server.send("tools/call", name="hold", arguments={"path": str(mark)})
        until(lambda mark=mark: mark.exists() and mark.read_text() == "started")
        server.process.send_signal(number)
        assert server.process.wait(20) == 0
        assert mark.read_text() == "stopped"


def test_malformed_messages_disturb_nothing(wire):
    server = wire()
    for line in (b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"jsonrpc": "2.0"}', b'{"id": {}, "method": 1}'):
        server.process.stdin.write(line + b"\n")
    server.process.stdin.write(b'{"jsonrpc": "2.0", "id": "' + b"x" * (2 << 20) + b'"}\n')
    assert server.call("add", {"a": 1, "b": 2})["content"][0]["text"] == "3"


def test_requests_that_nobody_could_mean_are_refused_and_cancelled_ones_count_no_more(wire, tmp_path):
    server = wire()
    big, path = "x" * (12 << 20), str(tmp_path / "mark")
    held = [server.send("tools/call", name="hold", arguments={"path": path, "pad": big}) for _ in range(5)]
    assert (
        "wait for some"
        in server.ask("tools/call", name="add", arguments={"a": 1, "b": 2, "pad": big})["error"]["message"]
    )
    again = {"jsonrpc": "2.0", "id": held[0], "method": "ping", "params": {}}
    server.write(again)
    assert "waits for its answer" in server.answer(held[0])["error"]["message"]
    server.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": held[1]}})
    assert server.call("add", {"a": 1, "b": 2, "pad": big})["content"][0]["text"] == "3"


def test_a_server_that_cannot_be_made_says_why_and_is_tried_again(run):
    from mcp import Client, MCPError

    from executor.mcp import ServeOptions
    from executor.mcp.serving._server import Serving

    asked = []

    def executor_of(principal):
        asked.append(principal)
        raise ValueError("config.toml: line 3 is wrong")

    async def session():
        serving = Serving(executor_of, ServeOptions())
        async with Client(serving.server, mode="2026-07-28", cache=None) as client:
            problems = []
            for _ in range(2):
                try:
                    await client.list_tools()
                except MCPError as error:
                    problems.append(error.message)
        await serving.close()
        return problems

    assert run(session()) == ["Nothing can be served: config.toml: line 3 is wrong"] * 2
    assert asked == ["", ""]


def test_a_task_of_the_command_goes_on_when_the_assistant_is_gone(wire, until, tmp_path):
    policy, config = tmp_path / "permissions.json", tmp_path / "config.toml"
    policy.write_text('{"defaultPolicy": "allow"}', "utf-8")
    policy.chmod(0o600)
    config.write_text("[tools.runCommand]\nauto_background = 0\n", "utf-8")
    server = wire(
        [sys.executable, "-m", "executor", "serve", "--as", "ada", "--project", str(tmp_path)],
        TOOLEXEC_PERMISSIONS=str(policy),
        TOOLEXEC_CONFIG=str(config),
    )
    os.mkfifo(tmp_path / "go")
    made = server.call("runCommand", {"command": "read line < go; echo $line > done"})
    assert made.get("resultType") == "task", made
    server.process.stdin.close()
    assert server.process.wait(20) == 0
    (tmp_path / "go").write_text("later\n")
    assert str(TaskManager.open().wait(made["taskId"], 20).status) == "completed"
    assert (tmp_path / "done").read_text() == "later\n"


def test_a_server_that_is_started_in_the_home_folder_works_there_and_has_no_project(wire, tmp_path):
    policy = tmp_path / "rules" / "permissions.json"
    policy.parent.mkdir()
    told = {"readFile": {"path": ["~/"]}, "writeFile": {"path": ["${project}/"]}}
    policy.write_text(json.dumps({"whitelist": {"patterns": ["wc *"], "arguments": told}}))
    policy.chmod(0o600)
    (tmp_path / "notes").write_text("hello")
    command = [sys.executable, "-m", "executor", "serve", "--ask", "never"]
    server = wire(command, TOOLEXEC_PERMISSIONS=str(policy), HOME=str(tmp_path))
    texts = [
        server.call(tool, arguments)["content"][0]["text"]
        for tool, arguments in (
            ("readFile", {"path": "notes"}),
            ("runCommand", {"command": "wc -c notes"}),
            ("writeFile", {"path": "notes", "content": "x"}),
        )
    ]
    assert "hello" in texts[0]
    assert "5 notes" in texts[1]
    assert "belongs to" not in texts[2]
    assert (tmp_path / "notes").read_text() == "hello"


def test_killing_the_command_ends_what_it_has_started(wire, until, tmp_path):
    server = wire([sys.executable, "-m", "executor", "serve"])
    server.ask("tools/list")
    worker = int(Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()[0])
    server.process.kill()
    server.process.wait()
    until(lambda: _is_gone(worker))


def _is_gone(pid):
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


UNREADABLE = {
    "half a character": '"\\ud800"',
    "nested": "[" * 300 + "]" * 300,
    "nested beyond all": "[" * 100_000 + "]" * 100_000,
    "an endless number": "9" * 5000,
}


@pytest.mark.parametrize("bridged", [False, True], ids=["served", "bridged"])
def test_a_request_that_cannot_be_read_is_answered(wire, request, bridged):
    client = wire(request.getfixturevalue("broker").bridge()) if bridged else wire()
    number = client.send("tools/list")
    assert "result" in client.answer(number)
    for what, value in UNREADABLE.items():
        told = json.dumps({"jsonrpc": "2.0", "method": "tools/call", "params": {"id": 7, "name": "add"}, "id": what})
        line = told.replace('"add"', f'"add", "arguments": {{"id": 8, "a": {value}}}').encode()
        client.process.stdin.write(line + b"\n")
        client.process.stdin.flush()
        assert "error" in client.answer(what), what
        assert client.call("add", {"a": 1, "b": 2})["content"][0]["text"] == "3", what


PING = '"jsonrpc": "2.0", "method": "ping"'
NO_MESSAGES = [
    (f'{{{PING}, "id": null}}', -32600, None),
    (f'{{{PING}, "id": 1.5}}', -32600, None),
    (f'{{{PING}, "id": {{"id": 1}}}}', -32600, None),
    (f'{{{PING}, "id": true}}', -32600, None),
    (f'[{{{PING}, "id": 1}}, {{{PING}, "id": 2}}]', -32600, None),
    ("[]", -32600, None),
    (f'\ufeff{{{PING}, "id": 7}}', -32700, None),
    ("1", -32600, None),
    ("{}", -32600, None),
    ('{"jsonrpc": "2.0", "id": 7, "method": 1}', -32600, 7),
    (f'{{{PING}, "id": 7', -32700, 7),
    ("hello", -32700, None),
]


@pytest.mark.parametrize("bridged", [False, True], ids=["served", "bridged"])
def test_what_is_no_message_is_answered_as_json_rpc_says(wire, request, bridged):
    client = wire(request.getfixturevalue("broker").bridge()) if bridged else wire()
    for line, code, number in NO_MESSAGES:
        client.process.stdin.write(line.encode() + b"\n")
        client.process.stdin.flush()
        told = json.loads(client.process.stdout.readline())
        assert (told["jsonrpc"], told["id"], told["error"]["code"]) == ("2.0", number, code), line
    assert client.call("add", {"a": 1, "b": 2})["content"][0]["text"] == "3"


def test_nobody_is_answered_who_does_not_wait(wire):
    client = wire()
    for line in (
        '{"jsonrpc": "2.0", "method": "notifications/x", "params": 1}',
        '{"id": 7, "result": 1}',
        '{"error": 1}',
    ):
        client.process.stdin.write(line.encode() + b"\n")
    number = client.send("tools/list")
    assert json.loads(client.process.stdout.readline())["id"] == number


@pytest.mark.parametrize("bridged", [False, True], ids=["served", "bridged"])
def test_a_message_that_is_too_long_is_refused(wire, request, bridged):
    client = wire(request.getfixturevalue("broker").bridge()) if bridged else wire()
    begin = f'{{{PING}, "id": 7, "params": {{"x": "'.encode()
    client.process.stdin.write(begin + b"x" * MAX_MESSAGE + b'"}}\n')
    client.process.stdin.flush()
    told = client.answer(7)
    assert (told["error"]["code"], str(MAX_MESSAGE) in told["error"]["message"]) == (-32600, True)
    assert client.call("add", {"a": 1, "b": 2})["content"][0]["text"] == "3"


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ('{"id":1,"method":"x"', 1),
        ('{"params":{"id":2,"method":"y"},"method":"x","id":"a\\"b,"}', 'a"b,'),
        ('{"method":"x","params":[{"id":2}]}', None),
        ('{"id":3,"result":{"method":"x"}}', None),
        ('[{"id":1,"method":"x"}]', None),
        ('{"id":1.5,"method":"x"}', None),
        ('{"id":"\\ud800","method":"x"}', None),
        ('{"id":1,"method":"x"} {"id":2,"method":"x"}', 1),
        ('"id":1,"method":"x"', None),
        ("]}{", None),
    ],
)
def test_an_id_is_what_the_outermost_object_has(line, number):
    assert request_id(line.encode()) == number

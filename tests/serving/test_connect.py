"""``serve --connect``: what a client sees through the bridge, and what happens when one of the three is gone."""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
import subprocess
import sys
import time

import mcp.types as t
import pytest
from mcp import MCPError

from executor.mcp import token_of
from executor.mcp._tasks import TasksExtension
from executor.mcp.serving import _upstream
from executor.mcp.serving._connect import Bridge
from executor.mcp.serving._upstream import Upstream, UpstreamError, header_arguments, modern_headers


def test_calls_results_progress_and_failures_come_through(connect, broker, run, era):
    steps = []

    async def progress(done, total, message):
        steps.append(done)

    async def session():
        async with connect(era, command=broker.bridge()) as client:
            added = await client.call_tool("add", {"a": 1, "b": 2})
            summed = await client.call_tool("sum", {"a": 1, "b": 2})
            drawn = await client.call_tool("draw")
            talked = await client.call_tool("talk", progress_callback=progress)
            failed = await client.call_tool("fail")
            with pytest.raises(MCPError, match="Unknown tool: nothing"):
                await client.call_tool("nothing")
            texts = [result.content[0].text for result in (added, talked, failed)]
            return texts, summed.structured_content, [block.type for block in drawn.content], failed.is_error

    assert run(session()) == (["3", '{"lines":3}', "it did not work"], {"sum": 3}, ["text", "image"], True)
    assert steps
    assert steps == sorted(set(steps))


def test_cancelling_stops_the_work(connect, broker, run, until, era, tmp_path):
    mark = tmp_path / "mark"

    async def session():
        async with connect(era, command=broker.bridge()) as client:
            call = asyncio.create_task(client.call_tool("hold", {"path": str(mark)}))
            await asyncio.to_thread(until, lambda: mark.exists() and mark.read_text() == "started")
            call.cancel()
            await asyncio.to_thread(until, lambda: mark.read_text() == "stopped")
            return (await client.call_tool("add", {"a": 1, "b": 1})).content[0].text

    assert run(session()) == "2"


@pytest.mark.parametrize("allow", [True, False])
def test_questions_come_through_and_so_do_answers(connect, broker, run, era, allow):
    asked = []

    async def answer(context, params):
        asked.append(params.message)
        return t.ElicitResult(action="accept", content={"allow": allow})

    async def session():
        async with connect(era, command=broker.bridge(), elicitation_callback=answer) as client:
            return await client.call_tool("guarded")

    result = run(session())
    assert (result.is_error, len(asked)) == (not allow, 1)


def test_tasks_come_through_and_go_on_when_the_client_is_gone(connect, broker, run, wire, until, tmp_path):
    path = tmp_path / "go"

    async def session():
        async with connect("2026-07-28", command=broker.bridge(), extensions=[TasksExtension()]) as client:
            call = asyncio.create_task(client.call_tool("finishLater", {"path": str(path)}))
            path.write_text("")
            return await call

    assert run(session()).content[0].text == "finished"
    path.unlink()
    first = wire(broker.bridge())
    task = first.call("finishLater", {"path": str(path)})["taskId"]
    first.process.stdin.close()
    assert first.process.wait(10) == 0
    second, other = wire(broker.bridge()), wire(broker.bridge("bob"))
    assert second.ask("tasks/get", taskId=task)["result"]["status"] == "working"
    for method in ("tasks/get", "tasks/cancel", "tasks/update"):
        assert other.ask(method, taskId=task)["error"]["message"] == f"Unknown task: {task}"
    path.write_text("")
    until(lambda: second.ask("tasks/get", taskId=task)["result"]["status"] == "completed")


@pytest.mark.parametrize("modern", [True, False])
def test_the_end_of_stdin_ends_it_at_once_and_stops_its_calls(broker, wire, until, tmp_path, modern):
    client, mark = wire(broker.bridge(), modern=modern), tmp_path / "mark"
    if not modern:
        client.begin()
    client.send("tools/call", name="hold", arguments={"path": str(mark)})
    until(lambda: mark.exists() and mark.read_text() == "started")
    client.process.stdin.close()
    began = time.monotonic()
    assert client.process.wait(10) == 0
    assert time.monotonic() - began < 1
    until(lambda: mark.read_text() == "stopped")


@pytest.mark.parametrize("modern", [True, False])
def test_a_killed_bridge_stops_its_calls_too(broker, wire, until, tmp_path, modern):
    client, mark = wire(broker.bridge(), modern=modern), tmp_path / "mark"
    if not modern:
        client.begin()
    client.send("tools/call", name="hold", arguments={"path": str(mark)})
    until(lambda: mark.exists() and mark.read_text() == "started")
    client.process.kill()
    until(lambda: mark.read_text() == "stopped")


@pytest.mark.parametrize("modern", [True, False])
def test_a_server_that_is_started_again_is_found_again(broker, wire, until, tmp_path, modern):
    client, mark = wire(broker.bridge(), modern=modern), tmp_path / "mark"
    if not modern:
        client.begin()
    held = client.send("tools/call", name="hold", arguments={"path": str(mark)})
    until(lambda: mark.exists() and mark.read_text() == "started")
    broker.stop()
    told = client.answer(held)
    assert told["error"]["code"] == -32000
    assert "broke off: make the call again" in told["error"]["message"]
    broker.start()
    assert client.call("add", {"a": 1, "b": 2})["content"][0]["text"] == "3"


def test_without_a_server_it_is_said_what_to_do(broker, wire, monkeypatch):
    command = broker.bridge()
    broker.stop()
    client = wire(command)
    said = client.ask("tools/list")["error"]["message"]
    assert said.startswith("Nothing answers at http://127.0.0.1:")
    assert "start it with 'toolexec serve --http 127.0.0.1:" in said
    client.send("tools/list")
    client.process.stdin.close()
    began = time.monotonic()
    assert client.process.wait(10) == 0
    assert time.monotonic() - began < 1


def test_a_token_that_is_refused_and_a_wrong_url_are_told(broker, wire, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.write_text("ada:this-is-not-adas-token\n")
    wrong.chmod(0o600)
    words = [sys.executable, "-m", "executor", "serve", "--connect"]
    refused = wire([*words, broker.url, "--token-file", str(wrong)])
    assert f"refuses the token of {wrong}" in refused.ask("tools/list")["error"]["message"]
    lost = wire([*words, broker.url.replace("/mcp", "/else"), "--token-file", str(broker.tokens)])
    assert "ends in /mcp" in lost.ask("tools/list")["error"]["message"]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://example.org/mcp", "in the clear"),
        ("http://192.0.2.1:8765/mcp", "in the clear"),
        ("http://127.0.0.1.example.org/mcp", "in the clear"),
        ("http://me:secret@127.0.0.1/mcp", "write http://"),
        ("file:///etc/passwd", "write http://"),
        ("127.0.0.1:8765", "write http://"),
        ("http://127.0.0.1:99999/mcp", "no URL"),
    ],
)
def test_a_token_is_sent_to_nobody_who_should_not_have_it(url, problem):
    with pytest.raises(ValueError, match=problem):
        Upstream(url, "x" * 20, "the test")


def test_a_server_of_another_user_is_not_told_the_token(broker, wire, monkeypatch, run):
    async def session():
        monkeypatch.setattr(_upstream, "stranger_at", lambda port: 12345 if port == broker.port else None)
        upstream = Upstream(broker.url, "ada-has-a-long-token", "the test")
        asked = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        with pytest.raises(_upstream.UpstreamError, match=r"Another user \(uid 12345\) listens"):
            await anext(upstream.messages("POST", asked, {}))
        await upstream.leave()

    run(session())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
@pytest.mark.parametrize("plain", [False, True])
def test_a_server_whose_certificate_is_not_trusted_is_not_told_the_token_and_not_said_to_be_away(run, tmp_path, plain):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    heard = bytearray()

    async def take(reader, writer):
        heard.extend(await reader.read(4096))
        writer.write(b"hello\n")
        writer.close()

    async def session():
        server = await asyncio.start_server(take, "127.0.0.1", 0, ssl=None if plain else context)
        port = server.sockets[0].getsockname()[1]
        upstream = Upstream(f"https://127.0.0.1:{port}/mcp", "ada-has-a-long-token", "the test")
        with pytest.raises(UpstreamError, match="cannot be trusted: look at its certificate"):
            await anext(upstream.messages("POST", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, {}))
        await upstream.leave()
        server.close()
        await server.wait_closed()

    run(session())
    assert b"ada-has-a-long-token" not in heard


def test_the_token_of_a_name_is_taken_from_the_file(tmp_path):
    path = tmp_path / "tokens"
    path.write_text("ada:ada-has-a-long-token\nbob:bob-has-another-token\n")
    path.chmod(0o600)
    assert [token_of(path, name) for name in (None, "bob")] == ["ada-has-a-long-token", "bob-has-another-token"]
    with pytest.raises(ValueError, match="no token of eve: it has ada, bob"):
        token_of(path, "eve")
    path.chmod(0o644)
    with pytest.raises(ValueError, match="chmod 600"):
        token_of(path, None)


def test_headers_repeat_what_the_schema_says():
    schema = {
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "inner": {"properties": {"flag": {"type": "boolean", "x-mcp-header": "Flag"}}},
            "odd": {"x-mcp-header": "a b\r\nX: y"},
        }
    }
    found = header_arguments(schema)
    assert found == {("region",): "Region", ("inner", "flag"): "Flag"}
    arguments = {"region": "Zürich", "inner": {"flag": True}}
    message = {"method": "tools/call", "params": {"name": "x", "arguments": arguments}}
    assert modern_headers(message, "2026-07-28", found) == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "x",
        "Mcp-Param-Region": "=?base64?WsO8cmljaA==?=",
        "Mcp-Param-Flag": "true",
    }
    assert (
        modern_headers({"method": "tasks/get", "params": {"taskId": "t\n"}}, "v", {})["Mcp-Name"] == "=?base64?dAo=?="
    )


class Scripted:
    """An upstream that knows no session until it is asked for the second time, and refuses a stream."""

    url = "http://127.0.0.1:1/mcp"

    def __init__(self):
        self.session = self.version = None
        self.hellos = 0
        self.refused = asyncio.Event()

    async def messages(self, method, message, headers):
        if method == "GET":
            self.refused.set()
            yield {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "there is a stream"}}
        elif message["method"] == "initialize":
            self.hellos += 1
            if self.hellos == 2:
                raise UpstreamError("it was started again, and has just ended")
            self.session = f"session-{self.hellos}"
            yield {"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": "2025-11-25"}}
        elif self.session == "session-1":
            raise UpstreamError("it was started again", lost=True)
        else:
            yield {"jsonrpc": "2.0", "id": message.get("id"), "result": {"session": self.session}}

    async def leave(self):
        return


class Told:
    def __init__(self):
        self.lines = asyncio.Queue()

    async def line(self, text):
        self.lines.put_nowait(json.loads(text))

    def end(self):
        return


def test_a_session_that_could_not_be_renewed_is_tried_again_and_a_refused_stream_is_no_answer(run):
    async def session():
        upstream, told = Scripted(), Told()
        bridge = Bridge(upstream, told)
        passing = asyncio.ensure_future(bridge.run())

        async def send(number, method):
            await bridge.take(json.dumps({"jsonrpc": "2.0", "id": number, "method": method}).encode())
            while (answer := await told.lines.get()).get("id") != number:
                assert "method" in answer, answer
            return answer

        assert "result" in await send(1, "initialize")
        assert "just ended" in (await send(2, "ping"))["error"]["message"]
        assert (await send(3, "ping"))["result"] == {"session": "session-3"}
        await bridge.take(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        await upstream.refused.wait()
        assert (await send(4, "ping"))["result"] == {"session": "session-3"}
        passing.cancel()
        await bridge.close()

    run(session())

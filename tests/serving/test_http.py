"""Over HTTP: who may come in, and whose tasks are whose."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from executor.mcp import ServeOptions, Tokens, http_app, serve_http
from executor.mcp.serving import _sessions
from executor.mcp.serving._server import Serving

sys.path.insert(0, str(Path(__file__).parent))

from server import made

ADA, BOB = "ada-has-a-long-token", "bob-has-another-token"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
}
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28"}


@contextlib.asynccontextmanager
async def served(app):
    """A client of the app, within its lifespan."""
    started, stop = asyncio.Event(), asyncio.Event()
    events = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

    async def receive():
        event = next(events)
        if event["type"] == "lifespan.shutdown":
            await stop.wait()
        return event

    async def send(message):
        if message["type"] == "lifespan.startup.complete":
            started.set()

    lifespan = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, send))
    await started.wait()
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
        yield client
    stop.set()
    await lifespan


async def ask(client, token, method, name=None, headers=(), **params):
    if method == "tools/call":
        params["name"] = name
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    sent = {**HEADERS, "Mcp-Method": method, **({"Mcp-Name": name} if name else {}), **dict(headers)}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    return await client.post("/mcp", json=message, headers=sent)


@pytest.fixture
def executors():
    found = {}

    def of(principal):
        if principal not in found:
            found[principal] = made(f"serve:{principal}")
        return found[principal]

    yield of
    for executor in found.values():
        executor.shutdown(cancel=True)


@pytest.mark.parametrize(
    ("token", "headers", "status"),
    [
        (ADA, {}, 200),
        (None, {}, 401),
        ("ada-has-a-long-tokeN", {}, 401),
        (ADA, {"Host": "127.0.0.2:8765"}, 200),
        (ADA, {"Host": "LocalHost", "Origin": "http://[::1]:3000"}, 200),
        (ADA, {"Host": "example.org"}, 421),
        (ADA, {"Host": "127.0.0.1:8765.example.org"}, 421),
        (ADA, {"Host": "localhost:8765@example.org"}, 421),
        (ADA, {"Origin": "https://example.org"}, 403),
        (ADA, {"Origin": "http://localhost:8765.example.org"}, 403),
    ],
)
def test_only_bearers_of_a_token_on_this_machine_come_in(run, executors, token, headers, status):
    async def session():
        async with served(http_app(executors, tokens=Tokens({ADA: "ada", BOB: "bob"}))) as client:
            return (await ask(client, token, "tools/list", headers=headers)).status_code

    assert run(session()) == status


def test_a_client_that_would_be_told_again_is_told_from_now_on(run, executors):
    client_info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client_info}

    async def session():
        async with served(http_app(executors)) as client:
            told = {"Accept": HEADERS["Accept"]}
            opened = await client.post("/mcp", json=begin, headers=told)
            told |= {"Mcp-Session-Id": opened.headers["Mcp-Session-Id"], "Last-Event-ID": "1"}
            stream = asyncio.ensure_future(client.get("/mcp", headers=told))  # until its session ends
            await client.post("/mcp", json={"jsonrpc": "2.0", "id": 2, "method": "ping"}, headers=told)
            await client.delete("/mcp", headers=told)
            return (await stream).status_code

    assert run(session()) == 200


def test_tasks_of_another_are_unknown(run, executors, tmp_path):
    async def session():
        async with served(http_app(executors, tokens=Tokens({ADA: "ada", BOB: "bob"}))) as client:
            arguments = {"path": str(tmp_path / "mark")}
            answer = await ask(client, ADA, "tools/call", "leave", arguments=arguments)
            task = answer.json()["result"]["taskId"]
            told = [
                (await ask(client, token, "tasks/get", task, taskId=task)).json().get("result", {}).get("status")
                for token in (ADA, BOB)
            ]
            output = await ask(client, BOB, "resources/read", f"task://{task}/output", uri=f"task://{task}/output")
            listed = (await ask(client, BOB, "resources/list")).json()["result"]["resources"]
            return told, "error" in output.json(), listed

    assert run(session()) == (["working", None], True, [])


def test_a_task_of_a_server_that_was_killed_is_its_principals_alone(broker, until, tmp_path):
    def told(token, method, named, **params):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
        headers = {**HEADERS, "Mcp-Method": method, "Mcp-Name": named, "Authorization": f"Bearer {token}"}
        return httpx2.post(broker.url, json=message, headers=headers, timeout=30).json()

    made = told(ADA, "tools/call", "leave", name="leave", arguments={"path": str(tmp_path / "mark")})
    task = made["result"]["taskId"]
    uri = f"task://{task}/output"
    until(lambda: "holding" in str(told(ADA, "resources/read", uri, uri=uri)))
    assert told(ADA, "tasks/get", task, taskId=task)["result"]["status"] == "working"
    broker.stop()
    broker.start()
    unknown = told(BOB, "tasks/get", "shell_0", taskId="shell_0")["error"]["code"]
    for method in ("tasks/get", "tasks/cancel", "tasks/update"):
        refused = told(BOB, method, task, taskId=task)["error"]
        assert (refused["code"], refused["message"]) == (unknown, f"Unknown task: {task}")
    assert "error" in told(BOB, "resources/read", uri, uri=uri)
    ended = told(ADA, "tasks/get", task, taskId=task)["result"]
    assert (ended["status"], ended["statusMessage"].partition(":")[0]) == ("completed", "interrupted")
    assert ended["result"]["isError"] is True
    assert "holding" in str(ended["result"]["content"])
    assert told(ADA, "resources/read", uri, uri=uri)["result"]["contents"][0]["text"] == "holding\n"


def test_the_commands_tools_know_no_task_of_another(tmp_path, own_folders, until, monkeypatch):
    policy, config, tokens = (tmp_path / name for name in ("permissions.json", "config.toml", "tokens"))
    policy.write_text('{"defaultPolicy": "allow"}')
    config.write_text("[tools.runCommand]\nauto_background = 0\n")
    tokens.write_text(f"ada:{ADA}\nbob:{BOB}\n")
    for path in (policy, tokens):
        path.chmod(0o600)
    monkeypatch.setenv("TOOLEXEC_PERMISSIONS", str(policy))
    monkeypatch.setenv("TOOLEXEC_CONFIG", str(config))
    os.mkfifo(tmp_path / "go")
    words = ["serve", "--http", "127.0.0.1:0", "--token-file", str(tokens), "--project", str(tmp_path)]
    with subprocess.Popen([sys.executable, "-m", "executor", *words], stderr=subprocess.PIPE, text=True) as server:
        url = server.stderr.readline().split()[2].rstrip(";")

        def called(token, tool, **arguments):
            params = {"name": tool, "arguments": arguments, "_meta": META}
            headers = {**HEADERS, "Mcp-Method": "tools/call", "Mcp-Name": tool, "Authorization": f"Bearer {token}"}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            told = httpx2.post(url, json=message, headers=headers, timeout=30).json()["result"]
            return told.get("taskId") or told["content"][0]["text"]

        called(BOB, "echo", text="x")
        task = called(ADA, "runCommand", command="echo mine; read line < go; echo over")
        until(lambda: "mine" in called(ADA, "getBackgroundOutput", task_id=task))
        for tool in ("getBackgroundOutput", "checkBackgroundTask", "cancelBackgroundTask"):
            said = called(BOB, tool, task_id=task)
            assert "no task is running" in said
            assert "mine" not in said
        assert task not in called(BOB, "listBackgroundTasks")
        assert task in called(ADA, "listBackgroundTasks")
        assert '"running"' in called(ADA, "checkBackgroundTask", task_id=task)
        (tmp_path / "go").write_text("go\n")
        until(lambda: "over" in called(ADA, "getBackgroundOutput", task_id=task))
        server.terminate()
        assert server.wait(20) == 130


def test_a_session_of_another_is_unknown(run, executors):
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}

    async def session():
        async with served(http_app(executors, tokens=Tokens({ADA: "ada", BOB: "bob"}))) as client:

            async def post(token, method, session=None, **params):
                headers = {"Accept": HEADERS["Accept"], "Authorization": f"Bearer {token}"}
                message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
                return await client.post(
                    "/mcp", json=message, headers={**headers, **({"Mcp-Session-Id": session} if session else {})}
                )

            own = (await post(ADA, "initialize", **hello)).headers["mcp-session-id"]
            return [(await post(token, "ping", own)).status_code for token in (ADA, BOB)]

    assert run(session()) == [200, 404]


def test_one_principal_opens_so_many_sessions_and_ends_its_own_for_more(run, executors, monkeypatch):
    monkeypatch.setattr(_sessions, "MOST_SESSIONS", 3)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}

    async def session():
        async with served(http_app(executors, tokens=Tokens({ADA: "ada", BOB: "bob"}))) as client:

            async def post(token, method, session=None, **params):
                headers = {"Accept": HEADERS["Accept"], "Authorization": f"Bearer {token}"}
                message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
                return await client.post(
                    "/mcp", json=message, headers={**headers, **({"Mcp-Session-Id": session} if session else {})}
                )

            async def opened(token):
                return (await post(token, "initialize", **hello)).headers["mcp-session-id"]

            theirs = await opened(BOB)
            own = [await opened(ADA) for _ in range(3)]
            await post(ADA, "ping", own[0])
            own += [await opened(ADA) for _ in range(2)]
            return [(await post(ADA, "ping", each)).status_code for each in own], (await post(BOB, "ping", theirs))

    mine, theirs = run(session())
    assert mine == [200, 404, 404, 200, 200]
    assert theirs.status_code == 200


def test_long_results_of_another_are_unknown(run, executors):
    executors("ada").register("long", lambda args: "x" * 200_000)

    async def session():
        async with served(http_app(executors, tokens=Tokens({ADA: "ada", BOB: "bob"}))) as client:
            told = (await ask(client, ADA, "tools/call", "long")).json()["result"]["content"][0]["text"]
            uri = f"result://{re.search(r'res_[0-9a-f]{32}', told)[0]}"
            read = [(await ask(client, token, "resources/read", uri, uri=uri)).json() for token in (ADA, BOB)]
            unknown = (await ask(client, BOB, "resources/read", "result://res_0", uri="result://res_0")).json()
            return read, uri, unknown

    (own, others), uri, unknown = run(session())
    assert len(own["result"]["contents"][0]["text"]) == 200_000
    assert others["error"]["code"] == unknown["error"]["code"]
    assert others["error"]["message"] == f"There is no resource {uri}"


def test_headers_are_held_against_the_callers_own_tools(run, executors):
    """Of a tool that two principals have in two forms, each one's calls are judged by its own."""
    for name, header in (("ada", "A"), ("bob", "B")):
        schema = {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": header}}}
        executors(name).register("weather", lambda args: args["city"], schema=schema)

    async def session():
        async with served(http_app(executors, tokens=Tokens({ADA: "ada", BOB: "bob"}))) as client:
            for token in (ADA, BOB):
                await ask(client, token, "tools/list")
            return [
                (
                    await ask(
                        client, token, "tools/call", "weather", {f"Mcp-Param-{header}": "oslo"},
                        arguments={"city": "oslo"},
                    )
                ).status_code
                for token, header in ((ADA, "A"), (BOB, "B"), (BOB, "A"))
            ]  # fmt: skip

    assert run(session()) == [200, 200, 400]


def test_nobody_hears_of_what_is_anothers(run, executors):
    async def session():
        serving = Serving(executors, ServeOptions())
        ada, bob = (serving._listener(name)[0] for name in ("ada", "bob"))
        heard = {"ada": [], "bob": []}
        ada.subscribe(heard["ada"].append)
        bob.subscribe(heard["bob"].append)
        host = await serving._make("ada")
        await serving._tell_all(host, "task://x/output")
        await serving._tell_all(host, None)
        await serving._tell_lists("ada", "", frozenset({"prompts", "resources"}))
        await serving.close()
        return len(heard["ada"]), len(heard["bob"])

    assert run(session()) == (4, 0)


class Session:
    """The SDK's way to one connection; its client reads once `reads` is set."""

    def __init__(self, *, reads=True):
        self.heard = asyncio.Queue()
        self.reads = asyncio.Event()
        if reads:
            self.reads.set()

    async def _hear(self, what):
        await self.reads.wait()
        self.heard.put_nowait(what)

    async def send_tool_list_changed(self):
        await self._hear("tools")

    async def send_resource_updated(self, uri):
        await self._hear(uri)


def connection(principal, name, session):
    """The context of a request of the older era."""
    request = SimpleNamespace(scope={"toolexec.principal": principal}, headers={"mcp-session-id": name})
    return SimpleNamespace(request=request, session=session, protocol_version="2025-11-25")


def test_who_opens_ever_new_connections_keeps_nobody_else_from_hearing(run, executors):
    async def session():
        serving, hears = Serving(executors, ServeOptions()), Session()
        await serving._initialized(connection("bob", "his", hears), None)
        await serving._subscribe(connection("bob", "his", hears), SimpleNamespace(uri="task://x/output"))
        for number in range(2000):
            await serving._initialized(connection("ada", f"n{number}", Session()), None)
        serving._tell(serving._hosts["bob"], None)
        serving._tell(serving._hosts["bob"], "task://x/output")
        heard = [await hears.heard.get() for _ in range(2)]
        await serving.close()
        return heard

    assert run(session()) == ["tools", "task://x/output"]


def test_a_connection_that_is_not_read_holds_up_no_other_and_is_told_once_of_what_changes_often(run, executors):
    async def session():
        serving, stuck, reads = Serving(executors, ServeOptions()), Session(reads=False), Session()
        await serving._initialized(connection("ada", "stuck", stuck), None)
        await serving._initialized(connection("ada", "reads", reads), None)
        for _ in range(50):
            serving._tell(serving._hosts["ada"], None)
            await reads.heard.get()
        stuck.reads.set()
        told = [await stuck.heard.get() for _ in range(2)]
        serving._tell(serving._hosts["ada"], None)
        await reads.heard.get()
        told.append(await stuck.heard.get())
        await serving.close()
        return told, stuck.heard.qsize()

    assert run(session()) == (["tools"] * 3, 0)


def test_a_connection_that_has_ended_is_forgotten(run, executors):
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    app = http_app(executors, tokens=Tokens({ADA: "ada"}))

    async def session():
        async with served(app) as client:
            told = {"Accept": HEADERS["Accept"], "Authorization": f"Bearer {ADA}"}
            begun = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
            opened = await client.post("/mcp", json=begun, headers=told)
            told |= {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
            chosen = {"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": {"level": "error"}}
            await client.post("/mcp", json=chosen, headers=told)
            known = list(app._serving._connections._open)
            await client.delete("/mcp", headers=told)
            return known, list(app._serving._connections._open), told["Mcp-Session-Id"]

    known, left, name = run(session())
    assert (known, left) == ([f"ada/{name}"], [])


def test_a_server_is_not_its_own(run, executors, monkeypatch):
    monkeypatch.setenv("TOOLEXEC_SERVING", "mark")

    async def session():
        async with served(http_app(executors, tokens=Tokens({ADA: "ada"}))) as client:
            return [
                (await ask(client, ADA, "tools/list", headers={"Toolexec-Serving": said})).status_code
                for said in ("mark", "another")
            ]

    assert run(session()) == [508, 200]


@pytest.mark.parametrize("address", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_addresses_that_others_can_reach_are_refused(address):
    with pytest.raises(ValueError, match="can be reached by others"):
        serve_http(lambda _: None, ServeOptions(), tokens=Tokens({ADA: "ada"}), host=address)


def test_a_file_of_tokens_is_made_private_and_one_that_others_can_read_is_refused(tmp_path):
    path = tmp_path / "folder" / "tokens"
    tokens = Tokens.of_file(path)
    assert path.stat().st_mode & 0o777 == 0o600
    token = path.read_text().strip().partition(":")[2]
    assert tokens.principal(f"Bearer {token}") == "local"
    assert tokens.principal(f"Basic {token}") is None
    path.chmod(0o644)
    with pytest.raises(ValueError, match="chmod 600"):
        Tokens.of_file(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ada", "name:token"),
        ("", "no token"),
        ("ada:short", "shorter"),
        ("a/b:" + "x" * 20, "no name"),
        (f"ada:{'x' * 20}\nbob: {'x' * 20}", ":2: bob has the token of ada"),
    ],
)
def test_a_file_of_tokens_that_says_something_else_is_refused(tmp_path, text, problem):
    path = tmp_path / "tokens"
    path.write_text(text)
    os.chmod(path, 0o600)
    with pytest.raises(ValueError, match=problem):
        Tokens.of_file(path)


def half_open(url, token):
    """A connection whose request has begun, and does not end."""
    parts = urlsplit(url)
    client = socket.create_connection((parts.hostname, parts.port))
    client.sendall(
        f"POST /mcp HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {token}\r\n"
        "Expect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{".encode()
    )
    assert b"100 Continue" in client.recv(100)
    return client


def test_the_command_serves_both_eras_and_ends_in_order(run, tmp_path):
    command = [sys.executable, "-m", "executor", "serve", "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as server:
        said = server.stderr.readline()
        url, path = re.fullmatch(r"serving at (\S+); tokens: (\S+)\n", said).groups()
        token = Path(path).read_text().strip().partition(":")[2]

        async def session(mode):
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http,
                Client(streamable_http_client(url, http_client=http), mode=mode) as client,
            ):
                return (await client.call_tool("echo", {"text": mode})).structured_content["text"]

        assert [run(session(mode)) for mode in ("2026-07-28", "legacy")] == ["2026-07-28", "legacy"]
        with contextlib.closing(half_open(url, token)):
            server.terminate()
            assert server.wait(20) == 130
        assert server.stderr.read() == ""  # a request that is cut off then is no error

"""Servers over HTTP: the SDK's own under uvicorn, and answers that are none."""

from __future__ import annotations

import asyncio
import json
import socket
import threading

import pytest
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from executor.errors import BackendUnavailableError, ToolTimeoutError


@pytest.fixture
def serve():
    """Serves an application on a port of the loopback interface; gives its URL."""
    running = []

    def serve(app, lifespan="on"):
        listening = socket.create_server(("127.0.0.1", 0))  # connections queue up until uvicorn takes them
        config = uvicorn.Config(app, log_level="critical", lifespan=lifespan, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        running.append((server, thread, listening))
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield serve
    for server, thread, listening in running:
        server.should_exit = True
        thread.join(10)
        listening.close()


class Web:
    """A server of the SDK's with tools that a test can look into."""

    def __init__(self) -> None:
        self.started, self.cancelled = threading.Event(), threading.Event()
        self.server = server = MCPServer("web", log_level="CRITICAL")

        @server.tool()
        async def echo(text: str) -> str:
            return text

        @server.tool()
        async def big(size: int) -> str:
            return "x" * size

        @server.tool()
        async def hang(ctx: Context) -> str:
            self.started.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return "slept"


@pytest.fixture
def web():
    return Web()


def test_calls_over_streamable_http(bridge_to, serve, web):
    bridge = bridge_to({"s": {"url": serve(web.server.streamable_http_app()) + "/mcp"}})
    for index in range(20):
        assert bridge.call_tool("s", "echo", {"text": str(index)}).content[0].text == str(index)
    assert bridge.status()["s"].protocol == "2026-07-28"
    assert len(bridge.call_tool("s", "big", {"size": 3_000_000}).content[0].text) == 3_000_000


def test_a_timeout_stops_the_work_on_the_server(bridge_to, serve, web):
    bridge = bridge_to({"s": {"url": serve(web.server.streamable_http_app()) + "/mcp"}})
    bridge.call_tool("s", "echo", {"text": "it runs"})
    with pytest.raises(ToolTimeoutError):
        bridge.call_tool("s", "hang", timeout=0.3)
    assert web.cancelled.wait(10)
    assert bridge.call_tool("s", "echo", {"text": "after"}).content[0].text == "after"


def test_calls_over_the_older_sse_transport(bridge_to, serve, web):
    bridge = bridge_to({"s": {"type": "sse", "url": serve(web.server.sse_app()) + "/sse"}})
    assert bridge.call_tool("s", "echo", {"text": "x"}).content[0].text == "x"
    bridge.close()  # before the server, which takes its end for an error


def test_many_threads_over_http(bridge_to, serve, web):
    bridge, wrong = bridge_to({"s": {"url": serve(web.server.streamable_http_app()) + "/mcp"}}), []

    def work(number):
        for index in range(10):
            text = f"{number}/{index}"
            if bridge.call_tool("s", "echo", {"text": text}).content[0].text != text:
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (
            lambda: PlainTextResponse("who are you", 401),
            "HTTP 401: it wants to know who you are; 'toolexec mcp login s'",
        ),
        (lambda: PlainTextResponse("no", 403), "HTTP 403"),
        (lambda: PlainTextResponse("nothing here", 404), "HTTP 404: is its URL right"),
        (lambda: PlainTextResponse("oh", 500), "HTTP 500"),
        (lambda: RedirectResponse("http://example.org/mcp", 307), "redirect"),
    ],
)
def test_an_answer_that_is_no_mcp_says_what_it_was(bridge_to, serve, answer, problem):
    async def endpoint(_):
        return answer()

    url = serve(Starlette(routes=[Route("/mcp", endpoint, methods=["GET", "POST", "DELETE"])]), "off") + "/mcp"
    with pytest.raises(BackendUnavailableError, match=f"(?i){problem}"):
        bridge_to({"s": {"url": url}}).call_tool("s", "echo")


def test_a_login_is_advised_by_a_command_that_can_be_run(bridge_to, serve):
    async def endpoint(_):
        return PlainTextResponse("who are you", 401)

    url = serve(Starlette(routes=[Route("/mcp", endpoint, methods=["GET", "POST", "DELETE"])]), "off") + "/mcp"
    with pytest.raises(BackendUnavailableError, match="; toolexec mcp login 'my server' logs in"):
        bridge_to({"my server": {"url": url}}).call_tool("my server", "echo")


def test_what_a_server_says_is_read_as_utf8_whatever_it_calls_it(bridge_to, serve):
    """By the codec that it names it would take a second for each piece, in which no other server is heard."""

    async def answer(request):
        asked = (await request.json())["id"]
        told = {"jsonrpc": "2.0", "id": asked, "error": {"code": -32000, "message": "no é"}}
        body = f"data: {json.dumps(told, ensure_ascii=False)}\n\n"
        return Response(body.encode(), headers={"content-type": "text/event-stream; charset=punycode"})

    url = serve(Starlette(routes=[Route("/mcp", answer, methods=["POST"])]))
    with pytest.raises(BackendUnavailableError, match="no é"):
        bridge_to({"web": {"url": f"{url}/mcp"}}).call_tool("web", "echo", timeout=10)


def test_a_port_that_nobody_listens_on_says_so(bridge_to):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(BackendUnavailableError, match=r"could not be started: .*connection") as caught:
        bridge_to({"s": {"url": f"http://127.0.0.1:{port}/mcp"}}).call_tool("s", "echo")
    assert not caught.value.started


def test_headers_are_sent_and_in_no_error(bridge_to, serve, monkeypatch):
    seen = []
    monkeypatch.setenv("WEB_TOKEN", "s3cret")

    async def endpoint(request):
        seen.append(request.headers.get("authorization"))
        return PlainTextResponse("no", 401)

    url = serve(Starlette(routes=[Route("/mcp", endpoint, methods=["GET", "POST", "DELETE"])]), "off") + "/mcp"
    entry = {"url": url, "headers": {"Authorization": "Bearer ${WEB_TOKEN}"}}
    with pytest.raises(BackendUnavailableError) as caught:
        bridge_to({"s": entry}).call_tool("s", "echo")
    assert set(seen) == {"Bearer s3cret"}
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("token", "arrives"),
    [("s3cret\n", b"Bearer s3cret"), (" s3cret\r\n", b"Bearer  s3cret"), ("sécret", "Bearer sécret".encode())],
)
def test_a_token_from_a_file_and_one_of_any_characters_can_be_sent(bridge_to, serve, monkeypatch, token, arrives):
    seen = set()
    monkeypatch.setenv("WEB_TOKEN", token)

    async def endpoint(request):
        seen.add(dict(request.headers.raw)[b"authorization"])
        return PlainTextResponse("no", 500)

    url = serve(Starlette(routes=[Route("/mcp", endpoint, methods=["GET", "POST", "DELETE"])]), "off") + "/mcp"
    with pytest.raises(BackendUnavailableError, match="HTTP 500"):
        bridge_to({"s": {"url": url, "headers": {"Authorization": "Bearer ${WEB_TOKEN}"}}}).call_tool("s", "echo")
    assert seen == {arrives}


def test_a_token_that_no_header_can_carry_is_not_quoted(bridge_to, monkeypatch):
    monkeypatch.setenv("WEB_TOKEN", "s3cret\nof two lines")
    entry = {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${WEB_TOKEN}"}}
    with pytest.raises(BackendUnavailableError, match="'Authorization' would have a line break") as caught:
        bridge_to({"s": entry}).call_tool("s", "echo")
    assert "s3cret" not in str(caught.value)
    assert "two lines" not in str(caught.value)

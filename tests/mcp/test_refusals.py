"""What a server over HTTP answers instead of an answer: that costs the one call, and is said as it was said."""

from __future__ import annotations

import gzip
import importlib.util
import json
import threading
from pathlib import Path

import pytest
from mcp.server import MCPServer
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from executor.errors import BackendUnavailableError, ToolError, ToolFailedError
from executor.mcp import _http

_spec = importlib.util.spec_from_file_location("mcp_web", Path(__file__).with_name("web.py"))
_web = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_web)


class Raw:
    """A server of the revision 2025-11-25 without SDK; `answer` may say something else to a call."""

    def __init__(self, *, session=True):
        self.session, self.sessions, self.calls, self.answer = session, 0, [], None
        self.app = Starlette(routes=[Route("/mcp", self.post, methods=["POST", "GET", "DELETE"])])

    async def post(self, request):
        if request.method != "POST":
            return Response(status_code=405)
        told = json.loads(await request.body())
        method, number = told.get("method"), told.get("id")
        if number is None:
            return Response(status_code=202)
        if method == "initialize":
            self.sessions += 1
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "raw", "version": "1"},
            }
            headers = {"Mcp-Session-Id": f"s{self.sessions}"} if self.session else {}
            return JSONResponse({"jsonrpc": "2.0", "id": number, "result": result}, headers=headers)
        if method == "tools/list":
            tool = {"name": "do", "inputSchema": {"type": "object"}}
            return JSONResponse({"jsonrpc": "2.0", "id": number, "result": {"tools": [tool]}})
        if method != "tools/call":
            error = {"code": -32601, "message": "no"}
            return JSONResponse({"jsonrpc": "2.0", "id": number, "error": error}, status_code=404)
        self.calls.append(request.headers.get("mcp-session-id"))
        if self.answer is not None:
            return self.answer(number)
        content = [{"type": "text", "text": "done"}]
        return JSONResponse({"jsonrpc": "2.0", "id": number, "result": {"content": content}})


@pytest.fixture(params=["session", "stateless"])
def server(request):
    raw = Raw(session=request.param == "session")
    raw.served = _web.Served(raw.app, lifespan="off")
    raw.url = f"{raw.served.url}/mcp"
    yield raw
    raw.served.stop()


def rpc(code, message, status, **headers):
    def answer(number):
        body = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
        return JSONResponse(body, status, headers={name.replace("_", "-"): value for name, value in headers.items()})

    return answer


def plain(status, **headers):
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: PlainTextResponse("no", status, headers=told)


@pytest.mark.parametrize(
    ("answer", "kind", "words", "retry_after", "started"),
    [
        (rpc(-32000, "Too fast", 429, Retry_After="7"), BackendUnavailableError, "Too fast", 7.0, False),
        (plain(429, Retry_After="3"), BackendUnavailableError, "HTTP 429", 3.0, False),
        (plain(503, Retry_After="Fri, 31 Dec 1999 23:59:59 GMT"), BackendUnavailableError, "HTTP 503", 0.0, False),
        (plain(500), BackendUnavailableError, "HTTP 500: the fault is .*later.* carried out is not known", None, True),
        (plain(401), BackendUnavailableError, "HTTP 401.*'toolexec mcp login s'", None, False),
        (plain(403), BackendUnavailableError, "HTTP 403: may you use it", None, False),
        (plain(405), BackendUnavailableError, "HTTP 405", None, False),
        (rpc(-32602, "no such tool: session_id is needed", 400), ToolFailedError, "session_id is needed", None, None),
        (rpc(-32000, "the session has too many rows", 400), ToolFailedError, "too many rows", None, None),
        (rpc(-32000, "Connection closed", 200), ToolFailedError, "Connection closed", None, None),
        (lambda _: RedirectResponse("http://elsewhere.example/mcp", 307), ToolFailedError, "not followed", None, None),
        (lambda _: PlainTextResponse("<html>"), ToolFailedError, "Unexpected content type", None, None),
    ],
)
def test_a_refusal_is_that_calls_and_nothing_is_sent_again(
    bridge_to, server, answer, kind, words, retry_after, started
):
    bridge = bridge_to({"s": {"url": server.url}})
    assert bridge.call_tool("s", "do").content[0].text == "done"
    server.answer = answer
    with pytest.raises(kind, match=words) as refused:
        bridge.call_tool("s", "do")
    assert len(server.calls) == 2
    if kind is BackendUnavailableError:
        assert (refused.value.retry_after, refused.value.started) == (retry_after, started)
    server.answer = None
    assert bridge.call_tool("s", "do").content[0].text == "done"
    assert (server.sessions, bridge.status()["s"].starts) == (1, 1)


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("?key=${KEY}", {}),
        ("", {"X-Api-Key": "Token ${KEY}"}),
        ("", {"X-Team": "${WHOLE}"}),
        ("", {"X-Team": "of ${NONE:-ours},${KEY}"}),
    ],
)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_what_a_variable_has_is_in_no_error_whatever_stands_around_it(
    bridge_to, server, monkeypatch, query, headers, status
):
    monkeypatch.setenv("KEY", "opaque-word")
    monkeypatch.setenv("WHOLE", "Token opaque-word\n")
    bridge = bridge_to({"s": {"url": server.url + query, "headers": headers}})
    server.answer = rpc(-32000, "nobody knows opaque-word", status)
    with pytest.raises(ToolError, match=r"nobody knows \*\*\*"):
        bridge.call_tool("s", "do")


def test_no_span_of_the_sdk_has_a_secret_that_the_server_quotes(bridge_to, server, monkeypatch):
    monkeypatch.setenv("KEY", "opaque-word")
    spans, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr("mcp.shared._otel._tracer", provider.get_tracer("test"))
    bridge = bridge_to({"s": {"url": server.url, "headers": {"X-Api-Key": "Token ${KEY}"}}})
    server.answer = rpc(-32000, "nobody knows opaque-word, nor s3cret-1", 200)
    with pytest.raises(ToolError):
        bridge.call_tool("s", "do", {"password": "s3cret-1"})
    told = [span.to_json() for span in spans.get_finished_spans()]
    assert any("nobody knows ***, nor ***" in span for span in told)
    assert not any("opaque" in span or "s3cret" in span for span in told)


def bare(body, status=200, **headers):
    kind = headers.pop("kind", "application/json")
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Response(body, status, told, media_type=kind)


OF_ANOTHER = b'{"jsonrpc": "2.0", "id": 4711, "result": {"content": []}}'
BOMB = gzip.compress(b" " * (_http.MAX_EVENT + 1), 1)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (bare(b'{"id": null, "error": {"code": -32000, "message": "Too fast"}}'), ToolFailedError, "Too fast"),
        (bare(b'{"error": "Too fast"}'), ToolFailedError, "Too fast"),
        (bare(b'[{"id": null, "error": "Too fast"}]'), ToolFailedError, "Too fast"),
        (bare(OF_ANOTHER), BackendUnavailableError, "the id of another request.* is not known"),
        (bare(b"nope", Content_Encoding="gzip"), BackendUnavailableError, "cannot be read.* is not known"),
        (bare(b"nope", kind="text/event-stream", Content_Encoding="gzip"), BackendUnavailableError, "cannot be read"),
        (bare(b"nope", 500, Content_Encoding="gzip"), BackendUnavailableError, "HTTP 500"),
        (bare(BOMB, Content_Encoding="gzip"), BackendUnavailableError, "more than 67108864 bytes.* is not known"),
        (bare(BOMB, 500, Content_Encoding="gzip"), BackendUnavailableError, "HTTP 500"),
        (bare(b"boom", 400, kind="text/plain"), BackendUnavailableError, "HTTP 400"),
        (plain(429, Retry_After="inf"), BackendUnavailableError, "HTTP 429"),
        (plain(503), BackendUnavailableError, "HTTP 503"),
    ],
)
def test_an_odd_answer_costs_one_call_at_once_and_is_asked_for_once(bridge_to, server, answer, kind, words):
    bridge = bridge_to({"s": {"url": server.url}})
    bridge.call_tool("s", "do")
    server.answer = answer
    with pytest.raises(kind, match=words) as odd:
        bridge.call_tool("s", "do", timeout=30)
    assert len(server.calls) == 2
    if kind is BackendUnavailableError:
        assert (odd.value.started, odd.value.retry_after) == ("429" not in words, None)
    server.answer = None
    assert bridge.call_tool("s", "do").content[0].text == "done"
    assert (server.sessions, bridge.status()["s"].starts) == (1, 1)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("text", [b"a\\ud83d", b"a\\ude00", b"a\xff"])
def test_an_answer_with_half_a_character_is_an_answer(bridge_to, server, kind, text):
    def answer(number):
        told = b'{"jsonrpc": "2.0", "id": %d, "result": {"content": [{"type": "text", "text": "%b"}]}}' % (number, text)
        return Response(b"data: %b\n\n" % told if "stream" in kind else told, media_type=kind)

    server.answer = answer
    assert bridge_to({"s": {"url": server.url}}).call_tool("s", "do").content[0].text == "a\ufffd"


@pytest.mark.parametrize(
    "answer",
    [
        rpc(1, "you sent Bearer s3cret-of-mine", 400),
        rpc(1, "I do not know s3cret-of-mine", 200),
        lambda _: RedirectResponse("http://elsewhere.example/s3cret-of-mine", 307),
        lambda _: PlainTextResponse("", media_type="text/x-s3cret-of-mine"),
        rpc(1, "your key is k3y-of-mine", 200),
    ],
)
def test_what_was_sent_to_prove_who_calls_is_in_no_error(bridge_to, server, monkeypatch, answer):
    monkeypatch.setenv("WEB_TOKEN", "s3cret-of-mine")
    monkeypatch.setenv("WEB_KEY", "k3y-of-mine")
    headers = {"Authorization": "Bearer ${WEB_TOKEN}", "X-Api-Key": "${WEB_KEY}"}
    bridge = bridge_to({"s": {"url": server.url, "headers": headers}})
    server.answer = answer
    with pytest.raises(ToolFailedError, match=r"\*\*\*") as told:
        bridge.call_tool("s", "do")
    assert "of-mine" not in str(told.value)


def test_a_session_that_is_refused_in_plain_words_is_begun_anew(bridge_to):
    server = Raw()
    served = _web.Served(server.app, lifespan="off")
    bridge = bridge_to({"s": {"url": f"{served.url}/mcp"}})
    bridge.call_tool("s", "do")

    def forgotten(number):
        server.answer = None
        return PlainTextResponse("Invalid or missing session ID", 400)

    server.answer = forgotten
    assert bridge.call_tool("s", "do").content[0].text == "done"
    assert server.calls == ["s1", "s1", "s2"]
    bridge.close()
    served.stop()


@pytest.mark.parametrize("status", [404, 400])
def test_a_server_that_does_not_know_the_session_any_more_is_asked_again_in_a_new_one(bridge_to, status):
    server = Raw()
    served = _web.Served(server.app, lifespan="off")
    bridge = bridge_to({"s": {"url": f"{served.url}/mcp"}})
    bridge.call_tool("s", "do")
    lost = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "Bad Request: No valid session ID"}}

    def forgotten(number):
        server.answer = None
        return JSONResponse(lost, status)

    server.answer = forgotten
    assert bridge.call_tool("s", "do").content[0].text == "done"
    assert server.calls == ["s1", "s1", "s2"]
    bridge.close()
    served.stop()


def test_a_status_that_no_new_session_helps_with_is_told_as_it_is(bridge_to, server):
    bridge = bridge_to({"s": {"url": server.url}})
    bridge.call_tool("s", "do")
    server.answer = plain(404)
    words = "HTTP 404, in a new session too: was it moved" if server.session else "HTTP 404: is its URL right"
    with pytest.raises(BackendUnavailableError, match=words) as gone:
        bridge.call_tool("s", "do")
    assert "the next call starts it again" not in str(gone.value).lower()
    assert gone.value.started is False
    assert len(server.calls) == (3 if server.session else 2)  # who knows no sessions is not asked in a new one
    server.answer = None
    assert bridge.call_tool("s", "do").content[0].text == "done"


def test_a_server_that_is_down_costs_the_calls_meanwhile_and_none_before_or_after(bridge_to):
    server = MCPServer("web", log_level="CRITICAL")
    began, go_on = threading.Event(), threading.Event()

    def slow() -> str:
        began.set()
        go_on.wait(20)
        return "slow"

    server.add_tool(slow, name="slow")
    server.add_tool(lambda: "here", name="quick")
    served = _web.Served(server.streamable_http_app(stateless_http=True))
    port = int(served.url.rpartition(":")[2])
    bridge = bridge_to({"s": {"url": f"{served.url}/mcp"}})
    assert bridge.call_tool("s", "quick").content[0].text == "here"
    served.stop()
    with pytest.raises(BackendUnavailableError, match="cannot be reached") as down:
        bridge.call_tool("s", "quick")
    assert down.value.started is False
    again = _web.Served(port=port)
    other = MCPServer("web", log_level="CRITICAL")
    other.add_tool(lambda: "back", name="quick")
    again.start(other.streamable_http_app(stateless_http=True))
    assert bridge.call_tool("s", "quick").content[0].text == "back"
    assert bridge.status()["s"].starts == 1
    bridge.close()
    again.stop()


@pytest.mark.parametrize("status", [400, 404, 405])
def test_a_server_of_the_time_before_streamable_http_is_found(bridge_to, status):
    old = MCPServer("old", log_level="CRITICAL")
    old.add_tool(lambda text: text, name="echo")
    app = old.sse_app(sse_path="/mcp")
    for route in app.routes:
        if getattr(route, "path", "") == "/mcp":
            route.methods = {"GET"}
    if status != 405:
        app.routes.insert(0, Route("/mcp", lambda _: PlainTextResponse("no", status), methods=["POST"]))
    served = _web.Served(app)
    bridge = bridge_to({"s": {"url": f"{served.url}/mcp"}})
    assert bridge.call_tool("s", "echo", {"text": "x"}).content[0].text == "x"
    bridge.close()
    served.stop()


@pytest.mark.parametrize(
    ("status", "words"), [(404, "HTTP 404: is its URL right"), (401, "mcp login s"), (500, "HTTP 500")]
)
def test_a_server_that_cannot_be_started_says_why(bridge_to, status, words):
    app = Starlette(routes=[Route("/mcp", lambda _: PlainTextResponse("no", status), methods=["POST", "GET"])])
    served = _web.Served(app, lifespan="off")
    with pytest.raises(BackendUnavailableError, match=f"'s' could not be started: .*{words}"):
        bridge_to({"s": {"url": f"{served.url}/mcp"}}).call_tool("s", "do")
    served.stop()

"""HTTP clients: proxies and certificates of the environment, and what is on this machine."""

from __future__ import annotations

import asyncio
import http.server
import re
import threading
from pathlib import Path

import httpx2
import pytest

from executor.errors import BackendUnavailableError
from executor.httpclient import http_client
from executor.mcp import MCPBridge
from executor_openapi._reading import DocumentError, _fetch

ROOT = Path(__file__).parents[1]
DEAD = "http://ada:secret@127.0.0.1:1"


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


@pytest.fixture
def port():
    with http.server.HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_what_is_on_this_machine_is_told_to_no_proxy(port, host, name, monkeypatch):
    monkeypatch.setenv(name, DEAD)
    with http_client(httpx2.Client) as client:
        assert client.get(f"http://{host}:{port}").text == "{}"
        with pytest.raises(httpx2.ConnectError):
            client.get(f"http://example.invalid:{port}")
    assert _fetch(f"http://{host}:{port}", {}) == (b"{}", {})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SSL_CERT_FILE", "/dev/null/none"),
        ("SSL_CERT_FILE", __file__),
        ("ALL_PROXY", "ftp://ada:secret@127.0.0.1:1"),
        ("HTTPS_PROXY", "http://ada:secret@127.0.0.1:port"),
    ],
)
def test_an_environment_with_which_no_client_can_be_made_is_named(name, value, monkeypatch):
    monkeypatch.setenv(name, value)
    with pytest.raises(BackendUnavailableError, match=f"look at {name}") as raised:
        http_client(httpx2.Client)
    assert not raised.value.started
    assert "secret" not in str(raised.value)
    with pytest.raises(DocumentError, match=f"look at {name}"):
        _fetch("https://example.invalid", {})
    with (
        MCPBridge({"far": {"url": "https://example.invalid/mcp"}}) as bridge,
        pytest.raises(BackendUnavailableError, match=f"look at {name}"),
    ):
        bridge.call_tool("far", "act", {})


def test_no_log_has_the_url_of_a_request_but_where_it_goes(port, caplog):
    caplog.set_level("INFO")
    with http_client(httpx2.Client) as client, httpx2.Client() as another:
        client.get(f"http://127.0.0.1:{port}/hook/s3cret?key=s3cret")
        another.get(f"http://127.0.0.1:{port}/another")

    async def send():
        async with http_client(httpx2.AsyncClient) as client:
            await client.get(f"http://127.0.0.1:{port}/?key=s3cret")

    asyncio.run(send())
    told = [message.split()[3] for message in caplog.messages]
    here = f"http://127.0.0.1:{port}"
    assert told == [f"{here}/…", f"{here}/another", f"{here}/…"]


def test_a_mistake_in_the_options_is_no_matter_of_the_environment(monkeypatch):
    monkeypatch.delenv("ALL_PROXY", raising=False)
    with pytest.raises(TypeError):
        http_client(httpx2.Client, nothing=1)


def test_every_client_is_made_in_one_place():
    made = re.compile(r"httpx2\.(?:(?:Async)?Client|get|post|request|stream)\(")
    texts = {path: path.read_text("utf-8") for root in ("executor", "plugins") for path in (ROOT / root).rglob("*.py")}
    assert [path for path, text in texts.items() if made.search(text)] == []

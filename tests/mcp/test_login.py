"""Logging in: an authorization server and a server that wants its tokens, both made with the SDK, on loopback."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp.server import MCPServer
from mcp.server.auth.json_response import PydanticJSONResponse
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from executor.errors import BackendUnavailableError
from executor.mcp import MCPBridge, login, logout, parse_entry
from executor.mcp._oauth import tokens_path

_spec = importlib.util.spec_from_file_location("mcp_web", Path(__file__).with_name("web.py"))
_web = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_web)


def echo(config):
    with MCPBridge({"guarded": config}, cache=None) as bridge:
        return bridge.call_tool("guarded", "echo", {"text": "hello"}, timeout=20).content[0].text


def test_without_a_log_in_the_error_names_the_command(world):
    with pytest.raises(BackendUnavailableError, match=r"HTTP 401.*'toolexec mcp login guarded' logs in"):
        echo(world.config)
    assert not world.asked


def test_a_person_logs_in_once_and_everything_that_comes_after_is_logged_in(world, browser):
    assert login(world.config, browser)
    (asked,) = world.asked
    assert asked.code_challenge  # PKCE
    assert asked.resource == world.config.url
    assert echo(world.config) == "hello"
    assert echo(world.config) == "hello"
    assert len(world.asked) == 1
    file = tokens_path(world.config)
    assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)) == (0o600, 0o700)


@pytest.mark.parametrize("why", ["expired", "revoked"])
def test_a_token_that_is_not_good_any_more_is_renewed_without_a_person(world, why, browser):
    if why == "expired":
        world.lives = 1  # for the SDK's 30 seconds before the end it is over at once
    login(world.config, browser)
    if why == "revoked":
        world.access.clear()
    world.lives = 3600
    assert echo(world.config) == "hello"
    assert echo(world.config) == "hello"
    assert (world.renewed, len(world.asked)) == (1, 1)


def test_a_refresh_token_that_is_revoked_needs_a_person_again(world, browser):
    login(world.config, browser)
    world.access.clear()
    world.refresh.clear()
    with pytest.raises(BackendUnavailableError, match="'toolexec mcp login guarded' logs in"):
        echo(world.config)
    login(world.config, browser)
    assert echo(world.config) == "hello"


def test_a_token_for_somebody_else_is_not_taken(world, browser):
    world.audience = "https://elsewhere.example/mcp"
    with pytest.raises(BackendUnavailableError, match="does not take the token"):
        login(world.config, browser)
    assert not tokens_path(world.config).exists()


def test_a_given_client_needs_no_registration(world, browser):
    world.clients["app"] = OAuthClientInformationFull(
        client_id="app", redirect_uris=["http://127.0.0.1:18765/callback"], token_endpoint_auth_method="none",
        grant_types=["authorization_code", "refresh_token"], scope="use",
    )  # fmt: skip
    config = parse_entry("guarded", {"url": world.config.url, "oauth": {"clientId": "app", "callbackPort": 18765}})
    assert login(config, browser)
    assert list(world.clients) == ["app"]
    assert echo(config) == "hello"


@pytest.mark.parametrize(("told", "problem"), [("error=access_denied&error_description=No.", "it was refused: No.")])
def test_a_no_is_an_error(world, told, problem):
    def refuse(url):
        back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        threading.Thread(target=lambda: httpx2.get(f"{back}?{told}"), daemon=True).start()

    with pytest.raises(BackendUnavailableError, match=problem):
        login(world.config, refuse)


def test_an_answer_to_another_question_is_refused_and_the_right_one_still_awaited(world, browser):
    refused = []

    def confuse(url):
        back = parse_qs(urlsplit(url).query)["redirect_uri"][0]

        def visit():
            for told in ("code=x&state=other", "code=x", "error=no&state=other"):
                refused.append(httpx2.get(f"{back}?{told}").status_code)
            browser(url)

        threading.Thread(target=visit, daemon=True).start()

    assert login(world.config, confuse)
    assert refused == [404, 404, 404]
    assert echo(world.config) == "hello"


STRANGER = """
import os, socket, sys
os.setgroups([]), os.setgid(65534), os.setuid(65534)
calling = socket.socket()
calling.connect(("127.0.0.1", int(sys.argv[1])))
try:
    calling.sendall(b"GET " + sys.argv[2].encode() + b" HTTP/1.1\\r\\n\\r\\n")
    print(calling.recv(100))
except ConnectionError:
    print(b"")
"""


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can be another user")
def test_another_user_who_has_read_the_address_of_the_page_answers_nothing(world, browser):
    told = []

    def overheard(url):
        asked = parse_qs(urlsplit(url).query)
        port = str(urlsplit(asked["redirect_uri"][0]).port)

        def visit():
            for answer in (f"code=x&state={asked['state'][0]}", "error=no"):
                words = [sys.executable, "-c", STRANGER, port, f"/callback?{answer}"]
                told.append(subprocess.run(words, stdout=subprocess.PIPE, check=False).stdout)
            browser(url)

        threading.Thread(target=visit, daemon=True).start()

    assert login(world.config, overheard)
    assert told == [b"b''\n"] * 2
    assert echo(world.config) == "hello"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"code_challenge_methods_supported": None}, "PKCE with S256.*assumePkce"),
        ({"code_challenge_methods_supported": ["plain"]}, "PKCE with S256"),
        ({"token_endpoint": "http://elsewhere.example/token"}, "over http:// to elsewhere.example: it has to be https"),
        ({"authorization_endpoint": "http://elsewhere.example/in"}, "over http:// to elsewhere.example"),
        ({"authorization_endpoint": "file:///etc/passwd"}, "no log-in"),
        ({"issuer": "https://elsewhere.example/"}, "no log-in"),
    ],
)
def test_nobody_is_sent_where_a_log_in_is_not_safe(world, monkeypatch, changes, problem):
    sent = []
    _changed(monkeypatch, changes)
    with pytest.raises(BackendUnavailableError, match=problem):
        login(world.config, sent.append, timeout=5)
    assert sent == []


def test_who_knows_better_may_say_that_there_is_pkce(world, monkeypatch, browser):
    _changed(monkeypatch, {"code_challenge_methods_supported": None})
    config = parse_entry("guarded", {"url": world.config.url, "oauth": {"assumePkce": True}})
    assert login(config, browser)
    assert echo(config) == "hello"


def _changed(monkeypatch, changes):
    """Have the metadata of the authorization server say something else."""
    render = PydanticJSONResponse.render

    def rendered(self, content):
        if not isinstance(content, OAuthMetadata):
            return render(self, content)
        told = {**json.loads(render(self, content)), **changes}
        return json.dumps({name: value for name, value in told.items() if value is not None}).encode()

    monkeypatch.setattr(PydanticJSONResponse, "render", rendered)


def test_nobody_is_waited_for_for_ever(world):
    with pytest.raises(BackendUnavailableError, match=r"nobody has logged in within 0\.2 s"):
        login(world.config, lambda url: None, timeout=0.2)


def test_an_authority_that_does_not_answer_is_not_waited_for_for_ever(own_folders, monkeypatch):
    monkeypatch.setattr("executor.mcp._oauth.ANSWER_SECONDS", 0.1)
    over = asyncio.Event()

    async def silent(request):
        if request.method == "POST":
            return Response(status_code=401, headers={"www-authenticate": "Bearer"})
        return await over.wait()

    served = _web.Served(Starlette(routes=[Route("/{rest:path}", silent, methods=["GET", "POST"])]), lifespan="off")
    try:
        with pytest.raises(BackendUnavailableError, match="no log-in: ReadTimeout"):
            login(parse_entry("s", {"url": f"{served.url}/mcp"}), lambda url: None)
    finally:
        served.stop()


def test_no_more_is_read_of_a_log_in_than_it_can_have_to_say(own_folders):
    async def endless(request):
        async def chunks():
            while True:
                yield b" " * 65536
                await asyncio.sleep(0)

        if request.method == "POST":
            return Response(status_code=401, headers={"www-authenticate": "Bearer"})
        return StreamingResponse(chunks(), headers={"content-type": "application/json"})

    served = _web.Served(Starlette(routes=[Route("/{rest:path}", endless, methods=["GET", "POST"])]), lifespan="off")
    try:
        with pytest.raises(BackendUnavailableError, match="says more than 1048576 bytes of its log-in"):
            login(parse_entry("s", {"url": f"{served.url}/mcp"}), lambda url: None)
    finally:
        served.stop()


def test_logging_out_forgets_the_tokens(world, browser):
    assert not logout(world.config)
    login(world.config, browser)
    assert logout(world.config)
    with pytest.raises(BackendUnavailableError, match="mcp login guarded"):
        echo(world.config)


def test_a_server_that_asks_nobody_says_so(own_folders):
    server = MCPServer("open", log_level="CRITICAL")
    served = _web.Served(server.streamable_http_app())
    assert login(parse_entry("open", {"url": f"{served.url}/mcp"}), lambda url: None) is False
    served.stop()

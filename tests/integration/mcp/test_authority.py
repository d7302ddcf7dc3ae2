"""Logging in at an authorization server that somebody else wrote: oidc-provider, certified for OpenID Connect."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from click.testing import CliRunner

from executor.cli import cli
from executor.errors import BackendUnavailableError
from executor.mcp import MCPBridge, login, parse_entry
from executor.mcp._oauth import tokens_path

HERE = Path(__file__).parent / "hosted"


class Authority:
    """The authorization server, and the server that takes its tokens (`config`)."""

    def __init__(self, folder):
        words = [shutil.which("node"), HERE / "authority.mjs"]
        self.process = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            if line.startswith("{"):
                break
        else:
            raise AssertionError("".join(said))
        told = json.loads(said[-1])
        self.issuer, self.resource = told["issuer"], told["resource"]
        self.config = parse_entry("guarded", {"url": self.resource})
        self._drain = threading.Thread(target=self.process.stderr.read)
        self._drain.start()

    def control(self, **more):
        httpx2.put(f"{self.issuer}/control", json=more).raise_for_status()

    @property
    def seen(self):
        return httpx2.get(f"{self.issuer}/control").json()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self._drain.join()
        self.process.stderr.close()


@pytest.fixture
def world(npm_folder, own_folders):
    made = Authority(npm_folder(HERE / "package.json"))
    yield made
    made.stop()


def browser(url):
    """What a person does: opens the page, which lets everybody in and sends them back."""

    def visit():
        with httpx2.Client(follow_redirects=True, timeout=20) as client:
            client.get(url)

    threading.Thread(target=visit, daemon=True).start()


def echo(config):
    with MCPBridge({"guarded": config}, cache=None) as bridge:
        return bridge.call_tool("guarded", "echo", {"text": "hello"}, timeout=20).content[0].text


def test_without_a_log_in_the_error_names_the_command(world):
    with pytest.raises(BackendUnavailableError, match=r"HTTP 401.*'toolexec mcp login guarded' logs in"):
        echo(world.config)
    assert world.seen["logins"] == 0


def test_discovery_registration_and_pkce_and_then_calls_without_a_person(world):
    asked = []

    def open_page(url):
        asked.append(parse_qs(urlsplit(url).query))
        browser(url)

    assert login(world.config, open_page)
    assert (asked[0]["code_challenge_method"], asked[0]["resource"]) == (["S256"], [world.resource])
    assert echo(world.config) == "hello"
    assert echo(world.config) == "hello"
    assert world.seen == {"logins": 1, "grants": ["authorization_code"], "challenges": ["S256"]}


@pytest.mark.parametrize("why", ["expired", "revoked"])
def test_a_token_that_is_not_good_any_more_is_renewed_without_a_person(world, why):
    if why == "expired":
        world.control(lives=1)
    login(world.config, browser)
    world.control(lives=3600, revoke=["AccessToken"])
    assert echo(world.config) == "hello"
    assert echo(world.config) == "hello"
    assert world.seen["logins"] == 1
    assert world.seen["grants"] == ["authorization_code", "refresh_token"]


def test_what_is_revoked_altogether_needs_a_person_again(world):
    login(world.config, browser)
    world.control(revoke=["AccessToken", "RefreshToken", "Grant"])
    with pytest.raises(BackendUnavailableError, match="'toolexec mcp login guarded' logs in"):
        echo(world.config)
    login(world.config, browser)
    assert echo(world.config) == "hello"


def test_a_client_that_the_authority_has_forgotten_is_registered_anew(world):
    login(world.config, browser)
    world.control(revoke=["AccessToken", "RefreshToken", "Grant", "Client"])
    with pytest.raises(BackendUnavailableError, match="'toolexec mcp login guarded' logs in"):
        echo(world.config)
    login(world.config, browser)
    assert echo(world.config) == "hello"


def test_a_token_for_somebody_else_is_not_taken(world):
    world.control(audience="https://elsewhere.example/mcp")
    with pytest.raises(BackendUnavailableError, match="does not take the token"):
        login(world.config, browser)
    assert not tokens_path(world.config).exists()


def test_the_command_logs_in_calls_and_logs_out(world, monkeypatch):
    """The browser that the command opens is a program that follows the page."""
    program = f'{sys.executable} -c "import sys, httpx2; httpx2.get(sys.argv[1], follow_redirects=True)" %s'
    monkeypatch.setenv("BROWSER", program)
    run = lambda *words: CliRunner().invoke(cli, words)
    assert run("mcp", "add", "guarded", "--url", world.resource).exit_code == 0
    before = run("call", "mcp__guarded__echo", "text=hi", "--yes")
    assert (before.exit_code, "toolexec mcp login guarded" in before.stderr) == (4, True)
    logged = run("mcp", "login", "guarded")
    assert logged.exit_code == 0, logged.stderr
    after = run("call", "mcp__guarded__echo", "text=hi", "--yes")
    assert "hi" in after.stdout, after.stderr
    token = json.loads(tokens_path(world.config).read_text())["tokens"]["access_token"]
    assert token not in logged.stdout + logged.stderr + after.stdout + after.stderr
    assert run("mcp", "logout", "guarded").exit_code == 0
    assert run("call", "mcp__guarded__echo", "text=hi", "--yes").exit_code == 4

"""Servers over HTTP that are written with others' libraries for TypeScript, and all that they may answer instead."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from pathlib import Path

import httpx2
import pytest

from executor.errors import BackendUnavailableError, ToolFailedError

HERE = Path(__file__).parent / "hosted"
KINDS = [
    pytest.param((library, mode), id=f"{library}-{mode}", marks=[pytest.mark.long] if library == "fastmcp" else [])
    for library in ("sdk", "fastmcp")
    for mode in ("session", "stateless")
]
NO = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "Not now"}}
AS_JSON = {"content-type": "application/json"}


class Hosted:
    """The server as a process that a test kills and starts again, on the same port."""

    def __init__(self, folder, library, mode):
        self._words = [shutil.which("node"), HERE / "server.mjs", library, mode]
        self._folder, self.port = folder, 0
        self.start()

    def start(self):
        words = [*self._words, str(self.port)]
        self.process = subprocess.Popen(words, cwd=self._folder, stderr=subprocess.PIPE, text=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            if line.startswith("listening on "):
                self.port = int(line.split()[-1])
                break
        assert self.port, "".join(said)
        self.drain = threading.Thread(target=self.process.stderr.read)
        self.drain.start()
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.drain.join()
        self.process.stderr.close()

    def answer_next(self, status, headers=None, text="no"):
        told = {"status": status, "headers": headers or {}, "text": text}
        httpx2.put(f"http://127.0.0.1:{self.port}/next", json=told).raise_for_status()


@pytest.fixture(params=KINDS)
def hosted(request, npm_folder):
    server = Hosted(npm_folder(HERE / "package.json"), *request.param)
    yield server
    server.kill()


def say(bridge, text="hello"):
    return bridge.call_tool("web", "echo", {"text": text}, timeout=20).content[0].text


REFUSALS = [
    # Status, headers, text; the error, its words, when to come back, whether it may have been carried out.
    (401, {"www-authenticate": "Bearer"}, "no", BackendUnavailableError, "HTTP 401.*mcp login web'", None, False),
    (403, {}, "no", BackendUnavailableError, "HTTP 403: may you use it", None, False),
    (405, {"allow": "GET"}, "no", BackendUnavailableError, "HTTP 405", None, False),
    (429, {"retry-after": "7"}, "no", BackendUnavailableError, "HTTP 429", 7.0, False),
    (429, {**AS_JSON, "retry-after": "2"}, json.dumps(NO), BackendUnavailableError, "HTTP 429", 2.0, False),
    (503, {"retry-after": "3"}, "no", BackendUnavailableError, "HTTP 503", 3.0, False),
    (500, {}, "no", BackendUnavailableError, "HTTP 500", None, True),
    (307, {"location": "http://elsewhere.invalid/mcp"}, "", ToolFailedError, "not followed", None, None),
    (302, {"location": "http://elsewhere.invalid/mcp"}, "", ToolFailedError, "not followed", None, None),
]  # fmt: skip


def test_what_is_answered_instead_costs_that_call_alone(hosted, bridge_to):
    bridge = bridge_to({"web": {"url": hosted.url}})
    assert [tool["name"] for tool in bridge.list_tools("web")] == ["echo", "slow"]
    for status, headers, text, kind, words, retry_after, started in REFUSALS:
        hosted.answer_next(status, headers, text)
        with pytest.raises(kind, match=words) as refused:
            say(bridge)
        if kind is BackendUnavailableError:
            assert (refused.value.retry_after, refused.value.started) == (retry_after, started), status
        assert say(bridge) == "hello"
    assert bridge.status()["web"].starts == 1


def test_a_session_that_is_not_known_any_more_is_begun_anew(hosted, bridge_to):
    """404 is what the protocol says; a server without sessions has no address of that name, and is called no more."""
    bridge = bridge_to({"web": {"url": hosted.url}})
    assert say(bridge) == "hello"
    hosted.answer_next(404, AS_JSON, json.dumps(NO))
    if "session" in hosted._words:
        assert say(bridge, "again") == "again"
    else:
        with pytest.raises(BackendUnavailableError, match="HTTP 404: is its URL right"):
            say(bridge)
        assert say(bridge, "again") == "again"


def test_a_redirect_to_the_same_place_is_followed_with_all_that_was_sent(hosted, bridge_to):
    bridge = bridge_to({"web": {"url": hosted.url}})
    assert say(bridge) == "hello"
    hosted.answer_next(307, {"location": "/mcp"})
    assert say(bridge, "sent on") == "sent on"


def test_a_restart_costs_the_calls_meanwhile_and_none_after(hosted, bridge_to):
    bridge, caught = bridge_to({"web": {"url": hosted.url}}), []
    assert say(bridge) == "hello"

    def call():
        try:
            bridge.call_tool("web", "slow", {}, timeout=30)
        except BackendUnavailableError as error:
            caught.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert say(bridge, "beside it") == "beside it"
    hosted.kill()
    thread.join(20)
    (broke,) = caught
    assert broke.started
    with pytest.raises(BackendUnavailableError) as down:
        say(bridge)
    assert not down.value.started
    hosted.start()
    assert say(bridge, "back") == "back"

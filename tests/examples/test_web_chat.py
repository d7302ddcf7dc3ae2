"""docs/examples/web_chat.py over HTTP, against a model server that speaks Gemini's generateContent."""

from __future__ import annotations

import json
import signal
import threading
import urllib.error
import urllib.parse
import urllib.request

import pytest

from tests.examples.conftest import LIMIT
from tests.examples.model_server import Call, ModelServer

CHAT = ["web_chat.py", "scripted"]


class Page:
    """What the page's script does: shows the events, and posts what is said."""

    def __init__(self, url):
        self.url = url
        self._events = urllib.request.urlopen(f"{url}events", timeout=LIMIT)
        self._text = ""

    def wait_for(self, *texts):
        """Until each of *texts* has been shown, in this order."""
        for text in texts:
            while text not in self._text:
                self._text += self._event()["text"]
            self._text = self._text.partition(text)[2]

    def wait_for_event(self, name):
        while name not in (event := self._event()):
            self._text += event["text"]
        return event[name]

    def _event(self):
        while not (line := self._events.readline()).startswith(b"data: "):
            assert line, f"the stream has ended after {self._text!r}"
        return json.loads(line[6:])

    def post(self, **what):
        urllib.request.urlopen(f"{self.url}said", json.dumps(what).encode(), timeout=LIMIT).close()

    def close(self):
        self._events.close()


@pytest.fixture
def pages():
    opened = []

    def open_page(chat):
        chat.wait_for("\n", keep=True)
        opened.append(Page(chat.shown.split()[0]))
        return opened[-1]

    yield open_page
    for page in opened:
        page.close()


def test_a_page_asks_shows_hands_over_and_delivers(start, gate, pages):
    held = threading.Event()
    script = (
        ["I will build it.", Call("runCommand", {"command": gate.command}), held, " One moment."],
        ["It goes on in the background."],
        ["It is built."],
    )
    with ModelServer(*script) as server:
        chat = start(CHAT, server)
        page = pages(chat)
        page.post(text="build it")
        page.wait_for("> build it", "I will build it.")
        question = page.wait_for_event("asked")
        assert "runCommand" in question["text"]
        page.post(id=question["id"], word="yes")
        assert page.wait_for_event("closed")["id"] == question["id"]
        page.wait_for("begun")  # while the model goes on
        held.set()
        page.wait_for("One moment.", "It goes on in the background.")
        gate.open()
        page.wait_for("done", "It is built.")
        again = pages(chat)
        again.wait_for("> build it", "begun", "It is built.")  # what was shown before
        with urllib.request.urlopen(page.url, timeout=LIMIT) as shown:
            assert b"EventSource" in shown.read()
        with pytest.raises(urllib.error.HTTPError, match="404") as refused:  # without the secret
            urllib.request.urlopen(urllib.parse.urljoin(page.url, "/events"), timeout=LIMIT)
        refused.value.close()
        assert chat.end(signal.SIGINT) == 0
        assert "Traceback" not in chat.shown
    answer, notice = server.asked[1]["contents"][-1], server.asked[2]["contents"][-1]
    assert "continuing in background" in json.dumps(answer["parts"][0]["functionResponse"]["response"])
    assert "has ended (ok)" in notice["parts"][0]["text"]
    assert "let through" in notice["parts"][0]["text"]


def test_two_calls_run_side_by_side_and_a_refused_turn_goes_on(start, pages):
    calls = [Call("runCommand", {"command": f"echo {name}"}) for name in ("first", "second")]
    with ModelServer(ValueError("too many requests"), calls, ["Both."]) as server:
        chat = start(CHAT, server)
        page = pages(chat)
        page.post(text="hello")
        page.wait_for("400")
        page.post(text="again")
        for _ in calls:
            page.post(id=page.wait_for_event("asked")["id"], word="yes")
        page.wait_for("Both.")
        assert chat.end(signal.SIGINT) == 0
    contents = server.asked[2]["contents"]
    assert [part["text"] for content in contents[:2] for part in content["parts"]] == ["hello", "again"]
    outputs = [part["functionResponse"]["response"]["output"]["stdout"] for part in contents[-1]["parts"]]
    assert outputs == ["first\n", "second\n"]

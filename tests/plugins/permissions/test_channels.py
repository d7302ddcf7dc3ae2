"""The channels: each question once, each answer to its own question, and a failure is a no."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import hashlib
import hmac
import http.server
import json
import threading

import pytest

from executor import Approval
from executor.errors import PermissionConfigError
from executor_permissions import CallbackChannel, FileChannel, PermissionPlugin, QueueChannel, WebhookChannel
from executor_permissions.ask._channels import SIGNATURE, make_channel, understood


def ask(channel, approval=None):
    """Ask one question and wait for the first answer."""
    approval = approval or Approval("ask_1", "tool", {"a": 1}, "why")
    answered, answers = threading.Event(), []

    def answer(said):
        answers.append(said)
        answered.set()
        return True

    channel.ask(approval, answer)
    assert answered.wait(10)
    channel.withdraw(approval.id)
    return answers[0]


def word(said):
    return getattr(said, "word", said)


def test_a_callback_is_called_with_one_question_at_a_time():
    inside, most = [], []
    gate = threading.Event()

    def fn(approval):
        inside.append(approval.id)
        most.append(len(inside))
        gate.wait(10)
        inside.remove(approval.id)
        return "yes"

    channel = CallbackChannel(fn)
    done = threading.Semaphore(0)
    for n in range(5):
        channel.ask(Approval(f"ask_{n}", "tool", {"n": n}), lambda said: done.release() or True)
    gate.set()
    for _ in range(5):
        assert done.acquire(timeout=10)
    assert most == [1] * 5


def test_a_question_that_was_withdrawn_is_not_put_to_the_callback():
    asked, begun, gate = [], threading.Event(), threading.Event()
    answered = threading.Event()

    def fn(approval):
        asked.append(approval.id)
        begun.set()
        gate.wait(10)
        return "yes"

    channel = CallbackChannel(fn)
    channel.ask(Approval("ask_1", "tool", {}), lambda said: answered.set() or True)
    assert begun.wait(10)
    channel.ask(Approval("ask_2", "tool", {}), lambda said: True)
    channel.withdraw("ask_2")
    gate.set()
    assert answered.wait(10)
    assert asked == ["ask_1"]


def test_a_queue_takes_answers_by_id_only():
    channel = QueueChannel()
    answers = []
    channel.ask(Approval("ask_1", "tool", {}), lambda said: answers.append(said) or True)
    assert channel.answer("ask_2", "yes") is False
    assert channel.answer("ask_1", "no") is True
    channel.withdraw("ask_1")
    assert channel.answer("ask_1", "yes") is False
    assert answers == ["no"]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [({"decision": "yes"}, "yes"), ({"decision": "no"}, "no"), ({"decision": "yes", "request_id": "ask_other"}, "no"),
     ({"decision": "yes", "digest": "0"}, "no"), ({}, None), ([], "no"), ("yes", "no"),
     ({"decision": "comment", "comment": "hi"}, ("comment", "hi")), ({"decision": "edit", "arguments": {"a": 2}}, ("edit", {"a": 2}))],
)  # fmt: skip
def test_a_reply_counts_for_its_own_question_only(reply, expected):
    approval = Approval("ask_1", "tool", {"a": 1})
    value = {"request_id": "ask_1", **reply} if isinstance(reply, dict) else reply
    assert word(understood(value, approval)) == expected


def test_files_carry_question_and_answer_and_are_gone_afterwards(tmp_path):
    channel = FileChannel(tmp_path, poll_seconds=0.1)
    approval = Approval("ask_7", "tool", {"path": "x"}, "why", text="Run tool?")
    responses = tmp_path / "responses"
    responses.mkdir()
    (responses / "ask_7.json").write_text(json.dumps({"request_id": "ask_7", "decision": "yes"}))
    assert ask(channel, approval) == "yes"
    assert list(responses.iterdir()) == []
    assert list((tmp_path / "requests").iterdir()) == []


def test_a_file_for_another_question_is_a_no(tmp_path):
    (tmp_path / "responses").mkdir()
    (tmp_path / "responses" / "ask_1.json").write_text(json.dumps({"request_id": "ask_0", "decision": "yes"}))
    assert word(ask(FileChannel(tmp_path, poll_seconds=0.1))) == "no"


def test_a_withdrawn_question_ends_the_look_for_its_file(tmp_path):
    channel = FileChannel(tmp_path, poll_seconds=0.1)
    channel.ask(Approval("ask_1", "tool", {}), lambda said: True)
    channel.withdraw("ask_1")  # the fixture for threads left behind fails the test if the look goes on


@pytest.fixture
def service():
    """A web service that answers each question as its `reply` function says; gives (address, set reply, requests)."""
    seen, reply = [], {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((json.loads(body), self.headers.get(SIGNATURE), body))
            status, headers, data = reply["make"](json.loads(body))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", reply, seen
    server.shutdown()
    server.server_close()
    thread.join(10)


def signed(value, token="secret"):
    data = json.dumps(value).encode()
    return 200, {SIGNATURE: "sha256=" + hmac.new(token.encode(), data, hashlib.sha256).hexdigest()}, data


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda q: signed({"request_id": q["request_id"], "decision": "yes"}), "yes"),
        (lambda q: signed({"request_id": "someone-else", "decision": "yes"}), "no"),
        (lambda q: signed({"request_id": q["request_id"], "decision": "yes"}, "other"), "error"),
        (lambda q: (200, {}, json.dumps({"request_id": q["request_id"], "decision": "yes"}).encode()), "error"),
        (lambda q: (500, {}, b""), "error"),
        (lambda q: (302, {"Location": "http://127.0.0.1:1/"}, b""), "error"),
        (lambda q: (200, signed("x")[1], b"not json"), "error"),
    ],
)
def test_a_webhook_believes_signed_replies_to_its_own_question_only(service, make, expected):
    address, reply, seen = service
    reply["make"] = make
    assert word(ask(WebhookChannel(address, "secret", {"X-Extra": "1"}, 5))) == expected
    question, signature, body = seen[0]
    assert question["arguments"] == {"a": 1}
    assert signature == "sha256=" + hmac.new(b"secret", body, hashlib.sha256).hexdigest()


@pytest.mark.parametrize(
    ("name", "settings", "problem"),
    [("webhook", {"endpoint": "http://x"}, "auth_token"), ("webhook", {"endpoint": "ftp://x", "auth_token": "t"}, "no http address"),
     ("file", {}, "base_path"), ("callback", {}, "given in code")],
)  # fmt: skip
def test_a_channel_that_cannot_be_made_is_an_error(name, settings, problem):
    with pytest.raises(PermissionConfigError, match=problem):
        make_channel(name, settings)


def test_a_channel_that_fails_is_a_denial(tmp_path):
    class Broken:
        def ask(self, approval, answer):
            raise OSError("no display")

        def withdraw(self, approval_id):
            pass

    plugin = PermissionPlugin(policy={}, project_root=tmp_path, state_dir=tmp_path / "s", channel=Broken())
    allowed, info = plugin.check_permission("tool", {})
    assert (allowed, info["method"]) == (False, "no_channel")

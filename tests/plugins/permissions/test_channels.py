"""The channels: each question once, each answer to its own question, and a failure is a no to that one alone."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import hashlib
import hmac
import http.server
import json
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from executor import Approval, ToolCall
from executor.approval import Answer, Lasting
from executor.errors import PermissionConfigError
from executor_permissions import CallbackChannel, FileChannel, PermissionPlugin, QueueChannel, WebhookChannel
from executor_permissions.ask._payload import told, understood
from executor_permissions.ask._webhook import SIGNATURE

EVERY = ("yes", "no", "once", "always", "never", "turn", "idle", "all", "comment", "edit")


def approval_of(number=1, **fields):
    return Approval(f"ask_{number}", "tool", {"a": 1}, "why", **{"options": EVERY, **fields})


def ask(channel, approval=None):
    """Ask one question and wait for the first answer."""
    approval = approval or approval_of()
    answered, answers = threading.Event(), []

    def answer(said):
        answers.append(said)
        answered.set()
        return True

    channel.ask(approval, answer)
    assert answered.wait(10)
    channel.withdraw(approval.id)
    return answers[0]


# A function.


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
        channel.ask(approval_of(n), lambda said: done.release() or True)
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
    channel.ask(approval_of(1), lambda said: answered.set() or True)
    assert begun.wait(10)
    channel.ask(approval_of(2), lambda said: True)
    channel.withdraw("ask_2")
    gate.set()
    assert answered.wait(10)
    assert asked == ["ask_1"]


class OddError(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [SystemExit(0), KeyboardInterrupt(), GeneratorExit(), OddError(), ValueError("x"), MemoryError()]
)
def test_whatever_a_callback_raises_is_a_no_at_once_and_later_questions_are_asked(tmp_path, error, caplog):
    said = [error, "yes", error, error, "yes"]

    def fn(approval):
        answer = said.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    plugin = PermissionPlugin(policy={}, project_root=tmp_path, state_dir=tmp_path / "s", channel=fn)
    answers = [plugin.check_permission("tool", {"n": n}) for n in range(5)]
    assert [(allowed, info["method"]) for allowed, info in answers] == [
        (False, "error"), (True, "user_approved"), (False, "error"), (False, "error"), (True, "user_approved"),
    ]  # fmt: skip
    assert type(error).__name__ in answers[0][1]["reason"]
    assert "callback channel failed" in caplog.text


def test_a_callback_that_never_returns_does_not_keep_later_questions(tmp_path):
    hold, asked = threading.Event(), []

    def fn(approval):
        asked.append(approval.arguments["n"])
        if approval.arguments["n"] == 0:
            hold.wait(30)
        return "yes"

    policy = {"channel": {"timeout": 0.2}}
    plugin = PermissionPlugin(policy=policy, project_root=tmp_path, state_dir=tmp_path / "s", channel=fn)
    assert plugin.check_permission("tool", {"n": 0})[1]["method"] == "timeout"
    assert plugin.check_permission("tool", {"n": 1})[1]["method"] == "user_approved"
    hold.set()
    assert plugin.check_permission("tool", {"n": 2})[1]["method"] == "user_approved"
    assert asked == [0, 1, 2]


def test_a_channel_that_takes_its_time_to_show_a_question_keeps_no_other_one(tmp_path):
    class Slow:
        shown, let_go = threading.Event(), threading.Event()

        def ask(self, approval, answer):
            if approval.tool == "slow":
                self.shown.set()
                self.let_go.wait(60)  # as a window may that is just giving the answer to another question
            answer("yes")

        def withdraw(self, approval_id):
            pass

    plugin = PermissionPlugin(policy={}, project_root=tmp_path, state_dir=tmp_path / "s", channel=Slow())
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(plugin.check_permission, "slow", {})
        assert Slow.shown.wait(30)
        quick = pool.submit(plugin.check_permission, "quick", {})
        try:
            assert quick.result(30)[0]
        finally:
            Slow.let_go.set()
        assert slow.result(30)[0]


def test_an_answer_that_cannot_be_given_is_a_no_and_is_said(caplog):
    for said, why in [
        ("maybe", "the answer maybe is none of yes, no"),
        (None, "the answer null"),
        ("always", "'always' cannot be answered"),
    ]:
        answer = ask(CallbackChannel(lambda approval, said=said: said), approval_of(options=("yes", "no")))
        assert (answer.word, why in answer.value) == ("no", True)
        assert why in caplog.text


# A queue.


def test_a_queue_takes_answers_by_id_only():
    channel = QueueChannel()
    answers = []
    channel.ask(approval_of(1), lambda said: answers.append(said) or True)
    assert channel.answer("ask_2", "yes") is False
    assert channel.answer("ask_1", "no") is True
    channel.withdraw("ask_1")
    assert channel.answer("ask_1", "yes") is False
    assert answers == [Answer("no")]


def test_what_is_no_answer_on_a_queue_is_a_no(caplog):
    channel, answers = QueueChannel(), []
    channel.ask(approval_of(1), lambda said: answers.append(said) or True)
    assert channel.answer("ask_1", "perhaps") is True
    assert answers[0].word == "no"
    assert "perhaps" in caplog.text


# What is told and understood.


def test_a_question_is_told_by_its_own_names_and_by_those_of_the_first_policy_files():
    approval = Approval(
        "id",
        "t",
        {"a": (1, {"b": None})},
        "why",
        (("x", "y"), 5),
        text="text",
        offered_rule="rule",
        deadline=5.0,
        options=("yes", "always", "edit"),
    )
    value = told(approval, 30.0)
    assert json.loads(json.dumps(value)) == value
    stamp = value.pop("timestamp")
    assert stamp.endswith("+00:00")
    assert value == {
        "request_id": "id", "digest": approval.digest, "tool": "t", "arguments": {"a": [1, {"b": None}]}, "reason": "why",
        "parts": [["x", "y"], "5"], "text": "text", "offered_rule": "rule", "deadline": 5.0, "options": ["yes", "always", "edit"],
        "tool_name": "t", "timeout_seconds": 30.0, "default_on_timeout": "deny", "context": {}, "was_edited": False,
        "has_editable_content": True, "editable_parameters": ["a"], "editable_format": "json",
        "response_options": [
            {"short": "y", "full": "yes", "description": "Let it run this time", "decision": "allow"},
            {"short": "a", "full": "always", "description": "Let it run from now on", "decision": "allow_session"},
            {"short": "e", "full": "edit", "description": "Change the arguments", "decision": "edit"},
        ],
    }  # fmt: skip
    assert told(Approval("id", "t", {}, options=("yes",)))["editable_parameters"] == []


REPLIES = [
    *(({"decision": word}, Answer(word)) for word in ("yes", "no", "once", "turn", "idle", "all", "y", "YES ")[:6]),
    ({"decision": "y"}, Answer("yes")),
    ({"decision": "yes", "comment": "mind the dog"}, Answer("yes", "mind the dog")),
    ({"decision": "always"}, Answer("always", Lasting())),
    ({"decision": "always", "scope": "project", "for": "1h", "times": 3}, Answer("always", Lasting("project", 3600, 3))),
    ({"decision": "always project"}, Answer("always", Lasting("project"))),
    ({"decision": "never", "whole_tool": True}, Answer("never", Lasting(whole_tool=True))),
    ({"decision": "comment", "comment": "hi"}, Answer("comment", "hi")),
    ({"decision": "comment", "reason": "hi"}, Answer("comment", "hi")),
    ({"decision": "edit", "arguments": {"a": 2}}, Answer("edit", {"a": 2})),
    ({"decision": "edit", "edited_arguments": {"a": 2}}, Answer("edit", {"a": 2})),
    ({"decision": "allow", "reason": "fine", "remember": False}, Answer("yes")),
    ({"decision": "allow_once"}, Answer("once")),
    ({"decision": "allow", "edited_arguments": {"a": 2}, "was_edited": True}, Answer("edit", {"a": 2})),
    ({"decision": "yes", "arguments": {"a": 1}}, Answer("yes")),
    ({"decision": "deny", "reason": "too risky"}, Answer("no", "too risky")),
    ({"decision": "allow_session", "remember_pattern": "*"}, Answer("always", Lasting("session"))),
    ({"decision": "deny_session"}, Answer("never", Lasting("session"))),
    ({"decision": "allow_turn"}, Answer("turn")),
    ({"decision": "allow_until_idle"}, Answer("idle")),
    ({"decision": "allow_all"}, Answer("all")),
]  # fmt: skip
NO_REPLIES = [
    ({"decision": "yes", "request_id": "ask_other"}, "its request_id is ask_other"),
    ({"decision": "yes", "request_id": None}, "its request_id is null"),
    ({"decision": "yes", "digest": "0"}, '"digest" is not that'),
    ({"decision": "yes", "digest": None}, '"digest" is not that'),
    ({"decision": "yes", "secret": "guess"}, '"secret"'),
    ({"decision": "yes", "secret": None}, '"secret"'),
    ({"decision": "yes", "secret": 5}, '"secret"'),
    ({}, "its decision null is none"),
    ({"decision": "ALLOW!"}, "its decision ALLOW! is none"),
    ({"decision": ["yes"]}, "is none"),
    ({"decision": "edit"}, "is none"),
    ({"decision": "allow", "edited_arguments": [1]}, "is none"),
    ({"decision": "always", "times": 0}, "is none"),
    ([], "no JSON object"),
    ("yes", "no JSON object"),
    (None, "no JSON object"),
]


def reply_to(approval, reply, secret="s"):
    return (
        {"request_id": approval.id, "digest": approval.digest, "secret": secret, **reply}
        if isinstance(reply, dict)
        else reply
    )


@pytest.mark.parametrize(("reply", "expected"), REPLIES)
def test_a_reply_to_this_very_question_is_understood(reply, expected):
    approval = approval_of()
    assert understood(reply_to(approval, reply), approval, "s") == expected
    assert (
        understood(reply_to(approval, reply, None), approval) == expected
    )  # where the transport has seen to the secret


@pytest.mark.parametrize(("reply", "why"), NO_REPLIES)
def test_any_other_reply_is_a_no_and_is_said(reply, why, caplog):
    approval = approval_of()
    answer = understood(reply_to(approval, reply), approval, "s")
    assert (answer.word, why in answer.value) == ("no", True)
    assert why in caplog.text


# Files.


@pytest.fixture
def files(tmp_path):
    """A file channel, and who answers: ``files.answer(change)`` waits for the question and replies to it."""

    class Files:
        folder = tmp_path / "channel"
        secret_file = tmp_path / "state" / "channel.secret"
        seen = None

        def __init__(self):
            self.channel = FileChannel(self.folder, 0.1, tmp_path / "state")
            self.written = threading.Event()

        def reply(self, change, name="ask_1.json", write=None):
            """Ask, and answer as soon as the question lies there; gives what the channel made of it."""
            approval = approval_of()
            answers, done = [], threading.Event()
            os.makedirs(self.folder / "responses", exist_ok=True)
            self.channel._poll = _Poll(lambda: self._answer(approval, change, name, write))
            self.channel.ask(approval, lambda said: answers.append(said) or done.set() or True)
            assert done.wait(20)
            self.channel.withdraw(approval.id)
            return answers[0]

        def _answer(self, approval, change, name, write):
            if self.seen is not None:
                return
            path = self.folder / "requests" / "ask_1.json"
            self.seen = json.loads(path.read_text())
            self.modes = [
                stat.S_IMODE(each.stat().st_mode)
                for each in (self.folder, path.parent, self.folder / "responses", path, self.secret_file)
            ]
            value = {
                "digest": self.seen["digest"],
                "secret": Path(self.seen["secret_file"]).read_text().strip(),
                "decision": "yes",
            }
            value = {**value, **change} if isinstance(change, dict) else change
            (write or (lambda path, text: path.write_text(text)))(self.folder / "responses" / name, json.dumps(value))

    return Files()


class _Poll(float):
    """A pause of the channel's, at whose beginning the test does something: nobody has to wait for a file."""

    def __new__(cls, then):
        made = super().__new__(cls, 0.01)
        made.then = then
        return made


@pytest.fixture(autouse=True)
def _pauses(monkeypatch):
    wait = threading.Event.wait

    def waited(event, timeout=None):
        if isinstance(timeout, _Poll):
            timeout.then()
        return wait(event, timeout)

    monkeypatch.setattr(threading.Event, "wait", waited)


def test_files_carry_question_and_answer_and_are_gone_afterwards(files):
    assert files.reply({}) == Answer("yes")
    assert files.seen["tool_name"] == files.seen["tool"] == "tool"
    assert files.modes == [0o700, 0o700, 0o700, 0o600, 0o600]
    assert [list((files.folder / name).iterdir()) for name in ("requests", "responses")] == [[], []]


def test_files_show_every_question_and_any_of_them_is_answered(tmp_path):
    channel = FileChannel(tmp_path / "channel", 0.1, tmp_path / "state")
    requests, responses = tmp_path / "channel/requests", tmp_path / "channel/responses"
    looks, answered, answers = threading.Semaphore(0), threading.Event(), []
    channel._poll = _Poll(looks.release)
    channel.ask(approval_of(1), lambda said: answers.append((1, said)) or True)
    channel.ask(approval_of(2), lambda said: answers.append((2, said)) or answered.set() or True)
    while not all((requests / f"ask_{number}.json").exists() for number in (1, 2)):
        assert looks.acquire(timeout=20)
    told_ = json.loads((requests / "ask_2.json").read_text())
    value = {"digest": told_["digest"], "secret": Path(told_["secret_file"]).read_text().strip(), "decision": "yes"}
    (responses / "ask_2.json").write_text(json.dumps(value))
    assert answered.wait(20)
    assert answers == [(2, Answer("yes"))]
    channel.withdraw("ask_1")
    channel.withdraw("ask_2")


@pytest.mark.parametrize(
    "change",
    [{"secret": "x"}, {"secret": None}, {"digest": "x"}, {"request_id": "ask_2"}, {"decision": "sure"}, ["yes"]],
)
def test_a_file_that_is_no_answer_to_this_question_is_a_no(files, change):
    assert files.reply(change).word == "no"


def test_a_file_that_is_not_json_is_a_no_when_it_stays_so(files):
    assert "no JSON" in files.reply({}, write=lambda path, text: path.write_text(text[:-1])).value


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_only_a_plain_file_of_the_users_is_an_answer(files, tmp_path, kind):
    def write(path, text):
        (tmp_path / "elsewhere").write_text(text)
        {
            "link": lambda: path.symlink_to(tmp_path / "elsewhere"),
            "fifo": lambda: os.mkfifo(path),
            "folder": path.mkdir,
        }[kind]()

    assert files.reply({}, write=write).word == "error"


def test_an_answer_that_lies_there_before_the_question_is_none(files):
    os.makedirs(files.folder / "responses")
    (files.folder / "responses" / "ask_1.json").write_text(json.dumps({"decision": "yes"}))
    assert files.reply({"decision": "turn"}) == Answer("turn")


def test_a_folder_that_others_can_write_is_closed_to_them(files):
    files.folder.mkdir(mode=0o777)
    files.folder.chmod(0o777)
    assert files.reply({}) == Answer("yes")
    assert files.modes[0] == 0o700


def test_a_withdrawn_question_ends_the_look_for_its_file(tmp_path):
    channel = FileChannel(tmp_path, 0.1, tmp_path / "state")
    channel.ask(approval_of(), lambda said: True)
    channel.withdraw("ask_1")  # the fixture for threads left behind fails the test if the look goes on


@pytest.mark.parametrize("given", ["policy", "code"])
def test_no_tool_comes_near_the_channels_files(tmp_path, monkeypatch, given):
    project, home = tmp_path / "project", tmp_path / "home"
    for folder in (project / "real", home):
        folder.mkdir(parents=True)
    (project / "link").symlink_to(project / "real")
    policy = {
        "whitelist": {"tools": ["writeFile", "copyTo"], "patterns": ["cp *", "cat *", "tee *"]},
        "defaultPolicy": "allow",
    }
    settings = {"channel_type": "none"}
    if given == "policy":
        policy["channel"] = {"type": "file", "base_path": "${project}/link/inbox"}
        settings = {}
    else:
        settings = {"channel": FileChannel(project / "link" / "inbox", 0.1, tmp_path / "state")}
    plugin = PermissionPlugin(policy=policy, project_root=project, home=home, state_dir=tmp_path / "state", **settings)
    for place in (project / "link", project / "real"):
        response = f"{place}/inbox/responses/ask_1.json"
        for tool, args in [
            ("writeFile", {"path": response, "content": "x"}),
            ("copyTo", {"to": response}),
            ("runCommand", {"command": f"cp x {response}"}),
            ("runCommand", {"command": f"echo x > {response}"}),
        ]:
            assert plugin.decide(ToolCall("c", tool, args)).verdict != "allow", (tool, args)
    monkeypatch.chdir(project)
    relative = {"command": "tee link/inbox/responses/ask_1.json"}
    assert plugin.decide(ToolCall("c", "runCommand", relative)).verdict != "allow"
    assert plugin.decide(ToolCall("c", "writeFile", {"path": "real/other.txt", "content": "x"})).verdict == "allow"


@pytest.mark.parametrize(
    ("channel", "problem"),
    [
        ({"type": "file"}, "needs a folder of its own"),
        ({"type": "file", "base_path": "."}, "holds the project"),
        ({"type": "file", "base_path": "${project}/.."}, "holds the project"),
        ({"type": "file", "base_path": "/"}, "holds the project"),
        ({"type": "consle"}, "'consle' is no channel: use one of auto, console, callback, queue, file, webhook, none"),
        ({"type": ["console"]}, "is no channel"),
    ],
)
def test_a_channel_that_cannot_be_is_an_error_when_the_policy_is_loaded(tmp_path, channel, problem):
    with pytest.raises(PermissionConfigError, match=problem):
        PermissionPlugin(
            policy={"channel": channel}, project_root=tmp_path / "p", home=tmp_path / "h", state_dir=tmp_path / "s"
        )


# A web service.


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
        (lambda q: signed({"request_id": q["request_id"], "digest": q["digest"], "decision": "yes"}), "yes"),
        (lambda q: signed({"request_id": q["request_id"], "digest": q["digest"], "decision": "allow_turn"}), "turn"),
        (lambda q: signed({"request_id": q["request_id"], "digest": q["digest"], "decision": "nope"}), "no"),
        (lambda q: signed({"request_id": q["request_id"], "decision": "yes"}), "no"),
        (lambda q: signed({"request_id": "someone-else", "digest": q["digest"], "decision": "yes"}), "no"),
        (lambda q: signed({"request_id": q["request_id"], "digest": q["digest"], "decision": "yes"}, "other"), "error"),
        (lambda q: (200, {}, json.dumps({"request_id": q["request_id"], "decision": "yes"}).encode()), "error"),
        (lambda q: (200, {SIGNATURE: "sha256=é"}, b"{}"), "error"),
        (lambda q: (500, {}, b""), "error"),
        (lambda q: (302, {"Location": "http://127.0.0.1:1/"}, b""), "error"),
        (lambda q: (200, signed("x")[1], b"not json"), "error"),
    ],
)
def test_a_webhook_believes_signed_replies_to_its_own_question_only(service, make, expected):
    address, reply, seen = service
    reply["make"] = make
    assert ask(WebhookChannel(address, "secret", {"X-Extra": "1"}, 5)).word == expected
    question, signature, body = seen[0]
    assert question["arguments"] == {"a": 1}
    assert signature == "sha256=" + hmac.new(b"secret", body, hashlib.sha256).hexdigest()


def test_no_log_has_the_whole_address_of_a_webhook(service, caplog):
    address, reply, _ = service
    reply["make"] = lambda q: (200, {}, b"{}")
    assert ask(WebhookChannel(f"{address}/T0/s3cret?key=s3cret", "secret", {}, 5)).word == "error"
    assert "The webhook at 127.0.0.1 sent a reply that is not signed" in caplog.text
    assert "s3cret" not in caplog.text


def test_no_proxy_is_told_what_a_webhook_on_this_machine_is_asked(service, monkeypatch):
    address, reply, seen = service
    reply["make"] = lambda q: signed({"request_id": q["request_id"], "digest": q["digest"], "decision": "yes"})
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    assert ask(WebhookChannel(address, "secret", {}, 5)).word == "yes"
    assert len(seen) == 1


def test_a_channel_that_fails_is_a_denial(tmp_path):
    class Broken:
        def ask(self, approval, answer):
            raise OSError("no display")

        def withdraw(self, approval_id):
            pass

    plugin = PermissionPlugin(policy={}, project_root=tmp_path, state_dir=tmp_path / "s", channel=Broken())
    allowed, info = plugin.check_permission("tool", {})
    assert (allowed, info["method"]) == (False, "no_channel")

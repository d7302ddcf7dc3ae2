"""``toolexec approvals``: questions of another process, answered from here."""

from __future__ import annotations

import json
import queue
import subprocess
import sys

import pytest

from executor.approval import Approval, Inbox, new_approval_id
from executor.permission._meeting import can_meet

pytestmark = pytest.mark.skipif(not can_meet(), reason="this system has no local sockets")
SECONDS = 20
OPTIONS = ("yes", "no", "always", "comment", "edit")


class Here:
    """Somebody at the asking process, who leaves the answer to others."""

    def __init__(self):
        self.withdrawn = queue.SimpleQueue()

    def ask(self, approval, answer):
        pass

    def withdraw(self, approval_id):
        self.withdrawn.put(approval_id)


@pytest.fixture
def ask():
    """``ask("id", **arguments)`` puts a question, and gives the queue of its answer."""
    inbox, open_ones = Inbox.shared(), []
    inbox.add_channel("here", Here())

    def put(approval_id=None, *, secret=False, details=None, **arguments):
        answers = queue.SimpleQueue()
        approval = Approval(
            approval_id or new_approval_id(), "act", arguments, "because \x1b[31m", text="Run act?", options=OPTIONS,
            secret=secret, details=details or {},
        )  # fmt: skip
        open_ones.append(inbox.put(approval, answers.put))
        return answers

    yield put
    for take_back in open_ones:
        take_back()


def test_questions_are_listed_and_shown(run, run_json, ask):
    assert run_json("approvals", "list") == []
    assert "no question waits" in run("approvals", "list").stderr
    ask("ask_1", command="ls", number=3)
    (listed,) = run_json("approvals", "list")
    assert (listed["id"], listed["arguments"], listed["options"]) == (
        "ask_1", {"command": "ls", "number": 3}, list(OPTIONS),
    )  # fmt: skip
    table = run("approvals", "list").stdout
    assert "ask_1" in table
    assert "\x1b" not in table
    shown = run("approvals", "show", "ask_").stdout
    assert shown.startswith("Run act?\nasked by: ")
    assert "answers: yes, no, always, comment, edit" in shown


def test_the_list_tells_for_whom_each_question_is_asked(run, ask):
    ask("ask_1", details={"folder": "/x", "agent": "planner", "client": "alice\u202e"})
    heading, *folded = run("approvals", "list").stdout.splitlines()
    asked_by = " ".join(line[heading.index("ASKED BY") :].strip() for line in folded)
    assert asked_by.startswith("agent planner, client alice<U+202E>, ")


def test_a_question_without_words_is_shown_as_plain_text_on_lines_of_its_own(run):
    bad = "\x1b[31m\u202e\u200b\r\nask_2  ls"
    inbox = Inbox.shared()
    inbox.add_channel("here", Here())
    take_back = inbox.put(Approval("ask_1", f"act{bad}", {bad: bad}, bad, options=("yes", bad)), lambda _: None)
    shown, listed = run("approvals", "show", "ask_1").stdout, run("approvals", "list").stdout
    take_back()
    assert not set(bad[:7]) & set(shown + listed) - set("[31m")
    assert "Run act<U+001B>[31m" in shown
    assert len(listed.splitlines()) == 2


def test_no_id_is_nobody_s_though_one_question_is_open(run, ask):
    answers = ask("ask_1")
    assert "no question ''" in run("approvals", "answer", "", "yes").stderr
    assert answers.empty()


@pytest.mark.parametrize(
    ("words", "word", "value"),
    [
        (["yes"], "yes", None),
        (["y"], "yes", None),
        (["no:", "use", "ls"], "no", "use ls"),
        (["comment:", "use ls"], "comment", "use ls"),
        (["edit", '{"command": "ls -l"}'], "edit", {"command": "ls -l"}),
    ],
)
def test_a_question_is_answered(run, ask, words, word, value):
    answers = ask("ask_1", command="ls")
    ask("bsk_2", command="ls")
    result = run("approvals", "answer", "ask_", *words)
    assert result.exit_code == 0, result.output
    answer = answers.get(timeout=SECONDS)
    assert (answer.word, answer.value, answer.by) == (word, value, "terminal")
    assert "no question" in run("approvals", "answer", "ask_1", "yes").stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["ask_", "yes"], "2 questions"),
        (["ask_1", "yep"], "not understood"),
        (["ask_1", "always", "but", "not"], "not understood"),
        (["ask_1", "turn"], "no answer to it"),
        (["ask_1", "edit", "{"], "JSON object"),
        (["ask_1", "edit", "[]"], "JSON object"),
        (["ask_3", "yes"], "no question"),
        (["ask_1", "yes", "--digest", "0"], "something else now"),
    ],
)
def test_what_is_no_answer_leaves_the_question_open(run, run_json, ask, words, problem):
    ask("ask_1", a=1)
    ask("ask_2", a=2)
    result = run("approvals", "answer", *words)
    assert result.exit_code != 0
    assert problem in result.stderr
    assert [one["id"] for one in run_json("approvals", "list")] == ["ask_1", "ask_2"]


@pytest.mark.parametrize("words", [["comment: hunter2"], ["yes"], ["edit", '{"answer": "hunter2"}']])
def test_a_secret_is_not_taken_from_the_command_line(run, run_json, ask, words):
    ask("ask_1", secret=True)
    result = run("approvals", "answer", "ask_1", *words)
    assert result.exit_code == 2
    assert "type it when you are asked" in result.stderr
    assert run_json("approvals", "list")[0]["secret"] is True


def test_a_secret_is_refused_by_a_no(run, ask):
    answers = ask("ask_1", secret=True)
    assert run("approvals", "answer", "ask_1", "no").exit_code == 0
    assert answers.get(timeout=SECONDS).word == "no"


@pytest.mark.parametrize("words", [("approvals", "answer", "ask_1"), ("approvals", "watch")])
def test_a_secret_is_typed_unseen(terminal, ask, words):
    answers = ask("ask_1", secret=True)
    screen = terminal(*words)
    screen.read_until("secret: " if words[1] == "answer" else "is a no) > ")
    screen.type("hunter2\n")
    answer = answers.get(timeout=SECONDS)
    assert (answer.word, answer.value) == ("comment", "hunter2")
    if words[1] == "watch":
        screen.type("\x03")
    screen.end()
    assert "hunter2" not in screen.shown


def test_a_watch_tells_in_lines_of_json_and_is_somebody_to_ask(process, ask):
    first = ask("ask_1", n=1)
    command = [sys.executable, "-m", "executor", "approvals", "watch", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        told = json.loads(watching.stdout.readline())
        assert (told["event"], told["question"]["id"]) == ("asked", "ask_1")
        answered = process("approvals", "answer", "ask_1", "yes: quickly", "--json")
        assert json.loads(answered.stdout) == {"id": "ask_1", "answered": True}
        assert first.get(timeout=SECONDS).value == "quickly"
        assert json.loads(watching.stdout.readline())["event"] == "closed"
        # Nobody is here now; the watch is somebody.
        answers = queue.SimpleQueue()
        Inbox.shared().put(Approval("ask_2", "act", {}), answers.put)
        assert json.loads(watching.stdout.readline())["question"]["id"] == "ask_2"
        assert process("approvals", "answer", "ask_2", "no").returncode == 0
        assert answers.get(timeout=SECONDS).word == "no"
        watching.kill()


def test_a_watch_that_nobody_reads_ends_before_it_is_asked_something(process, ask):
    ask("ask_1", n=1)
    command = [sys.executable, "-m", "executor", "approvals", "watch", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        try:
            assert json.loads(watching.stdout.readline())["question"]["id"] == "ask_1"
            watching.stdout.close()
            assert watching.wait(SECONDS) == 0, "it would be taken for somebody to ask"
        finally:
            watching.kill()
    answers = queue.SimpleQueue()
    Inbox.shared().put(Approval("ask_2", "act", {}), answers.put)
    assert answers.get(timeout=SECONDS).word == "no_channel"
    assert process("approvals", "answer", "ask_1", "no").returncode == 0


def test_a_watch_at_a_terminal_asks_there(terminal, ask):
    answers = ask("ask_1")
    screen = terminal("approvals", "watch")
    screen.read_until("come here; Ctrl-C ends it")
    screen.read_until("Run act?")
    screen.type("yes\n")
    assert answers.get(timeout=SECONDS).word == "yes"
    screen.type("\x03")
    assert screen.end() == 130


def test_a_watch_ends_after_its_time(run):
    assert run("approvals", "watch", "--json", "--timeout", "0.01").exit_code == 0

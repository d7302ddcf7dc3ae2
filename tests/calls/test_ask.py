"""A tool that asks a person: what it gets, who hears of it, and that its time stands still meanwhile."""

from __future__ import annotations

import queue
import threading

import pytest

from executor import JsonLinesLedger, ToolCall, ToolExecutor, current_call
from executor.approval import Surface
from executor.errors import ExecutionError
from executor.permission._dialogue import Dialogue
from executor.permission._form import Form, _text
from executor.permission._meeting import can_meet

SECONDS = 20
FORM = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}, "m": {"type": "string", "default": "a"}},
    "required": ["n"],
}


class Person:
    """A channel on which the test answers."""

    def __init__(self):
        self.asked = queue.SimpleQueue()

    def ask(self, approval, answer):
        self.asked.put((approval, answer))

    def withdraw(self, approval_id):
        pass

    def say(self, said):
        approval, answer = self.asked.get(timeout=SECONDS)
        answer(said)
        return approval


@pytest.fixture
def person():
    return Person()


@pytest.fixture
def executor(person, tmp_path):
    with ToolExecutor(JsonLinesLedger(tmp_path / "ledger.jsonl")) as made:
        made.register("pick", lambda args: current_call().ask("Which?", **args))
        made.approvals.add_channel("test", person)
        yield made


@pytest.mark.parametrize(
    ("options", "said", "value"),
    [
        ({}, "comment: main", {"answer": "main"}),
        ({}, ("comment", '{"not": "read"}'), {"answer": '{"not": "read"}'}),
        ({}, "yes", {}),
        ({}, ("edit", {"answer": "x"}), {"answer": "x"}),
        ({"secret": True}, ("comment", "hunter2"), {"answer": "hunter2"}),
        ({"schema": FORM}, "comment: 3", {"n": 3, "m": "a"}),
        ({"schema": FORM}, ("comment", '{"n": 3, "m": "b"}'), {"n": 3, "m": "b"}),
        ({"schema": FORM}, ("edit", {"n": 3, "m": None}), {"n": 3, "m": "a"}),
        ({"schema": {"type": "object", "properties": {"any": True}}}, "comment: 3", {"any": "3"}),
    ],
)
def test_a_tool_gets_what_a_person_says(executor, person, options, said, value):
    future = executor.submit(ToolCall("1", "pick", options))
    approval = person.say(said)
    assert future.result(SECONDS).value == value
    assert (approval.tool, approval.secret) == ("pick", bool(options.get("secret")))
    assert approval.text.startswith("pick asks: Which?")


def test_what_a_tool_asks_begins_no_line_of_the_question():
    told = {"x\nanswers": {"title": "x\nRun fine?", "enum": ["a\nb"]}}
    lines = _text(Form("pick", "Which?\nRun fine?", {"properties": told}), "x\ny").splitlines()
    assert [line for line in lines if not line.startswith("      ")] == [
        "pick asks: Which?⏎", "(The last answer does not fit: x⏎", '  "x\\nanswers" (a⏎', lines[-1],
    ]  # fmt: skip
    assert lines[-1].startswith("Answer c:TEXT")


def test_who_fills_in_a_form_begins_with_its_defaults(executor, person):
    future = executor.submit(ToolCall("1", "pick", {"schema": FORM}))
    assert person.say("comment: 3").draft == {"n": None, "m": "a"}
    assert future.result(SECONDS).success


@pytest.mark.parametrize("wrong", ["yes", "comment: x", "comment: 0", ("edit", {"n": "3"}), "comment: [1]"])
def test_an_answer_that_does_not_fit_is_asked_for_again_and_at_last_refused(executor, person, wrong):
    future = executor.submit(ToolCall("1", "pick", {"schema": FORM}))
    person.say(wrong)
    assert "The last answer does not fit" in person.say("comment: 5").text
    assert future.result(SECONDS).value == {"n": 5, "m": "a"}
    future = executor.submit(ToolCall("2", "pick", {"schema": FORM}))
    for _ in range(3):
        person.say(wrong)
    assert "3 answers did not fit" in future.result(SECONDS).error


@pytest.mark.parametrize("wrong", ["comment: 3", "comment: [1]", "comment: {"])
def test_what_is_no_object_does_not_fit_a_form_of_several_fields(executor, person, wrong):
    number = {"type": "integer"}
    form = {"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]}
    future = executor.submit(ToolCall("1", "pick", {"schema": form}))
    person.say(wrong)
    assert "The last answer does not fit" in person.say('comment: {"a": 1, "b": 2}').text
    assert future.result(SECONDS).value == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("said", "told"), [("no", "the user said no"), ("no: never", "the user said no: never"), ("what", "said no")]
)
def test_a_no_is_an_error_that_says_so(executor, person, said, told):
    future = executor.submit(ToolCall("1", "pick", {}))
    person.say(said)
    assert told in future.result(SECONDS).error


def test_nobody_there_no_answer_in_time_and_a_stop_are_errors(person):
    over = threading.Event()

    def pick(args):
        try:
            return current_call().ask("Which?", **args)
        finally:
            over.set()

    with ToolExecutor() as executor:
        executor.register("pick", pick)
        assert "nobody to ask" in executor.execute("pick", {})[1]["error"]
        executor.approvals.add_channel("test", person)
        assert "nobody answered in time" in executor.execute("pick", {"timeout": 0.01})[1]["error"]
        over.clear()
        future = executor.submit(ToolCall("1", "pick", {}))
        assert person.asked.get(timeout=SECONDS)
        assert person.asked.get(timeout=SECONDS)
        assert executor.cancel("1")
        assert future.result(SECONDS).kind == "cancelled"
        assert over.wait(SECONDS)  # the call has ended; its tool hears of it by itself
        assert executor.approvals.pending() == []


def test_identical_questions_of_two_calls_are_two_questions(executor, person):
    futures = [executor.submit(ToolCall(str(n), "pick", {})) for n in range(2)]
    for number in range(2):
        person.say(f"comment: {number}")
    assert sorted(future.result(SECONDS).value["answer"] for future in futures) == ["0", "1"]


def out_of_time(executor):
    """As long as the limit of these tests is: a call has run out of it."""
    executor.register("witness", lambda args: current_call().wait(), timeout=0.05)
    assert executor.execute("witness", {})[1]["timed_out"]


@pytest.mark.parametrize("background", [False, True])
def test_the_time_limit_stands_still_while_a_person_is_asked_and_then_goes_on(executor, person, background):
    def tool(args):
        said = current_call().ask("Which?")["answer"]
        if said == "wait":
            current_call().wait()
        return said

    executor.register("ask", tool, timeout=0.05)
    for said in ("go", "wait"):
        future = executor.submit(ToolCall("1", "ask", {}), background=background)
        approval, answer = person.asked.get(timeout=SECONDS)
        out_of_time(executor)
        assert answer(("comment", said))
        result = future.result(SECONDS)
        if background:
            info = executor.tasks.wait(result.task_id, SECONDS)
            assert str(info.status) == ("completed" if said == "go" else "timeout")
        else:
            assert result.kind == ("ok" if said == "go" else "timed_out")


def test_the_clock_of_the_outer_call_stands_still_too(executor, person):
    executor.register("outer", lambda args: current_call().host.call(ToolCall("2", "pick", {})).value, timeout=0.05)
    future = executor.submit(ToolCall("1", "outer", {}))
    _, answer = person.asked.get(timeout=SECONDS)
    out_of_time(executor)
    assert answer("comment: x")
    assert future.result(SECONDS).value == {"answer": "x"}


def test_a_call_is_not_handed_over_while_a_person_is_asked(executor, person):
    executor.register("ask", lambda args: current_call().ask("Which?"), auto_background=0.05)
    future = executor.submit(ToolCall("1", "ask", {}))
    _, answer = person.asked.get(timeout=SECONDS)
    out_of_time(executor)
    assert answer("comment: x")
    assert future.result(SECONDS).value == {"answer": "x"}


@pytest.mark.skipif(not can_meet(), reason="this system has no local sockets")
def test_a_secret_is_in_no_file(person, own_folders, tmp_path):
    asked = queue.SimpleQueue()
    with (
        Surface("page", lambda event, approval: asked.put((event, approval))) as surface,
        ToolExecutor(JsonLinesLedger(tmp_path / "ledger.jsonl")) as executor,
    ):
        got = []
        executor.register(
            "login", lambda args: got.append(current_call().ask("Password?", secret=True)), auto_background=0
        )
        task_id = executor.call(ToolCall("1", "login", {})).task_id
        _, approval = asked.get(timeout=SECONDS)
        assert approval.secret
        assert surface.answer(approval.id, ("comment", "hunter2-unseen"))
        executor.tasks.wait(task_id, SECONDS)
    assert got == [{"answer": "hunter2-unseen"}]
    kept = [path for folder in (own_folders, tmp_path) for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == "ledger.jsonl" for path in kept)
    assert not any(b"hunter2" in path.read_bytes() for path in kept)


def test_a_secret_of_four_characters_is_left_out_of_an_error_and_a_shorter_one_stays(executor, person):
    def login(args):
        told = current_call().ask("PIN?", secret=True)["answer"]
        raise ValueError(f"the lock does not take {told}")

    executor.register("login", login)
    for pin, shown in (("9417", "***"), ("941", "941")):
        future = executor.submit(ToolCall("1", "login", {}))
        person.say(("comment", pin))
        assert future.result(SECONDS).error == f"the lock does not take {shown}"


@pytest.mark.parametrize("kind", [ValueError, ExecutionError, KeyError])
def test_a_secret_is_left_out_of_the_error_of_the_tool_that_was_told(tmp_path, kind):
    secret = "hunter2\\unseen"

    def login(args):
        told = current_call().ask("Password?", secret=True)["answer"]
        try:
            raise OSError(f"db://me:{told}@host")
        except OSError as error:
            raise kind(f"no way to db://me:{told}@host") from error

    with ToolExecutor(JsonLinesLedger(tmp_path / "ledger.jsonl")) as executor:
        executor.register("login", login)
        executor.approvals.subscribe(
            lambda event, approval: event == "asked" and executor.approvals.decide(approval.id, ("comment", secret))
        )
        ok, told = executor.execute("login")
    assert not ok
    assert "no way to db://me:***@host" in told["error"]
    assert "hunter2" not in str(told)
    assert "hunter2" not in (tmp_path / "ledger.jsonl").read_text()


def test_at_a_terminal_a_secret_is_the_line_that_is_typed(executor, person):
    future = executor.submit(ToolCall("1", "pick", {"secret": True}))
    approval, answer = person.asked.get(timeout=SECONDS)
    dialogue = Dialogue(approval)
    assert "not shown" in dialogue.opening
    assert dialogue.hear("\n").answer.word == "no"
    heard = dialogue.hear("yes: hunter2\n")
    assert "hunter2" not in heard.say
    assert answer(heard.answer)
    assert future.result(SECONDS).value == {"answer": "yes: hunter2"}


def test_threads_of_two_questions_in_one_call_hold_its_clock_until_the_last_is_answered(executor, person):
    def tool(args):
        call, said = current_call(), queue.SimpleQueue()
        threads = [call.run_in_thread(lambda: said.put(current_call().ask("Which?")["answer"])) for _ in range(2)]
        for thread in threads:
            thread.join(SECONDS)
        return sorted(said.get() for _ in range(2))

    executor.register("two", tool, timeout=0.05)
    future = executor.submit(ToolCall("1", "two", {}))
    first, second = (person.asked.get(timeout=SECONDS) for _ in range(2))
    assert first[1]("comment: a")
    out_of_time(executor)
    assert second[1]("comment: b")
    assert future.result(SECONDS).value == ["a", "b"]

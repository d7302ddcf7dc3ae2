"""Ledgers: what is recorded, what is masked, and that a ledger that fails changes no outcome."""

from __future__ import annotations

import json
import os
import pickle
import stat
import subprocess
import sys
import threading

import pytest

from executor import Decision, JsonLinesLedger, TokenLedger, ToolCall, ToolExecutor


def stages(ledger):
    return [record["stage"] for record in ledger.records]


class Denying:
    def check_permission(self, name, args, context, call_id):
        return False, {"reason": "no", "method": "blacklist"}


class Raising:
    def check_permission(self, name, args, context, call_id):
        raise RuntimeError("broken")


def test_the_events_of_a_call_are_recorded_in_order():
    ledger = TokenLedger()
    with ToolExecutor(ledger) as executor:
        executor.register("give", lambda args: 1)
        executor.execute("give", {"a": 1}, call_id="c1")
        executor.execute("missing")
    assert stages(ledger) == ["call-start", "call-end", "call-start", "call-end"]
    start, end = ledger.records[:2]
    assert (start["tool"], start["call_id"], start["args"]) == ("give", "c1", {"a": 1})
    assert len(start["args_sha256"]) == 64
    assert (end["outcome"], end["call_id"]) == ("completed", "c1")
    assert end["duration"] >= 0
    assert [record["seq"] for record in ledger.records] == [1, 2, 3, 4]
    assert ledger.records[3]["error"] == "No executor registered for missing"


@pytest.mark.parametrize(
    ("plugin", "stage", "said"),
    [
        (Denying(), "permission-check", {"allowed": False, "reason": "no", "method": "blacklist"}),
        (Raising(), "permission-error", {"error": "broken"}),
    ],
)
def test_what_the_gate_decided_is_recorded(plugin, stage, said):
    ledger = TokenLedger()
    with ToolExecutor(ledger, permission_plugin=plugin) as executor:
        executor.register("give", lambda args: 1)
        executor.execute("give", {"a": 1})
    (record,) = [record for record in ledger.records if record["stage"] == stage]
    assert said.items() <= record.items()
    assert record["args"] == {"a": 1}
    assert ledger.records[-1]["outcome"] == "failed"


def test_a_call_that_goes_to_the_background_is_followed_to_its_end():
    ledger = TokenLedger()
    with ToolExecutor(ledger) as executor:
        executor.register("give", lambda args: 1, auto_background=0)
        task_id = executor.execute("give")[1]["task_id"]
        executor.tasks.wait(task_id, 10)
    by_stage = {record["stage"]: record for record in ledger.records}
    assert by_stage["auto-background"]["task_id"] == by_stage["task-end"]["task_id"] == task_id
    assert by_stage["auto-background"]["threshold"] == 0
    assert by_stage["call-end"]["outcome"] == "backgrounded"
    assert by_stage["task-end"]["status"] == "completed"


def test_secrets_are_masked_by_key_and_by_value():
    ledger = TokenLedger(secrets=["hunter2"])
    ledger.add_secret("sk-live")
    arguments = {
        "password": "p",
        "headers": {"Authorization": "Bearer x", "Accept": "y"},
        "api_key": ["k"],
        "note": "the password is hunter2, the key sk-live-1",
        "tokens": 5,
        "empty_token": None,
    }
    ledger.record("call-start", {"args": arguments})
    (record,) = ledger.records
    assert record["args"] == {
        "password": "***",
        "headers": {"Authorization": "***", "Accept": "y"},
        "api_key": "***",
        "note": "the password is ***, the key ***-1",
        "tokens": 5,
        "empty_token": None,
    }
    assert arguments["password"] == "p"


def test_arguments_that_are_no_json_are_recorded_as_text():
    ledger = TokenLedger()
    cycle = {}
    cycle["self"] = cycle
    for args in (object(), {"a": {1, 2}}, b"\xff", cycle, "plain"):
        ledger.record("call-start", {"args": args})
    assert len(json.dumps(ledger.records)) > 0


def test_memory_keeps_the_newest_records():
    ledger = TokenLedger(limit=2)
    for number in range(5):
        ledger.record("call-start", {"n": number})
    assert [record["n"] for record in ledger.records] == [3, 4]


def test_a_file_has_one_record_a_line_and_belongs_to_its_owner_only(tmp_path):
    path = tmp_path / "state" / "ledger.jsonl"
    ledger = JsonLinesLedger(path)
    old = os.umask(0)
    try:
        with ToolExecutor(ledger) as executor:
            executor.register("give", lambda args: 1)
            executor.execute("give", {"text": "a\nb\ud800", "secret": "s"})
    finally:
        os.umask(old)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [record["stage"] for record in records] == ["call-start", "call-end"]
    assert records[0]["args"]["secret"] == "***"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_relative_path_is_that_of_the_folder_in_which_it_was_given(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    ledger = JsonLinesLedger("calls.jsonl")
    monkeypatch.chdir(tmp_path / "elsewhere")
    for each in (ledger, pickle.loads(pickle.dumps(ledger))):
        each.record("tool-call", {"tool": "t"})
    assert len((tmp_path / "calls.jsonl").read_text().splitlines()) == 2
    assert not list((tmp_path / "elsewhere").iterdir())


def test_files_are_rotated_by_size_and_the_oldest_go(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = JsonLinesLedger(path, max_bytes=300, backups=2)
    for number in range(20):
        ledger.record("call-start", {"n": number, "text": "x" * 60})
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["ledger.jsonl", "ledger.jsonl.1", "ledger.jsonl.2"]
    assert all(file.stat().st_size <= 300 for file in files)
    assert json.loads(path.read_text().splitlines()[-1])["n"] == 19


WRITER = """
import sys
from executor import JsonLinesLedger

ledger = JsonLinesLedger(sys.argv[1], max_bytes=2000, backups=2000)
sys.stdin.readline()
for number in range(400):
    ledger.record("call-start", {"call_id": f"{sys.argv[2]}-{number}"})
"""


def test_processes_that_share_a_file_lose_no_record_as_it_is_rotated(tmp_path):
    path = tmp_path / "ledger.jsonl"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, str(number)], stdin=subprocess.PIPE)
        for number in range(3)
    ]
    for writer in writers:
        writer.stdin.close()  # all begin
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    lines = [line for file in tmp_path.iterdir() for line in file.read_text().splitlines() if line]
    assert len({json.loads(line)["call_id"] for line in lines}) == len(lines) == 1200


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_a_file_that_another_process_rotates_is_written_to_meanwhile(tmp_path):
    import fcntl

    path = tmp_path / "ledger.jsonl"
    ledger = JsonLinesLedger(path, max_bytes=200)
    ledger.record("call-start", {"n": 0, "text": "x" * 60})
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)  # which may be stopped: nobody waits for it
        ledger.record("call-start", {"n": 1, "text": "x" * 60})
        assert [file.name for file in tmp_path.iterdir()] == ["ledger.jsonl"]
    ledger.record("call-start", {"n": 2, "text": "x" * 60})
    assert [json.loads(line)["n"] for line in (tmp_path / "ledger.jsonl.1").read_text().splitlines()] == [0, 1]
    assert json.loads(path.read_text())["n"] == 2


def test_what_a_full_disk_or_a_kill_left_of_a_record_takes_no_other_with_it(tmp_path, monkeypatch):
    path = tmp_path / "ledger.jsonl"
    one, other = JsonLinesLedger(path), JsonLinesLedger(path)
    one.record("call-start", {"n": 0})
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:20]))
        with pytest.raises(OSError, match="only 20 of"):
            one.record("call-start", {"n": 1})
    one.record("call-start", {"n": 2})
    with path.open("ab") as killed:
        killed.write(b'{"stage": "call-st')
    other.record("call-start", {"n": 3})
    one.record("call-start", {"n": 4})
    lines = path.read_text().splitlines()
    assert [json.loads(line)["n"] for line in lines if line.endswith("}")] == [0, 2, 3, 4]
    assert len(lines) == 6


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes")
def test_a_pipe_in_the_place_of_the_file_holds_up_no_call(tmp_path, caplog):
    path = tmp_path / "ledger.jsonl"
    os.mkfifo(path)
    with ToolExecutor(JsonLinesLedger(path)) as executor:
        executor.register("give", lambda args: 1)
        assert executor.execute("give") == (True, 1)  # nobody reads: it is said, once
        assert len(caplog.records) == 1
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            assert executor.execute("give", {"pad": "x" * 100_000}) == (True, 1)  # more than a pipe holds
            assert executor.execute("give") == (True, 1)
            assert os.read(reader, 20) == b'{"stage": "call-star'
        finally:
            os.close(reader)


@pytest.mark.parametrize("raised", [OSError("full"), SystemExit(1)])
def test_a_ledger_that_raises_changes_no_outcome_and_is_said_once(raised, caplog):
    class Broken:
        def record(self, stage, payload):
            raise raised

    with ToolExecutor(Broken()) as executor:
        executor.register("give", lambda args: 1)
        assert [executor.execute("give") for _ in range(3)] == [(True, 1)] * 3
    assert len(caplog.records) == 1


def test_a_required_ledger_that_cannot_write_refuses_the_call_before_it_runs(tmp_path):
    (tmp_path / "file").write_text("in the way")
    ran = []
    with ToolExecutor(JsonLinesLedger(tmp_path / "file" / "ledger.jsonl", required=True)) as executor:
        executor.register("give", ran.append)
        success, value = executor.execute("give")
    assert not success
    assert "error" in value
    assert ran == []


def test_an_opinion_is_recorded_with_its_reason():
    from executor import PluginRegistry, hookimpl

    class Opinion:
        @hookimpl
        def executor_check_permission(self):
            return Decision("deny", "not today", "calendar")

    registry = PluginRegistry(bundled=False, entry_points=False)
    registry.register(Opinion(), "opinion")
    registry.expose("opinion")
    ledger = TokenLedger()
    with ToolExecutor(ledger, registry=registry) as executor:
        executor.register("give", lambda args: 1)
        executor.execute("give")
    (record,) = [record for record in ledger.records if record["stage"] == "permission-check"]
    assert (record["allowed"], record["reason"], record["method"]) == (False, "not today", "calendar")


class Meddling:
    """A host's own ledger, which changes what it is given."""

    def __init__(self):
        self.seen = []

    def record(self, stage, payload):
        self.seen.append((stage, repr(payload)))
        if isinstance(payload.get("args"), dict):
            payload["args"]["path"] = "/etc/shadow"
            payload["args"]["nested"]["deep"] = "changed"


def test_a_ledger_of_the_hosts_own_sees_no_secret_and_changes_nothing_of_the_call():
    class Allow:
        def decide(self, call, context):
            return Decision("allow", "yes", "test")

        def ask(self, call, decision, context):
            raise AssertionError("nobody is asked")

    ledger = Meddling()
    arguments = {"path": "notes.txt", "nested": {"deep": 1}, "password": "hunter2", "url": "https://u:hunter2@h"}
    with ToolExecutor(ledger, permission_plugin=Allow()) as executor:
        executor.register("give", lambda args: {**args})
        value = executor.execute("give", arguments)[1]
    assert {key: value[key] for key in arguments} == arguments
    assert (arguments["path"], arguments["nested"]) == ("notes.txt", {"deep": 1})
    assert [stage for stage, _ in ledger.seen] == ["call-start", "permission-check", "call-end"]
    assert all("hunter2" not in told for _, told in ledger.seen)
    assert all("args_sha256" in told for _, told in ledger.seen[:2])


@pytest.mark.parametrize(
    "arguments", [{"pwd": "hunter2"}, {"login": {"credentials": ["hunter2"]}}, '{"password": "hunter2"}']
)
def test_a_secret_argument_that_an_error_or_a_reason_repeats_is_in_no_record(arguments):
    class Says:
        def check_permission(self, name, args, context=None, call_id=None):
            return True, {"reason": f"asked for {args}", "method": "test"}

    def login(args):
        raise RuntimeError(f"401: {args} were refused; hunter2 is wrong")

    ledger, kept = TokenLedger(), []

    class Own:
        def record(self, stage, payload):
            kept.append({"stage": stage, **payload})

    for each in (ledger, Own()):
        with ToolExecutor(ledger=each, permission_plugin=Says()) as executor:
            executor.register("login", login)
            executor.register("later", login, auto_background=0)
            executor.execute("login", arguments)
            executor.submit(ToolCall("1", "login", arguments)).result(10)
            executor.tasks.wait(executor.execute("later", arguments)[1]["task_id"], 10)
    for records in (ledger.records, kept):
        assert sum("is wrong" in str(record) for record in records) == 3
        assert sum("asked for" in str(record) for record in records) == 3
        assert "hunter2" not in str(records)


def test_what_a_person_has_edited_in_is_in_no_record_either():
    class Editing:
        def check_permission(self, name, args, context, call_id):
            edited = {"was_edited": True, "modified_args": {"password": "s3same-open"}}
            return True, {"reason": "edited", "method": "user_approved", **edited}

    def fail(args):
        raise ValueError(f"{args['password']} is wrong")

    ledger = TokenLedger()
    with ToolExecutor(ledger) as executor:
        executor.set_permission_plugin(Editing())
        executor.register("fail", fail, schema={"type": "object"})
        done = threading.Event()
        executor.set_task_done_callback(lambda *_: done.set())  # after it was recorded
        assert "s3same-open" in executor.execute("fail", {"password": "other"})[1]["error"]
        executor.start(ToolCall("2", "fail", {"password": "other"}))
        assert done.wait(30)
    assert [record["error"] for record in ledger.records if "error" in record] == ["*** is wrong"] * 2

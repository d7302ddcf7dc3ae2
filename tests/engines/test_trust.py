"""What a worker is trusted with: the decision that was made, the tools that were meant, the box that was asked for."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pickle
import subprocess
import sys
import threading

import pytest
import tblib.pickling_support

from executor import Decision, PluginRegistry, TaskInfo, TaskManager, TaskStatus, ToolCall, ToolExecutor
from executor.confine import Profile
from executor.engines import DaskEngine
from executor.engines._line import Line
from executor.engines._remote import finished
from executor.engines._where import Where
from executor.engines._wire import read_record, read_seen
from executor.errors import BackendUnavailableError, ToolFailedError

from .conftest import environment

SECONDS = 60.0


def ended(executor, call, **options):
    """The result of a call on the cluster."""
    task_id = executor.start(call, **options).task_id
    executor.tasks.wait(task_id, SECONDS)
    return executor.tasks.tool_result(task_id)


def with_echo(executor):
    registry = PluginRegistry()
    registry.expose("echo")
    executor.set_registry(registry)


def test_the_decision_travels_with_the_call_and_is_not_made_anew(executor, tools, tmp_path):
    path = tmp_path / "asked"
    executor.set_permission_plugin(tools.Asked(str(path)), {"agent": "a"})
    result = ended(executor, ToolCall("1", "add", {"number": 1}))
    assert (result.success, result.value) == (True, 2)
    assert result.permission == {"decision": "allowed", "reason": "it is a test", "method": "test"}
    assert path.read_text().splitlines() == [f"add {os.getpid()} {{'agent': 'a'}}"]


@pytest.mark.parametrize("meanwhile", ["configured anew", "another registry"])
def test_a_plugin_that_was_configured_anew_since_the_call_was_judged_does_not_go_there(executor, tools, meanwhile):
    with_echo(executor)

    class Meanwhile:
        def decide(self, call, context):
            if meanwhile == "another registry":
                with_echo(executor)
            else:
                executor.registry.unexpose("echo")
                executor.registry.expose("echo")
            return Decision("allow")

        def ask(self, call, decision, context):
            raise AssertionError

    executor.set_permission_plugin(Meanwhile())
    with pytest.raises(BackendUnavailableError, match="'echo' was taken away, or configured anew"):
        executor.start(ToolCall("1", "echo", {"text": "x"}))


def test_calls_that_the_tool_makes_there_are_judged_by_the_hosts_policy(executor, tools, tmp_path):
    path = tmp_path / "asked"
    with_echo(executor)
    executor.set_permission_plugin(tools.Asked(str(path)), {"agent": "a"})
    inner = ended(executor, ToolCall("1", "calls", {"name": "echo"})).value
    assert (inner["kind"], inner["success"]) == ("ok", True)
    asked = path.read_text().splitlines()
    assert asked[0] == f"calls {os.getpid()} {{'agent': 'a'}}"
    assert len(asked) == 2
    assert asked[1].startswith("echo ")
    assert asked[1].split()[1] != str(os.getpid())
    assert asked[1].endswith("{'agent': 'a'}")
    executor.set_permission_plugin(tools.Asked(str(path), forbidden="echo"))
    assert ended(executor, ToolCall("1", "calls", {"name": "echo"})).value["kind"] == "denied"


def test_without_a_policy_that_can_be_sent_a_tool_makes_no_calls_there(executor):
    with_echo(executor)
    inner = ended(executor, ToolCall("1", "calls", {"name": "echo"})).value
    assert inner["kind"] == "denied"
    assert "may make no others" in inner["error"]


def test_a_denied_call_never_leaves(executor, tools, tmp_path):
    executor.set_permission_plugin(tools.Asked(str(tmp_path / "asked"), forbidden="add"))
    with pytest.raises(Exception, match="not that one"):
        executor.start(ToolCall("1", "add", {"number": 1}))
    assert executor.tasks.list() == []


def test_a_box_that_the_policy_asks_for_is_made_on_the_worker(executor, tools, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    registry = PluginRegistry()
    registry.expose("shell")
    executor.set_registry(registry)
    executor.set_permission_plugin(tools.Asked(str(tmp_path / "asked"), Profile("read", str(project), required=True)))
    command = {"command": f"echo x > {project}/written"}
    result = ended(executor, ToolCall("1", "runCommand", command))
    assert not (project / "written").exists()
    assert result.value.get("exit_code") != 0
    profile = Profile("project", str(project), required=True)
    executor.set_permission_plugin(tools.Asked(str(tmp_path / "asked"), profile))
    result = ended(executor, ToolCall("1", "runCommand", command))
    assert result.value["exit_code"] == 0, result
    assert (project / "written").read_text() == "x\n"
    registry.close()


def test_a_worker_with_another_tool_of_that_name_is_refused(executor, tools, monkeypatch):
    def add(number: int = 0, more: int = 0):
        return number + more

    add.__module__, add.__qualname__ = tools.__name__, "add"
    monkeypatch.setattr(tools, "add", add)
    executor.register("other", add)
    executor.register("lines", tools.lines, description="Not what the worker has")
    assert ended(executor, ToolCall("1", "lines", {"count": 1})).success, "what was registered here goes along"
    result = ended(executor, ToolCall("1", "other", {"number": 1, "more": 2}))
    assert not result.success, "the function there takes no such argument"


def test_a_call_runs_the_function_that_it_was_judged_with_though_the_name_has_another_one_by_now(
    new_cluster, tools, tmp_path
):
    fifos = [str(tmp_path / name) for name in ("reached", "go")]
    for fifo in fifos:
        os.mkfifo(fifo)
    with contextlib.closing(DaskEngine(new_cluster(1).address)) as engine, ToolExecutor(engine=engine) as executor:
        executor.register("drop", tools.staging, description="")
        held = executor.start(ToolCall("1", "drop"), context={"held": tools.Held(*fifos)}).task_id
        with open(fifos[0], encoding="utf-8") as reached:
            assert reached.read() == ""  # the worker has its tool, and does not carry it out yet
        executor.register("drop", tools.production, description="")
        assert ended(executor, ToolCall("2", "drop")).value == "production"
        with open(fifos[1], "w", encoding="utf-8"):
            pass
        executor.tasks.wait(held, SECONDS)
        assert executor.tasks.tool_result(held).value == "staging"
        executor.tasks.close()


def test_a_plugins_tool_is_not_taken_for_one_that_was_registered_under_its_name_before(new_cluster, tools):
    with contextlib.closing(DaskEngine(new_cluster(1).address)) as engine, ToolExecutor(engine=engine) as executor:
        with_echo(executor)
        executor.register(dataclasses.replace(executor.get_tool("echo").tool, fn=tools.own_echo))
        assert ended(executor, ToolCall("1", "echo", {"text": "x"})).value == "own x"
        executor.unregister("echo")
        assert ended(executor, ToolCall("2", "echo", {"text": "x"})).value == {"text": "x"}
        executor.tasks.close()


def test_a_worker_without_a_plugin_of_the_host_is_refused(engine, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text(
        "from executor import hookimpl\n\n\ndef here(a: int):\n    return a\n\n\n"
        "@hookimpl\ndef executor_register_tools(register):\n    register('hereOnly', here)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import importlib

    registry = PluginRegistry()
    registry.register(importlib.import_module("only_here"), "mine")
    registry.expose("mine")
    with ToolExecutor(engine=engine, registry=registry) as executor:
        result = ended(executor, ToolCall("1", "hereOnly", {"a": 1}))
        assert not result.success
        assert "only_here" in result.error
        executor.tasks.close()
    registry.close()


def test_a_worker_with_another_version_of_a_plugin_is_refused(executor, tools, monkeypatch):
    from executor.engines import _plugins

    monkeypatch.setattr("executor.background._on_engine.plugin_set", lambda _: {"toolexec": "99", "gone": "1"})
    result = ended(executor, ToolCall("1", "add", {"number": 1}))
    assert not result.success
    assert "has other plugins than the host" in result.error
    assert "toolexec is" in result.error
    assert "gone is missing" in result.error
    assert _plugins.difference({"a": "1"}, {"a": "1", "b": "2"}) == ""


def test_errors_are_pickled_as_their_classes_say_once_there_is_a_cluster(engine):
    class Local(Exception):
        pass

    error = ToolFailedError("x", tool_id="t")
    error.__cause__ = Local("deep")
    tblib.pickling_support.install()  # as the first import of distributed does
    engine.open()
    again = pickle.loads(pickle.dumps(error))
    assert (again.tool_id, str(again.__cause__)) == ("t", "Local: deep")


@pytest.fixture
def certificates(tmp_path):
    """A certificate for this machine that vouches for itself."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    return {"ca": str(cert), "cert": str(cert), "key": str(key)}


def test_a_scheduler_and_workers_started_as_commands_over_tls(certificates, tools, tmp_path):
    tls = [
        "--tls-ca-file", certificates["ca"], "--tls-cert", certificates["cert"], "--tls-key", certificates["key"],
        "--protocol", "tls",
    ]  # fmt: skip
    where = tmp_path / "scheduler.json"
    how = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment(), "cwd": tmp_path}
    dask = [sys.executable, "-m", "dask"]
    scheduler = subprocess.Popen(
        [*dask, "scheduler", *tls, "--host=127.0.0.1", "--port=0", "--no-dashboard", f"--scheduler-file={where}"],
        **how,
    )
    worker = None
    try:
        waiting = threading.Event()
        while not where.exists() or not where.read_text().endswith("}"):
            assert scheduler.poll() is None
            waiting.wait(0.05)
        import json

        address = json.loads(where.read_text())["address"]
        worker = subprocess.Popen([*dask, "worker", *tls, address, "--no-dashboard", "--nworkers", "1"], **how)
        engine = DaskEngine(address, **certificates)
        tasks = TaskManager.open(tmp_path / "store", host="mine")
        with ToolExecutor(engine=engine, tasks=tasks) as executor:
            executor.register("lines", tools.lines)
            result = ended(executor, ToolCall("1", "lines", {"count": 3}))
            assert result.success
            left = executor.detach(ToolCall("1", "lines", {"count": 3}))
        tasks.close()
        engine.close()
        other = TaskManager.open(tmp_path / "store", host="mine")  # which has the files' names from the store
        assert other.wait(left, SECONDS).status is TaskStatus.COMPLETED
        other.close()
        stranger = DaskEngine(address.replace("tls://", "tcp://"))
        with ToolExecutor(engine=stranger) as executor:
            executor.register("lines", tools.lines)
            with pytest.raises(Exception, match="cannot be reached"):
                executor.start(ToolCall("1", "lines"))
        stranger.close()
    finally:
        for process in (worker, scheduler):
            if process is not None:
                process.terminate()
                process.wait(SECONDS)


RECORD = {
    "status": "completed", "success": True, "value": "1", "more": None, "size": 0, "output": "", "progress": None,
    "started": 1.0, "ended": 2.0,
}  # fmt: skip


def test_a_record_is_an_end():
    info = TaskInfo("t", TaskStatus.RUNNING, "echo", "local", "1", 1.5)
    assert finished(read_record(json.dumps(RECORD)), info).status is TaskStatus.COMPLETED


@pytest.mark.parametrize(
    "wrong",
    [
        *({"status": each} for each in ("running", "suspended", "queued", "ended", "", None, [])),
        *({"ended": each} for each in (float("nan"), float("inf"), 10**400, "2", None)),
        *({"value": each} for each in ("", "{", 1, None, "[" * 100_000)),
    ],
    ids=lambda wrong: str(wrong)[:20],
)
def test_only_what_is_an_end_is_taken_for_one(wrong):
    """A worker may say anything."""
    with pytest.raises(ValueError, match=r"."):
        read_record(json.dumps({**RECORD, **wrong}))


@pytest.mark.parametrize("text", ["", "[]", "1", "{}", "[" * 100_000])
def test_what_is_no_record_is_taken_for_none(text):
    with pytest.raises(ValueError, match=r"."):
        read_record(text)


SEEN = {"state": "running", "worker": "w", "size": 1, "progress": [1, None, "m"], "record": None, "why": None}


def test_what_a_scheduler_says_of_a_task_is_taken_as_it_is():
    assert read_seen(SEEN) is SEEN


@pytest.mark.parametrize(
    "wrong",
    [None, [], 1, {}, *({**SEEN, key: junk} for key in SEEN for junk in ([1], {"a": 1}, 2.5) if junk != SEEN[key])],
)
def test_a_task_of_which_no_sense_is_said_is_gone_and_may_have_been_begun(wrong):
    found = read_seen(wrong)
    assert (found["state"], found["size"], found["progress"], found["record"]) == ("gone", 0, None, None)
    assert found["worker"] is not None


@pytest.mark.parametrize("piece", [None, (1, 2), "x", {}, {"text": None}, {"text": "x", "next": "y"}])
def test_a_piece_that_makes_no_sense_is_none(piece):
    line = Line(Where("tcp://127.0.0.1:1"))
    assert line.there(piece) is None
    line.close()

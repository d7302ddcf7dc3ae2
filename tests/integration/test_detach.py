"""Calls that are left to a process of their own, made by real processes."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import select
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from executor import (
    Decision,
    JsonLinesLedger,
    PluginRegistry,
    TaskManager,
    TaskStatus,
    ToolCall,
    ToolExecutor,
    Verdict,
    current_call,
)
from executor.approval import Surface
from executor.errors import (
    BackendUnavailableError,
    ExecutionError,
    ExecutorUnavailableError,
    InvalidArgumentsError,
    PermissionDeniedError,
    ToolInterruptedError,
    ToolNotFoundError,
)
from executor.tools import ToolSettings
from executor_permissions import PermissionPlugin

ROOT = Path(__file__).parents[2]
SECONDS = 20.0

TOOLS = '''
import os
from pathlib import Path
from executor import Decision, Verdict, ToolCall, current_call, hookimpl, tool


def wait(folder: str) -> str:
    """Until there is a file, or it is stopped."""
    call = current_call()
    Path(folder, "pid").write_text(str(os.getpid()))
    while not Path(folder, "go on").exists():
        if call.wait(0.02):
            return "stopped"
    return f"{call.plugin_name} {call.host.conversation}"


def long(folder: str) -> str:
    """More than a full disk has room for, once there is a file."""
    wait(folder)
    return "x" * 100_000


@tool(description="by its decorated name")
def named(number: int) -> int:
    return number + 1


def where(path: str):
    return str(current_call().resolve_path(path))


def inner(args):
    result = current_call().host.call(ToolCall("2", "configured", {}))
    return {"success": result.success, "error": result.error}


class Says:
    """Can be pickled; asks nobody."""

    def __init__(self, word, inner=None):
        self.word, self.inner, self.pid = word, inner, os.getpid()

    def decide(self, call, context):
        if call.name == "inner" and os.getpid() != self.pid:
            raise RuntimeError("it was judged before")
        return Decision(self.inner if call.name == "configured" else self.word, "as told")

    def ask(self, call, decision, context):
        return Verdict(True)
'''

PLUGIN = """
import os
from executor import hookimpl

@hookimpl
def executor_configure(config):
    global given
    given = config
    if config.get("needs") and config["needs"] not in os.environ:
        raise RuntimeError("there is no " + config["needs"])
    if config.get("dies in") and str(os.getpid()) != config["dies in"]:
        os.write(2, b"the wheels came off")
        os._exit(7)

@hookimpl
def executor_before_call(call):
    if given.get("dies with the call", str(os.getpid())) != str(os.getpid()):
        os._exit(7)

@hookimpl
def executor_register_tools(register):
    print("a plugin should not print")
    register("configured", lambda args: [given["word"], args])
"""


@pytest.fixture
def tools(tmp_path, monkeypatch):
    (tmp_path / "detach_tools.py").write_text(TOOLS)
    (tmp_path / "detach_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    import detach_tools

    yield detach_tools
    for name in ("detach_tools", "detach_plugin"):
        sys.modules.pop(name, None)


@pytest.fixture
def tasks(tmp_path):
    manager = TaskManager.open(tmp_path / "state", host="the host")
    yield manager
    manager.close()


@pytest.fixture
def plugin(tools):
    """Exposes the plugin of the module, by registering the module."""
    registries = []

    def expose(**config):
        import detach_plugin

        registry = PluginRegistry(bundled=False, entry_points=False)
        registries.append(registry)
        registry.register(detach_plugin, "mine")
        assert registry.expose("mine", {"word": "hello", **config})
        return registry

    yield expose
    for registry in registries:
        registry.close()


def until_gone(tmp_path):
    """Until the runner process has ended: its lock goes with it."""
    deadline = time.monotonic() + SECONDS
    while list((tmp_path / "state" / "owners").glob("*.lock")) and time.monotonic() < deadline:
        threading.Event().wait(0.02)


def outcome(tasks, task_id):
    tasks.wait(task_id, SECONDS)
    return tasks.result(task_id)


def value_of(tasks, task_id):
    success, value = outcome(tasks, task_id)
    assert success, value
    return value


def test_a_function_goes_on_in_another_process_and_its_task_is_this_hosts(tools, tasks, tmp_path):
    with ToolExecutor(tasks=tasks, conversation="c 1") as executor:
        executor.register("wait", tools.wait, resources=lambda _: ["alone"])
        task_id = executor.detach(ToolCall("1", "wait", {"folder": str(tmp_path)}))
    info = tasks.get(task_id)
    assert (info.status.final, info.tool_name, int(info.owner) != os.getpid()) == (False, "wait", True)
    (tmp_path / "go on").touch()
    assert value_of(tasks, task_id) == "local c 1"
    deadline, rest = time.monotonic() + SECONDS, threading.Event()
    while not tasks.undelivered("c 1") and time.monotonic() < deadline:
        rest.wait(0.02)  # the end of another process, which is no child of this one: there is no event
    assert [info.id for info in tasks.undelivered("c 1")] == [task_id]


def test_a_host_that_is_started_again_is_woken_and_told_when_a_task_that_it_had_left_ends(tools, tasks, tmp_path):
    with ToolExecutor(tasks=tasks, conversation="c 1") as executor:
        executor.register("wait", tools.wait)
        task_id = executor.detach(ToolCall("1", "wait", {"folder": str(tmp_path)}))
    tasks.close()
    again = TaskManager.open(tmp_path / "state", host="the host")
    ended, told, others = threading.Event(), [], []
    again.subscribe(lambda info: told.append((info.id, info.status)) or ended.set())
    again.subscribe(others.append, conversation="another")
    assert again.next_undelivered(0) is None
    (tmp_path / "go on").touch()
    assert again.next_undelivered(SECONDS, conversation="c 1").id == task_id
    assert ended.wait(SECONDS)
    again.close()
    assert (told, others) == ([(task_id, TaskStatus.COMPLETED)], [])


def test_a_path_means_there_what_it_was_judged_to_be(tools, tasks, tmp_path, monkeypatch):
    class Swapping:
        def decide(self, call, context):
            judged = current_call().resolve_path(call.arguments["path"])
            assert judged == tmp_path / "harmless"
            (tmp_path / "link").unlink()
            (tmp_path / "link").symlink_to("secret")
            monkeypatch.chdir("/")
            return Decision("allow")

        def ask(self, call, decision, context):
            raise AssertionError

    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("harmless")
    with ToolExecutor(tasks=tasks, permission_plugin=Swapping()) as executor:
        executor.register("where", tools.where)
        assert value_of(tasks, executor.detach(ToolCall("1", "where", {"path": "link"}))) == str(tmp_path / "harmless")


def test_a_decorated_function_is_found_by_its_name(tools, tasks):
    with ToolExecutor(tasks=tasks) as executor:
        executor.register(tools.named)
        assert value_of(tasks, executor.detach(ToolCall("1", "named", {"number": 2}))) == 3


def test_a_plugins_tool_has_its_configuration_and_settings_there(plugin, tasks):
    registry = plugin()
    registry.adjust("configured", ToolSettings(timeout=60.0))
    with ToolExecutor(tasks=tasks, registry=registry) as executor:
        assert value_of(tasks, executor.detach(ToolCall("1", "configured", {"a": 1}))) == ["hello", {"a": 1}]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_it_goes_on_when_its_caller_is_killed_or_its_terminal_closed(tools, tasks, tmp_path, number):
    program = f"""
        import os, signal
        from detach_tools import wait
        from executor import TaskManager, ToolCall, ToolExecutor
        executor = ToolExecutor(tasks=TaskManager.open({str(tmp_path / "state")!r}, host="the host"))
        executor.register("wait", wait)
        print(executor.detach(ToolCall("1", "wait", {{"folder": {str(tmp_path)!r}}})), flush=True)
        os.kill({0 if number != signal.SIGKILL else "os.getpid()"}, {int(number)})
        signal.pause()
    """
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
        text=True,
    )
    with process:
        task_id = process.stdout.readline().strip()
        assert process.wait(SECONDS) != 0
    assert not tasks.get(task_id).status.final
    (tmp_path / "go on").touch()
    assert value_of(tasks, task_id) == "local None"


def test_told_to_end_it_cancels_its_task(tools, tasks, tmp_path):
    with ToolExecutor(tasks=tasks) as executor:
        executor.register("wait", tools.wait)
        task_id = executor.detach(ToolCall("1", "wait", {"folder": str(tmp_path)}))
    os.kill(int(tasks.get(task_id).owner), signal.SIGTERM)
    assert tasks.wait(task_id, SECONDS).status is TaskStatus.CANCELLED


def test_a_runner_that_is_killed_leaves_an_interrupted_task(tools, tasks, tmp_path):
    with ToolExecutor(tasks=tasks) as executor:
        executor.register("wait", tools.wait)
        task_id = executor.detach(ToolCall("1", "wait", {"folder": str(tmp_path)}))
    os.kill(int(tasks.get(task_id).owner), signal.SIGKILL)
    assert tasks.wait(task_id, SECONDS).status is TaskStatus.INTERRUPTED


def test_its_time_limit_holds_there(tools, tasks, tmp_path):
    with ToolExecutor(tasks=tasks) as executor:
        executor.register("wait", tools.wait)
        task_id = executor.detach(ToolCall("1", "wait", {"folder": str(tmp_path)}), timeout=0.1)
        assert outcome(tasks, task_id)[1]["timed_out"] is True


def test_what_may_not_run_starts_no_process(tools, tasks, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)
    with ToolExecutor(tasks=tasks, permission_plugin=tools.Says("deny")) as executor:
        executor.register(tools.named)
        for name, arguments, error in (
            ("named", {"number": 1}, PermissionDeniedError),
            ("named", {"number": "x"}, InvalidArgumentsError),
            ("nmed", {}, ToolNotFoundError),
        ):
            with pytest.raises(error):
                executor.detach(ToolCall("1", name, arguments))
    assert tasks.list() == []


class Unpicklable:
    """Allows everything here, and does not come along."""

    def __init__(self):
        self.lock = threading.Lock()
        self.contexts = []

    def decide(self, call, context):
        self.contexts.append(context)
        return Decision("allow", "here")

    def ask(self, call, decision, context):
        return Verdict(True)


def test_calls_that_the_tool_makes_are_denied_where_the_plugin_cannot_come_along(tools, plugin, tasks):
    judge = Unpicklable()
    with ToolExecutor(tasks=tasks, permission_plugin=judge, registry=plugin()) as executor:
        executor.register("inner", tools.inner)
        told = value_of(tasks, executor.detach(ToolCall("1", "inner"), context={"who": "me"}))
    assert told["success"] is False
    assert "cannot be pickled" in told["error"]
    assert judge.contexts == [{"who": "me"}]


@pytest.mark.parametrize(("word", "made"), [("ask", True), ("deny", False)])
def test_a_plugin_that_can_be_pickled_judges_them_but_not_the_judged_call_again(tools, plugin, tasks, word, made):
    judge = tools.Says("ask", inner=word)
    with ToolExecutor(tasks=tasks, permission_plugin=judge, registry=plugin()) as executor:
        executor.register("inner", tools.inner)
        assert value_of(tasks, executor.detach(ToolCall("1", "inner")))["success"] is made


@pytest.mark.parametrize("allowed", [True, False])
def test_the_policy_judges_them_there_as_here(tools, plugin, tasks, tmp_path, allowed):
    policy = {"whitelist": {"tools": ["inner", *(["configured"] if allowed else [])]}}
    judge = PermissionPlugin(policy=policy, state_dir=tmp_path / "grants", channel=lambda approval: "yes")
    with ToolExecutor(tasks=tasks, permission_plugin=judge, registry=plugin()) as executor:
        executor.register("inner", tools.inner)
        told = value_of(tasks, executor.detach(ToolCall("1", "inner")))
    assert told["success"] is allowed
    assert allowed or "cannot be pickled" not in told["error"]


def test_a_policy_that_cannot_be_read_by_then_denies_them_and_says_so(tools, plugin, tasks, tmp_path):
    path = tmp_path / "policy.json"
    path.write_text('{"defaultPolicy": "allow"}')
    judge = PermissionPlugin(path, state_dir=tmp_path / "grants")
    with ToolExecutor(tasks=tasks, permission_plugin=judge, registry=plugin()) as executor:
        executor.register("inner", tools.inner)
        path.write_text("{")
        told = value_of(tasks, executor.detach(ToolCall("1", "inner")))
    assert told["success"] is False
    assert f"The permission policy {path} could not be loaded" in told["error"]
    assert "pickled" not in told["error"]


@pytest.mark.parametrize("said", ["yes", "no"])
def test_what_is_asked_there_is_answered_on_a_surface_here(tools, plugin, tasks, tmp_path, said):
    judge = PermissionPlugin(policy={"whitelist": {"tools": ["inner"]}}, state_dir=tmp_path / "grants")
    asked = queue.SimpleQueue()
    with (
        Surface("page", lambda event, approval: asked.put((event, approval))) as surface,
        ToolExecutor(tasks=tasks, permission_plugin=judge, registry=plugin()) as executor,
    ):
        executor.register("inner", tools.inner)
        task_id = executor.detach(ToolCall("1", "inner"))
        event, approval = asked.get(timeout=SECONDS)
        assert (event, approval.tool) == ("asked", "configured")
        assert f"({tasks.get(task_id).owner})" in approval.origin
        assert surface.answer(approval.id, said)
        assert value_of(tasks, task_id)["success"] is (said == "yes")


def test_a_ledger_has_a_detached_call_once_with_its_end(tools, tasks, tmp_path):
    ledger = JsonLinesLedger(tmp_path / "ledger.jsonl", secrets=["s3cret"])
    with ToolExecutor(ledger, tasks=tasks) as executor:
        executor.register(tools.named)
        task_id = executor.detach(ToolCall("1", "named", {"number": 2}))
        value_of(tasks, task_id)
    until_gone(tmp_path)
    with pytest.raises(ToolNotFoundError), ToolExecutor(ledger, tasks=tasks) as executor:
        executor.detach(ToolCall("2", "missing"))
    records = [json.loads(line) for line in ledger.path.read_text().splitlines()]
    told = [(record["stage"], record.get("call_id"), record["pid"] == os.getpid()) for record in records]
    assert sorted(told, key=str) == sorted([
        ("call-start", "1", True), ("auto-background", "1", True), ("call-end", "1", True), ("task-end", None, False),
        ("call-start", "2", True), ("call-end", "2", True),
    ], key=str)  # fmt: skip
    by_stage = {record["stage"]: record for record in records if record.get("call_id") != "2"}
    assert by_stage["call-end"]["outcome"] == "backgrounded"
    assert by_stage["task-end"]["task_id"] == by_stage["auto-background"]["task_id"] == task_id
    assert by_stage["task-end"]["status"] == "completed"


def test_what_a_detached_tool_calls_is_recorded_there_with_its_judgment(tools, plugin, tasks, tmp_path):
    ledger = JsonLinesLedger(tmp_path / "ledger.jsonl")
    judge = tools.Says("allow", inner="allow")
    with ToolExecutor(ledger, tasks=tasks, permission_plugin=judge, registry=plugin()) as executor:
        executor.register("inner", tools.inner)
        value_of(tasks, executor.detach(ToolCall("2", "inner")))
    records = [json.loads(line) for line in ledger.path.read_text().splitlines()]
    for stage in ("call-start", "permission-check", "call-end"):
        told = [(record["tool"], record["pid"] == os.getpid()) for record in records if record["stage"] == stage]
        assert sorted(told) == [("configured", False), ("inner", True)], "each once, though both have one id"


class Needed:
    required = True

    def __init__(self):
        self.lock = threading.Lock()

    def record(self, stage, payload):
        pass


def plain(args):
    return args


@pytest.mark.parametrize("fn", [lambda args: args, functools.partial(plain)])
def test_what_another_process_cannot_find_says_what_to_do(tasks, fn):
    with ToolExecutor(tasks=tasks) as executor:
        executor.register("t", fn)
        with pytest.raises(ExecutionError, match="cannot be found by name; define it at the top of a module"):
            executor.detach(ToolCall("1", "t"))


def test_a_function_of_the_main_program_says_what_to_do(tasks, monkeypatch):
    def main(args):
        return args

    main.__module__ = "__main__"
    with ToolExecutor(tasks=tasks) as executor:
        executor.register("t", main)
        with pytest.raises(ExecutionError, match="move it to a module"):
            executor.detach(ToolCall("1", "t"))


def test_tasks_in_memory_say_why_not(tools):
    with ToolExecutor(tasks=TaskManager.in_memory()) as executor:
        executor.register(tools.named)
        with pytest.raises(ExecutionError, match=r"TaskManager\.open"):
            executor.detach(ToolCall("1", "named", {"number": 1}))


def test_a_required_ledger_has_to_come_along(tools, tasks):
    with ToolExecutor(Needed(), tasks=tasks) as executor:
        executor.register(tools.named)
        with pytest.raises(ExecutionError, match="JsonLinesLedger"):
            executor.detach(ToolCall("1", "named", {"number": 1}))


def test_options_that_cannot_be_pickled_are_named(plugin, tasks):
    registry = plugin(lock=threading.Lock())
    with ToolExecutor(tasks=tasks, registry=registry) as executor:
        with pytest.raises(ExecutionError, match="cannot be pickled"):
            executor.detach(ToolCall("1", "configured"))


def test_a_plugin_object_says_what_to_do(tasks):
    from executor import hookimpl

    class Mine:
        @hookimpl
        def executor_register_tools(self, register):
            register("t", lambda args: args)

    with PluginRegistry(bundled=False, entry_points=False) as registry:
        registry.register(Mine(), "mine")
        registry.expose("mine")
        with ToolExecutor(tasks=tasks, registry=registry) as executor:
            with pytest.raises(ExecutionError, match="register a module"):
                executor.detach(ToolCall("1", "t"))


def test_a_plugin_that_fails_in_the_runner_is_told_of(plugin, tasks, monkeypatch):
    monkeypatch.setenv("DETACH_NEEDS", "1")
    registry = plugin(needs="DETACH_NEEDS")
    monkeypatch.delenv("DETACH_NEEDS")
    with ToolExecutor(tasks=tasks, registry=registry) as executor:
        with pytest.raises(ExecutionError, match="there is no DETACH_NEEDS"):
            executor.detach(ToolCall("1", "configured"))
    assert tasks.list() == []


def test_a_plugin_that_was_configured_anew_since_the_call_was_judged_is_not_what_carries_it_out(plugin, tasks):
    registry = plugin()

    class Meanwhile:
        def decide(self, call, context):
            registry.expose("mine", {"word": "another"})
            return Decision("allow")

        def ask(self, call, decision, context):
            raise AssertionError

    with ToolExecutor(tasks=tasks, registry=registry, permission_plugin=Meanwhile()) as executor:
        with pytest.raises(BackendUnavailableError, match="'mine' was taken away, or configured anew"):
            executor.detach(ToolCall("1", "configured"))
    assert tasks.list() == []


def test_a_tool_that_is_another_one_by_now_where_it_is_to_run_is_not_called(plugin, tasks, tmp_path):
    registry = plugin()
    path = tmp_path / "detach_plugin.py"
    path.write_text(path.read_text().replace("given[", '"what was not judged", given['))
    path.write_text(path.read_text().replace("])\n", '], description="Deletes everything")\n'))
    with ToolExecutor(tasks=tasks, registry=registry) as executor:
        with pytest.raises(
            ExecutionError, match=r"description, schema or annotations are others there .* start it anew"
        ):
            executor.detach(ToolCall("1", "configured"))
    assert tasks.list() == []


@pytest.mark.parametrize("name", ["named", "where"])
def test_a_function_that_tells_something_else_of_itself_by_now_is_not_called(tools, tasks, tmp_path, name):
    path = tmp_path / "detach_tools.py"
    path.write_text(
        path.read_text()
        .replace("by its decorated name", "deletes as many")
        .replace("def where(path: str):", "def where(path: list[str]):")
    )
    arguments = {"named": {"number": 1}, "where": {"path": "x"}}
    with ToolExecutor(tasks=tasks) as executor:
        executor.register(getattr(tools, name))
        with pytest.raises(ExecutionError, match="others there than they were judged here: its module"):
            executor.detach(ToolCall("1", name, arguments[name]))
    assert tasks.list() == []


def test_a_runner_that_dies_before_it_answers_is_told_of_with_its_last_words(plugin, tasks):
    registry = plugin(**{"dies in": str(os.getpid())})
    with ToolExecutor(tasks=tasks, registry=registry) as executor:
        with pytest.raises(ExecutionError, match=r"before it had started it: .*the wheels came off"):
            executor.detach(ToolCall("1", "configured"))
    assert tasks.list() == []


def test_of_a_runner_that_dies_while_it_starts_the_call_nobody_says_that_it_did_not(plugin, tasks):
    registry = plugin(**{"dies with the call": str(os.getpid())})
    with ToolExecutor(tasks=tasks, registry=registry) as executor:
        with pytest.raises(ToolInterruptedError, match="while it started it, which may have had effects"):
            executor.detach(ToolCall("1", "configured"))


def test_a_runner_that_never_answers_is_ended(tools, tasks, monkeypatch):
    from executor.background import _detached

    monkeypatch.setattr(_detached, "START", 0.5)
    monkeypatch.setattr(_detached, "_RUNNER", "import os, signal\nif os.fork(): os._exit(0)\nsignal.pause()")
    before = time.monotonic()
    with ToolExecutor(tasks=tasks) as executor:
        executor.register(tools.named)
        with pytest.raises(ExecutionError, match=r"took more than 0\.5 s"):
            executor.detach(ToolCall("1", "named", {"number": 1}))
    assert time.monotonic() - before < SECONDS


def test_a_store_that_cannot_take_the_task_is_told_of(tools, tmp_path):
    (tmp_path / "file").touch()
    tasks = TaskManager.open(tmp_path / "file" / "state")
    with ToolExecutor(tasks=tasks) as executor:
        executor.register(tools.named)
        with pytest.raises(ExecutorUnavailableError):
            executor.detach(ToolCall("1", "named", {"number": 1}))


def test_what_cannot_be_stored_does_not_begin(tools, tasks, tmp_path):
    with ToolExecutor(tasks=tasks) as executor:
        executor.register(tools.named)
        executor.register(tools.wait)
        assert value_of(tasks, executor.detach(ToolCall("1", "named", {"number": 1}))) == 2  # there is a store
        until_gone(tmp_path)
        with contextlib.closing(sqlite3.connect(tmp_path / "state" / "tasks.db", isolation_level=None)) as held:
            held.execute("BEGIN EXCLUSIVE")
            with pytest.raises(ExecutorUnavailableError, match="Nothing was started"):
                executor.detach(ToolCall("2", "wait", {"folder": str(tmp_path)}))
        until_gone(tmp_path)
    assert not (tmp_path / "pid").exists()
    other = TaskManager.open(tmp_path / "state")  # which has not found it locked
    assert [task.call_id for task in other.list()] == ["1"]
    other.close()


def test_on_a_full_disk_it_is_not_started(tools, small_disk, fill):
    fill(small_disk)
    with ToolExecutor(tasks=TaskManager.open(small_disk / "state")) as executor:
        executor.register(tools.named)
        with pytest.raises(ExecutorUnavailableError, match="free some space"):
            executor.detach(ToolCall("1", "named", {"number": 1}))


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the end of a process cannot be waited for")
def test_it_stays_with_its_result_until_the_disk_has_room_for_it(tools, small_disk, fill, tmp_path):
    tasks = TaskManager.open(small_disk / "state")
    with ToolExecutor(tasks=tasks) as executor:
        executor.register(tools.long)
        task_id = executor.detach(ToolCall("1", "long", {"folder": str(tmp_path)}))
        ended = os.pidfd_open(int(tasks.get(task_id).owner))
        filler = fill(small_disk)
        (tmp_path / "go on").touch()
        assert not select.select([ended], [], [], 1.5)[0], "it would end with the last of its result"
        assert not tasks.get(task_id).status.final
        filler.unlink()
        assert outcome(tasks, task_id) == (True, "x" * 100_000)
        assert select.select([ended], [], [], SECONDS)[0]
        os.close(ended)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the end of a process cannot be waited for")
def test_told_to_end_it_stays_with_no_result(tools, small_disk, fill, tmp_path):
    tasks = TaskManager.open(small_disk / "state")
    with ToolExecutor(tasks=tasks) as executor:
        executor.register(tools.long)
        task_id = executor.detach(ToolCall("1", "long", {"folder": str(tmp_path)}))
        owner = int(tasks.get(task_id).owner)
        ended = os.pidfd_open(owner)
        fill(small_disk)
        (tmp_path / "go on").touch()
        assert not select.select([ended], [], [], 1.5)[0]
        os.kill(owner, signal.SIGTERM)
        assert select.select([ended], [], [], SECONDS)[0]
        os.close(ended)


def test_where_no_process_can_be_started_that_is_said(tools, tasks, monkeypatch):
    def refused(*_, **__):
        raise BlockingIOError(11, "no more processes")

    monkeypatch.setattr(subprocess, "Popen", refused)
    with ToolExecutor(tasks=tasks) as executor:
        executor.register(tools.named)
        with pytest.raises(ExecutionError, match="no more processes"):
            executor.detach(ToolCall("1", "named", {"number": 1}))

"""Tools in a process of their own."""

from __future__ import annotations

import importlib
import os
import select
import sys

import pytest

from executor import TaskStatus, ToolCall, ToolExecutor, current_call
from executor.testing import Recorder

SECONDS = 30.0


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A module of tools that another process can import."""
    (tmp_path / "isolated_tools.py").write_text("""
import os, subprocess, sys, time
from executor import current_call, tool
from executor.errors import ToolFailedError

def pid(args):
    current_call().emit("hello ✓\\n")
    current_call().progress(1, 2, "half")
    print("a tool should not print")
    return {"pid": os.getpid()}

def typed(number: int, flag: bool = False):
    return [number, flag]

def silent(args):
    sys.stdout = None
    return "said"

async def later(args):
    return "later"

@tool(isolation="process")
def decorated(number: int):
    return [number, os.getpid()]

def fails(args):
    raise KeyError("nothing")

def refuses(args):
    raise ToolFailedError("do something else", result={"seen": 1})

def dies(args):
    os._exit(9)

def odd(args):
    return lambda: None

def leaves(args):
    raise SystemExit("bye")

def stuck(args):
    child = subprocess.Popen(["sleep", "300"])
    current_call().emit(f"{os.getpid()} {child.pid}\\n")
    while True:  # it listens to nobody
        pass

def pieces(args):
    yield 1

def reads(args):
    return [sys.stdin.read(), subprocess.run(["cat"], capture_output=True).stdout.decode()]

def where(path: str):
    return str(current_call().resolve_path(path))

class MuteError(Exception):
    def __str__(self):
        raise ValueError("no words")

def mute(args):
    raise MuteError
""")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "isolated_tools", raising=False)
    return importlib.import_module("isolated_tools")


def register(executor, fn, **options):
    executor.register(fn.__name__, fn, isolation="process", **options)


def test_a_call_runs_elsewhere_with_its_output_and_progress(executor, tools, recorder, capfd, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    register(executor, tools.pid)
    reached = []
    result = executor.call(ToolCall("1", "pid"), on_output=recorder, on_progress=lambda *told: reached.append(told))
    assert result.success
    assert result.value["pid"] != os.getpid()
    assert recorder.text == "hello ✓\n"
    assert reached == [(1, 2, "half")]
    assert "should not print" in capfd.readouterr().err


def test_typed_and_async_functions_work_as_in_a_thread(executor, tools):
    register(executor, tools.typed)
    register(executor, tools.later)
    assert executor.execute("typed", {"number": 3}) == (True, [3, False])
    assert executor.execute("typed", {"number": "x"})[0] is False
    assert executor.execute("later") == (True, "later")


def test_a_function_is_found_behind_the_tool_that_the_decorator_makes_of_it(executor, tools):
    executor.register(tools.decorated)
    success, value = executor.execute("decorated", {"number": 3})
    assert (success, value[0]) == (True, 3)
    assert value[1] != os.getpid()


def test_a_path_means_there_what_it_was_judged_to_be(executor, tools, tmp_path, monkeypatch):
    class Swapping:
        def check_permission(self, name, args, context, call_id):
            judged.append(str(current_call().resolve_path(args["path"])))
            link.unlink()
            link.symlink_to("secret")
            monkeypatch.chdir(tmp_path / "elsewhere")
            return True, {}

    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    link, judged = tmp_path / "elsewhere" / "link", []
    link.symlink_to("harmless")
    register(executor, tools.where, folder="elsewhere")
    executor.set_permission_plugin(Swapping())
    assert executor.execute("where", {"path": "link"})[1] == judged[0] == str(tmp_path / "elsewhere" / "harmless")
    assert executor.execute("where", {"path": "a"})[1] == str(tmp_path / "elsewhere" / "elsewhere" / "a")


def test_a_tool_and_what_it_starts_have_nothing_to_read(executor, tools):
    register(executor, tools.reads, timeout=SECONDS)
    assert executor.execute("reads") == (True, ["", ""])


def test_whatever_a_tool_puts_in_place_of_stdout_it_returns(executor, tools):
    register(executor, tools.silent)
    assert executor.execute("silent") == (True, "said")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("fails", "'nothing'"),
        ("refuses", "do something else"),
        ("dies", "ended with 9"),
        ("odd", "cannot leave its process"),
        ("leaves", "SystemExit: bye"),
        ("mute", "MuteError (its text could not be made: ValueError)"),
    ],
)
def test_whatever_goes_wrong_there_is_this_calls_failure(executor, tools, name, error):
    register(executor, getattr(tools, name))
    success, told = executor.execute(name)
    assert not success
    assert error in told["error"]


def test_an_error_of_ours_comes_from_there_as_it_was_raised(executor, tools):
    register(executor, tools.refuses)
    success, told = executor.execute("refuses")
    assert (success, told["error"], told["result"]) == (False, "do something else", {"seen": 1})


def gone(pid):
    """Whether the process *pid* ends soon: one that was killed is still there for a moment."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        ended = select.poll()
        ended.register(watched, select.POLLIN)
        return bool(ended.poll(SECONDS * 1000))
    finally:
        os.close(watched)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks at /proc")
@pytest.mark.parametrize("by", ["cancel", "time limit"])
def test_a_tool_that_heeds_nothing_is_killed_with_what_it_started(tools, by):
    shown = Recorder()
    with ToolExecutor() as executor:
        register(executor, tools.stuck, auto_background=0, timeout=3 if by == "time limit" else None)
        result = executor.call(ToolCall("1", "stuck"), on_output=shown)
        shown.wait_for("\n")
        if by == "cancel":
            assert executor.tasks.cancel(result.task_id)
        info = executor.tasks.wait(result.task_id, SECONDS)
        assert info.status is (TaskStatus.CANCELLED if by == "cancel" else TaskStatus.TIMEOUT)
        assert executor._way.threads.workers.close(SECONDS), "the thread that waited has not come back"
        assert executor.abandoned == 0
        for pid in map(int, shown.text.split()):
            assert gone(pid)
        executor.tasks.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="waits at a FIFO")
def test_one_that_never_reads_what_it_is_to_do_is_killed(tools, tmp_path, monkeypatch):
    from executor.tools import _isolate

    lives = str(tmp_path / "lives")
    os.mkfifo(lives)
    monkeypatch.setattr(_isolate, "_CHILD", f"import signal; held = open({lives!r}, 'w'); signal.pause()")
    with ToolExecutor() as executor:
        register(executor, tools.pid)
        future = executor.submit(ToolCall("1", "pid", {"much": "x" * (1 << 20)}))  # more than a pipe takes
        with open(lives, encoding="utf-8") as there:
            assert future.cancel()
            assert there.read() == ""  # once it is gone
        assert executor._way.threads.workers.close(SECONDS), "the thread that waited has not come back"
        assert executor.abandoned == 0


def test_what_another_process_cannot_be_told_any_more_starts_none(executor, tools, monkeypatch):
    register(executor, tools.pid)
    monkeypatch.setattr(tools, "pid", tools.typed)
    monkeypatch.setattr("subprocess.Popen", None)
    assert "not the same object as isolated_tools.pid" in executor.execute("pid")[1]["error"]


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks at /proc")
def test_it_does_not_outlive_the_process_that_called_it(tools, tmp_path):
    import subprocess

    code = (
        "import sys\nsys.path[:] = sys.argv[1].split(':')\nimport isolated_tools\nfrom executor import ToolExecutor\n"
        "executor = ToolExecutor()\nexecutor.register('stuck', isolated_tools.stuck, isolation='process')\n"
        "executor.execute('stuck', {}, lambda chunk: print(chunk, end='', flush=True))\n"
    )
    other = subprocess.Popen([sys.executable, "-c", code, ":".join(sys.path)], stdout=subprocess.PIPE, text=True)
    pids = [int(pid) for pid in other.stdout.readline().split()]
    for pid in pids:
        os.kill(pid, 0)  # they are there
    other.kill()
    other.wait(SECONDS)
    other.stdout.close()
    assert all(map(gone, pids))


def test_what_cannot_run_there_is_refused_when_it_is_registered(executor, tools):
    with pytest.raises(ValueError, match="top of a module"):
        executor.register("local", lambda args: 1, isolation="process")
    with pytest.raises(ValueError, match="in pieces"):
        register(executor, tools.pieces)
    with pytest.raises(ValueError, match="'fork'"):
        executor.register("pid", tools.pid, isolation="fork")
    with pytest.raises(ValueError, match="set isolation='process'"):
        executor.register("pid", tools.pid, confine="read")
    with pytest.raises(ValueError, match="'pid': confine is 'all': use read, project, network, open"):
        executor.register("pid", tools.pid, confine="all", isolation="process")


@pytest.mark.parametrize("name", ["found_once", "found_once_too.inner"])
def test_the_module_is_found_where_it_was_found_though_that_is_on_the_path_no_more(tmp_path, monkeypatch, name):
    path = tmp_path / f"{name.replace('.', '/')}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text("def said(args):\n    return __name__\n")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        said = importlib.import_module(name).said
    with ToolExecutor() as executor:
        executor.register("said", said, isolation="process")
        assert executor.execute("said") == (True, name)

"""Forks: a tool that comes back in the child too, and the child of a process with calls and tasks at work."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

from executor import ToolCall, ToolExecutor

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
SECONDS = 20.0


def forked(path):
    """Fork, and come back in both; the child leaves a mark when it goes on as if it were the program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    path.write_text("was here")
    return 0


def plain(path):
    return lambda args: forked(path)


def raising(path):
    def fork(args):
        child = forked(path)
        if not child:
            raise SystemExit
        return child

    return fork


def coroutine(path):
    async def fork(args):
        await asyncio.sleep(0)
        return forked(path)

    return fork


def generator(path):
    def fork(args):
        child = forked(path)
        yield child
        yield child

    return fork


def async_generator(path):
    async def fork(args):
        yield forked(path)
        yield 2

    return fork


def first(result):
    value = result.value
    return value[0] if isinstance(value, list) else value


ROUTES = {
    "inline": lambda ex: first(ex.call(ToolCall("1", "fork", {}))),
    "worker": lambda ex: first(ex.call(ToolCall("1", "fork", {}), timeout=SECONDS)),
    "submit": lambda ex: first(ex.submit(ToolCall("1", "fork", {})).result(SECONDS)),
    "many": lambda ex: first(ex.execute_many([ToolCall("1", "fork", {})])[0]),
    "bound": lambda ex: first(ex.call(ToolCall("1", "bound", {}))),
    "stream": lambda ex: next(
        e.data if not isinstance(e.data, list) else e.data[0] for e in ex.execute_stream("fork", adapt=True)
    ),
}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", [plain, raising, coroutine, generator, async_generator])
def test_a_tool_that_forks_and_returns_in_the_child_leaves_no_process_and_runs_nothing_twice(tmp_path, kind, route):
    after = []
    with ToolExecutor() as executor:
        executor.register("fork", kind(tmp_path / "child"))
        executor.register("bound", kind(tmp_path / "child"), resources=lambda a: ["one"])
        here = os.getpid()
        child = ROUTES[route](executor)
        if os.getpid() != here:  # the program went on in the child: this must not run the rest of the suite
            (tmp_path / "twice").touch()
            os._exit(1)
        after.append(child)
        assert isinstance(child, int)
        ended, status = os.waitpid(child, 0)
        assert (ended, os.waitstatus_to_exitcode(status)) == (child, 0)
    assert len(after) == 1
    assert (tmp_path / "child").exists()
    assert not (tmp_path / "twice").exists()


def run(program, tmp_path):
    """The output of *program*, which forks while things are at work."""
    root = Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(root), str(root / "plugins")))}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=60, cwd=tmp_path, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_child_of_a_process_with_calls_at_work_shuts_down_and_makes_calls_of_its_own(tmp_path):
    found = run(
        """
        import asyncio, os, sys, threading
        from executor import ToolCall, ToolExecutor
        release, started = threading.Event(), threading.Barrier(6)
        executor = ToolExecutor(max_workers=8)
        def hold(args):
            started.wait(20)
            release.wait(20)
            return args["n"]
        async def ahold(args):
            await asyncio.to_thread(started.wait, 20)
            await asyncio.to_thread(release.wait, 20)
            return args["n"]
        executor.register("hold", hold)
        executor.register("bound", hold, resources=lambda a: ["one"], timeout=30)
        executor.register("ahold", ahold)
        executor.register("quick", lambda a: a["n"], resources=lambda a: ["one"], rate="100/s", timeout=30)
        def call(name, n):
            return ToolCall(str(n), name, {"n": n})
        futures = [executor.submit(call(name, n)) for name, n in (("hold", 1), ("bound", 2), ("ahold", 3))]
        futures += [executor.submit(call("hold", 4), timeout=30)]
        waiting = executor.submit(call("bound", 5))
        task = executor.start(call("hold", 6))
        started.wait(20)
        child = os.fork()
        if child == 0:
            assert executor.call(call("quick", 7)).value == 7
            assert executor.submit(call("quick", 8)).result(20).value == 8
            assert executor.submit(call("quick", 9), timeout=20).result(20).value == 9
            assert [r.value for r in executor.execute_many([call("quick", n) for n in range(5)])] == list(range(5))
            release.set()
            assert executor.shutdown(timeout=20)
            print("child", flush=True)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        release.set()
        print(*[future.result(20).value for future in futures], flush=True)
        executor.tasks.wait(task.task_id, 20)
        waiting.cancel()
        started.abort()
        assert executor.shutdown(timeout=20)
        print("parent", flush=True)
        """,
        tmp_path,
    )
    assert found == ["child", "1", "2", "3", "4", "parent"]


def test_the_child_of_a_process_with_a_live_task_shuts_down(tmp_path):
    found = run(
        """
        import os, threading
        from executor import ToolCall, ToolExecutor
        release = threading.Event()
        executor = ToolExecutor()
        executor.register("hold", lambda a: release.wait(20), auto_background=0)
        task = executor.call(ToolCall("1", "hold", {})).task_id
        child = os.fork()
        if child == 0:
            executor.register("quick", lambda a: 1)
            assert executor.execute("quick") == (True, 1)
            assert executor.shutdown()
            print("child", flush=True)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        release.set()
        print(executor.tasks.wait(task, 20).status, flush=True)
        assert executor.shutdown()
        """,
        tmp_path,
    )
    assert found == ["child", "completed"]


def test_the_child_of_a_process_forked_inside_a_call_is_free_of_it(tmp_path):
    found = run(
        """
        import os
        from executor import ToolCall, ToolExecutor
        executor = ToolExecutor()
        executor.register("quick", lambda a: 1)
        def fork(args):
            child = os.fork()
            if child == 0:
                assert executor.execute("quick") == (True, 1)
                assert executor.submit(ToolCall("1", "quick", {})).result(20).value == 1
                assert executor.call(ToolCall("1", "quick", {}), timeout=20).value == 1
                print("child", flush=True)
                os._exit(0)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        async def afork(args):
            return fork(args)
        for tool in (fork, afork):
            executor.register("fork", tool, resources=lambda a: ["one"])
            print(executor.execute("fork"), flush=True)
            print(executor.submit(ToolCall("1", "fork", {})).result(20).value, flush=True)
            print(executor.execute("fork", timeout=20), flush=True)
        """,
        tmp_path,
    )
    assert found.count("child") == 6
    assert "".join(word for word in found if word != "child") == "(True,0)0(True,0)" * 2


SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    told = {"jsonrpc": "2.0", "id": asked.get("id")}
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
        print(json.dumps({**told, "result": {"protocolVersion": version, **about}}), flush=True)
    elif asked["method"] == "tools/list":
        print(json.dumps({**told, "result": {"tools": [{"name": "t", "inputSchema": {}}]}}), flush=True)
    elif asked["method"] == "tools/call":
        print(json.dumps({**told, "result": {"content": []}}), flush=True)
    elif "id" in asked:
        print(json.dumps({**told, "error": {"code": -32601, "message": "no"}}), flush=True)
"""
LOCKED = """
import gc, os, signal, sys, threading
from executor import JsonLinesLedger, PluginRegistry, ToolExecutor, current_call
from executor.ownfiles import kept_own
import executor_files._write

registry = PluginRegistry(entry_points=False)
server = {"command": sys.executable, "args": ["-c", sys.argv[1]]}
registry.expose_all({"shell": {}, "files": {}, "mcp": {"servers": {"s": server}, "list_timeout": 20}})
executor_files._write._turns[1:] = []  # one for all paths
executor = ToolExecutor(JsonLinesLedger("ledger"), registry=registry)
executor.register("work", lambda args: 1)
executor.register("held", lambda args: 1, resources=lambda args: ["one"])


def ask(args):
    try:
        return current_call().ask("Which?")
    except Exception as error:
        return str(error)


def calls():
    assert executor.execute("work", {})[0]
    assert executor.execute("held", {})[0]
    assert executor.execute("runCommand", {"command": "true"})[0]
    assert executor.execute("writeFile", {"path": os.path.abspath("file"), "content": ""})[0]
    assert executor.execute("mcp__s__t", {})[0]
    executor.register("ask", ask)
    assert executor.execute("ask", {})[0]
    assert executor.list_tools() and executor.approvals and executor.tasks.undelivered() == []
    executor.set_permission_plugin(None)
    kept_own()
    registry.failures()


def named():
    for module in [each for name, each in sys.modules.items() if name.startswith("executor")]:
        yield from ((f"{module.__name__}.{name}", value) for name, value in vars(module).items())
    for each in gc.get_objects():
        kind = type(each)
        if kind.__module__.startswith("executor"):
            slots = [name for one in kind.__mro__ for name in getattr(one, "__slots__", ())]
            for name in (*getattr(each, "__dict__", ()), *slots):
                yield f"{kind.__module__}.{kind.__name__}.{name}", getattr(each, name, None)


def holds(lock, held, tried, over):
    free = lock.acquire(blocking=False)
    held.append(free)
    tried.set()
    over.wait()
    if free:
        lock.release()


calls()
locks = {}
for name, value in named():
    for number, lock in enumerate(value if isinstance(value, list) else [value]):
        lock = lock._lock if isinstance(lock, threading.Condition) else lock
        if isinstance(lock, (type(threading.Lock()), type(threading.RLock()))):
            locks.setdefault(f"{name}.{number}", lock)
for name, lock in locks.items():
    held, tried, over = [], threading.Event(), threading.Event()
    holder = threading.Thread(target=holds, args=(lock, held, tried, over))
    holder.start()
    tried.wait()
    if not held[0]:  # as of a worker that has nothing to do
        over.set()
        continue
    child = os.fork()
    if not child:
        signal.alarm(15)
        calls()
        executor.shutdown(cancel=True)
        os._exit(0)
    code = os.waitpid(child, 0)[1]
    over.set()
    holder.join()
    print(name, code)
os._exit(0)
"""


def test_a_lock_that_another_thread_holds_keeps_no_child_from_its_calls(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", LOCKED, SERVER]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    ended = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert len(ended) > 20, done.stderr
    assert [name for name, code in ended.items() if code != "0"] == []


ENDS = """
import os, sys, threading
from executor.threads import _fork

class Owner:
    pass

owner = Owner()
owner.lock = _fork.fork_safe(owner, "lock", threading.Lock)

class Ends:
    def __del__(self):
        with owner.lock:
            pass

class Dropping:
    def __init__(self):
        self.calls = [Ends()]
        _fork.of_this_process.add(self)

    def _begin(self):
        self.calls = []

dropping, held = Dropping(), threading.Event()
def hold():
    with owner.lock:
        held.set()
        threading.Event().wait()
threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if not child:
    os._exit(0)
os.write(1, b"%d" % os.waitpid(child, 0)[1])
os._exit(0)
"""


def test_what_ends_in_a_child_takes_no_lock_that_a_thread_of_the_parent_holds(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", ENDS]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.stdout == "0", done.stderr


IMPORTING = """
import os, signal, sys, threading
from executor import ToolExecutor

importing, parent = threading.Event(), os.getpid()
sys.path.insert(0, "")
threading.Thread(target=lambda: __import__("slow"), daemon=True).start()
importing.wait()
child = os.fork()
if not child:
    signal.alarm(15)
    import slow
    os._exit(0 if slow.whole and slow.within.value == 1 else 1)
os.write(1, b"%d" % os.waitpid(child, 0)[1])
os._exit(0)
"""
SLOW = """
import __main__, os, threading
import within
if os.getpid() == __main__.parent:
    __main__.importing.set()
    threading.Event().wait()
whole = True
"""


def test_what_a_thread_of_the_parent_was_importing_is_imported_by_the_child(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "within.py").write_text("value = 1")
    command = [sys.executable, "-W", "ignore", "-c", IMPORTING]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.stdout == "0", done.stderr

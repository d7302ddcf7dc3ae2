"""Workers, hosts and schedulers are killed: nothing is begun twice, nothing is lost, nothing hangs."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from executor import TaskManager, TaskStatus, ToolCall, ToolExecutor
from executor.engines import DaskEngine
from executor.errors import ExecutorUnavailableError

from .conftest import HERE, environment, rounds

SECONDS = 60.0
HOST = """
import sys, threading
sys.path.insert(0, sys.argv[4])
import cluster_tools
from executor import TaskManager, ToolCall, ToolExecutor
from executor.engines import DaskEngine
executor = ToolExecutor(engine=DaskEngine(sys.argv[1]), tasks=TaskManager.open(sys.argv[2], host="mine"))
executor.register("lines", cluster_tools.lines)
for number in range(int(sys.argv[3])):
    arguments = {"count": 20 + number, "pause": 0.02}
    print(executor.start(ToolCall(str(number), "lines", arguments)).task_id, flush=True)
threading.Event().wait()
"""


def begun(executor, path, call):
    """The id of a call that has begun, and the process that does it."""
    said = threading.Event()
    task_id = executor.start(call, on_output=lambda _: said.set()).task_id
    assert said.wait(SECONDS)
    return task_id, int(path.read_text().splitlines()[-1])


@pytest.mark.parametrize("times", rounds(2, 50))
def test_what_a_killed_worker_ran_is_interrupted_and_never_begun_again(executor, tmp_path, times):
    for number in range(times):
        path = tmp_path / f"marks{number}"
        call = ToolCall("1", "mark", {"path": str(path), "seconds": 100.0})
        task_id, worker = begun(executor, path, call)
        os.kill(worker, signal.SIGKILL)
        info = executor.tasks.wait(task_id, SECONDS)
        assert info.status is TaskStatus.INTERRUPTED
        assert "may have had effects" in info.error
        assert executor.tasks.output(task_id)[0] == "begun\n"
        assert executor.tasks.result(task_id)[1]["interrupted"] is True
        assert len(path.read_text().splitlines()) == 1
    after = executor.start(ToolCall("1", "add", {"number": 1})).task_id  # which the scheduler gives to who is there
    assert executor.tasks.wait(after, SECONDS).status is TaskStatus.COMPLETED
    marks = [len((tmp_path / f"marks{number}").read_text().splitlines()) for number in range(times)]
    assert marks == [1] * times


@pytest.mark.parametrize("times", rounds(2, 50))
def test_the_tasks_of_a_killed_host_are_fetched_by_another_process_byte_for_byte(cluster, tmp_path, times):
    dice = random.Random(7)
    for number in range(times):
        folder, count = tmp_path / f"store{number}", 4
        host = subprocess.Popen(
            [sys.executable, "-c", HOST, cluster.address, str(folder), str(count), str(HERE)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        ids = [host.stdout.readline().strip() for _ in range(count)]
        threading.Event().wait(dice.uniform(0, 0.5))  # anywhere in their work
        host.kill()
        host.wait()
        host.stdout.close()
        tasks = TaskManager.open(folder, host="mine")
        for index, task_id in enumerate(ids):
            info = tasks.wait(task_id, SECONDS)
            assert info.status is TaskStatus.COMPLETED, info
            output = "".join(f"line {line} ünïcödé\n" for line in range(20 + index))
            assert tasks.output(task_id) == (output, len(output.encode()), 0)
            assert tasks.result(task_id)[1]["count"] == 20 + index
        assert {info.id for info in tasks.undelivered()} == set(ids)
        tasks.close()


def test_a_host_that_ends_in_order_leaves_its_tasks_to_whoever_asks_next(cluster, tools, tmp_path):
    engine = DaskEngine(cluster.address)
    tasks = TaskManager.open(tmp_path / "store", host="mine")
    executor = ToolExecutor(engine=engine, tasks=tasks)
    executor.register("lines", tools.lines)
    task_id = executor.start(ToolCall("1", "lines", {"count": 30, "pause": 0.05})).task_id
    tasks.close()
    engine.close()
    executor.shutdown(timeout=SECONDS)
    heard = threading.Event()
    other = TaskManager.open(tmp_path / "store", host="mine")
    other.subscribe(lambda info: heard.set() if info.id == task_id else None)
    assert heard.wait(SECONDS), "a host that is started again is told of the ends of its earlier tasks"
    assert other.get(task_id).status is TaskStatus.COMPLETED
    assert other.output(task_id)[0].count("\n") == 30
    other.close()


def test_two_processes_that_ask_at_one_moment_store_one_end(cluster, tools, tmp_path):
    engine = DaskEngine(cluster.address)
    first = TaskManager.open(tmp_path / "store", host="mine")
    executor = ToolExecutor(engine=engine, tasks=first)
    executor.register("lines", tools.lines)
    task_id = executor.detach(ToolCall("1", "lines", {"count": 5}))
    managers = [TaskManager.open(tmp_path / "store", host="mine") for _ in range(6)]
    together, ends = threading.Barrier(len(managers)), []

    def ask(manager):
        together.wait(SECONDS)
        ends.append((manager.wait(task_id, SECONDS).status, manager.output(task_id)[0].count("\n")))

    threads = [threading.Thread(target=ask, args=(manager,)) for manager in managers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert ends == [(TaskStatus.COMPLETED, 5)] * len(managers)
    for manager in [first, *managers]:
        manager.close()
    engine.close()
    executor.shutdown()


def test_a_scheduler_that_is_gone_is_what_tasks_wait_for_and_nothing_hangs(new_cluster, tools, tmp_path):
    cluster = new_cluster()
    engine = DaskEngine(cluster.address)
    tasks = TaskManager.open(tmp_path / "store", host="mine")
    executor = ToolExecutor(engine=engine, tasks=tasks)
    for name in ("mark", "add"):
        executor.register(name, getattr(tools, name))
    path = tmp_path / "marks"
    ids = [begun(executor, path, ToolCall("1", "mark", {"path": str(path), "seconds": 100.0}))[0] for _ in range(2)]
    cluster.kill()
    deadline = time.monotonic() + SECONDS
    while tasks.get(ids[0]).waiting_for is None and time.monotonic() < deadline:
        threading.Event().wait(0.02)
    info = tasks.get(ids[0])
    assert info.status is TaskStatus.RUNNING, "whether it goes on is not known"
    assert "cannot be reached" in info.waiting_for
    assert tasks.wait(ids[0], 0.1).status is TaskStatus.RUNNING
    with pytest.raises(Exception, match="cannot be reached"):
        executor.start(ToolCall("1", "add"))
    assert tasks.cancel(ids[1])
    info = tasks.get(ids[1])
    assert (info.status, info.abandoned) == (TaskStatus.CANCELLED, True)
    assert executor.shutdown(timeout=SECONDS), "there is nobody to wait for"
    engine.close()
    tasks.close()
    other = TaskManager.open(tmp_path / "store", host="mine")
    info = other.get(ids[0])
    assert info.status is TaskStatus.RUNNING
    assert "cannot be reached" in info.waiting_for
    assert other.output(ids[0])[0] == "begun\n", "what was fetched is kept"
    other.close()


class Lone:
    """A scheduler without workers that is killed and started anew at its port, and a host of tasks there."""

    def __init__(self, tools, folder) -> None:
        self.port = _free_port()
        self.start()
        self.engine = DaskEngine(f"tcp://127.0.0.1:{self.port}")
        self.tasks = TaskManager.open(folder / "store", host="mine")
        self.executor = ToolExecutor(engine=self.engine, tasks=self.tasks)
        self.executor.register("add", tools.add)

    def start(self) -> None:
        command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
        command += ["--port", str(self.port), "--no-dashboard", "--no-show"]
        how = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment()}
        self.process = subprocess.Popen(command, **how)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def pending(self) -> tuple[str, str]:
        """The ids of two calls that it has taken: one is kept by this process, one is left."""
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                return self.executor.start(ToolCall("1", "add")).task_id, self.executor.detach(ToolCall("1", "add"))
            except ExecutorUnavailableError:
                assert time.monotonic() < deadline

    def close(self) -> None:
        self.kill()
        self.executor.shutdown(cancel=True, timeout=SECONDS)
        self.engine.close()
        self.tasks.close()


@pytest.fixture
def lone(tools, tmp_path):
    made = Lone(tools, tmp_path)
    yield made
    made.close()


def test_a_scheduler_that_is_started_anew_knows_nothing_and_its_tasks_are_interrupted(lone):
    ids = lone.pending()
    lone.kill()
    lone.start()
    for task_id in ids:  # whether they had begun nobody knows any more
        info = lone.tasks.wait(task_id, SECONDS)
        assert info.status is TaskStatus.INTERRUPTED
        assert "started anew" in info.error


def test_what_is_no_scheduler_at_its_address_for_a_while_does_not_keep_its_tasks_from_their_ends(lone):
    ids = lone.pending()
    lone.kill()
    with _Echo(("127.0.0.1", lone.port), _SaysItBack) as echo:
        threading.Thread(target=echo.serve_forever, daemon=True).start()
        assert echo.asked.wait(SECONDS)
        assert {lone.tasks.get(task_id).status for task_id in ids} == {TaskStatus.PENDING}
        echo.shutdown()
    for each in echo.connections:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
    lone.start()
    assert {lone.tasks.wait(task_id, SECONDS).status for task_id in ids} == {TaskStatus.INTERRUPTED}


class _Echo(socketserver.ThreadingTCPServer):
    """Says back whatever it is told, as no scheduler does."""

    allow_reuse_address = daemon_threads = True
    block_on_close = False

    def __init__(self, *how) -> None:
        super().__init__(*how)
        self.asked = threading.Event()
        self.connections: list[socket.socket] = []


class _SaysItBack(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.server.connections.append(self.request)
        with contextlib.suppress(OSError):
            while told := self.request.recv(65536):
                self.request.sendall(told)
                if b"toolexec_hello" in told:
                    self.server.asked.set()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_commands_of_a_killed_worker_are_ended_by_the_next_one(executor, tmp_path):
    path = tmp_path / "pid"
    command = f'{sys.executable} -c \'import os,time;open("{path}","w").write(str(os.getpid()));time.sleep(1000)\''
    from executor import PluginRegistry

    registry = PluginRegistry()
    registry.expose("shell")
    executor.set_registry(registry)
    task_id = executor.start(ToolCall("1", "runCommand", {"command": command})).task_id
    deadline = time.monotonic() + SECONDS
    while not (path.exists() and path.read_text()) and time.monotonic() < deadline:
        threading.Event().wait(0.02)
    pid = int(path.read_text())
    worker = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    while "dask" not in (line := Path(f"/proc/{worker}/cmdline").read_text()) and "spawn" not in line:
        worker = int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(worker, signal.SIGKILL)
    assert executor.tasks.wait(task_id, SECONDS).status is TaskStatus.INTERRUPTED
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        executor.tasks.wait(executor.start(ToolCall("1", "add")).task_id, SECONDS)
    assert not Path(f"/proc/{pid}").exists()
    registry.close() if hasattr(registry, "close") else None


def test_a_host_that_dies_before_it_has_sent_a_call_has_started_nothing(cluster, tools, tmp_path, monkeypatch):
    engine = DaskEngine(cluster.address)
    tasks = TaskManager.open(tmp_path / "store", host="mine")
    executor = ToolExecutor(engine=engine, tasks=tasks)
    executor.register("add", tools.add)
    monkeypatch.setattr(engine, "submit", lambda remote: engine._remotes.update({remote.task_id: remote}))
    task_id = executor.start(ToolCall("1", "add")).task_id
    engine.close()
    executor.shutdown(timeout=SECONDS)
    info = tasks.wait(task_id, SECONDS)
    assert (info.status, info.error) == (TaskStatus.FAILED, "The call never reached the cluster: nothing was started")
    tasks.close()


def test_a_call_of_which_the_scheduler_is_not_known_to_have_it_is_taken_back(executor, engine, tmp_path, monkeypatch):
    """The answer to the submission is lost: what was taken back is begun by nobody, however late it comes."""
    asked = engine.ask_there

    async def lost(word, *rest, **said):
        if word == "submit":
            await asked("withdraw", task_ids=said["task_ids"])
            await asked(word, *rest, **said)
            raise engine.unavailable("the answer is lost")
        return await asked(word, *rest, **said)

    executor.tasks.wait(executor.start(ToolCall("1", "add")).task_id, SECONDS)
    monkeypatch.setattr(engine, "ask_there", lost)
    path = tmp_path / "marks"
    info = executor.tasks.wait(executor.start(ToolCall("1", "mark", {"path": str(path)})).task_id, SECONDS)
    assert info.status is TaskStatus.FAILED
    assert executor.tasks.tool_result(info.id).value["unavailable"] is True
    monkeypatch.undo()
    assert executor.tasks.wait(executor.start(ToolCall("1", "add")).task_id, SECONDS).status is TaskStatus.COMPLETED
    assert not path.exists()

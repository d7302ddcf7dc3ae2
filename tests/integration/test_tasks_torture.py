"""
Processes that are killed inside the library's own steps, several on one store: nothing is lost, wrong or left behind.

A worker process makes calls with an executor as a host does (hand-overs, starts, ends, cancels, acks, prunes, forks,
commands) and says on stdout what it was told. A thread of it kills it at a random moment within a random step: the
steps are functions of the library that are wrapped for this.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from executor import TaskInfo, TaskStatus, ToolExecutor
from executor.errors import ExecutorUnavailableError
from executor.tasks import TaskManager, _recovery
from executor.tasks._changes import put
from executor.tasks._manager import engine_of
from executor.tasks._processes import birth
from executor.tasks._rows import End, Entry

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60.0
KILLS = int(os.environ.get("TOOLEXEC_TEST_KILLS", "1000"))  # read here: tests run without such variables
STEPS = (
    "_own.OwnTasks.prepare", "_own.OwnTasks._speculate", "_own.OwnTasks.tell", "_own.OwnTasks.finish",
    "_own.OwnTasks._before", "_own.OwnTasks._write", "_own.OwnTasks._after", "_own.OwnTasks.acknowledge",
    "_own.OwnTasks.told", "_own.OwnTasks.remove", "_own.OwnTasks.interrupt", "_thread.StoreThread._transaction",
    "_thread.StoreThread._begin", "_place.Place.present", "_place.Place.sweep", "_place.Place.close",
    "_recovery.forget", "_recovery._bury", "_elsewhere.AllTasks.cancel", "_elsewhere.AllTasks._claim",
    "_files.FileSpool.keep", "_files.FileSpool.stored", "_owners.OwnerLock._make", "_connection.connect",
)  # fmt: skip
WORKER = """
import functools, importlib, os, random, signal, sys, threading, time
folder, seed, step = sys.argv[1], int(sys.argv[2]), sys.argv[3]
chance = random.Random(seed)
countdown = [chance.randrange(1, 12)]

def kill_in(step):
    module, _, path = step.partition(".")
    owner = importlib.import_module(f"executor.tasks.{module}")
    *outer, name = path.split(".")
    for each in outer:
        owner = getattr(owner, each)
    inner = getattr(owner, name)

    @functools.wraps(inner)
    def wrapped(*args, **options):
        countdown[0] -= 1
        if countdown[0] == 0:
            threading.Timer(chance.choice([0, 0, 0.0002, 0.001, 0.004]), os.kill, (os.getpid(), signal.SIGKILL)).start()
        return inner(*args, **options)

    setattr(owner, name, wrapped)

from executor import PluginRegistry, ToolCall, ToolExecutor, current_call
from executor.errors import ToolExecutorError
from executor.tasks import TaskManager
kill_in(step)
registry = PluginRegistry(entry_points=False)
registry.expose("shell", {"threshold": 0.05})
executor = ToolExecutor(registry=registry, tasks=TaskManager.open(folder, host="torture"))

def said(*words):  # without a lock, which a forked child might find held for ever
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

def work(args):
    call = current_call()
    for number in range(args["lines"]):
        call.emit(f"{args['name']} {number}\\n")
        if call.wait(args["pause"]):
            break
    return {"name": args["name"]}

executor.register("work", work, auto_background=0.03)
executor.set_task_done_callback(lambda task_id, *_: said("told", task_id))
said("ready")

def one(number):
    name = f"{os.getpid()}-{number}"
    args = {"name": name, "lines": chance.randrange(1, 40), "pause": chance.choice([0.001, 0.002, 0.004])}
    kind = chance.randrange(11)
    if kind < 5:
        value = executor.execute("work", args)[1]
    elif kind < 7:
        value = executor.start(ToolCall(name, "work", args)).value
    elif kind == 7:
        value = executor.execute("runCommand", {"command": "echo $$; exec sleep 30"})[1]
    elif kind == 8:
        value = executor.start(ToolCall(name, "runCommand", {"command": "echo $$; exec sleep 31"})).value
    else:
        value = None
    if value and "task_id" in value:
        said("id", value["task_id"], name, value.get("durable", True))
        if kind in (7, 8) or chance.random() < 0.3:
            executor.tasks.cancel(value["task_id"])
        info = executor.tasks.wait(value["task_id"], 5)
        if info.status.final:
            said("ended", value["task_id"], info.status)
            if chance.random() < 0.5:
                executor.tasks.ack(value["task_id"])
    elif kind == 9:
        with_child(number)
    elif kind == 10:
        for info in executor.tasks.list(limit=20):
            executor.tasks.output(info.id)
            if info.owner != str(os.getpid()) and not info.status.final and chance.random() < 0.2:
                executor.tasks.cancel(info.id)
        if chance.random() < 0.5:
            said("pruned", executor.tasks.prune(3600))

def with_child(number):
    child = os.fork()
    if child == 0:
        try:
            value = executor.execute("work", {"name": f"{os.getpid()}-child", "lines": 30, "pause": 0.004})[1]
            if "task_id" in value:
                said("id", value["task_id"], f"{os.getpid()}-child", value.get("durable", True))
            executor.shutdown(cancel=True)
            executor.tasks.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)

def rounds(thread):
    for number in range(thread, 10_000, 3):
        try:
            one(number)
        except ToolExecutorError as error:
            said("error", repr(error)[:200].replace("\\n", " "))

threads = [threading.Thread(target=rounds, args=(thread,)) for thread in range(3)]
for thread in threads:
    thread.start()
for thread in threads:  # once the main thread is at its end, Python 3.12 starts no thread and no process any more
    thread.join()
"""


class Worker:
    """One process, and what it has said."""

    numbers = itertools.count()

    def __init__(self, folder, seed, step, python):
        self.step = step
        self.lines = []
        self._mark = f"TORTURED={os.getpid()}-{next(self.numbers)}"  # what it starts has it too
        self.process = subprocess.Popen(
            [*python, "-W", "ignore", "-c", WORKER, str(folder), str(seed), step],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            env={
                **os.environ, **dict([self._mark.split("=")]),
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")]),
            },
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            if line.endswith(b"\n"):  # else it was cut by the kill: nobody was told
                self.lines.append(line.decode().split())
        self.stderr = self.process.stderr.read().decode()

    def until_killed(self, seconds):
        """
        Until it has killed itself, and its children have ended; after so many seconds it is killed wherever it is.

        Returns:
            Whether it has killed itself.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        by_itself = self.process.poll() is not None
        self.process.kill()
        self.process.wait(SECONDS)
        self._reader.join(SECONDS)  # children that it has forked end by themselves
        left, found = self._reader.is_alive(), self.left()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self._reader.join(SECONDS)
        self.process.stdout.close()
        self.process.stderr.close()
        assert not left, f"a forked child did not end after a kill in {self.step}: {found}"
        return by_itself

    def left(self):
        """The processes that it has started and are still there: the command line of each."""
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self._mark.encode() in (process / "environ").read_bytes().split(b"\0"):
                    found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        return found

    def of(self, word):
        return [line[1:] for line in self.lines if line[0] == word]


def whole_lines(text, name):
    """Whether an output is the lines 0, 1, 2 … of *name*, each once; the last may be cut."""
    lines = text.split("\n")
    for number, line in enumerate(lines[:-1]):
        assert line == f"{name} {number}", f"line {number} of {name} is {line!r}"
    assert f"{name} {len(lines) - 1}".startswith(lines[-1])


def asked(ask, *given):
    """What the store says, as soon as it can: its disk may be slow, and its last owner's death not yet stored."""
    again, deadline = threading.Event(), time.monotonic() + SECONDS
    while True:
        try:
            return ask(*given)
        except ExecutorUnavailableError:
            if time.monotonic() > deadline:
                raise
        again.wait(0.1)


def end_others(worker, commands, found):
    """
    Nothing is left but commands that nobody could find, because their call was no task yet.

    Args:
        commands: The number of each task's command, and when it began: numbers are given again after some minutes.
    """
    for pid, line in worker.left().items():
        assert (pid, birth(pid)) not in commands, f"{line} was left after a kill in {worker.step}"
        assert line == "sleep 30", f"{line} was left after a kill in {worker.step}"
        found["in the foreground"] += 1
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def look_after(folder, workers, found):
    """Every task of dead processes is as it was told, or interrupted; what they ran is ended."""
    tasks = TaskManager.open(folder, host="torture")
    for worker in workers:
        ends = dict(worker.of("ended"))
        for task_id, name, durable in worker.of("id"):
            if durable != "True" and task_id not in ends:
                continue
            try:
                info = asked(tasks.get, task_id)
            except Exception as error:
                if durable != "True":
                    continue
                raise AssertionError(f"lost after a kill in {worker.step}: {error!r}") from error
            found[str(info.status)] += 1
            assert info.status.final, f"left {info.status} after a kill in {worker.step}"
            if task_id in ends and durable == "True":
                assert str(info.status) == ends[task_id], f"a final state changed after a kill in {worker.step}"
            text, offset, dropped = asked(tasks.output, task_id)
            assert (offset, dropped) == (info.output_bytes, 0), f"after a kill in {worker.step}: {name}, {info}"
            if info.tool_name == "work":
                whole_lines(text, name)
        found.update(" ".join(words) for words in worker.of("error"))
        found["pruned"] += sum(int(count) for (count,) in worker.of("pruned"))
        assert not [line for line in worker.stderr.splitlines() if line.startswith("Traceback")], worker.stderr
    groups = asked(engine_of(tasks).durable.place.store.rows, "SELECT groups FROM task WHERE tool = 'runCommand'")
    commands = {(number, born) for (each,) in groups for number, born, _ in json.loads(each)}
    for worker in workers:
        end_others(worker, commands, found)
    pids = {str(worker.process.pid) for worker in workers}
    live = asked(tasks.list, "running") + asked(tasks.list, "pending")
    assert not [info for info in live if info.owner in pids], "a dead process has tasks that live"
    tasks.close()


def enter_old(folder, numbers):
    """Tasks that ended hours ago, for the workers to prune: with files of their own, or all in the store."""
    tasks = TaskManager.open(folder, host="torture")
    place, when = engine_of(tasks).durable.place, time.time() - 7200
    entries = []
    for number in numbers:
        task_id = f"old_{number:032x}"
        info = TaskInfo(
            id=task_id, status=TaskStatus.COMPLETED, tool_name="old", plugin_name="local", call_id="c", created=when,
            started=when, ended=when, duration=0.0, error=None, output_bytes=3, owner="1", progress=None,
            abandoned=False, conversation=None,
        )  # fmt: skip
        if number % 2:
            place.output.save_result(task_id, '[["long", null]]')
            place.output.log(task_id).write_bytes(b"old")
        entries.append((Entry(info, 100, (), End(True, '"old"', None), True, True), bool(number % 2)))

    def enter(connection):
        for entry, filed in entries:
            values = entry.values("gone", "torture", detached=False)
            put(connection, entry, values, filed=filed, output=None if filed else b"old")

    place.thread.do(enter, SECONDS)
    tasks.close()


def torture(folder, kills, seed, seconds=2.5, pythons=((sys.executable,),)):
    """
    Kill so many processes, three at a time, in all the steps in turn; returns what was seen.

    Args:
        pythons: The commands of the interpreters that they run in, in turn.
    """
    chance, found, told = random.Random(seed), Counter(), Counter()
    steps = [STEPS[number % len(STEPS)] for number in range(kills)]
    chance.shuffle(steps)
    all_ids, old, python = set(), itertools.count(), itertools.cycle(pythons)
    while steps:
        batch, steps = steps[:3], steps[3:]
        enter_old(folder, itertools.islice(old, 100))
        workers = [Worker(folder, chance.randrange(10**9), step, next(python)) for step in batch]
        found["killed inside"] += sum(worker.until_killed(seconds) for worker in workers)
        look_after(folder, workers, found)
        for worker in workers:
            told.update(task_id for (task_id,) in worker.of("told"))
            all_ids.update(task_id for task_id, _, durable in worker.of("id") if durable == "True")
    with ToolExecutor(tasks=TaskManager.open(folder, host="torture")) as executor:
        executor.set_task_done_callback(lambda task_id, *_: told.update([task_id]))
        stored = {info.id for info in asked(executor.tasks.list)}
        ours = {task_id for task_id in stored if not task_id.startswith("old_")}
        again = threading.Event()
        for _ in range(round(SECONDS / 0.1)):
            if ours <= told.keys():
                break
            again.wait(0.1)  # of many it is told later
        assert ours <= told.keys(), "an end was claimed and not told"
        assert all_ids <= stored
        pruned = 0
        while stored_now := len(asked(executor.tasks.list)):
            with contextlib.suppress(ExecutorUnavailableError):  # it goes on
                executor.tasks.prune()
            pruned += stored_now - len(asked(executor.tasks.list))
        assert pruned == len(stored)
        place = engine_of(executor.tasks).durable.place
        place.output.modified = lambda stem: 0.0  # what kills have left of pruned tasks goes when it is old
        list(_recovery.clean(place.store, place.write, place.output, place.owners))
        assert place.output.stems() == set()
        executor.tasks.close()
    assert [path for path in (folder / "owners").iterdir() if path.suffix == ".lock"] == []
    assert sorted(folder.glob("*damaged*")) == []
    with contextlib.closing(sqlite3.connect(folder / "tasks.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM speculative").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM owner").fetchone() == (0,)
    found["told twice"] = sum(times > 1 for times in told.values())
    found["tasks"] = len(all_ids)
    return found


linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are told apart by /proc")


@linux
def test_kills_inside_the_librarys_own_steps_lose_nothing(tmp_path):
    found = torture(tmp_path, 6, seed=1, seconds=3.0)
    assert found["tasks"] > 0


@linux
@pytest.mark.long
@pytest.mark.timeout(7200)
def test_many_kills_inside_the_librarys_own_steps_lose_nothing(tmp_path):
    seed, kills = random.randrange(10**9), KILLS
    began = time.monotonic()
    found = torture(tmp_path, kills, seed)
    print(f"\nseed {seed}, {kills} kills in {time.monotonic() - began:.0f} s: {dict(found)}")
    assert found["killed inside"] > kills / 2
    assert found["pruned"] > 0
    assert not found[str(TaskStatus.RUNNING)]

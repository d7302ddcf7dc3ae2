"""Tasks of processes that are killed at any moment: every id that was handed out is answered, and truthfully."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from executor import TaskStatus
from executor.tasks import TaskManager

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 30.0
WRITER = """
import os, random, sys, time
from executor import TaskStatus
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of

tasks = TaskManager.open(sys.argv[1])
chance = random.Random(int(sys.argv[2]))
most = int(sys.argv[3])
said = lambda *words: os.write(1, (" ".join(words) + "\\n").encode())
for number in range(most):
    spool = engine_of(tasks).new_spool()
    spool.append("é" * chance.randrange(50))
    started = time.monotonic() if chance.random() < 0.8 else None
    task_id = engine_of(tasks).add(
        "tool", "local", "call", spool, cancel=lambda _: False, reached=lambda: None, started=started
    )
    engine_of(tasks).tell(task_id)
    said("handed-out", task_id)
    for _ in range(chance.randrange(3)):
        spool.append("ü" * chance.randrange(2000))
    if chance.random() < 0.3:
        engine_of(tasks).start(task_id)
    if chance.random() < 0.7:
        engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, task_id))
        said("finished", task_id)
said("all")
sys.stdin.read()
"""


class Writer:
    """A process that hands out ids, and says so."""

    def __init__(self, folder, seed, most=100_000):
        self.ids, self.finished = [], set()
        self.news = threading.Condition()
        self.all = False
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), str(seed), str(most)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            if not line.endswith("\n"):
                break  # cut by the kill: nobody was told
            word, _, task_id = line.strip().partition(" ")
            with self.news:
                if word == "handed-out":
                    self.ids.append(task_id)
                elif word == "finished":
                    self.finished.add(task_id)
                else:
                    self.all = True
                self.news.notify_all()

    def until(self, condition):
        with self.news:
            assert self.news.wait_for(lambda: condition(self), SECONDS)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.gone()

    def gone(self):
        self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        self.process.stdin.close()
        self.process.stdout.close()


def read_all(tasks, task_id):
    """The output of a task, read in pieces."""
    text, offset = "", 0
    while True:
        piece, offset, dropped = tasks.output(task_id, offset, 1000)
        assert dropped == 0
        if not piece:
            return text
        text += piece


def rounds_of_kills(folder, rounds, seed):
    """Kill one to three writers in each round, beside one that lives; returns how many tasks ended how."""
    chance = random.Random(seed)
    found = Counter()
    bystander = Writer(folder, seed, most=200)
    bystander.until(lambda writer: writer.all)
    try:
        for number in range(rounds):
            writers = [Writer(folder, chance.randrange(10**9)) for _ in range(chance.randint(1, 3))]
            enough = chance.randrange(1, 60)
            writers[0].until(lambda writer, enough=enough: len(writer.ids) >= enough)
            threading.Event().wait(chance.random() * 0.02)
            for writer in writers:
                writer.kill()
            tasks = TaskManager.open(folder)
            for writer in writers:
                for task_id in writer.ids:
                    info = tasks.get(task_id)
                    found[str(info.status)] += 1
                    assert info.status in (TaskStatus.COMPLETED, TaskStatus.INTERRUPTED), f"round {number}"
                    if task_id in writer.finished:
                        assert info.status is TaskStatus.COMPLETED
                        assert tasks.result(task_id) == (True, task_id)
                    elif info.status is TaskStatus.INTERRUPTED:
                        assert tasks.result(task_id)[1]["interrupted"] is True
                    assert len(read_all(tasks, task_id).encode()) == info.output_bytes
            alive = {str(writer.process.pid) for writer in writers}
            assert not [info for info in tasks.list("running") + tasks.list("pending") if info.owner in alive]
            tasks.close()
        tasks = TaskManager.open(folder)
        for task_id in bystander.ids:
            expected = (
                {TaskStatus.COMPLETED} if task_id in bystander.finished else {TaskStatus.RUNNING, TaskStatus.PENDING}
            )
            assert tasks.get(task_id).status in expected, "the task of a living process was touched"
        tasks.close()
    finally:
        bystander.kill()
    with contextlib.closing(sqlite3.connect(folder / "tasks.db")) as connection:
        assert connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
    return found


def test_every_id_that_was_handed_out_is_found_after_a_kill(tmp_path):
    found = rounds_of_kills(tmp_path, 8, seed=1)
    assert found["completed"]
    assert found["interrupted"]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_200_rounds_of_kills_lose_nothing(tmp_path):
    found = rounds_of_kills(tmp_path, 200, seed=random.randrange(10**9))
    print(f"\n200 rounds: {dict(found)}")
    assert sum(found.values()) > 200

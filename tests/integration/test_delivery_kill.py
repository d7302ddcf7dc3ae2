"""Hosts that are killed between reading a result, telling the model and acknowledging it: nothing is lost."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from executor.tasks import TaskManager

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60.0
HOST = "an assistant"
STAGES = ("handed out", "found", "read", "made", "sent", "acknowledged")
PROGRAM = """
import json, os, signal, sys, threading
from executor import TaskManager, ToolCall, ToolExecutor, models

folder, conversation, stage, count, starts = sys.argv[1:]
left, held = int(count), threading.Event()

def at(point):
    global left
    left -= point == stage
    if point == stage and left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def send(messages):  # what the model has been sent, once the write is done
    with open(os.path.join(folder, f"model-{conversation}"), "ab", buffering=0) as file:
        file.write(b"".join(json.dumps(message).encode() + b"\\n" for message in messages))

tasks = TaskManager.open(os.path.join(folder, "state"), host="an assistant")
with ToolExecutor(tasks=tasks, conversation=conversation) as executor:
    woken = threading.Event()
    executor.tasks.subscribe(lambda info: woken.set())
    executor.register("quick", lambda arguments: f"{conversation} has {arguments['n']}", auto_background=60)
    executor.register("long", lambda arguments: held.wait() and "", auto_background=60)
    for n in range(int(starts)):
        name = "long" if n % 4 == 3 and stage else "quick"
        os.write(1, (executor.start(ToolCall(str(n), name, {"n": n})).task_id + "\\n").encode())
        at("handed out")
    while info := executor.tasks.next_undelivered(0 if executor.tasks.open_count() == 0 else 0.5):
        at("found")
        result = executor.tasks.tool_result(info.id)
        at("read")
        messages = models.notice([result], "anthropic")
        at("made")
        send(messages)
        at("sent")
        executor.tasks.ack(info.id)
        at("acknowledged")
    held.set()
"""


class Assistant:
    """A conversation of the host, whose process is killed and started again."""

    def __init__(self, folder, name):
        self.folder, self.name, self.ids = folder, name, []

    def start(self, stage="", count=1, starts=0):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(self.folder), self.name, stage, str(count), str(starts)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        return self

    def end(self):
        """Until its process has ended. Returns its exit code."""
        said, _ = self.process.communicate(timeout=SECONDS)
        self.ids += [line for line in said.splitlines(keepends=True) if line.endswith("\n")]
        return self.process.returncode

    def run(self, stage="", count=1, starts=0):
        return self.start(stage, count, starts).end()

    def told(self):
        """How often the model of this conversation was told of each task, by the ids that stand in what it was sent."""
        path = self.folder / f"model-{self.name}"
        lines = path.read_text().splitlines() if path.exists() else []
        texts = [json.loads(line)["content"][0]["text"] for line in lines]
        return Counter(text.partition("the background task ")[2].partition(" ")[0] for text in texts)

    def check(self, kills):
        ids, told = {line.strip() for line in self.ids}, self.told()
        assert told.keys() >= ids, "each of its own tasks"
        assert len(told.keys() - ids) <= kills, "one whose id was not handed out: the process was killed in between"
        assert sum(told.values()) - len(told) <= kills, "told twice only where the process was killed in between"


@pytest.mark.parametrize("stage", STAGES)
def test_a_host_that_is_killed_tells_of_each_task_when_it_is_started_again(tmp_path, stage):
    mine, other = Assistant(tmp_path, "mine"), Assistant(tmp_path, "other")
    assert other.run(starts=2) == 0
    assert mine.run(stage, count=2, starts=4) == -9
    assert mine.run(stage="sent") == -9, "killed once more, right after it has sent"
    assert mine.run() == 0
    mine.check(kills=2)
    other.check(kills=0)
    assert Counter(mine.told().values())[1] >= len(mine.ids) - 2
    assert mine.run() == 0
    assert sum(mine.told().values()) <= len(mine.ids) + 2, "nothing is left to be told of"


def test_two_conversations_that_are_killed_side_by_side_are_each_told_of_their_own(tmp_path):
    both = kill_at_random(tmp_path, rounds=4, seed=1)
    assert all(assistant.ids for assistant in both)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_many_kills_at_random_moments_lose_no_end(tmp_path):
    both = kill_at_random(tmp_path, rounds=120, seed=2)
    print({assistant.name: (len(assistant.ids), assistant.told().total()) for assistant in both})


def kill_at_random(folder, rounds, seed):
    """Kill one conversation after the other, at a stage or at any moment, while the other one goes on."""
    chance, kills = random.Random(seed), Counter()
    both = [Assistant(folder, "a"), Assistant(folder, "b")]
    for number in range(rounds):
        at_stage = chance.random() < 0.5
        for assistant in both:
            stage = chance.choice(STAGES) if at_stage else ""
            assistant.start(stage, chance.randint(1, 4), chance.randint(1, 6))
        if not at_stage:
            threading.Event().wait(0.2 + chance.random() * 0.4)
            both[number % 2].process.kill()
        for assistant in both:
            kills[assistant.name] += assistant.end() != 0
    for assistant in both:
        assert assistant.run() == 0
        assistant.check(kills[assistant.name])
    assert both[0].told().keys().isdisjoint(both[1].told()), "each is told of its own, and of no other's"
    tasks = TaskManager.open(folder / "state", host=HOST)
    assert tasks.undelivered() == []
    tasks.close()
    return both

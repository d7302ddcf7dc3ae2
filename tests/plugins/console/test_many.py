"""Many questions at once, and what it costs that none comes."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import threading
from pathlib import Path

import pytest

from tests.plugins.console.client import Client
from tests.plugins.console.conftest import Process

ASKER = """
import json, os, sys, threading
from executor.approval import Approval, Inbox, new_approval_id

inbox, number = Inbox.shared(), sys.argv[1]

def ask(place):
    given = {"of": number, "place": place}
    answer = inbox.ask(Approval(new_approval_id(), "act", given, "because", options=("yes", "no", "comment")))
    os.write(1, json.dumps([place, answer.word, answer.value]).encode() + b"\\n")

sys.stdin.readline()
threads = [threading.Thread(target=ask, args=(place,)) for place in range(10)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


@pytest.mark.parametrize("processes", [4, pytest.param(20, marks=[pytest.mark.long, pytest.mark.timeout(180)])])
def test_ten_questions_of_each_of_many_processes_are_answered_each_alone(processes, console, project, started):
    client = Client(console())
    events = client.events()
    assert next(events)[0] == "hello"
    askers = [Process("-c", ASKER, str(number), cwd=project) for number in range(processes)]
    started.extend(askers)
    for asker in askers:
        asker.process.stdin.write("go\n")
        asker.process.stdin.flush()
    asked = []
    while len(asked) < 10 * processes:
        kind, value = next(events)
        if kind == "asked":
            asked.append(value)
    answered = []

    def answer(questions):
        for question in questions:
            given = question["arguments"]
            body = {
                "id": question["id"],
                "digest": question["digest"],
                "word": "comment",
                "value": f"{given['of']}-{given['place']}",
            }
            answered.append(client.post("answer", body)[2]["won"])

    hands = [threading.Thread(target=answer, args=(asked[place::4],)) for place in range(4)]
    [hand.start() for hand in hands]
    [hand.join() for hand in hands]
    assert answered == [True] * len(asked)
    for number, asker in enumerate(askers):
        told = sorted(json.loads(asker.line()) for _ in range(10))
        assert told == [[place, "comment", f"{number}-{place}"] for place in range(10)]
    closed = {value["id"] for kind, value in (next(events) for _ in range(len(asked))) if kind == "closed"}
    assert closed <= {question["id"] for question in asked}
    events.close()


def test_a_store_that_is_locked_is_told_of_and_comes_back(console, assistant, own_folders):
    events = Client(console()).events()
    assistant().call("1", "build", {"pause": 1})
    while not (event := next(events))[1] or event[0] != "tasks":
        pass
    connection = sqlite3.connect(own_folders / "state" / "toolexec" / "tasks.db", isolation_level=None)
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        pytest.skip("readers of this store are held up by nobody")
    connection.execute("BEGIN EXCLUSIVE")
    problem = next(value for kind, value in events if kind == "problem")
    assert "store" in problem["error"] or "locked" in problem["error"]
    connection.close()
    assert next(value for kind, value in events if kind == "tasks")[0]["tool"] == "build"
    events.close()


def used(pid):
    """Seconds of a processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(sys.platform != "linux", reason="what a process has used is read from /proc")
@pytest.mark.parametrize("seconds", [5, pytest.param(30, marks=pytest.mark.long)])
def test_an_open_page_on_which_nothing_happens_costs_almost_nothing(seconds, console):
    made = console()
    client = Client(made)
    connection, stream = client.request("GET", "/api/events")
    while not stream.readline().startswith(b"event: tasks"):
        pass
    before = used(made.process.pid)
    quiet = threading.Event()
    assert not quiet.wait(seconds)  # the time that is measured
    assert (used(made.process.pid) - before) / seconds <= 0.01
    connection.close()

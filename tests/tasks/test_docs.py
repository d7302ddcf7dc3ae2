"""What docs/tasks.md lists is complete, and the commands in it are taken. Its programs: see tests/test_programs.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from executor import TaskStatus
from executor.cli import cli
from executor.cli._tasks import group
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of

DOCS = Path(__file__).resolve().parents[2] / "docs" / "tasks.md"


def test_everything_that_can_be_asked_of_tasks_is_documented():
    text = DOCS.read_text("utf-8")
    for name in dir(TaskManager):
        if not name.startswith("_"):
            assert re.search(rf"\b{name}\b", text), name


@pytest.fixture
def tasks():
    made = TaskManager.open()
    yield made
    made.close()


def documented_commands():
    """The command lines under "From a terminal", optional words included: ``[("list", ["--state", "S"]), …]``."""
    block = re.search(r"## From a terminal\n+```\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL).group(1)
    lines = re.findall(r"toolexec tasks (\w+)((?: \S+)*)", block)
    return [(name, options.replace("[", "").replace("]", "").split()) for name, options in lines]


def test_every_command_about_tasks_is_documented_and_takes_the_words_that_the_documentation_gives_it(tasks):
    stopped = []

    def stop(reason):
        stopped.append(reason)
        engine_of(tasks).finish(running, TaskStatus.CANCELLED, (False, {"error": reason}))
        return True

    def enter(cancel):
        spool = engine_of(tasks).new_spool()
        spool.append("its output\n")
        return engine_of(tasks).add("builder", "local", "1", spool, cancel=cancel, reached=lambda: None, started=1.0)

    ended = enter(lambda _: False)
    engine_of(tasks).finish(ended, TaskStatus.COMPLETED, (True, "its result"))
    running = enter(stop)
    values = {
        "ID": ended, ("cancel", "ID"): running, "NAME": "builder", "TEXT": "enough",
        ("list", "S"): "completed", ("wait", "S"): "5",
    }  # fmt: skip
    shown = {}
    for name, options in documented_commands():
        words = [values.get((name, word), values.get(word, word)) for word in options]
        done = CliRunner().invoke(cli, ["tasks", name, *words])
        assert done.exit_code == (2 if name == "attach" else 0), (name, words, done.output)
        shown[name] = done.output
    assert sorted(shown) == sorted(group.commands)
    assert ended in shown["list"]
    assert running not in shown["list"]
    assert "completed" in shown["show"]
    assert shown["output"] == "its output\n"
    assert "its result" in shown["wait"]
    assert stopped == ["enough"]
    assert "needs a terminal" in shown["attach"]  # tests/cli/test_attach.py is at one

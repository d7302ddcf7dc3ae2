"""The programs in the documentation of tasks run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from executor import TaskStatus
from executor.cli import cli
from executor.cli._tasks import group
from executor.tasks import TaskManager

DOCS = Path(__file__).resolve().parents[2] / "docs" / "tasks.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_of_the_documentation_runs(program, capsys):
    names = {}
    exec(program, names)
    names["executor"].tasks.close()
    assert "completed (True, {'built': True})" in capsys.readouterr().out
    assert names["text"] == "step 0\nstep 1\nstep 2\n"


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
        tasks.finish(running, TaskStatus.CANCELLED, (False, {"error": reason}))
        return True

    def enter(cancel):
        spool = tasks.new_spool()
        spool.append("its output\n")
        return tasks.add("builder", "local", "1", spool, cancel=cancel, reached=lambda: None, started=1.0)

    ended = enter(lambda _: False)
    tasks.finish(ended, TaskStatus.COMPLETED, (True, "its result"))
    running = enter(stop)
    values = {
        "ID": ended, ("cancel", "ID"): running, "NAME": "builder", "TEXT": "enough",
        ("list", "S"): "completed", ("wait", "S"): "5",
    }  # fmt: skip
    shown = {}
    for name, options in documented_commands():
        words = [values.get((name, word), values.get(word, word)) for word in options]
        done = CliRunner().invoke(cli, ["tasks", name, *words])
        assert done.exit_code == 0, (name, words, done.output)
        shown[name] = done.output
    assert sorted(shown) == sorted(group.commands)
    assert ended in shown["list"]
    assert running not in shown["list"]
    assert "completed" in shown["show"]
    assert shown["output"] == "its output\n"
    assert "its result" in shown["wait"]
    assert stopped == ["enough"]

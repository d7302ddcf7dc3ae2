"""The programs in the documentation of tasks run."""

from __future__ import annotations

import re
from pathlib import Path

from executor.tasks import TaskManager

DOCS = Path(__file__).resolve().parents[2] / "docs" / "tasks.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)


def run(program):
    names = {}
    exec(program, names)
    names["executor"].tasks.close()
    return names


def test_the_first_program_starts_a_task_and_reads_its_output(capsys):
    names = run(PROGRAMS[0])
    assert "completed (True, {'built': True})" in capsys.readouterr().out
    assert names["text"] == "step 0\nstep 1\nstep 2\n"


def test_the_second_program_delivers_a_result(capsys):
    names = run(PROGRAMS[1])
    assert capsys.readouterr().out == 'ok {"rows":3}\n'
    assert names["executor"].tasks.undelivered() == []
    assert len(PROGRAMS) == 2


def test_everything_that_can_be_asked_of_tasks_is_documented():
    text = DOCS.read_text("utf-8")
    for name in dir(TaskManager):
        if not name.startswith("_"):
            assert re.search(rf"\b{name}\b", text), name


def test_every_command_about_tasks_is_documented():
    from executor.cli._tasks import group

    text = DOCS.read_text("utf-8")
    for name in group.commands:
        assert f"toolexec tasks {name}" in text

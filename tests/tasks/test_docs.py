"""The programs in the documentation of tasks run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs" / "tasks.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_of_the_documentation_runs(program, capsys):
    names = {}
    exec(program, names)
    names["executor"].tasks.close()
    assert "completed (True, {'built': True})" in capsys.readouterr().out
    assert names["text"] == "step 0\nstep 1\nstep 2\n"


def test_every_command_about_tasks_is_documented():
    from executor.cli._tasks import group

    text = DOCS.read_text("utf-8")
    for name in group.commands:
        assert f"toolexec tasks {name}" in text

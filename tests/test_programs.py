"""
Every Python program in README.md and docs/ is run with warnings as errors, and its output compared.

The output is the ``text`` block right after a program, in which ``…`` stands for any text; without one it prints
nothing. A program whose first line is ``# needs …`` (a network, a server) is compiled only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAM = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
PROGRAMS = [
    pytest.param(code, output, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, (code, output) in enumerate(PROGRAM.findall(page.read_text(encoding="utf-8")), 1)
]
ENVIRONMENT = {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'plugins'}"}
SERVER = '"args": ["-c", SERVER]}'  # starts a server that has to find this checkout too


def test_no_program_is_missed():
    assert len(PROGRAMS) == sum(page.read_text(encoding="utf-8").count("```python") for page in PAGES)
    assert {param.id.rpartition("-")[0] for param in PROGRAMS} >= {"README", "run-layer", "tasks", "mcp", "providers"}


@pytest.mark.parametrize(("code", "output"), PROGRAMS)
def test_a_program_prints_what_the_page_says(code, output, tmp_path):
    if code.startswith("# needs "):
        compile(code, "program", "exec")
        pytest.skip(code.partition("\n")[0].removeprefix("# "))
    shutil.copy(ROOT / "permissions.example.json", tmp_path)
    code = code.replace(SERVER, f'{SERVER[:-1]}, "env": {ENVIRONMENT!r}}}')
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path, env=os.environ | ENVIRONMENT, capture_output=True, text=True, encoding="utf-8", timeout=50,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # A literal … of a program's own output matches itself.
    wanted = re.escape(output).replace("…", ".*")
    assert re.fullmatch(wanted, done.stdout), f"{done.stdout}\n---\n{output}"
    assert done.stderr == ""

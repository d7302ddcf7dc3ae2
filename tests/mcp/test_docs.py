"""What docs/mcp.md and docs/providers.md show is run, and its output compared; ``…`` stands for any text."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = {
    name: re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "docs" / name).read_text(), re.MULTILINE | re.DOTALL)
    for name in ("mcp.md", "providers.md")
}
PROGRAMS = [
    (code, blocks[number + 1][1])
    for blocks in BLOCKS.values()
    for number, (language, code) in enumerate(blocks)
    if language == "python"
]


@pytest.mark.parametrize(("code", "output"), PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_prints_what_the_page_says(code, output, tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'plugins'}"}
    code = code.replace('"args": ["-c", SERVER]}', f'"args": ["-c", SERVER], "env": {{"PYTHONPATH": {str(ROOT)!r}}}}}')
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(re.escape(output).replace("…", ".*"), done.stdout), done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(("page", "plugin"), [("mcp.md", "executor_mcp"), ("providers.md", "executor_openapi")])
def test_the_settings_of_the_page_are_accepted(page, plugin, monkeypatch, tmp_path):
    import importlib

    monkeypatch.chdir(tmp_path)
    (toml,) = [code for language, code in BLOCKS[page] if language == "toml"]
    made = importlib.import_module(plugin).executor_plugin()
    (config,) = tomllib.loads(toml)["plugins"].values()
    made.executor_configure(config)
    made.executor_configure({})

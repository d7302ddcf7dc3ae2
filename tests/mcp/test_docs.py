"""The settings in docs/mcp.md and docs/providers.md are taken. The programs there: see tests/test_programs.py."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = {
    name: re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "docs" / name).read_text(), re.MULTILINE | re.DOTALL)
    for name in ("mcp.md", "providers.md")
}


@pytest.mark.parametrize(("page", "plugin"), [("mcp.md", "executor_mcp"), ("providers.md", "executor_openapi")])
def test_the_settings_of_the_page_are_accepted(page, plugin, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (toml,) = [code for language, code in BLOCKS[page] if language == "toml"]
    made = importlib.import_module(plugin).executor_plugin()
    (config,) = tomllib.loads(toml)["plugins"].values()
    made.executor_configure(config)
    made.executor_configure({})

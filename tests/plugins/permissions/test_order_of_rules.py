"""Of several rules that cover a command the one that names where it writes counts, wherever it stands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from executor_permissions import Policy


@pytest.fixture
def here(tmp_path, monkeypatch):
    folder = Path(os.path.realpath(tmp_path)) / "project"
    (folder / ".git/info").mkdir(parents=True)
    (tmp_path / "kept").mkdir()
    (folder / "a").write_text("a")
    monkeypatch.setattr("executor_permissions.judge.files._places._FREE", ())
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("wide_first", [True, False])
@pytest.mark.parametrize(
    ("tool", "wide", "narrow", "args"),
    [
        ("runCommand", "cp *", "cp * ../kept/*", {"command": "cp a ../kept/b"}),
        ("runCommand", "cp *", "cp a ../kept/b", {"command": "timeout 5 cp a ../kept/b"}),
        ("runCommand", "pytest *", "pytest ../kept", {"command": "pytest ../kept"}),
        ("writeFile", "writeFile(path=${project}/**)", "writeFile(path=.git/kept)", {"path": ".git/kept"}),
    ],
)  # fmt: skip
def test_a_rule_that_names_the_place_counts_wherever_it_stands(here, tool, wide, narrow, args, wide_first):
    rules = [wide, narrow] if wide_first else [narrow, wide]
    decided = Policy.from_dict({"whitelist": {"patterns": rules}}, project_root=here).decide(tool, args)
    assert (decided.verdict, decided.parts[0].rule) == ("allow", narrow)

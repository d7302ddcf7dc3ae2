"""docs/comparison.md says of forty commands what becomes of them: our own column is what the starter policy says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from executor_permissions import Policy

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"^\| `(.+?)` \| ([\w ]+) \| ([\w ]+) \| ([\w ]+) \| ([\w ]+) \| ([\w ]+) \|$", re.MULTILINE)
OWN = {"allow": "runs", "ask": "asks", "deny": "refuses"}


@pytest.fixture
def policy(tmp_path):
    project = tmp_path.resolve() / "home/project"
    for name in (".git", "src", "tests"):
        (project / name).mkdir(parents=True)
    for name in (".env", "a.txt", "b.txt", "README.md", "src/a.py"):
        (project / name).write_text("x\n")
    example = json.loads((ROOT / "permissions.example.json").read_text())
    return Policy.from_dict(example, project_root=project, home=project.parent)


def rows():
    page = (ROOT / "docs/comparison.md").read_text(encoding="utf-8")
    return [(command.replace("\\|", "|"), *verdicts) for command, *verdicts in ROW.findall(page)]


def test_our_column_is_what_the_starter_policy_says(policy):
    told = {command: own for command, own, *_ in rows()}
    judged = {command: OWN[policy.decide("runCommand", {"command": command}).verdict] for command in told}
    assert told == judged


def test_there_are_forty_commands_and_every_word_is_explained():
    table = rows()
    assert len(table) == len({command for command, *_ in table}) == 40
    page = (ROOT / "docs/comparison.md").read_text(encoding="utf-8")
    words = {word for _, *verdicts in table for word in verdicts}
    assert {word for word in words if f"\n| {word} | " not in page} == set()

"""How often ordinary work is asked about under the starter policy; the commands and their verdicts are data files."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor_permissions import Policy

FOLDER = Path(__file__).parent / "ordinary"
STARTER = Path(__file__).parents[3] / "permissions.example.json"
# Asked, though nothing would come of them: process substitutions are outside the language that is read for certain, and
# mkdir makes something.
STILL_ASKED = {
    "diff <(sort a) <(sort b)",
    "mkdir -p",
    "mkdir -p build/out",
}
MOST_OF_THE_LISTED, MOST_OF_THE_DRAWN = 10, 0.08


@pytest.fixture
def asked(tmp_path):
    """Gives those of some commands that the starter policy asks about or denies, in an ordinary project."""
    root = tmp_path.resolve() / "proj"
    for name in ("src", "build", "docs", "tests", ".git"):
        (root / name).mkdir(parents=True)
    for name in (".env", "a", "b", "a.txt", "README.md", "src/app.py", "Makefile"):
        (root / name).write_text("x\n")
    policy = Policy.load(STARTER, project_root=root, home=tmp_path / "home")
    return lambda commands: {
        one for one in commands if policy.decide("runCommand", {"command": one}).verdict != "allow"
    }


def listed(name="listed.txt"):
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def drawn(verdict):
    lines = (FOLDER / "drawn.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [command for said, _source, command in rows if said == verdict]


def test_what_was_once_asked_without_need_is_allowed(asked):
    assert asked(listed()) == STILL_ASKED
    assert len(STILL_ASKED) <= MOST_OF_THE_LISTED


def test_what_is_run_all_day_is_allowed(asked):
    assert len(listed("everyday.txt")) > 130
    assert asked(listed("everyday.txt")) == set()


def test_of_drawn_commands_hardly_a_harmless_one_is_asked(asked):
    harmless = drawn("harmless")
    assert len(harmless) + len(drawn("ask")) == 200
    assert len(asked(harmless)) <= MOST_OF_THE_DRAWN * len(harmless), asked(harmless)


def test_of_drawn_commands_none_that_must_be_asked_is_allowed(asked):
    must = drawn("ask")
    assert set(must) - asked(must) == set()

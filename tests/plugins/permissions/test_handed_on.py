"""What find hands on, name by name, to a program that shows it: in the project no more than ``cat`` of each would."""

# ruff: noqa: E501 -- lists of commands are read best as lines of many
from __future__ import annotations

from pathlib import Path

import pytest

from executor_permissions import Policy

STARTER = Path(__file__).parents[3] / "permissions.example.json"
FILES = "find . -type f -name '*.py'"


@pytest.fixture
def decide(tmp_path):
    """Gives the verdict on a command in a project that has a file that no tool may read."""
    root, home = tmp_path.resolve() / "proj", tmp_path.resolve() / "home"
    for name in ("src", "node_modules"):
        (root / name).mkdir(parents=True)
    (home / ".ssh").mkdir(parents=True)
    for path in (root / ".env", root / "src/a.py", home / ".ssh/id_rsa"):
        path.write_text("x\n")
    policy = Policy.load(STARTER, project_root=root, home=home)
    return lambda command: policy.decide("runCommand", {"command": command}).verdict


SHOWN = [
    "grep -n foo", "cat", "head -5", "head -n 3", "tail -n +2", "sed -n 1,5p", "sed 's/a/b/'", "nl", "tac", "grep -n -A3 -e foo",
]  # fmt: skip


@pytest.mark.parametrize("program", SHOWN)
def test_regular_files_that_a_test_chooses_are_shown(decide, program):
    assert decide(f"{FILES} -exec {program} {{}} +") == "allow"
    assert decide(f"{FILES} -exec {program} {{}} \\;") == "allow"
    assert decide(f"{FILES} -print0 | xargs -0 {program}") == "allow"
    assert decide(f"{FILES} -print0 | xargs -r0 -n 5 {program} | head -20") == "allow"


@pytest.mark.parametrize(
    "find",
    [
        "find src -type f -name '*.py'",
        "find . -type f -name '*.py' -not -path './node_modules/*'",
        "find . -type f -name '*.py' ! -name 'x.py'",
        "find . -name '*.py' -type f -mtime -3",
    ],
)
def test_what_leaves_out_more_is_allowed_too(decide, find):
    assert decide(f"{find} -exec grep -n foo {{}} +") == "allow"
    assert decide(f"{find} -print0 | xargs --null grep -n foo") == "allow"


# A link may lead anywhere, and a test that does not surely hold chooses nothing.
FINDS = [
    "find . -name '*.py'", "find . ! -type f -name '*.py'", "find -L . -type f -name '*.py'", "find -H . -type f -name '*.py'", "find . -follow -type f -name '*.py'",
    "find . -type f,l -name '*.py'", "find . -xtype f -name '*.py'", "find . -type l -name '*.py'", "find . -type f -name '*v'", "find . -type f",
    "find . -type f ! -name '*.py'", "find . -type f -name '*.py' -o -name .env", "find . -name -type f", "find . '(' -type f -name '*.py' ')' -o -true",
    "find ~ -type f -name 'id*'", "find /proc -type f -name environ", "find . -type f -name $x", "find . -type f -name *v",
]  # fmt: skip


@pytest.mark.parametrize("find", FINDS)
def test_what_may_be_something_else_is_asked_about(decide, find):
    assert decide(f"{find} -exec cat {{}} +") != "allow"
    assert decide(f"{find} -print0 | xargs -0 cat") != "allow"


# A name is a file that is read, and nothing else: no script, no program, no value.
PROGRAMS = [
    "sed", "sed -e", "sed -f", "sed -n -f", "sed -i s/a/b/", "sed 's/a/b/w out'", "grep", "grep -e", "head -n", "tail -c", "awk", "awk -f", "sh", "env", "env cat",
    "cp -t /tmp", "rm", "tee", "xargs cat", "cat .env", "python3", "timeout 5 sh", "grep -r foo .", "bash -c 'cat .env'", "sort -o", "diff .env",
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_does_more_than_show_it_is_asked_about(decide, program):
    assert decide(f"{FILES} -exec {program} {{}} +") != "allow"
    assert decide(f"{FILES} -exec {program} {{}} \\;") != "allow"
    assert decide(f"{FILES} -print0 | xargs -0 {program}") != "allow"


# What xargs takes is no longer what find has found: it is parted anew, comes from elsewhere, or something else reads too.
LINES = [
    "{} -print0 | xargs cat", "{} | xargs -0 cat", "{} | xargs cat", "{} -print -print0 | xargs -0 cat", "{} -printf '.env\\0' -print0 | xargs -0 cat",
    "{} -print0 | sort -z | xargs -0 cat", "{} -print0 | xargs -0 -I% cat %", "{} -print0 | xargs -0 -d 'n' cat", "{} -print0 | xargs -0 -a .env cat", "{} -print0 | xargs -0a .env cat",
    "{} -print0 | {{ head -c 3; xargs -0 cat; }}", "{} -print0 |& xargs -0 cat", "({} -print0) | xargs -0 cat", "{} -print0 < x | xargs -0 cat < list", "{} -print0 | xargs -0 cat < list",
    "{} -print0 | xargs -0 cat; find . -print0 | xargs -0 cat", "find . -print0 | xargs -0 cat; {} -print0 | xargs -0 cat", "{} -print0 | echo $(xargs -0 cat)",
    "{} -execdir cat {{}} +", "{} -exec cat {{}} + -exec sh {{}} \\;", "{} -exec sed '{{}}' {{}} \\;", "{} -exec grep x{{}} {{}} \\;", "{} -exec cat {{}} .env \\;",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_what_may_hand_on_something_else_is_asked_about(decide, line):
    assert decide(line.format(FILES)) != "allow"


def test_a_search_asks_about_the_secrets_of_other_users(decide, tmp_path, monkeypatch):
    from executor.confine import _secret_places
    from executor_permissions.judge.paths import _secrets

    homes = tmp_path.resolve() / "homes"
    (homes / "bob" / ".ssh").mkdir(parents=True)
    (homes / "bob" / ".ssh" / "id_rsa").write_text("x\n")
    (homes / "bob" / "src").mkdir()
    for module in (_secrets, _secret_places):
        monkeypatch.setattr(module, "HOMES", (str(homes),))
    monkeypatch.setattr(_secrets, "_HOME", _secrets.re.compile(f"{homes}/[^/]+"))
    for folder in (homes, homes / "bob"):
        assert decide(f"grep -r x {folder}") == "ask"
        assert decide(f"grep -r x {folder} --include=id_rsa") == "ask"
        assert decide(f"find {folder} -type f -name id_rsa -exec cat {{}} +") == "ask"
        assert decide(f"grep -r x {folder} --exclude-dir=.ssh") == "allow"
    assert decide(f"grep -r x {homes}/bob/src") == "allow"

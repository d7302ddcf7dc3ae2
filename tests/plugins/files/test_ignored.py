"""searchFiles passes over what git passes over, compared with git itself."""

from __future__ import annotations

import os
import random
import shutil
import subprocess

import pytest

from executor_files._ignored import Ignored

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is what it is compared with")
FOLDERS = ("", "src", "src/build", "build", "a/b", "a b", "node_modules/x", ".hid")
NAMES = (
    "f.py",
    "f.log",
    "x.tmp",
    "#h",
    "!no",
    "keep",
    "[s]",
    "a]b",
    "build",
    "t ",
    "\\z",
    "é.txt",
    "e.txt",
    "A1",
    "-",
    "é",
    ".env",
    "foo^bar",
)
PATTERNS = (
    """
*.log
*.tmp
!keep.log
build
build/
/build
src/build
a/**
a/**/b
!a/b
**/x
node_modules/
\\#h
\\!no
#comment
[ab]*
[!a]*.py
[^f]*
f.p?
t\\SPACE
tSPACE
/
//
**
!**/
*
!/src
!*.py
a b/
[s]
\\[s\\]
foo^bar
é*
.hid/*
!.hid/keep
[z-a]
[abc
a]b
\\\\z
*/keep
/*/f.log
src/*
!src/f.py
[[:upper:]]?
[[:alpha:][:digit:]].txt
[^[:alnum:].]*
[![:punct:]]*
[[:nosuch:]]*
[[:alpha:]
[[:alpha:]-]
[[:]
[[::]]
[]-a]
[a\\]]b
[a-]
[^a-]
[!]a]*
[e-[:alpha:]].txt
[^]
[!]
[a/]*
[^/]*
[A-[:digit:]
[k-a]eep
[a-[:alpha:]]
[z-af]?py
[^z-a]
a\\]b
foo\\^bar
\\f.py
keep\\
?.txt
??.txt
[é].txt
[é][é].txt
[é]
""".strip("\n")
    .replace("SPACE", " ")
    .split("\n")
)


def tree(here):
    for folder in FOLDERS:
        (here / folder).mkdir(parents=True, exist_ok=True)
    for folder in FOLDERS:
        for name in NAMES:
            if not (here / folder / name).exists():
                (here / folder / name).write_text("x")


def by_git(here):
    """What git says is there and not left out."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    command = ["git", "ls-files", "-z", "--others", "--exclude-standard"]
    said = subprocess.run(command, cwd=here, env=env, capture_output=True, check=True).stdout
    return {os.fsdecode(name) for name in said.split(b"\0") if name}


def by_us(here, tools):
    found = tools.searchFiles(".", pattern="x|^", limit=2000)
    assert not found["truncated"]
    return {match["file"] for match in found["matches"]}


def written(here, chance):
    """Patterns in some folders; the same for the same *chance*."""
    for folder in ("", "src", "a", "a/b", ".hid"):
        patterns = chance.sample(PATTERNS, chance.randrange(0, 5))
        (here / folder / ".gitignore").write_text("\n".join(patterns) + "\n")
    (here / ".git" / "info" / "exclude").write_text("\n".join(chance.sample(PATTERNS, chance.randrange(0, 3))) + "\n")


def test_it_is_as_git_says(here, tools):
    subprocess.run(["git", "init", "-q"], cwd=here, check=True)
    tree(here)
    for seed in range(30):
        written(here, random.Random(seed))
        assert by_us(here, tools) == by_git(here), seed


def test_each_pattern_alone_is_as_git_says(here, tools):
    subprocess.run(["git", "init", "-q"], cwd=here, check=True)
    tree(here)
    for pattern in PATTERNS:
        (here / ".gitignore").write_text(f"{pattern}\n")
        assert by_us(here, tools) == by_git(here), pattern


def test_below_a_repository_its_patterns_hold_and_what_is_asked_for_is_searched(here, tools):
    subprocess.run(["git", "init", "-q"], cwd=here, check=True)
    tree(here)
    (here / ".gitignore").write_text("node_modules/\n*.log\n")
    result = tools.searchFiles("node_modules", pattern="x")
    assert {match["file"] for match in result["matches"]} >= {"x/f.py"}
    assert "x/f.log" not in {match["file"] for match in result["matches"]}
    assert result["skipped"]["ignored"] == 1
    whole = tools.searchFiles("node_modules", pattern="x", include_ignored=True)
    assert "x/f.log" in {match["file"] for match in whole["matches"]}
    assert "skipped" not in whole


def test_without_a_repository_nothing_is_left_out(here, tools):
    (here / "f.log").write_text("x")
    (here / ".gitignore").write_text("*.log\n")
    assert len(tools.searchFiles(".", pattern="x")["matches"]) == 1


def test_a_pattern_that_is_made_to_take_long_does_not(here):
    (here / ".git").mkdir()
    (here / ".gitignore").write_text("a*" * 100 + "b\n" + "**/a/" * 100 + "b\n")
    ignored = Ignored(here)
    assert not ignored("a" * 250, folder=False)
    assert not ignored("/".join("a" * 200), folder=False)


def test_what_a_clone_can_put_there_does_not_take_long(here):
    (here / ".git").mkdir()
    for filling in ("[", "[:", "*a", "?", "[a]", "[a-", " ", "\\", "a/"):
        (here / ".gitignore").write_text(filling * (1 << 18) + "x\n" + (filling * 2000 + "\n") * 20)
        assert not Ignored(here)("a" * 250, folder=False)

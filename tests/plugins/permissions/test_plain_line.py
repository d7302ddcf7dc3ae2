"""A line of plain words is read as the splitter and the walk read it, in every part, or left to them."""

# ruff: noqa: E501 -- tables of cases
from __future__ import annotations

import random

import pytest

from executor_permissions.judge.bash import _parser, _tree
from executor_permissions.judge.bash._moves import Surroundings
from executor_permissions.judge.bash._plain_line import LONGEST, plain_commands, split_plainly
from executor_permissions.judge.bash._split import split
from executor_permissions.judge.bash._walk import Step, walk
from executor_permissions.judge.paths._links import Links
from tests.plugins.permissions.shellfuzz.grammar import Grammar
from tests.plugins.permissions.test_corpus import ATTACKS, BENIGN
from tests.plugins.permissions.test_ordinary import drawn, listed

FOLDERS = frozenset({"/p", "/q"})
WORDS = ["git", "log", "-5", "a.txt", "'a b'", '"x"', "''", "k=v", "if", "time", "!", "cd", "set", "export", "exit", "=", "^",
         "a^b", "~", "*", "$x", "#", "a#b", "{", "}", "]", "coproc", "command", "./x", "\\", "é", "'é'", "@", "%1", "+5"]  # fmt: skip
JOINTS = [
    "|",
    " | ",
    "||",
    " && ",
    ";",
    "; ",
    " ;",
    "&",
    " & ",
    "|&",
    ";;",
    "\n",
    "  ",
    "\t",
    " ",
    " ",
    " ",
    " ",
    " ",
    " \\\n ",
]


def assert_read_as_ever(text):
    """Gives whether it was read."""
    plainly = split_plainly(text)
    if plainly is None:
        return False
    script, marks = split(text)
    walked = walk(script, text, Surroundings("/home/me"), Links(), FOLDERS)
    assert plainly[1] == marks, text
    assert [Step(command, FOLDERS, FOLDERS) for command in plainly[0]] == walked.steps, text
    assert [[type(word) for word in one.words] for one in plainly[0]] == [
        [type(word) for word in step.command.words] for step in walked.steps
    ]
    assert walked.lasting
    return True


def test_every_line_of_the_corpus_is_read_as_ever():
    lines = {*(command for *_, command in ATTACKS), *(command for _, command in BENIGN), *listed(), *drawn("allow")}
    assert sum(map(assert_read_as_ever, sorted(lines))) > 300


def test_random_scripts_are_read_as_ever():
    assert sum(assert_read_as_ever(Grammar(random.Random(seed)).text()) for seed in range(3000)) > 100


def test_random_words_are_read_as_ever():
    pick = random.Random(7)
    texts = [
        "".join(pick.choice(WORDS) + pick.choice(JOINTS) for _ in range(pick.randrange(1, 7))) for _ in range(8000)
    ]
    texts += [text.rstrip(" \t|;&") for text in texts]
    assert sum(map(assert_read_as_ever, texts)) > 500


@pytest.mark.parametrize(
    "text",
    ["", " ls", "ls ;", "ls &", "ls |& wc", "ls > a", "a=b", "x=1 ls", "cd a", "ls | cd a", "time ls", "! ls", "if", "ls\npwd",
     "set -e", "command ls", "export a", "exit", "ls $x", "ls *", "ls ~", "ls #x", "ls é", "ls \x07", "ls " + "a" * LONGEST,
     "for", "ls; done", "ls || then"],
)  # fmt: skip
def test_what_is_more_than_plain_words_is_left_to_the_splitter(text):
    assert plain_commands(text) is None


def test_what_the_second_reading_does_not_agree_with_is_left_to_the_splitter(monkeypatch):
    assert plain_commands("ls -l | wc") is not None
    monkeypatch.setattr(_tree, "marks", lambda root, data: [])
    assert plain_commands("ls -l | wc") is None


def test_the_longest_line_is_within_what_the_splitter_takes():
    text = ("a|" * LONGEST)[: LONGEST - 1]
    assert assert_read_as_ever(text)
    assert plain_commands(text) is not None
    assert _parser.DIRECT > LONGEST  # the parser needs no limit of time

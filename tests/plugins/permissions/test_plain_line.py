"""A line of plain words is read as the splitter and the walk read it, in every part, or left to them."""

# ruff: noqa: E501 -- tables of cases
from __future__ import annotations

import random

import pytest

from executor_permissions.judge.bash import _parser, _tree
from executor_permissions.judge.bash._moves import Surroundings
from executor_permissions.judge.bash._plain_line import LONGEST, MOVING, plain_commands, split_plainly
from executor_permissions.judge.bash._split import split
from executor_permissions.judge.bash._walk import walk
from executor_permissions.judge.bash._words import Reading
from executor_permissions.judge.paths._links import Links
from executor_permissions.judge.runs._runs import Runs
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
    moves = plainly[0][0].words[0] == MOVING
    assert plainly[1] == marks, text
    assert Runs("/home/me", Links()).without_script(Reading(plainly[0], moves=moves), FOLDERS) == walked.steps, text
    assert [[type(word) for word in one.words] for one in plainly[0]] == [
        [type(word) for word in step.command.words] for step in walked.steps
    ]
    assert walked.lasting or moves
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
    ["", " ls", "ls ;", "ls &", "ls |& wc", "ls > a", "a=b", "x=1 ls", "cd a", "ls | cd a", "cd a | ls", "cd a; ls", "cd a || ls", "cd a && ls; ls", "cd a && ls || ls", "cd a && cd b", "ls && cd a && ls",
     "cd && set x", "time ls", "! ls", "if", "ls\npwd",
     "set -e", "command ls", "export a", "exit", "ls $x", "ls *", "ls ~", "ls #x", "ls é", "ls \x07", "ls " + "a" * LONGEST,
     "for", "ls; done", "ls || then"],
)  # fmt: skip
def test_what_is_more_than_plain_words_is_left_to_the_splitter(text):
    assert plain_commands(text) is None


@pytest.mark.parametrize(
    "text", ["cd a && ls", "cd a && ls | wc", "cd a && ls && pwd", "cd && ls", "cd - && ls", "cd -P 'a b' && ls", "cd / && ls a", "'cd' .. && ls"]
)  # fmt: skip
def test_what_runs_behind_a_move_runs_where_that_leads(text):
    assert plain_commands(text) is not None
    assert assert_read_as_ever(text)


def test_random_lines_behind_a_move_are_read_as_ever():
    pick = random.Random(11)
    places = ["", " a", " 'a b'", " -", " ..", " /", " -L a", " a b", " -x", " --", " ./a/", " @"]
    texts = ["cd" + pick.choice(places) + pick.choice([" && ", "&&", " | ", "; "]) for _ in range(4000)]
    texts = [
        text + "".join(pick.choice(WORDS) + pick.choice(JOINTS) for _ in range(pick.randrange(1, 5))) for text in texts
    ]
    assert sum(map(assert_read_as_ever, [text.rstrip(" \t|;&") for text in texts])) > 200


def test_what_the_second_reading_does_not_agree_with_is_left_to_the_splitter(monkeypatch):
    assert plain_commands("ls -l | wc") is not None
    monkeypatch.setattr(_tree, "marks", lambda root, data: [])
    assert plain_commands("ls -l | wc") is None


def test_the_longest_line_is_within_what_the_splitter_takes():
    text = ("a|" * LONGEST)[: LONGEST - 1]
    assert assert_read_as_ever(text)
    assert plain_commands(text) is not None
    assert _parser.DIRECT > LONGEST  # the parser needs no limit of time

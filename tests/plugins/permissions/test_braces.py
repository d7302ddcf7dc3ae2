"""Words that hold lists in braces: ``a{b,c}`` is what bash makes of it, or not known; and dash makes nothing of it."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest

from executor_permissions.judge.bash._braces import listed
from executor_permissions.judge.bash._expand import Expander
from executor_permissions.judge.bash._shell import read
from executor_permissions.judge.bash._words import Glob, PublicWords

BASH = shutil.which("bash")
PIECES = [*"ab1./*?%+=:-_{},", "..", "{a,", "b}", "1..3", "{,", ""]


def test_both_a_shell_that_knows_braces_and_one_that_does_not_are_read():
    found = [command.words for command in read("ls src/{a,b}.py -{l,a}*", "/home/me").commands]
    assert found == [
        ["ls", "src/a.py", "src/b.py", Glob("-l*"), Glob("-a*")],
        ["ls", "src/a.py", "src/b.py", Glob("-{l,a}*")],
        ["ls", "src/{a,b}.py", Glob("-l*"), Glob("-a*")],
        ["ls", "src/{a,b}.py", Glob("-{l,a}*")],
    ]


OTHERS = [
    "{a,'b'}", '{a,"b"}', "{a,b\\c}", "{a,{b,c}}", "{a,$x}", "{,}", "{,a}", "{a,b}[c]", "{a,b}~", "{a..c,d}{1..2}",
]  # fmt: skip


@pytest.mark.parametrize("word", OTHERS)
def test_of_braces_that_hold_anything_else_the_words_are_not_known(word):
    (command,) = read(f"ls {word}", "/home/me").commands
    assert command.words != ["ls", word]
    assert type(command.words[1]) is not str
    assert listed(word) is None


def test_a_list_of_many_words_is_not_known():
    assert listed("{a,b}" * 5) is not None
    assert listed("{a,b}" * 6) is None
    (command,) = read("ls " + "{a,b}" * 6, "/home/me").commands
    assert type(command.words[1]) is PublicWords


def test_of_long_words_only_a_few_are_made():
    assert listed("x" * 5000 + "{a,b}") is not None
    assert listed("x" * 1000 + "{a,b}{c,d}") is not None
    assert listed("x" * 5000 + "{a,b}{c,d}") is None


def test_words_of_what_changes_no_shell_are_made_once_however_often_its_loop_is_gone_round(monkeypatch):
    made = []
    original = Expander.commands

    def commands(self, words, state, *, few):
        made.append(words)
        return original(self, words, state, few=few)

    monkeypatch.setattr(Expander, "commands", commands)
    begins, ends = "for x in a b; do for y in c d; do " * 5, "; done; done" * 5
    assert len(read(f"{begins}{'; '.join(['cat $x$y {a,b}'] * 100)}{ends}", "/home/me").commands) > 100
    assert len(made) == 100
    read(f"{begins}cd $x; read x{ends}", "/home/me")
    assert len(made) > 102


@pytest.mark.skipif(BASH is None, reason="needs bash to compare with")
def test_the_words_are_those_that_bash_makes(tmp_path):
    pick = random.Random(46)
    drawn = ("".join(pick.choices(PIECES, k=pick.randint(3, 10))) for _ in range(40_000))
    words = {word: found for word in drawn if "{" in word and "/" not in word and (found := listed(word))}
    assert len(words) > 500
    script = "\n".join(f"printf '%s\\0' {word} /end/" for word in words)
    told = subprocess.run([BASH, "-fc", script], cwd=tmp_path, capture_output=True, check=True, text=True).stdout
    assert told.split("/end/\0")[:-1] == ["".join(f"{one}\0" for one in found) for found in words.values()]

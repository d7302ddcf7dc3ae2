"""Random scripts, those that the example policy allows run for real: nothing happens that no rule allows."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from executor_permissions.judge.bash import _shell
from executor_permissions.judge.bash._words import Number, Unknown
from tests.plugins.permissions.shellfuzz.check import Checker, becomes, fuzz, scripts
from tests.plugins.permissions.shellfuzz.sandbox import Sandbox

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash to compare with")

BLOCKS, SIZE = 4, 1000
UNDERSTOOD = 400  # in a block, as nearly every other one of them is
LONG_BLOCKS, LONG_SIZE = 10, 100_000


@pytest.fixture
def sandbox():
    # Not pytest's folder: what is run is run as another user where the tests are run by root.
    with tempfile.TemporaryDirectory() as folder:
        yield Sandbox(Path(folder).resolve(), BASH)


@pytest.fixture
def checker(sandbox):
    return Checker(sandbox, _shell.read)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_what_is_allowed_does_nothing_that_no_rule_allows(checker, block):
    counts = fuzz(checker, "allowed", 1, block * SIZE, (block + 1) * SIZE)
    assert counts.faults == []
    assert counts.run > SIZE / 10
    assert counts.calls > SIZE / 10


@pytest.mark.parametrize("block", range(BLOCKS))
def test_what_is_understood_does_what_was_read(checker, block):
    counts = fuzz(checker, "understood", 2, block * UNDERSTOOD, (block + 1) * UNDERSTOOD)
    assert counts.faults == []
    assert counts.run > UNDERSTOOD / 4
    assert counts.calls > UNDERSTOOD / 4


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("which", ["allowed", "understood"])
@pytest.mark.parametrize("block", range(LONG_BLOCKS))
def test_a_million_scripts_do_nothing_else(checker, block, which):
    assert fuzz(checker, which, 3, block * LONG_SIZE, (block + 1) * LONG_SIZE).faults == []


def test_the_same_seed_says_the_same_scripts_whichever_part_is_asked_for():
    assert [*scripts(3, 0, 5), *scripts(3, 5, 10)] == list(scripts(3, 0, 10))
    assert list(scripts(3, 0, 10)) != list(scripts(4, 0, 10))


def test_the_sandbox_sees_calls_and_files_that_change(sandbox):
    calls, changed = sandbox.run("ls 'a b' $x; evil | echo \"$HOME\" &")
    assert sorted(calls) == [["echo", str(sandbox.home)], ["evil"], ["ls", "a b"]]
    assert changed == []
    assert sandbox.run("ls > c; > ~/x; > src/c.txt") == ([["ls"]], ["../home/x", "c", "src/c.txt"])
    assert sandbox.run("cd src; ../evil a; cat <<E\nx\nE") == ([["evil", "a"], ["cat"]], [])
    assert sandbox.run("rm a.txt") == ([["rm", "a.txt"]], [])


def test_many_scripts_at_once_are_seen_as_each_by_itself(sandbox):
    texts = [
        "ls 'a b' \"$x\" '' & wait; > /dev/null; cat <<E\nx\ny\nE",
        "./evil 'a\n'; cd src && ../evil",
        "false || x=1 ls 2'x\ny' | git diff \\\n2 --",
        "if",
        "for i in a b; do ls $i; done; exit; ls",
        "break; unknown",
    ]
    alone = [(sorted(calls), changed) for calls, changed in map(sandbox.run, texts)]
    alone[-1] = ([["unknown"]], [])  # only there are unknown programs seen
    for _ in range(3):
        together = [(sorted(calls), changed) for calls, changed in sandbox.run_all(texts)]
        assert together == alone
    writing = [*texts, "ls > c"]
    assert sandbox.run_all(writing)[-1] == ([["ls"]], ["c"])


WORDS = [  # words that were read, the call that was made, whether it can be that
    (["a", "b"], ["a", "b"], True),
    (["a", "b"], ["a"], False),
    (["a"], ["a", "b"], False),
    (["a", Unknown("$x")], ["a"], True),
    (["a", Unknown("$x")], ["a", "b", "c"], True),
    (["a", Unknown("$x"), "d"], ["a", "b", "c", "d"], True),
    (["a", Unknown("$x"), "d"], ["a", "b", "c"], False),
    (["a", Number("$?")], ["a"], False),
    (["a", Number("$?")], ["a", "1"], True),
    (["a", Number("$?")], ["a", "1", "2"], False),
]


def test_what_words_can_become():
    assert [(words, call, becomes(words, call)) for words, call, _ in WORDS] == WORDS

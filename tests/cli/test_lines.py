"""Command lines that nobody meant: each is answered in words, and none with a traceback."""

from __future__ import annotations

import random

import click
import pytest

from executor.cli import cli

STAY = {("approvals", "watch"), ("console",), ("mcp", "login"), ("serve",)}  # they wait for what comes
WORDS = (
    "", "-", "--", "x", "echo", "runCommand", "readFile", "é", "\udcff", "a b", "..", "/", "/dev/null", "/no/where",
    "{", "{}", "[]", '{"text": "a"}', "text=a", "text:=1", "text:={", "=", ":=", "key=value", "0", "-1", "1e999", "nan",
    "9" * 20, "1d", "d", "%s", "${HOME}", "~", "~nobody", "*", "read", "project", "user", "[red]", "\x1b[31m", "true",
    "--json", "--help", "--yes", "--bogus", "-x", "http://127.0.0.1:1", "chain.json", "policy.json", "binary", "folder",
)  # fmt: skip


def leaves(command=cli, words=()):
    """Every command, with the words that name it."""
    ctx = click.Context(command)
    if not isinstance(command, click.Group):
        yield words, command
        return
    for name in command.list_commands(ctx):
        found = command.get_command(ctx, name)
        if found is not None:
            yield from leaves(found, (*words, name))


def line(chance, words, command):
    """A command line: options that exist, with and without values, and words in any order."""
    made = []
    for _ in range(chance.randrange(0, 6)):
        options = [each for each in command.params if isinstance(each, click.Option)]
        if options and chance.random() < 0.4:
            option = chance.choice(options)
            made.append(chance.choice(option.opts))
            if not option.is_flag and chance.random() < 0.8:
                made.append(chance.choice(WORDS))
        else:
            made.append(chance.choice(WORDS))
    return [*words, *made]


@pytest.fixture
def around(tmp_path, monkeypatch):
    """A folder with files of the wrong kinds."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chain.json").write_text('{"steps": [{"tool": 1}]}')
    (tmp_path / "policy.json").write_text('{"version": 7, "whitelist": []}')
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()


@pytest.mark.parametrize(
    "seed",
    [1, 2, *(pytest.param(seed, marks=[pytest.mark.long, pytest.mark.timeout(600)]) for seed in range(3, 21))],
)
def test_each_of_a_hundred_lines_is_answered_in_words(around, run, seed):
    chance = random.Random(seed)
    commands = [(words, command) for words, command in leaves() if words not in STAY]
    assert len(commands) > 40
    for _ in range(100):
        words = line(chance, *chance.choice(commands))
        result = run(*words)
        if '"traceback":' not in result.output:  # with --json there is that of the tool, for who wrote it
            assert "Traceback" not in result.output, (words, result.output)
        assert '"kind": "unexpected"' not in result.output, (words, result.output)
        assert result.exit_code in range(8), words
        if result.exit_code == 1:  # only what looks for what is broken may find it
            assert words[0] in ("doctor", "permissions", "config", "plugins", "mcp", "tools"), (words, result.output)
        if result.exit_code == 2:
            assert "rror" in result.stderr or "Usage" in result.stderr, (words, result.output)

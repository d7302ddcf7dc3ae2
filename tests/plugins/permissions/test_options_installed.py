"""The tables of options against the programs that are installed: each option exists, and takes as many values."""

# ruff: noqa: E501, SIM905 -- tables of cases: a line each
from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from executor_permissions.judge.options._tables import entries, grammar_of
from tests.plugins.permissions.optionfuzz.argv import Argv
from tests.plugins.permissions.optionfuzz.sandbox import Sandbox

# Programs whose help, or manual, names all their options.
DOCUMENTED = (
    "cat head tail wc sort uniq cut tr nl tac rev paste comm join fold fmt expand unexpand column od hexdump strings md5sum cksum base64 shuf seq diff cmp"
    " sdiff diff3 grep ls stat file du df realpath readlink cp mv ln install mkdir rmdir rm touch chmod chown truncate split csplit tee mktemp tar zip gzip"
    " bzip2 xz zcat date find sed basename id uname numfmt timeout nice stdbuf env xargs watch nohup setsid make ps ssh curl wget less journalctl systemctl"
    " pgrep dmesg"
).split()
# Options that are taken though neither help nor manual names them, or that other versions have.
UNDOCUMENTED = {
    "cksum": {"--sysv"}, "csplit": {"-q"}, "diff": {"-H", "--old-line-format", "--new-line-format", "--unchanged-line-format", "--old-group-format", "--new-group-format", "--changed-group-format", "--unchanged-group-format"},
    "expand": {"-a", "--all", "--first-only"}, "unexpand": {"-i", "--initial"}, "grep": {"-y"}, "md5sum": {"-l", "--length"}, "sed": {"-b", "--zero-terminated"}, "less": {"+F", "+#"},
    "systemctl": {"--no-legend"}, "ps": {"-axu", "-efl"}, "zip": {"--version", "-rq", "-qr", "-rj", "-jr", "-r9", "-9r", "-ry", "-yr"}, "watch": {"--no-color"}, "find": {"-newermt"},
    "curl": {"--proto-redi", "--proto-red", "--proto-re", "--proto-r"}, "gzip": {"--to-stdout", "--uncompress"}, "zcat": {"-h"}, "pgrep": {"-q"},
}  # fmt: skip
# Options whose value their help gives in another way.
OTHERWISE = {("sort", "--check"), ("du", "--time"), ("file", "--parameter")}


# git's own short help leaves these values out, or asks for them only where they are attached.
GIT_OTHERWISE = {
    ("rev-list", "--branches"), ("rev-list", "--tags"), ("rev-list", "--remotes"), ("branch", "--merged"), ("branch", "--no-merged"), ("tag", "--merged"), ("tag", "--no-merged"),
    ("for-each-ref", "--merged"), ("for-each-ref", "--no-merged"), ("for-each-ref", "--contains"), ("for-each-ref", "--no-contains"), ("cat-file", "--path"), ("commit", "--fixup"),
    ("format-patch", "--rfc"),
}  # fmt: skip


def told(*command):
    """What *command* prints about itself."""
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=30, check=False, stdin=subprocess.DEVNULL
    )
    # Manuals print letters twice, and the help of coreutils 9.10 has links and colours in a pipe, too.
    return re.sub(r".\x08|\x1b\]8;;[^\x1b]*\x1b\\|\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


@cache
def help_of(program):
    """Its help and, where there are manuals, its manual."""
    text = told(program, "--help", "all") if program == "curl" else told(program, "--help")
    return text + (told("man", "-P", "cat", program) if shutil.which("man") else "")


def mentions(option, text):
    """What follows each mention of *option* in *text*: its value, or nothing."""
    return re.findall(rf"(?<![\w-]){re.escape(option)}(?![\w-])(\[?[ =]?[^\s,]*)", text)


def has_manual(program):
    return bool(shutil.which("man")) and len(told("man", "-P", "cat", program)) > 1000


@pytest.mark.parametrize("program", DOCUMENTED)
def test_every_option_of_a_table_is_one_of_the_program(program):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    if program in ("find", "less", "ps", "ssh", "zip", "find", "make", "file") and not has_manual(program):
        pytest.skip("its help is too short, and there is no manual")
    text, wrong = help_of(program), []
    for option, known in grammar_of(program).options.items():
        if not known.safe or option == "-#" or option in UNDOCUMENTED.get(program, ()) or option.startswith("-newer"):
            continue
        found = mentions(option, text)
        if not found:
            wrong.append((option, "is not mentioned"))
        elif option.startswith("--") and (program, option) not in OTHERWISE:
            wrong.extend(disagreement(option, known.arity, found))
    assert wrong == []


def disagreement(option, arity, found):
    """How the help's way of writing the value of *option* differs from its arity."""
    needed = any(value.startswith("=") for value in found)
    optional = any(value.startswith("[") for value in found)
    if needed and not optional and arity == 0:
        yield option, "takes a value"
    if optional and not needed and arity == 1:
        yield option, "takes a value only when it is attached"
    if arity == 1 and not needed and not optional and not any(re.match(r" [<\[\w.]", value) for value in found):
        yield option, "takes no value"


def git_subs():
    return [name for name, entry in (grammar_of("git").subs or {}).items() if entry.options]


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_values_of_gits_options_are_taken_as_git_takes_them():
    wrong = []
    for sub in git_subs():
        text = told("git", sub, "-h")
        for option, known in grammar_of("git").sub(sub).options.items():
            names = rf"--(?:\[no-\])?{re.escape(option[2:])}" if option.startswith("--") else re.escape(option)
            for value in re.findall(rf"(?m)^    (?:-\w, )?{names}(\[=?[<(]|[ =]?[<(]|$| )", text):
                takes = -1 if value[:1] == "[" else 1 if value[-1:] in ("<", "(") else 0
                if takes != known.arity and (sub, option) not in GIT_OTHERWISE:
                    wrong.append((sub, option, value, known.arity))
    assert wrong == []


PYTHON_TOOLS = {
    "mypy": ["mypy"],
    "ruff check": ["ruff", "check"],
    "ruff format": ["ruff", "format"],
    "pytest": ["pytest"],
    "pip install": ["pip", "install"],
    "pip list": ["pip", "list"],
    "pip show": ["pip", "show"],
}
NOT_HERE = re.compile(
    r"--(?:cov|no-cov|reruns|timeout|looponfail|forked|benchmark|snapshot|random|asyncio|hypothesis|maxprocesses|numprocesses|dist)|-[nfk]\Z"
)


# From 3.13 on argparse writes a value behind the last name of an option only.
ALIAS = re.compile(r"(--[\w-]+)(, --[\w-]+)([ =][<{A-Z]\S*)")


@pytest.mark.parametrize("tool", PYTHON_TOOLS)
def test_values_of_python_tools_are_taken_as_they_take_them(tool):
    command = PYTHON_TOOLS[tool]
    program = Path(sys.executable).parent / command[0]
    if not program.exists():
        pytest.skip(f"{command[0]} is not installed")
    text = told(str(program), *command[1:], "--help")
    while (further := ALIAS.sub(r"\1\3\2\3", text)) != text:
        text = further
    grammar = grammar_of(command[0])
    grammar = grammar.sub(command[1]) if len(command) > 1 else grammar
    wrong = []
    for option, known in grammar.options.items():
        found = mentions(option, text)
        if known.safe and option.startswith("--") and found and not NOT_HERE.match(option):
            valued = any(re.match(r"[ =]\[?[<{A-Zx]|=|\[", value) for value in found)
            if valued != (known.arity != 0):
                wrong.append((option, known.arity, found))
    assert wrong == []


def test_every_entry_of_the_tables_can_be_read():
    for name, entry in entries().items():
        assert entry.manual, name
        pending = [grammar_of(name)]
        while pending:
            grammar = pending.pop()
            assert grammar.entry.kind in ("reader", "builder", "network", "writer"), name
            for option, known in grammar.options.items():
                assert option[:1] in "-+" and known.arity in (-1, 0, 1, 2), (name, option)
            pending.extend(grammar.sub(sub) for sub in grammar.subs or ())


def test_no_option_is_both_safe_and_asked():
    wrong = []
    for name in entries():
        pending = [((name,), grammar_of(name))]
        while pending:
            path, grammar = pending.pop()
            safe, asks = (
                {re.split(r"[:?]", token)[0] for token in text.split()}
                for text in (grammar.entry.options, grammar.entry.asks)
            )
            wrong.extend((path, option) for option in safe & asks)
            pending.extend(((*path, sub), grammar.sub(sub)) for sub in grammar.subs or ())
    assert wrong == []


@pytest.mark.skipif(not all(map(shutil.which, ("git", "find", "sed", "awk", "sort"))), reason="needs the programs")
def test_what_a_wildcard_covers_changes_nothing_when_it_is_run(tmp_path):
    commands = (Argv(random.Random(f"1:{index}")).words() for index in range(2500))
    counts = Sandbox(tmp_path).fuzz(commands)
    assert counts.faults == []
    assert counts.covered > 500


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_what_a_wildcard_covers_changes_nothing_in_the_long_run(tmp_path):
    commands = (Argv(random.Random(f"2:{index}")).words() for index in range(100_000))
    assert Sandbox(tmp_path).fuzz(commands).faults == []

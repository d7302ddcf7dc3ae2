"""What the reader says will run is what a real bash runs: a PATH of stubs that record how they were called."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import shutil
import subprocess
import time

import pytest

from executor_permissions.judge.bash._shell import read
from executor_permissions.judge.bash._words import Unknown

PROGRAMS = ("alpha", "beta", "gamma", "delta")
BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash to compare with")


@pytest.fixture
def run_recorded(tmp_path):
    """Run a command with nothing on the PATH but recorders; gives the calls that were made."""
    bin_dir, work = tmp_path / "bin", tmp_path / "work"
    bin_dir.mkdir()
    work.mkdir()
    recorder = bin_dir / PROGRAMS[0]
    recorder.write_text('#!/bin/sh\nprintf \'%s\\0\' "${0##*/}" "$@" \'/end/\' >> "$RECORD"\n')
    recorder.chmod(0o755)
    for name in PROGRAMS[1:]:
        (bin_dir / name).symlink_to(recorder)

    def run(command):
        record = tmp_path / f"record-{time.monotonic_ns()}"
        environment = {"PATH": str(bin_dir), "HOME": str(work), "RECORD": str(record), "LC_ALL": "C.UTF-8"}
        subprocess.run(
            [BASH, "--norc", "--noprofile", "-c", command],
            env=environment, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False,
        )  # fmt: skip
        if not record.exists():
            return []
        calls, words = [], []
        for word in record.read_bytes().decode().split("\0")[:-1]:
            if word == "/end/":
                calls.append(words)
                words = []
            else:
                words.append(word)
        return calls

    run.home = str(work)
    return run


def explains(words, call):
    """Whether *call* is what a command with *words* becomes; a word that is not known may become any number of words."""
    for i, word in enumerate(words):
        if isinstance(word, Unknown):
            return len(words) >= 0 and call[:i] == words[:i]
    return words == call


def behind(command):
    words = command.words
    while words[:1] in (["time"], ["-p"]):
        words = words[1:]
    return words


@pytest.mark.parametrize("block", range(12))
def test_every_program_that_bash_runs_was_read(run_recorded, speaker, block):
    trusted = ran = 0
    for seed in range(block * 40, block * 40 + 40):
        command = speaker(seed, PROGRAMS).command()
        reading = read(command, run_recorded.home)
        if reading.hidden:
            continue
        trusted += 1
        commands = [behind(found) for found in reading.commands]
        for call in run_recorded(command):
            ran += 1
            assert any(explains(words, call) for words in commands), (command, call, commands)
    assert trusted > 15
    assert ran > 15


TRAPS = [
    "alpha # \\\nbeta",
    "alpha ${x:=$(beta)}",
    "alpha a\\\n b",
    "alpha > /dev/null -x beta",
    "> /dev/null alpha -x",
    "alpha <<E beta\nx\nE\n",
    "alpha <<E | beta\nx\nE\ngamma",
    "alpha <<E\nx\nE \nbeta\nE\n",
    "alpha <<-E\n\tx\n\tE\nbeta",
    "alpha <<E && beta\n$(gamma)\nE\ndelta",
    "alpha <<'E'\n`beta`\nE\ngamma",
    "alpha 2>&1 1>&2 beta",
    "alpha&beta",
    "alpha;beta",
    "alpha\n\n\nbeta\n",
    "alpha | while beta; do gamma; break; done",
    "alpha $((1+1)) beta",
    "alpha {1,2}",
    "alpha a{b",
    "alpha 'a'\"b\"c\\ d",
    "alpha $'a\\tb'",
    'alpha "a\\$b\\"c\\\\d\\e"',
    'alpha "a\nb"',
    "alpha ~ ~/x a~ =~",
    "alpha --x=~/y",
    "alpha a=~/x",
    "x=~/y alpha",
    "alpha *",
    "alpha '*' \\* \"*\"",
    "alpha #beta",
    "alpha a#beta",
    'alpha "#"; beta',
    "alpha '' \"\" a",
    "alpha -- -x",
    'al""pha x',
    "alp\\ha x",
    "'alpha' x",
    "function f { alpha; }; f",
    "f() { alpha; }; f",
    "alpha() { beta; }; alpha",
    "alpha >/dev/null 2>&1; beta",
    "alpha <<< 'a b' c",
    "{ alpha; } 2>/dev/null | beta",
    "(alpha) && (beta)",
    "if alpha; then beta; elif gamma; then delta; fi",
    "case a in a|b) alpha;& c) beta;; esac",
    "case a in a) alpha;;& *) beta;; esac",
    "for x in a b; do alpha $x; done",
    "for x in $(alpha); do beta; done",
    "for ((i=0;i<2;i++)); do alpha; done",
    "[ a = a ] && alpha",
    "[[ a == a ]] && alpha",
    'test -n "$(alpha)" || beta',
    "! alpha; beta",
    "alpha || { beta; gamma; }",
    "time alpha",
    "time -p alpha && beta",
    "coproc alpha",
    "eval alpha",
    "command alpha x",
    "exec alpha x",
    "trap alpha EXIT",
    "alpha $(beta $(gamma $(delta)))",
    'alpha "$(beta "$(gamma)")"',
    "alpha <(beta) >(gamma)",
    'x=$(alpha) y="$(beta)" gamma',
    "x=$(alpha)",
    "export x=$(alpha)",
    "alpha ${y:-$(beta)}",
    'alpha "${y:-$(beta)}"',
    "alpha [a] {} a]",
    "alpha !x",
    "alpha \\#x",
    "alpha\\ x",
    "alpha=1 beta",
    "alpha+=1 beta",
    "alpha[0]=1 beta",
    "2>/dev/null alpha",
    "alpha 2>/dev/null&",
    "alpha |& beta",
    "alpha\t\tbeta",
    "alpha;;beta",
    "alpha | | beta",
    "alpha &&",
    "alpha (beta)",
    "alpha\r\nbeta",
    "alpha\x0bbeta",
    "alpha\xa0beta",
    "`alpha`",
    "alpha `beta \\`gamma\\``",
    'alpha "`beta`"',
    "al\\\npha",
    "alpha x\\\ny",
    "$'alpha' x",
    "{alpha,beta}",
    'alpha $"x"',
    'alpha <<E"O"F\nx\nEOF\nbeta',
    "alpha <<A <<B\nx\nA\ny\nB\nbeta",
    "alpha <<\\E\n$(beta)\nE\ngamma",
    "alpha << E\n$(beta)\nE\ngamma",
    "alpha <<E\n\\$(beta)\nE\ngamma",
    "alpha <<E\n$(beta\nE\n)\nE\ngamma",
    "alpha <<E #x\n$(beta)\nE\ngamma",
    "alpha '<<E'\n$(beta)\nE\ngamma",
    'alpha "<<E"\n$(beta)\nE\n',
    "alpha $((1<<2))\nbeta",
    "alpha $(cat <<E\nx\nE\n)\nbeta",
    "alpha \"$(beta <<'E'\nx\nE\n)\"",
    "until alpha; do beta; break; done",
    "select x in a; do alpha; break; done <<< 1",
    "alpha $[1+1] beta",
    "alpha a$",
    "alpha $",
    'alpha "$"',
    "alpha @(a|b)",
    "shopt -s extglob\nalpha @(a|b)",
    "alpha a,b {a,}b",
    "let x=1; alpha",
    "declare -a x=(1 $(alpha)); beta",
    "unset x; alpha",
    "readonly z=1 && alpha",
    "while false; do :; done; alpha",
    "alpha & wait; beta",
    "(alpha; beta) | gamma",
    "alpha <&- >&-",
    "alpha 3>/dev/null",
    "alpha {fd}>/dev/null",
    "alpha >&2 x",
    "alpha &>/dev/null x",
    "if ! alpha; then :; else beta; fi",
    "alpha - <<E\nx\nE\nbeta",
    "alpha -F - <<'E'\n$(beta)\nE\n",
    "alpha - - <<E\nx\nE\n",
    "alpha - < /dev/null",
    "alpha - > /dev/null -",
    "alpha -<<E\nx\nE\n",
    "alpha - <<< x",
    "alpha - | beta -",
    "alpha then; beta fi",
    "alpha for x in y; do",
]


@pytest.mark.parametrize("command", TRAPS)
def test_traps_for_parsers_are_read_as_bash_reads_them_or_not_trusted(run_recorded, command):
    reading = read(command, run_recorded.home)
    calls = run_recorded(command)
    if reading.hidden:
        return
    commands = [behind(found) for found in reading.commands]
    commands += [words[1:] for words in commands if words[:1] in (["command"], ["exec"], ["eval"], ["coproc"])]
    commands += [words[1:2] for words in commands if words[:1] == ["trap"]]
    for call in calls:
        assert any(explains(words, call) for words in commands), (call, commands)

"""
Where a parser and bash have been seen to differ, each in a family of spellings: none of them is allowed.

Beside each family stands a usual command that looks alike, which is.
"""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from executor_permissions import Policy
from executor_permissions.judge.bash import _shell

EXAMPLE = Path(__file__).parents[3] / "permissions.example.json"


def every(template, **choices):
    """*template* with every combination of its choices; a list, because the boxes are tried with them too."""
    combinations = itertools.product(*choices.values())
    return [template.format(**dict(zip(choices, values, strict=True))) for values in combinations]


EVIL = ["$(touch canary)", "`touch canary`", "${{x:-$(touch canary)}}", "$( touch canary )", "$(\ntouch canary)"]
PROGRAMS = ["cat", "sort", "grep x", "git status"]
FAMILIES = {
    "a substitution in a here-document": [
        every("{program} <<{dash}E\n{before}{evil}\nE", program=PROGRAMS, dash=["", "-"], before=["", " ", "\t", "  \t", "a\n ", "\\\\"], evil=EVIL),
        every("ls && {program} <<E | wc -l\nx\n {evil}\nE\npwd", program=PROGRAMS, evil=EVIL),
        every("{program} <<E{more} <<F\nE\n {evil}\nF", program=PROGRAMS, more=["", "; cat"], evil=EVIL),
    ],
    "a test that is none": [
        every("[ x {blank}>{blank}f{end}", blank=["", " ", "\t"], end=[" ]", "", " -a y ]"]),
        every("[ x {operator} f ]", operator=[">", ">>", ">|", "&>", "2>", "<>", "| ./evil", "; ./evil;", "& ./evil", "|| touch"]),
        every("[ {word} ]{glued}{joint}touch canary", word=["a", "'a b'", "-f a", "a = b", '"$x"'], glued=["#", "x", "2", "''", "}", "#x"], joint=[";", "&", "|", "&&", "\n", "||"]),
    ],
    "a descriptor that is a word": [
        every("{command}{digit}{operator}", command=["sort data.txt -ocanary", "make test -fevil", "sed -i", "find . -delete -maxdepth ", "uniq data.txt out", "sort -o"], digit=["1", "2", "10"], operator=[">&1", ">&2", ">&-", "<&-", ">/dev/null", "</dev/null", "&>/dev/null"]),
        every("cat {{fd}}{operator} -", operator=[">f", ">&1", "<&0", "<a"]),
    ],
    "a redirection that takes no target": [
        every("uniq data.txt {operator}{word}", operator=["<&-", ">&-", "2>&-", "2>&1-", "<&0"], word=["2", "out", "-o", "'f'", '"f"', "$x", "{a,b}"]),
        every("find a.txt {operator}{word}", operator=["2>&-", "<&-", ">&-", "2>&1"], word=["-delete", "-exec", "-fprint f", "'-delete'"]),
    ],
    "a parameter that is empty": [
        every("{command}{parameter}{rest}", command=["find a.txt -delete", "git push --force", "sort -o", "cat .env", "sed -i"], parameter=["$!", "${{!}}", "$-", "$@", "$*", "$1", "$_", "$0", "$9"], rest=["", "x", "''"]),
        every("find a.txt -del{parameter}ete", parameter=["$!", "$@", "$*", "$1", "${{x}}", "${{x:+y}}", "$(true)", "``", "`true`"]),
    ],
    "a here-document in a substitution with more than it": [
        every("for i in {quote}$({open}cat <<{word}\nx\nE\n{first}; {second}{close}){quote}; do ls; done", quote=["", '"'], open=["", "{{ ", "( "], word=["'E'", "E", "\\E"], first=["find a.txt", "ls", "true"], second=["ls -delete", "-delete", "cat"], close=["", "; }}", ")"]),
        every("cd $(cat <<E && pwd\nE\n{first}); ls", first=["find a.txt; ls -delete", "ls", "pwd & ls"]),
    ],
    "a comment that is none, and the other way round": [
        every("ls {word}#{joint}touch canary", word=["a", "''", "$HOME", '"a"', "\\ "], joint=[";", "&", "|", "\n"]),
        every("ls #{text}\\\ntouch canary", text=["", " ", "'", '"', "x"]),
    ],
    "a word that is read on": [
        every("ls a'c'\\ {word}\ntouch canary", word=["d", "-x"]),
        every("a[{inner}]=1 ls", inner=[" ;touch canary ", "$(touch canary)", "0"]),
        every("ls {open}touch canary{close}", open=["$((", "$[", "${{", "<(", ">(", "@(", "a=("], close=[")", "))", "]", "}}"]),
    ],
}  # fmt: skip
USUAL = {
    "a substitution in a here-document": [
        "cat <<E\nx\nE",
        "cat <<'E'\n $(touch canary)\nE",
        "cat <<E | wc -l\nx\nE\npwd",
    ],
    "a test that is none": ["[ x = f ]", "[ -f a ] && ls", "[ a ] #;touch canary"],
    "a descriptor that is a word": ["sort data.txt 2>&1", "make test 2>&1", "cat a.txt 2>/dev/null"],
    "a redirection that takes no target": ["uniq data.txt <&-", "find a.txt 2>&1 -name b", "find a.txt 2>&-"],
    "a parameter that is empty": ["echo $?", "ls"],
    "a here-document in a substitution with more than it": ["for i in $(cat <<'E'\nx\nE\n); do ls; done"],
    "a comment that is none, and the other way round": ["ls a#b", "ls #x\npwd"],
    "a word that is read on": ["ls a'c'd\\ e", "echo a[1]=2"],
}


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    return Policy.from_dict(json.loads(EXAMPLE.read_text()), project_root=root, home=root)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_spelling_of_a_misreading_is_allowed(policy, family):
    spellings = [text for group in FAMILIES[family] for text in group]
    allowed = [text for text in spellings if policy.decide("runCommand", {"command": text}).verdict == "allow"]
    assert allowed == []
    assert len(spellings) >= 15


@pytest.mark.parametrize("family", FAMILIES)
def test_what_looks_alike_and_is_usual_is_allowed(policy, family):
    verdicts = {text: policy.decide("runCommand", {"command": text}).verdict for text in USUAL[family]}
    assert set(verdicts.values()) == {"allow"}, verdicts


DASHED = [
    frame.format(inner)
    for frame in ("{}", 'echo "$({})"', "for i in $({}); do pwd; done", "x=$({})", "cd `{}`", "({})", 'a "$(b "$({})")"')
    for inner in every("{program} >&{blank}{word}", program=PROGRAMS, blank=[" ", "\t", "  "], word=["-1", "--delete", "-ofile", "'-x'", '"-x"', "\\-x", "-x y"])
]  # fmt: skip


def test_bash_reads_what_it_has_printed_so_that_a_dash_is_no_file():
    """``>& --delete`` is printed as ``>&--delete``, and read again as ``>&-`` and the word ``-delete``."""
    assert [text for text in DASHED if _shell.read(text, "/home").script is not None] == []
    policy = Policy.from_dict(
        {"whitelist": {"patterns": ["find *", "echo *"], "arguments": {"writeFile": {"path": ["${project}/"]}}}},
        project_root="/project",
    )
    assert policy.decide("runCommand", {"command": 'echo "$(find a.txt >& --delete)"'}).verdict == "ask"
    assert policy.decide("runCommand", {"command": 'echo "$(find a.txt >& delete)"'}).verdict == "allow"

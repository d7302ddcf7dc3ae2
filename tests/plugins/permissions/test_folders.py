"""Where commands run, and what their variables hold: what the walk says is held against a real bash."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import random
import shutil
import subprocess
from contextlib import suppress

import pytest

from executor_permissions.judge.bash._expand import ANYWHERE, _one_for_all
from executor_permissions.judge.bash._moves import Surroundings, _bare
from executor_permissions.judge.bash._split_words import NotUnderstoodError
from executor_permissions.judge.bash._understand import understand
from executor_permissions.judge.bash._walk import walk
from executor_permissions.judge.bash._words import Glob, Number, PublicWord, PublicWords, Unknown
from executor_permissions.judge.paths._links import Links

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash to compare with")
SCRIPTS = 500  # in five blocks: about ten seconds


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Folders with links in and out; gives the one to start in."""
    top = tmp_path_factory.mktemp("folders").resolve()
    for name in ("proj/src/sub", "proj/docs", "out/deep", "home"):
        (top / name).mkdir(parents=True)
    links = {
        "proj/link": top / "out/deep",
        "proj/src/up": top / "proj",
        "proj/in": top / "proj/src/sub",
        "proj/self": ".",
    }
    for name, target in links.items():
        (top / name).symlink_to(target)
    return top / "proj"


class Script:
    """Makes scripts in which folders and variables change, and numbered commands tell what they find."""

    def __init__(self, seed: int, root: str) -> None:
        self.pick = random.Random(seed)
        self.root = root
        self.count = 0

    def told(self) -> str:
        self.count += 1
        words = ["$PWD", '"$PWD"', "$v", '"$v"', '"x$w"', "$w$v", "y", "$v/z", '"$(pwd)"', "~", '"$HOME"', "$i", '"$i"']
        return " ".join(
            ["echo", f"{self.count}:", '"$PWD"', *self.pick.choices(words, k=self.pick.randrange(3)), ">&2"]
        )

    def place(self) -> str:
        return self.pick.choice(
            ["src", "src/sub", "..", "../..", "link", "link/..", "in", "in/..", "in/../..", "src/up", "src/up/docs", "self",
             "missing", "missing/..", ".", "./src", "docs", "-", "~", "$v", '"$w"', '"$PWD/src"', "$(pwd)/docs", self.root,
             f"{self.root}/src", "/", "-P link", "-L in", "-P in/..", "-- src", "-x", "''", "a b", "", "$i"]
        )  # fmt: skip

    def move(self) -> str:
        return (
            self.pick.choice(["cd", "cd", "cd", "cd", "command cd", "builtin cd", "pushd", "time cd", "! cd", "\\cd"])
            + " "
            + self.place()
        )

    def change(self) -> str:
        return self.pick.choice(
            ["v=src", "v=..", "w=docs", "w='a b'", 'v="$w"', "v=", "w=$v$v", "v=$(pwd)", "unset v", "export w=src", "read v <<< sub",
             "popd", "v=sub w=..", "v=x cd src", "HOME=$PWD", "v='s*'", "v=$i", "read -r w v <<< 'src docs'", "IFS=/", "v=a/b", "v=~"]
        )  # fmt: skip

    def script(self, depth: int | None = None) -> str:
        pick = self.pick
        depth = pick.randrange(1, 5) if depth is None else depth
        if depth <= 0:
            return pick.choice([self.told, self.told, self.move, self.change])()
        one, two = self.script(depth - 1), self.script(depth - pick.randrange(1, 3))
        place = self.move()
        return pick.choice(
            [
                f"{one}; {two}", f"{one}\n{two}", f"{place} && {one}; {two}", f"{place} || {one}\n{two}", f"{one} && {two}",
                f"( {one} ); {two}", f"{{ {one}; }}; {two}", f"{place} && {{ {one}; }} || {two}", f"{one} | {two}",
                f"if {place}; then {one}; else {two}; fi", f"if {place}; then {one}; elif {self.move()}; then {two}; fi; {self.told()}",
                f"for i in 1 src ..; do {one}; {two}; done; {self.told()}", f"for i in a; do {place} && break; {one}; done; {two}",
                f"for i in 1 2 3; do {place}; {self.told()}; done; {one}", f"for i in $v $w; do {one}; done\n{two}",
                f"while {place}; do {one}; break; done; {two}", f"until {place}; do {one}; break; done; {two}",
                f"for i in 1 2; do {one}; continue; {two}; done", f"case $v in src) {one};; *) {place};; esac; {two}",
                f"case a in a) {one};& b) {place};; esac; {two}", f"{place} || exit 1; {one}", f"{one} &\nwait; {two}",
                f"( {place} || exit; {one} ); {two}", f"! {place}; {one}", f"x=$( {one} ); {two}", f"{place} | {self.told()}; {two}",
                f"{place} > /dev/null && {one}", f"{place}; {self.change()}; {one}; {two}",
            ]
        )  # fmt: skip


def fits(step, line):
    """Whether *line* is what echo prints of the step's words; a word that is not known may be any."""
    at = 0
    for word in step.command.words[1:]:
        if isinstance(word, Unknown):
            return True
        if not line.startswith(word, at):
            return False
        at += len(word) + 1
    return at == len(line) + 1


def told_by(text, tree):
    """What the numbered commands of *text* told in a bash that was started in *tree*."""
    done = subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", text],
        env={"HOME": str(tree.parent / "home"), "PATH": "/nowhere", "LC_ALL": "C.UTF-8", "i": "*"},
        cwd=tree, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False,
    )  # fmt: skip
    return [line for line in done.stderr.decode().splitlines() if line.partition(": ")[0].isdigit()]


@pytest.mark.parametrize("block", range(5))
def test_every_command_runs_in_a_folder_and_with_words_that_the_walk_named(tree, block):
    ran = known = 0
    wrong = []
    for seed in range(block * SCRIPTS // 5, (block + 1) * SCRIPTS // 5):
        text = Script(seed, str(tree)).script()
        with suppress(NotUnderstoodError):
            around = Surroundings(str(tree.parent / "home"))
            steps = walk(understand(text), text, around, Links(str(tree)), frozenset({str(tree)})).steps
            for line in told_by(text, tree):
                ran += 1
                number, folder = line.split(" ")[:2]
                said = [step for step in steps if step.command.words[1:2] == [number] and fits(step, line)]
                known += any(ANYWHERE not in step.folders for step in said)
                if not any(folder in step.folders or ANYWHERE in step.folders for step in said):
                    wrong.append((seed, text, line, said))
    assert not wrong
    assert ran > SCRIPTS // 5
    assert known > SCRIPTS // 10


@pytest.mark.parametrize(
    ("words", "inside"),
    [
        ("cd x", "cd x"), ("command cd x", "cd x"), ("builtin cd x", "cd x"), ("command -p cd x", "cd x"),
        ("command -- cd x", "cd x"), ("builtin -- cd x", "cd x"), ("command builtin command cd x", "cd x"),
        ("command -p -p cd x", "cd x"), ("command -p -- cd x", "cd x"), ("command -v cd", ""), ("command -V cd", ""),
        ("builtin -p cd", ""), ("command", "command"), ("builtin", "builtin"),
    ],
)  # fmt: skip
def test_the_builtin_behind_command_and_builtin_is_found(words, inside):
    assert _bare(words.split()) == inside.split()


@pytest.mark.parametrize(
    ("forms", "merged"),
    [
        ([["a"], ["b"]], PublicWord),
        ([["a"], [PublicWord("x")]], PublicWord),
        ([["a"], [Number("1")]], PublicWord),
        ([["a"], ["b", "c"]], PublicWords),
        ([["a"], []], PublicWords),
        ([["a"], [Glob("*")]], PublicWords),
        ([["a"], [PublicWords("x")]], PublicWords),
        ([["a"], ["b", Unknown("x")]], Unknown),
    ],
)
def test_what_stands_for_several_forms_of_a_word_says_no_more_than_they_do(forms, merged):
    (word,) = _one_for_all(forms)
    assert word == merged("…")


@pytest.mark.parametrize(
    ("before", "goes"),
    [("", "src"), ("X=1 ", "src"), ("CDPATH=/x ", None), ("HOME=/x ", None), ("CDPATH=/x; ", None), ("Y=1; ", "src")],
)
def test_where_cd_leads_is_not_known_with_variables_that_it_reads(tree, before, goes):
    text = f"{before}cd src && ls"
    walked = walk(understand(text), text, Surroundings("/home/me"), Links(), frozenset({str(tree)}))
    folders = walked.steps[-1].folders
    assert folders == frozenset({f"{tree}/{goes}"}) if goes else ANYWHERE in folders

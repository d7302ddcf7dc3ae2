"""What the starter policy lets readers do without a question is done: no secret is shown, nothing written or run."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from importlib.resources import files

import pytest

from executor_permissions import Policy
from executor_permissions.judge.options._tables import grammar_of
from executor_permissions.judge.rules._scene import CallInfo
from tests.plugins.permissions.optionfuzz.argv import known_options

STARTER = json.loads(files("executor_permissions").joinpath("starter.json").read_text())
SLOW = frozenset({"sleep", "man", "apropos", "whatis", "lsof", "ps", "ss", "journalctl", "pgrep", "type", "cd"})
SECRET = "7f3a9-secret"
STUBS = ("evil", "pager", "less", "vi", "sensible-pager", "ssh", "x")


def readers():
    """The programs of which the starter policy allows whatever their table calls safe, and that are installed."""
    for pattern in STARTER["whitelist"]["patterns"]:
        program, _, further = pattern.partition(" ")
        grammar = grammar_of(program)
        reads = grammar is not None and grammar.entry.kind == "reader"
        if reads and further == "*" and program not in SLOW and shutil.which(program):
            yield program


class Lines(random.Random):
    """Command lines of readers: alone, behind others that list or make words, and in loops over names."""

    PROGRAMS = tuple(readers())
    OPERANDS = (
        *("a.txt", "src", ".", "./", "src/..", "*", "*.txt", "?*", "./*", "src/*", "[a-z]*", "list", "-", "--", "1"),
        *("../home", "~", ".e*", "*/..", "$PWD", '"$PWD"', "../*", "a.gz"),
    )
    VALUES = (
        "1",
        "x",
        "a.txt",
        "list",
        ".",
        "src",
        "*",
        "recurse",
        "read",
        "src/..",
        "all",
        "%s",
        "never",
        "skip",
        "=.",
    )
    MAKERS = (
        *("find . -type f", "find . -name '*.txt'", "find .", "ls", "ls src", "ls *.txt", "git ls-files", "rg --files"),
        *("cat list", "echo x.nv", "echo LS1maWxlczAtZnJvbT0uZW52 | base64 -d", "printf '%s\\n' --files0-from=.en%v"),
        *(
            "echo LWYuZW52 | base64 -d",
            "find . -printf '%P\\n'",
            "grep -l . *",
            "echo vne.=morf-0selif-- | rev",
            "seq 3",
        ),
        *("{ cat list; find .; }", "(tac list; ls)", "find . -name a.txt && cat list"),
    )
    FILTERS = (
        *(
            "head -5",
            "sort",
            "grep -v y",
            "tr -d '%'",
            "sed 's/x./--files0-from=.e/'",
            "sed 's/x./-f.e/'",
            "tail -c 30",
        ),
        *(
            "grep -o -- '-.*'",
            "cut -c 3-",
            "sed 's/x./-R/'",
            "xargs -n1",
            "xargs basename",
            "rev",
            "uniq",
            "cut -d= -f2-",
        ),
    )
    FINDS = ("find .", "find src", "find -L .", "find . src", "find ..", "find src/..", "find ~")
    TESTS = (
        *("-type f", "-type f", "-type f", "-name '*.txt'", "-name '*.txt'", "-name 'a*'", "-name '*'", "-name '.e*'"),
        *("! -name .env", "-not -path './src/*'", "-type l", "-xtype f", "-o -name .env", "-size -9", "-newer a.txt"),
        *("-maxdepth 1", "! -type d", "-name '*nv'", "-follow", "-name -type", "-path '*e*'"),
    )
    XARGS = ("", "-0", "-n1", "-r", "-n 1", "-I{}", "-d '\\n'")

    def option(self, program):
        grammar = grammar_of(program)
        safe = [name for name, one in grammar.options.items() if one.safe]
        known = known_options(program)
        name = self.choice(safe if not known or (safe and self.random() < 0.8) else known)
        value = self.choice(self.VALUES)
        form = self.random()
        if name in grammar.options and grammar.options[name].arity == 0 and form < 0.9:
            return name
        return f"{name} {value}" if form < 0.4 else f"{name}={value}" if name[:2] == "--" else f"{name}{value}"

    def reader(self):
        program = (
            self.choice(self.PROGRAMS) if self.random() < 0.7 else self.choice(("wc", "du", "grep", "zgrep", "diff"))
        )
        program = program if program in self.PROGRAMS else "wc"
        words = [program, *(self.option(program) for _ in range(self.choice((0, 0, 1, 1, 2))))]
        if program in ("grep", "zgrep", "rg", "sed", "awk", "jq"):
            words.append(self.choice(("KEY", ".", "p", "secret")))
        return " ".join(words)

    def line(self):
        reader, form = self.reader(), self.random()
        if form < 0.5:
            return " ".join([reader, *self.choices(self.OPERANDS, k=self.choice((0, 1, 1, 2)))])
        if form < 0.6:
            names, name = self.choice(self.OPERANDS), self.choice(("$f", '"$f"'))
            return f"for f in {names}; do {reader} {name}; done"
        if form < 0.65:
            return f"{reader} $({self.choice(self.MAKERS)})"
        if form < 0.8:
            return self.finds(reader)
        filters = self.choices(self.FILTERS, k=self.choice((0, 0, 1, 1, 2)))
        xargs = self.choice(self.XARGS)
        told = " {}" if xargs == "-I{}" else ""
        return " | ".join([self.choice(self.MAKERS), *filters, f"xargs {xargs} {reader}{told}"])

    def finds(self, reader):
        """What find finds is given to a reader, name by name."""
        if self.random() < 0.6:
            shown = (
                "cat",
                "head -n 3",
                "tail -n 2",
                "nl",
                "grep -n .",
                "grep -e",
                "sed -n p",
                "sed",
                "tac",
                "cat b.txt",
            )
            reader = self.choice(shown)
        tests = self.choices(self.TESTS, k=self.choice((0, 0, 1, 2, 3)))
        tests += ["-type f", self.choice(("-name '*.txt'", "-name '[al]*'"))] if self.random() < 0.8 else []
        find = " ".join([self.choice(self.FINDS), *self.sample(tests, k=len(tests))])
        if self.random() < 0.5:
            return f"{find} -exec {reader} {{}} {self.choice(('+', '+', chr(92) + ';'))}"
        prints = self.choice(("-print0", "-print0", "-print0", "-print0 -print0", "-print", "-printf '%f\\0'"))
        between = self.choice(("", "", "", " | sort -z", " | head -c 9", " | tail -c 5"))
        return f"{find} {prints}{between} | xargs {self.choice(('-0', '-0', '-0r', '-0 -n1', '', '-0 -n 2'))} {reader}"


class Laboratory:
    """A project with a secret in it, beside a home with another, and programs that note that they were run."""

    def __init__(self, folder):
        self.project, self.home, self.stubs = folder / "project", folder / "home", folder / "bin"
        self.ran = folder / "ran"
        for path in (self.project / "src", self.home / ".ssh", self.stubs):
            path.mkdir(parents=True)
        (self.home / ".ssh/id_rsa").write_text(f"{SECRET}\n")
        for name, text in {
            ".env": f"KEY={SECRET}",
            ".gitignore": ".env",
            "a.txt": "a 1\nx.nv",
            "b.txt": "b",
            "src/m.py": "x = 1",
            "list": "a.txt\n--files0-from=.env\n-f.env\n-R",
        }.items():
            (self.project / name).write_text(f"{text}\n")
        for name in STUBS:
            (self.stubs / name).write_text(f"#!/bin/sh\n: > {self.ran}\n")
            (self.stubs / name).chmod(0o755)
        path = f"{self.stubs}{os.pathsep}{os.environ['PATH']}"
        self.environment = {"PATH": path, "HOME": str(self.home), "LC_ALL": "C.UTF-8", "TOKEN": SECRET}
        for words in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", *words], cwd=self.project, env=self.environment, check=True)
        rules = {key: value for key, value in STARTER.items() if key != "tests"}
        self.policy = Policy.from_dict(rules, project_root=self.project, home=self.home)
        self.before = self.seen()

    def seen(self):
        """Every file outside of .git, with what tells that it was written."""
        found = set()
        for top in (self.project, self.home):
            for folder, folders, names in os.walk(top):
                folders[:] = [name for name in folders if name != ".git"]
                found |= {(path, os.lstat(path).st_mtime_ns) for path in (os.path.join(folder, name) for name in names)}
        return found

    def allows(self, line):
        return self.policy.decide("runCommand", {"command": line}, CallInfo(str(self.project))).verdict == "allow"

    def harm(self, line):
        """What running *line* did that no rule allows."""
        try:
            done = subprocess.run(
                ["bash", "-c", line], cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=10, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:  # a loop without end is no harm of this kind
            return []
        found = ["showed a secret"] if SECRET.encode() in done.stdout + done.stderr else []
        if self.ran.exists():
            self.ran.unlink()
            found.append("ran a program")
        if self.seen() != self.before:
            self.before = self.seen()
            found.append("changed files")
        return found


def check(folder, seed, count, odd_name):
    laboratory, lines, wrong = Laboratory(folder), Lines(seed), []
    links = {"k.txt": laboratory.home / ".ssh/id_rsa", "src/a.txt": "../.env", "src/l.py": "../.env"}
    for name, target in links.items():
        (laboratory.project / name).symlink_to(target)
    if odd_name:
        (laboratory.project / odd_name).touch()
    laboratory.before = laboratory.seen()
    while count:
        line = lines.line()
        if laboratory.allows(line):
            count -= 1
            harm = laboratory.harm(line)
            wrong += [(line, harm)] if harm else []
    assert wrong == []


NAMES = ("", "--files0-from=.env", "-f.env", "-R")  # of a file that is in the project, too
needs_programs = pytest.mark.skipif(
    not all(map(shutil.which, ("bash", "git", "find", "wc", "zgrep"))), reason="needs GNU's programs"
)


@pytest.mark.parametrize(
    ("line", "odd_name"),
    [
        ("zgrep --dereference-recursive KEY .", ""),
        ("zgrep -drecurse KEY src/..", ""),
        ("zgrep -v -R x 1", ""),
        ("grep -R secret ../*", ""),
        ("cd src && grep -r KEY .*", ""),
        ("cd src && grep -r KEY ..*", ""),
        ('for f in ../*; do grep -R secret "$f"; done', ""),
        ("grep -r secret ../[h]*", ""),
        ("echo LS1maWxlczAtZnJvbT0uZW52 | base64 -d | xargs wc -l", ""),
        ("cat list | xargs -n1 du -k", ""),
        ("find . | xargs wc -l; tac list | xargs wc -l", ""),
        ("{ cat list; find .; } | xargs -n1 wc -l", ""),
        ("find . -printf '%P\\n' | xargs wc -l", ""),
        ("find . -name list | tail -c 5 | xargs wc", ""),
        ("find . | xargs basename | xargs wc", ""),
        ("xargs wc -l < list", ""),
        ("find . | grep -H --label='--files0-from=.e\"n\"v x' . | xargs wc", ""),
        ("find . | grep -r . | xargs wc", ""),
        ("rg -l --json x | xargs -n1 wc", ""),
        ("git ls-files --format='--files0-from=.e%(x)' | xargs wc", ""),
        ("ls | xargs -n1 wc -l", "--files0-from=.env"),
        ("rg --files | head -5 | xargs du", "--files0-from=.env"),
        ('for f in *; do wc -l "$f"; done', "--files0-from=.env"),
        ("wc -l *", "--files0-from=.env"),
        ('for f in *; do grep KEY "$f"; done', "-R"),
        ("hexdump -C *", "-f.env"),
    ],
)
def test_what_was_allowed_once_and_shows_a_secret_is_asked_about(tmp_path, line, odd_name):
    laboratory = Laboratory(tmp_path)
    if odd_name:
        (laboratory.project / odd_name).touch()
    assert not laboratory.allows(line)


@pytest.mark.parametrize(
    "line",
    [
        *("find . -name '*.py' | xargs wc -l", "find . -print0 | xargs -0 wc -l | tail -1", "ls *.py | xargs wc -l"),
        *(
            "git ls-files | grep -v x | xargs wc -l",
            "rg --files | xargs du",
            "grep -rl --include=*.py x src | xargs wc -l",
        ),
        *("cat list | xargs wc -l --", "echo lines; find src | xargs wc -l", "cd src && find . | sort | xargs wc -c"),
        *(
            "wc -l *",
            "du -sh *",
            "grep -n x *",
            "grep -rn x *",
            "grep -rn x src/*",
            'for f in *.py; do wc -l "$f"; done',
            "zgrep x a.gz",
        ),
    ],
)
def test_names_that_cannot_be_options_are_counted_without_a_question(tmp_path, line):
    assert Laboratory(tmp_path).allows(line)


@needs_programs
@pytest.mark.parametrize("odd_name", ["", "-R"])
def test_what_readers_may_do_unasked_shows_no_secret_and_changes_nothing(tmp_path, odd_name):
    check(tmp_path, 3, 160, odd_name)  # in which there is what was allowed once


@pytest.mark.long
@pytest.mark.timeout(7200)
@needs_programs
@pytest.mark.parametrize("odd_name", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_what_readers_may_do_unasked_in_the_long_run(tmp_path, odd_name, seed):
    check(tmp_path, seed, 5_000, odd_name)

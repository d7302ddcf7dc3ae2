"""Programs of sed and awk that are taken for harmless are given to the real ones: they run, read and write nothing."""

from __future__ import annotations

import os
import random
import shutil
import subprocess

import pytest

from executor_permissions.judge.options._awk import is_safe_awk
from executor_permissions.judge.options._sed import is_safe_sed

SED = shutil.which("sed")
AWKS = [[name] for name in ("gawk", "mawk", "original-awk") if shutil.which(name)]
AWKS += [["busybox", "awk"]] if shutil.which("busybox") else []
AWKS += [["gawk", "--posix"]] if shutil.which("gawk") else []


def is_gnu_sed():
    if SED is None:
        return False
    return "GNU sed" in subprocess.run([SED, "--version"], capture_output=True, text=True, check=False).stdout


class Scripts(random.Random):
    """Scripts of sed, of which many are harmless, and some look so."""

    PIECES = (
        *"axew/;}{ \n^$&#spy12gwIM|,!*[]%~+0\t\r\x0b\u00a0é",
        *("\\", "\\/", "\\n", "\\]", "\\[", "\\(", "\\)", "\\cx", "\\d065", "\\o57", "\\x2f", "\\x5d", "\\\n"),
        *(
            "[^]",
            "[]",
            "[a]",
            "[^]/]",
            "[]/]",
            "[[:alpha:]]",
            "[[:alpha:]/]",
            "[[.",
            "[[=a=]]",
            "[\\]",
            "[/]",
            "[;]",
            "w f",
        ),
        *("\\{1,2\\}", "]/s", "/e;", "/;e\n", "[^]/", "[]["),
    )
    DELIMITERS = "/|,;#:@%!x e\\\nasw&"
    COMMANDS = (
        *"pdDgGhHnNPxzFlQqbtTe={}Lmv",
        *(
            "l 5",
            "q5",
            "b a",
            ":a",
            "a x",
            "a\\\nx",
            "i\\x",
            "c x",
            "{p}",
            "e id",
            "w f",
            "r f",
            "R f",
            "W f",
            "#n",
            "# c",
        ),
    )
    ADDRESSES = (
        *(
            "",
            "1",
            "$",
            "1,3",
            "0~2",
            "/x/",
            "/x/I",
            "\\,x,",
            "1,/e/",
            "/a/,/b/",
            "1,+2",
            "1,~4",
            "0,/x/",
            "1!",
            "/[^]/]/",
        ),
        *("\\ax/e\\a", "\\x\\xx"),
    )

    def pieces(self):
        return "".join(self.piece() for _ in range(self.randint(0, 5)))

    def piece(self):
        if self.random() < 0.7:
            return self.choice(self.PIECES)
        inner = "".join(self.choice("a/;e\\\\[[:.") for _ in range(self.randint(0, 4)))
        return f"[{self.choice(['', '^'])}{self.choice(['', ']'])}{inner}]"

    def delimiter(self):
        return self.choice(self.DELIMITERS) if self.random() < 0.3 else "/"

    def address(self):
        if self.random() < 0.5:
            return self.choice(self.ADDRESSES)
        mark = self.delimiter()
        return f"{'' if mark == '/' else chr(92)}{mark}{self.pieces()}{mark}{self.choice(['', 'I', 'M', '!', ' '])}"

    def command(self):
        mark, kind = self.delimiter(), self.random()
        if kind < 0.2:  # which of the slashes end something is told by the brackets
            tails = ("".join(self.choice("];;#eep$\\&\n") for _ in range(self.randint(0, 4))) for _ in range(3))
            return f"{self.choice(['s', '', '!'])}/{self.piece()}{self.piece()}/{'/'.join(tails)}"
        if kind < 0.45:
            flags = "".join(
                self.choice(["", "g", "p", "I", "m", "3", "e", "w f", " "]) for _ in range(self.randint(0, 2))
            )
            return f"s{mark}{self.pieces()}{mark}{self.pieces()}{mark}{flags}"
        return f"y{mark}{self.pieces()}{mark}{self.pieces()}{mark}" if kind < 0.55 else self.choice(self.COMMANDS)

    def script(self):
        parts = []
        for _ in range(self.randint(1, 4)):
            parts += [self.address() if self.random() < 0.5 else "", self.command(), self.choice(";;;\n} ")]
        script = "".join(parts)
        if self.random() < 0.3:
            at = self.randrange(len(script))
            script = script[:at] + self.choice(self.PIECES) + script[at + self.randint(0, 1) :]
        return script


class Programs(random.Random):
    """Programs of awk, of which many are harmless, and some look so. What they run or write is named in `NAMES`."""

    NAMES = "xewafg"
    TEXTS = ('"x"', '"e"', '"w"', '"a\\"x"', '"\\\\"', '"x\\/e"', '"/dev/stderr"', '"/dev/stdout"', '""', '"\\""')
    EXPRESSIONS = (
        *("/x/", "/[/]/", "/[^]/]/", "/a\\/b/", "/[]/]x/", "/x|e/", "/=x/", "/[[:alpha:]/]/", "/\\//", "/[\\]/]/"),
        *("/[\\/]/", "/a[/", "/]/", '/"/', '/["]/', "/#/"),
    )
    VALUES = (
        *(
            "1",
            "x",
            "$1",
            "NR",
            "a[1]",
            "x++",
            "++x",
            "--x",
            "(x)",
            "length",
            "length($0)",
            "-1",
            "!x",
            "$NF",
            "x/2",
            "x / 2 /1",
        ),
        *("1/x/1", "$1/2", "a[1]/2/1", "f(x)", "substr($0,1)", "(1)/2", "x--/2/1", *TEXTS, *EXPRESSIONS),
    )
    OPERATORS = (*"+-*/%<>~=, |", "==", "&&", "||", "?1:", "/=", " in ", "|&", ">>")
    STATEMENTS = (
        *("if (%) %", "while (% && n++<2) %", "for (i=0;i<2;i++) %", "do % while (0)", "{ % }", "if (%) %; else %"),
        *(
            "print %",
            "print % > %",
            "print % >%",
            "printf(%)",
            "printf % > %",
            "print % | %",
            "print(%) > %",
            "x=%",
            "x /= %",
        ),
        *(
            "next",
            "exit",
            "getline",
            "delete a",
            "close(x)",
            "fflush()",
            "system(%)",
            "getline x < %",
            "% | getline",
            "%",
        ),
    )

    def value(self, depth=0):
        kind = self.random()
        if kind < 0.55 or depth > 2:
            return self.choice(self.VALUES)
        if kind < 0.85:
            return (
                f"{self.value(depth + 1)}{self.choice(['', ' '])}{self.choice(self.OPERATORS)}{self.value(depth + 1)}"
            )
        return f"{self.choice(['', 'length', 'sub', '!', '-', 'print'])}({self.value(depth + 1)})"

    def statement(self):
        parts = self.choice(self.STATEMENTS).split("%")
        return "".join(part + self.value() for part in parts[:-1]) + parts[-1]

    def script(self):
        rules = []
        for _ in range(self.randint(1, 3)):
            pattern = self.choice(["", "", "BEGIN", "END", "NR", "x<1", self.value(), "/a/,/b/", "function f(x)"])
            body = self.choice([";", "\n", "; "]).join(self.statement() for _ in range(self.randint(1, 3)))
            rules.append(f"{pattern}{self.choice(['', ' '])}{{{body}}}")
        program = self.choice([" ", "\n", ";"]).join(rules)
        if self.random() < 0.3:
            at = self.randrange(len(program))
            program = program[:at] + self.choice('/"\\\n >|#()[]{}x;=$~') + program[at + self.randint(0, 1) :]
        return program


def safe(made, is_safe, count):
    """*count* programs that are taken for harmless."""
    while count:
        program = made.script()
        if is_safe(program):
            count -= 1
            yield program


def check_sed(seed, count, *locales):
    wrong, understood = [], 0
    for script in safe(Scripts(seed), is_safe_sed, count):
        for locale in locales:
            command = [SED, "--sandbox", "-n", "-e", script, os.devnull]  # refuses what would run, read or write
            done = subprocess.run(command, env={"LC_ALL": locale}, capture_output=True, check=False)
            understood += done.returncode == 0
            if b"sandbox" in done.stderr:
                wrong.append((locale, script))
    assert wrong == []
    assert understood > count * len(locales) / 2  # most of them are scripts of sed's, too


def check_awk(seed, count, folder):
    programs, here, canary = folder / "bin", folder / "here", folder / "canary"
    programs.mkdir()
    here.mkdir()
    for name in Programs.NAMES:
        (programs / name).write_text(f"#!/bin/sh\n: > {canary}\n")
        (programs / name).chmod(0o755)
    wrong, understood = [], 0
    given = b'x a b\na e w\n"x" 1 2\n'
    for program in safe(Programs(seed), is_safe_awk, count):
        for awk in AWKS:
            command = [shutil.which(awk[0]), *awk[1:], program]
            try:
                done = subprocess.run(
                    command,
                    input=given,
                    env={"PATH": str(programs)},
                    cwd=here,
                    capture_output=True,
                    timeout=5,
                    check=False,
                )
            except subprocess.TimeoutExpired:  # a loop without end is no harm of this kind
                continue
            understood += done.returncode == 0
            left = [*here.iterdir(), *([canary] if canary.exists() else [])]
            if left:
                wrong.append((awk, program))
                for path in left:
                    path.unlink()
    assert wrong == []
    assert understood > count * len(AWKS) / 4


@pytest.mark.parametrize(
    ("is_safe", "program"),
    [
        (is_safe_sed, "s/[^]/]$/;/e;#/p"),
        (is_safe_sed, "b;/1\\[![[:alpha:]][^]/se\\]}[][]e\\o57ep;s/e\\x2fe/w\v]aw,f/; /x/I p; "),
        (is_safe_awk, "{print > /x/}"),
        (is_safe_awk, '{printf "x" > /x/ ".git"}'),
        (is_safe_awk, "{print(1) >/[/]/}"),
    ],
)
def test_what_was_taken_for_harmless_once_is_not(is_safe, program):
    assert not is_safe(program)


@pytest.mark.skipif(not is_gnu_sed(), reason="sed is not GNU's, which can refuse")
def test_no_script_of_sed_that_is_taken_for_harmless_is_refused_by_sed_itself():
    check_sed(22, 1000, "C")  # in which there is what an earlier reader took for harmless


@pytest.mark.skipif(not AWKS, reason="there is no awk")
def test_no_program_of_awk_that_is_taken_for_harmless_does_a_thing(tmp_path):
    check_awk(20, 300, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not is_gnu_sed(), reason="sed is not GNU's, which can refuse")
@pytest.mark.parametrize("seed", range(4))
def test_no_script_of_sed_of_many(seed):
    check_sed(seed, 25_000, "C", "C.UTF-8")


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not AWKS, reason="there is no awk")
@pytest.mark.parametrize("seed", range(4))
def test_no_program_of_awk_of_many(seed, tmp_path):
    check_awk(seed, 5_000, tmp_path)

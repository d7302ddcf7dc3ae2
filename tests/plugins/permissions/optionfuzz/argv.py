"""Random argument lists: options from the tables and from the programs' own help, values, operands and scripts."""

# ruff: noqa: E501 -- tables of pieces: a line each
from __future__ import annotations

import random
import re
import shutil
import subprocess
from functools import cache

from executor_permissions.judge.options._tables import grammar_of

# Programs that only read, by what their table says; those that never end or talk to others are left out.
PLAIN = [
    "cat",
    "head",
    "wc",
    "sort",
    "uniq",
    "cut",
    "tr",
    "nl",
    "tac",
    "rev",
    "paste",
    "comm",
    "join",
    "fold",
    "fmt",
    "expand",
    "unexpand",
    "column",
    "od",
    "hexdump",
    "strings",
    "md5sum",
    "sha256sum",
    "cksum",
    "base64",
    "base32",
    "diff",
    "cmp",
    "grep",
    "egrep",
    "fgrep",
    "ls",
    "stat",
    "file",
    "du",
    "realpath",
    "readlink",
    "basename",
    "dirname",
    "id",
    "uname",
    "pwd",
    "date",
    "shuf",
    "seq",
    "numfmt",
    "xxd",
    "find",
    "sed",
    "awk",
    "jq",
]
GIT = [
    "status",
    "log",
    "show",
    "diff",
    "blame",
    "rev-parse",
    "ls-files",
    "ls-tree",
    "show-ref",
    "merge-base",
    "name-rev",
    "describe",
    "count-objects",
    "check-ignore",
    "for-each-ref",
    "rev-list",
    "shortlog",
    "cat-file",
    "grep",
    "stash",
    "branch",
    "tag",
    "remote",
    "config",
    "reflog",
    "worktree",
    "diff-tree",
    "diff-files",
    "cherry",
    "show-branch",
    "var",
    "notes",
]
GIT_READS = {
    "stash": ["list", "show"],
    "remote": ["show -n", "get-url"],
    "worktree": ["list"],
    "reflog": ["show"],
    "notes": ["list", "show"],
}
FILES = ["a.txt", "b.txt", "sub", "sub/c.txt", ".", "-", "canary", "x=1", "./a.txt", "HEAD", "main", "run", "./run", ""]
VALUES = [
    "1",
    "2",
    "0",
    "x",
    "a",
    "canary",
    "a.txt",
    "b.txt",
    "./run",
    "sub",
    "1,2",
    "%s",
    "json",
    "+%F",
    "never",
    "all",
    "d",
    "HEAD",
    "always",
    "{}",
    ";",
    "+",
    "--",
    "-o",
]
SED = [
    "p", "d", "w canary", "W canary", "e ./run", "e", "r a.txt", "s/a/b/", "s/a/b/g", "s/a/./run/e", "s/a/b/w canary", "s,a,b,", "s|a|b|w canary", "y/ab/ba/", "a text", "i text", "c text", "a\\", "i\\\ntext", "a w canary",
    ";", "\n", "{", "}", " ", "1", "$", "1,2", "/a/", "\\,a,", "!", "#x", "b", "t x", ":x", ":x;w canary", "b;w canary", "n", "N", "q", "q5", "=", "l", "h", "G", "x", "/[/]/", "s/[/]/x/", "s/a/[/", "s/a\\/b/c/", "0~2", "2,+1", "1!", "F", "z", "v", "w", "/dev/stdout",
    "s/x/y/I", "M", "s/a/b\\\nw canary/", "}w canary", "s/a/b/;w canary", "y/a/;/w canary", "s#a#b#e",
]  # fmt: skip
AWK = [
    "BEGIN", "END", "{", "}", "print", "printf", " ", ";", "\n", ">", ">>", "|", "||", "&&", '"canary"', '"/dev/stderr"', '"./run"', "system(\"./run\")", "system", "(", ")", "getline", "x", "$1", "NR", "1", ",", "/a/", "/", "=", "==", "+", "-", "!", "~", "?", ":", "[", "]", "in",
    "if", "(x)", "while", "for", "else", "length", "close(\"canary\")", "printf \"%s\"", "print x", "print x > \"canary\"", "print \"a\" | \"./run\"", "\"./run\" | getline", "#c\n", "\\\n", "/[/]/", "/\"/", "\"/\"", "x++", "++", "--", "function f(a){", "return", "do", "\"", "/[]a]/", "a/b", ",\n", "?\n",
    "x = \"/\"", "{print}", "{ print $1 }", "print > \"/dev/stderr\"", "BEGIN{", "0x1", "1e5", "delete a", "$", "fflush()", "ENVIRON[\"HOME\"]", "ARGV[1]=\"canary\"",
]  # fmt: skip
JQ = [
    ".",
    ".a",
    "|",
    "env",
    "$ENV",
    "input",
    ".[]",
    "[",
    "]",
    "(",
    ")",
    '"x"',
    "import",
    '"a"',
    ";",
    "\\(env)",
    "1",
    "+",
    ",",
    "select(.a)",
    "@sh",
    "inputs",
    "$__loc__",
    "debug",
    "halt",
]
FIND = [
    "-name",
    "*.txt",
    "-type",
    "f",
    "-delete",
    "-exec",
    "./run",
    "{}",
    ";",
    "+",
    "-print",
    "-fprint",
    "canary",
    "-o",
    "!",
    "(",
    ")",
    "-newer",
    "a.txt",
    "-maxdepth",
    "1",
    "-execdir",
    "-ok",
    "-fls",
    "-fprintf",
    "-ls",
    "-printf",
    "%p",
    "-quit",
    "-size",
    "+1",
    "--",
    "-prune",
    "-empty",
    "-regex",
    ".*",
    "-files0-from",
    ",",
    "-not",
    "-mtime",
]
_OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z0-9][\w-]*)(\[?=)?")


@cache
def _installed() -> list[str]:
    return [program for program in PLAIN if shutil.which(program)]


@cache
def known_options(program: str, sub: str = "") -> tuple[str, ...]:
    """Every word that looks like an option in the program's own help."""
    command = ["git", sub, "-h"] if program == "git" else [program, "--help"]
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=20, check=False, stdin=subprocess.DEVNULL
    )
    found = {match[1] for match in _OPTION.finditer(done.stdout + done.stderr)}
    letters = {f"-{letter}" for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"}
    return tuple(sorted(found | letters))


class Argv:
    """One list of arguments, from one source of chance."""

    def __init__(self, pick: random.Random) -> None:
        self.pick = pick

    def words(self) -> list[str]:
        """A program and its arguments."""
        program = self.pick.choice([*_installed(), *["git"] * 12, *["sed", "awk", "find", "sort"] * 5])
        if program == "git":
            return self._git()
        count = self.pick.choice([0, 1, 1, 2, 2, 3, 4])
        words = [program]
        if program == "find":
            return [
                *words,
                *self.pick.sample([".", "sub", "a.txt"], self.pick.randint(0, 2)),
                *(self.pick.choice(FIND) for _ in range(count * 2)),
            ]
        if program in ("sed", "awk", "jq"):
            return [
                *words,
                *self._options(program, "", self.pick.choice([0, 0, 0, 1, 2])),
                *self._scripts(program),
                *self._operands(),
            ]
        words += self._options(program, "", count)
        words += self._operands()
        if self.pick.random() < 0.3:
            words += self._options(program, "", 1)
        return words

    def _git(self) -> list[str]:
        sub = self.pick.choice(GIT)
        words = ["git", sub]
        if sub in GIT_READS:
            words += self.pick.choice(GIT_READS[sub]).split()
        words += self._options("git", sub, self.pick.choice([0, 1, 2, 3]))
        if sub in ("branch", "tag", "remote", "worktree", "config"):
            return [word for word in words if word[:1] == "-" or word in ("git", sub, "list", "show", "get-url")]
        return [*words, *self._operands()]

    def _scripts(self, program: str) -> list[str]:
        make = {
            "sed": self._sed,
            "awk": self._awk,
            "jq": lambda: "".join(self.pick.choices(JQ, k=self.pick.choice([1, 2, 3, 5]))),
        }[program]
        if self.pick.random() < 0.2:
            return ["-e", make(), self.pick.choice(["-e", "-f", "-ne", "-i", "--", "--expression"]), make()]
        return [make()]

    def _sed(self) -> str:
        """Commands that are separated as they should be, mostly."""
        parts = []
        for _ in range(self.pick.choice([1, 1, 2, 3, 4])):
            address = self.pick.choice(
                [
                    "",
                    "",
                    "",
                    "1",
                    "$",
                    "/a/",
                    "1,2",
                    "\\,a,",
                    "/[/]/",
                    "1!",
                    "0~2",
                    "/a/I",
                    "2,+1",
                    "/a\\/b/",
                    "/a;w canary;/",
                ]
            )
            command = "".join(self.pick.choices(SED, k=self.pick.choice([1, 1, 1, 1, 2])))
            parts.append(address + (f"{{{command}}}" if self.pick.random() < 0.2 else command))
        return self.pick.choice([";", "\n", ";", " ; ", ""]).join(parts)

    def _awk(self) -> str:
        """Rules of statements, some of them put together of pieces that seldom fit."""
        if self.pick.random() < 0.4:
            return "".join(self.pick.choices(AWK, k=self.pick.choice([1, 2, 3, 4, 6, 8])))
        rules = []
        for _ in range(self.pick.choice([1, 1, 2])):
            statements = self.pick.choice([";", "\n", "; "]).join(
                self._statement() for _ in range(self.pick.choice([1, 1, 2, 3]))
            )
            rules.append(f"{self.pick.choice(['BEGIN', 'END', '', '', '/a/', 'NR==1', '$1>0', '!x'])}{{{statements}}}")
        return " ".join(rules)

    def _statement(self) -> str:
        value = self.pick.choice(
            [
                '";"',
                '"a"',
                "$1",
                "x",
                "1",
                "(1>2)",
                "NR/2",
                "/a/",
                '"/"',
                '"}"',
                '"\\""',
                "length / 2",
                "x++ / 2",
                "a[1]",
                "(x)/2",
                "/\\//",
                "/[/]/",
                "$1 ~ /}/",
            ]
        )
        return self.pick.choice(
            [f"print {value}", f"print {value} > \"canary\"", f"print {value},\n{value} > \"canary\"", f"print {value} | \"./run\"", f"print({value}) > \"canary\"", f"print({value} > 1)", f"x = {value}",
             f"if ({value}) print {value}", f"if (x) /\"/; print {value}", 'system("./run")', f"y = {value}; print > y", f"printf \"%s\", {value} >> \"canary\"", f"print {value} > \"/dev/stderr\"", '"./run" | getline', f"for (i in a) print {value}",
             f"print {value} # > \"canary\"", f"print {value} \\\n > \"canary\"", f"while (0) {value}", f"print > \"/dev/stderr\" {value}", f"print {value} ? {value} :\n {value} > \"canary\"", f"print {value}, (2)\n > \"canary\"", f"print {value} > (\"canary\")", f"do x = {value}; while (0) /x/"]
        )  # fmt: skip

    def _operands(self) -> list[str]:
        words = [self.pick.choice(FILES) for _ in range(self.pick.choice([0, 1, 1, 2, 3]))]
        if self.pick.random() < 0.1:
            words.insert(self.pick.randint(0, len(words)), "--")
        return words

    def _options(self, program: str, sub: str, count: int) -> list[str]:
        return [word for _ in range(count) for word in self._option(program, sub)]

    def _option(self, program: str, sub: str) -> list[str]:
        if self.pick.random() < 0.5:
            return self._from_table(program, sub)
        option = self.pick.choice(known_options(program, sub))
        value = self.pick.choice(VALUES)
        chance = self.pick.random()
        if option[:2] == "--":
            if chance < 0.15:  # abbreviated
                option = option[: self.pick.randint(3, max(3, len(option) - 1))]
            return [f"{option}={value}"] if chance > 0.7 else [option, value] if chance > 0.5 else [option]
        if chance < 0.2:  # a cluster
            option += "".join(self.pick.choices("abcdefgilnopqrstuvwxzBDEFINORSTVWX", k=self.pick.randint(1, 3)))
        return [option + value] if chance > 0.8 else [option, value] if chance > 0.55 else [option]

    def _from_table(self, program: str, sub: str) -> list[str]:
        """An option that the table says is safe, with as many values as it says."""
        grammar = grammar_of(program)
        grammar = grammar.sub(sub) if grammar is not None and sub else grammar
        options = sorted(name for name, option in grammar.options.items() if option.safe) if grammar is not None else []
        if grammar is None or not options:
            return []
        name = self.pick.choice(options)
        option = grammar.options[name]
        value = self.pick.choice(option.choices or VALUES)
        if option.arity == 0 or (option.arity == -1 and self.pick.random() < 0.5):
            return [name]
        attached = f"{name}={value}" if name[:2] == "--" else name + value
        return [attached] if option.arity == -1 or self.pick.random() < 0.5 else [name, *[value] * option.arity]

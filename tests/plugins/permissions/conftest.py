"""The corpus's project and policies, and a speaker of random shell commands."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from executor_permissions import Policy

CORPUS = Path(__file__).parent / "corpus"


class Speaker:
    """Says the same commands in many ways; the same seed says the same things."""

    def __init__(self, seed: int, programs: tuple[str, ...] = ("alpha", "beta", "gamma", "delta")) -> None:
        self.pick = random.Random(seed)
        self.programs = programs

    def quoted(self, word: str) -> str:
        """*word* so that bash reads it as *word* again."""
        style = self.pick.randrange(7)
        if style == 0 and word and all(c.isalnum() or c in "-_./=" for c in word):
            return word
        if style == 1 and "'" not in word:
            return f"'{word}'"
        if style == 2 and not set(word) & set('"$`\\!'):
            return f'"{word}"'
        if style == 3 and word and not set(word) & set("\n"):
            return "".join(c if c.isalnum() and self.pick.random() < 0.7 else "\\" + c for c in word)
        if style == 4 and len(word) > 1:
            cut = self.pick.randrange(1, len(word))
            return self.quoted(word[:cut]) + self.quoted(word[cut:])
        if style == 5 and word:
            return "''" + self.quoted(word)
        return "'" + word.replace("'", "'\\''") + "'"

    def blank(self) -> str:
        return self.pick.choice([" ", "  ", "\t", " \t ", " \\\n "])

    def simple(self, words: list[str] | None = None) -> str:
        words = words or [self.pick.choice(self.programs), *(self.word() for _ in range(self.pick.randrange(4)))]
        return self.blank().join(self.quoted(word) for word in words)

    def word(self) -> str:
        return self.pick.choice(
            ["a", "-x", "--long=v", "a b", "it's", "", "$HOME", "*", "~", "#", "a;b", "&&", "|", "{a,b}", "\\", "!", "ü", "(", ")",
             "<", "a\tb", "=", "[", "}", "fi", "then", "do"]
        )  # fmt: skip

    def command(self, depth: int = 3) -> str:
        """A command that runs only the given programs."""
        if depth <= 0:
            return self.simple()
        one, two = self.command(depth - 1), self.command(depth - 1)
        return self.pick.choice(
            [
                self.simple(),
                f"{one} && {two}",
                f"{one}||{two}",
                f"{one} ; {two}",
                f"{one}\n{two}",
                f"{one} | {two}",
                f"{one}|&{two}",
                f"( {one} )",
                f"{{ {one}; }}",
                f"! {one}",
                f"if {one}; then {two}; fi",
                f"if {one}; then {two}; else {one}; fi",
                f"for x in 1 2; do {one}; done",
                f"case x in x) {one};; *) {two};; esac",
                f"{self.simple()} $({one})",
                f'{self.simple()} "$({one})"',
                f"{self.simple()} <({one})",
                f"{self.simple()} > /dev/null",
                f"{self.simple()} 2>&1",
                f"{self.simple()} <<E\n$({self.simple()})\nE\n",
                f"{self.simple()} <<'E'\n$({self.simple()})\nE\n",
                f"{self.simple()} <<< {self.quoted(self.word())}",
                f"LANG=C {self.simple()}",
                f"{self.simple()} # {one}".replace("\n", " "),
                f"{self.simple()} {self.pick.choice(['a#b', 'a{1}', 'x@y', 'a=b', '-', '--', 'HEAD^', '%1', 'a,b', ':'])}",
                f"{self.simple()}; # it's {two}".replace("\n", " ") + f"\n{self.simple()}",
                f"{self.simple()} > /dev/null {self.quoted(self.word())}",
                f"> /dev/null {self.simple()}",
                f"until {one}; do break; done",
                f"time {one}",
            ]
        )


@pytest.fixture
def speaker():
    """Makes a `Speaker` for a seed."""
    return Speaker


@pytest.fixture
def project(tmp_path):
    """A project with the folders and links that the corpus speaks of; gives (project, home)."""
    root, home, outside = tmp_path / "proj", tmp_path / "home", tmp_path / "out"
    for name in (
        "src",
        "build",
        "docs",
        "keys",
        "sub",
        "secrets",
        ".toolexec",
        "scripts",
        "src/mypackage",
        ".git",
        "src/.git",
    ):
        (root / name).mkdir(parents=True, exist_ok=True)
    home.mkdir()
    outside.mkdir()
    (root / ".env").touch()
    (root / "README.md").touch()
    links = {
        "link-out": outside, "link-passwd": "/etc/passwd", "link-keys": root / "keys", "link-env": root / ".env",
        "src/link-out": outside, "link-build": root / "build", "link-in": root / "src",
    }  # fmt: skip
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root, home


@pytest.fixture
def policies(project):
    """The corpus's policies, by name."""
    root, home = project
    values = json.loads((CORPUS / "policies.json").read_text())
    return {name: Policy.from_dict(value, project_root=root, home=home) for name, value in values.items()}

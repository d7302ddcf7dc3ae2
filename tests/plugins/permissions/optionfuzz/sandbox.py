"""A folder with a few files and a repository, in which programs are run and watched."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import Command
from executor_permissions.judge.rules._guards import exposed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_ENDLESS = frozenset({"-f", "-F", "--follow", "--retry"})
_GIT = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main"]
_INDEX = ".git/index"  # refreshed by status and diff


@dataclass
class Counts:
    """What was done, and each command that changed the folder with what it changed."""

    judged: int = 0
    covered: int = 0
    faults: list[tuple[list[str], list[str]]] = field(default_factory=list)


class Sandbox:
    """Judges commands, and runs those that a wildcard covers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PAGER": "cat", "PAGER": "cat", "GIT_CEILING_DIRECTORIES": str(folder), "TMPDIR": str(folder / "tmp"),
        }  # fmt: skip
        self._make()

    def _make(self) -> None:
        for path in (self.work, self.folder / "tmp"):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir()
        (self.work / "sub").mkdir()
        for name, text in {
            "a.txt": "b 2\na 1\n",
            "b.txt": "a 1\n",
            "sub/c.txt": "c\n",
            "run": "#!/bin/sh\n: > ran\n",
        }.items():
            (self.work / name).write_text(text)
        (self.work / "run").chmod(0o755)
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"], ["stash", "list"]):
            subprocess.run([*_GIT, *words], cwd=self.work, env=self.environment, check=True, capture_output=True)
        self._before = self._seen()

    def _seen(self) -> dict[str, tuple[int, ...]]:
        """Every file and folder with what tells that it was written."""
        found: dict[str, tuple[int, ...]] = {}
        for folder, folders, files in os.walk(self.work):
            for name in (*folders, *files):
                path = os.path.join(folder, name)
                told = os.lstat(path)
                stamp = 0 if name in folders else told.st_mtime_ns
                found[os.path.relpath(path, self.work)] = (
                    told.st_mode,
                    told.st_size if stamp else 0,
                    stamp,
                    told.st_ino,
                )
        found.pop(_INDEX, None)
        return found

    def fuzz(self, commands: Iterable[list[str]]) -> Counts:
        """Judge each of *commands*; run what is covered."""
        counts = Counts()
        for words in commands:
            counts.judged += 1
            if exposed(Command(words, " ".join(words))) >= 0 or not _ENDLESS.isdisjoint(words):
                continue
            counts.covered += 1
            changed = self.run(words)
            if changed:
                counts.faults.append((words, changed))
        return counts

    def run(self, words: list[str]) -> list[str]:
        """What running *words* changed in the folder, which is then made anew."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                words, cwd=self.work, env=self.environment, input=b"a 1\nb 2\n", stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, timeout=5, check=False,
            )  # fmt: skip
        after = self._seen()
        if after == self._before:
            return []
        changed = sorted(
            path for path in after.keys() | self._before.keys() if after.get(path) != self._before.get(path)
        )
        self._make()
        return changed

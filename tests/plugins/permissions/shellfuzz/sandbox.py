"""A folder in which bash runs a script with nothing on its PATH but recorders, and a watch on the folder's files."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAMS = [
    "ls", "cat", "head", "tail", "wc", "grep", "find", "sort", "uniq", "diff", "stat", "cut", "tr", "echo", "printf",
    "test", "[", "pwd", "true", "false", "date", "seq", "git", "make", "sed", "awk", "tree", "npm", "evil", "touch",
    "rm", "sh", "bash", "env", "xargs", "tee", "cp", "mv",
]  # fmt: skip
# Writes down what it was called with, and fails now and then, so that both ways of a condition are taken. What cat
# prints of a here-document, and what pwd prints, is known to the reader.
_RECORDER = """#!/bin/sh
printf '%%s\\0' "${0##*/}" "$@" '/end/' >> "$RECORD"
case "${0##*/}$#" in cat0) exec %s;; pwd0) pwd;; false*|grep2|test3|head1|"[3") exit 1;; esac
exit 0
"""
# The same without starting a program: what is not found on an empty PATH is called by bash itself, in a child. bash
# writes line by line, and another child may come in between: so a newline is written down as another character.
_BATCH = """enable -n %(builtins)s
command_not_found_handle() {
    enable printf
    set -- "${@//$'\\n'/$'\\1'}"
    printf '%%s\\0' "${1##*/}" "${@:2}" '/end/' >> "$RECORD"
    case "${1##*/}$(($# - 1))" in cat0) exec %(cat)s;; pwd0) enable pwd; pwd;;
        false*|grep2|test3|head1|"[3") return 1;; esac
    return 0
}
"""
_FILES = {"a.txt": "one\n", "b.txt": "two\n", "src/c.txt": "three\n", ".env": "secret\n", "evil": ""}
_NOBODY = 65534
_SECONDS = 2.0  # a script that loops is ended
_BUILTINS = "echo printf test [ pwd true false"


class Sandbox:
    """
    Runs scripts, one after another.

    Args:
        folder: Where it may make folders of its own.
        shell: The path of bash, or of another shell that runs a command with ``-c``.

    Attributes:
        work: The folder they run in: the project.
        home: Their home folder.
    """

    def __init__(self, folder: Path, shell: str) -> None:
        self.work, self.home = folder / "work", folder / "home"
        # What is run may write nowhere else, even where the tests are run by root.
        self._user = _NOBODY if os.geteuid() == 0 else None
        folder.chmod(0o777)
        self._shell, self._bin, self._record = shell, folder / "bin", folder / "record"
        self._make_recorders()
        self._renew()
        if self.run_all(["ls a; cat"]) != [([["ls", "a"], ["cat"]], [])]:
            raise RuntimeError(f"{shell} does not have its calls recorded: no fault would be seen")

    def _make_recorders(self) -> None:
        self._bin.mkdir(parents=True)
        (self._bin / ".recorder").write_text(_RECORDER % shutil.which("cat"))
        (self._bin / ".recorder").chmod(0o755)
        for name in PROGRAMS:
            (self._bin / name).symlink_to(self._bin / ".recorder")
        (self._bin / ".start").write_text(f"enable -n {_BUILTINS}\n")
        (self._bin / ".batch").write_text(_BATCH % {"builtins": _BUILTINS, "cat": shutil.which("cat")})

    def _renew(self) -> None:
        for folder in (self.work, self.home):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        for name, text in _FILES.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o666)
        for folder in (self.work, self.work / "src", self.home):
            folder.chmod(0o777)
        (self.work / "evil").unlink()
        (self.work / "evil").symlink_to(self._bin / "evil")
        self._seen = self._state()

    def _state(self) -> dict[str, tuple[int, ...]]:
        """What the files of both folders are like."""
        found: dict[str, tuple[int, ...]] = {}
        waiting = [str(self.work), str(self.home)]
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                        continue
                    status = entry.stat(follow_symlinks=False)
                    found[entry.path] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode)
        return found

    def run(self, script: str) -> tuple[list[list[str]], list[str]]:
        """The calls that *script* makes, each as its words, and the files that it changes."""
        self._clear(self._record)
        self._start(script, {"RECORD": str(self._record), "PATH": str(self._bin)}, ".start", _SECONDS)
        calls = self._calls(self._record)
        changed = self._changed()
        if changed:
            self._renew()
        return calls, changed

    def run_all(self, scripts: Sequence[str]) -> list[tuple[list[list[str]], list[str]]]:
        """
        What `run` gives for each of *scripts*, from one bash that starts a child for each.

        Nothing is started for what they call. Should any of them change a file or not end, each is run by itself;
        so it is in another shell, which has nothing to call for what is not found.
        """
        if os.path.basename(self._shell) != "bash":
            return [self.run(script) for script in scripts]
        records = [self._record.with_name(f"record{i}") for i in range(len(scripts))]
        for record in records:
            self._clear(record)
        text = "\n".join(
            f"(export RECORD={_quoted(str(record))}; eval {_quoted(script)})"
            for record, script in zip(records, scripts, strict=True)
        )
        ended = self._start(text, {"PATH": str(self._bin / "none")}, ".batch", _SECONDS + 0.1 * len(scripts))
        if not ended or self._changed():
            self._renew()
            return [self.run(script) for script in scripts]
        return [(self._calls(record), []) for record in records]

    def _clear(self, record: Path) -> None:
        record.write_bytes(b"")
        record.chmod(0o666)

    def _start(self, script: str, variables: dict[str, str], start: str, seconds: float) -> bool:
        """Run *script*, and whatever it leaves in the background; whether all of it ended in time."""
        environment = {"HOME": str(self.home), "LC_ALL": "C.UTF-8", "BASH_ENV": str(self._bin / start), **variables}
        # Whoever is still at work holds the pipe: jobs in the background are waited for.
        reading, writing = os.pipe()
        with subprocess.Popen(
            [self._shell, "-c", script],
            env=environment, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, pass_fds=(writing,), start_new_session=True, user=self._user,
        ) as process:  # fmt: skip
            os.close(writing)
            ended, _, _ = select.select([reading], [], [], seconds)
            os.close(reading)
            if not ended:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return bool(ended)

    def _changed(self) -> list[str]:
        """The files that are not as they were."""
        now = self._state()
        changed = sorted(path for path in now.keys() | self._seen.keys() if now.get(path) != self._seen.get(path))
        return [os.path.relpath(path, self.work) for path in changed]

    def _calls(self, record: Path) -> list[list[str]]:
        words = record.read_bytes().decode(errors="surrogateescape").replace("\1", "\n").split("\0")[:-1]
        calls, call = [], []
        for word in words:
            if word == "/end/":
                calls.append(call)
                call = []
            else:
                call.append(word)
        return calls


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"

"""A folder in which bash runs a script with nothing on its PATH but recorders, and a watch on the folder's files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

PROGRAMS = [
    "ls", "cat", "head", "tail", "wc", "grep", "find", "sort", "uniq", "diff", "stat", "cut", "tr", "echo", "printf",
    "test", "[", "pwd", "true", "false", "date", "seq", "git", "make", "sed", "awk", "tree", "npm", "evil", "touch",
    "rm", "sh", "bash", "env", "xargs", "tee", "cp", "mv",
]  # fmt: skip
# Writes down what it was called with, and fails now and then, so that both ways of a condition are taken. What cat
# prints of a here-document is known to the reader.
_RECORDER = """#!/bin/sh
printf '%%s\\0' "${0##*/}" "$@" '/end/' >> "$RECORD"
case "${0##*/}$#" in cat0) exec %s;; false*|grep2|test3|head1|"[3") exit 1;; esac
exit 0
"""
_FILES = {"a.txt": "one\n", "b.txt": "two\n", "-x": "", "src/c.txt": "three\n", ".env": "secret\n", "evil": ""}
_NOBODY = 65534
_SECONDS = 2.0  # a script that loops is ended


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

    def _make_recorders(self) -> None:
        self._bin.mkdir(parents=True)
        (self._bin / ".recorder").write_text(_RECORDER % shutil.which("cat"))
        (self._bin / ".recorder").chmod(0o755)
        for name in PROGRAMS:
            (self._bin / name).symlink_to(self._bin / ".recorder")
        builtins = " ".join(name for name in ("echo", "printf", "test", "[", "pwd", "true", "false"))
        (self._bin / ".start").write_text(f"enable -n {builtins}\n")

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
        self._record.write_bytes(b"")
        self._record.chmod(0o666)
        environment = {
            "PATH": str(self._bin), "HOME": str(self.home), "RECORD": str(self._record), "LC_ALL": "C.UTF-8",
            "BASH_ENV": str(self._bin / ".start"),
        }  # fmt: skip
        # Whoever is still at work holds the pipe: jobs in the background are waited for.
        reading, writing = os.pipe()
        with subprocess.Popen(
            [self._shell, "-c", script],
            env=environment, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, pass_fds=(writing,), start_new_session=True, user=self._user,
        ) as process:  # fmt: skip
            os.close(writing)
            self._wait(process, reading)
        calls = self._calls()
        now = self._state()
        changed = sorted(path for path in now.keys() | self._seen.keys() if now.get(path) != self._seen.get(path))
        if changed:
            self._renew()
        return calls, [os.path.relpath(path, self.work) for path in changed]

    def _wait(self, process: subprocess.Popen[bytes], reading: int) -> None:
        import select

        ready, _, _ = select.select([reading], [], [], _SECONDS)
        os.close(reading)
        if not ready:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _calls(self) -> list[list[str]]:
        words = self._record.read_bytes().decode(errors="surrogateescape").split("\0")[:-1]
        calls, call = [], []
        for word in words:
            if word == "/end/":
                calls.append(call)
                call = []
            else:
                call.append(word)
        return calls

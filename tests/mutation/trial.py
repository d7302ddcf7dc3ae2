"""One mutant, tried in a copy of the tree: which tests can see it, and whether one of them fails."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mutants import Mutant

SLOWER = 3.0  # a run may take this many times as long as the same tests took unchanged,
START = 60.0  # and this many seconds more, since pytest and the first imports take theirs, and the machine may be busy
LONG = ("chaos", "long", "packaging")  # markers of tests that are too slow to be run for each change
TIME_LIMIT = "time limit"
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(slots=True)
class Seen:
    """
    What a run of the unchanged tests showed.

    Attributes:
        functions: `path:first line` of a function, and the tests that call it.
        seconds: How long each test takes.
        failed: Tests that fail without any change: they are not used.
    """

    functions: dict[str, set[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    def calling(self, path: str, function: int) -> list[str]:
        """The tests to run for a change in a function, those of the module's own name and the quick ones first."""
        tests = self.functions.get(f"{path}:{function}", set()) or self.using(path)
        stem = Path(path).stem.strip("_") if Path(path).stem != "__init__" else Path(path).parent.name
        return self.usable(sorted(tests, key=lambda test: (stem not in test.partition("::")[0], self.seconds[test])))

    def using(self, path: str) -> set[str]:
        """The tests that call anything of a module."""
        return {test for place, tests in self.functions.items() if place.rpartition(":")[0] == path for test in tests}

    def usable(self, tests: Iterable[str]) -> list[str]:
        """Those that pass without any change."""
        return [test for test in tests if test not in self.failed]


def left_out(tree: Path) -> str:
    """The marker expression that leaves the slow tests out, of the markers that the project has: others are errors."""
    file = tree / "pyproject.toml"
    settings = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    marks = settings.get("tool", {}).get("pytest", {}).get("ini_options", {}).get("markers", [])
    known = {mark.partition(":")[0] for mark in marks}
    return " and ".join(f"not {mark}" for mark in LONG if mark in known)


def copy_tree(root: Path, to: Path) -> None:
    """Copy what git knows or would add, as it is on the disk now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name, follow_symlinks=False)


class Copy:
    """A copy of the tree in which tests run. Nothing outside of it is ever written to."""

    def __init__(self, root: Path) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="mutation-")).resolve()
        self.tree = self.place / "tree"
        self._changes = 0
        copy_tree(root, self.tree)

    def remove(self) -> None:
        """Take the copy away."""
        shutil.rmtree(self.place, ignore_errors=True)

    def observe(self, tests: Sequence[str], jobs: int) -> Seen:
        """
        Run *tests* unchanged, and note which test calls what.

        Raises:
            RuntimeError: Nothing was seen: the tests did not run, or ran another tree's code.
        """
        folder = self.place / "seen"
        folder.mkdir()
        extra = {"CALLS_SEEN": str(folder), "CALLS_ROOT": str(self.tree)}
        spread = ["-n", str(jobs), "--dist", "loadfile"] if jobs > 1 else ["-p", "no:xdist"]
        code, output = self.run(tests, None, ["-p", "calls_seen", *spread], extra)
        seen = Seen()
        for file in folder.glob("*.json"):
            found = json.loads(file.read_text(encoding="utf-8"))
            seen.seconds.update(found["seconds"])
            seen.failed.update(found["failed"])
            for place, callers in found["functions"].items():
                seen.functions.setdefault(place, set()).update(callers)
        if not any(seen.functions.values()) or code not in (0, 1):
            raise RuntimeError(f"the unchanged tests could not be run (pytest's exit code {code}):\n{output[-3000:]}")
        return seen

    def killer(self, path: str, mutant: Mutant, tests: Sequence[str], seconds: float) -> str | None:
        """
        The test that fails with the change, or what else went wrong with it; None if all pass.

        A test has to fail twice: some fail now and then on a busy machine, and would be taken for killers.

        Args:
            path: The module, from the root.
            mutant: The change.
            tests: What to run, in this order, up to the first that fails.
            seconds: How long these tests take unchanged.
        """
        file = self.tree / path
        source = file.read_bytes()
        self._write(file, mutant.applied(source))
        left = list(tests)
        try:
            while left:
                found = self._first_failing(left, seconds)
                if found not in left or self._first_failing([found], seconds) is not None:
                    return found
                left = left[left.index(found) + 1 :]
        finally:
            self._write(file, source)
        return None

    def _first_failing(self, tests: Sequence[str], seconds: float) -> str | None:
        code, output = self.run(tests, START + SLOWER * seconds, ["-x", "-p", "no:xdist"])
        if code == 0:
            return None
        if code is None:
            return TIME_LIMIT
        found = FAILED.search(output)
        return found[1] if found else f"pytest ended with {code}"

    def _write(self, file: Path, source: bytes) -> None:
        file.write_bytes(source)
        self._changes += 1
        later = (
            file.stat().st_mtime + self._changes
        )  # another time each, so that no compiled file of an earlier one fits
        os.utime(file, (later, later))

    def run(
        self, tests: Sequence[str], limit: float | None, options: Sequence[str], extra: dict[str, str] | None = None
    ) -> tuple[int | None, str]:
        """Run pytest in the copy; its exit code (None: it took too long and was ended) and what it wrote."""
        names = self.place / "tests.txt"
        names.write_text("\n".join(tests), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=line", "-m", left_out(self.tree)]
        command += ["-p", "no:cacheprovider", f"--basetemp={self.place / 'tmp'}", *options, f"@{names}"]
        paths = [self.tree, self.tree / "plugins", Path(__file__).parent]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
        environment |= {"PYTHONPATH": os.pathsep.join(map(str, paths)), **(extra or {})}
        log = self.place / "output.txt"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.tree,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that its children can be ended with it
            )
            try:
                code: int | None = process.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end(process)
        return code, log.read_text(encoding="utf-8", errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

"""
Changes the code in small ways, one at a time, and sees whether a test fails: a measure of the tests, not of the code.

    python tests/mutation/run.py --count 150                 # the measure; half an hour on two cores
    python tests/mutation/run.py --count 150 --list          # only say what would be tried
    python tests/mutation/run.py --count 150 --only 12,44    # some of them again, after a test was written
    python tests/mutation/run.py --seed 1 --area tasks       # other changes, to find what is not tested; no measure

1. It draws `--count` changes at random from all changes that `mutants.py` finds in the modules of `AREAS`. The draw
   depends on the seed and these modules' sources alone; `SEED` was chosen before the first run and stays.
2. It copies the tree (what git knows, as it is on the disk) into a temporary folder for each job; the tree itself is
   never written to. It runs the unchanged tests once in a copy and notes which test calls which function.
3. For each change it runs the tests that call the changed function, those named like the module first, until one fails;
   if none does, those tests of the area that run the code in other processes, where nobody sees who calls what, or look
   at modules without a call. A test that fails twice, or a run beyond its time limit, counts as killed.
4. It ends with a table of the survivors, and with exit code 1 if fewer than 92 % of the changes that are not
   equivalent were killed, or more than 8 % of all are called equivalent.

Judge each survivor: write the test that it shows to be missing, or, if no caller could ever tell the difference, add
it to `equivalent.toml` with the reason. `--only` then tries the numbers of the table again; the draw is the same as
long as the modules are. When modules move, `AREAS` is what has to be changed.

`--map FILE` keeps what step 2 has seen, or uses what is there: to be used while neither code nor tests change.
"""

from __future__ import annotations

import argparse
import json
import queue
import random
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutants import Mutant, mutants_of
from trial import TIME_LIMIT, Copy, Seen

SEED = 20261121
ENOUGH = 0.92
MOST_EQUIVALENT = 0.08
ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True, slots=True)
class Area:
    """
    Modules, and the tests that are about them.

    Attributes:
        modules: Globs from the root; one that fits nothing is passed over, so that a table may name what is to come.
        tests: Globs of test files and folders.
        processes: Those of them that run the code in other processes too, or look at it without calling it: a table at
            the head of a module is read when it is imported, by nobody whom the observer could see.
    """

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    processes: tuple[str, ...] = ()


AREAS = (  # a module belongs to the first area that names it
    Area(
        "gate",
        ("executor/permission/**/*.py", "executor/run/_gate.py"),
        ("tests/permission", "tests/test_*.py", "tests/run"),
        ("tests/test_modules.py", "tests/test_tables.py"),
    ),
    Area(
        "core",
        (
            "executor/_*.py",
            "executor/paths.py",
            *(f"executor/{room}/**/*.py" for room in ("values", "threads", "calls", "tools", "run", "background")),
            *(f"executor/{room}/**/*.py" for room in ("registry", "records")),
        ),
        (
            "tests/test_*.py",
            *(f"tests/{room}" for room in ("values", "threads", "calls", "tools", "run", "background")),
            *(f"tests/{room}" for room in ("registry", "records")),
            "tests/engines",
            "tests/integration/test_detach.py",
        ),
        (
            "tests/test_modules.py",
            "tests/test_tables.py",
            *(f"tests/**/test_{name}.py" for name in ("exit", "isolate", "pool", "detach", "paths")),
        ),
    ),
    Area(
        "tasks",
        ("executor/tasks/**/*.py",),
        ("tests/tasks", "tests/test_*.py", "tests/integration/test_tasks*.py"),
        ("tests/test_modules.py", "tests/test_tables.py", "tests/integration/test_tasks*.py"),
    ),
    Area(
        "permissions",
        ("plugins/executor_permissions/**/*.py",),
        ("tests/plugins/permissions", "tests/cli/test_permission*.py", "tests/test_modules.py", "tests/test_tables.py"),
        (
            "tests/test_modules.py",
            "tests/test_tables.py",
            *(f"tests/plugins/permissions/test_{name}.py" for name in ("options", "guards", "boxes")),
        ),
    ),
)
NOT_TRIED = ("__main__.py", "tests/test_benchmarks.py", "tests/test_readme.py", "tests/test_stress.py")
# Tests that measure time: on a busy machine they fail whatever was changed. By the beginning of their names.
TIMED = (
    "test_repetition_is_answered_soon",
    "test_deep_nesting_is_answered_soon",
    "test_long_commands_are_never_allowed",
    "test_a_long_command_below_the_limit",
    "test_pieces_in_any_order_raise_nothing",
    "test_get_is_quick",
)


@dataclass(frozen=True, slots=True)
class Trial:
    """A drawn change: its number in the draw, and where it is."""

    number: int
    area: Area
    path: str
    mutant: Mutant
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it: `killed`, `survived` or `equivalent`, and by which test or for which reason."""

    trial: Trial
    outcome: str
    by: str


def files(root: Path, globs: Sequence[str]) -> list[str]:
    """The files that fit, from the root, each once, in the order of the globs."""
    found = (path.relative_to(root).as_posix() for glob in globs for path in sorted(root.glob(glob)) if path.exists())
    return [name for name in dict.fromkeys(found) if not name.endswith(NOT_TRIED)]


def modules(root: Path, areas: Sequence[Area]) -> dict[str, Area]:
    """
    All modules, each with the area that names it first.

    Raises:
        LookupError: An area has no module, or no test.
    """
    found: dict[str, Area] = {}
    for area in areas:
        for name in files(root, area.modules):
            found.setdefault(name, area)
        if area not in found.values() or not files(root, area.tests):
            raise LookupError(f"area {area.name}: no module or no test is where AREAS says; change the table")
    return found


def draw(root: Path, areas: Sequence[Area], seed: int, count: int) -> list[Trial]:
    """*count* changes, each as likely as any other; fewer if there are no more."""
    every: list[tuple[str, Area, Mutant, bytes]] = []
    for path, area in sorted(modules(root, areas).items()):
        source = (root / path).read_bytes()
        every.extend((path, area, mutant, source) for mutant in mutants_of(source))
    drawn = random.Random(seed).sample(every, min(count, len(every)))
    return [
        Trial(number, area, path, mutant, *mutant.texts(source))
        for number, (path, area, mutant, source) in enumerate(drawn, 1)
    ]


def reasons(file: Path) -> dict[tuple[str, str, str], str]:
    """
    The changes that nobody could tell from the original, by module, line before and line after.

    Raises:
        ValueError: One has no reason.
    """
    found = {}
    for entry in tomllib.loads(file.read_text(encoding="utf-8")).get("equivalent", []):
        if len(entry.get("reason", "").split()) < 3:
            raise ValueError(f"{file.name}: {entry.get('before')!r} needs a reason")
        found[entry["module"], entry["before"], entry["after"]] = entry["reason"]
    return found


class Run:
    """Tries the drawn changes, in as many copies of the tree at once as there are jobs."""

    def __init__(
        self, root: Path, areas: Sequence[Area], *, jobs: int, equivalent: dict[tuple[str, str, str], str]
    ) -> None:
        self.root = root
        self.areas = areas
        self.jobs = jobs
        self.equivalent = equivalent
        self.seen = Seen()

    def results(self, trials: Sequence[Trial], map_file: Path | None = None) -> Iterator[Result]:
        """What comes of each of *trials*, as it is known."""
        waiting = []
        for trial in trials:
            reason = self.equivalent.get((trial.path, trial.before, trial.after))
            if reason is None:
                waiting.append(trial)
            else:
                yield Result(trial, "equivalent", reason)
        copies = [Copy(self.root) for _ in range(self.jobs)]
        try:
            self.seen = self._observed(copies[0], map_file)
            free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
            for copy in copies:
                free.put(copy)
            pool = ThreadPoolExecutor(self.jobs)
            try:
                for future in [pool.submit(self._result, trial, free) for trial in waiting]:
                    yield future.result()
            finally:
                pool.shutdown(cancel_futures=True)  # Ctrl-C ends it after the runs that are under way
        finally:
            for copy in copies:
                copy.remove()

    def _observed(self, copy: Copy, map_file: Path | None) -> Seen:
        if map_file is not None and map_file.exists():
            known = json.loads(map_file.read_text(encoding="utf-8"))
            functions = {place: set(tests) for place, tests in known["functions"].items()}
            return Seen(functions, known["seconds"], set(known["failed"]))
        tests = files(self.root, [glob for area in self.areas for glob in area.tests])
        seen = copy.observe(tests, self.jobs)
        seen.failed |= {test for test in seen.seconds if test.partition("::")[2].startswith(TIMED)}
        if map_file is not None:
            functions = {place: sorted(tests) for place, tests in seen.functions.items()}
            known = {"functions": functions, "seconds": seen.seconds, "failed": sorted(seen.failed)}
            map_file.write_text(json.dumps(known), encoding="utf-8")
        return seen

    def _result(self, trial: Trial, free: queue.SimpleQueue[Copy]) -> Result:
        near = self.seen.calling(trial.path, trial.mutant.function)
        processes = tuple(files(self.root, trial.area.processes))
        others = [test for test in self.seen.seconds if test.startswith(processes) and test not in set(near)]
        copy = free.get()
        try:
            for tests in (near, self.seen.usable(others)):
                if tests:
                    seconds = sum(self.seen.seconds[test] for test in tests)
                    killer = copy.killer(trial.path, trial.mutant, tests, seconds)
                    if killer is not None:
                        return Result(trial, "killed", killer)
        finally:
            free.put(copy)
        return Result(trial, "survived", f"{len(near)} tests call it or its module")


def verdict(results: Sequence[Result]) -> tuple[str, bool]:
    """The figures in a line, and whether they are good enough."""
    count = {kind: sum(result.outcome == kind for result in results) for kind in ("killed", "survived", "equivalent")}
    tried = count["killed"] + count["survived"]
    killed = count["killed"] / tried if tried else 0.0
    equivalent = count["equivalent"] / len(results) if results else 0.0
    late = sum(result.by == TIME_LIMIT for result in results)
    line = (
        f"{len(results)} changes: {count['killed']} killed ({late} by the time limit), {count['survived']} survived, "
        f"{count['equivalent']} equivalent ({equivalent:.1%}, at most {MOST_EQUIVALENT:.0%}); "
        f"{killed:.1%} of the others killed, wanted {ENOUGH:.0%}"
    )
    return line, killed >= ENOUGH and equivalent <= MOST_EQUIVALENT


def table(results: Sequence[Result]) -> str:
    """The survivors, then the equivalents, as a table in Markdown."""
    rows = ["| no. | module and line | change | before | after | |", "|---|---|---|---|---|---|"]
    for result in sorted(results, key=lambda result: (result.outcome != "survived", result.trial.number)):
        trial = result.trial
        if result.outcome != "killed":
            cells = (f"`{cell}`".replace("|", "\\|").replace("\n", " ") for cell in (trial.before, trial.after))
            place = f"{trial.path}:{trial.mutant.line}"
            by = f"{result.outcome}: {result.by}"
            rows.append(" | ".join([f"| {trial.number}", place, trial.mutant.operator, *cells, by]) + " |")
    return "\n".join(rows)


def options() -> argparse.ArgumentParser:
    """What the command line takes."""
    parser = argparse.ArgumentParser(description=__doc__.strip().partition("\n")[0])
    parser.add_argument("--count", type=int, default=150, help="how many changes to draw")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=2, help="how many to try at once")
    parser.add_argument("--only", default="", help="numbers of the draw, with commas")
    parser.add_argument("--area", action="append", choices=[area.name for area in AREAS], help="draw from it only")
    parser.add_argument("--list", action="store_true", help="say what is drawn, and run nothing")
    parser.add_argument("--map", type=Path, help="a file for what the unchanged tests call")
    parser.add_argument("--report", type=Path, help="a file for the table of survivors; it is printed in any case")
    return parser


def main(arguments: Sequence[str] | None = None, *, root: Path = ROOT, areas: Sequence[Area] = AREAS) -> int:
    """Draw, try and report; the exit code."""
    chosen = options().parse_args(arguments)
    areas = [area for area in areas if not chosen.area or area.name in chosen.area]
    trials = draw(root, areas, chosen.seed, chosen.count)
    if chosen.only:
        wanted = {int(number) for number in chosen.only.split(",")}
        trials = [trial for trial in trials if trial.number in wanted]
    if chosen.list:
        for trial in trials:
            print(f"{trial.number:4} {trial.path}:{trial.mutant.line} {trial.mutant.operator}: {trial.after!r}")
        return 0
    run = Run(root, areas, jobs=chosen.jobs, equivalent=reasons(EQUIVALENT) if EQUIVALENT.exists() else {})
    results, started = [], time.monotonic()
    for result in run.results(trials, chosen.map):
        results.append(result)
        where = f"{result.trial.path}:{result.trial.mutant.line} {result.trial.mutant.operator}"
        print(
            f"{time.monotonic() - started:6.0f} s {result.trial.number:4} {result.outcome}: {where}: {result.by}",
            flush=True,
        )
    for test in sorted(run.seen.failed):
        print(f"not used, since it fails without a change or measures time: {test}")
    line, enough = verdict(results)
    report = f"Seed {chosen.seed}. {line}\n\n{table(results)}\n"
    print(f"\n{report}")
    if chosen.report is not None:
        chosen.report.write_text(report, encoding="utf-8")
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())

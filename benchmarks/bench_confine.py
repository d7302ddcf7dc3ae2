"""What a box costs a command: `true` with its pipes, in none, under Landlock and under bubblewrap, by turns."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import TYPE_CHECKING

import _common as common

from executor.confine import Profile, _bubblewrap, box_of, start
from executor.confine._landlock import Want
from executor.confine._places import Places
from executor.confine._start import _slots
from executor.confine._wrap import wrapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Step = Callable[[Profile], None]

STREAMS = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def free(profile: Profile) -> None:
    subprocess.Popen(["true"], cwd=profile.project, env=dict(os.environ), **STREAMS).communicate()


def boxed(profile: Profile) -> None:
    made = start(profile, ["true"], cwd=profile.project, **STREAMS)
    made.process.communicate()
    made.close()


def keep(_: Profile) -> None:
    pass


def change(profile: Profile) -> None:
    """A folder that the ruleset lists has changed, and nothing is gone from it: it is listed again."""
    (Path(profile.project) / "changed").touch()
    (Path(profile.project) / "changed").unlink()


def replace(profile: Profile) -> None:
    """Something is gone from a folder that the ruleset lists: the next one is made anew."""
    (Path(profile.project) / "new").touch()
    (Path(profile.project) / "new").replace(Path(profile.project) / "old")


def closed(project: str, name: str, *masks: str) -> Profile:
    return Profile(name, project, unwritable=tuple(f"{project}/{mask}" for mask in masks))


def main() -> None:
    rounds = common.rounds(400, 60)
    with tempfile.TemporaryDirectory(dir=Path.home()) as project:  # /tmp may hold thousands of others
        for folder in (".git/hooks", "src"):
            (Path(project) / folder).mkdir(parents=True)
        (Path(project) / ".git/config").touch()
        read = Profile("read", project, unreadable=(f"{project}/.env",))
        bare = closed(project, "project")
        git = closed(project, "project", ".git/hooks/", ".git/config")
        assert [box_of(each).mechanism for each in (read, git)] == ["landlock", "bubblewrap"], "no boxes here"
        cases = {
            "Landlock and filter, a kept ruleset": (read, keep, 0.4),
            "Landlock and filter, a kept ruleset, a folder has changed": (read, change, 1.0),
            "Landlock and filter, a new ruleset": (read, replace, 1.0),
            "bubblewrap and filter": (bare, keep, 6.0),
            "bubblewrap and filter, git's hooks and configuration closed": (git, keep, 6.0),
        }
        (Path(project) / "old").touch()
        sleep(0.1)  # a folder that has just changed is listed anew
        for name, (profile, before, limit) in cases.items():
            base, whole = measured(profile, before, boxed, rounds)
            above = (whole - base) * 1e3
            against = f"in no box: {common.milli(base)}; whole: {common.milli(whole)}"
            if before is keep:
                of_bubblewrap = box_of(profile).mechanism == "bubblewrap"
                with (alone if of_bubblewrap else unseen)(profile) as least:
                    base, whole = measured(profile, keep, least, rounds)
                what = "bubblewrap alone" if of_bubblewrap else "with nothing looked at"
                against += f"; {what}: {(whole - base) * 1e3:+.2f} ms"
            common.row(name, f"{above:+.2f} ms", against, f"+{limit:g} ms", holds=above <= limit)
        _slots.close()


def measured(profile: Profile, before: Step, boxed: Step, rounds: int) -> tuple[float, float]:
    """
    What a command takes in no box, and boxed, in seconds.

    By turns, and each case by itself: what a box leaves the kernel to tidy up slows down what comes next.
    """
    outside, inside = [], []
    for _ in range(rounds):
        for case, taken in ((free, outside), (boxed, inside)):
            before(profile)
            began = perf_counter()
            case(profile)
            taken.append(perf_counter() - began)
    return median(outside), median(inside)


@contextlib.contextmanager
def unseen(profile: Profile) -> Iterator[Step]:
    """The same ruleset entered by the same process, with nobody to look whether these are as they were."""
    kept, program = _slots.take(Want(profile, Places.now()), box_of(profile)), shutil.which("true")
    assert program is not None, "no program to measure"
    environment = dict(os.environ)

    def run(profile: Profile) -> None:
        kept.start([program], environment, cwd=profile.project, **STREAMS).communicate()
        kept.over()

    try:
        yield run
    finally:
        kept.close()


@contextlib.contextmanager
def alone(profile: Profile) -> Iterator[Step]:
    """The same mounts laid by bubblewrap, with nobody to lay them out before, look at them, and tidy up behind."""
    with wrapping(profile, os.environ) as made, Path(os.devnull).open("rb") as nothing:
        stop = nothing.fileno()
        options = _bubblewrap.options(
            made.plan().mounts, network=False, environment=made.environment, folder=profile.project
        )
        command = [made.program, *options, *_bubblewrap.last_options({}, stop), "--", "true"]

        def run(_: Profile) -> None:
            process = subprocess.Popen(command, env={}, pass_fds=(stop,), **STREAMS)
            complaint = process.communicate()[1]
            assert not process.returncode, complaint

        yield run


if __name__ == "__main__":
    main()

"""What a box costs a command: `true` with its pipes, in none, under Landlock and under bubblewrap, by turns."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import TYPE_CHECKING

import _common as common

from executor.confine import Profile, box_of, start
from executor.confine._start import _slots

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """A folder that the ruleset before lists has changed: the next one is made anew."""
    (Path(profile.project) / "changed").touch()
    (Path(profile.project) / "changed").unlink()


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
            "Landlock and filter, a new ruleset": (read, change, 1.0),
            "bubblewrap and filter": (bare, keep, 6.0),
            "bubblewrap and filter, git's hooks and configuration closed": (git, keep, 6.0),
        }
        sleep(0.1)  # a folder that has just changed is listed anew
        for name, (profile, before, limit) in cases.items():
            measure(name, profile, before, limit, rounds)
        _slots.close()


def measure(name: str, profile: Profile, before: Callable[[Profile], None], limit: float, rounds: int) -> None:
    """By turns, and each case by itself: what a box leaves the kernel to tidy up slows down what comes next."""
    outside, inside = [], []
    for _ in range(rounds):
        for case, taken in ((free, outside), (boxed, inside)):
            before(profile)
            began = perf_counter()
            case(profile)
            taken.append(perf_counter() - began)
    base, whole = median(outside), median(inside)
    above = (whole - base) * 1e3
    against = f"in no box: {common.milli(base)}; whole: {common.milli(whole)}"
    common.row(name, f"{above:+.2f} ms", against, f"+{limit:g} ms", holds=above <= limit)


if __name__ == "__main__":
    main()

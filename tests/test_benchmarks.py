"""Each benchmark runs, in its shortest form. What it measures is not judged here: tests run on busy machines."""

import re

import pytest

from benchmarks import run_all


@pytest.mark.parametrize("script", run_all.SCRIPTS, ids=lambda script: script.stem)
def test_a_benchmark_runs_and_prints_its_rows(script):
    rows = [line.strip("| ").split(" | ") for line in run_all.rows_of(script, ["--minimal"])]
    assert rows
    for what, measured, against, *limit in rows:
        assert what
        assert re.search(r"\d", measured), f"{what}: {measured!r} holds no number"
        assert against, f"{what} is compared with nothing"
        assert len(limit) in (0, 2), f"{what}: {limit!r} is not a limit and whether it holds"

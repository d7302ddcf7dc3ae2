"""The examples of docs/run-layer.md are run, and print what stands there."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from executor import errors, run

TEXT = (Path(__file__).parents[2] / "docs" / "run-layer.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXT, re.DOTALL)


def test_every_example_says_what_it_prints():
    assert len(EXAMPLES) == TEXT.count("```python") == 6


@pytest.mark.parametrize(("program", "output"), EXAMPLES)
def test_an_example_prints_what_stands_there(program, output):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "docs/run-layer.md", "exec"), {"__name__": "example"})
    assert printed.getvalue() == output


def test_every_error_of_a_call_is_in_the_table():
    calls = [name for name in errors.__all__ if issubclass(getattr(errors, name), errors.ToolError)]
    for name in calls:
        assert f"`{name}`" in TEXT or name == "ToolError", name


def test_the_public_names_are_sorted_there_and_say_what_they_are():
    assert run.__all__ == sorted(run.__all__)
    for name in run.__all__:
        assert getattr(run, name) is not None
        if isinstance(getattr(run, name), type):
            assert getattr(run, name).__doc__, name

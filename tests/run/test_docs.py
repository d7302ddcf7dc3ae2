"""The tables of docs/run-layer.md are complete. Its programs: see tests/test_programs.py."""

from __future__ import annotations

from pathlib import Path

from executor import errors, run

TEXT = (Path(__file__).parents[2] / "docs" / "run-layer.md").read_text(encoding="utf-8")


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

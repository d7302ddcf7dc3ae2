"""Paths without links, looked up folder by folder."""

from __future__ import annotations

import os
import random
import sys
from typing import TYPE_CHECKING

import pytest

from executor.confine._real import Real

if TYPE_CHECKING:
    from pathlib import Path

if sys.platform == "win32":
    pytest.skip("there are no boxes", allow_module_level=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Folders, and links that lead up, down, to one another, round in a circle, to nothing and past a file."""
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/file").touch()
    for name, target in {
        "down": "a/b",
        "a/up": "..",
        "a/b/whole": str(tmp_path / "a"),
        "chain": "down/c",
        "circle": "circle",
        "one": "other",
        "other": "one",
        "dangling": "a/nothing/here",
        "past": "a/file/below",
    }.items():
        (tmp_path / name).symlink_to(target)
    return tmp_path


_NAMES = ("a", "b", "c", "file", "up", "down", "whole", "chain", "circle", "one", "other", "dangling", "past", "x")


def test_they_are_those_of_the_standard_library_whatever_was_asked_before(tree: Path) -> None:
    drawn = random.Random(11)
    real = Real()
    for _ in range(3_000):
        parts = drawn.choices((*_NAMES, "..", ".", ""), (*[4] * len(_NAMES), 2, 1, 1), k=drawn.randint(0, 7))
        path = "/".join((str(tree), *parts))
        assert real(path) == os.path.realpath(path), path


def test_an_entry_is_itself_where_it_is_a_link(tree: Path) -> None:
    assert Real().entry(f"{tree}/down/whole/") == f"{tree}/a/b/whole"


@pytest.mark.parametrize(("path", "entry"), [("/", "/"), ("/x", "/x"), ("/x/y/", "/x/y")])
def test_an_entry_near_the_root(path: str, entry: str) -> None:
    assert Real().entry(path) == entry


def test_a_path_of_more_folders_than_python_nests_calls(tree: Path) -> None:
    path = str(tree) + "/a" * (sys.getrecursionlimit() + 10)
    assert Real()(path) == path

"""Which mounts a box is made of, and what has to be made for them."""

from __future__ import annotations

import os

import pytest

from executor.confine._mounts import Kind, plan

FREE, FIXED, HIDDEN = Kind.FREE, Kind.FIXED, Kind.HIDDEN


@pytest.fixture
def tree(tmp_path):
    for folder in ("p/.git/hooks", "p/a/b/c", "home/.ssh", "home/state/tmp"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("p/.git/config", "p/.env", "p/a/b/c/file", "home/.netrc"):
        (tmp_path / file).touch()
    (tmp_path / "p/link").symlink_to(".env")
    (tmp_path / "linked").symlink_to("p")
    return tmp_path


CASES = {
    "nothing": ([], [], [], []),
    "a project": (["p"], [], [], [(FREE, "p")]),
    "every parent of a mask is a mount": (
        ["p"],
        ["p/a/b/c/file"],
        [],
        [(FREE, "p"), (FREE, "p/a"), (FREE, "p/a/b"), (FREE, "p/a/b/c"), (FIXED, "p/a/b/c/file")],
    ),
    "parents are laid once": (
        ["p"],
        ["p/.git/hooks/", "p/.git/config"],
        [],
        [(FREE, "p"), (FREE, "p/.git"), (FIXED, "p/.git/config"), (FIXED, "p/.git/hooks")],
    ),
    "what is closed around it already is not closed again": (
        ["p"],
        ["p/a/", "p/a/b/c/file", "home/.netrc"],
        ["home/.ssh", "home/.ssh/id"],
        [(HIDDEN, "home/.ssh"), (FREE, "p"), (FIXED, "p/a")],
    ),
    "hidden is more than fixed": (["p"], ["p/.env"], ["p/.env"], [(FREE, "p"), (HIDDEN, "p/.env")]),
    "hidden in what is fixed": (
        ["p"],
        ["p/a/"],
        ["p/a/b"],
        [(FREE, "p"), (FIXED, "p/a"), (HIDDEN, "p/a/b")],
    ),
    "what may be written may be in what is hidden": (
        ["home/state/tmp"],
        [],
        ["home"],
        [(HIDDEN, "home"), (FREE, "home/state/tmp")],
    ),
    "what is hidden and not there": (["p"], [], ["p/no", "home/no"], [(FREE, "p")]),
    "links on the way": (["p"], ["linked/.env"], [], [(FREE, "p"), (FIXED, "p/.env")]),
    "a link that came in the place of what may be written": (["linked"], [], [], [(FREE, "linked")]),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_laid_over_what(tree, case):
    *asked, expected = CASES[case]
    free, fixed, hidden = ([f"{tree}/{path}" for path in paths] for paths in asked)
    made = plan(free, fixed, hidden)
    assert [(kind, path.removeprefix(f"{tree}/")) for kind, path in made.mounts] == expected
    assert made.missing == made.empty == made.loose == ()


def test_a_single_file_that_may_be_written_opens_nothing_of_what_is_hidden(tree):
    hidden = [f"{tree}/home/.netrc", f"{tree}/home/.ssh"]
    files = [f"{tree}/home/.netrc", f"{tree}/home/.ssh/id", f"{tree}/p/.env"]
    made = plan([], [], hidden, shown=files)
    assert made.mounts == ((HIDDEN, hidden[0]), (HIDDEN, hidden[1]), (FREE, files[2]))


@pytest.mark.parametrize("hidden", ["", "p", "p/a"])
def test_a_project_in_what_is_hidden_is_not_shown_because_it_may_be_written(tree, hidden):
    hidden = os.path.join(tree, hidden).rstrip("/")
    made = plan([f"{tree}/home/tmp"], [], [hidden], shown=[f"{tree}/p/a"])
    assert set(made.mounts) == {(HIDDEN, hidden), (FREE, f"{tree}/home/tmp")}


@pytest.mark.parametrize(
    ("fixed", "missing"),
    [
        ("p/.toolexec/", "p/.toolexec"),
        ("p/new", "p/new"),
        ("p/no/such/file", "p/no"),
        ("p/a/no/", "p/a/no"),
        ("home/no", None),
    ],
)
def test_what_is_missing_is_made(tree, fixed, missing):
    made = plan([f"{tree}/p"], [f"{tree}/{fixed}"], [])
    assert made.missing == ((f"{tree}/{missing}",) if missing else ())
    assert tuple(path for kind, path in made.mounts if kind is FIXED) == made.missing


def test_a_link_is_named_and_what_it_leads_to_is_fixed(tree):
    made = plan([f"{tree}/p"], [f"{tree}/p/link"], [])
    assert made.loose == (f"{tree}/p/link",)
    assert made.mounts[-1] == (FIXED, f"{tree}/p/.env")


def test_a_link_that_leads_to_nothing_hides_nothing_and_keeps_no_box_from_being_made(tree):
    (tree / "home/.npmrc").symlink_to("elsewhere")
    (tree / "home/.pypirc").symlink_to(".pypirc")
    hidden = [f"{tree}/home/{name}" for name in (".npmrc", ".pypirc", ".netrc")]
    assert plan([], [], hidden).mounts == ((HIDDEN, f"{tree}/home/.netrc"),)


@pytest.mark.parametrize(("user", "expected"), [(1000, 1), (0, 0)])
def test_what_cannot_be_looked_at_is_hidden_nevertheless(tree, monkeypatch, user, expected):
    def refused(path, **_):
        raise PermissionError(path)

    secret = f"{tree}/home/.netrc"
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: user)
        patched.setattr(os, "stat", refused)
        mounts = plan([], [], [secret]).mounts
    assert mounts == ((HIDDEN, secret),) * expected  # what refuses root is a file system of somebody's own: of no use

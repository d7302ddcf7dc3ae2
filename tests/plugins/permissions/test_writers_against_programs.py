"""What people allow git to change is changed, and nothing else: drawn lines are run beside hostile content."""

from __future__ import annotations

import shutil

import pytest

from tests.plugins.permissions.hostile import Lines, Repository


def check(folder, kind, seed, count):
    """Draw until *count* lines were allowed, and run these: a few in a row each time, from the same start."""
    repository = Repository(folder, kind)
    lines, wrong, before = Lines(seed, repository.top), [], repository.seen()
    while count > 0:
        done = []
        for line in lines.lines():
            if not repository.allows(line):
                continue
            count -= 1
            done.append(line)
            harm = repository.harm(line, before)
            if harm:
                wrong.append((done, harm))
                break
        if done:
            repository.restore()
    assert wrong == []


KINDS = ("plain", "embedded", "gitlink", "bare")
needs_programs = pytest.mark.skipif(not all(map(shutil.which, ("bash", "git"))), reason="needs git")


@needs_programs
@pytest.mark.parametrize("kind", KINDS)
def test_what_git_is_allowed_changes_and_runs_nothing_else(tmp_path, kind):
    check(tmp_path, kind, 1, 8)


@pytest.mark.long
@pytest.mark.timeout(7200)
@needs_programs
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2, 5))
def test_what_git_is_allowed_changes_and_runs_nothing_else_in_the_long_run(tmp_path, kind, seed):
    check(tmp_path, kind, seed, 3_000)


@needs_programs
@pytest.mark.parametrize(
    "line",
    [
        *(
            "git show",
            "git log -p -3",
            "git reflog show -p",
            "git log -S x",
            "git stash show -p",
            "git push origin main",
        ),
        *("git diff", "git log -p --submodule", "git push --recurse-submodules=only origin main", "git status"),
    ],
)
def test_what_the_users_settings_have_git_run_in_another_repository_is_asked_about(tmp_path, line):
    repository = Repository(tmp_path, "gitlink")  # diff.submodule=diff, push.recurseSubmodules=on-demand
    assert not repository.allows(line)
    quiet = (
        "git log -3",
        "git log --stat",
        "git show --stat",
        "git show --ignore-submodules=all",
        "git push --no-recurse-submodules origin main",
    )
    assert all(map(repository.allows, quiet))

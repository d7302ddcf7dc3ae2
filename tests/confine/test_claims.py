"""Whose a repository below the project is: a box's own only if a box was at work when it came."""

from __future__ import annotations

import os
import select
import subprocess
import sys

import pytest

if sys.platform == "win32":
    pytest.skip("there are no boxes", allow_module_level=True)

from executor.confine import Profile, _folders, _wrap, start
from executor.confine._places import Places


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    return str(folder)


def box(project, line="true"):
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    boxed = start(Profile("project", project), ["sh", "-c", line], cwd=project, **streams)
    said = boxed.process.communicate(timeout=60)[0].decode()
    return boxed, said


def runs(project):
    return os.path.join(_folders.boxes_of(project, Places.now()), "runs")


def hook_of_a_users_own_repository(project):
    """What a box says that writes into a repository which was made when none was there."""
    subprocess.run(["git", "init", "-q", os.path.join(project, "users-own")], check=True)
    boxed, said = box(project, "echo x > users-own/.git/hooks/evil && echo WROTE")
    boxed.close()
    return said


@pytest.mark.parametrize("place", ["the end", "what it has made"])
def test_an_interrupt_while_a_box_is_cleared_away_leaves_nothing_of_it(place, project, monkeypatch, bubblewrap):
    def interrupted(*_):
        raise KeyboardInterrupt

    boxed, _ = box(project)
    assert os.path.exists(os.path.join(project, ".git", "commondir"))
    with monkeypatch.context() as patch:
        patch.setattr(*((select, "poll") if place == "the end" else (_wrap, "below")), interrupted)
        with pytest.raises(KeyboardInterrupt):
            boxed.close()
    assert not os.path.exists(os.path.join(project, ".git", "commondir"))
    assert os.listdir(runs(project)) == []
    assert "WROTE" not in hook_of_a_users_own_repository(project)


def test_only_what_somebody_holds_is_in_use(tmp_path):
    parent = str(tmp_path / "runs")
    here = _folders.Temporary(parent)
    os.mkdir(os.path.join(parent, "left"))
    assert _folders.in_use(parent) == [here.path]
    here.release()
    here.release()
    assert _folders.in_use(parent) == []


GIT = "git -c user.name=n -c user.email=e@example.org"
CONFLICT = f"""
{GIT} commit -q --allow-empty -m 0 && git checkout -qb side && echo side > a && git add a && {GIT} commit -qm 1
git checkout -q - && echo main > a && git add a && {GIT} commit -qm 2 && git checkout -q side
"""
REBASE = f"{GIT} rebase -q - ; ls .git/rebase-merge/git-rebase-todo"


def test_what_a_user_has_yet_to_rebase_is_closed(project, bubblewrap):
    """git runs the lines of its list that say so, when the user has it go on."""
    subprocess.run(["sh", "-c", CONFLICT + REBASE], cwd=project, check=True, capture_output=True)
    line = "echo 'exec touch ../evil' >> .git/rebase-merge/git-rebase-todo; rm -rf .git/rebase-merge; mv .git x"
    boxed, said = box(project, f"{line}; mkdir .git/sequencer; echo solved > a && git add a && echo ADDED")
    boxed.close()
    assert "ADDED" in said
    subprocess.run(["sh", "-c", f"GIT_EDITOR=true {GIT} rebase --continue"], cwd=project, check=True)
    assert not os.path.exists(os.path.join(os.path.dirname(project), "evil"))


def test_a_rebase_that_a_box_has_begun_goes_on_in_the_next(project, bubblewrap):
    subprocess.run(["sh", "-c", CONFLICT], cwd=project, check=True, capture_output=True)
    boxed, said = box(project, REBASE)
    boxed.close()
    assert "git-rebase-todo" in said
    boxed, said = box(project, f"echo solved > a; git add a; GIT_EDITOR=true {GIT} rebase --continue")
    boxed.close()
    assert boxed.process.returncode == 0, said
    assert not os.path.exists(os.path.join(project, ".git", "rebase-merge"))


def test_a_working_tree_that_a_box_has_made_the_next_removes_and_not_one_of_the_users(project, bubblewrap):
    for line in (f"{GIT} commit -q --allow-empty -m 0", "git worktree add -q users"):
        subprocess.run(line.split(), cwd=project, check=True)
    kept = os.path.join(project, ".git", "worktrees", "users", "commondir")
    boxed, said = box(project, f"git worktree add -q own && cd own && {GIT} commit -q --allow-empty -m 1 && echo MADE")
    boxed.close()
    assert "MADE" in said
    evil = "mkdir e; echo ../../../e > .git/worktrees/users/commondir; mv .git/worktrees/users .git/worktrees/x;"
    boxed, said = box(project, f"{evil} git worktree remove own && git gc -q && echo REMOVED")
    boxed.close()
    assert "REMOVED" in said
    with open(kept, encoding="utf-8") as told:
        assert told.read() == "../..\n"
    assert os.listdir(os.path.dirname(os.path.dirname(kept))) == ["users"]


def test_a_repository_that_a_user_makes_of_a_boxs_folder_is_the_users(project, bubblewrap):
    boxed, _ = box(project, "mkdir -p users-own/.git/objects users-own/.git/refs own/.git")
    boxed.close()
    boxed, said = box(project, "mv own/.git own/git && rm -r own && echo GONE")  # it may still do as it likes with it
    boxed.close()
    assert "GONE" in said
    assert "WROTE" not in hook_of_a_users_own_repository(project)
    assert "WROTE" not in hook_of_a_users_own_repository(project)


def test_what_two_state_folders_have_placeholders_for_is_closed_until_both_boxes_are_over(
    project, bubblewrap, monkeypatch, tmp_path
):
    named = os.path.join(project, ".git", "commondir")
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    line = "read -r _; echo x > .git/commondir; test -e .git/commondir && cat .git/commondir"
    boxes = []
    for name in ("one", "other"):  # of two users, mostly
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))
        boxes.append(start(Profile("project", project), ["bash", "-c", line], cwd=project, **streams))
    said = []
    for boxed in boxes:
        said.append(boxed.process.communicate(b"\n")[0])
        boxed.close()
    assert said == [b".\n", b".\n"]
    assert os.path.exists(named)  # whose it is could not remove it then, and does the next time
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "one"))
    boxed = start(Profile("project", project), ["true"], cwd=project)
    boxed.process.wait()
    boxed.close()
    assert not os.path.exists(named)

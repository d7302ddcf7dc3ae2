"""What a command leaves in a repository does not lead the user's own git elsewhere."""

from __future__ import annotations

import os
import subprocess

import pytest

from executor.confine import Profile, _strays, start
from executor.confine._git_index import way_out_of_index

pytestmark = pytest.mark.usefixtures("bubblewrap")
GIT = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "gc.autoDetach=false"]


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", ".")
    (folder / "a").write_text("a\n")
    git(folder, "add", "a")
    git(folder, "commit", "-qm", "1")
    return folder


@pytest.fixture
def outside(tmp_path):
    (tmp_path / "outside" / "kept").mkdir(parents=True)
    for name in ("file", "kept/file"):
        (tmp_path / "outside" / name).write_text("SECRET\n")
    return tmp_path / "outside"


def git(folder, *words):
    return subprocess.run([*GIT, *words], cwd=folder, check=False, capture_output=True, text=True).stdout


def in_a_box(project, line):
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    boxed = start(Profile("project", str(project)), ["bash", "-c", line], cwd=str(project), **streams)
    said, _ = boxed.process.communicate(timeout=60)
    boxed.close()
    return boxed.process.returncode, said.decode()


def state(folder):
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


COMMIT = ("commit", "-q", "--allow-empty", "-m", "x; touch evil")
LINKS = {
    "what a commit says": ("COMMIT_EDITMSG", "file", [COMMIT]),
    "what is kept of a branch": ("logs/HEAD", "file", [COMMIT]),
    "what is fetched": ("FETCH_HEAD", "file", [("fetch", "-q", ".")]),
    "a working tree": ("worktrees/x", "", [("worktree", "prune")]),
    "working trees": ("worktrees", "", [("gc", "-q")]),
    "a rebase": ("rebase-merge", "", [("rebase", "--quit")]),
    "picks": ("sequencer", "", [("cherry-pick", "--quit")]),
    "packs": ("objects/pack", "", [("gc", "-q")]),
    "another folder of objects": ("objects/info", "", [("commit-graph", "write", "--reachable")]),
}


@pytest.mark.parametrize("case", LINKS)
def test_no_link_that_a_command_left_leads_git_elsewhere(project, outside, caplog, case):
    name, target, later = LINKS[case]
    before = state(outside)
    line = f"cd .git && rm -rf {name} && mkdir -p $(dirname {name}) && ln -s {outside / target} {name}"
    assert in_a_box(project, line) == (0, "")
    for words in later:
        git(project, *words)
    assert state(outside) == before
    assert f".git/{name}', a link" in caplog.text


@pytest.mark.parametrize("mode", [0o000, 0o300, 0o500, 0o600])
def test_nor_one_in_a_folder_to_which_the_rights_were_taken_away(world, mode):
    repository = world.project / ".git"
    for name in ("objects", "refs"):
        (repository / name).mkdir()
    world.give_away()
    line = f"mkdir .git/worktrees; ln -s {world.outside} .git/worktrees/x; chmod {mode:o} .git/worktrees"
    assert world.shell(world.profile("project"), line).returncode == 0
    assert [*os.scandir(repository / "worktrees")] == []


def test_nor_one_in_a_repository_below(project, outside):
    git(project, "init", "-q", "vendor/lib")
    assert in_a_box(project, f"ln -s {outside} vendor/lib/.git/worktrees") == (0, "")
    assert not os.path.lexists(project / "vendor/lib/.git/worktrees")


def test_nor_one_that_looks_like_a_branch(project, outside):
    line = f"ln -s $'refs/\n/../../..{outside}' .git/worktrees; mkdir -p $'.git/refs/\n'"
    assert in_a_box(project, line) == (0, "")
    assert not os.path.lexists(project / ".git" / "worktrees")


def test_nor_one_beside_a_row_of_folders_that_nobody_can_pass(project, outside):
    line = f"ln -s {outside} .git/worktrees; cd .git; for i in {{1..40}}; do mkdir {'d' * 200} && cd {'d' * 200}; done"
    assert in_a_box(project, line) == (0, "")
    assert not os.path.lexists(project / ".git" / "worktrees")


def test_of_a_bare_one_with_working_trees_in_it_these_are_left_alone(tmp_path, outside, caplog):
    project = tmp_path / "bare"
    git(tmp_path, "init", "-q", "--bare", str(project))
    line = f"mkdir -p main/bin && ln -s {outside} main/bin/x && ln -s {outside} worktrees"
    assert in_a_box(project, line) == (0, "")
    assert os.readlink(project / "main/bin/x") == str(outside)
    assert not os.path.lexists(project / "worktrees")


def test_a_link_that_was_there_before_stays_and_is_put_back(project, outside):
    links = [project / ".git" / name for name in ("kept", "led-elsewhere")]
    for link in links:
        link.symlink_to(outside)
    assert in_a_box(project, f"ln -sfn {outside}/kept .git/led-elsewhere") == (0, "")
    assert [os.readlink(link) for link in links] == [str(outside), str(outside)]


def test_a_link_that_git_makes_of_a_branch_stays(project, caplog):
    assert in_a_box(project, "git -c core.preferSymlinkRefs=true checkout -q -b other")[0] == 0
    assert os.readlink(project / ".git" / "HEAD") == "refs/heads/other"
    assert caplog.text == ""


WITH_INDEX = r"""
import hashlib, struct, subprocess, sys
told = {"input": b"x", "capture_output": True}
blob = bytes.fromhex(subprocess.run(["git", "hash-object", "-w", "--stdin"], **told).stdout.decode())
path = sys.argv[2].encode()
entry = bytes(24) + struct.pack(">I", 0o100644) + bytes(12) + blob + struct.pack(">H", len(path)) + path
body = struct.pack(">4sII", b"DIRC", 2, 1) + entry + bytes(8 - len(entry) % 8)
open(sys.argv[1], "wb").write(body + hashlib.sha1(body).digest())
"""


@pytest.fixture
def with_index(project):
    (project / "make.py").write_text(WITH_INDEX)
    return "/usr/bin/env python3 make.py"


@pytest.mark.parametrize("name", [".git/hooks/post-checkout", "../outside/file", "{outside}/file", "../outside/new"])
def test_no_index_that_a_command_left_is_written_to_elsewhere(project, outside, caplog, with_index, name):
    before = state(outside), state(project / ".git" / "hooks")
    assert in_a_box(project, f"{with_index} .git/index {name.format(outside=outside)}") == (0, "")
    git(project, "checkout", "--", ".")
    assert (state(outside), state(project / ".git" / "hooks")) == before
    assert "`git reset`" in caplog.text
    git(project, "reset", "-q")
    assert git(project, "status", "--short", "-uno") == ""


def test_nor_read_from_there(project, outside, with_index):
    assert in_a_box(project, f"{with_index} .git/index {outside}/file") == (0, "")
    git(project, "add", "-u")
    secret = git(project, "hash-object", str(outside / "file")).strip()
    assert secret not in git(project, "cat-file", "--batch-all-objects", "--batch-check")


def test_nor_is_that_of_a_linked_working_tree(project, with_index):
    git(project, "worktree", "add", "-q", "../linked")
    assert in_a_box(project, f"{with_index} .git/worktrees/linked/index ../x") == (0, "")
    assert not (project / ".git/worktrees/linked/index").exists()


def test_nothing_elsewhere_is_kept_as_a_solved_conflict(project, outside):
    number = "0123456789" * 4
    line = (
        f"mkdir -p .git/rr-cache/{number} && echo '<<<<<<<' > .git/rr-cache/{number}/preimage"
        f" && printf '{number}\\t{outside}/file\\0' > .git/MERGE_RR"
    )
    assert in_a_box(project, line) == (0, "")
    git(project, *COMMIT)
    assert not (project / ".git" / "rr-cache" / number / "postimage").exists()


def test_a_branch_may_have_the_name_of_an_index(project, caplog):
    assert in_a_box(project, "git branch index && git branch MERGE_RR && git branch objects/ab/index")[0] == 0
    assert git(project, "branch", "--list", "index", "MERGE_RR", "objects/*").split() == [
        "MERGE_RR",
        "index",
        "objects/ab/index",
    ]
    assert caplog.text == ""


def test_what_is_too_much_to_look_through_is_told(project, monkeypatch, caplog):
    monkeypatch.setattr(_strays, "_MOST_FOLDERS", 100)
    assert in_a_box(project, "mkdir $(seq -f .git/refs/heads/%g 100)") == (0, "")
    assert "too many folders" in caplog.text


def test_an_index_that_cannot_be_read_is_put_aside(project, monkeypatch):
    monkeypatch.setattr(_strays, "_LARGEST", 100)
    assert in_a_box(project, "echo b > a && git add a")[0] == 0
    assert not (project / ".git" / "index").exists()


def test_what_git_writes_to_its_index_stays(project, caplog):
    assert in_a_box(project, "mkdir d && echo b > d/b && git add -A && git rm -q --cached a")[0] == 0
    assert way_out_of_index((project / ".git" / "index").read_bytes(), 20) is None
    assert git(project, "diff", "--cached", "--name-only").split() == ["a", "d/b"]
    assert caplog.text == ""

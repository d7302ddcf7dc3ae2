"""What a box hides is nothing that git would take for removed."""

from __future__ import annotations

import os
import subprocess

import pytest

from executor._regular import regular_only
from executor.confine import Profile, _tracked, start
from executor.confine._tracked import is_tracked

PIPES = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
PERSON = ["-c", "user.name=n", "-c", "user.email=a@b.c"]


def git(folder, *words):
    done = subprocess.run(["git", *PERSON, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    for name in (".toolexec/permissions.json", "secrets/deep/key", "src/a"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
    git(folder.parent, "init", "-q", "project")
    git(folder, "add", ".toolexec", "secrets", "src")
    git(folder, "commit", "-qm", "first")
    return folder


def boxed(folder, line):
    profile = Profile("project", str(folder), unreadable=(f"{folder}/.toolexec", f"{folder}/secrets"))
    box = start(profile, ["bash", "-c", line], cwd=str(folder), **PIPES)
    said, complaint = box.process.communicate(timeout=60)
    box.close()
    return box.process.returncode, said.decode(), complaint.decode()


@pytest.mark.usefixtures("landlock", "bubblewrap")
@pytest.mark.parametrize("line", ["git add -A && git commit -m x", "git commit -am x", "git add . && git commit -m x"])
def test_a_commit_in_a_box_keeps_the_files_that_the_box_hides(project, line):
    (project / "src/a").write_text("changed\n")
    code, _, complaint = boxed(project, line.replace("git commit", f"git {' '.join(PERSON)} commit"))
    assert code == 0, complaint
    assert git(project, "show", "--name-status", "--format=", "HEAD") == "M\tsrc/a\n"


@pytest.mark.usefixtures("landlock", "bubblewrap")
def test_a_hidden_folder_can_be_walked_through(project):
    """Formatters, searches and archives come by there; nothing is in it for them."""
    code, said, complaint = boxed(project, "ls -A .toolexec secrets; find . -name key; tar cf /dev/null src secrets")
    assert (code, said) == (0, ".toolexec:\n\nsecrets:\n"), complaint


@pytest.mark.usefixtures("landlock", "bubblewrap")
def test_a_hidden_folder_that_git_knows_nothing_of_is_an_empty_one(project):
    git(project, "rm", "-rq", "--cached", "secrets")
    assert boxed(project, "ls -d secrets/. && test ! -e secrets/conftest.py")[:2] == (0, "secrets/.\n")


def test_a_folder_is_tracked_where_the_index_may_name_a_file_in_it(project):
    assert is_tracked(str(project / "secrets"))
    assert is_tracked(str(project / "secrets/deep"))
    assert not is_tracked(str(project / "secrets/other"))
    assert not is_tracked(str(project / "src/a/b"))
    assert not is_tracked(str(project.parent / "elsewhere"))
    (project / "src/.git").write_text("gitdir: ../.git/modules/src\n")
    assert is_tracked(str(project / "src/any")), "the index is elsewhere"


def test_a_folder_may_be_tracked_where_the_index_cannot_be_read(project):
    index = project / ".git/index"
    git(project, "update-index", "--index-version", "4")
    assert is_tracked(str(project / "nothing")), "names are not written out in it"
    index.write_bytes(b"")
    assert is_tracked(str(project / "nothing"))
    index.unlink()
    assert not is_tracked(str(project / "secrets"))


def test_what_a_command_makes_of_an_index_neither_ends_nor_holds_up_who_looks_at_it(project):
    index = project / ".git/index"
    with open(index, "r+b") as file:
        file.truncate(1 << 40)  # with nothing in it, which takes half an hour to look through
    assert is_tracked(str(project / "nothing"))
    index.unlink()
    os.mkfifo(index)
    assert is_tracked(str(project / "nothing"))


def test_an_index_that_is_cut_short_meanwhile_is_looked_at_as_far_as_it_goes(project, monkeypatch):
    def shortened(path, flags):
        opened = regular_only(path, flags)
        with open(path, "r+b") as file:
            file.truncate(0)
        return opened

    monkeypatch.setattr(_tracked, "regular_only", shortened)
    assert is_tracked(str(project / "nothing"))

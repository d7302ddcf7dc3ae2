"""Ways past a rule that were found by people who tried: each closed where it came from, with its neighbours."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from executor_permissions import Policy
from executor_permissions.judge.rules._scene import CallInfo

EXAMPLE = json.loads((Path(__file__).parents[3] / "permissions.example.json").read_text())
WIDE = {
    "defaultPolicy": "ask",
    "blacklist": {"arguments": {"readFile": {"path": ["${project}/.env"]}}},
    "whitelist": {
        "patterns": [
            "git *",
            "make *",
            "cat *",
            "echo *",
            "sleep *",
            "ln *",
            "cp *",
            "gzip *",
            "patch *",
            "python3 *",
            "pip *",
            "pytest *",
            "cd *",
            "head *",
        ],
        "arguments": {"writeFile": {"path": ["${project}/"]}, "readFile": {"path": ["${project}/"]}},
    },
}


@pytest.fixture
def project(tmp_path):
    root = tmp_path.resolve() / "project"
    (root / "sub").mkdir(parents=True)
    (root / "l").mkdir()
    for name in (".env", "a.txt", "sub/a.txt"):
        (root / name).write_text("x\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


@pytest.fixture(params=["example", "wide"])
def verdict(request, project):
    policy = Policy.from_dict(
        EXAMPLE if request.param == "example" else WIDE, project_root=project, home=project.parent
    )

    def verdict(command, cwd=project):
        return policy.decide("runCommand", {"command": command}, CallInfo(str(cwd))).verdict

    verdict.wide = request.param == "wide"
    return verdict


NEVER = [
    # make runs what stands behind "!="
    "make test 'ARGS!=touch PWNED'", "make 'T!=id'", "make 'ARGS  !=  id'", "make 'ARGS:!=id'", "make 'V!=1'",
    # git fetch with a name for what it brings moves, or removes, branches
    "git fetch -p . '+refs/none/*:refs/heads/*'", "git fetch . +other:feature", "git fetch . other:main",
    "git fetch -q -u -f . other:main", "git fetch origin main:main", "git fetch -f origin", "git fetch --prune-tags origin",
    "git fetch --refmap=+refs/heads/*:refs/heads/* origin main", "git pull origin +main:main",
    # formats that have signatures checked run gpg
    "git shortlog --group='format:%G?' main", "git branch --sort=signature:key", "git tag --sort=-signature:grade",
    # code of the project, where nobody said that it may run
    "PYTHONPATH=evil pip list", "PYTHONPATH=/evil pytest", "env PYTHONPATH=evil pip list",
    # options behind "--" are values
    "git config -- core.hooksPath -evil", "git config core.hooksPath -- -evil",
    # a redirection behind "&" does not hide that it is in the background
    "sleep 1 && echo x > l/f &1>/dev/null ln -s /outside l", "sleep 1 && echo x > l/f &2>/dev/null cp -a b l",
    # what git puts into the work tree may be a link
    "git switch -q other; echo x > l/f", "git checkout other && echo x > l/f", "git stash pop && cat l", "git switch -q other && cat l",
    "git merge other; head l/a", "git -C . checkout other && cat l", "git apply a.patch && cat l", "cp -a b l && cat l", "git switch other; cat < l",
    # below folders
    "gzip -r .", "gzip -rc . | cat", "gzip --recursive .",
    # writes wherever it is told
    "patch -o ../x a.txt", "patch -d .. -i a", "patch -B ../ a.txt", "patch -r ../rej a.txt",
]  # fmt: skip
STILL = [
    "git status", "git fetch", "git fetch origin", "git fetch origin main", "git fetch -p --tags origin", "git shortlog -sn",
    "git branch --sort=-committerdate", "git checkout -b new && git status", "git log --oneline -5 && cat a.txt",
    "git add a.txt && cat a.txt", "cat a.txt > /dev/null; cat sub/a.txt", "git fetch && git diff --stat",
]  # fmt: skip


@pytest.mark.parametrize("command", NEVER)
def test_it_is_not_let_run(verdict, command):
    assert verdict(command) != "allow"


@pytest.mark.parametrize("command", STILL)
def test_what_is_like_it_and_harmless_is(verdict, command):
    if not verdict.wide and command.startswith("git checkout"):
        pytest.skip("the example asks about it")
    assert verdict(command) == "allow"


def test_a_folder_with_a_head_and_a_common_folder_is_a_repository(project):
    policy = Policy.from_dict(WIDE, project_root=project)
    ask = {"command": "cd sub && git diff A B"}
    assert policy.decide("runCommand", ask, CallInfo(str(project))).verdict == "allow"
    for beside in ("commondir", "gitdir", "objects"):
        (project / "sub/HEAD").write_text("ref: refs/heads/k\n")
        (project / "sub" / beside).write_text("../x\n")
        assert policy.decide("runCommand", ask, CallInfo(str(project))).verdict == "ask"
        assert policy.decide("runCommand", {"command": "git -C sub status"}, CallInfo(str(project))).verdict == "ask"
        (project / "sub/HEAD").unlink()
        (project / "sub" / beside).unlink()


def test_a_repository_in_the_index_has_settings_of_its_own(project):
    policy = Policy.from_dict(WIDE, project_root=project)

    def verdict(command):
        return policy.decide("runCommand", {"command": command}, CallInfo(str(project))).verdict

    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C"]
    subprocess.run(["git", "init", "-q", project / "sub"], check=True)
    subprocess.run([*git, project / "sub", "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    assert verdict("git status") == "allow"  # git does not look into what it does not track
    subprocess.run([*git, project, "-c", "advice.addEmbeddedRepo=false", "add", "sub"], check=True, env={**os.environ})
    looking = (
        "git status", "git diff --stat", "git submodule status", "ls && git status", "git fetch", "git fetch origin",
        "git remote update", "git log -p --submodule=diff", "git show --submodule=diff",
    )  # fmt: skip
    for command in looking:
        assert verdict(command) == "ask", command
    assert verdict("git log --oneline -3") == "allow"
    os.rename(project / "sub/.git", project / "sub.git")
    (project / "sub/.git").write_text("gitdir: ../sub.git\n")
    for command in looking:
        assert verdict(command) == "ask", command
    os.rename(project / "sub.git", project / ".git/sub.git")
    (project / "sub/.git").write_text("gitdir: ../.git/sub.git\n")  # as git itself has it: no tool writes there
    assert verdict("git status") == verdict("git fetch") == "allow"


@pytest.mark.parametrize("version", [2, 4])
def test_gitlinks_are_found_in_every_form_of_the_index(tmp_path, version):
    from executor.confine import read_index
    from executor_permissions.judge.git._index import names_of
    from executor_permissions.judge.git._links import gitlinks_of

    def git(*words):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)

    git("init", "-q")
    names = ["a", "a/deep/file", "b", "sub.one", "sub/one", "sub/other", "z" * 200]
    for number, name in enumerate(names):
        mode = "160000" if number % 2 else "100644"
        git("update-index", "--add", "--cacheinfo", f"{mode},{number + 1:040x},{name if name != 'a' else 'a0'}")
    (tmp_path / "z").write_text("")
    git("add", "-N", "z")  # has flags beyond the usual ones
    git("update-index", "--skip-worktree", "sub.one")
    git("update-index", "--index-version", str(version))
    data = (tmp_path / ".git/index").read_bytes()
    assert gitlinks_of(read_index(data)) == ("a/deep/file", "sub.one", "sub/other")
    assert names_of(read_index(data)) == ("a/deep/file", "a0", "b", "sub.one", "sub/one", "sub/other", "z", "z" * 200)
    assert data[4:8] == bytes([0, 0, 0, max(version, 3)])
    assert gitlinks_of(read_index(b"DIRC" + data[4:7] + b"\x09" + data[8:])) is None
    git("update-index", "--split-index")
    assert gitlinks_of(read_index((tmp_path / ".git/index").read_bytes())) is None

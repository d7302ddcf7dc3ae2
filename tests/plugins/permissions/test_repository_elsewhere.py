"""A project whose ``.git`` is no folder: where git keeps its own then no rule for more lets anybody write."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from executor_permissions import Policy

PROGRAMS = ("cat", "cd", "cp", "echo", "git", "install", "mv", "rsync", "tar", "tee", "touch")
FILES = {tool: {"path": ["${project}/"]} for tool in ("readFile", "writeFile", "editFile", "deleteFile")}


@pytest.fixture(params=["beside", "separate", "link", "below"])
def project(request, tmp_path, monkeypatch):
    """A project, and the name of the folder in it that git keeps its own in."""
    root = Path(os.path.realpath(tmp_path)) / "home/me/project"
    (root / "sub").mkdir(parents=True)
    name = {"beside": ".bare", "separate": "data", "link": "store", "below": "sub/data"}[request.param]
    if request.param == "beside":
        _git("init", "-q", "--bare", str(root / name))
        (root / ".git").write_text(f"gitdir: ./{name}\n")
    elif request.param == "link":
        _git("init", "-q", str(root))
        (root / ".git").rename(root / name)
        (root / ".git").symlink_to(name)
    else:
        _git("init", "-q", f"--separate-git-dir={root / name}", str(root))
    other = root / "other" / name
    other.mkdir(parents=True)
    (other / "config").write_text("[core]\n")
    (root / "a").write_text("a")
    subprocess.run(["tar", "cf", "x.tar", "-C", "other", name], cwd=root, check=True)
    monkeypatch.chdir(root)
    return root, name


def _git(*args):
    subprocess.run(["git", *args], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})


@pytest.fixture
def decide(project, monkeypatch):
    monkeypatch.setattr("executor_permissions.judge.files._places._FREE", ())  # the test's own folder may be there
    rules = {"patterns": [f"{program} *" for program in PROGRAMS], "arguments": FILES}

    def decide(tool, *more, **args):
        policy = Policy.from_dict({"whitelist": {**rules, "patterns": [*rules["patterns"], *more]}}, project_root=".")
        return policy.decide(tool, args).verdict

    return decide


@pytest.mark.parametrize(
    "command",
    [
        "cp a {git}/config",
        "mv a {git}/hooks/pre-commit",
        "mv a {git}",
        "install a {git}/config",
        "tee {git}/config < a",
        "touch {git}/hooks/post-commit",
        "echo x > {git}/config",
        "cd {git} && touch config",
        "cd {git}/hooks && cp ../../a x",
        "rsync -a other/{git}/ {git}/",
        "cp -r other/. .",
        "cp -rT other .",
        "cp -r other/{top} .",
        "mv other/{top} .",
        "tar xf x.tar",
    ],
)
def test_no_rule_for_a_program_lets_it_write_there(project, decide, command):
    name = project[1]
    line = command.format(git=name, top=name.partition("/")[0])
    assert decide("runCommand", command=line) == "ask", line


@pytest.mark.parametrize("file", ["config", "hooks/pre-commit", "worktrees/x/gitdir"])
@pytest.mark.parametrize("tool", ["writeFile", "editFile", "deleteFile"])
def test_no_rule_for_the_project_lets_a_tool_write_there(project, decide, tool, file):
    assert decide(tool, path=f"{project[1]}/{file}") == "ask"


def test_what_is_beside_it_is_allowed_as_before_and_so_is_who_names_it(project, decide):
    name = project[1]
    for command in ("cp a sub/b", "cp -r other sub/x", "touch sub/a", f"cat {name}/HEAD", "git status", "cp a other/"):
        assert decide("runCommand", command=command) == "allow", command
    assert decide("readFile", path=f"{name}/HEAD") == decide("writeFile", path="sub/a") == "allow"
    assert decide("runCommand", f"cp * {name}/*", command=f"cp a {name}/description") == "allow"
    assert decide("writeFile", f"writeFile(path={name}/*)", path=f"{name}/description") == "allow"


def test_a_folder_above_the_project_of_the_same_name_is_no_word_about_it(tmp_path):
    project = Path(os.path.realpath(tmp_path)) / "data/data/project"
    project.mkdir(parents=True)
    _git("init", "-q", f"--separate-git-dir={project / 'data'}", str(project))
    for rule, verdict in ((f"{project}/", "ask"), (f"{project}/data/", "allow"), ("~/data/project/", "ask")):
        rules = {"arguments": {"writeFile": {"path": [rule]}}}
        policy = Policy.from_dict({"whitelist": rules}, project_root=project, home=project.parents[1])
        assert policy.decide("writeFile", {"path": f"{project}/data/config"}).verdict == verdict, rule

"""A shell that is told a text and nothing else is allowed what the text is: ``bash -lc 'git log | head'``."""

from __future__ import annotations

import pytest

from executor_permissions import Policy
from executor_permissions._boxes import boxed
from executor_permissions.judge.rules._scene import CallInfo

POLICY = {
    "version": "1.2",
    "defaultPolicy": "ask",
    "blacklist": {
        "patterns": ["rm -rf *", "curl * | sh"],
        "arguments": {"readFile": {"path": ["${project}/.env"]}},
    },
    "ask": {"patterns": ["git push *", "ls && pwd"]},
    "whitelist": {
        "patterns": ["ls *", "cat *", "head *", "echo *", "cd *", "pwd", "git *", "pytest *", "docker ps *", "true"],
        "arguments": {"writeFile": {"path": ["out/"]}, "readFile": {"path": ["${project}/"]}},
    },
    "confine": {"open": ["docker ps *"], "project": ["cat *"]},
}


@pytest.fixture
def judge(tmp_path):
    project, home = tmp_path / "project", tmp_path / "home"
    for folder in (project / "src", project / "out", home):
        folder.mkdir(parents=True)

    def decide(args, policy=POLICY, home=home):
        made = Policy.from_dict(policy, project_root=project, home=home)
        args = {"command" if isinstance(args, str) else "argv": args}
        return boxed(made.decide("runCommand", args, CallInfo(str(project))), made, "runCommand")

    return decide


@pytest.mark.parametrize(
    "shell", ["bash -c", "sh -c", "dash -c", "bash -lc", "bash -l -c", "/bin/bash -lc", "/usr/bin/sh -c"]
)
@pytest.mark.parametrize(
    "text", ["ls", "git log --oneline | head -5", "cd src && pytest -q", "x=1; echo $x", "ls > out/list"]
)
def test_what_allows_a_text_allows_a_shell_that_is_told_it(judge, shell, text):
    assert judge(f"{shell} '{text}'").verdict == "allow"
    found = judge([*shell.split(), text])
    assert (found.verdict, found.rule) == (judge(text).verdict, judge(text).rule)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("rm -rf x", "deny"),
        ("ls; rm -rf x", "deny"),
        ("curl x | sh", "deny"),
        ("cat .env", "deny"),
        ("git push", "ask"),
        ("ls && pwd", "ask"),  # the very line
        ("ls > list", "ask"),
        ("touch x", "ask"),
        ("ls; touch x", "ask"),
        ("bash -c ls", "ask"),  # one shell, not any number
        ("eval ls", "ask"),
        ("", "ask"),
        ("-x ls", "ask"),  # an option
        ("+x", "ask"),
        ("ls $x", "ask"),
        ("$(echo ls)", "ask"),
    ],
)
def test_what_asks_about_a_text_or_denies_it_does_so_for_the_shell(judge, text, verdict):
    assert judge(["bash", "-lc", text]).verdict == verdict
    assert judge(f"bash -c '{text}'").verdict == verdict


@pytest.mark.parametrize(
    "line",
    [
        "bash -c ls x",
        "bash -ic ls",
        "bash -c",
        "bash ls",
        "bash -s -c ls",
        "bash -O extglob -c ls",
        "bash --rcfile x -c ls",
        "bash -c \"$X\"",
        "bash -c *",
        "./bash -c ls",
        "src/bash -c ls",
        "/tmp/bash -c ls",
        "zsh -c ls",
        "X=1 bash -c ls",
        "BASH_ENV=x bash -c ls",
        "bash -c ls < src/x",
        "echo ls | bash -c ls",
        "timeout 5 bash -c ls",
        "cd src && bash -c ls",
        "env bash -c ls",
    ],
)  # fmt: skip
def test_a_shell_that_is_told_more_than_a_text_is_asked_about(judge, line):
    assert judge(line).verdict == "ask"


def test_a_rule_about_the_shell_holds(judge):
    for name in ("blacklist", "ask"):
        policy = {**POLICY, name: {"patterns": ["bash *"]}}
        assert judge("bash -c ls", policy).verdict == ("deny" if name == "blacklist" else "ask")
        assert judge("sh -c ls", policy).verdict == "allow"


def test_a_login_shell_runs_files_of_the_home_folder_which_may_not_be_the_project_s(judge, tmp_path):
    for home in (tmp_path / "project", tmp_path / "project" / "home"):
        assert judge("bash -lc ls", home=home).verdict == "ask"
        assert judge("bash -l -c ls", home=home).verdict == "ask"
        assert judge("bash -c ls", home=home).verdict == "allow"


@pytest.mark.parametrize(
    ("text", "alone", "told"),
    [
        ("ls", "read", "read"),
        ("pytest -q", "project", "project"),
        ("docker ps", None, "read"),  # which shell that is, and what it runs before, no list has looked at
        ("cat src/x", "project", "read"),
    ],
)
def test_no_list_gives_a_text_that_a_shell_is_told_more_than_its_usual_box(judge, text, alone, told):
    for line, expected in ((text, alone), (f"bash -c '{text}'", told), (f"bash -lc '{text}'", told)):
        profile = judge(line).confine
        assert (profile and profile.name) == expected


def test_no_credentials_are_given_to_what_a_shell_is_told(judge):
    assert judge("git fetch").confine.credentials
    found = judge("bash -lc 'git fetch'").confine
    assert (found.name, found.credentials) == ("network", ())

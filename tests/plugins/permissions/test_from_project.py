"""A rule that names a file is about that file however a command names it, and wherever the command runs."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import pytest

from executor_permissions import Policy

SPELLED = {  # a rule, and spellings of what it is about
    "cat secrets/*": ["cat {root}/secrets/k", "cd secrets && cat k", "cd secrets; cat ./k", "(cd src/.. && cat secrets/k)", "cat ../proj/secrets/k", "cat $PWD/secrets/k"],
    "rm -rf src": ["rm -rf {root}/src", 'rm -rf "$PWD"/src/', "cd src && rm -rf ../src", "rm -rf /proc/self/cwd/src", "timeout 5 rm -rf {root}/src", "sh -c 'cd src; rm -fr ../src'", "cd src; rm -rf /proc/self/cwd/../src", "rm -rf /dev/fd/../cwd/src", "rm -rf /proc/net/../cwd/src", "cd src; rm -rf /proc/thread-self/../../cwd/../src", "rm -rf /proc/./self//cwd/src", "cd /proc; rm -rf self/root/{root}/src"],
    "rm -rf src/": ["rm -rf src", "rm -rf ./src/", "cd src && rm -rf {root}/src"],
    "rm -rf ${project}/src": ["rm -rf src", "rm -rf ./src", "cd src && rm -rf ../src", "rm -rf {root}/src"],
    "rm -rf ${project}": ["rm -rf .", "cd src && rm -rf ..", "rm -rf {root}/"],
    "cat /etc/*": ["cd /etc && cat passwd", "cat ../../../../../../../../../../../../etc/passwd", "cat /proc/self/root/etc/passwd"],
    "cat ~/.netrc": ["cd ~; cat .netrc", "cd && cat ./.netrc", "cd ~/x; cat ../.netrc"],
    "dd of=/dev/*": ["cd /dev && dd if=a of=sda", "dd of=/proc/self/root/dev/sda", "cd /dev; dd of=./sda"],
    "git add .env": ["git add {root}/.env", "cd src && git add ../.env", "f() { git add {root}/.env; }; f"],
    "git add src/*": ["cd src && git add a.py", "cd src; git add -f -- a.py"],
    "tool --key=/etc/*": ["tool --key=/proc/self/root/etc/x", "tool --key=/usr/../etc/x"],
    "cp .env /mnt/*": ["cp {root}/.env /mnt/x", "cd src; cp ../.env /mnt/x", "cd /mnt; cp {root}/.env x"],
    "ls /": ["cd /; ls .", "ls {root}/../../../../../../../../.."],
}  # fmt: skip
OTHERS = {
    "cat secrets/*": ["cat src/k", "cd src && cat k", "cat {root}/secretsx", "cd secrets/x && cat ../../k"],
    "rm -rf src": ["cd src && rm -rf a", "rm -rf {root}/src/a", "rm -rf /src"],
    "git push * main": ["cd src && git push origin x"],
    "cat /etc/*": ["cat etc/passwd", "cat {root}/etc/passwd"],
}


@pytest.fixture
def root(tmp_path):
    root = tmp_path.resolve() / "proj"
    for name in ("src", "secrets", ".git"):
        (root / name).mkdir(parents=True)
    return root


def _verdicts(root, rule, commands, listed="blacklist"):
    policy = Policy.from_dict(
        {"version": "1.1", "defaultPolicy": "allow", listed: {"patterns": [rule]}},
        project_root=root,
        home=root.parent / "home",
    )
    commands = [command.replace("{root}", str(root)) for command in commands]
    return {command: policy.decide("runCommand", {"command": command}).verdict for command in commands}


@pytest.mark.parametrize("rule", SPELLED)
def test_a_path_is_forbidden_in_every_spelling_and_from_every_folder(root, rule):
    assert {
        command: verdict for command, verdict in _verdicts(root, rule, SPELLED[rule]).items() if verdict != "deny"
    } == {}


@pytest.mark.parametrize("rule", SPELLED)
def test_it_is_asked_about_in_the_same_ones(root, rule):
    assert set(_verdicts(root, rule, SPELLED[rule], "ask").values()) == {"ask"}


@pytest.mark.parametrize("rule", OTHERS)
def test_another_file_is_not_meant(root, rule):
    assert set(_verdicts(root, rule, OTHERS[rule]).values()) == {"allow"}


def test_the_folder_of_a_call_counts_and_so_do_values_of_arguments(root):
    rules = {"patterns": ["cat secrets/*", "runCommand(command=rm src/*)"], "arguments": {"runCommand": {"command": ["cp secrets/"]}}}  # fmt: skip
    policy = Policy.from_dict({"defaultPolicy": "allow", "blacklist": rules}, project_root=root)
    for folder, command in (
        ("secrets", "cat k"),
        ("src", "rm a.py"),
        ("src", "cat ../secrets/k"),
        ("/", f"rm .{root}/src/a"),
    ):
        assert policy.decide("runCommand", {"command": command, "cwd": folder}).verdict == "deny", command
    assert policy.decide("runCommand", {"command": "cat k", "cwd": "src"}).verdict == "allow"


def test_more_words_in_other_folders_than_are_looked_at_are_asked_about(root):
    command = "cd src; cat " + " ".join(f"f{i}" for i in range(1500))
    assert set(_verdicts(root, "cat secrets/*", [command]).values()) == {"ask"}

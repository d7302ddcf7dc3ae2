"""How shell rules, paths and defaults are judged, one rule at a time."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from executor_permissions import Policy

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def verdict(tmp_path):
    """Judge a command with a policy given by its lists."""

    def verdict(command, default="ask", **lists):
        value = {"defaultPolicy": default, **{name: {"patterns": patterns} for name, patterns in lists.items()}}
        policy = Policy.from_dict(value, project_root=tmp_path, home=tmp_path)
        return policy.decide("runCommand", {"command": command}).verdict

    return verdict


@pytest.mark.parametrize(
    ("pattern", "command", "covered"),
    [
        ("ls *", "ls", True), ("ls *", "lsof", False), ("ls", "ls", True), ("ls", "ls -la", False),
        ("npm test", "npm test -- x", False), ("cat src/*.md", "cat src/a.md", True), ("cat src/*.md", "cat a.md", False),
        ("cat src/*.md", "cat src/a.md /etc/passwd", False), ("cat src/*.md", "cat src/*.md", True), ("echo '*'", "echo '*'", True),
        ("echo '*'", "echo x", False), ("git commit -m 'a b'", "git commit -m 'a b'", True), ("sort -o *", "sort -o x y", True),
        ("find . -delete", "find . -delete", True), ("find . *", "find . -delete", False), ("find * -delete", "find x -delete", True), ("find * -delete", "find -exec -delete", False),
        ("xargs grep *", "ls | xargs grep x", True), ("xargs *", "ls | xargs grep x", False), ("xargs rg *", "ls | xargs rg x", False), ("/usr/bin/git *", "/usr/bin/git log", True), ("/usr/bin/git *", "git log", False),
        ("git *", "/usr/bin/git log", False), ("* --help", "evil --help", False), ("*", "evil", False), ("git config *", "git config x y", True),
        ("sudo apt update", "sudo apt update", True), ("sudo apt *", "sudo apt update", True), ("sudo *", "sudo apt update", False),
        ("bash -c *", "bash -c 'evil'", False), ("bash -c 'echo hi'", "bash -c 'echo hi'", True), ("python *", "python x.py", True),
        ("python *", "python -c x", False), ("python -c *", "python -c x", True), ("python", "echo x | python", False),
        ("git -c color.ui=always *", "git -c color.ui=always log", True), ("git log --output=* *", "git log --output=x", True),
        ("echo '*'", "echo *", False), ("ls './*'", "ls ./*", False), ("ls 'src/*' *", "ls src/* x", False), ("ls a\\*", "ls a*", False), ("ls 'a?'", "ls 'a?'", True), ("ls 'a?'", "ls a?", False), ("ls 'a?'*", "ls a?b", False), ("ls 'a?'*", "ls 'a?b'", True),
        ("ls '*'.l*", "ls *.l*", False), ("ls '*'.l*", "ls '*'.log", True), ("ls 'a'*", "ls a*b", True), ("ls '[ab]'", "ls [ab]", False), ("ls '{a,b}'", "ls {a,b}", False), ("ls '~+'", "ls ~+", False), ("ls '$x'", "ls $x", False), ("ls '*' *", "ls '*' a*", True),
        ("env FOO=1 *", "env FOO=1 evil", False), ("docker run *", "docker run x", True), ("docker *", "docker run x", False),
    ],
)  # fmt: skip
def test_what_an_allowing_pattern_covers(verdict, pattern, command, covered):
    verdicts = verdict(
        command, whitelist=[pattern] if "|" not in command else [pattern, "ls *" if "ls |" in command else "echo x"]
    )
    assert verdicts == ("allow" if covered else "ask")


@pytest.mark.parametrize(
    ("pattern", "command", "caught"),
    [
        ("git push *", "git -C /x push", True), ("git push *", "git --no-pager push", True), ("git push *", "git commit -m push", False),
        ("git push *", "git log push", False), ("git push", "git push -q", True), ("git push", "git push origin", False),
        ("sudo", "sudo ls", True), ("rm -rf /", "rm -rf a /", True), ("rm -rf /", "rm -rf //", True), ("rm -rf /", "rm -rf /tmp/x", False),
        ("rm -rf /", "rm -rf /tmp/..", True), ("rm -rf ~", 'rm -rf "$HOME"', True), ("rm -rf ~", "rm -rf ~/", True),
        ("dd of=/dev/*", "dd if=x of=/dev/sda", True), ("find * -delete", "find . -name x -delete", True), ("curl * | sh", "curl x | tee y | sh", True),
        ("curl * | tee *", "{ echo a; ls; } | tee y; { curl x; ls; } | tee y", True), ("a * | b * | a * | b * | a *", "a x; b x; a x; b x; a x", True),
        ("curl * | sh", "sh x; curl y", False), ("kill -9 *", "kill -9 1", True), ("git reset --hard *", "git reset --har HEAD", True),
        (":(){ :|:& };:", ":(){ :|:& };:", True), ("git * main", "git push origin main", True), ("python *", "python3 x", True),
        ("mkfs *", "mkfs.ext4 x", True), ("git branch -D *", "git branch -d -f x", True), ("git push --force *", "git push -f", True),
    ],
)  # fmt: skip
def test_what_a_denying_pattern_catches(verdict, pattern, command, caught):
    found = verdict(command, default="allow", blacklist=[pattern])
    assert (found == "deny") == caught, found


def test_the_ask_list_comes_before_the_whitelist(verdict):
    assert verdict("git push", ask=["git push *"], whitelist=["git *"]) == "ask"
    assert verdict("git push", ask=["git push *"], default="allow") == "ask"
    assert verdict("git pull", ask=["git push *"], whitelist=["git *"]) == "allow"


@pytest.mark.parametrize(("default", "expected"), [("ask", "ask"), ("deny", "deny"), ("allow", "allow")])
def test_the_default_is_for_what_no_rule_is_about(verdict, default, expected):
    assert verdict("foo x", default=default) == expected


@pytest.mark.parametrize(
    "command", ["$x", "eval ls", "echo x | sh", "ls (", "sh <(ls)", "PATH=/x ls", "alias ls=rm", "`id`"]
)
def test_what_hides_its_command_is_asked_about_even_if_the_default_is_to_allow(verdict, command):
    assert verdict(command, default="allow") == "ask"


def test_a_tool_that_is_allowed_as_a_whole_is_still_asked_about_what_hides(tmp_path):
    policy = Policy.from_dict(
        {"whitelist": {"tools": ["runCommand"]}, "blacklist": {"patterns": ["rm *"]}}, project_root=tmp_path
    )
    verdicts = [
        policy.decide("runCommand", {"command": command}).verdict for command in ("foo", "rm x", "eval $x", "$y")
    ]
    assert verdicts == ["allow", "deny", "ask", "ask"]


def test_decisions_do_not_depend_on_what_was_asked_before_or_on_order(tmp_path):
    value = {"whitelist": {"tools": ["a"], "patterns": ["ls *"]}, "blacklist": {"tools": ["b"], "patterns": ["rm *"]}}
    turned = {key: dict(reversed(list(item.items()))) for key, item in reversed(list(value.items()))}
    one, other = (Policy.from_dict(item, project_root=tmp_path) for item in (value, turned))
    calls = [
        ("a", {}),
        ("b", {}),
        ("c", {}),
        *(("runCommand", {"command": c}) for c in ("ls", "rm x", "ls; foo", "ls && rm y")),
    ]
    assert [one.decide(*call) for call in calls] == [other.decide(*call) for call in reversed(calls)][::-1]


def test_paths_are_resolved_through_links_at_both_ends(tmp_path):
    root, outside = tmp_path / "proj", tmp_path / "outside"
    (root / "data").mkdir(parents=True)
    outside.mkdir()
    (root / "out").symlink_to(outside)
    (tmp_path / "alias").symlink_to(root)
    policy = Policy.from_dict(
        {"whitelist": {"arguments": {"readFile": {"path": ["${project}/"]}}}, "blacklist": {"arguments": {"readFile": {"path": [f"{outside}/x"]}}}},
        project_root=tmp_path / "alias",
    )  # fmt: skip
    verdicts = [policy.decide("readFile", {"path": path}).verdict for path in
                ("data/a", str(root / "data/a"), str(tmp_path / "alias/data/a"), "out/y", "out/x", str(outside / "x"))]  # fmt: skip
    assert verdicts == ["allow", "allow", "allow", "ask", "deny", "deny"]


def test_a_circle_of_links_is_not_allowed(tmp_path):
    os.symlink(tmp_path / "b", tmp_path / "a")
    os.symlink(tmp_path / "a", tmp_path / "b")
    policy = Policy.from_dict(
        {"whitelist": {"arguments": {"readFile": {"path": ["${project}/"]}}}}, project_root=tmp_path
    )
    assert policy.decide("readFile", {"path": "a/x"}).verdict == "ask"


def test_without_tree_sitter_every_command_is_asked_about_but_plain_blacklisted_ones(tmp_path):
    script = f"""
import sys, json
sys.modules["tree_sitter"] = None
sys.path[:0] = {[str(ROOT), str(ROOT / "plugins")]!r}
from executor_permissions import Policy
policy = Policy.from_dict({{"defaultPolicy": "allow", "blacklist": {{"patterns": ["rm -rf *"]}}, "whitelist": {{"patterns": ["ls *"]}}}})
commands = ["ls", "foo", "rm -rf /", "ls; rm -fr x", "'rm' -rf /", "r\\\\m -r -f x", "$(rm -rf x)"]
print(json.dumps([policy.decide("runCommand", {{"command": c}}).verdict for c in commands]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path, timeout=30
    )
    assert json.loads(done.stdout) == ["ask", "ask", "deny", "deny", "deny", "deny", "deny"]


def test_what_reads_commands_is_imported_when_the_first_one_is_judged(tmp_path):
    script = f"""
import sys
sys.path[:0] = {[str(ROOT), str(ROOT / "plugins")]!r}
from executor import ToolCall
from executor_permissions import PermissionPlugin
heavy = {{"tree_sitter", "executor_permissions.judge._judge_shell", "executor_permissions.judge.options"}}
policy = {{"blacklist": {{"patterns": ["rm *"]}}, "whitelist": {{"patterns": ["ls *"]}}}}
plugin = PermissionPlugin(policy=policy, channel_type="none", state_dir={str(tmp_path)!r})
plugin.decide(ToolCall("c", "readFile", {{"path": "x"}}))
print(len(heavy & set(sys.modules)))
plugin.decide(ToolCall("c", "runCommand", {{"command": "ls"}}))
print(len(heavy & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path, timeout=30
    )
    assert done.stdout.split() == ["0", "3"]


def test_the_example_file_works_as_it_stands():
    policy = Policy.load(ROOT / "permissions.example.json", project_root=ROOT)
    assert policy.problems == ()
    for tool in (
        "echo",
        "checkBackgroundTask",
        "getBackgroundOutput",
        "listBackgroundTasks",
        "listBackgroundCapableTools",
    ):
        assert policy.decide(tool, {"task_id": "x"}).verdict == "allow"
    for tool in ("readFile", "listFiles", "searchFiles"):
        assert policy.decide(tool, {"path": "README.md"}).verdict == "allow"
    for tool in ("writeFile", "editFile", "deleteFile"):
        assert policy.decide(tool, {"path": "README.md"}).verdict == "ask"

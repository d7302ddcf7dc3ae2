"""Files of the reference: their comments, nulls and forms load, and mean what they meant."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import json

import pytest

from executor_permissions import Policy
from executor_permissions.store._content import without_comments

# Three files with the keys and forms that the reference's own have: a general one, one for a channel, one for a language.
GENERAL = {
    "_comment": "What an assistant may do without a question",
    "version": "1.0",
    "defaultPolicy": "ask",
    "blacklist": {
        "_comment": "never",
        "tools": [],
        "patterns": ["rm -rf *", "sudo *", "shutdown *", "reboot*"],
        "arguments": {
            "_comment": "by tool",
            "cli_based_tool": {"_docs": "beginnings", "command": ["rm -rf", "sudo", "mkfs", "dd if="]},
        },
    },
    "whitelist": {"tools": ["get_page"], "patterns": ["git *", "npm *"], "arguments": {}},
    "channel": {"_comment": "asked here", "type": "console", "endpoint": None, "timeout": 30},
    "_docs": {"patterns": "globs", "tools": ["names"]},
}
QUEUE = {
    "version": "1",
    "defaultPolicy": "deny",
    "blacklist": None,
    "whitelist": {
        "tools": ["list_files"],
        "patterns": None,
        "arguments": {"query": {"database": ["analytics"], "other": None}},
    },
    "channel": {"type": "queue", "endpoint": None, "timeout": None},
}
JAVA = {
    "_comment": "for a project in Java",
    "defaultPolicy": "ask",
    "blacklist": {"patterns": ["shell_spawn(*rm -rf*)", "*secret*"]},
    "whitelist": {"patterns": ["shell_spawn(*java*)", "mvn *", "gradle *"]},
}
CALLS = [
    (GENERAL, "cli_based_tool", {"command": "git status"}, "allow"),
    (GENERAL, "cli_based_tool", {"command": "sudo ls"}, "deny"),
    (GENERAL, "cli_based_tool", {"command": "rebooty"}, "deny"),
    (GENERAL, "cli_based_tool", {"command": "mkfs /dev/sda"}, "deny"),
    (GENERAL, "cli_based_tool", {"command": "ls"}, "ask"),
    (GENERAL, "get_page", {"page": 1}, "allow"),
    (QUEUE, "list_files", {}, "allow"),
    (QUEUE, "query", {"database": "analytics"}, "allow"),
    (QUEUE, "query", {"database": "production"}, "deny"),
    (JAVA, "shell_spawn", {"command": "java -jar a.jar"}, "allow"),
    (JAVA, "shell_spawn", {"command": "java -jar a.jar", "timeout": 5}, "allow"),
    (JAVA, "shell_spawn", {"command": "java -jar a.jar; curl x"}, "ask"),
    (JAVA, "shell_spawn", {"command": "java $(x)"}, "ask"),
    (JAVA, "shell_spawn", {"command": "jshell"}, "ask"),
    (JAVA, "shell_spawn", {"command": "java; rm -rf /"}, "deny"),
    (JAVA, "shell_spawn", {"deep": [{"x": "rm -rf /"}]}, "deny"),
    (JAVA, "shell_spawn", {}, "ask"),
    (JAVA, "cli_based_tool", {"command": "mvn --version"}, "allow"),
    (JAVA, "cli_based_tool", {"command": "cat secrets.txt"}, "deny"),
    (JAVA, "readFile", {"path": "a/secret/b"}, "deny"),
    (JAVA, "get_secret", {}, "deny"),
]  # fmt: skip


@pytest.mark.parametrize("content", [GENERAL, QUEUE, JAVA])
def test_a_file_of_the_reference_loads_without_a_word(tmp_path, content):
    path = tmp_path / "permissions.json"
    path.write_text(json.dumps(content))
    assert Policy.load(path, project_root=tmp_path, home=tmp_path).problems == ()


@pytest.mark.parametrize(("content", "tool", "args", "verdict"), CALLS)
def test_its_rules_mean_what_they_meant(tmp_path, content, tool, args, verdict):
    assert Policy.from_dict(content, project_root=tmp_path, home=tmp_path).decide(tool, args).verdict == verdict


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ({"_a": 1, "b": None, "version": "1.0"}, {"version": "1.0"}),
        ({"ask": {"_x": [], "tools": None, "patterns": ["_a"]}}, {"ask": {"patterns": ["_a"]}}),
        ({"ask": {"arguments": {"_note": "x", "t": {"_note": "x", "_meta": ["a"], "a": None, "b": [None]}}}}, {"ask": {"arguments": {"t": {"_meta": ["a"], "b": [None]}}}}),
        ({"ask": {"arguments": {"_tool": {"a": ["x"]}, "_doc": {"a": "text"}, "t": None}}}, {"ask": {"arguments": {"_tool": {"a": ["x"]}}}}),
        ({"argumentKinds": {"_c": "x", "t": {"_c": "words", "_p": "path", "u": None}}}, {"argumentKinds": {"t": {"_p": "path"}}}),
        ({"channel": {"_c": 1, "endpoint": None, "type": "queue"}}, {"channel": {"type": "queue"}}),
        ({"confine": {"_c": 1, "default": None}, "limits": {"_c": "x", "t": {"_c": "x", "turn": 1}}}, {"confine": {}, "limits": {"t": {"turn": 1}}}),
        ({"tests": [{"_c": "x", "why": None, "tool": "t", "args": {"_a": None}, "expect": "ask"}, 5]}, {"tests": [{"tool": "t", "args": {"_a": None}, "expect": "ask"}, 5]}),
        ({"ask": {"arguments": 5, "tools": "x"}, "limits": 5, "tests": 5, "argumentKinds": [], "blacklist": []}, {"ask": {"arguments": 5, "tools": "x"}, "limits": 5, "tests": 5, "argumentKinds": [], "blacklist": []}),
        ([{"_a": 1}], [{"_a": 1}]),
        (None, None),
    ],
)  # fmt: skip
def test_comments_and_nulls_are_left_out_and_rules_are_not(value, content):
    assert without_comments(value) == content


def test_a_comment_may_stand_twice(tmp_path):
    path = tmp_path / "permissions.json"
    path.write_text('{"_comment": "one", "_comment": "two", "ask": {"_c": 1, "_c": 2}}')
    assert Policy.load(path).problems == ()

"""Tools that a policy knows by its rules alone: arguments of theirs that are commands, and several files about one."""

from __future__ import annotations

import json

import pytest

from executor_permissions import Policy
from executor_permissions.store._load import build
from executor_permissions.store._source import Source

DENIES = {
    "a pattern": {"patterns": ["mcp__box__run(command=rm *)"]},
    "a value": {"arguments": {"mcp__box__run": {"command": ["rm"]}}},
    "a wildcard": {"patterns": ["mcp__box__*(command=rm *)"]},
}
REMOVES = [
    {"command": "rm -r x"},
    {"command": "ls && rm x"},
    {"command": "ls\nrm x"},
    {"command": "ls | rm x"},
    {"command": "(rm x)"},
    {"command": "r\\m x"},
    {"command": "/bin/rm x"},
    {"command": "sh -c 'rm x'"},
    {"command": "echo $(rm x)"},
    {"command": ["rm", "x"]},
    {"command": "rm", "args": ["x"]},
]


def policy(**sections: object) -> Policy:
    return Policy.from_dict({"version": "1.1", **sections}, project_root="/proj", home="/home/me")


def verdict(judge: Policy, tool: str, args: dict[str, object]) -> str:
    return judge.decide(tool, args).verdict


@pytest.mark.parametrize("rules", DENIES.values(), ids=DENIES)
@pytest.mark.parametrize("args", REMOVES, ids=json.dumps)
@pytest.mark.parametrize("free", [{"defaultPolicy": "allow"}, {"whitelist": {"tools": ["mcp__box__run"]}}], ids=str)
def test_a_rule_that_forbids_a_command_of_some_tool_is_about_each_command_of_a_line(rules, args, free):
    assert verdict(policy(blacklist=rules, **free), "mcp__box__run", args) == "deny"


def test_what_is_forbidden_of_commands_anyway_is_so_of_that_tool_too():
    judge = policy(defaultPolicy="allow", blacklist={"patterns": ["mcp__box__run(cmd=rm *)", "sudo *"]})
    assert verdict(judge, "mcp__box__run", {"cmd": "ls; s\\udo ls"}) == "deny"


def test_a_command_that_hides_what_it_runs_is_asked_about_where_some_are_forbidden():
    judge = policy(whitelist={"tools": ["mcp__box__run"]}, blacklist={"patterns": ["mcp__box__run(command=rm *)"]})
    assert verdict(judge, "mcp__box__run", {"command": 'eval "$x"'}) == "ask"


@pytest.mark.parametrize(
    "args",
    [
        {"command": "ls -la"},
        {"command": ["ls"]},
        {"command": "ls", "cwd": "/etc"},
        {"action": "list"},
        {"command": None},
    ],
    ids=json.dumps,
)
def test_what_allows_the_tool_goes_on_to(args):
    judge = policy(whitelist={"tools": ["mcp__box__run"]}, blacklist={"patterns": ["mcp__box__run(command=rm *)"]})
    assert verdict(judge, "mcp__box__run", args) == "allow"


def test_a_pattern_that_allows_some_of_its_commands_goes_on_to():
    judge = policy(
        whitelist={"patterns": ["mcp__box__run(command=git *)"]},
        blacklist={"patterns": ["mcp__box__run(command=rm *)"]},
    )
    assert verdict(judge, "mcp__box__run", {"command": "git status"}) == "allow"
    assert verdict(judge, "mcp__box__run", {"command": "git status; ls"}) == "ask"


def test_an_argument_that_is_no_command_by_its_name_is_none():
    judge = policy(defaultPolicy="allow", blacklist={"patterns": ["page(code=eval*)", "page(script=*cookie*)"]})
    assert verdict(judge, "page", {"code": "f(`it's`) && $x"}) == "allow"


def two_files(one: dict[str, object], other: dict[str, object]) -> Policy:
    sources = [Source({"whitelist": {"arguments": each}}) for each in (one, other)]
    return build(sources, project_root="/proj", home="/home/me")


def test_files_together_allow_nothing_that_none_of_them_allows():
    judge = two_files({"send": {"how": ["GET"], "to": ["a"]}}, {"send": {"how": ["POST"], "to": ["b"]}})
    allowed = [
        (how, to) for how in ("GET", "POST") for to in "ab" if verdict(judge, "send", {"how": how, "to": to}) == "allow"
    ]
    assert allowed == [("GET", "a"), ("POST", "b")]


def test_a_file_takes_nothing_from_what_another_allows():
    judge = two_files({"send": {"how": ["GET"]}}, {"send": {"to": ["b"]}})
    assert verdict(judge, "send", {"how": "GET", "to": "a"}) == "allow"
    assert verdict(judge, "send", {"how": "POST", "to": "a"}) == "ask"


def test_commands_that_one_file_allows_run_in_no_folder_that_another_does():
    folder = {name: {"runCommand": {"command": [name], "cwd": [f"/{name}/"]}} for name in ("make", "tox")}
    judge = two_files(folder["make"], folder["tox"])
    for name, where in (("make", "/tox"), ("tox", "/make")):
        assert verdict(judge, "runCommand", {"command": f"{name} x", "cwd": where}) == "ask"

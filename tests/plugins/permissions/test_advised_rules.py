"""What is advised in place of a rule in another notation, taken at its word: it loads, and does what was meant."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import ast
import re

import pytest

from executor.errors import PermissionConfigError
from executor_permissions import Policy

COMMANDS = ("ls", "make", "rm", "mv", "git push", "git pull", "git status", "kubectl get pods", "kubectl get services")
ENDS = ("", " x", "x", " --stat", " a.txt", " ab.txt", " -rf out", " x --stat", " .x")
CALLS = [command + end for command in COMMANDS for end in ENDS]


def _spread(command):
    """A command in each notation, and the regular expression that says what is meant there from its beginning on."""
    whole, begins = f"{command}$", rf"{command}( |$)"
    return {
        f"^{command}$": whole, rf"^{command}\b": begins, f"^{command}": command,
        f"^{command}.*$": command, rf"^{command}\s.*": begins, rf"\b{command}\b": begins, f"{command}$": whole,
        f"Bash({command}:*)": begins, f"Bash({command})": whole, f"Shell({command} *)": begins, f"{command}:*": begins,
        f"Bash({command}:*), Bash(cat:*)": begins, f"Bash(^{command}$)": whole, f"`{command}` *": begins,
        f'"{command}" *': begins, f"{command} [x|y]": f"{command} [xy]$", f"{command} (x|--stat)": rf"{command} (x|--stat)$",
        f"{command} [a-z].txt": rf"{command} [a-z]\.txt$", f"{command} [!b]*": rf"{command} [^b]",
        f"{command} <file>": rf"{command} [^ ]+$", f"{command} $1": rf"{command} [^ ]+$", f"{command} [file]": f"{command}( |$)",
        f"^({command}|cat)$": whole, rf"^({command}|cat)\b": begins, f"({command}|cat)": whole, f"^{command}$|^cat$": whole,
    }  # fmt: skip


MEANT = {
    **{rule: meant for command in COMMANDS for rule, meant in _spread(command).items() if command != "rm" or ":*" not in rule},
    r"^(rm|mv)\b": r"(rm|mv)( |$)", "git (push|pull)": "git (push|pull)$", "git (push|pull) *": "git (push|pull)( |$)",
    "rm [[:alpha:]].txt": r"rm [a-z]\.txt$", r"^rm [\w].txt$": r"rm \w\.txt$", "rm: -rf *": "rm -rf( |$)", ".*push.*": ".*push", "rm.*": "rm", "git [!p]*": "git [^p]", "rm -[rf]* *": "rm -[rf]",
    "kubectl get [pods|services]": "kubectl get (pods|services)$", "^git .* --stat$": "git .* --stat$",
    r"^git\s+(push|pull)\b.*$": r"git\s+(push|pull)( |$)", "rm|mv": "(rm|mv)$", "rm a.*": r"rm a\.", "ls .*": r"ls \.",
    "runCommand(rm *)": "rm( |$)", "deny: rm *": "rm( |$)", "-rf": "-rf$", "rm {a,b}": "rm [ab]$", "$ rm *": "rm( |$)",
    "Bash(git push)": "git push$", "Bash(cd x && rm *)": "cd x && rm", "Bash(npm run \"x)": "npm run", "rm [abc]": "rm [abc]$",
}  # fmt: skip
SURE = [r"^(rm|mv)\b", "git (push|pull)", "git (push|pull) *", "^ls$", "^git push$", "Bash(git push)", "Bash(ls:*)", "rm: -rf *"]  # fmt: skip


def load(patterns, kind):
    default = "ask" if kind == "whitelist" else "allow"
    content = {"version": "1.2", "defaultPolicy": default, kind: {"patterns": patterns}}
    return Policy.from_dict(content, project_root="/proj", home="/home/me")


def told(rule, kind):
    """What is said about a rule, be it odd or no rule."""
    try:
        return "\n".join(load([rule], kind).problems)
    except PermissionConfigError as error:
        return str(error)


def advised(rule, kind):
    written = told(rule, kind).rpartition(": write ")[2] if ": write " in told(rule, kind) else ""
    return [ast.literal_eval(one) for one in re.findall(r"'[^']*'|\"[^\"]*\"", written.partition("; ")[0])]


def decided(policy):
    return {call: policy.decide("runCommand", {"command": call}).verdict for call in CALLS}


@pytest.mark.parametrize("kind", ["whitelist", "ask", "blacklist"])
@pytest.mark.parametrize("rule", MEANT)
def test_an_advised_rule_loads_is_not_told_and_means_what_was_written(rule, kind):
    rules = advised(rule, kind) if "'?'" not in told(rule, kind) else []
    if not rules or rules == ["*"]:
        return
    policy = load(rules, kind)
    assert [one for one in policy.problems if "with any words" not in one] == []
    meant = {call for call in CALLS if re.match(MEANT[rule], call)}
    does = {"whitelist": "allow", "ask": "ask", "blacklist": "deny"}[kind]
    caught = {call for call, verdict in decided(policy).items() if verdict == does}
    assert caught <= meant if kind == "whitelist" else caught >= meant


@pytest.mark.parametrize("kind", ["whitelist", "blacklist"])
@pytest.mark.parametrize("rule", SURE)
def test_where_it_is_sure_what_was_meant_it_is_advised(rule, kind):
    assert advised(rule, kind)


@pytest.mark.parametrize("rule", ["git (push|pull)", "rm$", "echo $1", "rm x[0-9].txt", *SURE])
def test_a_rule_that_forbids_next_to_nothing_is_told(rule):
    assert told(rule, "blacklist")


@pytest.mark.parametrize("rule", ['"a b" c', "'/opt/my tools/run' *", "ls *.*", "find . -name '[0-9]*'"])
@pytest.mark.parametrize("kind", ["whitelist", "blacklist"])
def test_what_is_meant_as_it_stands_is_not_told_as_another_notation(rule, kind):
    assert not re.search("regular|blanks|brackets", told(rule, kind))


@pytest.mark.parametrize("rule", ["rm [a-z].txt", "rm <file>", "rm a.*", "runCommand(command=git *, cwd=/x)", ".*push.*", "rm [abc]"])  # fmt: skip
def test_what_is_not_sure_to_allow_no_more_is_not_advised(rule):
    assert told(rule, "whitelist")
    assert advised(rule, "whitelist") == []


FILES = [
    "/proj/.env",
    "/proj/a/.env",
    "/proj/src/a.py",
    "/proj/src/b/a.py",
    "/proj/a.lock",
    "/home/me/.ssh/id",
    "/etc/x",
]
# What each is about there, as beginnings or ends of paths.
THEIRS = {
    "Read(~/.ssh/**)": ("readFile", r"/home/me/\.ssh/"), "Read(.env)": ("readFile", r"/proj/(.*/)?\.env$"),
    "Read(./.env)": ("readFile", r"/proj/\.env$"), "Edit(**/*.lock)": ("editFile", r"/proj/.*\.lock$"),
    "Write(src/**)": ("writeFile", "/proj/src/"), "Edit(src/)": ("writeFile", "/proj/src/"), "Read(//etc/x)": ("readFile", "/etc/x$"),
    "Glob(src/**)": ("listFiles", "/proj/src/"), "Grep(src/**)": ("searchFiles", "/proj/src/"), "Read(/src/**)": ("readFile", "/proj/src/"),
    "MultiEdit(~/.ssh/*)": ("editFile", r"/home/me/\.ssh/"), "Read(~/.ssh/)": ("readFile", r"/home/me/\.ssh/"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["whitelist", "blacklist"])
@pytest.mark.parametrize("rule", THEIRS)
def test_a_rule_about_files_of_another_host_is_advised_for_our_tools(rule, kind):
    rules = advised(rule, kind)
    assert rules or (rule, kind) == ("Read(/src/**)", "whitelist")
    policy = load(rules, kind)
    assert policy.problems == ()
    tool, meant = THEIRS[rule]
    caught = {file for file in FILES if policy.decide(tool, {"path": file}).verdict in ("allow", "deny")}
    if kind == "blacklist":
        caught = {file for file in FILES if policy.decide(tool, {"path": file}).verdict == "deny"}
    about = {file for file in FILES if re.match(meant, file)}
    assert caught <= about if kind == "whitelist" else caught >= about


def test_a_value_is_advised_as_a_pattern_only_where_no_other_argument_is_lost():
    arguments = {"deploy": {"target": ["stag*"], "dry_run": [True]}}
    content = {"whitelist": {"arguments": arguments}}
    assert "deploy(" not in "".join(Policy.from_dict(content, project_root="/proj").problems)

"""Our own command, run by a tool: what answers, grants, trusts, changes, attaches, logs in or serves is denied."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import pytest

from executor_permissions import Policy

CHANGING = [
    "permissions trust", "permissions untrust", "permissions add 'rm *'", "permissions remove --deny 'sudo *'", "permissions import x.json", "permissions init",
    "permissions grants revoke --all", "permissions session allow x", "permissions edit", "approvals answer 5 yes", "approvals watch", "tasks attach t1", "tasks send t1 yes",
    "mcp add s -- x", "mcp add-json s '{}'", "mcp import x", "mcp remove s", "mcp login s", "mcp test s", "plugins install x", "plugins new x", "serve", "serve --http", "console", "login",
    "call runCommand --yes command=x", "chain -y x.json", "--verbose permissions trust",
]  # fmt: skip
LOOKING = [
    "", "--version", "version", "doctor", "tools list", "tools show x", "permissions show", "permissions check t", "permissions grants", "permissions grants list",
    "permissions session status", "permissions log", "permissions trust --help", "plugins list", "tasks list", "tasks output t1", "mcp list", "call echo text=hi", "approvals list",
]  # fmt: skip
SPELLINGS = [
    "toolexec {}", "/usr/bin/toolexec {}", "./venv/bin/toolexec {}", "'tool'exec {}", "tool\\exec {}", "env A=1 toolexec {}", "command toolexec {}", "nohup toolexec {}", "timeout 5 toolexec {}",
    "python -m executor {}", "python3 -m executor {}", "python3.11 -m executor {}", "/usr/bin/python3 -m executor {}", "python -mexecutor {}", "python -Im executor {}", "python -I -m executor {}",
    "python -W ignore -m executor {}", "python -X utf8 -m executor {}", "python -m executor.cli {}", "python -m executor.__main__ {}", "python executor/__main__.py {}", "python /x/bin/toolexec {}",
    "pypy3 -m executor {}", "ls; toolexec {}", "ls && (toolexec {})", "echo $(toolexec {})", "sh -c \"toolexec {}\"", "uv run toolexec {}", "if true; then toolexec {}; fi",
]  # fmt: skip


@pytest.fixture
def decide(tmp_path):
    """Judge a command with a policy that allows the shell tool as a whole."""
    policy = Policy.from_dict(
        {"defaultPolicy": "allow", "whitelist": {"tools": ["runCommand"]}}, project_root=tmp_path, home=tmp_path
    )
    return lambda **args: policy.decide("runCommand", args)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_changes_something_is_denied_in_every_spelling(decide, spelling):
    commands = [spelling.format(command) for command in CHANGING if "'" not in command or '"' not in spelling]
    assert [command for command in commands if decide(command=command).verdict != "deny"] == []


def test_what_changes_something_is_denied_as_words_too(decide):
    assert decide(argv=["toolexec", "permissions", "trust"]).rule == "(toolexec's own commands)"
    assert decide(argv=["python3", "-m", "executor", "serve"]).verdict == "deny"


def test_what_only_looks_is_as_free_as_other_commands(decide):
    assert [command for command in LOOKING if decide(command=f"toolexec {command}").verdict != "allow"] == []
    assert [command for command in LOOKING if decide(command=f"python -m executor {command}").verdict == "deny"] == []


@pytest.mark.parametrize(
    "command", ["toolexec $x", "toolexec permissions $x", "toolexec some-plugin x", "xargs toolexec permissions"]
)
def test_what_may_change_something_is_asked_about_and_never_by_itself(decide, command):
    decision = decide(command=command)
    assert decision.verdict == "ask"
    assert decision.maybe_denied


@pytest.mark.parametrize(
    "command", ["echo toolexec serve", "grep -r 'toolexec serve' docs", "python -m executors serve", "python x.py serve", "toolexec2 serve", "python -m pytest executor", "cat executor/__main__.py"]
)  # fmt: skip
def test_what_only_names_it_is_another_command(decide, command):
    assert decide(command=command).verdict == "allow"

"""What surfaces show of the policy."""

from __future__ import annotations

import json

import pytest

from executor.errors import PermissionConfigError
from executor_permissions import Desk, Grant, PermissionPlugin
from executor_permissions.store._load import default_state_dir


@pytest.fixture
def desk(own_folders, tmp_path):
    folder = own_folders / "config" / "toolexec"
    folder.mkdir(parents=True)
    policy = {"whitelist": {"patterns": ["git status *"]}, "blacklist": {"patterns": ["git push --force *"]}}
    (folder / "permissions.json").write_text(json.dumps(policy))
    return Desk(tmp_path)


def command(text):
    return {"command": text}


def test_lasting_grants_of_all_projects_and_terminals_are_listed_and_revoked(desk, tmp_path):
    book = PermissionPlugin(terminal=False, session_id="another terminal").grants
    common = {"created": 1.0, "uses_left": 3}
    book.add(
        Grant("g1", "act", "allow", "tool", "act", "user", **common),
        Grant("g2", "act", "deny", "tool", "act", "project", project="/elsewhere", **common),
        Grant("g3", "act", "allow", "tool", "act", "session", session="another terminal", created=9e9),
        Grant("g4", "act", "allow", "tool", "act", "session"),  # of this process alone
        Grant("g5", "act", "allow", "tool", "act", "user", expires=1.0),
    )
    assert desk.grants_file.parent == default_state_dir()
    assert [grant["id"] for grant in desk.grants()] == ["g3", "g2", "g1"]
    assert desk.grants()[2]["uses_left"] == 3
    assert desk.revoke("g2")
    assert not desk.revoke("g2")
    assert [grant["id"] for grant in desk.grants()] == ["g3", "g1"]


def test_a_decision_is_explained_part_by_part(desk):
    told = desk.explain("runCommand", command("git status -s && git push --force x && npm test"))
    assert told["decision"] == "deny"
    assert [(part["text"], part["decision"]) for part in told["parts"]] == [
        ("git status -s", "allow"), ("git push --force x", "deny"), ("npm test", "ask"),
    ]  # fmt: skip
    assert told["where"].endswith("permissions.json:1")
    assert told["parts"][1]["mend"] == "to change that: toolexec permissions remove --deny 'git push --force *'"
    assert told["parts"][2]["mend"] == "to allow it: toolexec permissions add 'npm test'"
    assert desk.explain("act", {})["decision"] == "ask"


def test_what_was_answered_and_said_for_the_session_is_explained_too(desk, tmp_path):
    plugin = PermissionPlugin(terminal=False, session_id="mine")
    plugin.grants.add(
        Grant("g1", "runCommand", "deny", "shell", "npm test *", "user"),
        Grant("g2", "runCommand", "allow", "shell", "npm run x", "user"),
        Grant("g3", "act", "deny", "tool", "act", "user"),
    )
    plugin.session.deny("git status -s")
    desk = Desk(tmp_path, session_id="mine")
    lines = ("npm test", "npm run x", "git status -s", "git status")
    told = {line: desk.explain("runCommand", command(line)) for line in lines}
    assert [told[line]["decision"] for line in lines] == ["deny", "allow", "deny", "allow"]
    assert told["git status -s"]["parts"][0]["mend"] == "to change that: toolexec permissions session clear"
    assert desk.explain("act", {})["decision"] == "deny"


@pytest.mark.parametrize(
    "arguments",
    [{"command": "git status", "cwd": "/"}, {"command": "ls", "cwd": "/"}, {"command": "ls", "host": "x"}],
)
def test_no_rule_is_named_for_a_part_that_it_would_not_let_run(desk, arguments):
    told = desk.explain("runCommand", arguments)
    assert told["decision"] == "ask"
    assert [part["mend"] for part in told["parts"] if "runCommand" in (part["mend"] or "")] == []
    assert told["parts"][0]["mend"] in (None, "to allow it: toolexec permissions add '\"ls\"'")


@pytest.mark.parametrize("name", ["runCommand", "mcp__a__b", "make"])
def test_what_is_kept_of_a_command_of_one_word_is_read_as_no_tool(desk, tmp_path, name):
    told = desk.read_rule(name, ("runCommand", command(name), str(tmp_path)))
    assert told["means"] == f"allows the command {name} without anything behind it"
    assert (told["decides"], told["covers"]) == (True, "")
    assert "tool" in desk.read_rule(name)["means"]


def test_a_rule_is_read_and_tried_on_a_call(desk, tmp_path):
    told = desk.read_rule("git *", ("runCommand", command("git log"), str(tmp_path)))
    assert told["means"] == "allows the command git, whatever follows it"
    assert "throws changes away" in told["covers"]
    assert told["decides"] is True
    assert desk.read_rule("git log", ("runCommand", command("git log -p"), str(tmp_path)))["decides"] is False
    assert desk.read_rule("git log")["decides"] is None
    wrong = desk.read_rule("git 'log", ("runCommand", command("git log"), str(tmp_path)))
    assert (wrong["means"], wrong["decides"], len(wrong["problems"])) == ("", False, 1)


def test_records_that_a_rule_would_have_let_run(desk):
    records = [
        {"stage": "permission-check", "tool": "runCommand", "args": command(text), "allowed": allowed}
        for text, allowed in (("npm test", True), ("npm test", False), ("git status", False), ("rm x", False))
    ]
    records.append({"stage": "call-end", "tool": "runCommand"})
    assert desk.would_allow("npm test", records) == [True, True, False, False, False]
    assert desk.would_allow("git push *", [{**records[0], "args": command("git push --force x")}]) == [False]
    with pytest.raises(PermissionConfigError):
        desk.would_allow("npm 'test", records)

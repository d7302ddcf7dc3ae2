"""Permission on the command line: the policy in front of calls, and ``toolexec permissions``."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import sys
from pathlib import Path

import pytest

from executor.cli import _policy
from executor.registry._load import BUNDLED
from executor_permissions import Policy

EXAMPLE = Path(__file__).parents[2] / "permissions.example.json"
QUESTION = "? more > "
RULES = {
    "blacklist": {"patterns": ["curl * | sh", "rm -rf *"]},
    "ask": {"patterns": ["git push *"]},
    "whitelist": {"patterns": ["git status *", "true"]},
}


@pytest.fixture
def dry(run):
    """What ``call --dry-run --json`` says, and the exit code."""

    def invoke(*words):
        result = run("call", *words, "--dry-run", "--json")
        return json.loads(result.stdout), result.exit_code

    return invoke


# The gate.


def test_without_a_policy_bundled_tools_that_read_run_and_others_are_refused(run):
    assert run("call", "listFiles", "path=/").exit_code == 0
    assert run("call", "runCommand", "command=true").exit_code == 3


def test_without_a_policy_nobody_believes_what_other_plugins_say_about_their_tools(run, tools, monkeypatch):
    monkeypatch.delenv("TOOLEXEC_PERMISSIONS")
    assert run("call", "escape").exit_code == 3
    assert run("call", "escape", "--yes").exit_code == 0


def test_whitelist_lets_a_call_run_that_nobody_is_asked_about(run, policy):
    policy(RULES)
    result = run("call", "runCommand", "command=true && true", "--json")
    assert (result.exit_code, json.loads(result.stdout)["_permission"]["method"]) == (0, "whitelist")


def test_yes_answers_what_is_asked_and_not_what_is_denied(run, policy):
    policy(RULES)
    assert run("call", "runCommand", "command=false; true", "--yes").exit_code == 0
    denied = run("call", "runCommand", "command=true; rm -fr nothing", "--yes")
    assert (denied.exit_code, "'rm -rf *' of the blacklist" in denied.stderr) == (3, True)


def test_yes_does_not_overrule_the_blacklist_for_a_detached_call_or_one_in_a_carrier(run, policy):
    policy(RULES)
    inner = ["tool_name=runCommand", 'arguments:={"command": "rm -r -f nothing"}']
    for words in (["runCommand", "command=rm -rf nothing", "--detach"], ["startBackgroundTask", *inner]):
        assert run("call", *words, "--yes").exit_code == 3, words


def test_refusal_without_a_terminal_names_the_rules_that_would_allow_the_call(run, policy):
    path = policy({})
    result = run("call", "runCommand", "command=true && ls -la")
    assert result.exit_code == 3
    assert """toolexec permissions add '"true"'; toolexec permissions add 'ls -la'""" in result.stderr
    for rule in ('"true"', "ls -la"):
        assert run("permissions", "add", rule).exit_code == 0
    assert run("call", "runCommand", "command=true && ls -la").exit_code == 0, path.read_text()


@pytest.mark.parametrize("command", ["writeFile", "runCommand", "echo", "mcp__a__b", "mcp__a__b x", "-x y", "-x"])
@pytest.mark.parametrize("words", [("call",), ("permissions", "explain")])
def test_rule_that_is_proposed_for_a_command_is_about_no_tool_of_its_name(run, dry, policy, words, command):
    policy({})
    told = run(*words, "runCommand", f"command={command}")
    found = re.search(r"toolexec (permissions add .*)", told.stderr + told.stdout)
    added = run(*shlex.split(found[1]))
    assert (added.exit_code, added.stderr) == (0, ""), added.stderr
    assert dry("runCommand", f"command={command}")[0]["decision"] == "allow"
    for other in (("writeFile", "path=x", "content=y"), ("runCommand", "command=touch x"), ("echo", "text=x")):
        assert dry(*other)[0]["decision"] == "ask", other


def test_rule_for_a_tool_that_is_proposed_allows_it(run, policy):
    policy({})
    refused = run("call", "echo", "text=a b")
    assert """toolexec permissions add 'echo(text="a b")'""" in refused.stderr
    assert run("permissions", "add", 'echo(text="a b")').exit_code == 0
    assert run("call", "echo", "text=a b").exit_code == 0
    assert run("call", "echo", "text=a c").exit_code == 3


def test_ask_rule_has_no_rule_that_would_allow_the_call(run, policy):
    policy(RULES)
    result = run("call", "runCommand", "command=git push")
    assert (result.exit_code, "permissions add" in result.stderr) == (3, False)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{\n "whitelist": {"pattern": []}}', ":2: whitelist.pattern: unknown key 'pattern': did you mean 'patterns'?"),
        ('{"a":\n', ":2: is not JSON"),
    ],
)
def test_policy_that_does_not_load_ends_with_2_and_nothing_runs(run, policy, tmp_path, content, said):
    path = policy(content)
    for words in (["--yes"], ["--yes", "--detach"], ["--dry-run"]):
        result = run("call", "runCommand", f"command=touch {tmp_path}/mark", *words)
        assert (result.exit_code, f"{path}{said}" in result.stderr) == (2, True), result.output
    assert not (tmp_path / "mark").exists()


def test_with_json_the_problems_of_a_policy_are_a_list(run, policy):
    path = policy('{"a": 1, "b": 2}')
    details = json.loads(run("call", "echo", "text=a", "--json").stderr)["error"]["details"]
    assert (details["path"], len(details["problems"])) == (str(path), 2)


def test_policy_that_is_named_and_missing_is_wrong_usage(run, monkeypatch, tmp_path):
    monkeypatch.setenv("TOOLEXEC_PERMISSIONS", str(tmp_path / "missing.json"))
    assert run("call", "echo", "text=a").exit_code == 2


@pytest.fixture
def no_plugin(monkeypatch):
    monkeypatch.setattr(_policy, "PLUGIN", "executor_there_is_no_such_plugin")
    monkeypatch.setitem(BUNDLED, "permissions", "executor_there_is_no_such_plugin")


def test_without_the_plugin_all_but_reading_is_asked_about(run, no_plugin):
    assert run("call", "echo", "text=a").exit_code == 0
    assert run("call", "runCommand", "command=true").exit_code == 3
    assert run("call", "runCommand", "command=true", "--yes").exit_code == 0
    assert run("permissions", "show").exit_code == 4


def test_policy_without_the_plugin_stops_every_call(run, no_plugin, policy):
    policy(RULES)
    result = run("call", "runCommand", "command=rm -rf nothing", "--yes")
    assert (result.exit_code, "cannot be imported" in result.stderr) == (2, True)


# At a terminal.


def test_question_shows_each_part_and_what_always_would_remember(terminal, policy):
    policy(RULES)
    one = terminal("call", "runCommand", "command=git status && ls -la")
    shown = one.read_until(QUESTION)
    assert "[ok ] git status   (git status *)" in shown
    assert "[ASK] ls -la   (no rule allows it)" in shown
    assert "always/never would remember: ls -la" in shown
    assert "always is for: this project" in shown
    assert shown.endswith("Run runCommand: git status && ls -la?\ny once · n no · a always · ? more > ")
    one.type("no\n")
    assert one.end() == 3


def test_comment_refuses_the_call_with_its_words(terminal):
    one = terminal("call", "runCommand", "command=true")
    one.read_until(QUESTION)
    one.type("c: use false instead\n")
    assert one.end() == 3
    assert "use false instead" in one.shown.rpartition("error:")[2]


def test_always_is_kept_for_the_project_until_it_is_revoked(terminal, run, run_json, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where the terminal is
    one = terminal("call", "runCommand", "command=ls /")
    one.read_until(QUESTION)
    one.type("a\n")
    assert one.end() == 0, one.shown
    assert run("call", "runCommand", "command=ls /").exit_code == 0
    assert run("call", "runCommand", "command=ls /tmp").exit_code == 3
    [grant] = run_json("permissions", "grants", "list")
    assert (grant["rule"], grant["scope"], grant["project"]) == ("ls /", "project", str(tmp_path))
    assert "ls /" in run("permissions", "grants", "list").stdout
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    monkeypatch.chdir(other)
    assert run("call", "runCommand", "command=ls /").exit_code == 3
    assert run("permissions", "grants", "revoke", grant["id"]).exit_code == 0
    monkeypatch.chdir(tmp_path)
    assert run("call", "runCommand", "command=ls /").exit_code == 3
    assert run("permissions", "grants", "revoke", grant["id"]).exit_code == 2


@pytest.mark.parametrize(
    ("answer", "scope", "ends", "uses"),
    [
        ("always user", "user", False, None),
        ("always for 1h", "project", True, None),
        ("a user 3 times", "user", False, 2),
    ],
)
def test_always_says_how_far_and_how_long_it_holds(
    terminal, run_json, tmp_path, monkeypatch, answer, scope, ends, uses
):
    monkeypatch.chdir(tmp_path)
    one = terminal("call", "runCommand", "command=ls /")
    one.read_until(QUESTION)
    one.type(f"{answer}\n")
    assert one.end() == 0
    [grant] = run_json("permissions", "grants", "list")
    assert (grant["scope"], grant["expires"] is not None, grant["uses_left"]) == (scope, ends, uses)


def test_always_for_the_session_holds_at_this_terminal_and_no_other(terminal, run):
    command = f"{sys.executable} -m executor call runCommand 'command=ls /'"
    one = terminal.shell(f"{command}; {command}; read line; {command}")
    one.read_until(QUESTION)
    one.type("always session\n")
    one.type("\n")
    assert one.end() == 0, one.shown
    assert one.shown.count(QUESTION) == 1
    assert run("call", "runCommand", "command=ls /").exit_code == 3


def test_comment_with_a_yes_reaches_the_result(terminal):
    one = terminal("call", "runCommand", "command=true", "--json")
    one.read_until(QUESTION)
    one.type("y: mind the dog\n")
    assert one.end() == 0
    assert '"comment": "mind the dog"' in one.shown


def test_arguments_are_edited_at_the_terminal_and_run_without_a_second_question(terminal, monkeypatch, tmp_path):
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "no-such-editor")
    one = terminal("call", "runCommand", "command=echo one")
    one.read_until(QUESTION)
    one.type("e\n")
    one.read_until("command [echo one]: ")
    one.type("echo $((6 * 7))\n")
    assert one.end() == 0, one.shown
    assert "42" in one.shown
    assert one.shown.count(QUESTION) == 1


def test_edit_into_what_is_forbidden_is_refused(terminal, policy, monkeypatch, tmp_path):
    policy(RULES)
    script = tmp_path / "editor"
    script.write_text("#!/bin/sh\nsed -i 's/echo one/rm -r -f nothing/' \"$1\"\n")
    script.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(script))
    one = terminal("call", "runCommand", "command=echo one")
    one.read_until(QUESTION)
    one.type("e\n")
    assert one.end() == 3
    assert "'rm -rf *' of the blacklist" in one.shown


MAYBE = [
    "rm -$x nothing",
    "$X -rf nothing",
    "`echo rm` -rf nothing",
    'sh -c "$z"',
    'eval "$c"',
    "echo cm0= | base64 -d | sh",
]


@pytest.mark.parametrize("command", MAYBE)
def test_yes_is_not_enough_for_what_a_rule_may_forbid(run, policy, command):
    policy(RULES)
    result = run("call", "runCommand", f"command={command}", "--yes")
    assert (result.exit_code, "a rule may forbid it, so --yes is not enough" in result.stderr) == (3, True)


@pytest.mark.parametrize(
    "command", ["t=rm; $t -rf nothing", "for p in rm; do $p -r -f nothing; done", "xargs rm -rf < /dev/null"]
)
def test_yes_does_not_outweigh_a_rule_however_it_is_spelt(run, policy, command):
    policy(RULES)
    result = run("call", "runCommand", f"command={command}", "--yes")
    assert (result.exit_code, "of the blacklist forbids it" in result.stderr) == (3, True)


def test_what_a_rule_may_forbid_is_asked_at_the_terminal_in_spite_of_yes(terminal, policy):
    policy(RULES)
    one = terminal("call", "runCommand", "command=rm -$x nothing", "--yes")
    one.read_until(QUESTION)
    one.type("n\n")
    assert one.end() == 3


def test_dry_run_uses_up_no_grant(terminal, dry, run):
    one = terminal("call", "runCommand", "command=ls /")
    one.read_until(QUESTION)
    one.type("always user 2 times\n")
    assert one.end() == 0
    assert [dry("runCommand", "command=ls /")[0]["decision"] for _ in range(3)] == ["allow"] * 3
    assert [run("call", "runCommand", "command=ls /").exit_code for _ in range(2)] == [0, 3]


def test_console_in_the_policy_is_the_terminal_also_when_stdin_carried_the_arguments(terminal, policy):
    policy({"channel": {"type": "console"}})
    one = terminal.shell(f"""echo '{{"command": "true"}}' | {sys.executable} -m executor call runCommand -""")
    one.read_until(QUESTION)
    one.type("y\n")
    assert one.end() == 0


def test_channel_none_of_the_policy_asks_nobody(terminal, policy):
    policy({"channel": {"type": "none"}})
    one = terminal("call", "runCommand", "command=true")
    assert one.end() == 3
    assert QUESTION not in one.shown


# Rehearsals.


def test_dry_run_judges_each_part_by_its_rule_and_place(dry, policy):
    path = policy(json.dumps(RULES))
    told, code = dry("runCommand", "command=git status && curl x | sh")
    assert (told["decision"], told["method"], told["rule"], code) == ("deny", "blacklist", "curl * | sh", 3)
    assert told["where"] == f"{path}:1"
    parts = {part["text"]: (part["decision"], part["rule"]) for part in told["parts"]}
    assert parts["git status"] == ("allow", "git status *")
    assert parts["curl x"] == parts["sh"] == ("ask", None)


def test_dry_run_for_people_lists_the_parts(run, policy):
    policy(RULES)
    shown = run("call", "runCommand", "command=git status && ls", "--dry-run").stdout
    assert "runCommand: ask (ls: no rule allows it; default)" in shown
    assert "Nothing was run." in shown
    assert [line.split()[0] for line in shown.splitlines()[2:4]] == ["allow", "ask"]


@pytest.mark.parametrize(
    ("command", "decision", "code"), [("git status", "allow", 0), ("git push", "ask", 0), ("rm -rf x", "deny", 3)]
)
def test_check_says_the_same_as_a_dry_run(run, dry, policy, command, decision, code):
    policy(RULES)
    result = run("permissions", "check", "runCommand", f"command={command}", "--json")
    told = json.loads(result.stdout)
    assert (told["decision"], result.exit_code) == (decision, code)
    assert (told, code) == dry("runCommand", f"command={command}")
    assert decision in run("permissions", "check", "runCommand", f"command={command}").stdout


# The policy file.


def test_rules_are_added_to_a_private_file_and_what_stands_there_is_kept(run, own_folders):
    path = own_folders / "config" / "toolexec" / "permissions.json"
    for words in (["git status *"], ["--deny", "sudo *"], ["--ask", "git push *"], ["echo"], ["mcp__github__*"]):
        assert run("permissions", "add", *words).exit_code == 0
    content = json.loads(path.read_text())
    assert set(content["whitelist"].pop("tools")) > {"echo", "mcp__github__*", "readFile"}
    assert content == {
        "version": "1.2",
        "whitelist": {"patterns": ["git status *"]},
        "blacklist": {"patterns": ["sudo *"]},
        "ask": {"patterns": ["git push *"]},
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not Policy.load(path).boxes.older  # what had a box without a file has one now
    assert run("call", "echo", "text=a").exit_code == 0


def test_rule_that_stands_there_is_not_added_again(run, policy):
    path = policy(RULES)
    before = path.read_text()
    assert "already" in run("permissions", "add", "true").stdout
    assert path.read_text() == before


def test_rules_are_removed_from_the_list_that_is_named(run, policy):
    path = policy(RULES)
    assert run("permissions", "remove", "--deny", "rm -rf *").exit_code == 0
    assert json.loads(path.read_text())["blacklist"] == {"patterns": ["curl * | sh"]}
    wrong = run("permissions", "remove", "git push *")
    assert (wrong.exit_code, "it is in the ask" in wrong.stderr) == (2, True)
    assert run("permissions", "remove", "nowhere").exit_code == 2


@pytest.mark.parametrize("content", ["{", '{"whitelist": []}'])
def test_file_that_does_not_load_is_not_written(run, policy, content):
    path = policy(content)
    assert run("permissions", "add", "ls").exit_code == 2
    assert run("permissions", "remove", "ls").exit_code == 2
    assert path.read_text() == content


@pytest.mark.parametrize("rule", ["ls 'x", "rm -rf *"])
def test_rule_that_would_break_the_file_or_one_of_its_tests_is_not_written(run, policy, rule):
    test = {"tool": "runCommand", "args": {"command": "rm -rf x"}, "expect": "ask"}
    path = policy({"tests": [test]})
    before = path.read_text()
    added = run("permissions", "add", rule, "--deny")
    assert (added.exit_code, f"{path} stays as it is" in added.stderr) == (2, True)
    assert path.read_text() == before


def test_file_behind_a_link_is_written_and_the_link_stays(run, policy, tmp_path, monkeypatch):
    path = policy({})
    link = tmp_path / "link.json"
    link.symlink_to(path)
    monkeypatch.setenv("TOOLEXEC_PERMISSIONS", str(link))
    assert run("permissions", "add", "ls *").exit_code == 0
    assert link.is_symlink()
    assert "ls *" in path.read_text()


def test_odd_rule_is_added_with_a_warning(run, policy):
    policy({})
    assert "allows nothing" in run("permissions", "add", "a | b").stderr


def test_all_tools_of_a_service_are_added_as_tools(run, policy, tmp_path, monkeypatch):
    path = policy({})
    (tmp_path / "todo.json").write_text(json.dumps(TODO))
    config = tmp_path / "config.toml"
    config.write_text(f"[plugins.openapi.apis.todo]\ndocument = '{tmp_path}/todo.json'\n")
    monkeypatch.setenv("TOOLEXEC_CONFIG", str(config))
    added = run("permissions", "add", "todo:*")
    assert (added.exit_code, added.stderr) == (0, "")
    assert run("permissions", "add", "git:*").stderr.rstrip().endswith("write 'git *' for commands")
    whitelist = json.loads(path.read_text())["whitelist"]
    assert (whitelist["tools"], whitelist["patterns"]) == (["todo:*"], ["git:*"])


def test_show_has_every_rule_with_its_place(run, run_json, policy):
    path = policy({**RULES, "whitelist": {"arguments": {"readFile": {"path": ["${project}/"]}}}})
    told = run_json("permissions", "show")
    assert (told["path"], told["exists"], told["default"], told["problems"]) == (str(path), True, "ask", [])
    last = told["rules"][-1]
    assert (last["list"], last["key"], last["rule"]) == ("whitelist", "arguments readFile path", "${project}/")
    line = int(last["where"].removeprefix(f"{path}:"))
    assert "${project}/" in path.read_text().splitlines()[line - 1]
    shown = run("permissions", "show").stdout.splitlines()
    assert any("curl * | sh" in row for row in shown)
    assert [row.split()[-3:] for row in shown if "${project}/" in row] == [["${project}/", "line", str(line)]]
    assert [row for row in shown if str(path) in row] == [str(path)]  # not beside each rule: it leaves no room for them


TODO = {
    "openapi": "3.1.0",
    "info": {"title": "todo", "version": "1"},
    "servers": [{"url": "http://127.0.0.1:9"}],
    "paths": {"/items": {"get": {"operationId": "listItems", "responses": {"200": {"description": "ok"}}}}},
}
SETTINGS = {
    "confine": {"default": "read", "project": ["make *"], "require": True},
    "limits": {"runCommand": {"turn": 30}},
}


def test_show_has_what_is_said_of_boxes_and_limits(run, run_json, policy):
    path = policy(json.dumps({"version": "1.2", **RULES, **SETTINGS}, indent=2))
    lines = path.read_text().splitlines()
    told = [
        (each["key"], each["value"], lines[int(each["where"].removeprefix(f"{path}:")) - 1].strip(" ,"))
        for each in run_json("permissions", "show")["settings"]
    ]
    assert told == [
        ("confine default", "read", '"default": "read"'),
        ("confine project", "make *", '"make *"'),
        ("confine require", "true", '"require": true'),
        ("limits runCommand turn", "30", '"turn": 30'),
    ]
    shown = run("permissions", "show").stdout
    assert all(key in shown for key, _, _ in told)
    assert "boxes: only" not in shown
    policy(json.dumps({"version": "1.1", **RULES}))
    assert "boxes: only for what is known to read" in run("permissions", "show").stdout


def test_what_an_untrusted_project_says_of_boxes_can_only_narrow(run, run_json, project):
    (project / ".toolexec" / "permissions.json").write_text(json.dumps({"version": "1.2", **RULES, **SETTINGS}))
    assert {each["narrows"] for each in run_json("permissions", "show")["settings"]} == {True}
    assert "(confine default)" in run("permissions", "show").stdout
    assert run("permissions", "trust").exit_code == 0
    assert {each["narrows"] for each in run_json("permissions", "show")["settings"]} == {False}


def test_boxes_that_a_trusted_project_takes_away_are_told_without_a_file_of_ones_own(run, project):
    (project / ".toolexec" / "permissions.json").write_text(json.dumps(RULES))
    assert "boxes: only" not in run("permissions", "show").stdout
    assert run("permissions", "trust").exit_code == 0
    assert "boxes: only for what is known to read" in run("permissions", "show").stdout


def test_the_place_of_a_rule_is_shown_whole_at_a_narrow_terminal(terminal, policy):
    path = policy(RULES)
    shown = terminal("permissions", "check", "runCommand", "command=git push; ls")
    assert shown.end() == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.shown).splitlines()
    (start,) = (line.index("rule at") for line in lines if "rule at" in line)
    assert f"{path}:" in "".join(line[start:].strip() for line in lines)


def test_where_nothing_was_answered_there_is_no_empty_table(run):
    result = run("permissions", "grants", "list")
    assert (result.stdout, result.exit_code) == ("", 0)
    assert "nothing that was answered holds" in result.stderr


def test_tests_of_the_example_pass(run):
    result = run("permissions", "test", str(EXAMPLE))
    assert (result.exit_code, "0 failed" in result.stdout) == (0, True)


def test_test_that_fails_is_told_with_its_line(run, policy):
    tests = [{"tool": "runCommand", "args": {"command": "ls"}, "expect": expect} for expect in ("ask", "allow")]
    path = policy('{"tests": [\n' + ",\n".join(map(json.dumps, tests)) + "]}")
    result = run("permissions", "test")
    assert result.exit_code == 5
    assert f'{path}:3: runCommand {{"command": "ls"}}: ask (ls: no rule allows it), not allow' in result.stdout
    assert json.loads(run("permissions", "test", "--json").stdout)["failed"] == 1
    assert run("call", "echo", "text=a").exit_code == 2


# A project's own file.


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    (folder / ".toolexec").mkdir(parents=True)
    (folder / ".toolexec" / "permissions.json").write_text(json.dumps(RULES))
    monkeypatch.chdir(folder)
    return folder


def test_project_may_forbid_at_once_and_allow_only_when_it_is_trusted(run, run_json, project):
    assert run("call", "runCommand", "command=rm -rf nothing", "--yes").exit_code == 3
    assert run("call", "runCommand", "command=true").exit_code == 3
    assert {rule["list"] for rule in run_json("permissions", "show")["rules"] if not rule["in_force"]} == {"whitelist"}
    trusted = run("permissions", "trust")
    assert trusted.exit_code == 0
    assert all(rule in trusted.output for rule in RULES["whitelist"]["patterns"]), "what is trusted is seen"
    assert run("call", "runCommand", "command=true").exit_code == 0
    assert all(rule["in_force"] for rule in run_json("permissions", "show")["rules"])
    assert run("permissions", "untrust", str(project)).exit_code == 0
    assert run("call", "runCommand", "command=true").exit_code == 3
    assert run("permissions", "untrust").exit_code == 2


def test_trust_ends_when_the_file_changes(run, project):
    assert run("permissions", "trust", ".").exit_code == 0
    file = project / ".toolexec" / "permissions.json"
    file.write_text(file.read_text() + "\n")
    assert run("call", "runCommand", "command=true").exit_code == 3


def test_folder_without_a_policy_cannot_be_trusted(run, tmp_path):
    assert run("permissions", "trust", str(tmp_path)).exit_code == 2


# The ledger.


@pytest.fixture
def ledger(run, policy, tmp_path, monkeypatch):
    """The ledger of four calls: allowed, denied, refused without a terminal, answered with --yes."""
    (tmp_path / "config.toml").write_text('ledger = "calls.jsonl"\n')
    monkeypatch.setenv("TOOLEXEC_CONFIG", str(tmp_path / "config.toml"))
    policy(RULES)
    for words in (["true"], ["rm -rf nothing"], ["ls /"], ["echo hello", "--yes"]):
        run("call", "runCommand", f"command={words[0]}", *words[1:])
    return tmp_path / "calls.jsonl"


def test_log_shows_what_was_decided(run, run_json, ledger):
    methods = [record["method"] for record in run_json("permissions", "log")]
    assert methods == ["whitelist", "blacklist", "no_channel", "yes_option"]
    assert [record["method"] for record in run_json("permissions", "log", "--last", "1")] == ["yes_option"]
    assert "rm -rf nothing" in run("permissions", "log").stdout


def test_log_shows_how_a_long_call_ends(run, ledger):
    args = {"command": f"echo {'x' * 500} && rm -rf here"}
    record = {"stage": "permission-check", "tool": "runCommand", "args": args, "allowed": True, "method": "default"}
    ledger.write_text(json.dumps(record))
    assert "&& rm -rf here" in run("permissions", "log").stdout
    assert "&& rm -rf here" in run("permissions", "replay", str(ledger)).stdout


def test_log_without_a_ledger_says_how_to_keep_one(run):
    result = run("permissions", "log")
    assert (result.exit_code, 'ledger = "calls.jsonl"' in result.stderr) == (2, True)


def test_replay_lists_only_what_would_be_decided_otherwise(run, run_json, ledger, tmp_path):
    assert run_json("permissions", "replay", str(ledger)) == []
    draft = tmp_path / "draft.json"
    draft.write_text(json.dumps({"whitelist": {"patterns": ["ls *"]}}))
    changes = run_json("permissions", "replay", str(ledger), "--policy", str(draft))
    told = {change["args"]["command"]: (change["before"], change["after"]) for change in changes}
    assert told == {"true": ("allow", "ask"), "rm -rf nothing": ("deny", "ask"), "ls /": ("deny", "allow")}
    assert "ls /" in run("permissions", "replay", str(ledger), "--policy", str(draft)).stdout


@pytest.mark.parametrize("torn", ["{ torn", "[" * 100_000, '{"stage": "permission-check", "method": ["odd"]}'])
def test_damaged_lines_of_a_ledger_are_left_out_with_a_warning(run, ledger, torn):
    with ledger.open("a") as file:
        file.write(f"{torn}\n\n")  # an empty line says nothing
    for words in (("permissions", "replay", str(ledger)), ("permissions", "log")):
        result = run(*words)
        assert (result.exit_code, "1 of " in result.stderr) == (0, True)
    assert run("permissions", "replay", "nowhere.jsonl").exit_code == 2


def test_log_goes_on_in_the_file_before_where_the_ledger_is_new(run_json, ledger):
    whole = ledger.read_text().splitlines(keepends=True)
    ledger.with_name("calls.jsonl.1").write_text("".join(whole[:-3]))
    ledger.write_text("".join(whole[-3:]))  # the last call
    methods = ["whitelist", "blacklist", "no_channel", "yes_option"]
    assert [record["method"] for record in run_json("permissions", "log")] == methods
    assert [record["method"] for record in run_json("permissions", "log", "--last", "2")] == methods[-2:]


def test_log_shows_no_time_that_there_is_no_date_for(run, ledger):
    record = {"stage": "permission-check", "tool": "act", "args": {}, "allowed": True, "method": "default"}
    ledger.write_text("".join(f"{json.dumps({**record, 'ts': ts})}\n" for ts in (1e300, float("nan"))))
    assert run("permissions", "log").stdout.count("act") == 2


# The examination.


@pytest.mark.parametrize(
    ("mode", "content", "status"),
    [(0o600, "{}", "ok"), (0o644, "{}", "warning"), (0o666, "{}", "broken"), (0o600, "{", "broken")],
)
def test_doctor_looks_at_the_policy_file(run, policy, mode, content, status):
    path = policy(content)
    path.chmod(mode)
    result = run("doctor", "--json")
    [finding] = [each for each in json.loads(result.stdout)["findings"] if each["check"] == "permissions"]
    assert (finding["status"], str(path) in finding["found"]) == (status, True)
    assert result.exit_code == (1 if status == "broken" else 0)


def test_doctor_says_when_there_is_no_plugin(run, no_plugin):
    [finding] = [
        each for each in json.loads(run("doctor", "--json").stdout)["findings"] if each["check"] == "permissions"
    ]
    assert finding["status"] == "warning"


# What holds for the session of a terminal.

SESSION = [  # words behind ``permissions session``, the verdict on `make all` afterwards, and what is said
    (["status"], "ask", "questions are asked"),
    (["allow", "make *"], "allow", "make *"),
    (["deny", "make all"], "deny", "make all"),
    (["clear"], "ask", "what no rule is about: ask"),
    (["default", "deny"], "deny", "what no rule is about: deny"),
    (["default", "policy"], "ask", "what no rule is about: ask"),
    (["suspend"], "ask", "questions are skipped: all"),  # a dry run says what would be asked
    (["resume"], "ask", "questions are asked"),
]


def test_what_is_said_of_the_session_holds_at_this_terminal_until_it_is_taken_back(
    run, run_json, dry, policy, monkeypatch
):
    policy(RULES)
    # That of the process which runs the tests may be led by one outside of its namespace, and has no id then.
    monkeypatch.setattr(os, "getsid", lambda _: os.getpid())
    for words, verdict, told in SESSION:
        result = run("permissions", "session", *words)
        assert (result.exit_code, told in result.stdout) == (0, True), (words, result.output)
        value, _ = dry("runCommand", "command=make all")
        assert value["decision"] == verdict, (words, value)
    run("permissions", "session", "allow", "make *")
    assert run_json("permissions", "session", "status")["allow"] == ["make *"]
    monkeypatch.setattr("executor_permissions.commands._session.terminal_session", lambda: "")
    for words, _, _ in SESSION:
        result = run("permissions", "session", *words)
        assert result.exit_code != 0, words
        assert "add rules with 'toolexec permissions add'" in result.stderr


def test_how_to_keep_a_ledger_is_told_with_its_place_in_a_file_that_has_tables(run, own_folders):
    path = own_folders / "config" / "toolexec" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[plugins.shell]\nthreshold = 3.0\n")
    line = re.search(r"write (.+) into the first line of ", run("permissions", "log").stderr)
    path.write_text(f"{line[1]}\n{path.read_text()}")
    assert "no ledger is kept" not in run("permissions", "log").stderr

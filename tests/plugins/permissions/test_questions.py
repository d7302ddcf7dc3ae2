"""What is told with a question, and what each answer does and says."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import os
import time

import pytest

from executor.approval import Answer, TerminalChannel
from executor.errors import PermissionConfigError
from executor_permissions import PermissionPlugin
from executor_permissions.ask._channels import CallbackChannel, QueueChannel
from executor_permissions.ask._choose import make_channel
from executor_permissions.ask._files import FileChannel
from executor_permissions.ask._webhook import WebhookChannel

POLICY = {
    "version": "1.1",
    "channel": {"timeout": 60},
    "ask": {"patterns": ["git push *"], "tools": ["asked"]},
    "whitelist": {"patterns": ["ls *"]},
}


@pytest.fixture
def ask(tmp_path):
    """Makes a call that is asked about; gives whether it may run, what is said of it, the question and the plugin."""

    def ask(answer, tool="tool", args=None, context=None, **settings):
        asked = []

        def person(approval):
            asked.append(approval)
            return answer

        plugin = PermissionPlugin(
            policy=POLICY,
            project_root=tmp_path,
            home=tmp_path,
            state_dir=tmp_path / "state",
            channel=person,
            **settings,
        )
        allowed, info = plugin.check_permission(tool, {"a": 1} if args is None else args, context=context)
        return allowed, info, asked[0], plugin

    return ask


@pytest.mark.parametrize(
    ("answer", "allowed", "expected"),
    [
        ("yes", True, {"reason": "the user allowed it", "method": "user_approved", "rule": None}),
        ("once", True, {"reason": "the user allowed it", "method": "user_approved", "rule": None}),
        ("always", True, {"reason": "the user allowed tool(a=1) (session)", "method": "session_whitelist", "rule": "tool(a=1)"}),
        ("always user", True, {"reason": "the user allowed tool(a=1) (user)", "method": "grant", "rule": "tool(a=1)"}),
        ("always tool", True, {"reason": "the user allowed tool (session)", "method": "session_whitelist", "rule": "tool"}),
        ("never", False, {"reason": "the user said never to tool(a=1)", "method": "session_blacklist", "rule": "tool(a=1)"}),
        ("turn", True, {"reason": "the user allowed everything (turn)", "method": "turn_suspension", "rule": None}),
        ("idle", True, {"reason": "the user allowed everything (idle)", "method": "idle_suspension", "rule": None}),
        ("all", True, {"reason": "the user allowed everything (all)", "method": "allow_all", "rule": None}),
        (("comment", "use ls"), False, {"reason": "use ls", "method": "user_comment", "comment": "use ls", "rule": None}),
        ("no", False, {"reason": "the user said no (no rule is about tool)", "method": "user_denied", "rule": "tool(a=1)"}),
        ("no: not today", False, {"reason": "the user said no: not today (no rule is about tool)", "method": "user_denied", "rule": "tool(a=1)"}),
        ("comment", False, {"reason": "the user said no (no rule is about tool)", "method": "user_denied", "rule": "tool(a=1)"}),
        ("yes: mind the dog", True, {"reason": "the user allowed it", "method": "user_approved", "comment": "mind the dog", "rule": None}),
        ("perhaps", False, {"reason": "the user said no: the answer perhaps is none of yes, no, once, always, never, turn, idle, all, comment, edit (no rule is about tool)", "method": "user_denied"}),
        (Answer("timeout"), False, {"reason": "nobody answered in time (no rule is about tool)", "method": "timeout", "rule": "tool(a=1)"}),
        (Answer("error", "no display"), False, {"reason": "asking failed: no display (no rule is about tool)", "method": "error", "rule": "tool(a=1)"}),
    ],
)  # fmt: skip
def test_each_answer_says_what_it_did(ask, answer, allowed, expected):
    got, info, question, _ = ask(answer)
    assert got is allowed
    assert {key: info.get(key) for key in expected} == expected
    assert info["request_id"] == question.id


def test_a_question_tells_all_that_a_person_needs(ask):
    before = time.time()
    _, _, question, _ = ask("no", "mcp__srv__tool", {"a": [1]}, {"agent": "me", "intent": "to look"})
    assert (question.tool, dict(question.arguments), question.reason) == (
        "mcp__srv__tool",
        {"a": [1]},
        "no rule is about mcp__srv__tool",
    )
    assert question.offered_rule == "mcp__srv__tool with exactly these arguments"
    assert question.options == ("yes", "no", "once", "always", "never", "turn", "idle", "all", "comment", "edit")
    assert before + 59 < question.deadline < time.time() + 61
    lines = question.text.splitlines()
    assert lines[:3] == ["Run mcp__srv__tool: [1]?", "  why you are asked: no rule is about mcp__srv__tool", "  a: [1]"]
    assert lines[3:] == [
        f"  folder: {os.getcwd()}",
        "  agent: me",
        "  server: srv",
        "  the model says: to look",
        "  always/never would remember: mcp__srv__tool with exactly these arguments",
        "  always tool would remember: every call of mcp__srv__tool",
        "  always is for: this session (unless it says more: 'always user', 'always for 1h')",
        "Run mcp__srv__tool: [1]?",
    ]
    _, _, question, _ = ask("no", "mcp__tool", {}, {"agent": 5})
    assert question.text.splitlines()[2:-1] == [
        f"  folder: {os.getcwd()}",
        "  agent: 5",
        "  always/never would remember: mcp__tool with exactly these arguments",
        "  always tool would remember: every call of mcp__tool",
        "  always is for: this session (unless it says more: 'always user', 'always for 1h')",
    ]
    _, _, question, _ = ask("no", "asked", {})
    assert "  always: it is asked every time, by a rule of the policy" in question.text.splitlines()
    _, _, question, _ = ask("no", "runCommand", {"command": "ls; git log > f"})
    assert question.offered_rule == "runCommand with exactly these arguments"
    _, _, question, _ = ask("no", "runCommand", {"command": "ls; git log a"})
    assert question.offered_rule == "git log *"
    assert [part.text for part in question.parts] == ["ls", "git log a"]
    _, _, question, _ = ask("no", "runCommand", {"command": "for i in 1 2 3; do frob $i; cat f; done"})
    assert [line for line in question.text.splitlines() if line.startswith("    [")] == [
        "    [ASK] frob $i   (no rule allows it)",
        "    [ASK] cat f   (no rule allows it)",
    ]


@pytest.mark.parametrize(
    ("answer", "tool", "args", "fields"),
    [
        ("always", "tool", {"a": 1}, {"verdict": "allow", "kind": "call", "rule": "tool(a=1)", "scope": "session", "expires": None, "uses_left": None, "tool": "tool", "agent": "me"}),
        ("never project", "tool", {"a": 1}, {"verdict": "deny", "kind": "call", "scope": "project"}),
        ("always tool for 1h", "tool", {"a": 1}, {"kind": "tool", "rule": "tool", "digest": "", "expires": 4600.0, "created": 1000.0}),
        ("always 3 times", "tool", {"a": 1}, {"uses_left": 2}),
        ("always", "runCommand", {"command": "git log a"}, {"kind": "shell", "rule": "git log *", "digest": ""}),
        ("always user", "runCommand", {"command": "foo a > f"}, {"kind": "call", "rule": "runCommand(command='foo a > f')", "scope": "user"}),
    ],
)  # fmt: skip
def test_a_lasting_answer_is_kept_as_it_was_given(ask, tmp_path, answer, tool, args, fields):
    _, _, _, plugin = ask(answer, tool, args, {"agent": "me"}, clock=lambda: 1000.0)
    (grant,) = plugin.grants.all()
    assert {key: getattr(grant, key) for key in fields} == fields
    assert grant.project == str(tmp_path)
    assert bool(grant.digest) == (grant.kind == "call")


def test_the_same_lasting_answer_is_kept_once(ask):
    _, _, _, plugin = ask("always user", "runCommand", {"command": "git log a; git status"})
    assert [grant.rule for grant in plugin.grants.all()] == ["git log *", "git status *"]
    _, _, _, plugin = ask("always user", "runCommand", {"command": "git branch; git log b"})
    assert [grant.rule for grant in plugin.grants.all()] == ["git log *", "git status *", "git branch"]


def test_the_same_lasting_answer_to_questions_of_two_processes_is_kept_once(tmp_path):
    def make(person):
        return PermissionPlugin(
            policy=POLICY, project_root=tmp_path, home=tmp_path, state_dir=tmp_path / "state", channel=person
        )

    def first_asked(approval):
        assert other.check_permission("runCommand", {"command": "git log b"})[0]
        return "always user"

    plugin, other = make(first_asked), make(lambda approval: "always user")
    assert plugin.check_permission("runCommand", {"command": "git log a"})[0]
    (grant,) = plugin.grants.all()
    assert grant.rule == "git log *"
    assert plugin.grants.revoke(grant.id)
    assert plugin.grants.all() == other.grants.kept() == [], "one that is revoked leaves no second one in force"


def test_an_ask_rule_is_not_outweighed_by_always(ask):
    allowed, info, _, plugin = ask("always", "asked", {})
    assert (allowed, info["method"], info["reason"]) == (
        True,
        "user_approved",
        "the user allowed it this time: the rule 'asked' asks every time",
    )
    assert plugin.grants.all() == []
    _, info, _, plugin = ask("never", "asked", {})
    assert info["method"] == "session_blacklist"
    assert len(plugin.grants.all()) == 1


def make(name, settings, tmp_path):
    return make_channel(name, settings, project=str(tmp_path / "p"), home=str(tmp_path / "h"), state_dir=tmp_path / "s")


def test_a_channel_is_made_of_its_settings(tmp_path, monkeypatch):
    assert make("none", {}, tmp_path) == {}
    assert make("auto", {}, tmp_path) is None
    for name, settings, kind in [
        ("console", {}, TerminalChannel),
        ("queue", {}, QueueChannel),
        ("file", {"base_path": str(tmp_path / "c")}, FileChannel),
        ("webhook", {"endpoint": "https://x", "auth_token": "t"}, WebhookChannel),
    ]:
        made = make(name, settings, tmp_path)
        assert list(made) == [name]
        assert type(made[name]) is kind
    monkeypatch.setenv("TOKEN", "t")
    assert list(make("webhook", {"endpoint": "https://x", "auth_token_env": "TOKEN"}, tmp_path)) == ["webhook"]
    assert CallbackChannel(lambda approval: approval.id)


@pytest.mark.parametrize(
    ("name", "settings", "problem"),
    [
        ("file", {}, "the file channel needs a folder"),
        ("file", {"base_path": "."}, "holds the project, and no tool may touch"),
        ("file", {"base_path": "~"}, "holds the home folder"),
        ("file", {"base_path": "/"}, "holds the project"),
        ("webhook", {"endpoint": "https://x"}, "a webhook needs"),
        ("webhook", {"auth_token": "t"}, "a webhook needs"),
        ("webhook", {"endpoint": "https://x", "auth_token_env": "NOT_SET"}, "a webhook needs"),
        ("webhook", {"endpoint": "ftp://x", "auth_token": "t"}, "'ftp://x' is no http address"),
        ("callback", {}, "a callback is given in code"),
        ("consle", {}, "'consle' is no channel: use one of auto, console"),
    ],
)
def test_a_channel_that_cannot_be_made_is_an_error(tmp_path, name, settings, problem):
    with pytest.raises(PermissionConfigError, match=problem) as caught:
        make(name, settings, tmp_path)
    assert len(caught.value.problems) == 1

"""What is told with a question, and what each answer does and says."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import os
import time

import pytest

from executor.approval import Approval, TerminalChannel
from executor.errors import PermissionConfigError
from executor_permissions import PermissionPlugin
from executor_permissions.ask._answers import Choice
from executor_permissions.ask._channels import (
    CallbackChannel,
    FileChannel,
    QueueChannel,
    WebhookChannel,
    make_channel,
    told,
    understood,
)

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
        ("yes", True, {"reason": "you allowed it", "method": "user_approved", "rule": None}),
        ("once", True, {"reason": "you allowed it", "method": "user_approved", "rule": None}),
        ("always", True, {"reason": "you allowed tool(a=1) (session)", "method": "session_whitelist", "rule": "tool(a=1)"}),
        ("always user", True, {"reason": "you allowed tool(a=1) (user)", "method": "grant", "rule": "tool(a=1)"}),
        ("always tool", True, {"reason": "you allowed tool (session)", "method": "session_whitelist", "rule": "tool"}),
        ("never", False, {"reason": "you said never to tool(a=1)", "method": "session_blacklist", "rule": "tool(a=1)"}),
        ("turn", True, {"reason": "you allowed everything (turn)", "method": "turn_suspension", "rule": None}),
        ("idle", True, {"reason": "you allowed everything (idle)", "method": "idle_suspension", "rule": None}),
        ("all", True, {"reason": "you allowed everything (all)", "method": "allow_all", "rule": None}),
        (("comment", "use ls"), False, {"reason": "use ls", "method": "user_comment", "comment": "use ls", "rule": None}),
        ("no", False, {"reason": "you said no (no rule is about tool); to allow it, answer 'always' or add the rule: tool with exactly these arguments", "method": "user_denied", "rule": None}),
        (Choice("timeout"), False, {"reason": "nobody answered in time (no rule is about tool); to allow it, answer 'always' or add the rule: tool with exactly these arguments", "method": "timeout", "rule": None}),
        (Choice("error"), False, {"reason": "asking failed (no rule is about tool); to allow it, answer 'always' or add the rule: tool with exactly these arguments", "method": "error", "rule": None}),
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
    assert lines[:3] == ["Run mcp__srv__tool?", "  why you are asked: no rule is about mcp__srv__tool", "  a: [1]"]
    assert lines[3:] == [
        f"  folder: {os.getcwd()}",
        "  agent: me",
        "  server: srv",
        "  the model says: to look",
        "  always/never would remember: mcp__srv__tool with exactly these arguments",
    ]
    _, _, question, _ = ask("no", "mcp__tool", {}, {"agent": 5})
    assert question.text.splitlines()[2:] == [
        f"  folder: {os.getcwd()}",
        "  always/never would remember: mcp__tool with exactly these arguments",
    ]
    _, _, question, _ = ask("no", "asked", {})
    assert "  always: it is asked every time, by a rule of the policy" in question.text.splitlines()
    _, _, question, _ = ask("no", "runCommand", {"command": "ls; git log > f"})
    assert question.offered_rule == "runCommand with exactly these arguments"
    _, _, question, _ = ask("no", "runCommand", {"command": "ls; git log a"})
    assert question.offered_rule == "git log *"
    assert [part.text for part in question.parts] == ["ls", "git log a"]


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
    _, _, _, plugin = ask("always user", "runCommand", {"command": "git log a; git branch"})
    assert [grant.rule for grant in plugin.grants.all()] == ["git log *", "git status *", "git branch *"]


def test_an_ask_rule_is_not_outweighed_by_always(ask):
    allowed, info, _, plugin = ask("always", "asked", {})
    assert (allowed, info["method"], info["reason"]) == (
        True,
        "user_approved",
        "you allowed it this time: the rule 'asked' asks every time",
    )
    assert plugin.grants.all() == []
    _, info, _, plugin = ask("never", "asked", {})
    assert info["method"] == "session_blacklist"
    assert len(plugin.grants.all()) == 1


def test_a_channel_is_made_of_its_settings(tmp_path, monkeypatch):
    assert make_channel("none", {}) == {}
    assert make_channel("other", {}) is None
    for name, settings, kind in [
        ("console", {}, TerminalChannel),
        ("queue", {}, QueueChannel),
        ("file", {"base_path": str(tmp_path)}, FileChannel),
        ("webhook", {"endpoint": "https://x", "auth_token": "t"}, WebhookChannel),
    ]:
        made = make_channel(name, settings)
        assert list(made) == [name]
        assert type(made[name]) is kind
    monkeypatch.setenv("TOKEN", "t")
    assert list(make_channel("webhook", {"endpoint": "https://x", "auth_token_env": "TOKEN"})) == ["webhook"]
    for name, settings, problem in [
        ("file", {}, "the file channel needs a folder"),
        ("webhook", {"endpoint": "https://x"}, "a webhook needs"),
        ("webhook", {"auth_token": "t"}, "a webhook needs"),
        ("webhook", {"endpoint": "https://x", "auth_token_env": "NOT_SET"}, "a webhook needs"),
        ("webhook", {"endpoint": "ftp://x", "auth_token": "t"}, "'ftp://x' is no http address"),
        ("callback", {}, "a callback is given in code"),
    ]:
        with pytest.raises(PermissionConfigError, match=problem) as caught:
            make_channel(name, settings)
        assert len(caught.value.problems) == 1
    assert CallbackChannel(lambda approval: approval.id)


def test_a_question_is_told_and_its_answer_understood():
    approval = Approval(
        "id",
        "t",
        {"a": (1, {"b": None})},
        "why",
        (("x", "y"), 5),
        text="text",
        offered_rule="rule",
        deadline=5.0,
        options=("yes", "no"),
    )
    assert told(approval) == {
        "request_id": "id", "digest": approval.digest, "tool": "t", "arguments": {"a": [1, {"b": None}]}, "reason": "why", "parts": [["x", "y"], "5"], "text": "text", "offered_rule": "rule", "deadline": 5.0, "options": ["yes", "no"],
    }  # fmt: skip
    for value, expected in [
        ({"request_id": "id", "decision": "yes"}, "yes"),
        ({"request_id": "id", "digest": approval.digest, "decision": "always"}, "always"),
        ({"request_id": "id", "digest": "x", "decision": "yes"}, Choice("no")),
        ({"request_id": "other", "decision": "yes"}, Choice("no")),
        ({"decision": "yes"}, Choice("no")),
        ("yes", Choice("no")),
        ([], Choice("no")),
        ({"request_id": "id", "decision": "comment", "comment": "why"}, ("comment", "why")),
        ({"request_id": "id", "decision": "comment"}, ("comment", "")),
        ({"request_id": "id", "decision": "edit", "arguments": {"a": 1}}, ("edit", {"a": 1})),
        ({"request_id": "id", "decision": "edit"}, ("edit", None)),
        ({"request_id": "id"}, None),
    ]:
        assert understood(value, approval) == expected, value

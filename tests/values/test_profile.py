"""Profiles as values, and what becomes of them on the way from a gate to a call."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from executor import Decision, ToolCall, ToolExecutor, Verdict, current_call
from executor.background._runner import JudgedCall
from executor.confine import Profile

READ, PROJECT = Profile("read", "/p"), Profile("project", "/p", unreadable=("/p/.env",), required=True)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (READ, PROJECT, replace(READ, required=True)),
        (PROJECT, READ, replace(READ, required=True)),
        (PROJECT, Profile("network", "/p"), PROJECT),
        (READ, Profile("network", "/p", people=True), replace(READ, people=True)),
        (READ, Profile("network", "/p"), READ),
    ],
)
def test_of_two_profiles_one_is_narrower(one, other, expected):
    assert one.or_narrower(other) == expected


def test_a_profile_goes_through_json():
    assert Profile.of(json.loads(json.dumps(PROJECT.to_dict()))) == PROJECT


@pytest.mark.parametrize(
    "value", [{}, {"name": "tight"}, {"name": "read"}, {"name": "read", "project": "/", "more": 1}]
)
def test_what_is_no_profile_is_refused(value):
    with pytest.raises(ValueError, match="profile"):
        Profile.of(value)


class Plugin:
    """Decides, and answers, with a profile."""

    def __init__(self, verdict, decided, answered=None):
        self.verdict, self.decided, self.answered = verdict, decided, answered

    def decide(self, call, context):
        return Decision(self.verdict, confine=self.decided)

    def ask(self, call, decision, context):
        return Verdict(True, None, {"reason": "", "method": "user_approved"}, self.answered)


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        (Plugin("allow", READ), READ),
        (Plugin("allow", None), None),
        (Plugin("ask", READ, None), None),
        (Plugin("ask", READ, PROJECT), PROJECT),
    ],
)
@pytest.mark.parametrize("way", ["call", "submit"])
def test_the_verdicts_profile_reaches_the_call(plugin, expected, way):
    seen = []
    with ToolExecutor(permission_plugin=plugin) as executor:
        executor.register("look", lambda args: seen.append(current_call().confine))
        if way == "call":
            result = executor.call(ToolCall("1", "look", {}))
        else:
            result = executor.submit(ToolCall("1", "look", {})).result(10)
    assert result.success
    assert seen == [expected]
    assert result.permission.get("confine") == (expected.name if expected else None)


def test_a_call_that_is_left_to_another_process_keeps_its_profile():
    judged = JudgedCall(ToolCall("1", "look", {}), None, PROJECT)
    seen = []
    with ToolExecutor(permission_plugin=judged) as executor:
        executor.register("look", lambda args: seen.append(current_call().confine))
        assert executor.call(ToolCall("1", "look", {})).success
    assert seen == [PROJECT]

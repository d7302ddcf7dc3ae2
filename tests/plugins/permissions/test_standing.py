"""Decisions that are kept at hand: whatever they rest on may change between two calls, and the second one heeds it."""

from __future__ import annotations

import pytest

from executor import Decision, ToolCall, ToolExecutor
from executor_permissions import PermissionPlugin
from executor_permissions.judge.rules._rules import Placeholders
from executor_permissions.store._grants import Grant, GrantBook, new_grant_id

POLICY = {"version": "1.0", "defaultPolicy": "deny", "whitelist": {"tools": ["tool"]}}


@pytest.fixture
def plugin(tmp_path):
    return PermissionPlugin(
        policy=POLICY,
        project_root=tmp_path,
        home=tmp_path,
        state_dir=tmp_path / "state",
        terminal=False,
        channel=lambda approval: "no",
    )


@pytest.fixture
def executor(plugin):
    with ToolExecutor(permission_plugin=plugin) as made:
        made.register("tool", lambda args: {"ran": True})
        for _ in range(3):  # by now the decision is kept
            assert told(made) == ("allowed", "whitelist")
        yield made


def told(executor, **arguments):
    entry = executor.execute("tool", arguments)[1]["_permission"]
    return entry["decision"], entry["method"]


def deny(folder, **changes):
    """What another process that a person has told ``never`` does."""
    other = GrantBook(folder / "state", Placeholders(str(folder), str(folder)))
    grant = Grant(id=new_grant_id(), kind="tool", tool="tool", rule="tool", verdict="deny", scope="user", **changes)
    other.add(grant)
    return other, grant


def test_a_rule_of_the_session_holds_from_the_next_call_on(plugin, executor):
    plugin.session.deny("tool")
    assert told(executor) == told(executor) == ("denied", "session_blacklist")
    plugin.session.allow("tool")
    assert told(executor) == told(executor) == ("allowed", "session_whitelist")
    plugin.session.clear()
    assert told(executor) == ("allowed", "whitelist")


def test_the_method_of_a_session_is_said_anew(plugin, executor):
    executor.register("other", lambda args: {})
    assert executor.execute("other", {})[1]["_permission"]["method"] == "default"
    plugin.session.allow("other")
    for _ in range(2):
        assert executor.execute("other", {})[1]["_permission"]["method"] == "session_whitelist"
    plugin.session.clear()
    assert executor.execute("other", {})[1]["_permission"]["decision"] == "denied"


def test_a_never_of_another_process_holds_from_the_next_call_on(executor, tmp_path):
    other, grant = deny(tmp_path)
    assert told(executor)[0] == "denied"
    other.revoke(grant.id)
    assert told(executor) == ("allowed", "whitelist")


def test_a_damaged_file_of_grants_denies_the_next_call(executor, tmp_path):
    (tmp_path / "state").mkdir(exist_ok=True)
    (tmp_path / "state" / "grants.json").write_text("{", encoding="utf-8")
    assert told(executor) == ("denied", "error")


def test_arguments_that_have_to_be_looked_into_are(executor, tmp_path):
    kept = str(tmp_path / "state" / "grants.json")
    assert told(executor, text="plain") == ("allowed", "whitelist")
    assert told(executor, text=kept)[0] == told(executor, path=kept)[0] == told(executor, deep=[kept])[0] == "denied"
    assert told(executor, text="plain") == ("allowed", "whitelist")


def test_a_tool_that_takes_the_place_of_another_is_judged_by_itself(executor):
    executor.register("tool", lambda args: {"ran": True}, argument_kinds={"line": "shell"})
    assert told(executor, line="rm -rf /")[0] == "denied"


def test_kinds_that_are_written_to_hold_from_the_next_call_on(executor):
    tool = executor.register("tool", lambda args: {"ran": True}, argument_kinds={"name": "path"})
    tool.argument_kinds.clear()  # of no meaning now; so its decision could be kept
    for _ in range(3):
        assert told(executor, line="rm -rf /") == ("allowed", "whitelist")
    tool.argument_kinds["line"] = "shell"
    assert told(executor, line="rm -rf /")[0] == "denied"


def test_what_stands_is_kept_for_the_audit_as_it_was_judged(plugin, executor):
    def changing(args):
        args["n"] = "changed"
        return {}

    executor.register("tool", changing)
    for n in range(3):
        executor.call(ToolCall(f"c{n}", "tool", {"n": n}), context={"agent": "a"})
    entries = plugin.audit()[-3:]
    assert [(entry["call_id"], entry["args"], entry["agent"]) for entry in entries] == [
        (f"c{n}", {"n": n}, "a") for n in range(3)
    ]
    assert {tuple(entry) for entry in entries} == {tuple(plugin.audit()[0])}
    assert all(entry["verdict"] == "allow" and entry["latency"] >= 0 for entry in entries)


def test_a_plugin_that_decides_more_strictly_is_asked_about_each_call(tmp_path):
    class Stricter(PermissionPlugin):
        def decide(self, call, context=None):
            return Decision("deny", "not twos") if call.arguments == {"n": 2} else super().decide(call, context)

    stricter = Stricter(policy=POLICY, project_root=tmp_path, home=tmp_path, state_dir=tmp_path / "state")
    with ToolExecutor(permission_plugin=stricter) as executor:
        executor.register("tool", lambda args: {"ran": True})
        assert [told(executor, n=n)[0] for n in (1, 2, 1, 2)] == ["allowed", "denied", "allowed", "denied"]


def test_nothing_is_allowed_once_the_plugin_has_ended(plugin, executor):
    plugin.shutdown()
    assert told(executor) == ("denied", "not_initialized")


def test_what_is_asked_for_each_time_is_not_kept(tmp_path):
    plugin = PermissionPlugin(
        policy={**POLICY, "limits": {"tool": {"session": 2}}},
        project_root=tmp_path,
        home=tmp_path,
        state_dir=tmp_path / "state",
        channel=lambda approval: "no",
    )
    with ToolExecutor(permission_plugin=plugin) as executor:
        executor.register("tool", lambda args: {"ran": True})
        assert [told(executor)[0] for _ in range(3)] == ["allowed", "allowed", "denied"]


def test_no_more_decisions_are_kept_than_for_so_many_tools(plugin, monkeypatch):
    monkeypatch.setattr("executor_permissions._decider._MOST_STANDING", 2)
    for name in ("tool", "a", "b", "c", "tool"):
        assert plugin.check_permission(name, {})[0] is (name == "tool")
    assert len(plugin._decider._standing) == 2

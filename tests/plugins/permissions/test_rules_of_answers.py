"""A person may write another rule than the one that ``always`` or ``never`` would store."""

from __future__ import annotations

import queue

import pytest

from executor import ToolCall, ToolExecutor
from executor_permissions import PermissionPlugin

SECONDS = 30
KINDS = {"command": "shell"}


@pytest.fixture
def executor(tmp_path):
    policy = {"version": "1.2", "blacklist": {"patterns": ["git push --force *"]}, "ask": {"patterns": ["sudo *"]}}
    plugin = PermissionPlugin(policy=policy, project_root=tmp_path, terminal=False)
    made = ToolExecutor(permission_plugin=plugin)
    made.register("runCommand", lambda args: "ran", argument_kinds=KINDS)
    made.register("act", lambda args: "acted")
    made.plugin, made.asked = plugin, queue.SimpleQueue()
    made.approvals.subscribe(lambda event, approval: event == "asked" and made.asked.put(approval))
    yield made
    made.shutdown(cancel=True, timeout=5)


def ask(executor, command, tool="runCommand"):
    future = executor.submit(ToolCall("1", tool, {"command": command}))
    return future, executor.asked.get(timeout=SECONDS)


def rules_of(executor):
    return [(grant.verdict, grant.kind, grant.rule) for grant in executor.plugin.grants.all()]


def test_the_rules_are_told_and_others_are_stored_in_their_place(executor):
    future, asked = ask(executor, "npm test -- --watch && npm run lint")
    assert asked.rules == {
        "always": ("npm test -- --watch", "npm run lint"),
        "never": ("npm test *", "npm run lint *"),
    }
    said = ("always", {"rules": ["npm test *", "npm run *"], "for": "1h"})
    assert executor.approvals.decide(asked.id, said)
    assert future.result(SECONDS).value == "ran"
    assert rules_of(executor) == [("allow", "shell", "npm test *"), ("allow", "shell", "npm run *")]
    assert executor.call(ToolCall("2", "runCommand", {"command": "npm run build"})).success


@pytest.mark.parametrize(
    "rules",
    [
        ["npm *"],  # one of the two parts is left
        ["git status", "npm run lint"],
        ["npm test && npm run lint"],
        ["npm test", "npm run 'lint"],
        ["npm test", "npm run \u202elint", "npm run *"],
        ["npm test", "npm run *", ""],
        ["npm test", "npm run *", f"x {'y' * 300}"],
    ],
)
def test_rules_that_do_not_decide_the_call_are_not_taken_and_it_stays_open(executor, rules):
    future, asked = ask(executor, "npm test && git stash")
    assert not executor.approvals.decide(asked.id, ("always", {"rules": rules}))
    assert [one.id for one in executor.approvals.pending()] == [asked.id]
    assert not future.done()
    assert executor.approvals.decide(asked.id, "no")
    assert future.result(SECONDS).kind == "denied"
    assert rules_of(executor) == []


def test_never_is_stored_by_the_rule_that_was_written(executor):
    future, asked = ask(executor, "npm publish")
    assert not executor.approvals.decide(asked.id, ("never", {"rules": ["npm test"]}))
    assert executor.approvals.decide(asked.id, ("never", {"rules": ["npm publish *"]}))
    assert future.result(SECONDS).kind == "denied"
    assert rules_of(executor) == [("deny", "shell", "npm publish *")]


def test_what_is_asked_every_time_and_what_is_no_command_have_no_rules_to_write(executor):
    future, asked = ask(executor, "sudo ls")
    assert set(asked.rules) == {"never"}
    assert not executor.approvals.decide(asked.id, ("always", {"rules": ["sudo *"]}))
    executor.approvals.decide(asked.id, "no")
    future.result(SECONDS)
    future, asked = ask(executor, "x", tool="act")
    assert asked.rules == {}
    assert not executor.approvals.decide(asked.id, ("always", {"rules": ["act"]}))
    executor.approvals.decide(asked.id, "no")
    future.result(SECONDS)


def test_a_written_rule_never_outweighs_what_is_forbidden(executor):
    future, asked = ask(executor, "git push origin main")
    assert executor.approvals.decide(asked.id, ("always", {"rules": ["git push *"]}))
    assert future.result(SECONDS).value == "ran"
    assert executor.call(ToolCall("2", "runCommand", {"command": "git push --force origin"})).kind == "denied"

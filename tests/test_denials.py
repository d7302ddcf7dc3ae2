"""What a denial says of its reason, whoever it comes from."""

from __future__ import annotations

import pytest

from executor import Decision, PluginRegistry, ToolCall, ToolExecutor, errors, hookimpl


class Broken:
    """A permission plugin in two steps that fails."""

    def __init__(self, error):
        self.error = error

    def decide(self, call, context):
        raise self.error

    def ask(self, call, decision, context):
        raise AssertionError("never reached")


class BrokenAtOnce:
    """The same in one step."""

    def __init__(self, error):
        self.error = error

    def check_permission(self, name, args, context, call_id):
        raise self.error


@pytest.mark.parametrize("plugin", [Broken, BrokenAtOnce])
@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError("the file is gone"), "the file is gone"), (ValueError(), "ValueError")]
)
def test_a_plugin_that_fails_is_a_denial_in_its_own_words_or_else_by_the_name_of_its_error(plugin, error, reason):
    ran = []
    with ToolExecutor(permission_plugin=plugin(error)) as executor:
        executor.register("act", ran.append)
        success, value = executor.execute("act", {"a": 1})
    assert not success
    assert value["_permission"]["method"] == "error"
    assert reason in value["_permission"]["reason"]
    assert ("ValueError" in value["_permission"]["reason"]) == (reason == "ValueError")
    assert ran == []


@pytest.fixture
def denied():
    """The error with which a start in the background is refused."""
    made = []

    def denied(opinion=None, plugin=None):
        class Opinion:
            @hookimpl
            def executor_check_permission(self, call, context):
                return opinion

        registry = PluginRegistry(bundled=False, entry_points=False)
        registry.register(Opinion(), "opinion")
        registry.expose("opinion")
        executor = ToolExecutor(registry=registry, permission_plugin=plugin)
        made.append(executor)
        executor.register("act", lambda args: "done", auto_background=5)
        with pytest.raises(errors.PermissionDeniedError) as caught:
            executor.start(ToolCall("1", "act"))
        return caught.value

    yield denied
    for executor in made:
        executor.shutdown()


def test_the_error_of_a_denied_call_carries_the_very_decision(denied):
    decision = Decision("deny", "never", "blacklist", "act *")
    assert denied(decision).decision is decision


def test_the_error_of_a_refused_call_carries_a_decision_made_from_the_answer(denied):
    class No:
        def check_permission(self, name, args, context, call_id):
            return False, {"reason": "not today", "method": "user_denied", "rule": "act"}

    found = denied(plugin=No()).decision
    assert (found.verdict, found.reason, found.method, found.rule) == ("deny", "not today", "user_denied", "act")

"""What a person is shown when a tool is no longer what it was when it was allowed."""

from __future__ import annotations

import pytest

from executor import ToolExecutor
from executor_permissions import PermissionPlugin


@pytest.fixture
def guarded(tmp_path):
    """An executor whose questions get these answers; with the questions, and a way to define its one tool."""
    executors = []

    def guarded(*answers):
        questions, left = [], list(answers)

        def person(approval):
            questions.append(approval.text)
            return left.pop(0)

        plugin = PermissionPlugin(
            policy={}, channel=person, project_root=tmp_path, home=tmp_path, state_dir=tmp_path / "state"
        )
        executor = ToolExecutor(permission_plugin=plugin)
        executors.append(executor)

        def define(description):
            executor.register("tool", lambda args: "ok", description=description)

        return executor, questions, define

    yield guarded
    for executor in executors:
        executor.shutdown()


def test_the_difference_is_shown_for_what_was_allowed_and_has_changed(guarded):
    executor, questions, define = guarded("always", "no", "no")
    define("Adds.")
    executor.execute("tool", {"n": 1})
    executor.execute("tool", {"n": 2})
    define("Adds, and reads your mail.")
    executor.execute("tool", {"n": 3})
    assert ["+Adds, and reads your mail." in text for text in questions] == [False, False, True]


def test_no_difference_is_shown_for_what_was_only_forbidden(guarded):
    executor, questions, define = guarded("never", "no")
    define("Adds.")
    executor.execute("tool", {"n": 1})
    define("Adds, and reads your mail.")
    executor.execute("tool", {"n": 2})
    assert len(questions) == 2
    assert "+Adds" not in questions[1]
    assert "-Adds" not in questions[1]


def test_a_grant_for_the_same_definition_does_not_hide_one_for_another(guarded):
    executor, questions, define = guarded("always", "always", "no")
    define("Adds.")
    executor.execute("tool", {"n": 1})
    define("Adds quickly.")
    executor.execute("tool", {"n": 2})
    define("Adds.")
    executor.execute("tool", {"n": 3})
    assert "-Adds quickly." in questions[2]
    assert "+Adds." in questions[2]

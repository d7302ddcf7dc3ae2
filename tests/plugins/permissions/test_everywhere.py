"""What the permission plugin asks is asked in every process of the user, unless the policy names another surface."""

from __future__ import annotations

import queue

import pytest

from executor import ToolCall, ToolExecutor
from executor.approval import Surface
from executor.permission._meeting import can_meet
from executor_permissions import PermissionPlugin

pytestmark = pytest.mark.skipif(not can_meet(), reason="this system has no local sockets")
SECONDS = 30


class Watcher(Surface):
    def __init__(self):
        self.events = queue.SimpleQueue()
        super().__init__("page", lambda event, approval: self.events.put((event, approval)))

    def next(self):
        event, approval = self.events.get(timeout=SECONDS)
        assert event == "asked"
        return approval


@pytest.fixture
def build(tmp_path):
    made = []

    def build(policy, **options):
        plugin = PermissionPlugin(policy=policy, project_root=tmp_path, **options)
        executor = ToolExecutor(permission_plugin=plugin)
        executor.register("deploy", deploy)
        made.append(executor)
        return executor

    yield build
    for executor in made:
        executor.shutdown(cancel=True, timeout=5)


def deploy(args):
    return {"deployed": args}


@pytest.mark.parametrize(
    ("said", "success"),
    [("yes", True), ("no", False), ("always", True), (("edit", {"to": "there"}), True), ("comment: not now", False)],
)
@pytest.mark.parametrize("channel", [{}, {"channel": {"type": "console"}}], ids=["auto", "console"])
def test_a_page_answers_where_there_is_no_terminal(build, channel, said, success):
    executor = build({"version": "1.1", **channel})
    with Watcher() as surface:
        future = executor.submit(ToolCall("1", "deploy", {"to": "here"}))
        seen = surface.next()
        assert (seen.tool, seen.arguments) == ("deploy", {"to": "here"})
        assert surface.answer(seen.id, said)
        result = future.result(SECONDS)
        assert result.success is success
        if isinstance(said, tuple):
            assert result.value["deployed"] == {"to": "there"}
        if said == "always":
            assert executor.submit(ToolCall("2", "deploy", {"to": "here"})).result(SECONDS).success
        assert executor.approvals.pending() == []


@pytest.mark.parametrize("kind", ["none", "queue"])
def test_a_surface_that_the_policy_names_is_the_only_one(build, kind):
    executor = build({"version": "1.1", "channel": {"type": kind, "timeout": 0.2}})
    with Watcher() as surface:
        assert executor.call(ToolCall("1", "deploy", {})).value["_permission"]["method"] in ("no_channel", "timeout")
        assert surface.pending() == []
        assert surface.events.empty()


def test_an_edit_that_is_forbidden_does_not_run_and_another_is_not_asked_about_again(build):
    executor = build({"version": "1.1", "blacklist": {"arguments": {"deploy": {"to": ["prod"]}}}})
    with Watcher() as surface:
        for to, success in (("prod", False), ("test", True)):
            future = executor.submit(ToolCall("1", "deploy", {"to": "here"}))
            assert surface.answer(surface.next().id, ("edit", {"to": to}))
            assert future.result(SECONDS).success is success
            assert surface.events.get(timeout=SECONDS)[0] == "closed"
        assert surface.events.empty()

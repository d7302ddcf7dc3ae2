"""What becomes of a question when something changes while it is open."""

from __future__ import annotations

import queue

import pytest

from executor import PluginRegistry, ToolCall, ToolExecutor
from executor_permissions import PermissionPlugin

RULES = {"whitelist": {"arguments": {"readFile": {"path": ["${project}/"]}}}}
WAITED = 30.0  # seconds: for another thread of this process


class Desk:
    """A surface whose questions are answered when the test says so."""

    def __init__(self):
        self.shown = queue.SimpleQueue()
        self.taken_back = []

    def ask(self, approval, answer):
        self.shown.put((approval, answer))

    def withdraw(self, approval_id):
        self.taken_back.append(approval_id)


@pytest.fixture
def desk():
    return Desk()


@pytest.fixture
def plugin(tmp_path, desk):
    (tmp_path / "project").mkdir()
    return PermissionPlugin(policy=RULES, project_root=tmp_path / "project", state_dir=tmp_path / "state", channel=desk)


@pytest.fixture
def executor(plugin, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path / "project")
    registry = PluginRegistry()
    registry.discover()
    registry.expose("files")
    registry.expose("shell")
    with ToolExecutor(registry=registry, permission_plugin=plugin) as made:
        made.register("other", lambda _args: "other")
        yield made


def test_a_link_that_leads_into_the_project_by_now_frees_no_file_that_it_led_to(executor, desk, tmp_path):
    secret, link = tmp_path / "secret.txt", tmp_path / "project/link"
    secret.write_text("secret")
    (tmp_path / "project/free.txt").write_text("free")
    link.symlink_to(secret)
    reading = executor.submit(ToolCall("1", "readFile", {"path": "link"}))
    question, say = desk.shown.get(timeout=WAITED)
    link.unlink()
    link.symlink_to("free.txt")
    other = executor.submit(ToolCall("2", "other", {}))
    _, say_other = desk.shown.get(timeout=WAITED)
    assert say_other("always")
    assert other.result(WAITED).value == "other"
    assert question.id not in desk.taken_back
    assert say("no")
    assert reading.result(WAITED).kind == "denied"


@pytest.mark.parametrize("swapped", ["link", "folder"])
def test_a_command_runs_in_the_folder_that_was_judged_or_not_at_all(executor, desk, tmp_path, swapped):
    project = tmp_path / "project"
    (project / "judged").mkdir()
    (project / "other").mkdir()
    (project / "link").symlink_to("judged")
    running = executor.submit(ToolCall("1", "runCommand", {"command": "touch ran", "cwd": "link"}))
    _, say = desk.shown.get(timeout=WAITED)
    (project / "link").unlink()
    (project / "link").symlink_to("other")
    if swapped == "folder":
        (project / "judged").rename(project / "away")
        (project / "judged").symlink_to("other")
    assert say("yes")
    result = running.result(WAITED)
    if swapped == "folder":
        assert "has become another one since it was judged" in result.error
    else:
        assert result.value["exit_code"] == 0
        assert (project / "judged/ran").exists()
    assert not (project / "other/ran").exists()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_command_runs_in_the_working_folder_that_was_judged_wherever_the_process_is_by_now(
    executor, desk, tmp_path, monkeypatch, replaced
):
    running = executor.submit(ToolCall("1", "runCommand", {"argv": ["touch", "ran"]}))
    _, say = desk.shown.get(timeout=WAITED)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    if replaced:
        (tmp_path / "project").rename(tmp_path / "away")
        (tmp_path / "project").symlink_to("other")
    assert say("yes")
    result = running.result(WAITED)
    if replaced:
        assert "has become another one since it was judged" in result.error
    else:
        assert (tmp_path / "project/ran").exists()
    assert not (tmp_path / "other/ran").exists()


def test_what_is_forbidden_meanwhile_is_not_run_by_an_edit_that_changes_nothing(executor, plugin, desk):
    call = executor.submit(ToolCall("1", "other", {"a": 1}))
    _, say = desk.shown.get(timeout=WAITED)
    plugin.session.deny("other(a=1)")
    assert say(("edit", {"a": 1}))
    assert call.result(WAITED).kind == "denied"


@pytest.fixture
def two(executor, desk):
    """Two calls that ask the same, the first of which has given up; gives the second and what answers it."""
    first = executor.submit(ToolCall("1", "other", {"a": 1}))
    question, say = desk.shown.get(timeout=WAITED)
    second = executor.submit(ToolCall("2", "other", {"a": 1}))
    first.cancel()
    assert executor.approvals.pending() == [question]
    return second, say


def test_always_is_kept_for_the_second_of_two_who_asked_the_same_when_the_first_has_given_up(two, plugin, desk):
    second, say = two
    assert say("always")
    assert second.result(WAITED).value == "other"
    assert [grant.tool for grant in plugin.grants.all()] == ["other"]
    assert desk.shown.empty()


def test_the_second_of_two_who_asked_the_same_is_freed_by_another_answer(two, executor, desk):
    second, _ = two
    other = executor.submit(ToolCall("3", "other", {"a": 3}))
    _, say = desk.shown.get(timeout=WAITED)
    assert say("always tool")
    assert [call.result(WAITED).value for call in (other, second)] == ["other", "other"]


def test_a_surface_that_cannot_withdraw_a_question_loses_no_answer(executor, desk, monkeypatch):
    monkeypatch.setattr(desk, "withdraw", lambda approval_id: 1 / 0)
    calls, says = [], []
    for number in range(3):
        calls.append(executor.submit(ToolCall(str(number), "other", {"a": number})))
        says.append(desk.shown.get(timeout=WAITED)[1])
    assert says[0]("always tool")
    assert [call.result(WAITED).value for call in calls] == ["other", "other", "other"]

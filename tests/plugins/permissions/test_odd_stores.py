"""What stands in the place of the files that answers are kept in: it is an error at once, and nothing runs on it."""

from __future__ import annotations

import os

import pytest

from executor import ToolCall
from executor.errors import PermissionConfigError
from executor_permissions import PermissionPlugin
from executor_permissions.store._trust import Trust

ODD = {
    "pipe": os.mkfifo,
    "folder": os.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "depth": lambda path: path.write_text("[" * 200_000),
    "link": lambda path: path.symlink_to("nowhere"),
}


@pytest.fixture(params=ODD)
def odd(request):
    """Puts it in the place of a file."""

    def put(path):
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        ODD[request.param](path)

    return put


@pytest.fixture
def make(tmp_path):
    def make(answer="no"):
        return PermissionPlugin(
            policy={}, project_root=tmp_path, state_dir=tmp_path / "state", channel=answer, session_id="1"
        )

    return make


@pytest.mark.parametrize("name", ["grants.json", "sessions.json"])
def test_nothing_begins_on_what_is_no_file_of_answers(make, odd, tmp_path, name):
    odd(tmp_path / "state" / name)
    with pytest.raises(PermissionConfigError, match=f"{name}.* is damaged"):
        make(lambda _: "yes")


@pytest.mark.parametrize("session", ["", "1"])
@pytest.mark.parametrize("link", [".", "..", "../.."])
def test_answers_behind_a_link_that_leads_to_nothing_are_not_missing(tmp_path, session, link):
    state = tmp_path / "state/toolexec/permissions"
    made = (state / link).resolve()
    made.parent.mkdir(parents=True, exist_ok=True)
    made.symlink_to(tmp_path / "not there now")
    with pytest.raises(PermissionConfigError, match=f"the link {made} leads to nothing"):
        PermissionPlugin(policy={}, project_root=tmp_path, state_dir=state, session_id=session)


@pytest.mark.parametrize("name", ["grants.json", "sessions.json"])
def test_what_comes_while_a_question_is_open_keeps_its_call_and_the_next_from_running(make, odd, tmp_path, name):
    def answer(_):
        odd(tmp_path / "state" / name)
        return "yes"

    plugin = make(answer)
    with pytest.raises(PermissionConfigError, match=f"{name}.* is damaged"):
        plugin.check_permission("tool", {})
    assert plugin.decide(ToolCall("1", "tool", {})).verdict == "deny"


def test_what_is_no_list_of_trusted_folders_trusts_none(odd, tmp_path):
    odd(tmp_path / "trusted.json")
    assert not Trust(tmp_path).is_trusted(tmp_path, "digest")

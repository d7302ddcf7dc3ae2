"""What ``always`` holds for: the call that was shown, with the files that its paths meant then."""

from __future__ import annotations

import json
import os

import pytest

from executor import ToolCall
from executor_permissions import PermissionPlugin
from executor_permissions.store._grants import Grant, arguments_digest

POLICY = {"argumentKinds": {"mine": {"at": "path"}}}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A project, in which one is, beside another."""
    for name in ("proj", "other"):
        (tmp_path / name / "sub").mkdir(parents=True)
        (tmp_path / name / "notes.txt").write_text(name)
    monkeypatch.chdir(tmp_path / "proj")
    return tmp_path


@pytest.fixture
def judge(here):
    """``judge(tool, arguments, answer)``: the method by which the call is judged; "no" where a person has to answer."""
    asked = []

    def judge(tool, arguments, answer="no", project="proj"):
        def person(approval):
            asked.append(approval.text)
            return answer

        plugin = PermissionPlugin(
            policy=POLICY, project_root=here / project, home=here, state_dir=here / "state", channel=person
        )
        return plugin.check_permission(tool, arguments)[1]["method"]

    judge.asked = asked
    return judge


def elsewhere(here):
    os.chdir(here / "other")


def swapped(here):
    (here / "proj" / "notes.txt").unlink()
    (here / "proj" / "notes.txt").symlink_to(here / "other" / "notes.txt")


def folder_swapped(here):
    (here / "proj" / "sub").rmdir()
    (here / "proj" / "sub").symlink_to(here / "other")


CALLS = [
    ("readFile", {"path": "notes.txt"}, {swapped}),
    ("writeFile", {"path": "notes.txt", "content": "x"}, {swapped}),
    ("writeFile", {"path": "sub/new.txt", "content": "x"}, {folder_swapped}),
    ("deleteFile", {"path": "sub/../notes.txt"}, {swapped, folder_swapped}),
    ("listFiles", {}, set()),
    ("mine", {"at": ["sub", "notes.txt"]}, {swapped, folder_swapped}),
    ("mcp__a__copy", {"source": "notes.txt", "target": "new.txt"}, {swapped}),
    ("runCommand", {"command": "cat $x > notes.txt"}, {swapped}),
    ("runCommand", {"command": "touch {notes,other}.txt"}, {swapped}),
    ("runCommand", {"command": "touch {sub/{a,b},n}.txt"}, {folder_swapped}),
    ("runCommand", {"command": "touch n{,otes.txt}"}, {swapped}),
    ("runCommand", {"command": "mytool --out={notes,$x}.txt"}, {swapped}),
]


@pytest.mark.parametrize("change", [elsewhere, swapped, folder_swapped])
@pytest.mark.parametrize(("tool", "arguments", "concerned"), CALLS)
def test_a_call_that_means_another_file_by_now_is_asked_about(judge, here, tool, arguments, concerned, change):
    assert judge(tool, arguments, "always user") == "grant"
    assert judge(tool, arguments) == "grant"
    change(here)
    expected = "user_denied" if change in concerned or change is elsewhere else "grant"
    assert judge(tool, arguments, project="other" if change is elsewhere else "proj") == expected


def test_a_rule_for_a_script_with_a_list_in_braces_is_about_the_files_of_then(judge, here):
    call = {"command": "bash -c 'touch {notes,other}.txt'"}
    assert judge("runCommand", call, "always user") == "grant"
    assert judge("runCommand", call) == "grant"
    swapped(here)
    assert judge("runCommand", call) == "user_denied"


def test_what_names_no_file_is_remembered_wherever_one_is(judge, here):
    calls = [("mine", {"n": 1}), ("mcp__a__b", {"from": "en", "to": "de"}), ("readFile", {"path": str(here / "other")})]
    for tool, arguments in calls:
        assert judge(tool, arguments, "always user") == "grant"
    elsewhere(here)
    assert [judge(tool, arguments, project="other") for tool, arguments in calls] == ["grant"] * 3


def test_never_holds_whatever_file_it_means_by_now(judge, here):
    for change in (swapped, elsewhere):
        assert judge("readFile", {"path": "notes.txt"}, "never user") == "session_blacklist"
        change(here)
        assert judge("readFile", {"path": "notes.txt"}) == "session_blacklist"
    assert judge("listFiles", {}, "never user") == judge("listFiles", {}) == "session_blacklist"


@pytest.mark.parametrize(("path", "lasts"), [("notes.txt", True), ("not\u200bes.txt", False), ("file:///x", False)])
def test_what_is_unclear_is_asked_about_every_time(judge, path, lasts):
    call = "readFile", {"path": path}
    assert judge(*call, "always user") == ("grant" if lasts else "user_approved")
    assert judge(*call) == ("grant" if lasts else "user_denied")
    told = "\n".join(judge.asked)
    assert ("it is asked every time" in told) is not lasts
    assert judge("readFile", {"path": "notes.txt"}, "always tool user") == "grant"
    assert judge(*call) == ("grant" if lasts else "user_denied"), "no more than a rule of the whitelist does"


def test_a_folder_that_holds_the_policys_own_files_is_asked_about_every_time(judge, here):
    call = "deleteFile", {"path": str(here / "proj")}
    assert judge(*call, "always tool user") == "grant"
    assert judge(*call) == "user_denied"


@pytest.mark.parametrize(
    ("verdict", "arguments", "method"),
    [
        ("allow", {"path": "notes.txt"}, "user_denied"),
        ("deny", {"path": "notes.txt"}, "session_blacklist"),
        ("allow", {"n": 1}, "grant"),
    ],
)
def test_grants_of_before_are_read_and_never_reach_further(judge, here, verdict, arguments, method):
    grant = Grant("g", "readFile", verdict, "call", "as shown", "user", digest=arguments_digest(arguments))
    (here / "state").mkdir()
    (here / "state" / "grants.json").write_text(json.dumps({"version": 1, "grants": [grant.to_dict()]}))
    assert judge("readFile", arguments) == method


def test_a_number_of_times_is_counted_for_the_file_that_was_meant(here):
    plugin = PermissionPlugin(
        policy=POLICY,
        project_root=here / "proj",
        home=here,
        state_dir=here / "state",
        channel=lambda _: "always 2 times",
    )
    call = ToolCall("c", "readFile", {"path": "notes.txt"})
    assert plugin.check_permission(call.name, call.arguments)[0]
    decision = plugin.decide(call)
    assert decision.verdict == "allow"
    assert plugin.settle(decision)
    assert plugin.decide(call).verdict == "ask"

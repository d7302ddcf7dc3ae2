"""Policy files: what is wrong with one is said with file, line, key and mend, and nothing runs on it."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import json
import os
import re
import subprocess

import pytest

from executor.errors import PermissionConfigError
from executor_permissions import PermissionPlugin, Policy
from executor_permissions.commands._edit import rules_of
from executor_permissions.commands._start import starter
from executor_permissions.judge.rules._rules import Part
from executor_permissions.judge.rules._scene import CallInfo
from executor_permissions.store._load import files_above


def problems(tmp_path, text):
    path = tmp_path / "permissions.json"
    path.write_text(text)
    with pytest.raises(PermissionConfigError) as caught:
        Policy.load(path)
    assert caught.value.path == str(path)
    assert all(str(path) in problem for problem in caught.value.problems)
    return [problem.removeprefix(str(path)) for problem in caught.value.problems]


WRONG = [
    ('{\n "defaultPolicy": "maybe"\n}', ":2: defaultPolicy: 'maybe' is no verdict: use one of allow, ask, deny"),
    ('{\n\n "blacklists": {}\n}', ":3: blacklists: unknown key 'blacklists': did you mean 'blacklist'?"),
    ('{"whitelist": {\n "tool": []}}', ":2: whitelist.tool: unknown key 'tool': did you mean 'tools'?"),
    ('{"whitelist": {\n "tools": "x"}}', ":2: whitelist.tools: is a text: write a list of texts"),
    ('{"whitelist": {"tools": [\n"a",\n5]}}', ":3: whitelist.tools[1]: is a number: write a text"),
    ('{"whitelist": {"patterns": [\n"a", ""]}}', ":2: whitelist.patterns[1]: is empty: leave it out"),
    ('{"ask": []}', ":1: ask: is a list: write an object with tools, patterns, arguments"),
    ('{"blacklist": {"arguments": {\n"t": []}}}', ':2: blacklist.arguments.t: is a list: write {"argument": [values]}'),
    ('{"blacklist": {"arguments": {"t": {\n"a": "x"}}}}', ":2: blacklist.arguments.t.a: is a text: write a list of values, ['x']"),
    ('{"blacklist": {"arguments": {"t": {"a": [\n{}]}}}}', ":2: blacklist.arguments.t.a[0]: is an object: a value is a text"),
    ('{"blacklist": {"patterns": [\n"echo \'a"]}}', ":2: blacklist.patterns[0]: \"echo 'a\": the quote ' is not closed; close it"),
    ('{"whitelist": {"patterns": ["t(x)"]}}', ":1: whitelist.patterns[0]: 't(x)': 'x' is not of the form name=value; write"),
    ('{"version": "2.0"}', ":1: version: '2.0' is not a version that is known here: use '1.0', '1.1' or '1.2'"),
    ('{"version": 1.0}', ":1: version: 1.0 is not a version"),
    ('{"channel": {\n"timeout": -1}}', ":2: channel.timeout: -1: write a number of seconds above 0"),
    ('{"channel": {"timeout": true}}', ":1: channel.timeout: True: write a number"),
    ('{"channel": {"type": "web hook"}}', ":1: channel.type: 'web hook' is no channel"),
    ('{"channel": {"type": "webhook"}}', ":1: channel: a webhook needs its address"),
    ('{"argumentKinds": {"t": {\n"a": "file"}}}', ":2: argumentKinds.t.a: 'file' is no kind: use one of shell, argv, path, url"),
    ('{"tests": [{"tool": "x", "args": {}, "expect": "ok"}]}', ':1: tests[0]: has no "expect": write one of'),
    ('{"tests": [\n{"tool": "x", "args": {},\n "expect": "allow"}]}', ":2: tests[0]: x {} gives 'ask' (no rule is about x), not 'allow'"),
    ('{"defaultPolicy": "ask",\n "defaultPolicy": "allow"}', ":2: defaultPolicy: the key 'defaultPolicy' stands twice: keep one"),
    ('{"whitelist": {"tools": [],\n\n "tools": ["x"]}}', ":3: whitelist.tools: the key 'tools' stands twice"),
    ('{"a": 1 "b": 2}', ":1: is not JSON: Expecting ',' delimiter (column 9): put a comma"),
    ("{\n// hi\n}", ":2: is not JSON: Expecting property name enclosed in double quotes (column 1): JSON has no comments"),
    ('{"channel": {"timeout": NaN}}', ": is not JSON: NaN is no JSON"),
    ("", ":1: is not JSON"),
    ("[]", ":1: the policy is a list, not an object"),
    ("[" * 500_000, ": is not JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_what_is_wrong_is_said_with_line_key_and_mend(tmp_path, text, expected):
    found = problems(tmp_path, text)
    assert any(problem.startswith(expected) for problem in found), found


def test_a_comma_too_many_is_to_be_taken_away(tmp_path):
    (found,) = problems(tmp_path, '{"whitelist": {"tools": ["a",\n]}}')
    assert re.fullmatch(r":[12]: is not JSON: .* \(column \d+\): take the comma (before it )?away", found)


def test_everything_that_is_wrong_is_said_at_once(tmp_path):
    assert len(problems(tmp_path, '{"x": 1, "defaultPolicy": "y", "ask": 5}')) == 3


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(PermissionConfigError, match=r"nothere\.json: the file does not exist: create it"):
        PermissionPlugin(tmp_path / "nothere.json")


@pytest.mark.skipif(os.name == "nt", reason="there are no such files on Windows")
@pytest.mark.parametrize("make", [lambda path: os.mkfifo(path), os.mkdir, lambda path: path.symlink_to("/dev/zero")])
@pytest.mark.parametrize("behind_a_link", [False, True])
def test_what_is_no_regular_file_is_not_waited_for(tmp_path, project_file, make, behind_a_link):
    project_file.unlink()
    made = tmp_path / "made" if behind_a_link else project_file
    make(made)
    if behind_a_link:
        project_file.symlink_to(made)
    for load in (lambda: Policy.load(made), lambda: PermissionPlugin(project_root=tmp_path / "proj")):
        with pytest.raises(PermissionConfigError, match=r"cannot be read \(this is no regular file\)"):
            load()


def test_bytes_that_are_no_text_are_an_error_with_their_line(tmp_path):
    path = tmp_path / "permissions.json"
    path.write_bytes(b'{\n"a": "\xff"}')
    with pytest.raises(PermissionConfigError, match=r"permissions\.json:2: is not UTF-8: save it as UTF-8"):
        Policy.load(path)


def test_an_empty_object_asks_about_everything(tmp_path):
    path = tmp_path / "permissions.json"
    path.write_text("{}")
    policy = Policy.load(path)
    assert policy.decide("anything", {}).verdict == "ask"
    assert policy.problems == ()


def test_odd_but_legal_entries_are_noted(tmp_path):
    path = tmp_path / "permissions.json"
    path.write_text(json.dumps({
        "version": "1.0", "ask": {},
        "blacklist": {"tools": ["x"]},
        "whitelist": {"tools": ["x", "*"], "patterns": ["* --help", "ls | grep *"]},
    }, indent=1))  # fmt: skip
    policy = Policy.load(path)
    text = "\n".join(policy.problems)
    for note in (
        "'ask' belongs to version 1.1",
        "'x' is in the blacklist too",
        "'*' allows nothing",
        "the program must be named",
    ):
        assert note in text
    assert "one by one" in text
    assert f"{path}:" in text
    assert policy.decide("x", {}).verdict == "deny"
    assert policy.decide("y", {}).verdict == "ask"


def test_rules_know_where_they_stand(tmp_path):
    path = tmp_path / "permissions.json"
    path.write_text('{"whitelist": {\n"patterns": [\n"ls *",\n"git *"]}}')
    policy = Policy.load(path)
    rule = policy.decide("runCommand", {"command": "git status"}).rule
    assert policy.origin("whitelist", rule) == f"{path}:4"


def test_the_file_is_not_looked_at_again(tmp_path):
    path = tmp_path / "permissions.json"
    path.write_text('{"defaultPolicy": "deny"}')
    policy = Policy.load(path)
    path.write_text('{"defaultPolicy": "allow"}')
    assert policy.decide("x", {}).verdict == "deny"


def test_what_a_caller_does_to_its_dict_changes_nothing():
    value = {"whitelist": {"tools": ["a"]}}
    policy = Policy.from_dict(value)
    value["whitelist"]["tools"].append("b")
    assert policy.decide("b", {}).verdict == "ask"


def test_the_environment_names_the_file(tmp_path, monkeypatch):
    path = tmp_path / "mine.json"
    path.write_text('{"defaultPolicy": "deny"}')
    monkeypatch.setenv("TOOLEXEC_PERMISSIONS", str(path))
    assert PermissionPlugin(project_root=tmp_path).check_permission("x", {})[1]["method"] == "default"
    path.unlink()
    with pytest.raises(PermissionConfigError):
        PermissionPlugin(project_root=tmp_path)


def test_a_home_that_nobody_knows_is_in_a_path_as_it_stands(tmp_path, monkeypatch):
    for path in ("~nobody-at-all/p.json", tmp_path / "~nobody-at-all/p.json"):
        monkeypatch.setenv("TOOLEXEC_PERMISSIONS", str(path))
        with pytest.raises(PermissionConfigError, match=r"/~nobody-at-all/p\.json: the file does not exist"):
            PermissionPlugin(project_root=tmp_path)


def test_the_users_own_file_is_found(tmp_path, own_folders):
    folder = own_folders / "config" / "toolexec"
    folder.mkdir(parents=True)
    (folder / "permissions.json").write_text('{"defaultPolicy": "deny"}')
    assert PermissionPlugin(project_root=tmp_path).check_permission("x", {})[1]["reason"] == "no rule is about x"


@pytest.fixture
def project_file(tmp_path):
    folder = tmp_path / "proj" / ".toolexec"
    folder.mkdir(parents=True)
    path = folder / "permissions.json"
    path.write_text(json.dumps({"blacklist": {"tools": ["wipe"]}, "whitelist": {"tools": ["build"]}}))
    return path


@pytest.mark.parametrize("whose", ["user's", "project's"])
@pytest.mark.parametrize("target", ["nowhere.json", "permissions.json"], ids=["nowhere", "itself"])
def test_a_link_that_leads_to_no_file_is_no_missing_policy(tmp_path, own_folders, whose, target):
    folder = own_folders / "config/toolexec" if whose == "user's" else tmp_path / ".toolexec"
    folder.mkdir(parents=True)
    (folder / "permissions.json").symlink_to(target)
    with pytest.raises(PermissionConfigError, match=r"permissions\.json: (the link leads to nothing|cannot be read)"):
        PermissionPlugin(project_root=tmp_path)


@pytest.mark.parametrize("whose", ["config", "config/toolexec", ".toolexec", "../.toolexec"])
def test_a_folder_that_is_a_link_to_nothing_is_no_missing_policy_either(tmp_path, own_folders, whose):
    link = tmp_path / "out/proj" / whose if "." in whose else own_folders / whose
    for folder in (tmp_path / "out/proj/.git", link.parent):
        folder.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / "not there now")
    with pytest.raises(PermissionConfigError, match="the link leads to nothing"):
        PermissionPlugin(project_root=tmp_path / "out/proj")


def test_a_projects_file_denies_at_once_and_allows_only_when_trusted(tmp_path, project_file):
    root = tmp_path / "proj"
    settings = {"project_root": root, "state_dir": tmp_path / "state", "channel_type": "none"}
    plugin = PermissionPlugin(**settings)
    assert plugin.check_permission("wipe", {})[1]["method"] == "blacklist"
    assert plugin.check_permission("build", {})[1]["method"] == "no_channel"
    assert "until this folder is trusted" in "\n".join(plugin.policy.problems)
    assert plugin.trust_project()
    assert PermissionPlugin(**settings).check_permission("build", {})[0]
    project_file.write_text(json.dumps({"whitelist": {"tools": ["build", "wipe"]}}))
    assert not PermissionPlugin(**settings).check_permission("build", {})[0], "trust is bound to the content"


CALLS = [
    ("readFile", {"path": ".env"}), ("readFile", {"path": "~/.ssh/id_rsa"}), ("editFile", {"path": ".git/config"}),
    ("runCommand", {"command": "cat .env"}), ("runCommand", {"command": "rm -rf x"}), ("runCommand", {"command": "ls"}),
    ("runCommand", {"command": "make"}), ("runCommand", {"command": "cat $x"}), ("mine", {"where": "secret"}), ("other", {}),
]  # fmt: skip
OWN = {
    "version": "1.1", "argumentKinds": {"mine": {"where": "path"}},
    "blacklist": {"patterns": ["rm *", "*secret*"], "arguments": {
        "readFile": {"path": ["${project}/.env", "~/.ssh/"]}, "editFile": {"path": ["${project}/.git/"]}, "mine": {"where": ["secret"]}}},
    "whitelist": {"tools": ["readFile"], "patterns": ["ls *"]},
}  # fmt: skip
KINDS = ("shell", "argv", "path", "url")
UNTRUSTED = [
    *({"argumentKinds": {tool: {"path": kind, "where": kind} for tool in ("readFile", "editFile", "searchFiles", "mine")}} for kind in KINDS),
    *({"argumentKinds": {"runCommand": {"command": kind}}} for kind in KINDS[1:]),
    {"shellTools": ["readFile", "editFile", "mine", "other"]},
    {"defaultPolicy": "allow"},
    {"ask": {"tools": ["*"], "patterns": ["*", "*secret*", "rm *"]}},
    {"blacklist": {"patterns": ["*secret*", "*e*"]}},
    {"limits": {"*": {"turn": 1}}, "confine": {"open": ["*"], "default": "open"}},
    {"whitelist": {"patterns": ["rm *", "cat *"], "tools": ["other"]}},
]  # fmt: skip


@pytest.mark.parametrize("default", ["ask", "deny", "allow"])
@pytest.mark.parametrize("theirs", UNTRUSTED)
def test_whatever_an_untrusted_file_says_nothing_is_judged_less_strictly(tmp_path, project_file, theirs, default):
    own, root = tmp_path / "own.json", tmp_path / "proj"
    own.write_text(json.dumps({**OWN, "defaultPolicy": default}))
    project_file.write_text(json.dumps(theirs))
    settings = {"project_root": root, "home": tmp_path, "state_dir": tmp_path / "state", "channel_type": "none"}
    alone, both = Policy.load(own, project_root=root, home=tmp_path), PermissionPlugin(own, **settings).policy
    for tool, args in CALLS:
        was, now = (policy.decide(tool, args, CallInfo(str(root))) for policy in (alone, both))
        strict = [("allow", "ask", "deny").index(decision.verdict) for decision in (was, now)]
        assert strict == sorted(strict), (tool, args, was, now)
        assert now.needs_person or now.verdict == "deny" or not was.needs_person, (tool, args, was, now)
        fixed = both.fixed(tool, args)
        assert fixed is None or fixed.verdict == now.verdict


@pytest.fixture
def inner(tmp_path, project_file):
    """A project below one whose file forbids and asks about files of its own, and what a program started there judges by."""
    own, outer = tmp_path / "own.json", tmp_path / "proj"
    own.write_text(json.dumps({"whitelist": {"tools": ["readFile", "writeFile"], "patterns": ["cat *"]}}))
    project_file.write_text(
        json.dumps(
            {
                "version": "1.2",
                "blacklist": {
                    "tools": ["wipe"],
                    "patterns": ["cat ${project}/plain", "wc data/*", "writeFile(path=sub/kept/*)"],
                    "arguments": {"readFile": {"path": ["${project}/.env", "keys/"]}},
                },
                "ask": {"arguments": {"writeFile": {"path": ["sub/**/*.lock"]}}},
                "whitelist": {"tools": ["build"]},
                "limits": {"writeFile": {"turn": 1}},
                "confine": {"read": ["sh {project}/x"]},
            }
        )
    )
    (outer / "sub").mkdir()
    (outer / "sub/pyproject.toml").touch()
    return PermissionPlugin(
        own, project_root=outer / "sub", home=tmp_path, state_dir=tmp_path / "state", terminal=False
    )


@pytest.mark.parametrize(
    ("tool", "args", "verdict"),
    [
        ("wipe", {}, "deny"),
        ("readFile", {"path": "../.env"}, "deny"),
        ("readFile", {"path": ".env"}, "allow"),  # another file
        ("readFile", {"path": "../keys/a"}, "deny"),
        ("readFile", {"path": "keys/a"}, "allow"),
        ("runCommand", {"command": "cat ../.env"}, "deny"),
        ("runCommand", {"command": "cd .. && cat .env"}, "deny"),
        ("runCommand", {"command": "cat ../../proj/keys/a"}, "deny"),
        ("runCommand", {"command": "cat {outer}/plain"}, "deny"),
        ("runCommand", {"command": "cat {outer}/sub/plain"}, "allow"),
        ("runCommand", {"command": "cat ../plain"}, "deny"),
        ("runCommand", {"command": "cat plain"}, "allow"),
        ("runCommand", {"command": "wc ../data/x"}, "deny"),
        ("runCommand", {"command": "cd .. && wc {outer}/data/x"}, "deny"),
        ("writeFile", {"path": "kept/a"}, "deny"),
        ("writeFile", {"path": "sub/kept/a"}, "allow"),
        ("writeFile", {"path": "a/b.lock"}, "ask"),
        ("writeFile", {"path": "../.toolexec/permissions.json"}, "deny"),
        ("build", {}, "ask"),  # what it allows is for a program that is started there
    ],
)
def test_a_project_below_another_is_not_free_of_what_that_forbids(tmp_path, inner, tool, args, verdict):
    outer = tmp_path / "proj"
    args = {name: value.replace("{outer}", str(outer)) for name, value in args.items()}
    assert inner.policy.decide(tool, args).verdict == verdict


def test_limits_boxes_and_problems_know_the_files_above(tmp_path, inner):
    outer = tmp_path / "proj"
    (outer / ".env").touch()
    assert [limit.calls for limit in inner.policy.limits] == [1]
    assert str(outer / ".env") in inner.policy.boxes.profile("project").unreadable
    words = ("sh", f"{outer}/x")
    part = Part("sh", "allow", None, "", "whitelist", words=words)
    assert inner.policy.boxes.choose([part], {}).profile.name == "read"
    assert inner.policy.problems == ()
    assert inner.where(inner.policy.decide("wipe", {})).startswith(f"{outer}/.toolexec/permissions.json:")
    assert inner.has_policy
    read = [rule for source in inner.policy.files for rule in rules_of(source)]
    told = [(rule.rule, rule.in_force) for rule in read if rule.where.startswith(str(outer))]
    assert ("wipe", True) in told
    assert ("build", False) in told


def test_a_policy_is_in_force_wherever_it_was_loaded_from_and_as_long_as_it_is(tmp_path, project_file):
    own = tmp_path / "own.json"
    own.write_text("{}")
    alone = tmp_path / "alone"
    plugin = PermissionPlugin(own, project_root=alone, state_dir=tmp_path / "state", terminal=False)
    own.unlink()
    assert plugin.has_policy
    assert not PermissionPlugin(policy={}, project_root=project_file.parent.parent, terminal=False).has_policy
    assert not PermissionPlugin(project_root=alone, terminal=False).has_policy


def test_a_file_that_is_asked_for_is_no_file_above_as_well(inner, project_file):
    root = inner.policy.places.project
    policy = PermissionPlugin(project_file, project_root=root, home=project_file.parents[2], terminal=False).policy
    assert [source.path for source in policy.files] == [project_file]
    assert [rule.in_force for rule in rules_of(policy.files[0])] == [True] * 8


def test_links_in_a_circle_in_a_project_are_a_policy_that_does_not_load(tmp_path):
    own, project = tmp_path / "own.json", tmp_path / "proj/.toolexec"
    own.write_text("{}")
    project.mkdir(parents=True)
    (project / "permissions.json").symlink_to("permissions.json")
    with pytest.raises(PermissionConfigError, match="cannot be read"):
        PermissionPlugin(own, project_root=project.parent)


@pytest.mark.parametrize("home", ["proj", "proj/sub", "proj/sub/x"])
def test_what_is_in_the_home_folder_or_above_it_is_no_file_of_a_project(tmp_path, inner, home):
    root = tmp_path / "proj/sub/x"
    root.mkdir(exist_ok=True)
    assert files_above(root, home=tmp_path / home) == []
    assert files_above(root, home=tmp_path) == [tmp_path / "proj/.toolexec/permissions.json"]


@pytest.fixture
def at_home(tmp_path, monkeypatch):
    """A policy, loaded by a program that was started in the home folder."""
    home = tmp_path / "me"
    (home / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    own = tmp_path / "own.json"
    rules = {
        "version": "1.2",
        "blacklist": {"arguments": {"readFile": {"path": ["${project}/.env", ".netrc"]}}},
        "whitelist": {
            "patterns": ["ls *", "touch *", "cat *", "python *"],
            "arguments": {"writeFile": {"path": ["${project}/**", "src/*"]}, "readFile": {"path": ["${project}/"]}},
        },
        "tests": [{"tool": "writeFile", "args": {"path": "${project}/x"}, "expect": "allow"}],
    }
    own.write_text(json.dumps(rules))
    return PermissionPlugin(own, state_dir=tmp_path / "state", terminal=False)


@pytest.mark.parametrize(
    ("tool", "args", "verdict"),
    [
        ("writeFile", {"path": ".bashrc"}, "ask"),
        ("writeFile", {"path": "src/x"}, "ask"),
        ("readFile", {"path": "notes"}, "ask"),
        ("readFile", {"path": ".env"}, "deny"),  # what is forbidden is so in the folder that one is in
        ("readFile", {"path": ".netrc"}, "deny"),
        ("runCommand", {"command": "ls > x"}, "ask"),
        ("runCommand", {"command": "python x.py"}, "ask"),
        ("runCommand", {"command": "cat .env"}, "deny"),
        ("runCommand", {"command": "ls"}, "allow"),
        ("runCommand", {"command": "cat notes"}, "allow"),
    ],
)
def test_started_in_the_home_folder_there_is_no_project_to_write_in(at_home, tool, args, verdict):
    for folder in (None, os.getcwd()):
        assert at_home.policy.decide(tool, args, CallInfo(folder)).verdict == verdict


def test_started_at_the_root_nothing_is_the_projects(at_home, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    plugin = PermissionPlugin(tmp_path / "own.json", state_dir=tmp_path / "state", terminal=False)
    for args in ({"command": "touch made"}, {"argv": ["touch", "made"]}):
        decision = plugin.policy.decide("runCommand", args, CallInfo("/"))
        assert (decision.verdict, decision.reason) == ("ask", "touch made: it writes what is outside the project: made")
    assert plugin.policy.decide("writeFile", {"path": "made"}, CallInfo("/")).verdict == "ask"


def test_what_a_file_in_the_home_folder_forbids_holds_for_who_is_started_there(at_home, tmp_path):
    (tmp_path / "me" / ".toolexec").mkdir()
    told = {"blacklist": {"patterns": ["ls ${project}/x"]}, "whitelist": {"tools": ["build"]}}
    (tmp_path / "me" / ".toolexec" / "permissions.json").write_text(json.dumps(told))
    policy = PermissionPlugin(tmp_path / "own.json", state_dir=tmp_path / "state", terminal=False).policy
    assert policy.decide("runCommand", {"command": f"ls {tmp_path}/me/x"}).verdict == "deny"
    assert policy.decide("runCommand", {"command": "ls"}).verdict == "allow"
    assert policy.decide("build", {}).verdict == "ask"


def test_without_a_project_what_is_granted_for_it_is_for_the_folder_that_one_is_in(tmp_path, monkeypatch):
    home, elsewhere = tmp_path / "me", tmp_path
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    verdicts = []
    for folder, answer in ((home, "always project"), (elsewhere, "no"), (home, "no")):
        monkeypatch.chdir(folder)
        plugin = PermissionPlugin(policy={}, state_dir=tmp_path / "state", channel=lambda _, answer=answer: answer)
        verdicts.append(plugin.check_permission("deploy", {})[0])
    assert verdicts == [True, False, True]


def test_without_a_project_a_channels_folder_is_below_the_folder_that_one_is_in(at_home, tmp_path):
    channel = {"type": "file", "base_path": "asked"}
    plugin = PermissionPlugin(policy={"channel": channel}, state_dir=tmp_path / "state", terminal=False)
    assert str(tmp_path / "me" / "asked") in plugin.policy.places.protected


def test_without_a_project_rules_are_no_problem_and_the_starter_loads(at_home, tmp_path):
    assert [
        problem for problem in at_home.policy.problems if "python" not in problem and "project's own" not in problem
    ] == []
    Policy.from_dict(starter(), state_dir=tmp_path)
    with pytest.raises(PermissionConfigError, match="not 'deny'"):
        Policy.from_dict({"tests": [{"tool": "x", "expect": "deny"}]}, state_dir=tmp_path)


def test_a_broken_file_above_is_told_and_nothing_runs(tmp_path, inner, project_file):
    project_file.write_text("{")
    with pytest.raises(PermissionConfigError, match=r"proj/\.toolexec/permissions\.json:1: is not JSON"):
        PermissionPlugin(tmp_path / "own.json", project_root=tmp_path / "proj/sub", home=tmp_path)


def test_what_an_untrusted_file_asks_holds_for_the_session_too(tmp_path, project_file):
    own, root = tmp_path / "own.json", tmp_path / "proj"
    own.write_text(json.dumps({"defaultPolicy": "deny"}))
    project_file.write_text(json.dumps({"ask": {"tools": ["build"], "patterns": ["ls *"]}}))
    plugin = PermissionPlugin(own, project_root=root, state_dir=tmp_path / "state", channel_type="none")
    assert plugin.policy.decide("build", {}).verdict == "deny", "no rule of the user's is about it"
    plugin.session.allow("ls *")
    assert plugin.policy.decide("runCommand", {"command": "ls"}).method == "ask_rule"
    plugin.session.deny("ls *")
    assert plugin.policy.decide("runCommand", {"command": "ls"}).verdict == "deny"


def test_an_untrusted_file_cannot_make_the_users_own_tests_fail(tmp_path, project_file):
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"whitelist": {"tools": ["wipe"]}, "tests": [{"tool": "wipe", "expect": "allow"}]}))
    settings = {"project_root": tmp_path / "proj", "state_dir": tmp_path / "state", "channel_type": "none"}
    assert PermissionPlugin(own, **settings).check_permission("wipe", {})[1]["method"] == "blacklist"


def test_what_is_left_out_of_an_untrusted_file_is_told(tmp_path, project_file):
    project_file.write_text(json.dumps({"argumentKinds": {"x": {"a": "path"}}, "shellTools": ["y"]}))
    settings = {"project_root": tmp_path / "proj", "state_dir": tmp_path / "state", "channel_type": "none"}
    plugin = PermissionPlugin(**settings)
    told = "\n".join(plugin.policy.problems)
    assert "what it says of arguments is left out" in told
    assert "what it says of tools is left out" in told
    assert not plugin.policy.is_shell_tool("y")
    assert plugin.trust_project()
    assert PermissionPlugin(**settings).policy.is_shell_tool("y")


def test_the_built_in_examples_of_a_file_hold_for_it(tmp_path):
    path = tmp_path / "permissions.json"
    path.write_text(json.dumps({
        "whitelist": {"arguments": {"readFile": {"path": ["${project}/"]}}},
        "tests": [{"tool": "readFile", "args": {"path": "${project}/a"}, "expect": "allow", "why": "it is inside"},
                  {"tool": "readFile", "args": {"path": "/etc/passwd"}, "expect": "ask"}],
    }))  # fmt: skip
    assert Policy.load(path, project_root=tmp_path).decide("readFile", {"path": "b"}).verdict == "allow"


def test_what_only_the_files_of_a_project_make_stricter_does_not_keep_the_policy_from_loading(tmp_path):
    tests = [{"tool": "runCommand", "args": {"command": "git status"}, "expect": "allow"}]
    content = {"version": "1.1", "whitelist": {"patterns": ["git status *"]}, "tests": tests}
    project = tmp_path / "project"
    project.mkdir()
    assert Policy.from_dict(content, project_root=project, home=tmp_path).problems == ()
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (["init", "-q", "."], ["init", "-q", "lib"], ["-C", "lib", *identity, "commit", "-qm1", "--allow-empty"], ["-c", "advice.addEmbeddedRepo=false", "add", "-A"]):  # fmt: skip
        subprocess.run(["git", *words], cwd=project, check=True, capture_output=True)
    policy = Policy.from_dict(content, project_root=project, home=tmp_path)
    (told,) = (problem for problem in policy.problems if problem.startswith("tests[0]: runCommand"))
    assert "gives 'ask'" in told
    assert told.endswith("not 'allow' in this project")
    for rules in (
        {"whitelist": {"tools": ["x"]}},
        {"whitelist": {"patterns": ["git *"]}, "ask": {"patterns": ["git *"]}},
    ):
        with pytest.raises(PermissionConfigError, match="mend the rules"):  # anywhere
            Policy.from_dict({**content, **rules}, project_root=project, home=tmp_path)
    laxer = [*tests, {"tool": "runCommand", "args": {"command": "git status -s"}, "expect": "deny"}]
    with pytest.raises(PermissionConfigError, match="not 'deny': mend"):
        Policy.from_dict({**content, "tests": laxer}, project_root=project, home=tmp_path)

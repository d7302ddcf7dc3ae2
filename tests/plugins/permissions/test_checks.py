"""What a policy file may hold: every key and type, what is noted, and where a file's things stand."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from executor.errors import PermissionConfigError
from executor_permissions.judge.rules._rules import NO_PROJECT, Placeholders
from executor_permissions.store import _load, _source
from executor_permissions.store._check import Checker
from executor_permissions.store._lines import find_lines
from executor_permissions.store._own_tests import expanded


def checked(value):
    checker = Checker()
    checker.check(value)
    return checker


RIGHT = [
    {},
    {"version": "1"},
    {"version": "1.0", "defaultPolicy": "allow"},
    {"version": "1.1", "defaultPolicy": "deny", "ask": {}, "argumentKinds": {}, "shellTools": [], "tests": []},
    {
        "defaultPolicy": "ask",
        "blacklist": {
            "tools": ["a"],
            "patterns": ["a *", "t(x=1)"],
            "arguments": {"t": {"a": ["x", 5, 1.5, True, None]}},
        },
    },
    {"channel": {"type": "queue", "timeout": 0.5}},
    {"channel": {"type": "auto", "timeout": 9999999, "poll_interval": 1}},
    {
        "channel": {
            "type": "webhook",
            "endpoint": "https://x",
            "headers": {"a": "b"},
            "auth_token": "x",
            "auth_token_env": "y",
        }
    },
    {"channel": {"type": "file", "base_path": "/x"}},
    {"argumentKinds": {"t": {"a": "shell", "b": "argv", "c": "path", "d": "url"}}},
    {
        "version": "1.2",
        "confine": {
            "default": "auto",
            "read": [],
            "project": ["npm *"],
            "network": ["git fetch *"],
            "open": [],
            "env": ["MY_TOKEN"],
            "require": False,
            "people": True,
        },
        "limits": {"runCommand": {"turn": 30, "session": 200}, "t": {"turn": 0}, "u": {}},
    },
    {
        "shellTools": ["a"],
        "tests": [{"tool": "t", "args": {}, "expect": "ask", "why": "x"}, {"tool": "t", "expect": "deny"}],
    },
]
WRONG = [
    (None, "the policy is null, not an object"),
    ("x", "the policy is a text, not an object"),
    (5, "the policy is a number, not an object"),
    (1.5, "the policy is a number, not an object"),
    (True, "the policy is true or false, not an object"),
    ({"zzz": 1}, "zzz: unknown key 'zzz': the keys are version, defaultPolicy, blacklist, ask, whitelist, channel, argumentKinds, shellTools, tests, confine, limits"),
    ({"whitelists": 1}, "whitelists: unknown key 'whitelists': did you mean 'whitelist'?"),
    ({"version": 1}, "version: 1 is not a version that is known here: use '1.0', '1.1' or '1.2'"),
    ({"version": "2"}, "version: '2' is not a version"),
    ({"ask": {"pattern": []}}, "ask.pattern: unknown key 'pattern': did you mean 'patterns'?"),
    ({"ask": {"tools": {}}}, "ask.tools: is an object: write a list of texts"),
    ({"ask": {"patterns": "x"}}, "ask.patterns: is a text: write a list of texts"),
    ({"ask": {"patterns": [5]}}, "ask.patterns[0]: is a number: write a text"),
    ({"ask": {"tools": ["a", "  "]}}, "ask.tools[1]: is empty: leave it out"),
    ({"ask": {"patterns": ["a", "'x"]}}, "ask.patterns[1]: \"'x\": the quote ' is not closed; close it, or put a backslash in front of it"),
    ({"ask": {"patterns": ["a", "t(x)"]}}, "ask.patterns[1]: 't(x)': 'x' is not of the form name=value; write tool(name=value, other=value)"),
    ({"ask": {"arguments": []}}, 'ask.arguments: is a list: write {"tool": {"argument": [values]}}'),
    ({"ask": {"arguments": {"t": "x"}}}, 'ask.arguments.t: is a text: write {"argument": [values]}'),
    ({"ask": {"arguments": {"t": {"a": 5}}}}, "ask.arguments.t.a: is a number: write a list of values"),
    ({"ask": {"arguments": {"t": {"a": "x"}}}}, "ask.arguments.t.a: is a text: write a list of values, ['x']"),
    ({"ask": {"arguments": {"t": {"a": ["x", []]}}}}, "ask.arguments.t.a[1]: is a list: a value is a text, a number, true, false or null"),
    ({"ask": {"arguments": {"t": {"a": [""]}}}}, "ask.arguments.t.a[0]: is empty, or holds a NUL character: leave it out"),
    ({"ask": {"arguments": {"t": {"a": ["x\0"]}}}}, "ask.arguments.t.a[0]: is empty, or holds a NUL character"),
    ({"ask": {"arguments": {"t": {"a": ["'x"]}}}}, "ask.arguments.t.a[0]: \"'x\": the quote ' is not closed"),
    ({"ask": {"arguments": {"s": 5, "t": {"a": 5}}}}, "ask.arguments.t.a: is a number"),
    ({"channel": []}, 'channel: is a list: write {"type": "console", "timeout": 300}'),
    ({"channel": {"tipe": "x"}}, "channel.tipe: unknown key 'tipe': did you mean 'type'?"),
    ({"channel": {"type": 5}}, "channel.type: 5 is no channel: use one of auto, console, callback, queue, file, webhook, none"),
    ({"channel": {"type": "Queue"}}, "channel.type: 'Queue' is no channel"),
    ({"channel": {"timeout": 0}}, "channel.timeout: 0: write a number of seconds above 0"),
    ({"channel": {"timeout": 1e7}}, "channel.timeout: 10000000.0: write a number of seconds above 0"),
    ({"channel": {"timeout": "5"}}, "channel.timeout: '5': write a number of seconds above 0"),
    ({"channel": {"poll_interval": True}}, "channel.poll_interval: True: write a number of seconds above 0"),
    *[({"channel": {key: 5}}, f"channel.{key}: is a number: write a text") for key in ("endpoint", "auth_token", "auth_token_env", "base_path")],
    ({"channel": {"headers": []}}, "channel.headers: write an object of texts: "),
    ({"channel": {"headers": {"a": 5}}}, "channel.headers: write an object of texts: "),
    ({"channel": {"type": "webhook"}}, 'channel: a webhook needs its address: add "endpoint"'),
    ({"channel": {"type": "webhook", "endpoint": ""}}, "channel: a webhook needs its address"),
    ({"argumentKinds": []}, 'argumentKinds: is a list: write {"tool": {"argument": "path"}}'),
    ({"argumentKinds": {"t": 5}}, 'argumentKinds.t: is a number: write {"argument": "path"}'),
    ({"argumentKinds": {"s": 5, "t": {"a": "text"}}}, "argumentKinds.t.a: 'text' is no kind: use one of shell, argv, path, url"),
    ({"shellTools": "x"}, "shellTools: is a text: write a list of texts"),
    ({"tests": {}}, 'tests: is an object: write a list of {"tool", "args", "expect"}'),
    ({"tests": [5]}, "tests[0]: is a number: write "),
    ({"tests": [5, {"tol": "t", "expect": "ask"}]}, "tests[1].tol: unknown key 'tol': did you mean 'tool'?"),
    ({"tests": [{"expect": "ask"}]}, 'tests[0]: has no "tool": write the name of the tool that is called'),
    ({"tests": [{"tool": 5, "expect": "ask"}]}, 'tests[0]: has no "tool"'),
    ({"tests": [{"tool": "t", "args": [], "expect": "ask"}]}, "tests[0].args: is a list: write an object of arguments"),
    ({"confine": []}, 'confine: is a list: write {"default": "auto"}'),
    ({"confine": {"default": "all"}}, "confine.default: 'all' is no profile: use one of auto, read, project, network, open"),
    ({"confine": {"net": []}}, "confine.net: unknown key 'net'"),
    ({"confine": {"project": "npm *"}}, "confine.project: is a text: write a list of texts"),
    ({"confine": {"network": ["git fetch *", "'x"]}}, "confine.network[1]: \"'x\": the quote ' is not closed"),
    ({"confine": {"env": [5]}}, "confine.env[0]: is a number: write a text"),
    *[({"confine": {key: 1}}, f"confine.{key}: is a number: write true or false") for key in ("require", "people")],
    ({"limits": 5}, 'limits: is a number: write {"runCommand": {"turn": 30, "session": 200}}'),
    ({"limits": {"t": 5}}, 'limits.t: is a number: write {"turn": 30, "session": 200}'),
    ({"limits": {"t": {"day": 5}}}, "limits.t.day: unknown key 'day'"),
    *[({"limits": {"t": {"turn": number}}}, f"limits.t.turn: {number!r}: write how many calls, a whole number") for number in (-1, 1.5, True, "5")],
    ({"tests": [{"tool": "t"}]}, 'tests[0]: has no "expect": write one of allow, ask, deny'),
]  # fmt: skip


def test_right_content_has_no_errors_and_no_notes():
    assert [
        (value, checked(value).errors, checked(value).notes)
        for value in RIGHT
        if checked(value).errors or checked(value).notes
    ] == []


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (5, "is a number: write a list of values"),
        ({}, "is an object: write a list of values"),
        ("x", "is a text: write a list of values, ['x']"),
    ],
)
def test_only_what_would_be_a_value_is_shown_in_its_list(values, told):
    (error,) = checked({"ask": {"arguments": {"t": {"a": values}}}}).errors
    assert error == (("ask", "arguments", "t", "a"), told)


def test_every_wrong_key_and_type_is_said_with_its_place_and_mend():
    missing = []
    for value, expected in WRONG:
        source = _source.Source({})
        found = [source.where(path) + text for path, text in checked(value).errors]
        if not any(text.startswith(expected) for text in found):
            missing.append((value, expected, found))
    assert missing == []


NOTED = [
    ({"version": "1.0", "ask": {}, "argumentKinds": {}, "shellTools": [], "tests": []}, [(key,) for key in ("ask", "argumentKinds", "shellTools", "tests")], "belongs to version 1.1"),
    ({"version": "1.1", "ask": {}, "confine": {}, "limits": {}}, [("confine",), ("limits",)], "belongs to version 1.2: set \"version\": \"1.2\""),
    ({"version": "1.0", "limits": {}}, [("limits",)], "'limits' belongs to version 1.2"),
    ({"confine": {}, "limits": {}, "ask": {}}, [], ""),
    ({"version": "1", "ask": {}}, [("ask",)], "'ask' belongs to version 1.1: set \"version\": \"1.1\""),
    ({"blacklist": {"tools": ["a"]}, "whitelist": {"tools": ["b", "a"]}}, [("whitelist", "tools", 1)], "'a' is in the blacklist too, which wins"),
    ({"blacklist": {"patterns": ["a"]}, "whitelist": {"patterns": ["a", "b"]}}, [("whitelist", "patterns", 0)], "'a' is in the blacklist too"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "places", "text"), NOTED)
def test_what_is_legal_but_odd_is_noted(value, places, text):
    found = checked(value)
    assert found.errors == []
    assert [path for path, _ in found.notes] == places
    assert all(text in note for _, note in found.notes)


def test_every_key_and_item_has_a_line():
    text = '{\n "a": {\n  "b": [1,\n   "x,:{",\n   [true,\n null], {\n"c":\n 5}]},\n "d\\n": {},\n "a": 2\n}'
    lines = find_lines(text)
    assert lines.of == {
        (): 1,
        ("a",): 10,
        ("a", "b"): 3,
        ("a", "b", 0): 3,
        ("a", "b", 1): 4,
        ("a", "b", 2): 5,
        ("a", "b", 2, 0): 5,
        ("a", "b", 2, 1): 6,
        ("a", "b", 3): 6,
        ("a", "b", 3, "c"): 7,
        ("d\n",): 9,
    }
    assert lines.twice == [(("a",), 10)]
    assert [lines.line(path) for path in (("a", "b", 9), ("a", "b", 3, "z", "y"), ("z",), ())] == [3, 6, 1, 1]


def test_a_file_is_found_read_and_its_rules_placed(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(
        '\ufeff{"whitelist": {\n"tools": ["a",\n"b"], "patterns": ["a"],\n"arguments": {"t": {"x": ["v",\n5]}}},\n"ask": {"tools": ["a"]}}',
        encoding="utf-8",
    )
    source = _source.read_source(path)
    assert source.origins() == {
        ("whitelist", "a"): f"{path}:2",
        ("whitelist", "b"): f"{path}:3",
        ("whitelist", "v"): f"{path}:4",
        ("whitelist", "5"): f"{path}:5",
        ("ask", "a"): f"{path}:6",
    }
    assert len(source.digest) == 64
    assert source.where(("ask", "tools", 0)) == f"{path}:6: ask.tools[0]: "
    assert source.where(()) == f"{path}:1: "
    assert _source.Source({"ask": {"tools": ["a"]}}).origins() == {}
    assert _source.Source({}).where(()) == ""


@pytest.mark.parametrize(
    ("text", "mend"),
    [('{"a": 1,}', "take the comma"), ('{"a": [1,]}', "take the comma"), ('{"a" 1}', "put a comma or a colon there"), ('{"a": 1 "b"}', "put a comma or a colon there"), ("{# x\n}", "JSON has no comments: take it away"), ("{/* x */}", "JSON has no comments: take it away"), ("{// x\n}", "JSON has no comments: take it away"), ("nope", "mend it there"), ("", "mend it there")],
)  # fmt: skip
def test_what_is_not_json_is_told_how_to_mend(tmp_path, text, mend):
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(PermissionConfigError) as caught:
        _source.read_source(path)
    (problem,) = caught.value.problems
    assert problem.startswith(f"{path}:1: is not JSON: ")
    assert f"): {mend}" in problem
    assert str(caught.value) == f"The permission policy {path} could not be loaded, so nothing may run:\n  {problem}"


@pytest.mark.parametrize("section", ["patterns", "tools", "arguments"])
def test_more_rules_than_anybody_waits_for_are_an_error(tmp_path, section):
    def written(count):
        rules = [f"a{number}" for number in range(count)]
        given = {"readFile": {"path": rules}} if section == "arguments" else rules
        (tmp_path / "p.json").write_text(json.dumps({"ask": {"tools": ["x"], section: given}}))
        return tmp_path / "p.json"

    _source.read_source(written(19_999))
    with pytest.raises(PermissionConfigError) as caught:
        _source.read_source(written(20_001))
    problem = "comes to more than 20000 rules in this file: write fewer, with wildcards"
    assert [told.endswith(problem) for told in caught.value.problems] == [True]
    assert f"ask.{section}" in caught.value.problems[0]


def test_a_file_that_is_too_large_or_no_file_is_an_error(tmp_path):
    path = tmp_path / "p.json"
    path.write_text("{}" + " " * (4 * 1024 * 1024 - 2))
    assert _source.read_source(path).value == {}
    path.write_text("{}" + " " * (4 * 1024 * 1024 - 1))
    with pytest.raises(PermissionConfigError, match="is larger than 4 MiB: no policy is; is it the right file"):
        _source.read_source(path)
    with pytest.raises(
        PermissionConfigError, match=r"cannot be read \(this is no regular file\): make it a readable file"
    ):
        _source.read_source(tmp_path)


def test_a_project_is_the_nearest_folder_with_a_mark(tmp_path, monkeypatch):
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    for mark in (".git", ".toolexec"):
        (tmp_path / "a" / mark).mkdir()
        assert _load.find_project(deep) == tmp_path / "a"
        (tmp_path / "a" / mark).rmdir()
    (tmp_path / "a" / "pyproject.toml").touch()
    assert _load.find_project(deep) == tmp_path / "a"
    (deep / ".git").mkdir()
    monkeypatch.chdir(deep)
    assert _load.find_project() == deep


def test_what_the_home_folder_is_in_is_no_project_of_what_is_in_it(tmp_path, monkeypatch):
    home = tmp_path / "homes" / "me"
    deep, marked = home / "notes" / "today", home / "work" / "src"
    for folder in (deep, marked):
        folder.mkdir(parents=True)
    for folder in (tmp_path, home, home / "work"):
        (folder / ".git").mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert _load.find_project(deep) == deep
    assert _load.find_project(marked) == home / "work"
    assert _load.find_project(home / "work" / "elsewhere") == home / "work"
    for folder in (home, tmp_path / "homes", tmp_path, Path("/")):
        assert _load.find_project(folder) == Path(NO_PROJECT)


def test_without_a_home_folder_only_the_root_is_no_project(tmp_path, monkeypatch):
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as for a user whom the system does not know
    assert _load.find_project(tmp_path) == tmp_path
    assert _load.find_project(Path("/")) == Path(NO_PROJECT)


def test_the_environment_comes_before_the_users_file(tmp_path, monkeypatch):
    monkeypatch.setattr(_load, "user_file", lambda: tmp_path / "u" / "permissions.json")
    monkeypatch.delenv("TOOLEXEC_PERMISSIONS", raising=False)
    assert _load.policy_file() == (tmp_path / "u" / "permissions.json", False)
    (tmp_path / "u").mkdir()
    (tmp_path / "u" / "permissions.json").write_text('{"defaultPolicy": "deny"}')
    assert _load.policy_file() == (tmp_path / "u" / "permissions.json", True)
    assert _load.load_effective(None, tmp_path).default == "deny"
    monkeypatch.setenv("TOOLEXEC_PERMISSIONS", str(tmp_path / "e.json"))
    assert _load.policy_file() == (tmp_path / "e.json", True)
    with pytest.raises(PermissionConfigError, match="does not exist"):
        _load.load_effective(None, tmp_path)
    (tmp_path / "e.json").write_text('{"defaultPolicy": "allow"}')
    assert _load.load_effective(None, tmp_path).default == "allow"
    assert _load.load_effective(tmp_path / "u" / "permissions.json", tmp_path).default == "deny"
    assert _load.project_file("/x") == Path("/x/.toolexec/permissions.json")


@pytest.mark.parametrize("trusted", [True, False])
def test_what_no_file_of_a_project_says_is_told(tmp_path, trusted):
    own = _load.project_file(tmp_path / "project")
    own.parent.mkdir(parents=True)
    first = tmp_path / "first.json"
    first.write_text("{}")

    def told(content):
        own.write_text(json.dumps(content))
        policy = _load.load_effective(first, tmp_path / "project", is_trusted=lambda *_: trusted)
        assert policy.decide("t", {}).verdict == "ask"
        return [note.removeprefix(f"{own}:1: ").partition(":")[0] for note in policy.problems]

    channel, test = {"type": "none"}, {"tool": "t", "expect": "allow"}
    content = {"version": "1.2", "defaultPolicy": "deny", "channel": channel, "tests": [test]}
    assert told(content) == ["defaultPolicy", "channel", "tests"]
    assert told({"version": "1.2", "defaultPolicy": "ask", "blacklist": {"tools": ["x"]}}) == []


def test_a_projects_file_adds_to_the_first_but_does_not_set_its_default(tmp_path, monkeypatch):
    project = tmp_path / "proj"
    (project / ".toolexec").mkdir(parents=True)
    own = project / ".toolexec" / "permissions.json"
    own.write_text(
        json.dumps(
            {
                "defaultPolicy": "allow",
                "blacklist": {"tools": ["d"]},
                "ask": {"tools": ["q"]},
                "whitelist": {"tools": ["w"]},
                "argumentKinds": {"t": {"x": "shell", "y": "url"}},
                "shellTools": ["s"],
                "tests": [{"tool": "w", "expect": "deny"}],
            }
        )
    )
    first = tmp_path / "first.json"
    first.write_text(
        json.dumps(
            {
                "whitelist": {"tools": ["f", "d", "q"]},
                "argumentKinds": {"t": {"y": "path"}},
                "channel": {"type": "queue"},
            }
        )
    )
    seen = []

    def trusted(folder, digest):
        seen.append((folder, digest))
        return len(seen) > 1

    def verdicts():
        policy = _load.load_effective(first, project, is_trusted=trusted)
        assert policy.channel == {"type": "queue"}
        assert policy.is_shell_tool("s") is policy.is_shell_tool("t") is (len(seen) > 1)
        return [policy.decide(tool, {}).verdict for tool in "fdqwz"], [
            note for note in policy.problems if "trusted" in note
        ]

    assert verdicts() == (
        ["allow", "deny", "ask", "ask", "ask"],
        [
            f"{own}:1: {key}: {what} is left out until this folder is trusted: toolexec permissions trust"
            for key, what in (
                ("whitelist", "what it allows"),
                ("argumentKinds", "what it says of arguments"),
                ("shellTools", "what it says of tools"),
            )
        ],
    )
    assert verdicts() == (["allow", "deny", "ask", "allow", "ask"], [])
    assert seen[0] == (project, _source.read_source(own).digest)
    with pytest.raises(
        PermissionConfigError,
        match=r"w \{\} gives 'allow' \(the rule 'w' allows it\), not 'deny': mend the rules, or the test",
    ):
        _load.load_effective(own, project)


def test_the_files_of_a_policy_are_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(_load, "user_file", lambda: tmp_path / "conf" / "permissions.json")
    project, folder = tmp_path / "proj", tmp_path / "rules"
    project.mkdir()
    folder.mkdir()
    (folder / "p.json").write_text("{}")
    (tmp_path / "link.json").symlink_to(folder / "p.json")
    policy = _load.Policy.load(tmp_path / "link.json", project_root=project, home=tmp_path / "home")
    own = {
        str(folder),
        str(folder / "p.json"),
        str(tmp_path / "link.json"),
        str(project / ".toolexec"),
        str(tmp_path / "conf"),
        str(tmp_path / "home/.config/toolexec"),
    }
    assert own <= set(policy.places.protected)
    assert policy.places.project == str(project)
    (project / "p.json").write_text("{}")
    inside = _load.Policy.load(project / "p.json", project_root=project, home=tmp_path / "home")
    assert str(project / "p.json") in inside.places.protected
    assert str(project) not in inside.places.protected
    at_home = _load.Policy.load(folder / "p.json", project_root=project, home=folder)
    assert str(folder) not in at_home.places.protected
    stated = _load.Policy.from_dict({}, project_root=project, home=folder, state_dir=tmp_path / "state")
    assert str(tmp_path / "state") in stated.places.protected
    assert os.path.realpath(_load.default_state_dir()) not in stated.places.protected


def test_values_are_copied_and_placeholders_put_in_to_any_depth():
    value = {"a": [{"b": ("x", 1)}]}
    copied = _load.json_copy(value)
    assert copied == {"a": [{"b": ["x", 1]}]}
    copied["a"][0]["b"].append(2)
    assert value == {"a": [{"b": ("x", 1)}]}
    marks = Placeholders("/proj", "/home/me")
    assert expanded({"a": ["${project}/x", {"b": "{home}"}], "c": 5}, marks) == {
        "a": ["/proj/x", {"b": "/home/me"}],
        "c": 5,
    }
    assert Placeholders("/a*b", "/h").expand("${project}") == "/a\\*b"
    assert marks.expand_token("~/x") == "/home/me/x"
    assert marks.expand_token("x~") == "x~"

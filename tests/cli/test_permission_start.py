"""``toolexec permissions`` init, import, explain, add and session: how a person comes to a policy, and sees what it says."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import errno
import json
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from executor.cli import terminal_session
from executor_permissions import Policy
from executor_permissions.commands import _covers
from executor_permissions.commands._covers import NOTABLE
from executor_permissions.commands._reading import read_as
from executor_permissions.commands._start import starter

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "permissions.example.json"
FREE = [("echo", "text=a"), ("listFiles", "path=/"), ("readFile", "path=/etc/hostname"), ("listBackgroundTasks",)]


@pytest.fixture
def own_file(own_folders):
    return own_folders / "config" / "toolexec" / "permissions.json"


def codes(run):
    return [run("call", *words).exit_code for words in FREE]


# The starter policy.


def test_the_starter_in_the_package_is_the_example_of_the_repository():
    assert starter() == json.loads(EXAMPLE.read_text())
    assert (ROOT / "plugins" / "executor_permissions" / "starter.json").read_bytes() == EXAMPLE.read_bytes()


def test_init_writes_a_private_policy_that_loads_and_takes_nothing_away(run, own_file):
    before = codes(run)
    assert before == [0, 0, 0, 0]
    result = run("permissions", "init")
    assert (result.exit_code, str(own_file) in result.stdout) == (0, True)
    assert stat.S_IMODE(own_file.stat().st_mode) == 0o600
    assert codes(run) == before
    assert run("permissions", "test").exit_code == 0
    assert run("call", "runCommand", "command=sudo true", "--yes").exit_code == 3
    assert run("call", "readFile", "path=~/.ssh/id_rsa").exit_code == 3


@pytest.mark.parametrize("words", [("init",), ("add", "git log *"), ("session", "allow", "git log *")])
def test_a_full_disk_is_told_with_the_file_that_does_not_fit_on_it(run, own_folders, monkeypatch, words):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr("executor_permissions.commands._session.terminal_session", lambda: "here")
    result = run("permissions", *words)
    assert result.exit_code == 1
    assert re.fullmatch(rf"error: {own_folders}/\S+\.json cannot be used: No space left on device; .*\n", result.stderr)
    assert not [path for path in own_folders.rglob(".*.json.*") if not path.name.endswith(".lock")]


@pytest.mark.parametrize("words", [("init",), ("add", "git status *"), ("remove", "git status *")])
def test_a_policy_that_cannot_be_looked_at_is_not_written_anew(run, policy, monkeypatch, words):
    path = policy({"whitelist": {"patterns": ["git log *"]}})
    exists = Path.exists

    def seen(self, **how):  # Python 3.14 says of every error that nothing is there
        return self.resolve() != path.resolve() and exists(self, **how)

    monkeypatch.setattr(Path, "exists", seen)
    run("permissions", *words)
    assert "git log *" in path.read_text()


def test_a_folder_that_cannot_be_made_is_told(run, own_folders):
    (own_folders / "config").write_text("a file")
    for words in (("init",), ("add", "git log *")):
        result = run("permissions", *words)
        assert result.exit_code in (1, 2)
        assert "Traceback" not in result.stderr
        assert str(own_folders / "config") in result.stderr


def test_init_leaves_a_policy_that_is_there(run, policy):
    path = policy({})
    result = run("permissions", "init")
    assert (result.exit_code, "there is a policy already" in result.stderr) == (2, True)
    assert path.read_text() == "{}"


@pytest.mark.parametrize("words", [("init",), ("import", str(EXAMPLE), "--write")])
def test_a_rule_that_is_added_while_the_first_policy_is_made_is_not_lost(run, own_file, monkeypatch, words):
    load = Policy.from_dict

    def while_somebody_adds(content):
        monkeypatch.setattr(Policy, "from_dict", load)
        assert run("permissions", "add", "--deny", "git push *").exit_code == 0
        return load(content)

    monkeypatch.setattr(Policy, "from_dict", while_somebody_adds)
    result = run("permissions", *words)
    assert (result.exit_code, "there is a policy already" in result.stderr) == (2, True)
    assert json.loads(own_file.read_text())["blacklist"] == {"patterns": ["git push *"]}


# The first rule, and what a rule covers.


@pytest.mark.parametrize("words", [["echo *"], ["--deny", "sudo *"], ["--ask", "git push *"], ["mcp__x__*"]])
def test_the_first_rule_takes_nothing_away(run, own_file, words):
    before = codes(run)
    result = run("permissions", "add", *words)
    assert result.exit_code == 0
    assert "what ran without one is allowed in it" in result.stderr
    assert codes(run) == before == [0, 0, 0, 0]
    assert "readFile" in json.loads(own_file.read_text())["whitelist"]["tools"]
    assert run("call", "writeFile", f"path={own_file.parent}/x", "content=x").exit_code == 3


def test_a_later_rule_and_one_beside_a_projects_policy_add_only_themselves(run, own_file, tmp_path, monkeypatch):
    (tmp_path / "p" / ".toolexec").mkdir(parents=True)
    (tmp_path / "p" / ".toolexec" / "permissions.json").write_text("{}")
    monkeypatch.chdir(tmp_path / "p")
    assert run("permissions", "add", "ls *").exit_code == 0
    assert json.loads(own_file.read_text()) == {"version": "1.2", "whitelist": {"patterns": ["ls *"]}}


def test_every_comment_stays_when_a_rule_is_added(run, own_file):
    own_file.parent.mkdir(parents=True)
    own_file.write_text(
        '{"_": "one", "version": "1.2", "_": "two", "whitelist": {"_": "a", "_": "b", "_": "c", "patterns": ["ls *"]}, '
        '"blacklist": {"arguments": {"_t": {"_x": ["1"]}, "_t": {"_x": ["2"]}}}}'
    )
    assert run("permissions", "add", "git log *").exit_code == 0
    content = json.loads(own_file.read_text())
    assert content["blacklist"] == {"arguments": {"_t": {"_x": ["2"]}}}, "rules mean what they meant"
    assert [value for key, value in content.items() if key.startswith("_")] == ["one", "two"]
    assert list(content["whitelist"].values()) == ["a", "b", "c", ["ls *", "git log *"]]


@pytest.fixture
def notable(monkeypatch):
    commands = [(f"frob wipe{n}", f"wipes {n}") for n in range(8)]
    monkeypatch.setattr(_covers, "NOTABLE", (*commands, ("gorp x", "gorps")))


def test_add_says_what_a_wide_rule_covers(run, policy, notable):
    policy({})
    shown = run("permissions", "add", "frob *").stderr
    assert "this covers frob wipe0 (wipes 0), frob wipe1 (wipes 1)" in shown
    assert "frob wipe5 (wipes 5), and 2 more of this kind" in shown
    assert "gorp" not in shown
    assert run("permissions", "add", "frob wipe*").stderr == ""


@pytest.mark.parametrize(("rule", "meant"), [("deletFile", "deleteFile"), ("writefile(path=src/*)", "writeFile")])
def test_add_says_where_a_tool_may_be_misspelt(run, policy, rule, meant):
    policy({})
    shown = run("permissions", "add", "--deny", rule).stderr
    assert f"{rule.partition('(')[0]!r} here: did you mean {meant!r}?" in shown
    for other in ("deleteFile", "deleteFil*", "rm *", "source x", "frob *"):
        assert "did you mean" not in run("permissions", "add", "--deny", other).stderr


def test_add_does_not_say_what_is_forbidden_or_was_allowed_before(run, policy, notable):
    policy({"blacklist": {"patterns": ["frob wipe0"]}, "whitelist": {"patterns": ["frob wipe1"]}})
    shown = run("permissions", "add", "frob *").stderr
    assert [n for n in range(8) if f"wipe{n}" in shown] == [2, 3, 4, 5, 6, 7]
    for words in (["ls"], ["--deny", "gorp *"]):
        shown = run("permissions", "add", *words).stderr
        assert "wipe" not in shown
        assert "gorp" not in shown


def test_every_notable_command_is_one_that_a_rule_for_its_program_is_about():
    for command, does in NOTABLE:
        assert (
            Policy.from_dict({"blacklist": {"patterns": [f"{command.split()[0]} *"]}})
            .decide("runCommand", {"command": command})
            .verdict
            == "deny"
        )
        assert does


# Other programs' files.

FOREIGN = {
    "_comment": "made elsewhere",
    "version": "1.0",
    "blacklist": {
        "tools": ["danger"],
        "patterns": ["rm -rf *"],
        "arguments": {"http_get": {"url": ["http://169.254."]}},
    },
    "whitelist": {
        "tools": ["get_time"],
        "patterns": ["git status", "git log *", "search(query=x)", "shell_spawn(*java*)"],
        "arguments": {"readFile": {"path": ["/srv/"]}},
    },
    "channel": {"type": "console", "endpoint": None, "timeout": 30},
    "sanitization": {"enabled": True},
}


@pytest.fixture
def foreign(tmp_path):
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps(FOREIGN, indent=1))
    return path


def test_import_says_how_each_rule_is_read_and_what_is_left_out(run, run_json, foreign, own_file):
    told = run_json("permissions", "import", str(foreign))
    assert told["default"] == "deny"
    assert {rule["rule"]: rule["read_as"] for rule in told["rules"]} == {
        "danger": "forbids the tool danger, whatever it is given",
        "rm -rf *": "forbids the command rm -rf, whatever follows it",
        "http://169.254.": "forbids the tool http_get where url is an address of the form http://169.254.",
        "get_time": "allows the tool get_time, whatever it is given",
        "git status": "allows the command git status, and nothing behind it",
        "git log *": "allows the command git log, whatever follows it",
        "search(query=x)": "allows the tool search where query is x",
        "shell_spawn(*java*)": "allows the tool shell_spawn where any argument is *java*",
        "/srv/": "allows the tool readFile where path is /srv/ or lies in it",
    }
    line = int(told["rules"][0]["where"].removeprefix(f"{foreign}:"))
    assert "danger" in foreign.read_text().splitlines()[line - 1]
    assert told["notes"] == [
        "sanitization: it is not known here, and left out",
        'defaultPolicy: it is not said, which meant "deny" there, and is written down as that',
    ]
    shown = run("permissions", "import", str(foreign))
    assert "forbids the command rm -rf" in shown.stdout
    assert "sanitization" in shown.stderr
    assert not own_file.exists()


def test_import_makes_it_the_policy_when_it_is_told_to(run, foreign, own_file):
    assert run("permissions", "import", str(foreign), "--write").exit_code == 0
    assert stat.S_IMODE(own_file.stat().st_mode) == 0o600
    assert json.loads(own_file.read_text())["defaultPolicy"] == "deny"
    assert run("call", "runCommand", "command=git status --short").exit_code == 3
    assert run("permissions", "import", str(foreign), "--write").exit_code == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "mend it there"),
        ("[]", "not an object"),
        ('{"permissions": {"deny": ["Read(./.env)"]}, "env": {}}', "no key of ours, only permissions, env"),
        ('{"whitelist": []}', "write an object"),
        ('{"defaultPolicy": "perhaps"}', "is no verdict"),
        ("[" * 100_000, "write a flat object"),
        ('{"_why": NaN}', "is no JSON"),
        # Of two the last one would be read, and what the first one forbids would be gone.
        ('{"blacklist": {"tools": ["a"]}, "blacklist": {}, "defaultPolicy": "allow"}', "stands twice"),
        ('{"blacklist": {"tools": ["a"], "tools": []}, "defaultPolicy": "allow"}', "stands twice"),
        ('{"blackList": {"tools": ["a"]}, "defaultPolicy": "allow"}', "did you mean 'blacklist'?"),
    ],
)
def test_what_is_no_policy_cannot_be_imported(run, tmp_path, own_file, content, told):
    path = tmp_path / "foreign.json"
    path.write_text(content)
    ended = run("permissions", "import", str(path), "--write")
    assert ended.exit_code == 2
    assert told in ended.stderr
    assert str(path) in ended.stderr
    assert not own_file.exists()


NULLS = '{"_why": "mine", "whitelist": null, "blacklist": {"_why": "x", "patterns": null, "tools": ["a"]}}'


def test_what_is_null_in_a_file_that_is_imported_is_not_there(run, tmp_path, own_file):
    path = tmp_path / "foreign.json"
    path.write_text(NULLS)
    assert run("permissions", "import", str(path), "--write").exit_code == 0
    assert json.loads(own_file.read_text()) == {
        "_why": "mine", "blacklist": {"_why": "x", "tools": ["a"]}, "defaultPolicy": "deny",
    }  # fmt: skip


@pytest.mark.parametrize(("option", "name"), [((), "whitelist"), (("--deny",), "blacklist")])
def test_a_rule_is_added_to_what_is_null(run, own_file, option, name):
    own_file.parent.mkdir(parents=True)
    own_file.write_text(NULLS)
    assert run("permissions", "add", *option, "ls *").exit_code == 0
    assert json.loads(own_file.read_text())[name]["patterns"] == ["ls *"]
    assert run("permissions", "remove", *option, "ls *").exit_code == 0


@pytest.mark.parametrize(
    ("list_name", "key", "rule", "told"),
    [
        ("whitelist", "tools", "mcp__x__*", "allows every tool whose name begins with mcp__x__"),
        ("whitelist", "patterns", "ls", "allows the command ls without anything behind it, and the tool of this name"),
        ("blacklist", "patterns", "curl * | sh", "forbids a line in which these run after one another: curl * | sh"),
        ("ask", "patterns", "git push*", "asks every time about commands of the form git push*"),
        ("whitelist", "patterns", "f()", "allows the tool f without arguments"),
        ("blacklist", "patterns", "f(*x*)", "forbids the tool f where any argument is *x*"),
        ("whitelist", "patterns", "f(a=1, b='x y')", "allows the tool f where a is 1 and b is 'x y'"),
        ("blacklist", "arguments run line", "rm", "forbids the tool run where line is rm"),
        (
            "blacklist",
            "arguments runCommand command",
            "rm",
            "forbids the tool runCommand where command is a command that begins with rm",
        ),
        (
            "blacklist",
            "arguments writeFile path",
            "/etc",
            "forbids the tool writeFile where path is /etc, or lies in it if that is a folder",
        ),
    ],
)
def test_a_rule_is_told_in_words(list_name, key, rule, told):
    assert read_as(list_name, key, rule) == told


# Explaining.

RULES = {
    "blacklist": {"patterns": ["rm -rf *"]},
    "ask": {"patterns": ["git push *"]},
    "whitelist": {"patterns": ["git status *"]},
}


def test_explain_says_of_every_part_which_rule_decides_or_would(run, run_json, policy):
    path = policy(json.dumps(RULES))
    told = run_json("permissions", "explain", "runCommand", "command=git status; git push; npm publish; rm -rf x")
    parts = {part["text"]: (part["decision"], part["mend"]) for part in told["parts"]}
    assert parts == {
        "git status": ("allow", None),
        "git push": ("ask", "to change that: toolexec permissions remove --ask 'git push *'"),
        "npm publish": ("ask", "to allow it: toolexec permissions add 'npm publish'"),
        "rm -rf x": ("deny", "to change that: toolexec permissions remove --deny 'rm -rf *'"),
    }
    shown = run("permissions", "explain", "runCommand", "command=git status; npm publish").stdout
    assert f"allow: git status\n  the rule 'git status *' allows it ({path}:1)" in shown
    assert "ask: npm publish\n  no rule allows it\n  to allow it: toolexec permissions add 'npm publish'" in shown
    assert "None" not in shown


def test_explain_says_what_would_allow_a_redirection_and_that_does(run, run_json, policy):
    policy(json.dumps(RULES))
    words = ("runCommand", "command=git status > log.txt")
    _, part = run_json("permissions", "explain", *words)["parts"]
    rule = 'writeFile(path="log.txt")'
    assert part["mend"] == f"to allow it: toolexec permissions add '{rule}'"
    assert run("permissions", "add", rule).exit_code == 0
    assert run_json("permissions", "check", *words)["decision"] == "allow"


def test_what_explain_says_of_a_rule_that_begins_with_a_dash_can_be_run(run, run_json, policy):
    policy(json.dumps({"blacklist": {"patterns": ["-x *"]}}))
    (part,) = run_json("permissions", "explain", "runCommand", "command=-x y")["parts"]
    assert part["mend"] == "to change that: toolexec permissions remove --deny -- '-x *'"
    run(*shlex.split(part["mend"].partition("toolexec ")[2]))
    (part,) = run_json("permissions", "explain", "runCommand", "command=-x y")["parts"]
    assert part["decision"] == "ask"


def test_explain_names_the_place_of_a_rule_that_remove_does_not_take_out(run, run_json, policy):
    path = policy({"blacklist": {"arguments": {"readFile": {"path": ["/etc/"]}}}})
    (part,) = run_json("permissions", "explain", "readFile", "path=/etc/hosts")["parts"]
    assert part["mend"] == f"to change that: take it out of {path}:6"
    refused = run("permissions", "remove", "--deny", "/etc/")
    assert refused.exit_code == 2
    assert f"it is among its arguments readFile path, {path}:6: take it out there" in refused.stderr


def test_what_a_loop_runs_is_shown_once(run, policy):
    policy({})
    words = ("runCommand", "command=for i in 1 2 3; do frob $i; done")
    for command in ("explain", "check"):
        assert run("permissions", command, *words).stdout.count("frob $i  ") <= 1
        assert (
            run("permissions", command, *words).stdout.count("no rule allows it") == 2
        )  # of the whole, and of the part


@pytest.mark.parametrize(
    "words", [("echo", "text=a b"), ("runCommand", "command=npm publish"), ("runCommand", 'argv:=["npm", "publish"]')]
)
def test_the_rule_that_explain_names_allows_the_call_as_it_is(run, run_json, policy, words):
    policy({})
    (part,) = run_json("permissions", "explain", *words)["parts"]
    command = part["mend"].removeprefix("to allow it: ")
    import shlex

    assert run(*shlex.split(command)[1:]).exit_code == 0
    assert run_json("permissions", "explain", *words)["decision"] == "allow"


def test_explain_says_how_a_rule_is_read_and_what_it_covers(run, run_json, notable):
    shown = run("permissions", "explain", "gorp *")
    assert "in the whitelist: it allows the command gorp, whatever follows it" in shown.stdout
    assert "this covers gorp x (gorps)" in shown.stderr
    assert run_json("permissions", "explain", "git status")["covers"] == ""
    assert run("permissions", "explain", "ls 'x").exit_code == 2


def test_explain_says_of_each_list_whether_a_rule_can_match_there(run, policy):
    policy({})
    shown = run("permissions", "explain", "gorp > out")
    allows, asks, forbids = shown.stdout.splitlines()
    assert allows.startswith(
        "in the whitelist: it allows nothing: what it redirects is judged by the rules for writeFile"
    )
    assert asks == "in the ask: it asks every time about the command gorp > out, and nothing behind it"
    assert forbids == "in the blacklist: it forbids the command gorp > out, and nothing behind it"
    assert "allows nothing" not in shown.stderr


# The terminal's session.


@pytest.fixture
def session(monkeypatch):
    """This process leads its session: where the tests were started there may be none that can be told."""
    monkeypatch.setattr(os, "getsid", lambda _: os.getpid())


def test_a_session_has_one_id_for_every_command_at_its_terminal():
    script = f'{sys.executable} -c "from executor.cli import terminal_session; print(terminal_session())"'
    one, other = (
        subprocess.run(
            ["sh", "-c", f"{script}; {script}"], capture_output=True, text=True, check=True, start_new_session=True
        ).stdout.split()
        for _ in range(2)
    )
    assert one[0] == one[1]
    assert other[0] == other[1] != one[0]


def test_a_session_whose_leader_cannot_be_seen_has_no_id(monkeypatch):
    monkeypatch.setattr(os, "getsid", lambda _: 0)  # it is outside of this namespace of processes
    assert terminal_session() == ""


@pytest.mark.usefixtures("session")
def test_doctor_finds_what_keeps_every_call_at_this_terminal_from_running(run, own_folders):
    path = own_folders / "state/toolexec/permissions/sessions.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    assert run("call", "echo", "text=a").exit_code == 2
    told = json.loads(run("doctor", "--json").stdout)["findings"]
    found = next(finding for finding in told if finding["check"] == "permissions")
    assert (found["status"], str(path) in found["found"]) == ("broken", True)


def test_what_no_rule_forbids_can_be_changed_by_none(run, policy):
    path = policy(RULES)
    explained = run("permissions", "explain", "readFile", f"path={path}").stdout
    assert ("belongs to the permission policy" in explained, "to change that" in explained) == (True, False)


@pytest.mark.usefixtures("session")
def test_what_is_said_for_the_session_holds_at_its_terminal(run, run_json, policy):
    policy(RULES)
    call = ("call", "runCommand", "command=true")
    assert run(*call).exit_code == 3
    assert run("permissions", "session", "allow", "true").exit_code == 0
    assert run(*call).exit_code == 0
    assert run("permissions", "session", "deny", "true").exit_code == 0
    assert run(*call, "--yes").exit_code == 3
    assert "permissions session clear" in run("permissions", "explain", *call[1:]).stdout
    status = run_json("permissions", "session", "status")
    assert (status["allow"], status["deny"]) == ([], ["true"])
    assert "true" in run("permissions", "session", "status").stdout
    assert run("permissions", "session", "clear").exit_code == 0
    assert run("permissions", "session", "suspend").exit_code == 0
    assert run(*call).exit_code == 0
    assert run("call", "runCommand", "command=rm -rf nothing").exit_code == 3
    assert "skipped: all" in run("permissions", "session", "status").stdout
    assert run("permissions", "session", "resume").exit_code == 0
    assert run(*call).exit_code == 3
    assert run("permissions", "session", "default", "allow").exit_code == 0
    assert run(*call).exit_code == 0
    assert run("permissions", "session", "default", "policy").exit_code == 0
    assert run(*call).exit_code == 3
    assert json.loads(Path(run_json("permissions", "show")["path"]).read_text()) == RULES


@pytest.mark.usefixtures("session")
def test_another_terminal_has_its_own_session(run, terminal, policy):
    policy(RULES)
    assert run("permissions", "session", "allow", "true").exit_code == 0
    one = terminal("call", "runCommand", "command=true")
    one.read_until("? more > ")
    one.type("n\n")
    assert one.end() == 3


@pytest.mark.usefixtures("session")
def test_a_session_rule_that_is_none_changes_nothing(run, run_json, policy):
    policy(RULES)
    before = run_json("permissions", "session", "status")
    assert run("permissions", "session", "allow", "ls 'x").exit_code == 2
    assert run_json("permissions", "session", "status") == before


@pytest.mark.usefixtures("session")
def test_a_session_rule_that_can_match_nothing_is_said(run, policy):
    policy(RULES)
    assert "a | b" in run("permissions", "session", "allow", "a | b").stderr
    assert run("permissions", "session", "allow", "true").stderr == ""
    assert run("permissions", "session", "clear").exit_code == 0


def test_where_a_session_cannot_be_told_that_is_said(run, policy, monkeypatch):
    policy(RULES)
    monkeypatch.setattr("executor_permissions.commands._session.terminal_session", lambda: "")
    result = run("permissions", "session", "suspend")
    assert (result.exit_code, "cannot be told here" in result.stderr) == (2, True)

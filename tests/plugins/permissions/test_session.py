"""What a host says for a session, in code."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
import time
from functools import partial

import pytest

from executor import ToolCall
from executor.errors import PermissionConfigError
from executor_permissions import PermissionPlugin
from executor_permissions.store._private import LONGEST_SESSION
from executor_permissions.store._sessions import SessionFile, SessionRules

POLICY = {
    "blacklist": {"patterns": ["rm -rf *"], "tools": ["danger"]},
    "ask": {"patterns": ["git push *"]},
    "whitelist": {"patterns": ["ls *"]},
    "tests": [{"tool": "runCommand", "args": {"command": "ls"}, "expect": "allow"}],
}


@pytest.fixture
def make(tmp_path):
    def make(policy=POLICY, **settings):
        settings.setdefault("channel", lambda approval: "no")
        return PermissionPlugin(
            policy=policy, project_root=tmp_path, home=tmp_path, state_dir=tmp_path / "s", **settings
        )

    return make


def told(plugin, what, context=None):
    """Verdict and method for a command, or for a tool that is written ``tool()``."""
    tool, args = (what[:-2], {}) if what.endswith("()") else ("runCommand", {"command": what})
    decision = plugin.decide(ToolCall("c", tool, args), context)
    return decision.verdict, decision.method


@pytest.mark.parametrize(
    ("rule", "covered", "not_covered"),
    [
        ("git status *", ["git status -s", "ls; git status"], ["git log", "git status; rm x", "rm -rf x"]),
        ("tool", ["tool()"], ["tool2()", "tool x; y"]),
        ("mcp__srv__*", ["mcp__srv__a()"], ["mcp__other__a()"]),
        ("danger", [], ["danger()"]),
        ("git push *", [], ["git push x"]),
    ],
)
def test_a_rule_of_the_session_allows_what_one_of_the_file_would(make, rule, covered, not_covered):
    plugin = make()
    before = {what: told(plugin, what) for what in (*covered, *not_covered)}
    plugin.session.allow(rule)
    assert {told(plugin, what) for what in covered} <= {("allow", "session_whitelist"), ("allow", "whitelist")}
    assert {what: told(plugin, what) for what in not_covered} == {what: before[what] for what in not_covered}
    plugin.session.clear()
    assert {what: told(plugin, what) for what in before} == before


def test_what_the_session_denies_is_not_outweighed(make):
    plugin = make()
    plugin.session.allow("ls *")
    plugin.session.deny("ls *")
    plugin.session.suspend("all")
    assert told(plugin, "ls") == told(plugin, "cd x && ls -la") == ("deny", "session_blacklist")
    assert plugin.check_permission("runCommand", {"command": "ls"})[0] is False
    plugin.session.allow("ls *")
    assert told(plugin, "ls") == ("allow", "session_whitelist")


def test_the_default_of_a_session(make):
    plugin = make()
    for verdict in ("allow", "deny", "ask"):
        plugin.session.default(verdict)
        assert told(plugin, "tool()") == (verdict, "default")
        assert plugin.session.status()["effective_default"] == verdict
        assert told(plugin, "rm -rf x")[0] == "deny"
    plugin.session.default("deny")
    plugin.session.default(None)
    assert told(plugin, "tool()") == ("ask", "default")
    with pytest.raises(ValueError, match="'perhaps' is no default"):
        plugin.session.default("perhaps")


@pytest.mark.parametrize(
    ("kind", "ends"), [("turn", "end_turn"), ("idle", "became_idle"), ("all", "new_session"), ("all", "session.resume")]
)
@pytest.mark.parametrize("context", [None, {"agent": "a"}])
def test_a_suspension_skips_questions_of_everybody_until_it_ends(make, kind, ends, context):
    plugin = make()
    plugin.session.suspend(kind)
    status = plugin.session.status()
    assert (status["is_suspended"], status["suspension_scope"], status["suspended"]) == (True, kind, {"*": [kind]})
    assert plugin.check_permission("tool", {}, context)[0]
    assert plugin.check_permission("runCommand", {"command": "git push"}, context)[0]
    assert not plugin.check_permission("danger", {}, context)[0]
    assert not plugin.check_permission("runCommand", {"command": "rm -$x y"}, context)[0]  # it may be forbidden
    end = plugin
    for name in ends.split("."):
        end = getattr(end, name)
    end()
    assert not plugin.check_permission("tool", {}, context)[0]
    assert not plugin.session.status()["is_suspended"]


def test_no_agent_has_the_name_that_stands_for_everybody(make):
    plugin = make(channel=lambda approval: "all" if approval.details["agent"] == "*" else "no")
    assert plugin.check_permission("tool", {}, {"agent": "*"})[0]
    assert not plugin.check_permission("tool", {}, {"agent": "b"})[0]
    status = plugin.session.status()
    assert (status["is_suspended"], status["suspended"]) == (False, {"'*'": ["all"]})


def test_a_suspension_outlives_what_does_not_end_it(make):
    plugin = make()
    plugin.session.suspend("idle")
    plugin.end_turn()
    plugin.session.clear()
    assert plugin.check_permission("tool", {})[0]
    with pytest.raises(ValueError, match="cannot be suspended"):
        plugin.session.suspend("ever")


def test_the_status_says_all_that_holds(make):
    plugin = make(channel=lambda approval: "always")
    plugin.session.allow("git status *")
    plugin.session.deny("curl *")
    plugin.check_permission("tool", {})
    status = plugin.session.status()
    (grant,) = status.pop("grants")
    assert grant["rule"] == "tool()"
    assert status == {
        "allow": ["git status *"], "deny": ["curl *"], "effective_default": "ask", "is_suspended": False,
        "suspension_scope": None, "suspended": {},
    }  # fmt: skip
    plugin.session.clear()
    assert plugin.session.status()["grants"] == []


@pytest.mark.parametrize("act", ["allow", "deny"])
@pytest.mark.parametrize("rule", ["ls 'x", " ", ""])
def test_what_is_no_rule_changes_nothing(make, act, rule):
    plugin = make()
    plugin.session.allow("git status *")
    with pytest.raises(PermissionConfigError):
        getattr(plugin.session, act)(rule)
    assert plugin.session.rules == SessionRules(allow=("git status *",))
    assert told(plugin, "git status")[0] == "allow"


def test_a_session_is_over_with_the_plugin_and_with_a_new_one(make):
    plugin = make()
    plugin.session.allow("git status *")
    plugin.new_session()
    assert told(plugin, "git status")[0] == "ask"
    plugin.session.default("allow")
    plugin.shutdown()
    plugin.session.allow("git status *")
    assert told(plugin, "git status") == ("deny", "not_initialized")
    assert plugin.session.status()["effective_default"] == "deny"


def test_the_process_that_a_call_is_left_to_knows_the_session(tmp_path):
    plugin = PermissionPlugin(
        policy=POLICY, project_root=tmp_path, home=tmp_path, state_dir=tmp_path / "s", channel_type="none"
    )
    plugin.session.deny("ls *")
    plugin.session.allow("git status *")
    other = pickle.loads(pickle.dumps(plugin))
    assert told(other, "ls") == ("deny", "session_blacklist")
    assert told(other, "git status") == ("allow", "session_whitelist")


@pytest.mark.parametrize(("kind", "skipped"), [("turn", False), ("idle", False), ("all", True)])
def test_the_process_that_a_call_is_left_to_goes_on_past_the_turn(tmp_path, kind, skipped):
    plugin = PermissionPlugin(
        policy=POLICY, project_root=tmp_path, home=tmp_path, state_dir=tmp_path / "s", channel_type="none"
    )
    plugin.session.suspend(kind)
    other = pickle.loads(pickle.dumps(plugin))
    plugin.became_idle()  # which nobody tells the other
    assert [each.check_permission("tool", {})[0] for each in (plugin, other)] == [skipped, skipped]


def test_the_process_that_a_call_is_left_to_knows_every_never(make):
    plugin = make(
        {"whitelist": {"tools": ["other"]}, "ask": {"tools": ["tool"]}}, channel=lambda _: "never tool 3 times"
    )
    assert not plugin.check_permission("tool", {})[0]
    assert told(plugin, "tool()")[0] == "deny"
    assert told(pickle.loads(pickle.dumps(plugin)), "tool()")[0] == "deny"


@pytest.mark.parametrize("named", ["by the program", "by the environment"])
def test_relative_paths_are_those_of_the_folder_in_which_they_were_given(tmp_path, monkeypatch, named):
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, policy in ((here, {"blacklist": {"tools": ["tool"]}}), (there, {"defaultPolicy": "allow"})):
        folder.mkdir()
        (folder / "p.json").write_text(json.dumps(policy))
    monkeypatch.chdir(here)
    monkeypatch.setenv("TOOLEXEC_PERMISSIONS", "p.json")
    path = "p.json" if named == "by the program" else None
    plugin = PermissionPlugin(path, project_root=".", home=".", state_dir="s", channel=lambda _: "never user")
    monkeypatch.chdir(there)
    other = pickle.loads(pickle.dumps(plugin))
    assert [told(each, "tool()") for each in (plugin, other)] == [("deny", "blacklist")] * 2
    assert other.policy.places == plugin.policy.places
    plugin.check_permission("asked", {})
    assert told(pickle.loads(pickle.dumps(plugin)), "asked()")[0] == "deny"
    assert [each.name for each in there.iterdir()] == ["p.json"]


def test_processes_of_one_session_share_it(make):
    mine, other = partial(make, session_id="one"), make(session_id="two")
    first = mine(channel=lambda approval: "always")
    first.session.deny("ls *")
    first.session.suspend("all")
    second = mine()
    assert told(second, "ls") == ("deny", "session_blacklist")
    assert second.check_permission("tool", {})[0]
    assert told(other, "ls") == ("allow", "whitelist")
    assert not other.check_permission("tool", {})[0]
    second.session.resume()
    first = mine(channel=lambda approval: "always")
    assert first.check_permission("tool", {"n": 1})[1]["method"] == "session_whitelist"
    assert mine().check_permission("tool", {"n": 1})[0]
    assert not other.check_permission("tool", {"n": 1})[0]
    mine().new_session()
    assert told(mine(), "ls") == ("allow", "whitelist")
    assert not mine().check_permission("tool", {"n": 1})[0]


@pytest.fixture
def terminal():
    """The session of a terminal, and a function that closes it."""
    script = "from executor.terminalsession import terminal_session; print(terminal_session(), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as leader:
        yield leader.stdout.readline().strip(), leader.communicate


def test_of_a_terminal_that_is_closed_only_what_restricts_still_holds(make, terminal):
    session, close = terminal
    at = partial(make, session_id=session)
    for tool, answer in (("granted", "always"), ("refused", "never")):
        at(channel=lambda _, answer=answer: f"{answer} session").check_permission(tool, {})
    here = at({}, channel=lambda _: "always session").session
    here.allow("git status *")
    here.deny("git log *")
    here.suspend("all")
    going_on = pickle.loads(pickle.dumps(at()))
    made_later = at(channel=lambda _: "always session 5 times")
    asked = ("git status", "git log", "granted()", "refused()")
    for plugin in (going_on, made_later):
        assert [told(plugin, each)[0] for each in asked] == ["allow", "deny", "allow", "deny"]
        assert plugin.check_permission("tool", {})[1]["method"] == "allow_all"
    close()
    for plugin in (going_on, made_later, at()):
        assert [told(plugin, each)[0] for each in asked] == ["ask", "deny", "ask", "deny"]
        assert not plugin.session.status()["is_suspended"]
    assert not going_on.check_permission("tool", {})[0]
    assert made_later.check_permission("tool", {})[0]
    assert told(made_later, "tool()")[0] == "allow", "it holds as long as the process that was answered"
    assert told(at(), "tool()")[0] == "ask"


@pytest.mark.parametrize(("said", "left"), [("allow", "deny"), ("ask", "ask"), ("deny", "deny")])
def test_the_default_of_a_terminal_that_is_closed_lets_nothing_run(make, terminal, said, left):
    session, close = terminal
    plugin = make({"defaultPolicy": "deny"}, session_id=session)
    plugin.session.default(said)
    assert told(plugin, "tool()")[0] == said
    close()
    assert told(plugin, "tool()")[0] == left


def test_what_was_said_at_a_terminal_is_not_forgotten_while_it_is_open(make, tmp_path, terminal):
    session, close = terminal
    long_ago = time.time() - 2 * LONGEST_SESSION
    for each in (session, "of a host"):
        make(session_id=each).session.deny("git log *")
        make(session_id=each, channel=lambda _: "never session", clock=lambda: long_ago).check_permission("tool", {})
    sessions = tmp_path / "s" / "sessions.json"
    sessions.write_text(re.sub(r'"time": [\d.]+', f'"time": {long_ago}', sessions.read_text()))

    def remembered():
        other = make(session_id="other", channel=lambda _: "never session")
        other.session.allow(f"t{time.monotonic_ns()}")
        other.check_permission("else", {"at": time.monotonic_ns()})
        return [each for each in (session, "of a host") if told(make(session_id=each), "git log")[0] == "deny"], [
            each for each in (session, "of a host") if told(make(session_id=each), "tool()")[0] == "deny"
        ]

    assert remembered() == ([session], [session])
    close()
    assert remembered() == ([], [])


def test_nothing_is_written_where_nothing_was_said(make, tmp_path):
    make(session_id="one")
    plugin = make(session_id="one")
    plugin.end_turn()
    plugin.session.resume()
    assert not (tmp_path / "s").exists()
    plugin.session.deny("ls *")
    before = (tmp_path / "s" / "sessions.json").stat()
    make(session_id="one").session.deny("ls *")
    after = (tmp_path / "s" / "sessions.json").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)  # it may have been read


def test_a_queue_of_the_policy_file_is_at_hand(make):
    plugin = make({"channel": {"type": "queue"}}, channel=None)
    queue, verdicts = plugin.channels["queue"], []
    call = ToolCall("c", "tool", {})
    plugin.ask_later(call, plugin.decide(call), None, verdicts.append)
    assert queue.answer(queue.questions.get(timeout=10).id, "yes")
    assert verdicts[0].allowed
    assert make(channel_type="none", channel=None).channels == {}


SAYING = {
    "deny": lambda plugin: plugin.session.deny("tool"),
    "allow": lambda plugin: plugin.session.allow("ls *"),
    "default": lambda plugin: plugin.session.default("ask"),
    "suspend": lambda plugin: plugin.session.suspend("turn"),
    "end_turn": lambda plugin: plugin.end_turn(),
    "resume": lambda plugin: plugin.session.resume(),
    "made anew": lambda plugin: pickle.loads(pickle.dumps(plugin)),
}


@pytest.mark.parametrize("later", SAYING)
def test_what_one_process_says_takes_nothing_away_of_what_another_said(make, later):
    plugins = [make({"whitelist": {"tools": ["t"]}}, session_id="one", channel=None) for _ in range(3)]
    plugins[0].session.suspend("turn")
    assert told(plugins[1], "t()") == ("allow", "whitelist")
    plugins[2].session.deny("t")
    plugins[2].session.allow("make *")
    assert told(plugins[1], "t()") == ("deny", "session_blacklist"), "at once, as it is a grant"
    SAYING[later](plugins[0])
    fresh = make({"whitelist": {"tools": ["t"]}}, session_id="one")
    for plugin in (*plugins, fresh):
        assert told(plugin, "t()") == ("deny", "session_blacklist")
        assert told(plugin, "make x") == ("allow", "session_whitelist")
        assert plugin.session.status()["deny"][0] == "t"


@pytest.mark.parametrize("answer", ["yes", "always", "turn", "all"])
@pytest.mark.parametrize("forbid", ["a rule", "an answer"])
def test_what_another_process_forbids_while_a_question_is_open_no_answer_allows(make, forbid, answer):
    asking, other = make({"channel": {"type": "queue"}}, session_id="one", channel=None), make(session_id="one")
    queue, verdicts = asking.channels["queue"], []
    call = ToolCall("c", "tool", {})
    asking.ask_later(call, asking.decide(call), None, verdicts.append)
    if forbid == "a rule":
        other.session.deny("tool")
    else:
        assert not make(session_id="one", channel=lambda _: "never").check_permission("tool", {})[0]
    queue.answer(queue.questions.get(timeout=10).id, answer)
    assert not verdicts[0].allowed
    assert asking.suspensions() == {}


def test_a_suspension_that_another_process_ends_is_over(make):
    one, other = make(session_id="one"), make(session_id="one")
    one.session.suspend("all")
    assert other.check_permission("tool", {})[0]
    one.session.resume()
    assert not other.check_permission("tool", {})[0]
    assert not other.session.status()["is_suspended"]


DAMAGED = ["{", "[]", '{"one": 5}', '{"one": {"deny": "ls"}}', '{"one": {"deny": [1]}}', '{"one": {"default": "x"}}']


@pytest.mark.parametrize("text", DAMAGED)
def test_nothing_runs_on_a_damaged_file_of_sessions(make, tmp_path, text):
    plugin = make({"defaultPolicy": "allow"}, session_id="one")
    assert told(plugin, "t()")[0] == "allow"
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "sessions.json").write_text(text)
    assert told(plugin, "t()") == ("deny", "error")
    for act in (lambda: make(session_id="one"), lambda: plugin.session.allow("ls *"), plugin.session.status):
        with pytest.raises(
            PermissionConfigError, match=r"sessions\.json: the file of sessions is damaged .*: delete it"
        ):
            act()
    assert (tmp_path / "s" / "sessions.json").read_text() == text
    make(session_id="").session.allow("ls *")


def test_a_file_of_sessions_is_its_users_alone(tmp_path):
    (tmp_path / "sessions.json").write_text('{"one": {"allow": null, "else": 1}}')
    file = SessionFile(tmp_path, "one")
    assert file.read() == SessionRules()
    file.update(lambda rules: rules._replace(allow=("ls *",)))
    assert not file.has_news()
    assert file.read() == SessionRules(allow=("ls *",))
    assert (tmp_path / "sessions.json").stat().st_mode & 0o777 == 0o600

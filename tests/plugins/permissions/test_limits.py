"""How often a tool may run before a person is asked."""

from __future__ import annotations

import json
import threading

import pytest

from executor import ToolCall, ToolExecutor
from executor_permissions import PermissionPlugin, Policy
from executor_permissions.judge.rules._limits import Limit, LimitCounts

RULES = {"version": "1.2", "whitelist": {"tools": ["t", "u", "mcp__s__*"]}}


@pytest.fixture
def make(tmp_path):
    """Makes plugins with limits, whose channel gives an answer."""

    def make(limits, answer="no", **rules):
        policy = {**RULES, "limits": limits, **rules}
        return PermissionPlugin(
            policy=policy, project_root=tmp_path, state_dir=tmp_path / "state", channel=lambda _approval: answer
        )

    return make


def runs(plugin, tool, times):
    """What becomes of so many calls: whether each may run, and how that was found."""
    return [plugin.check_permission(tool, {})[1]["method"] for _ in range(times)]


def test_beyond_a_limit_a_person_is_asked(make):
    plugin = make({"t": {"turn": 2}})
    assert runs(plugin, "t", 4) == ["whitelist", "whitelist", "user_denied", "user_denied"]
    assert runs(plugin, "u", 3) == ["whitelist"] * 3
    allowing = make({"t": {"turn": 1}}, "yes")
    assert runs(allowing, "t", 3) == ["whitelist", "user_approved", "user_approved"]


def test_a_limit_of_nothing_asks_about_every_call(make):
    assert runs(make({"t": {"session": 0}}), "t", 1) == ["user_denied"]


def test_without_anybody_to_ask_a_call_beyond_the_limit_is_denied(tmp_path):
    policy = {**RULES, "limits": {"t": {"turn": 1}}}
    plugin = PermissionPlugin(policy=policy, project_root=tmp_path, state_dir=tmp_path, channel_type="none")
    assert runs(plugin, "t", 2) == ["whitelist", "no_channel"]


def test_a_turn_and_a_session_are_counted_each(make):
    plugin = make({"t": {"turn": 2, "session": 3}})
    assert runs(plugin, "t", 3) == ["whitelist", "whitelist", "user_denied"]
    plugin.end_turn()
    assert runs(plugin, "t", 2) == ["whitelist", "user_denied"]
    plugin.became_idle()
    assert runs(plugin, "t", 1) == ["user_denied"]
    plugin.new_session()
    assert runs(plugin, "t", 3) == ["whitelist", "whitelist", "user_denied"]


def test_a_turn_that_nobody_ends_lasts_for_ten_minutes(tmp_path):
    now = 1000.0
    policy = {**RULES, "limits": {"t": {"turn": 1, "session": 3}}}
    plugin = PermissionPlugin(policy=policy, project_root=tmp_path, state_dir=tmp_path, channel=lambda _: "no")
    plugin._questions.limits = LimitCounts(lambda: now)
    assert runs(plugin, "t", 2) == ["whitelist", "user_denied"]
    now += 599
    assert runs(plugin, "t", 1) == ["user_denied"]
    now += 1
    assert runs(plugin, "t", 2) == ["whitelist", "user_denied"]
    plugin.end_turn()
    assert runs(plugin, "t", 1) == ["whitelist"]
    plugin.end_turn()
    now += 6000
    assert runs(plugin, "t", 1) == ["user_denied"], "the session goes on"
    again = PermissionPlugin(policy=policy, project_root=tmp_path, state_dir=tmp_path, channel=lambda _: "no")
    again._questions.limits = LimitCounts(lambda: now)
    again.end_turn()
    assert runs(again, "t", 1) == ["whitelist"]
    now += 6000
    assert runs(again, "t", 1) == ["user_denied"], "this host says when a turn ends"


def test_a_host_that_only_begins_sessions_has_turns_of_ten_minutes(tmp_path):
    now = 1000.0
    policy = {**RULES, "limits": {"t": {"turn": 1}}}
    plugin = PermissionPlugin(policy=policy, project_root=tmp_path, state_dir=tmp_path, channel=lambda _: "no")
    plugin._questions.limits = LimitCounts(lambda: now)
    plugin.new_session()
    assert runs(plugin, "t", 2) == ["whitelist", "user_denied"]
    now += 600
    assert runs(plugin, "t", 2) == ["whitelist", "user_denied"]


def test_a_turn_is_not_over_because_the_clock_was_set(tmp_path):
    now = 1e9
    plugin = PermissionPlugin(
        policy={**RULES, "limits": {"t": {"turn": 1}}}, project_root=tmp_path, state_dir=tmp_path,
        channel=lambda _: "no", clock=lambda: now,
    )  # fmt: skip
    assert runs(plugin, "t", 1) == ["whitelist"]
    now += 1e9
    assert runs(plugin, "t", 1) == ["user_denied"]


def test_each_conversation_has_numbers_of_its_own(make):
    plugin = make({"t": {"turn": 1}})
    executors = {name: ToolExecutor(permission_plugin=plugin, conversation=name) for name in ("a", "b", None)}
    for executor in executors.values():
        executor.register("t", lambda _args: {})
        assert [executor.execute("t", {})[0] for _ in range(2)] == [True, False]
    plugin.end_turn("a")
    assert {name: executor.execute("t", {})[0] for name, executor in executors.items()} == {
        "a": True,
        "b": False,
        None: False,
    }
    plugin.end_turn()
    assert all(executor.execute("t", {})[0] for executor in executors.values())
    for executor in executors.values():
        executor.shutdown()


def test_tools_of_one_limit_count_together(make):
    plugin = make({"mcp__s__*": {"turn": 2}, "t": {}})
    assert [*runs(plugin, "mcp__s__a", 1), *runs(plugin, "mcp__s__b", 2)] == ["whitelist", "whitelist", "user_denied"]


def test_a_rehearsal_uses_nothing(make):
    plugin = make({"t": {"turn": 1}})
    call = ToolCall("1", "t", {})
    assert [plugin.decide(call).verdict for _ in range(3)] == ["allow"] * 3
    decision = plugin.decide(call)
    assert plugin.settle(decision)
    assert not plugin.settle(decision), "another call has used it up meanwhile"
    again = plugin.decide(call)
    assert (again.verdict, again.method, again.rule) == ("ask", "ask_rule", "limits t turn 1")
    assert again.reason == (
        "t has run once in this turn, as often as it may without a question; it may again in the next turn"
    )
    assert not again.maybe_denied


def test_a_limit_widens_nothing(make):
    plugin = make({"d": {"turn": 5}, "other": {"turn": 5}}, blacklist={"tools": ["d"]})
    assert runs(plugin, "d", 1) == ["blacklist"]
    assert runs(plugin, "other", 1) == ["user_denied"]


def test_whoever_suspends_the_questions_suspends_those_of_limits(make):
    plugin = make({"t": {"turn": 1}}, "turn")
    assert runs(plugin, "t", 3) == ["whitelist", "turn_suspension", "turn_suspension"]


def test_an_answer_to_another_question_goes_no_further_than_the_limit(tmp_path):
    """A call that waits is judged again when another is answered always; the limit holds for it as well."""
    asked, answers = [], {}
    seen = threading.Semaphore(0)

    def channel(approval):
        asked.append(approval)
        answers[approval.id] = threading.Event()
        seen.release()
        assert answers[approval.id].wait(10)
        return "always" if len(asked) == 1 else "no"

    policy = {"version": "1.2", "limits": {"t": {"turn": 0}}, "whitelist": {"tools": ["t"]}}
    plugin = PermissionPlugin(policy=policy, project_root=tmp_path, state_dir=tmp_path / "s", channel=channel)
    found = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(plugin.check_permission("t", {"n": n}))) for n in range(2)
    ]
    for thread in threads:
        thread.start()
    for i in range(2):
        assert seen.acquire(timeout=10)
        answers[asked[i].id].set()
    for thread in threads:
        thread.join(10)
    assert sorted(allowed for allowed, _ in found) == [False, True]


def test_a_question_beyond_a_limit_uses_no_call_of_an_answer_up(tmp_path):
    """It is looked at again as it is put, in case somebody has answered meanwhile: what did not run is not counted."""
    answers = iter([("always", {"times": 5}), "no", "no"])
    policy = {"version": "1.2", "limits": {"t": {"session": 1}}}
    plugin = PermissionPlugin(
        policy=policy, project_root=tmp_path, state_dir=tmp_path / "s", channel=lambda _approval: next(answers)
    )
    assert runs(plugin, "t", 4) == ["session_whitelist", "session_whitelist", "user_denied", "user_denied"]
    assert [grant.uses_left for grant in plugin.grants.all()] == [3]


def test_a_call_that_a_limit_stops_meanwhile_uses_no_call_of_an_answer_up(make):
    plugin = make({"t": {"session": 1}}, ("always", {"times": 5}), whitelist={})
    assert runs(plugin, "t", 1) == ["session_whitelist"]
    one, other = (plugin.decide(ToolCall(name, "t", {})) for name in "ab")
    assert [plugin.settle(one), plugin.settle(other)] == [True, False]
    assert [grant.uses_left for grant in plugin.grants.all()] == [3]


def test_of_a_conversation_without_counts_nothing_is_kept():
    counts, limits = LimitCounts(), [Limit("t", "turn", 1), Limit("u", "session", 1)]
    for number in range(5):
        assert counts.use(limits, "t", f"turn {number}")
        assert counts.reached(limits, "u", f"asked {number}") is None
    assert counts.use(limits, "u", "session")
    counts.end("turn")
    assert list(counts._conversations) == ["session"]
    assert counts.reached(limits, "u", "session") == limits[1]


def test_calls_at_once_are_never_more_than_the_limit():
    counts, limits = LimitCounts(), [Limit("t", "turn", 50)]
    barrier = threading.Barrier(8)
    used = []

    def use():
        barrier.wait(10)
        used.extend(counts.use(limits, "t") for _ in range(20))

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sum(used) == 50
    assert counts.reached(limits, "t") == limits[0]
    assert counts.reached(limits, "u") is None


def test_the_executor_counts_what_it_runs(make):
    ran = []
    with ToolExecutor(permission_plugin=make({"t": {"turn": 2}})) as executor:
        executor.register("t", lambda _args: ran.append(1) or {})
        assert executor.check(ToolCall("1", "t", {})).decision.verdict == "allow"
        results = [executor.execute("t", {})[0] for _ in range(3)]
    assert (results, len(ran)) == ([True, True, False], 2)


def test_the_files_limit_says_where_it_stands(tmp_path):
    path = tmp_path / "permissions.json"
    path.write_text('{"version": "1.2",\n"limits": {"t": {\n"turn": 1}}}')
    policy = Policy.load(path)
    assert policy.origin("ask", "limits t turn 1") == f"{path}:3"


def test_a_projects_file_can_only_lower_a_number(tmp_path):
    own = tmp_path / "proj" / ".toolexec" / "permissions.json"
    own.parent.mkdir(parents=True)
    first = tmp_path / "first.json"
    for lower, higher in ((1, 9), (9, 1)):
        first.write_text(json.dumps({**RULES, "limits": {"t": {"turn": lower}}}))
        own.write_text(json.dumps({"limits": {"t": {"turn": higher}}}))
        plugin = PermissionPlugin(
            first, project_root=tmp_path / "proj", state_dir=tmp_path / "state", channel=lambda _approval: "no"
        )
        assert runs(plugin, "t", 2) == ["whitelist", "user_denied"]


def test_the_same_limit_in_two_files_counts_a_call_once(tmp_path):
    own = tmp_path / "proj" / ".toolexec" / "permissions.json"
    own.parent.mkdir(parents=True)
    first = tmp_path / "first.json"
    for path in (first, own):
        path.write_text(json.dumps({**RULES, "limits": {"t": {"turn": 2}}}))
    plugin = PermissionPlugin(first, project_root=tmp_path / "proj", state_dir=tmp_path / "state", channel_type="none")
    assert runs(plugin, "t", 3) == ["whitelist", "whitelist", "no_channel"]


@pytest.mark.parametrize(("answer", "people"), [("all", False), ("yes", True)])
def test_beyond_a_limit_a_command_has_its_box_all_the_same(make, answer, people):
    rules = {"whitelist": {"patterns": ["touch *"]}, "confine": {"people": people}}
    plugin = make({"runCommand": {"turn": 0}}, answer, **rules)
    call = ToolCall("1", "runCommand", {"command": "touch a"})
    decision = plugin.decide(call)
    assert (decision.verdict, decision.confine.name) == ("ask", "project")
    plugin.ask(call, decision)  # from the second on nobody is asked, where all is allowed
    assert plugin.ask(call, decision).confine == decision.confine

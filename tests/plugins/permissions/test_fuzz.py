"""Bytes, deep nesting and size: the policy answers every one, soon, and never with allow."""

# ruff: noqa: E501, PT017 -- tables of cases: a line each; a fuzzed value may be right or wrong
from __future__ import annotations

import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from executor.errors import PermissionConfigError
from executor_permissions import Policy
from executor_permissions.judge.paths._lexical import MAX_BYTES
from executor_permissions.judge.rules._scene import CallInfo

POLICY = {
    "defaultPolicy": "ask",
    "blacklist": {"patterns": ["rm -rf *", "sudo *"]},
    "whitelist": {
        "tools": ["plain"],
        "patterns": ["git *", "ls *"],
        "arguments": {"readFile": {"path": ["${project}/docs/"]}},
    },
}
COUNTED = 100_000
# As often as one could count so far in the meantime, here and now. 15 to 40 are seen, as busy as the machine is; what grows with the square is far more.
LIMIT = 60
relaxed = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    policy = Policy.from_dict(POLICY, project_root=root, home=root)
    policy.decide("cli_based_tool", {"command": "git status"})  # the parser is loaded once
    return policy


def counting() -> float:
    """What this machine takes at this moment for something known."""
    started = time.thread_time()
    for _ in range(COUNTED):
        pass
    return time.thread_time() - started


def judged(policy, tool, args, kinds=None):
    """The decision, and how often one could have counted meanwhile: at best, as other work is not the policy's."""
    times = []
    for _ in range(3):
        unit = counting()
        started = time.thread_time()
        decision = policy.decide(tool, args, CallInfo(kinds=kinds))
        times.append((time.thread_time() - started) / unit)
        if times[-1] < LIMIT:
            break
    return decision, min(times)


PIECES = ["a", "a;", "a|", "a&&", "(", ")", "{ ", "}", "$(", "${", "$((", "`", "'", '"', "<<E ", "<<<", "[[ ", "case a in ", "if ",
          "for x in ", "while ", "do ", "a=(", "! ", "@(", "#", "\\", "\n", "*", "<(", ">(", "((", "function f ", "f() ", "a<<E\n",
          "\r", "\x00", "é", "\u202e", "\ud800", "coproc ", "time ", "env ", "npx ", "sudo\t", "a b ", "AB=c ", "select x in ", "|&", ">",
          "2>&1 ", "eval ", "watch ", "ssh h ", "env -S ", "{a,b}", "$'", '$"', "~", "=", ";;", "esac ", "fi ", "done ", "timeout 1 ", "xargs ", "bash -c '"]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("size", [100, 700, 5_000, 31_000, 200_000])
def test_repetition_is_answered_soon_and_never_allowed(policy, piece, size):
    command = piece * max(1, size // len(piece))
    decision, took = judged(policy, "cli_based_tool", {"command": command})
    assert decision.verdict in ("ask", "deny")
    assert took < LIMIT


@pytest.mark.parametrize("pair", [("(", ")"), ("$(", ")"), ("{ ", "; }"), ("`", "`"), ("if a; then ", "; fi"), ("a=(", ")"),
                                  ("${a:-", "}"), ('"$(', ')"'), ("a <(", ")"), ("! ", ""), ("while a; do ", "; done")])  # fmt: skip
@pytest.mark.parametrize("depth", [10, 60, 200, 3000])
def test_deep_nesting_is_answered_soon(policy, pair, depth):
    command = pair[0] * depth + "evil" + pair[1] * depth
    decision, took = judged(policy, "cli_based_tool", {"command": command})
    assert decision.verdict in ("ask", "deny")
    assert took < LIMIT


@pytest.mark.parametrize("kind", ["path", None])
@pytest.mark.parametrize("form", ["src/a/{}.c", "s{}/x", "../a{}/.toolexec/x", "~/.s{}", "%2e{}/a b"])
def test_many_paths_of_one_call_are_judged_soon(tmp_path, kind, form):
    policy = Policy.from_dict(
        {
            "defaultPolicy": "ask",
            "whitelist": {"arguments": {"put": {"paths": ["src/**"]}}},
            "blacklist": {"arguments": {"put": {"paths": ["**/*.key"]}, "readFile": {"path": ["**/*.pem"]}}},
        },
        project_root=tmp_path,
        home=tmp_path / "home",
    )
    paths = [form.format(number) for number in range(4_000)]  # some 64 KB
    decision, took = judged(policy, "put", {"paths": paths}, {"paths": kind} if kind else {})
    assert decision.verdict == "ask"
    assert took < LIMIT
    decision, _ = judged(policy, "put", {"paths": [*paths, "x.key"]}, {"paths": kind} if kind else {})
    assert decision.verdict == "deny" or decision.maybe_denied


@pytest.mark.parametrize(
    ("begin", "piece", "end"),
    [
        ("x=a;", 'x="$x$x";', 'cat "$x"'),  # twice as long each time
        ("x=a;", "x=$x$x;", "cat $x"),
        ("", 'cat "$HOME$HOME$HOME";', ""),
        ("cp -r ", "a ", "b"),
        ("cp -r ", "src ", "b"),
        ("mv ", "a ", "b"),
        ("tar tf a.tar ", "x ", ""),
        ("tar cf a.tar ", "src/up ", ""),
        ("zip -r a.zip ", "src ", ""),
        ("rsync -a ", "src ", "b"),
        ("cat ", "*/* ", ""),
        ("cat ", "**/*/ ", ""),
        ("cat ", "*/up/", ""),  # a link leads back
        ("cat ", "src/up/*/ ", ""),
        ("cat ", "[a-z]?* ", ""),
    ],
)
@pytest.mark.parametrize("size", [2_000, 8_000, 31_000])
def test_many_files_of_one_command_are_looked_at_soon(tmp_path, begin, piece, end, size):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "up").symlink_to("..")
    policy = Policy.from_dict(
        {
            "defaultPolicy": "ask",
            "whitelist": {"patterns": ["cat *", "cp *", "mv *", "tar *", "zip *", "rsync *"]},
            "blacklist": {"arguments": {"readFile": {"path": ["~/.ssh/", "${project}/.env", "**/*.pem"]}}},
        },
        project_root=tmp_path,
        home=tmp_path / "home",
    )
    for first in ("cp -r a b; cat *; x=1; cat $x", "tar tf a.tar; mv a b", "zip -r a.zip b; rsync -a a b"):
        policy.decide("runCommand", {"command": first})  # what they need is imported once
    command = begin + piece * ((size - len(begin + end)) // len(piece)) + end
    decision, took = judged(policy, "runCommand", {"command": command})
    assert decision.method != "error"
    assert took < LIMIT


def test_long_commands_are_never_allowed_and_denied_if_a_blacklisted_program_is_named(policy):
    long = "ls " + "a" * MAX_BYTES
    assert judged(policy, "cli_based_tool", {"command": long})[0].verdict == "ask"
    assert judged(policy, "cli_based_tool", {"command": long + " ; sudo x"})[0].verdict == "deny"
    decision, took = judged(policy, "cli_based_tool", {"command": "ls " * 350_000})
    assert decision.verdict == "ask"
    assert took < LIMIT


def test_a_long_command_below_the_limit_is_allowed_part_by_part(policy):
    for count, verdict in ((250, "allow"), (251, "ask"), (1500, "ask")):
        command = "\n".join(f"git log file{i}" for i in range(count))
        decision, took = judged(policy, "cli_based_tool", {"command": command})
        assert len(command) < MAX_BYTES
        assert decision.verdict == verdict
        assert took < LIMIT


@relaxed
@given(st.lists(st.sampled_from([*PIECES, "rm", "-rf", "evil", " ", "git", "x"]), max_size=40))
def test_pieces_in_any_order_raise_nothing_and_take_no_time(policy, pieces):
    decision, took = judged(policy, "cli_based_tool", {"command": "evil " + "".join(pieces)})
    assert decision.verdict in ("ask", "deny")
    assert decision.method != "error"
    assert took < LIMIT


@relaxed
@given(st.binary(max_size=2000))
def test_bytes_are_never_allowed(policy, data):
    for command in (data.decode("utf-8", "surrogateescape"), data.decode("latin-1"), data):
        decision = policy.decide("cli_based_tool", {"command": command})
        runs_nothing = all(part.words == (":",) for part in decision.parts)  # "a=" does
        assert decision.verdict in ("ask", "deny") or runs_nothing or str(command).split()[0] in ("git", "ls")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@relaxed
@given(
    st.text() | st.none() | st.integers(),
    json_values | st.dictionaries(st.sampled_from(["command", "path", "argv", "cwd"]), json_values),
)
def test_any_arguments_of_any_tool_raise_nothing(policy, tool, args):
    for name in (tool, "readFile", "runCommand", "startBackgroundTask"):
        decision = policy.decide(name, args)
        assert decision.verdict in ("allow", "ask", "deny")
        if decision.verdict == "allow":
            assert name == "readFile"
            assert isinstance(args["path"], str | list)


@relaxed
@given(
    json_values,
    st.sampled_from(["blacklist", "whitelist", "ask", "channel", "tests", "argumentKinds", "shellTools", "version"]),
)
def test_the_loader_takes_any_value_or_says_what_is_wrong(value, key):
    try:
        policy = Policy.from_dict({key: value})
    except PermissionConfigError as error:
        assert error.problems
        assert all(key in problem for problem in error.problems)
    else:
        assert policy.decide("unknown", {}).verdict in ("ask", "deny", "allow")


@relaxed
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_the_loader_takes_any_file_or_says_where_it_is_wrong(tmp_path, data):
    path = tmp_path / "permissions.json"
    path.write_bytes(data)
    try:
        Policy.load(path)
    except PermissionConfigError as error:
        assert str(path) in str(error)


@relaxed
@given(st.lists(st.text(max_size=30), max_size=5))
def test_any_pattern_is_usable_or_refused_when_it_is_loaded(patterns):
    try:
        policy = Policy.from_dict({"whitelist": {"patterns": patterns}, "blacklist": {"patterns": patterns}})
    except PermissionConfigError:
        return
    for command in ("evil x", *patterns):
        assert policy.decide("cli_based_tool", {"command": command}).verdict != "allow"


def test_deep_arguments_are_denied(policy):
    value = "x"
    for _ in range(5000):
        value = [value]
    assert policy.decide("readFile", {"path": value}).verdict == "deny"
    text = '{"a":' * 3000 + "1" + "}" * 3000
    with pytest.raises((RecursionError, PermissionConfigError)):
        Policy.from_dict(json.loads(text))

"""How much work a line is, counted in calls of functions: no more than twice as much for one twice as long."""

from __future__ import annotations

import random
import re
import sys

import pytest

from executor_permissions import Policy
from executor_permissions.judge._judge_shell import ShellJudge
from executor_permissions.judge.paths import _lexical
from executor_permissions.judge.paths._overlap import may_meet, name_may_meet

FEW = {
    "patterns": ["rm *", "git push *"],
    "arguments": {"readFile": {"path": ["secret*", "${project}/.env"]}, "writeFile": {"path": ["kept/*"]}},
}
MANY = {**FEW, "patterns": [*FEW["patterns"], *(f"zz{i} *" for i in range(1000))]}
NESTED = "for x in a b{} c d; do for y in 1 2 3 4; do grep $x $y f; done; done"
PIECES = [
    f"sh -c '{NESTED}'",
    f"timeout 5 bash -c '{NESTED}'",
    f"find . -name a -exec sh -c '{NESTED}' {{{{}}}} +",
    "flock f sh -c 'find . -name a{} -print0 | xargs -0 grep z'",
    "find . -name a{} -print0 | xargs -0 grep z",
    "docker exec c sh -c 'cat a{} <a <b <c'",
    """eval 'nice sh -c "a=$(cat b{}); echo $a; grep -r x ."'""",
    "cat < a{} > b",
    "echo a{} | tee $x.b",
]


@pytest.fixture(params=[FEW, MANY], ids=["few rules", "many rules"])
def policy(request, tmp_path):
    return Policy.from_dict({"defaultPolicy": "allow", "blacklist": request.param}, project_root=tmp_path)


def work(policy, line):
    """How many calls of functions the decision is, and its verdict."""
    counted = 0

    def count(_frame, event, _argument):
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        verdict = policy.decide("runCommand", {"command": line}).verdict
    finally:
        sys.setprofile(None)
    return counted, verdict


@pytest.mark.parametrize("piece", PIECES)
def test_a_line_twice_as_long_is_no_more_than_twice_the_work(policy, piece):
    work(policy, piece.format("w"))
    once, _ = work(policy, "; ".join(piece.format(f"o{i}") for i in range(30)))
    twice, _ = work(policy, "; ".join(piece.format(f"t{i}") for i in range(60)))
    assert twice < 2.3 * once


@pytest.mark.parametrize("piece", PIECES)
def test_a_thousand_rules_for_commands_are_next_to_no_more_work(piece, tmp_path):
    counted = []
    for rules in (FEW, MANY):
        policy = Policy.from_dict({"defaultPolicy": "allow", "blacklist": rules}, project_root=tmp_path)
        work(policy, piece.format("w"))
        counted.append(work(policy, "; ".join(piece.format(i) for i in range(30)))[0])
    assert counted[1] < 1.1 * counted[0]


@pytest.mark.parametrize("count", [26, 80])
def test_what_scripts_run_counts_among_the_commands_of_a_line(policy, count):
    quiet = "; ".join(f"sh -c 'a{i}; b; c; d; e; f; g; h; i; j'" for i in range(count))
    for line in (f"{quiet}; sh -c 'rm x'", f"{quiet}; sh -c 'for x in rm; do $x y; done'"):
        decided = policy.decide("runCommand", {"command": line})
        assert (decided.verdict, decided.maybe_denied) == ("ask", True), "nobody has looked at the last ones"
    assert policy.decide("runCommand", {"command": f"sh -c 'rm x'; {quiet}"}).verdict == "deny"
    assert policy.decide("runCommand", {"command": f"{quiet}; rm x"}).verdict == "deny", "it is no script"


def test_up_to_that_each_is_looked_at(policy):
    quiet = "; ".join(f"sh -c 'a{i}; b; c; d; e; f; g; h; i'" for i in range(24))
    assert policy.decide("runCommand", {"command": quiet}).verdict == "allow"
    assert policy.decide("runCommand", {"command": f"{quiet}; sh -c 'rm x'"}).verdict == "deny"


def test_a_file_that_is_opened_often_is_judged_once(tmp_path, monkeypatch):
    policy = Policy.from_dict({"defaultPolicy": "allow", "blacklist": FEW}, project_root=tmp_path)
    looked = []
    judged = ShellJudge._opened_by
    monkeypatch.setattr(ShellJudge, "_opened_by", lambda *given: looked.append(given) or judged(*given))
    once, _ = work(policy, "cat < a")
    often, verdict = work(policy, "; ".join(f"echo {i} < a" for i in range(40)))
    assert (len(looked), verdict) == (41, "allow")
    assert often < 25 * once


def test_more_files_than_are_compared_with_rules_are_asked_about(tmp_path):
    rules = {"arguments": {"readFile": {"path": [f"s{i}*" for i in range(300)]}}}
    policy = Policy.from_dict({"defaultPolicy": "allow", "blacklist": rules}, project_root=tmp_path)
    assert policy.decide("runCommand", {"command": "sort < a > b"}).verdict == "allow"
    line = "; ".join(f"sort < a{i} > b{i}" for i in range(20))
    decided = policy.decide("runCommand", {"command": line})
    assert (decided.verdict, decided.maybe_denied) == ("ask", True)
    assert "opens more files" in decided.reason


def mentioned(text, words):
    """As `_lexical.mentions` says it does: by an expression."""
    return re.search(r"(?<![\w.-])(?:" + "|".join(map(re.escape, sorted(words))) + r")(?![\w-])", text) is not None


def test_words_are_found_as_an_expression_finds_them():
    draw = random.Random(47)
    found = 0
    for _ in range(20_000):
        words = frozenset("".join(draw.choices("ab.-+/ 1", k=draw.randint(1, 3))) for _ in range(draw.randint(1, 4)))
        text = "".join(draw.choices("ab.-+/ 1;é", k=draw.randint(0, 12)))
        name = _lexical.mentions(text, words)
        assert (name is not None) == mentioned(text, words), (text, words)
        assert name is None or (name in words and name in text)
        found += name is not None
    assert found > 1000


def test_a_name_meets_another_as_a_path_of_it_alone_does():
    draw = random.Random(48)
    found = 0
    for _ in range(20_000):
        glob = "".join(draw.choices("ab.*?[]!", k=draw.randint(1, 6)))
        name = "".join(draw.choices("ab.*", k=draw.randint(1, 5)))
        dots = draw.random() < 0.5
        if "**" not in name:
            assert name_may_meet(glob, name, dots=dots) == may_meet(f"/{glob}", f"/{name}", dots=dots)
            plain = re.escape(glob).replace(r"\*", ".*").replace(r"\?", ".")
            if "[" not in glob and "*" not in name and (dots or name[0] != "."):
                assert name_may_meet(glob, name, dots=dots) == (re.fullmatch(plain, name) is not None)
                found += 1
    assert found > 1000

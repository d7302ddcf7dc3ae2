"""What a person may answer, how a question is shown, and which rule is offered with it."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import json

import pytest

from executor import Decision
from executor.approval import visible
from executor_permissions import Policy
from executor_permissions.ask._offer import Offer, offer, rules_for
from executor_permissions.ask._show import difference, question
from executor_permissions.ask._suspensions import EVERYBODY, Suspensions
from executor_permissions.judge.rules._rules import Part

OFFERS = [  # the command, what always remembers, and what never does if that is more
    ("git status -s", "git status *"), ("npm run build -x", "npm run build -x", "npm run build *"), ("npm run Build", "npm run Build", "npm run *"), ("docker compose up x", "docker compose up x", "docker compose up *"), ("git Foo", "git Foo"), ("git -C x log", "git -C x log"), ("git", "git"), ("ls -la", "ls -la"), ("foo 'a b'", "foo 'a b'"), ('foo "a\'b"', 'foo "a\'b"'), ("foo 'a\"b'", "foo 'a\"b'"), ("foo '*'", "foo '*'"), ("rm 'a b' '*'", "rm 'a b' '*'"),
    ("git stash list", "git stash list *", "git stash *"), ("git log --output=x", "git log --output=x", "git log *"), ("cat a", "cat a"), ("docker ps -a", "docker ps *"), ("git push", "git push", "git push *"), ("git remote -v", "git remote -v", "git remote *"), ("git branch --show-current", "git branch --show-current", "git branch *"), ("python x.py", "python x.py"), ("bash x.sh", "bash x.sh"), ("/bin/ls a", "/bin/ls a"), ("env FOO=1 ls", "env FOO=1 ls"), ("timeout 5 ls a", "ls a"), ("nohup git log", "git log *"), ("npx x", "npx x"), ("sudo apt update", "sudo apt update"),
    ("./git log -5", "./git log -5"), ("bin/git status", "bin/git status"), ("git log a/b", "git log *"), ("ls > f",), ("FOO=1 ls",), ("ls < f",), ("ls $x",), ("a; b",), ("ls *.py",), ("",), ("> f",), ("cat <<E\nx\nE",), ("ls (",), ("foo '\u200b'",), ("bash",), ("git log $?",), ("f() { a; }",), ("python",),
]  # fmt: skip


def test_the_rule_that_is_offered_is_exact_and_the_one_that_forbids_has_the_whole_sub_command():
    for command, *rules in OFFERS:
        assert rules_for(command, "/home/me") == ((rules[0], rules[-1]) if rules else None), command


def test_a_program_without_sub_commands_is_never_left_open():
    for command in ("ls -la", "cat a", "grep -r x .", "find . -name x", "sed -n 1p f", "awk 1 f", "ps aux", "head x"):
        assert rules_for(command, "/home/me") == (command, command)


def part(text, verdict="ask", method="default"):
    return Part(text, verdict, None, "why", method)


def test_an_offer_is_for_each_part_that_no_rule_covers_or_else_for_the_call():
    def offered(*parts, is_shell=True, **args):
        return offer("run", args, parts, is_shell=is_shell, home="/home/me")

    assert offered(part("git push")) == Offer("shell", ("git push",), ("git push *",), "git push")
    assert offered(part("git push"), part("foo a", method="ask_rule")) == Offer(
        "shell", ("git push", "foo a"), ("git push *", "foo a"), "git push; foo a"
    )
    assert offered(part("ls a", "allow"), part("foo a")) == Offer("shell", ("foo a",), ("foo a",), "foo a")
    assert offered(part("git log a"), part("git log b")) == Offer("shell", ("git log *",), ("git log *",), "git log *")
    call = Offer("call", ("run(a='x', b=5)",), ("run(a='x', b=5)",), "run with exactly these arguments")
    assert offered(part("ls a", "allow"), a="x", b=5) == call
    assert offered(part("ls $x"), part("foo"), a="x", b=5) == call
    assert offered(part("foo", method="invalid"), a="x", b=5) == call
    assert offered(part("git log"), is_shell=False, a="x", b=5) == call
    assert offered(a="x" * 198).rules == (f"run(a='{'x' * 198}')",)
    assert offered(a="x" * 199).rules == (f"run(a='{'x' * 99}…{'x' * 99}')",)


def asked(tool="t", args=None, reason="r", parts=(), **details):
    return question(tool, args or {}, reason, parts, details=details)


def test_words_that_are_written_from_right_to_left_are_not_shown_in_each_others_place():
    command = "cp \u05d0/1 \u0634/2"
    marked = "cp \u200e\u05d0\u200e/1 \u200e\u0634\u200e/2"
    parts = [Part(command, "ask", None, why, "default") for why in ("r", "s", "r")]  # the last one has been told
    assert asked("t", {"command": command}, "r", parts).text.splitlines() == [
        f"Run t: {marked}?",
        "  why you are asked: r",
        f"  command: {marked}",
        "  part by part:",
        f"    [ASK] {marked}   (r)",
        f"    [ASK] {marked}   (s)",
        f"Run t: {marked}?",
    ]


def test_a_question_shows_everything_as_plain_text():
    parts = (
        Part("ls", "allow", "ls *", "allowed", "whitelist"),
        Part("foo\nx", "ask", None, "no rule allows it", "default"),
        Part("$x", "ask", None, "it is only known when it runs", "default"),
        Part("rm", "deny", "rm *", "forbidden", "blacklist"),
        Part("mv", "ask", None, "it may be forbidden", "default", True),
        Part("cp", "ask", "cp *", "asks every time", "ask_rule"),
        Part("cd", "allow", None, "only moves", "whitelist"),
    )
    text, whole = asked("t\x07", {"a": "x\ny", "b": [1]}, "because", parts, folder="/proj\n/x", agent="")
    assert text.splitlines() == [
        "Run t<U+0007>: x⏎ y?",
        "  why you are asked: because",
        "  a: x⏎",
        "      y",
        "  b: [1]",
        "  part by part:",
        "    [NO ] rm   (forbidden)",
        "    [ASK] mv   (it may be forbidden)",
        "    [ASK] cp   (asks every time)",
        "    [ASK] $x   (it is only known when it runs)",
        "    [ASK] foo⏎ x   (no rule allows it)",
        "    [ok ] ls   (ls *)",
        "    [ok ] cd   (only moves)",
        "  folder: /proj⏎",
        "      /x",
        "Run t<U+0007>: x⏎ y?",
    ]
    assert whole
    assert asked(parts=parts[:1]) == ("Run t?\n  why you are asked: r\nRun t?", True)


@pytest.mark.parametrize("place", [0, 45, 91])
def test_a_part_without_a_rule_is_shown_wherever_it_stands(place):
    parts = [Part(f"ls {n}", "allow", "ls *", "", "whitelist") for n in range(92)]
    parts[place] = Part("evil", "ask", None, "no rule allows it", "default")
    text, whole = asked(parts=parts)
    lines = text.splitlines()
    assert lines[3] == "    [ASK] evil   (no rule allows it)"
    assert lines[-2] == "    … and 71 more, which rules allow"
    assert whole
    every = [Part(f"x{n}", "ask", None, "no rule allows it", "default") for n in range(92)]
    assert all(f"    [ASK] x{n}   (no rule allows it)" in asked(parts=every).text.splitlines() for n in range(92))


@pytest.mark.parametrize(
    ("args", "target"),
    [
        ({"content": "x", "path": "/a"}, ": /a"),
        ({"argv": ["git", "push"]}, ': ["git","push"]'),
        ({"z": "x", "a": 1}, ": x"),
        ({"z": "", "a": None}, ""),
        ({"command": "x" * 300}, ": " + "x" * 60 + " …[180 characters more]… " + "x" * 60),
    ],
)
def test_a_question_begins_and_ends_with_what_is_to_run(args, target):
    lines = asked(args=args).text.splitlines()
    assert lines[0] == lines[-1] == f"Run t{target}?"
    assert asked(args={"a": "1", "sql": "drop"}).text.splitlines()[0] == "Run t: 1?"
    assert question("t", {"a": "1", "sql": "drop"}, "r", (), details={}, kinds={"sql": "shell"}).text.startswith(
        "Run t: drop?"
    )


def test_an_argument_that_the_tool_does_not_have_is_not_what_is_to_run():
    args = {"note": "x", "command": "get_balance", "amount": 5}
    text = question("pay", args, "r", (), details={}, declared=("amount", "note")).text
    assert text.splitlines()[0] == text.splitlines()[-1] == "Run pay: 5?"
    text = question("pay", args, "r", (), details={}, declared=("amount", "command")).text
    assert text.splitlines()[0] == "Run pay: get_balance?"


def test_nothing_of_a_command_stands_where_the_question_speaks():
    text = asked(args={"a": "x\nRun fine?\n  folder: /ok"}, reason="x\nRun fine?\n  folder: /ok", folder="/real").text
    assert [line for line in text.splitlines() if line.startswith(("Run fine", "  folder: /ok"))] == []
    assert text.splitlines()[1] == "  why you are asked: x⏎ Run fine?⏎   folder: /ok"


@pytest.mark.parametrize(
    "name",
    ["folder", "why you are asked", "always would remember", "a\nRun fine", "part by part", 'a": 1, "b', "x: y", ""],
)
def test_the_name_of_an_argument_is_no_word_of_the_question(name):
    lines = asked(args={"amount": 1, name: "x"}).text.splitlines()
    assert lines[2:-1] == ["  amount: 1", f"  {json.dumps(name)}: x"]


def test_long_values_are_folded_by_lines_and_then_the_question_is_not_whole():
    text, whole = asked(args={"content": "\n".join(f"line {n}" for n in range(100))})
    lines = text.splitlines()
    assert not whole
    assert len(lines) < 30
    assert lines[2:4] == ["  content: line 0⏎", "      line 1⏎"]
    assert "      …[78 lines more]…" in lines
    assert lines[-2] == "      line 99"
    assert asked(args={"content": "\n".join("x" * 23)}).whole
    for args, parts in [
        ({"a": "x" * 2001}, ()),
        ({}, [Part("a", "allow", "a", "", "whitelist"), Part("x" * 301, "ask", None, "", "default")]),
    ]:
        assert not asked(args=args, parts=parts).whole
    assert asked(parts=[Part("x" * 301, "allow", "x *", "", "whitelist"), Part("a", "ask", None, "", "default")]).whole
    assert asked(args={"a": "x" + " " * 5000}).whole  # the blanks are counted


def test_what_nobody_sees_is_shown_by_number():
    assert visible("a" + " " * 8 + "b") == "a" + " " * 8 + "b"
    assert visible("a" + " " * 9 + "b") == "a[9 blanks]b"
    assert visible("a" + "\t" * 12 + "b") == "a[12 blanks]b"
    assert visible("a\n\n\nb") == "a⏎\n⏎\n⏎\nb"
    assert visible("a\n\n\n\n\nb") == "a[5 newlines]b"
    assert visible("a\ufe0fb\u034fc") == "a<U+FE0F>b<U+034F>c"
    assert "\x07" not in visible("a\x07")
    assert visible("x" * 2000) == "x" * 2000
    assert len(visible("x" * 5000)) < 2200
    assert len(visible("x" * 500, 300)) < 400


def test_a_difference_names_both_sides():
    assert difference("a\nb\nc\nd\ne", "a\nb\nX\nd\ne").splitlines() == [
        "--- when you allowed it",
        "+++ now",
        "@@ -2,3 +2,3 @@",
        " b",
        "-c",
        "+X",
        " d",
    ]
    assert difference("a", "a") == ""


def test_suspensions_are_held_for_each_agent_until_they_end():
    policy = Policy.from_dict({"version": "1.1", "ask": {"tools": ["t"]}, "blacklist": {"tools": ["b"]}})
    asked = Decision("ask", "", "default")
    held = Suspensions()
    assert held.skips(None, asked, policy) is None
    assert held.all() == {}
    held.suspend(None, "idle")
    held.suspend(None, "all")
    held.suspend("a", "turn")
    assert held.all() == {None: ("all", "idle"), "a": ("turn",)}
    assert [held.skips(agent, asked, policy) for agent in (None, "a", "b")] == ["idle", "turn", None]
    held.suspend(None, "turn")
    assert held.skips(None, asked, policy) == "turn"
    for method, rule, expected in [
        ("ask_rule", "t", "turn"),
        ("ask_rule", "b", None),
        ("ask_rule", None, None),
        ("invalid", None, None),
        ("blacklist", "b", None),
        ("default", None, "turn"),
        ("error", None, "turn"),
    ]:
        assert held.skips(None, Decision("ask", "", method, rule), policy) == expected, method
    assert (
        held.skips(None, Decision("ask", "", "default", None, (part("x"), part("y", method="invalid"))), policy) is None
    )
    unclear = Decision("ask", "", "default", maybe_denied=True)
    assert held.skips(None, unclear, policy) is None
    assert (
        held.skips(None, Decision("ask", "", "default", None, (part("x")._replace(maybe_denied=True),)), policy) is None
    )
    held.suspend(EVERYBODY, "turn")
    assert held.skips("anybody", asked, policy) == "turn"
    held.resume("turn", agent=EVERYBODY)
    assert held.skips("anybody", asked, policy) is None
    assert held.skips("a", asked, policy) == "turn"
    held.resume("turn", "idle")
    assert held.all() == {None: ("all",)}
    assert held.skips("a", asked, policy) is None

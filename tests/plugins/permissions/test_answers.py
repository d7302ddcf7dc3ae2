"""What a person may answer, how a question is shown, and which rule is offered with it."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import pytest

from executor import Decision
from executor.approval import Answer
from executor_permissions import Policy
from executor_permissions.ask._answers import Choice, read_choice
from executor_permissions.ask._offer import Offer, offer, rule_for
from executor_permissions.ask._show import difference, question, shown
from executor_permissions.ask._suspensions import Suspensions
from executor_permissions.judge._rules import Part


@pytest.mark.parametrize(
    ("said", "choice"),
    [
        ("yes", Choice("yes")),
        ("no", Choice("no")),
        ("always", Choice("always")),
        ("a", Choice("always")),
        ("  ALWAYS ", Choice("always")),
        ("never", Choice("never")),
        ("Never project", Choice("never", scope="project")),
        ("always session", Choice("always", scope="session")),
        ("always project", Choice("always", scope="project")),
        ("always User", Choice("always", scope="user")),
        ("always tool", Choice("always", whole_tool=True)),
        ("always TOOL user", Choice("always", scope="user", whole_tool=True)),
        ("always for 30s", Choice("always", seconds=30)),
        ("always for 30 seconds", Choice("always", seconds=30)),
        ("always for 2m", Choice("always", seconds=120)),
        ("always for 1 H", Choice("always", seconds=3600)),
        ("always for 2d", Choice("always", seconds=172800)),
        ("always for 1h project", Choice("always", scope="project", seconds=3600)),
        ("always 10 times", Choice("always", times=10)),
        ("always 1 time", Choice("always", times=1)),
        ("always user 3 TIMES for 1h tool", Choice("always", scope="user", seconds=3600, times=3, whole_tool=True)),
        ("always for 0s", Choice("no")),
        ("always 0 times", Choice("no")),
        ("always, but not that", Choice("no")),
        ("always please", Choice("no")),
        ("always for 1w", Choice("no")),
        ("always for 1234567s", Choice("no")),
        ("always\nproject", Choice("always", scope="project")),
        ("alwaysproject", Choice("no")),
        ("", Choice("no")),
        (None, Choice("no")),
        (True, Choice("no")),
        (Choice("turn"), Choice("turn")),
        (Answer("yes", None, "me"), Choice("yes", by="me")),
        (Answer("always", {"scope": "user"}, "me"), Choice("always", scope="user", by="me")),
        (Answer("never", {"times": 2}, "me"), Choice("never", times=2, by="me")),
        (Answer("always", None, "me"), Choice("always", by="me")),
        (Answer("no", "error", "me"), Choice("error", by="me")),
        (Answer("no", "timeout", "me"), Choice("timeout", by="me")),
        (Answer("no", "x", "me"), Choice("no", "x", by="me")),
        (Answer("edit", {"a": 1}, "me"), Choice("edit", {"a": 1}, by="me")),
        (Answer("edit", "a", "me"), Choice("no", by="me")),
        (Answer("comment", "why", "me"), Choice("comment", "why", by="me")),
        (("always", {"scope": "project", "for": "2m", "times": 3, "whole_tool": True}), Choice("always", None, "project", 120, 3, True)),
        (("never", {"for": 1.5}), Choice("never", seconds=1.5)),
        (("always", {"scope": "world"}), Choice("no")),
        (("always", {"for": "soon"}), Choice("no")),
        (("always", {"for": 0}), Choice("no")),
        (("always", {"for": -5}), Choice("no")),
        (("always", {"for": []}), Choice("no")),
        (("always", {"times": 0}), Choice("no")),
        (("always", {"times": True}), Choice("no")),
        (("always", {"times": 1.5}), Choice("no")),
        (("always", {"times": "3"}), Choice("no")),
        (("edit", {"a": 1}), Choice("edit", {"a": 1})),
        (("comment", "why"), Choice("comment", "why")),
    ],
)  # fmt: skip
def test_an_answer_is_understood_or_is_a_no(said, choice):
    assert read_choice(said) == choice


def test_a_choice_is_told_to_the_inbox_in_its_own_form():
    lasting = {"scope": "user", "for": 5, "times": 2, "whole_tool": True}
    assert Choice("always", None, "user", 5, 2, True, "me").as_answer() == Answer("always", lasting, "me")
    assert Choice("never").as_answer() == Answer(
        "never", {"scope": "session", "for": None, "times": None, "whole_tool": False}, ""
    )
    assert Choice("error", by="me").as_answer() == Answer("no", "error", "me")
    assert Choice("timeout").as_answer() == Answer("no", "timeout", "")
    assert Choice("comment", "why").as_answer() == Answer("comment", "why", "")
    assert Choice("yes").as_answer() == Answer("yes", None, "")


OFFERS = [
    ("git status -s", "git status *"), ("npm test", "npm test *"), ("npm run build -s", "npm run build *"), ("npm run build -x", "npm run build -x"), ("npm run Build", "npm run *"), ("npm run", "npm run *"), ("docker compose up x", "docker compose up *"), ("git Foo", "git Foo"), ("git", "git"), ("git -C x log", "git -C x log"), ("ls -la", "ls *"), ("ls", "ls *"),
    ("cat a", "cat *"), ("foo a", "foo a"), ("foo 'a b'", "foo 'a b'"), ('foo "a\'b"', 'foo "a\'b"'), ("foo 'a\"b'", "foo 'a\"b'"), ("foo '*'", "foo '*'"), ("python x.py", "python x.py"), ("bash x.sh", "bash x.sh"), ("/bin/ls a", "/bin/ls a"), ("sort -o f", "sort -o f"), ("env FOO=1 ls", "env FOO=1 ls"), ("timeout 5 ls a", "ls *"), ("nohup git log", "git log *"), ("npx x", "npx x"), ("xargs rm", None),
    ("date -s x", "date -s x"), ("pip install x", "pip install *"), ("apt update", "apt update *"), ("sudo apt update", "sudo apt update"), ("go test ./...", "go test *"), ("make test-all", "make test-all *"), ("npm run a:b x", "npm run a:b *"), ("git stash x", "git stash x"), ("npm run build", "npm run build *"), ("git log run x", "git log *"),
    ("ls > f", None), ("FOO=1 ls", None), ("ls < f", None), ("ls $x", None), ("a; b", None), ("ls *.py", None), ("", None), ("> f", None), ("cat <<E\nx\nE", None), ("ls (", None), ("foo '\u200b'", None), ("bash", None), ("git log $?", None), ("f() { a; }", None), ("python", None),
]  # fmt: skip


def test_the_rule_that_is_offered_is_as_narrow_as_a_person_would_write_it():
    assert [(command, rule_for(command, "/home/me")) for command, _ in OFFERS] == OFFERS


def part(text, verdict="ask", method="default"):
    return Part(text, verdict, None, "why", method)


def test_an_offer_is_for_each_part_that_no_rule_covers_or_else_for_the_call():
    def offered(*parts, is_shell=True, **args):
        return offer("run", args, parts, is_shell=is_shell, home="/home/me")

    assert offered(part("git log")) == Offer("shell", ("git log *",), "git log *")
    assert offered(part("git log"), part("foo a", method="ask_rule")) == Offer(
        "shell", ("git log *", "foo a"), "git log *; foo a"
    )
    assert offered(part("ls a", "allow"), part("foo a")) == Offer("shell", ("foo a",), "foo a")
    assert offered(part("git log a"), part("git log b")) == Offer("shell", ("git log *",), "git log *")
    call = Offer("call", ("run(a='x', b=5)",), "run with exactly these arguments")
    assert offered(part("ls a", "allow"), a="x", b=5) == call
    assert offered(part("ls $x"), part("foo"), a="x", b=5) == call
    assert offered(part("foo", method="invalid"), a="x", b=5) == call
    assert offered(part("git log"), is_shell=False, a="x", b=5) == call
    assert offered(a="x" * 198).rules == (f"run(a='{'x' * 198}')",)
    assert offered(a="x" * 199).rules == (f"run(a='{'x' * 99}…{'x' * 99}')",)


def test_a_question_shows_everything_as_plain_text():
    parts = (
        Part("ls", "allow", "ls *", "allowed", "whitelist"),
        Part("foo\nx", "ask", None, "no rule", "default"),
        Part("rm", "deny", "rm *", "forbidden", "blacklist"),
        Part("cd", "allow", None, "only moves", "whitelist"),
    )
    details = {"folder": "/proj\n/x", "agent": ""}
    assert question(
        "t\x07", {"a": "x\ny", "b": [1]}, "because", parts, details=details, offered="ls *\n;"
    ).splitlines() == [
        f"Run {shown(chr(116) + chr(7))}?",
        "  why you are asked: because",
        "  a: x⏎",
        "      y",
        "  b: [1]",
        "  part by part:",
        "    [ok ] ls   (ls *)",
        "    [ASK] foo⏎ x   (no rule)",
        "    [NO ] rm   (forbidden)",
        "    [ok ] cd   (only moves)",
        "  folder: /proj⏎",
        "      /x",
        "  always/never would remember: ls *⏎ ;",
    ]
    assert question("t", {}, "r", parts[:1], details={}, offered=None) == "Run t?\n  why you are asked: r"
    many = question("t", {}, "r", parts[:1] * 40, details={}, offered="").splitlines()
    assert (len(many), many[-1]) == (43, "    [ok ] ls   (ls *)")
    more = question("t", {}, "r", parts[:1] * 42, details={}, offered="").splitlines()
    assert (len(more), more[-1]) == (44, "    … and 2 more")


def test_what_nobody_sees_is_shown_by_number():
    assert shown("a" + " " * 8 + "b") == "a" + " " * 8 + "b"
    assert shown("a" + " " * 9 + "b") == "a[9 blanks]b"
    assert shown("a" + "\t" * 12 + "b") == "a[12 blanks]b"
    assert shown("a\n\n\nb") == "a⏎\n⏎\n⏎\nb"
    assert shown("a\n\n\n\n\nb") == "a[5 newlines]b"
    assert shown("a\ufe0fb\u034fc") == "a<U+FE0F>b<U+034F>c"
    assert "\x07" not in shown("a\x07")
    assert shown("x" * 2000) == "x" * 2000
    assert len(shown("x" * 5000)) < 2200
    assert len(shown("x" * 500, 300)) < 400


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
    held.resume("turn", "idle")
    assert held.all() == {None: ("all",)}
    assert held.skips("a", asked, policy) is None

"""A command is understood where two readings of it agree; what the parser says otherwise is not."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import pytest

from executor_permissions.judge.bash import _parser, _tree, _understand
from executor_permissions.judge.bash._split import split
from executor_permissions.judge.bash._split_words import NotUnderstoodError
from executor_permissions.judge.bash._understand import understand

AGREED = [
    "a b; c && d || e | f |& g &",
    "if a; then b; elif c; then d; else e; fi",
    "for i in a \"$b\" *.c 3; do c; done > f",
    "while a; do b; done < f; until a; do b; done",
    "case $x in a|b*) c;; (d) ;; *) e; esac",
    "(a) 2>&1; { b; } | c",
    "! a | b",
    "time a | b; time -p c",
    "a && b > f c",
    "> f a",
    "a >&- <&2 &> f &>> g >| h",
    "x=1 y=\"$z\" a; x=$(b)",
    "export A=1 B; unset C; readonly D='x y'",
    "[ -f a -a ! $b = c ]; [ a ]; test a",
    "[[ -f a ]] && [[ ! -d \"$b\" ]] > c; [[ $a == x* ]] || [[ a ]]; if [[ a -nt b ]]; then c; fi",
    "cat - <<'E' > f\n$(x)\n\nE\nb",
    "cat - <<E\nE",
    "a <<'E' && b\nx\nE\nc",
    "a <<< \"x y\" b",
    "a \"  $b  c\" \"\nd $(e)\" \"f$\" g$\n",
    "a \"  $b \" \" $(c) \" \" `d` $e\n $f\n\" \" $\" \" $((1)) \"",
    "a x$y${z}'q'k\"l\" m\\ n",
    "a \"x$(b `c`) y\" `d`",
    "a {b,c}d {} e@{0} {1..3} {",
    "a $? $# $$ $((1+2)) \"$((3))\"",
    "a ~ ~/b c=~ d:~",
    "a 'ü' \"é $b\"",
    "a # b\n# c\nd #",
    "a \\\n b",
]  # fmt: skip


@pytest.mark.parametrize("text", AGREED)
def test_two_readings_agree(text):
    assert understand(text) == split(text)[0]


DIFFERENT = [  # what the splitter takes, and the tree shows otherwise
    "[ x > f ]",
    "[ x < f ]",
    "[ a ]#;b",
    "[ a ]x",
    "[ -1 ]",
    "a'b'\\ c a'c'\\ d",
    "{a,b}",
    "a <<'E'\nx\n\tE\nE",
    "a -<<E\nE",
    "a <<A <<B\nA\nB",
]  # fmt: skip


@pytest.mark.parametrize("text", DIFFERENT)
def test_what_is_read_differently_is_not_understood(text):
    split(text)
    with pytest.raises(NotUnderstoodError, match="two readings of it differ"):
        understand(text)


def test_why_two_readings_differ_names_the_place():
    with pytest.raises(NotUnderstoodError, match=r"two readings of it differ at ']#;b'"):
        understand("a; [ a ]#;b")
    with pytest.raises(NotUnderstoodError, match="the second one has"):
        understand("{a,b}")


def test_what_cannot_be_read_at_all_is_not_parsed(monkeypatch):
    monkeypatch.setattr(_parser, "parse", lambda _data: pytest.fail("it was parsed"))
    for text, why in {"a\x07": "invisible", "a\u200b": "invisible", "a" * 40_000: "32 KiB", "a (": "function"}.items():
        with pytest.raises(NotUnderstoodError, match=why):
            understand(text)


def test_a_parser_that_takes_too_long_is_stopped(monkeypatch):
    def stopped(_data):
        raise TimeoutError

    monkeypatch.setattr(_parser, "parse", stopped)
    with pytest.raises(NotUnderstoodError, match="too long"):
        understand("a")


def test_nesting_that_the_callers_stack_has_no_room_for_is_too_deep(monkeypatch):
    def overflow(_text):
        raise RecursionError

    monkeypatch.setattr(_understand, "split", overflow)
    with pytest.raises(NotUnderstoodError, match="nested too deep"):
        understand("a")


UNREADABLE = ["a (", "f() { a; }", "a=(1)", "a $((1<<2))", "[[ a ]] b", "[[ a =~ b ]]", "a <(b)", "a $'b'", "a ${b:=c}", "a ${b:-$c}", "a ${b/c/d}", "((a))", "coproc a", "a <<E\n$x\nE", "a[1]=2", "[ a && b ]"]  # fmt: skip


@pytest.mark.parametrize("text", [*UNREADABLE, "a" + " | b" * 200 + " ("])
def test_a_tree_with_other_nodes_is_not_read(text):
    data = text.encode()
    try:
        marks = _tree.marks(_parser.parse(data), data)
    except _tree.UnreadableTreeError:
        return
    with pytest.raises(NotUnderstoodError):
        split(text)
    assert marks


def test_lists_and_pipelines_as_long_as_may_be_are_walked_without_recursion():
    for joint in ("; ", " && ", " | ", "\n"):
        text = joint.join(["a"] * 250)
        assert len(understand(text).items) == (1 if joint == " | " else 250)

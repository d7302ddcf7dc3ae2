"""What is found in a command that is not understood, so that it can be denied: too much rather than too little."""

from __future__ import annotations

import pytest

from executor_permissions.judge.bash import _broad
from executor_permissions.judge.bash._words import Redirect

FOUND = [
    ("", []),
    ("a b", [["a", "b"]]),
    ("a; b & c | d || e && f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
    ("(a) {b}\nc", [["a"], ["b"], ["c"]]),
    ("a `b` c `d e`", [["b"], ["d", "e"], ["a", "$()", "c", "$()"]]),
    ("a $(b) `c` d", [["b"], ["c"], ["a", "$()", "$()", "d"]]),
    ('a "x $(b "y z") w"', [["b", "y z"], ["a", "x $() w"]]),
    ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
    ("r'm' \"-\"rf", [["rm", "-rf"]]),
    ('a "b\\"c"', [["a", 'b"c']]),
    ("a '' \"\"", [["a", "", ""]]),
    ("r\\\nm x", [["rm", "x"]]),
    ("f() { a; b; }", [["f"], ["a"], ["b"]]),
    ("if a; then b; else c; fi", [["a"], ["b"], ["c"], ["fi"]]),
    ("while ! a; do b; done", [["a"], ["b"], ["done"]]),
    ("a <(b) >(c)", [["a"], ["b"], ["c"]]),
    ("[[ a ]] && b", [["[[", "a", "]]"], ["b"]]),
    ("a ${x:-$(b)}", [["a", "$"], ["b"], ["x:-$()"]]),
    ("a 'b; c", [["a", "b"], ["c"]]),
    ('a "b; c', [["a", "b; c"], ["a", "b"], ["c"]]),
    ("a # it's\nb # it's", [["a", "#", "its\nb # its"], ["a", "#", "its"], ["b", "#", "its"]]),
    ("a <<E\n'\nE\nb '", [["a"], ["\nE\nb "], [""], ["E"], ["b", ""]]),
    ("a \\", [["a", "\\"]]),
    ("{a,-b,c}; d,e", [["a", "-b", "c"], ["d,e"]]),
    ("a b)", [["a", "b"]]),
    ("a $'b\\'c; d'", [["a", "b\\c"], ["d"], ["a", "b'c"]]),
]  # fmt: skip


def test_every_command_that_may_be_in_it_is_found():
    found = [(text, [command.words for command in _broad.commands(text)[0]]) for text, _ in FOUND]
    assert found == FOUND


REDIRECTED = [
    ("a > f", [Redirect(">", "f")]),
    ("a 2>>f 3< g", [Redirect(">", "f"), Redirect("<", "g")]),
    ("a >&f", [Redirect(">", "f")]),
    ("a 2>&1 >&- >/dev/null 1>&2-", []),
    ("[[ x ]] &> 'f g'", [Redirect(">", "f g")]),
]


@pytest.mark.parametrize(("text", "redirects"), REDIRECTED)
def test_the_files_that_it_redirects_to_are_found(text, redirects):
    assert [redirect for command in _broad.commands(text)[0] for redirect in command.redirects] == redirects


@pytest.mark.parametrize(
    "piece", ["a;", "a ", "$(", "`", '"', "'", "\\", "(", "a b|", "> f ", "$", "{", "#", "<<", 'a "$(', "\n"]
)
def test_what_is_too_long_to_be_read_is_read_in_part(piece):
    commands, whole = _broad.commands(piece * 20_000)
    assert len(commands) <= 250
    assert whole == (piece in ("(", "$", "{", "#", "\n", "<<"))

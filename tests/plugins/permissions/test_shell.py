"""How a shell command is read: which simple commands it has, what their words become, and what makes it unreadable."""

from __future__ import annotations

import itertools

import pytest

from executor_permissions.judge._shell_cover import _is_plain_read
from executor_permissions.judge.bash import _shell
from executor_permissions.judge.bash._moves import read_names
from executor_permissions.judge.bash._words import Glob, Module, Number, PublicWord, PublicWords, Unknown

HOME = "/home/me"


def words(text):
    """The words of each command, sorted: bash runs what is in a substitution first."""
    return sorted([str(word) for word in command.words] for command in _shell.read(text, HOME).commands)


def kinds(text):
    """The words of one command, each with its kind: a plain text as it is, others as (kind, text)."""
    command = _shell.read(text, HOME).commands[-1]
    names = {PublicWord: "Unknown", PublicWords: "Unknown"}  # test_walk tells them apart
    return [
        word if type(word) is str else (names.get(type(word), type(word).__name__), str(word)) for word in command.words
    ]


COMMANDS = [
    ("ls -la src", [["ls", "-la", "src"]]),
    ("a; b", [["a"], ["b"]]),
    ("a && b || c", [["a"], ["b"], ["c"]]),
    ("a | b |& c", [["a"], ["b"], ["c"]]),
    ("a & b", [["a"], ["b"]]),
    ("a\nb", [["a"], ["b"]]),
    ("(a; b)", [["a"], ["b"]]),
    ("{ a; b; }", [["a"], ["b"]]),
    ("! a", [["a"]]),
    ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
    ("while a; do b; done", [["a"], ["b"]]),
    ("until a; do b; done", [["a"], ["b"]]),
    ("for i in 1 2; do a; done", [["a"]]),
    ("case x in y) a;; *) b;; esac", [["a"], ["b"]]),
    ("a; a; a", [["a"], ["a"], ["a"]]),
    ("a $(b)", [["a", "$(b)"], ["b"]]),
    ('a "x $(b) y"', [["a", '"x $(b) y"'], ["b"]]),
    ("x=$(b)", [[], ["b"]]),
    ("x=$(b) a", [["a"], ["b"]]),
    ("a > $(b)", [["a"], ["b"]]),
    ("[ -f a ]", [["[", "-f", "a", "]"]]),
    ("[ a = b ]", [["[", "a", "=", "b", "]"]]),
    ("[ $(b) ]", [["[", "$(b)", "]"], ["b"]]),
    ("export A=1 B", [["export", "A=1", "B"]]),
    ("unset A", [["unset", "A"]]),
    ("declare -x A=$(b)", [["declare", "-x", "A=$(b)"], ["b"]]),
    ("a > f b", [["a", "b"]]),
    ("> f", [[]]),
    ("x=1", [[]]),
    ("x=1 y=2", [[]]),
    ("a | while b; do c; done", [["a"], ["b"], ["c"]]),
    ("a <<'E'\nx $(b)\nE", [["a"]]),
    ("a <<E | b\nx\nE", [["a"], ["b"]]),
    ("a <<< $(b)", [["a"], ["b"]]),
    ("(a) > f", [["a"], []]),
    ("a && b > f", [["a"], ["b"]]),
    ("# nothing", []),
    ("a && b > f && c", [["a"], ["b"], ["c"]]),
    ("a `b`", [["a", "`b`"], ["b"]]),
    ("a | b # c", [["a"], ["b"]]),
    ("a; (b; c) | d &", [["a"], ["b"], ["c"], ["d"]]),
    ("case x in (y) a;; esac; b", [["a"], ["b"]]),
    ("a >&2 b", [["a", "b"]]),
    ("a 2> f > g b c", [["a", "b", "c"]]),
    ("a <<E b\nx\nE", [["a", "b"]]),
    ("a <<E && b\nx\nE", [["a"], ["b"]]),
    ("a <<-E\n\tx\n\tE\nb", [["a"], ["b"]]),
    ("[ 1 -eq 2 -a x = y ]", [["[", "1", "-eq", "2", "-a", "x", "=", "y", "]"]]),
    ("test -f a", [["test", "-f", "a"]]),
    ("readonly A=1 -p", [["readonly", "A=1", "-p"]]),
    ("local A", [["local", "A"]]),
    ("[ ! -f a ]", [["[", "!", "-f", "a", "]"]]),
    ("while read x; do a; done < f", [["read", "x"], ["a"], []]),
    ("", []),
    ("time a", [["a"]]),
    ("time -p a | b", [["a"], ["b"]]),
    ("git commit -F - <<'E'\nx\nE", [["git", "commit", "-F", "-"]]),
    ("for i in $(b); do a; done", [["b"], ["a"]]),
    ("case $(b) in x) a;; esac", [["b"], ["a"]]),
    ("echo $((1+1)) a", [["echo", "$((1+1))", "a"]]),
]  # fmt: skip


@pytest.mark.parametrize("block", range(2))
def test_every_command_of_a_line_is_found(block):
    table = COMMANDS[block::2]
    assert [(text, words(text)) for text, _ in table] == [(text, sorted(expected)) for text, expected in table]


WORDS = [
    ("a b", ["a", "b"]),
    ("a 'b c'", ["a", "b c"]),
    ('a "b c"', ["a", "b c"]),
    ('a ""', ["a", ""]),
    ("a ''", ["a", ""]),
    (r'a "b\"c\$d\\e\f"', ["a", 'b"c$d\\e\\f']),
    (r"a b\ c", ["a", "b c"]),
    (r"a \b", ["a", "b"]),
    ("a b'c'\"d\"e", ["a", "bcde"]),
    ("a ~", ["a", HOME]),
    ("a ~/x", ["a", f"{HOME}/x"]),
    ("a ~x", ["a", ("Unknown", "~x")]),
    ("a '~'", ["a", "~"]),
    ("a x~", ["a", "x~"]),
    ("a $HOME", ["a", HOME]),
    ("a ${HOME}", ["a", HOME]),
    ('a "$HOME"', ["a", HOME]),
    ('a "${HOME}"', ["a", HOME]),
    ("a $HOME/x", ["a", f"{HOME}/x"]),
    ("HOME=x a $HOME", ["a", "/home/me"]),
    ('HOME=x a "$HOME"', ["a", "/home/me"]),
    ("a $x", ["a", ("Unknown", "$x")]),
    ('a "$x"', ["a", ("Unknown", '"$x"')]),
    ("a b$x", ["a", ("Unknown", "b$x")]),
    ("a ${x:-b}", ["a", "b"]),
    ("a ${x%b}", ["a", ("Unknown", "${x%b}")]),
    ("x=b; a ${x%b}", ["a", ("Unknown", "${x%b}")]),
    ("a ${HOME:+b}", ["a", "b"]),
    ("a ${x:+}c", ["a", "c"]),
    ("a $?", ["a", ("Number", "$?")]),
    ("a $#", ["a", ("Number", "$#")]),
    ("a $$", ["a", ("Number", "$$")]),
    ("a b$?", ["a", ("Number", "b$?")]),
    ("a $?$x", ["a", ("Unknown", "$?$x")]),
    ("a $x$?", ["a", ("Unknown", "$x$?")]),
    ("a $((1 + 2))", ["a", ("Number", "$((1 + 2))")]),
    ("a b*", ["a", ("Glob", "b*")]),
    ("a b?", ["a", ("Glob", "b?")]),
    ("a [b]", ["a", ("Glob", "[b]")]),
    ("a 'b*'", ["a", "b*"]),
    (r"a b\*", ["a", "b*"]),
    ("a 'b'*", ["a", ("Glob", "b*")]),
    ("a $?*", ["a", ("Unknown", "$?*")]),
    ("a {b,'c'}", ["a", ("Unknown", "{b,'c'}")]),
    ("a {1..3}", ["a", ("Unknown", "{1..3}")]),
    ("a b{c,$d}e", ["a", ("Unknown", "b{c,$d}e")]),
    ("a {}", ["a", "{}"]),
    ("a {b}", ["a", "{b}"]),
    ("a '{b,c}'", ["a", "{b,c}"]),
    ("a =b", ["a", "=b"]),
    ("a b=c", ["a", "b=c"]),
    ("a b=~c", ["a", ("Unknown", "b=~c")]),
    ("a b:~c", ["a", ("Unknown", "b:~c")]),
    ("a '=b'", ["a", "=b"]),
    ("a @%+,:^-", ["a", "@%+,:^-"]),
    ("a !b", ["a", "!b"]),
    ("a 5", ["a", "5"]),
    ("a \"$(cat <<'E'\nx\ny\nE\n)\"", ["a", "x\ny"]),
    ("a \"$(tac <<'E'\nx\nE\n)\"", ["a", ("Unknown", "\"$(tac <<'E'\nx\nE\n)\"")]),
    ("a \"z$(cat <<'E'\nx\nE\n)\"", ["a", "zx"]),
    ("a $(cat <<'E'\nx\nE\n)", ["a", ("Unknown", "$(cat <<'E'\nx\nE\n)")]),
    ("a \\\n b", ["a", "b"]),
]  # fmt: skip


def test_words_become_what_bash_makes_of_them_or_are_unknown(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert [(text, kinds(text)) for text, _ in WORDS] == WORDS


def test_words_of_several_kinds_are_never_the_same():
    words = ["a", *(kind("a") for kind in (Unknown, Glob, Number, PublicWord, PublicWords, Module))]
    for this, other in itertools.product(words, words):
        assert (this == other) is (this is other)
        assert (this != other) is (this is not other)
    assert len(set(words)) == len(words)
    assert len(dict.fromkeys([*words, *(type(word)("a") for word in words)])) == len(words)
    assert "a" not in words[1:]


STREAMS = [  # text, input and here-document of the last command, its redirections
    ("a | b", ("pipe", None, [])),
    ("a; b", ("", None, [])),
    ("b < f", ("file", None, [("<", "f")])),
    ("b <<< x", ("text", "x\n", [])),
    ("b <<< $x", ("text", None, [("<<<", "$x")])),
    ("b <<E\nx\nE", ("text", "x\n", [])),
    ("b <<'E'\nx $y\nE", ("text", "x $y\n", [])),
    ('b <<"E"\nx\ny\nE', ("text", "x\ny\n", [])),
    ("b <<\\E\nx\nE", ("text", "x\n", [])),
    ("b <<-E\n\tx\n\tE", ("text", "x\n", [])),
    ("b <<E\nE", ("text", "", [])),
    ("b <<E > f\nx\nE", ("text", "x\n", [(">", "f")])),
    ("b > f", ("", None, [(">", "f")])),
    ("b >> f", ("", None, [(">>", "f")])),
    ("b &> f", ("", None, [("&>", "f")])),
    ("b 2> f", ("", None, [(">", "f")])),
    ("b 2>&1", ("", None, [])),
    ("b >&-", ("", None, [])),
    ("b <&3", ("file", None, [])),
    ("b > /dev/null 2>&1", ("", None, [])),
    ("b > /dev/stdout 2> /dev/stderr", ("", None, [])),
    ("b >& f", ("", None, [(">&", "f")])),
    ("b > f < g", ("file", None, [(">", "f"), ("<", "g")])),
    ("b > $x", ("", None, [(">", "$x")])),
    ("a | (b)", ("pipe", None, [])),
    ("a | { b; }", ("pipe", None, [])),
    ("a | if b; then b; fi", ("pipe", None, [])),
    ("a | sudo <<< x b", ("text", "x\n", [])),
]  # fmt: skip


def test_where_input_comes_from_and_output_goes():
    found = []
    for text, _ in STREAMS:
        command = _shell.read(text, HOME).commands[-1]
        found.append(
            (text, (command.stdin, command.body, [(item.operator, str(item.target)) for item in command.redirects]))
        )
    assert found == STREAMS


def test_variables_in_front_of_a_command():
    found = {
        text: _shell.read(text, HOME).commands[0].assignments
        for text in ("A=1 a", "A=1 B='x y' a", "A= a", "A=$x a", "A='x=~y' a", "A=x")
    }
    assert found == {
        "A=1 a": [("A", "1")],
        "A=1 B='x y' a": [("A", "1"), ("B", "x y")],
        "A= a": [("A", "")],
        "A=$x a": [("A", Unknown("$x"))],
        "A='x=~y' a": [("A", "x=~y")],
        "A=x": [("A", "x")],
    }
    assert type(_shell.read("A=x:~y a", HOME).commands[0].assignments[0][1]) is PublicWord
    assert type(_shell.read("A=$x a", HOME).commands[0].assignments[0][1]) is Unknown
    assert type(_shell.read("A=b a", HOME).commands[0].assignments[0][1]) is str


def test_a_command_is_told_without_its_redirections():
    reading = _shell.read("A=1 a b > f; { c; } > g", HOME)
    assert [command.text for command in reading.commands] == ["A=1 a b", "{ c; } > g", "c"]


def test_what_is_not_understood_is_read_for_denying_only():
    for text in ("f() { a; }", "a 'b", "a $(", "a <(b)"):
        reading = _shell.read(text, HOME)
        assert reading.script is None
        assert reading.opaque
        assert reading.opaque == reading.hidden
        assert "a" in [command.words[0] for command in reading.commands]


LOOPS = [
    ("for PATH in a; do b; done", "PATH"),
    ("for http_proxy in a; do b; done", "http_proxy"),
    ("for a_1 in a; do b; done", None),
]


def test_a_loop_may_not_set_a_variable_of_others():
    found = [
        (text, [name for command in _shell.read(text, HOME).commands for name, _ in command.assignments])
        for text, _ in LOOPS
    ]
    assert found == [(text, [name] if name else []) for text, name in LOOPS]


def test_a_reading_is_kept_by_its_text():
    once = _shell.understood("a ~")
    assert _shell.understood("a ~") is once
    assert _shell.read("a ~", "/other").commands[0].words == ["a", "/other"]
    long = "a " + "b" * 3000
    assert _shell.understood(long) is not _shell.understood(long)


@pytest.mark.parametrize(
    ("text", "names", "plain"),
    [
        ("read", [], False),
        ("read a b", ["a", "b"], True),
        ("read -p prompt a", ["a"], True),
        ("read -r -p p a b", ["a", "b"], True),
        ("read -n 1 -t 5 a", ["a"], True),
        ("read -d x -u 3 a -r b", ["a", "b"], True),
        ("read -N 1 -i t a", ["a"], True),
        ("read -a x", ["x"], False),
        ("read -rp x a", ["x", "a"], False),
    ],
)
def test_the_variables_that_read_sets(text, names, plain):
    assert (read_names(text.split())[0], _is_plain_read(text.split())) == (names, plain)

"""How a shell command is read: which simple commands it has, what their words become, and what makes it unreadable."""

from __future__ import annotations

import pytest

from executor_permissions.judge import _shell
from executor_permissions.judge._words import Glob, Number, Unknown

HOME = "/home/me"


def words(text):
    return [command.words for command in _shell.read(text, HOME).commands]


def kinds(text):
    """The words of one command, each with its kind: a plain text as it is, others as (kind, text)."""
    (command,) = _shell.read(text, HOME).commands[:1]
    return [word if type(word) is str else (type(word).__name__, str(word)) for word in command.words]


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
    ("f() { a; b; }", [["a"], ["b"]]),
    ("a $(b)", [["a", "$(b)"], ["b"]]),
    ('a "x $(b) y"', [["a", '"x $(b) y"'], ["b"]]),
    ("a <(b)", [["a", "<(b)"], ["b"]]),
    ("x=$(b)", [["b"], []]),
    ("x=$(b) a", [["a"], ["b"]]),
    ("a > $(b)", [["a"], ["b"]]),
    ("a ${x:-$(b)}", [["a", "${x:-$(b)}"], ["b"]]),
    ("[ -f a ]", [["[", "-f", "a", "]"]]),
    ("[ a = b ]", [["[", "a", "=", "b", "]"]]),
    ("[ $(b) ]", [["[", "$(b)", "]"], ["b"]]),
    ("export A=1 B", [["export", "A=1", "B"]]),
    ("unset A", [["unset", "A"]]),
    ("declare -x A=$(b)", [["declare", "-x", "A=$(b)"], ["b"]]),
    ("a > f b", [["a", "b"]]),
    ("> f", [[]]),
    ("x=1", [[]]),
    ("x=1 y=2", [[], []]),
    ("a | while b; do c; done", [["a"], ["b"], ["c"]]),
    ("a <<E\nx $(b)\nE", [["a"], ["b"]]),
    ("a <<'E'\nx $(b)\nE", [["a"]]),
    ("a <<E | b\nx\nE", [["a"], ["b"]]),
    ("a <<< $(b)", [["a"], ["b"]]),
    ("(a) > f", [["a"], []]),
    ("a && b > f", [["a"], ["b"], []]),
    ("# nothing", []),
    ("a && b > f && c", [["a"], ["b"], [], ["c"]]),
    ("a && b > f && c && d > g && e", [["a"], ["b"], [], ["c"], ["d"], [], ["e"]]),
    ("a `b`", [["a", "`b`"], ["b"]]),
    ("a; b \x07", []),
    ("a `" + "b" * 600 + "`", []),
    ("a | b # c", [["a"], ["b"]]),
    ("a; (b; c) | d &", [["a"], ["b"], ["c"], ["d"]]),
    ("case x in (y) a;; esac; b", [["a"], ["b"]]),
    ("function f { a; }", [["a"]]),
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
    ("time a", [["time", "a"]]),
    ("git commit -F - <<'E'\nx\nE", [["git", "commit", "-F", "-"]]),
    ("for i in $(b); do a; done", [["b"], ["a"]]),
    ("a=(1 2)", [[]]),
    ("[[ -f a ]]", [["[[", "-f", "a", "]]"]]),
    ("case $(b) in x) a;; esac", [["b"], ["a"]]),
    ("echo $((1+1)) a", [["echo", "$((1+1))", "a"]]),
    ("echo $((x+$(b)))", [["echo", "$((x+$(b)))"], ["b"]]),
]  # fmt: skip


@pytest.mark.parametrize("block", range(2))
def test_every_command_of_a_line_is_found(block):
    table = COMMANDS[block::2]
    assert [(text, words(text)) for text, _ in table] == table


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
    ("a $'b\\tc'", ["a", "b\tc"]),
    ("a $'b\\n\\\\\\'\\\"c'", ["a", "b\n\\'\"c"]),
    ("a $'\\x41'", ["a", ("Unknown", "$'\\x41'")]),
    ("a $'b'c", ["a", "bc"]),
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
    ("HOME=x a $HOME", ["a", ("Unknown", "$HOME")]),
    ('HOME=x a "$HOME"', ["a", ("Unknown", '"$HOME"')]),
    ("a $x", ["a", ("Unknown", "$x")]),
    ('a "$x"', ["a", ("Unknown", '"$x"')]),
    ("a b$x", ["a", ("Unknown", "b$x")]),
    ("a $?", ["a", ("Number", "$?")]),
    ("a $#", ["a", ("Number", "$#")]),
    ("a $$", ["a", ("Number", "$$")]),
    ("a $!", ["a", ("Number", "$!")]),
    ("a b$?", ["a", ("Number", "b$?")]),
    ("a $?$x", ["a", ("Unknown", "$?$x")]),
    ("a $x$?", ["a", ("Unknown", "$x$?")]),
    ("a $((1 + 2))", ["a", ("Number", "$((1 + 2))")]),
    ("a $((x))", ["a", ("Unknown", "$((x))")]),
    ("a b*", ["a", ("Glob", "b*")]),
    ("a b?", ["a", ("Glob", "b?")]),
    ("a [b]", ["a", ("Glob", "[b]")]),
    ("a 'b*'", ["a", "b*"]),
    (r"a b\*", ["a", "b*"]),
    ("a 'b'*", ["a", ("Glob", "b*")]),
    ("a $?*", ["a", ("Unknown", "$?*")]),
    ("a {b,c}", ["a", ("Unknown", "{b,c}")]),
    ("a {1..3}", ["a", ("Unknown", "{1..3}")]),
    ("a b{c,d}e", ["a", ("Unknown", "b{c,d}e")]),
    ("a {}", ["a", "{}"]),
    ("a {b}", ["a", "{b}"]),
    ("a '{b,c}'", ["a", "{b,c}"]),
    ("a =b", ["a", ("Unknown", "=b")]),
    ("a b=c", ["a", "b=c"]),
    ("a b=~c", ["a", ("Unknown", "b=~c")]),
    ("a b:~c", ["a", ("Unknown", "b:~c")]),
    ("a '=b'", ["a", "=b"]),
    ("a @%+,:^-", ["a", "@%+,:^-"]),
    ("a !b", ["a", "!b"]),
    ("a 5", ["a", "5"]),
    ("a \"$(cat <<'E'\nx\ny\nE\n)\"", ["a", "x\ny"]),
    ("a \"$(tac <<'E'\nx\nE\n)\"", ["a", ("Unknown", "\"$(tac <<'E'\nx\nE\n)\"")]),
    ("a \"z$(cat <<'E'\nx\nE\n)\"", ["a", ("Unknown", "\"z$(cat <<'E'\nx\nE\n)\"")]),
    ("a $(cat <<'E'\nx\nE\n)", ["a", ("Unknown", "$(cat <<'E'\nx\nE\n)")]),
    ("a \\\n b", ["a", "b"]),
]  # fmt: skip


def test_words_become_what_bash_makes_of_them_or_are_unknown():
    assert [(text, kinds(text)) for text, _ in WORDS] == WORDS
    assert Glob("a") == Number("a") == Unknown("a") == "a"


STREAMS = [  # text, input and here-document of the last command, its redirections
    ("a | b", ("pipe", None, [])),
    ("a; b", ("", None, [])),
    ("b < f", ("file", None, [("<", "f")])),
    ("b <<< x", ("text", "x\n", [])),
    ("b <<< $x", ("text", None, [])),
    ("b <<E\nx\nE", ("text", "x\n", [])),
    ("b <<E\nx $y\nE", ("text", None, [])),
    ("b <<'E'\nx $y\nE", ("text", "x $y\n", [])),
    ('b <<"E"\nx\ny\nE', ("text", "x\ny\n", [])),
    ("b <<\\E\nx\nE", ("text", "x\n", [])),
    ("b <<-E\n\tx\n\tE", ("text", "\tx\n", [])),
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
    ("b <& f", ("file", None, [("<", "f")])),
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
            (text, (command.stdin, command.body, [(item.operator, item.target) for item in command.redirects]))
        )
    assert found == STREAMS


def test_variables_in_front_of_a_command():
    found = {
        text: _shell.read(text, HOME).commands[0].assignments
        for text in ("A=1 a", "A=1 B='x y' a", "A= a", "A=$x a", "A+=1 a", "A='x=~y' a", "A=x")
    }
    assert found == {
        "A=1 a": [("A", "1")],
        "A=1 B='x y' a": [("A", "1"), ("B", "x y")],
        "A= a": [("A", "")],
        "A=$x a": [("A", "$x")],
        "A+=1 a": [("A", "1")],
        "A='x=~y' a": [("A", "x=~y")],
        "A=x": [("A", "x")],
    }
    assert type(_shell.read("A='x=~y' a", HOME).commands[0].assignments[0][1]) is Unknown
    assert type(_shell.read("A=$x a", HOME).commands[0].assignments[0][1]) is Unknown
    assert type(_shell.read("A=b a", HOME).commands[0].assignments[0][1]) is str


UNREADABLE = [  # text, why no rule may allow it, whether it may run something else than what was read
    ("a", None, False),
    ("a 'b c' \"d\" e\\ f", None, False),
    ("if a; then b; fi", None, False),
    ("[ -f a ]", None, False),
    ("a \\\n b", None, False),
    ("f() { a; }", "it defines a function", False),
    ("[[ a ]]", "it has a [[ ]] or (( )) test", False),
    ("((a))", "it has arithmetic commands", False),
    ("select x in a; do b; done", "it has a menu", False),
    ("for PATH in a; do b; done", "it sets the variable PATH in a loop", False),
    ("for http_proxy in a; do b; done", "it sets the variable http_proxy in a loop", False),
    ("for i in a; do b; done", None, False),
    ("for a_1 in a; do b; done", None, False),
    ("A[1]=x a", "it assigns to a part of a variable", False),
    ("A=(1 2)", "it has array", False),
    ('a $"b"', "it has words that cannot be told apart", True),
    ("a (", "it cannot be parsed as a shell command", True),
    ("a 'b", "it cannot be parsed as a shell command", True),
    ("a \x07", "it has control or invisible characters", True),
    ("a \u200b", "it has control or invisible characters", True),
    ("a\r", "it has control or invisible characters", True),
    ("a `b`", "it has backticks", True),
    ("a '`'", None, False),
    ("a \\`", None, False),
    ("a \"`b`\"", "it has backticks", True),
    ("a\\\nb", "a line continues inside a word", True),
    ("a \\\nb # c", "a line continues inside a word", True),
    ("if a", "it cannot be parsed as a shell command", True),
    ("a <<E\nx\nF", "it cannot be parsed as a shell command", True),
    ("a <<E\nx\nE\nb <<F\ny\nF", "it has a here-document whose end is not certain", True),
    ("time time a", "it has 'time' where a program should stand", True),
    ("time A=1 a", "it has 'A=1' where a program should stand", True),
    ("time -p if", "it has 'if' where a program should stand", True),
    ("a <<< b c", None, False),
    ("a && b < f", None, False),
    ("a && b < f && c", "its input is redirected for a whole list", True),
    ("a && b > f && c", None, False),
    ("a # c", None, False),
    ("a <<E # c\nx\nE", "it has comment behind a here-document", False),
    ("while a; do b; done < f", None, False),
    ("a; (b; c) | d &", None, False),
    ("case x in y) a;; esac", None, False),
    ("export A=1", None, False),
    ("a > \\\n f", "a redirection goes over several lines", True),
    ("A=1 export B=2", None, False),
    ("a 2>&1 >&2 2>&-", None, False),
    ("a;;b", "it has ;; where bash takes none", False),
    ("a || b", None, False),
    ("a <<'E'\nx\nE", None, False),
    ("a <<$E\nx\n$E", "it has a here-document whose end is not certain", True),
    ("echo ${x:-y} $((1+2))", None, False),
    ("a[1]=2", "it assigns to a part of a variable", False),
    ("for ((i=0;i<1;i++)); do a; done", "it has c style for statement", False),
    ("a && (b) < f", None, False),
    ("a{b}>f", "it has a word in braces before a redirection", True),
    ("a {fd}>f", "it has a word in braces before a redirection", True),
]  # fmt: skip


def test_what_cannot_be_read_says_why():
    found = []
    for text, _, _ in UNREADABLE:
        reading = _shell.read(text, HOME)
        found.append((text, reading.opaque, reading.hidden is not None))
    assert found == UNREADABLE


def test_limits_of_what_is_read():
    def opaque(text):
        return _shell.read(text, HOME).opaque

    assert opaque("( " * 79 + "a" + " )" * 79) is None
    assert opaque("( " * 80 + "a" + " )" * 80) == "it is nested too deep"
    assert opaque("( " * 81 + "a" + " )" * 81) == "it cannot be parsed as a shell command"
    assert opaque(" ".join(f"A{i}=1" for i in range(201)) + " a") is None
    assert opaque(" ".join(f"A{i}=1" for i in range(202)) + " a") == "it sets too many variables"
    assert opaque(" ".join(f"A{i}=1" for i in range(200))) is None
    assert opaque(" ".join(f"A{i}=1" for i in range(201))) == "it sets too many variables"
    assert opaque("a " + "'x'" * 200) is None
    assert opaque("a " + "'x'" * 201) == "it has a word of too many pieces"

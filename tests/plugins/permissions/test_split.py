"""The small language: what the strict splitter makes of it, and what it refuses, each with its reason."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

from itertools import pairwise

import pytest

from executor_permissions.judge.bash import _syntax as syntax
from executor_permissions.judge.bash._split import split
from executor_permissions.judge.bash._split_words import NotUnderstoodError
from executor_permissions.judge.bash._syntax import Arithmetic, Brace, GlobMark, Substitution, Text, Tilde, Variable


def outline(node, text):
    """A script in one line: words as they are written, each command in brackets."""
    match node:
        case syntax.Script():
            return " ".join(outline(item, text) for item in node.items)
        case syntax.Item():
            marks = "!" * node.negated + "time " * node.timed
            nodes = [outline(inner, text) for inner in node.nodes]
            piped = nodes[0] + "".join(f"{pipe}{inner}" for pipe, inner in zip(node.pipes, nodes[1:], strict=True))
            operator = {"\n": "NL "}.get(node.operator, f"{node.operator} " if node.operator else "")
            return f"{operator}{marks}{piped}{'@' * node.background}"
        case syntax.Simple():
            parts = [*(f"{part.name}:={written(part.value, text)}" for part in node.assignments)]
            parts += [written(word, text) for word in node.words]
            return "[" + " ".join(parts + redirects(node, text)) + "]"
        case syntax.Compound():
            head = f"{node.kind} {node.variable or ''}{'(' + ' '.join(written(w, text) for w in node.words) + ')' if node.words is not None else ''}"
            inner = " / ".join(branch(part, text) for part in node.branches)
            return "<" + " ".join([f"{head.strip()}: {inner}", *redirects(node, text)]) + ">"
    raise AssertionError(node)


def branch(part, text):
    front = f"{outline(part.condition, text)} ? " if part.condition else ""
    patterns = "".join(f"{written(word, text)}|" for word in part.patterns)
    return f"{front}{patterns}{outline(part.body, text)}{part.end}"


def redirects(node, text):
    found = []
    for redirect in node.redirects:
        descriptor = "" if redirect.descriptor is None else redirect.descriptor
        body = "" if redirect.body is None else f"={redirect.body!r}"
        found.append(f"{descriptor}{redirect.operator}{written(redirect.target, text)}{body}")
    return found


def written(word, text):
    return text[slice(*word.span)]


SCRIPTS = [
    ("", ""),
    ("# a", ""),
    ("a", "[a]"),
    ("  a\tb  ", "[a b]"),
    ("a; b", "[a] ; [b]"),
    ("a && b || c", "[a] && [b] || [c]"),
    ("a &&\n\n b", "[a] && [b]"),
    ("a\nb\n\nc\n", "[a] NL [b] NL [c]"),
    ("a;\nb;", "[a] ; [b]"),
    ("a & b", "[a]@ & [b]"),
    ("a && b & c", "[a]@ && [b]@ & [c]"),
    ("a | b |& c", "[a]|[b]|&[c]"),
    ("a |\n b", "[a]|[b]"),
    ("! a | b", "![a]|[b]"),
    ("time a | b; time -p c", "time [a]|[b] ; time [c]"),
    ("a # b; c\nd", "[a] NL [d]"),
    ("a;#b\\\nc", "[a] ; [c]"),
    ("a#b c# '#'", "[a#b c# '#']"),
    ("a \\\n  b", "[a b]"),
    ("(a; b) && { c; }", "<subshell: [a] ; [b]> && <group: [c]>"),
    ("( (a) )", "<subshell: <subshell: [a]>>"),
    ("{ a; } > f 2>&1 | b", "<group: [a] >f 2>&1>|[b]"),
    ("if a; then b; elif c; then d; else e; fi", "<if: [a] ? [b] / [c] ? [d] / [e]>"),
    ("if a; b\nthen\nc\nfi", "<if: [a] ; [b] ? [c]>"),
    ("while a; do b; done < f", "<while: [a] ? [b] <f>"),
    ("until a\ndo b\ndone", "<until: [a] ? [b]>"),
    ("for i in a \"$b\" *.c; do d; done", '<for i(a "$b" *.c): [d]>'),
    ("for i in do done\ndo a; done", "<for i(do done): [a]>"),
    ("for i in; do a; done", "<for i(): [a]>"),
    ("case $x in (a|b*) c;; *) d ;& e) ;; f) g; esac", "<case ($x): a|b*|[c];; / *|[d];& / e|;; / f|[g]>"),
    ("case x in\na) b\n;;\nesac", "<case (x): a|[b];;>"),
    ("x=1 y='2 3' a b=c", "[x:=1 y:='2 3' a b=c]"),
    ("x=", "[x:=]"),
    ("x=$(a) b", "[x:=$(a) b]"),
    ("echo if then { } ! fi", "[echo if then { } ! fi]"),
    ("a > f b", "[a b >f]"),
    ("> f a", "[a >f]"),
    ("> f", "[>f]"),
    ("if (a) then b; fi", "<if: <subshell: [a]> ? [b]>"),
    ("a >f 2>>g <h >|i &>j &>>k", "[a >f 2>>g <h >|i &>j &>>k]"),
    ("a 2>&1 >&2 <&- 2>&- <&0", "[a 2>&1 >&2 <&- 2>&- <&0]"),
    ("a >& f", "[a >&f]"),
    ("a 2 >f", "[a 2 >f]"),
    ("a <<< x <<<\"y z\" <<< $v", "[a <<<x='x\\n' <<<\"y z\"='y z\\n' <<<$v]"),
    ("a <<E; b\nx y\nE\nc", "[a <<E='x y\\n'] ; [b] NL [c]"),
    ("a <<'E' | b\n$(x)\nE", "[a <<'E'='$(x)\\n']|[b]"),
    ('a <<"E" # b\n`x`\n\nE\n', "[a <<\"E\"='`x`\\n\\n']"),
    ("a <<\\E\nE", "[a <<\\E='']"),
    ("a <<-E\n\tx\n\t\ty\n\tE\nb", "[a <<-E='x\\ny\\n'] NL [b]"),
    ("a <<E <<F\n1\nE\n2\nF\n", "[a <<E='1\\n' <<F='2\\n']"),
    ("(a <<E\nx\nE\n)", "<subshell: [a <<E='x\\n']>"),
    ("a \"$(cat <<'E'\nx\nE\n)\"", "[a \"$(cat <<'E'\nx\nE\n)\"]"),
    ("set -euo pipefail; a", "[set -euo pipefail] ; [a]"),
    ("alias; shopt; set", "[alias] ; [shopt] ; [set]"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SCRIPTS)
def test_what_a_script_consists_of(text, expected):
    script, _ = split(text)
    assert outline(script, text) == expected


def quoted(text):
    return Text(text, quoted=True)


def plain(text):
    return Text(text, quoted=False)


WORDS = [
    ("a", [plain("a")]),
    ("'a b'", [quoted("a b")]),
    ('"a b"', [quoted("a b")]),
    ("''", [quoted("")]),
    ('""', [quoted("")]),
    ("a\\ b", [plain("a"), quoted(" "), plain("b")]),
    (r'"\$\a\\"', [quoted("$"), quoted("\\"), quoted("a"), quoted("\\")]),
    ("a'b'\"c\"", [plain("a"), quoted("b"), quoted("c")]),
    ("$x", [Variable("x", quoted=False)]),
    ('"${x}y"', [Variable("x", quoted=True), quoted("y")]),
    ("${x:-y}", [Variable("x", quoted=False, operator=":-", operand="y")]),
    ("${x-}", [Variable("x", quoted=False, operator="-", operand="")]),
    ('"${x:+a/b.c}"', [Variable("x", quoted=True, operator=":+", operand="a/b.c")]),
    ("${x%.py}y", [Variable("x", quoted=False, operator="%", operand=".py"), plain("y")]),
    ('"${x##*/}"', [Variable("x", quoted=True, operator="##", operand="*/")]),
    ("$?$#", [Variable("?", quoted=False), Variable("#", quoted=False)]),
    ("$$x", [Variable("$", quoted=False), plain("x")]),
    ("a$", [plain("a"), plain("$")]),
    ('"a$"', [quoted("a"), quoted("$")]),
    ("$((1 + 2))", [Arithmetic("$((1 + 2))", quoted=False)]),
    ("*.c", [GlobMark("*"), plain(".c")]),
    ("a?", [plain("a"), GlobMark("?")]),
    ("[a]", [GlobMark("["), plain("a]")]),
    ("[", [plain("[")]),
    ("a[", [plain("a"), plain("[")]),
    ("{a,b}", [Brace("{"), plain("a,b}")]),
    ("{1..2}", [Brace("{"), plain("1..2}")]),
    ("a@{0}", [plain("a@"), plain("{"), plain("0}")]),
    ("{}", [plain("{"), plain("}")]),
    ("{a','b}", [Brace("{"), plain("a"), quoted(","), plain("b}")]),
    ("~", [Tilde("~")]),
    ("~/x", [Tilde("~"), plain("/x")]),
    ("~me/x", [Tilde("~me"), plain("/x")]),
    ("~+", [Tilde("~+")]),
    ("a~", [plain("a"), plain("~")]),
    ("a=~/x", [plain("a="), Tilde("~"), plain("/x")]),
    ("a:~", [plain("a:"), Tilde("~")]),
    ("a#b", [plain("a#b")]),
    ("=b!", [plain("=b!")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "pieces"), WORDS)
def test_what_a_word_consists_of(text, pieces):
    script, _ = split("x " + text)
    word = script.items[0].nodes[0].words[1]
    assert list(word.pieces) == pieces
    assert word.span == (2, 2 + len(text))
    assert word.literal == (
        "".join(piece.text for piece in pieces) if {type(piece) for piece in pieces} == {Text} else None
    )


@pytest.mark.parametrize(
    ("text", "is_quoted"), [("a $(b; c)", False), ('a "$(b; c)"', True), ("a `b; c`", False), ('a "x`b; c`"', True)]
)
def test_a_substitution_holds_a_script_of_its_own(text, is_quoted):
    script, _ = split(text)
    substitution = script.items[0].nodes[0].words[1].pieces[-1]
    assert type(substitution) is Substitution
    assert substitution.quoted is is_quoted
    assert outline(substitution.script, text) == "[b] ; [c]"


REFUSED = [  # text, why it is not understood
    ("f() { a; }", "it has a '(' in or behind a word: a function, an array or a pattern"),
    ("a=(1 2)", "it has a '(' in or behind a word: a function, an array or a pattern"),
    ("a @(b|c)", "it has a '(' in or behind a word: a function, an array or a pattern"),
    ("function f { a; }", "it defines a function"),
    ("[[ a && b ]]", "it has a [[ ]] test that is not one of files or texts"),
    ("[[ a -eq 1 ]]", "it has a [[ ]] test that is not one of files or texts"),
    ("[[ -v a ]]", "it has a [[ ]] test that is not one of files or texts"),
    ("[[ $a b ]]", "it has a [[ ]] test that is not one of files or texts"),
    ("[[ ]]", "it has a [[ ]] test that is not one of files or texts"),
    ("[[ a ]] b", "it has a [[ ]] test that is not one of files or texts"),
    ("[[ a ']]'", "it has a [[ ]] test that is not one of files or texts"),
    ("[[ a\n]]", "it has a [[ ]] test that is not one of files or texts"),
    ("[[ -f >b a ]]", "it has a [[ ]] test that is not one of files or texts"),
    ("[[ a < b ]]", "it has a [[ ]] test that is not one of files or texts"),
    ("[[ (a) ]]", "it has a '(' in or behind a word: a function, an array or a pattern"),
    ("x=1 [[ a ]]", "it has '[[ a ]]' where none can stand"),
    ("((a))", "it has arithmetic commands"),
    ("select x in a; do b; done", "it has a menu"),
    ("coproc a", "it starts a coprocess"),
    ("for ((i=0;i<1;i++)); do a; done", "it has a loop without a plain variable"),
    ("for i; do a; done", "it has a loop without a plain variable"),
    ("for 'i' in a; do b; done", "it has a loop without a plain variable"),
    ("a[1]=2", "it assigns to a part of a variable"),
    ("a[ ;b ]=1", "it assigns to a part of a variable"),
    ("a+=1", "it assigns to a part of a variable"),
    ("x=1 if", "it has 'if' behind what stands in front of a program"),
    (">f {", "it has '{' where none can stand"),
    ("x=1 }", "it has '}' where none can stand"),
    ("<f ! ls", "it has '! ls' where none can stand"),
    ("x=1 [[ ls", "it has '[[ ls' where none can stand"),
    ("time x=1 a", "it has 'time' in front of something else than a program"),
    ("time (a)", "it has 'time' in front of something else than a program"),
    ("time -f a", "it has 'time' in front of something else than a program"),
    ("a | time b", "it has 'time' where a program should stand"),
    ("! ! a", "it has '!' where a program should stand"),
    ("a | ! b", "it has '!' where a program should stand"),
    ("then a", "it has 'then' where a program should stand"),
    ("a $'b'", "it has the expansion \"$'b\""),
    ('a $"b"', "it has the expansion '$\"b'"),
    ("a $!", "it has the expansion '$!'"),
    ("a $1", "it has the expansion '$1'"),
    ("a ${x:=y}", "it has the expansion '${x:=y}'"),
    ("a ${x:?y}", "it has the expansion '${x:?y}'"),
    ("a ${x:-y z}", "it has the expansion '${x:-y z}'"),
    ("a ${x:-*}", "it has the expansion '${x:-*}'"),
    ("a ${x:-~}", "it has the expansion '${x:-~}'"),
    ("a ${x:-$y}", "it has the expansion '${x:-$y}'"),
    ("a ${x:-'y'}", "it has the expansion \"${x:-'y'}\""),
    ("a ${x:-`b`}", "it has the expansion '${x:-`b`}'"),
    ("a ${x%}", "it has the expansion '${x%}'"),
    ("a ${x%[a]}", "it has the expansion '${x%[a]}'"),
    ("a ${x[0]:-y}", "it has the expansion '${x[0]:-y}'"),
    ("a ${1:-y}", "it has the expansion '${1:-y}'"),
    ("a ${@:-y}", "it has the expansion '${@:-y}'"),
    ("a ${!x:-y}", "it has the expansion '${!x:-y}'"),
    ("a ${x/y/z}", "it has the expansion '${x/y/z}'"),
    ("a ${x[0]}", "it has the expansion '${x[0]}'"),
    ("a ${PIPESTATUS[@]}", "it has the expansion '${PIPESTATUS[@]}'"),
    ("a ${PIPESTATUS[10]}", "it has the expansion '${PIPESTATUS[10]}'"),
    ("a ${PIPESTATUS[$(b)]}", "it has the expansion '${PIPESTATUS[$(b)]}'"),
    ("a $((x))", "it has the expansion '$((x))'"),
    ("a $[1]", "it has the expansion '$[1'"),
    ('a "$$("', "it has the expansion '$$('"),
    ('a "$x$"\'"', "it has a quote without an end"),
    ("a 'b", "it has a quote without an end"),
    ('a "b', "it has a quote without an end"),
    ("a `b", "it has backticks that hold a backslash or a comment, or do not end"),
    ("a `b \\`c\\``", "it has backticks that hold a backslash or a comment, or do not end"),
    ("a `b #c`", "it has backticks that hold a backslash or a comment, or do not end"),
    ('a "`b "c"`"', "it has backticks that hold a here-document or quotes within quotes"),
    ("a `b <<E`\nE", "it has backticks that hold a here-document or quotes within quotes"),
    ("a\\\nb", "a line continues inside a word"),
    ('a "b\\\nc"', "a line continues inside a word"),
    ("a \\", "a line continues inside a word"),
    ("a > \\\n f", "a line continues inside a word"),
    ("a \\\n# b", "a comment begins a continued line"),
    ("a ü", "it has 'ü' outside quotes (quote that word)"),
    ('a "ü\\$"', "it has 'ü\\\\' in double quotes"),
    ('a "ü`b`"', "it has 'ü`' in double quotes"),
    ("a \\ü", "it has 'ü' outside quotes (quote that word)"),
    ("a ~'b'", "it has a '~' that quotes or variables follow"),
    ("a ~$b", "it has a '~' that quotes or variables follow"),
    ("a <(b)", "it has a process substitution"),
    ("a >(b)", "it has a process substitution"),
    ("a >", "it redirects to nothing"),
    ("a > ; b", "it redirects to nothing"),
    ("a2>&1", "a redirection touches a word that may be its descriptor"),
    ("a {b}>f", "a redirection touches a word that may be its descriptor"),
    ("a 2>&1>f", "it has a redirection to a descriptor that is not plain"),
    ("a <&-2", "it has a redirection to a descriptor that is not plain"),
    ("a >&2-", "it has a redirection to a descriptor that is not plain"),
    ("a >&12", "it has a redirection to a descriptor that is not plain"),
    ("a >&$x", "it has a redirection to a descriptor that is not plain"),
    ("a <&f", "it has a redirection to a descriptor that is not plain"),
    ("a 10>f", "it has a redirection with the descriptor 10"),
    ("a 2&>f", "a redirection touches a word that may be its descriptor"),
    ("a 3<<E\nE", "it has a redirection with the descriptor 3"),
    ("a &>f b", "it has words behind '&>'"),
    ("&>>f a", "it has words behind '&>'"),
    ("a ~:b", "it has a '~' that quotes or variables follow"),
    ("a <>f", "it redirects to nothing"),
    ("a <<E\nx", "it has a here-document without an end"),
    ("a <<E", "it has a here-document without an end"),
    ("$x\nE\na <<E", "it has a here-document without an end"),
    ("a <<E\nx\nE ", "it has a here-document without an end"),
    ("a <<E\n$x\nE", "it has a here-document with expansions in it"),
    ("a <<E\n\\x\nE", "it has a here-document with expansions in it"),
    ("a <<'E'x\nEx", "it has a here-document whose delimiter is not a plain word"),
    ("a <<$E\n$E", "it has a here-document whose delimiter is not a plain word"),
    ("a <<E 'b\nc'\nE", "a quote goes over several lines behind a here-document"),
    ("a <<'E' \"b\nc$x\"\nE", "a quote goes over several lines behind a here-document"),
    ("a <<E \\\n b\nE", "a line continues behind a here-document"),
    ("a <<E $(b)\nE", "a substitution stands behind a here-document"),
    ("E\ncat <<E", "it has a here-document without an end"),
    ("a $(b <<E)\nE\n", "it has ')' where none can stand"),
    ("a $(b <<E\nE\nc)", "a substitution has a here-document, and more than one command"),
    ("a $({ b <<E\nE\n})", "a substitution has a here-document, and more than one command"),
    ("a $(b <<E $c\nE\n) $(c $(d <<E\nE\n))", "a substitution has a here-document, and more than one command"),
    ("a $(! b <<E\nE\n)", "a substitution has a here-document, and more than one command"),
    ("a $(b <<<x; c)", "a substitution has a here-document, and more than one command"),
    ("a $()", "it has ')' where none can stand"),
    ("a `", "it has backticks that hold a backslash or a comment, or do not end"),
    ("()", "it has ')' where none can stand"),
    ("(a", "it ends too early"),
    ("a)", "it has ')' where none can stand"),
    ("{ a }", "it ends too early"),
    ("{a;}", "it has '}' where a program should stand"),
    ("if a; then fi", "it has 'fi' where none can stand"),
    ("if a", "it ends too early"),
    ("while a; done", "it has 'done' where a program should stand"),
    ("for i in a b do c; done", "it has 'done' where none can stand"),
    ("for i in a | b; do c; done", "it has '| b; do c;' where none can stand"),
    ("case a in b) c;; d", "it ends too early"),
    ("case a b) c;; esac", "it has 'b) c;; esa' where none can stand"),
    ("a &&", "it ends too early"),
    ("a | | b", "it has '| b' where none can stand"),
    ("a;; b", "it has ';; b' where none can stand"),
    ("; a", "it has '; a' where none can stand"),
    ("a & & b", "it has '& b' where none can stand"),
    ("a;& b", "it has ';& b' where none can stand"),
    ("(a) b", "it has 'b' where none can stand"),
    ("alias a=b", "alias may change how the rest is read"),
    ("shopt -s extglob", "shopt may change how the rest is read"),
    ("command shopt -s extglob", "shopt may change how the rest is read"),
    ("set -k", "set may change how the rest is read"),
    ("set -o posix", "set may change how the rest is read"),
    ("PS4='$(a)'; set -x; b", "set may change how the rest is read"),
    ("set $x", "set may change how the rest is read"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), REFUSED)
def test_what_is_outside_the_language_is_named(text, why):
    with pytest.raises(NotUnderstoodError) as error:
        split(text)
    assert str(error.value) == why


LIMITS = [  # what is just understood, what is just not, why
    ("( " * 80 + "a" + " )" * 80, "( " * 81 + "a" + " )" * 81, "it is nested too deep"),
    ("a " + "$(b " * 80 + ")" * 80, "a " + "$(b " * 81 + ")" * 81, "it is nested too deep"),
    ("a;" * 250, "a;" * 251, "it has more than 250 commands"),
    ("a" + " | a" * 249, "(a" + " | a" * 249 + ") | b", "it has more than 250 commands"),
    ("a" + " >b" * 100, "a" + " >b" * 101, "it has more than 100 redirections"),
    ("a" + " b" * 2499, "a" + " b" * 2500, "its words have more than 2500 parts"),
    ("a " + "'b'" * 2498, "a " + "'b'" * 2499, "its words have more than 2500 parts"),
    ('a "' + "$x " * 1248 + '"', 'a "' + "$x " * 1250 + '"', "its words have more than 2500 parts"),
    ("x=1 " * 2499 + "a", "x=1 " * 2500 + "a", "its words have more than 2500 parts"),
]  # fmt: skip


@pytest.mark.parametrize(("fits", "exceeds", "why"), LIMITS)
def test_limits_of_the_language(fits, exceeds, why):
    assert split(fits)[0].items
    with pytest.raises(NotUnderstoodError, match=why):
        split(exceeds)


def test_every_character_belongs_to_a_token_or_stands_between_two():
    for text, _ in SCRIPTS:
        _, marks = split(text)
        covered = {place for start, end, *_ in marks for place in range(start, end)}
        if "<<E" not in text and "<<'" not in text and "<<-" not in text and '<<"E' not in text and "<<\\" not in text:
            assert {text[place] for place in range(len(text)) if place not in covered} <= set(" \t\n\\"), text
        top = sorted({mark[:2] for mark in marks}, key=lambda span: (span[0], -span[1]))
        for (_, end), (start, stop) in pairwise(top):
            assert end <= start or stop <= end, text


def test_a_compound_command_ends_behind_its_last_redirection():
    text = "{ ls; } >a 2>b; pwd"
    script, _ = split(text)
    start, end = script.items[0].nodes[0].span
    assert text[start:end] == "{ ls; } >a 2>b"

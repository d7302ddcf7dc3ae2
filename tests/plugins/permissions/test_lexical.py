"""What is told by characters alone: hidden ones, tangles, commands without a parser, and where paths lead."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import pytest

from executor_permissions.judge import _lexical
from executor_permissions.judge._paths import PathRule, Place, UnclearPathError, locate, touches, under

HIDDEN = "it has control or invisible characters"
REFUSED = [
    ("ls -la\t'é'\nb", None),
    *[(f"a{character}b", HIDDEN) for character in "\x00\x08\x0b\x1f\x7f\r\x80\xa0\xad\u034f\u061c\u115f\u1680\u17b4\u180e\u2000\u200b\u202e\u2060\u2800\u3000\u3164\ufeff\uffa0\ufff9\U000e0041"],
    ("a `b`", "it has backticks"),
    ("a '`'", None),
    ("a \\`", None),
    ("a '`' 'b", "it has backticks"),
    ('a "`"', "it has backticks"),
    ("a '`' # b", "it has backticks"),
    ("a $'`'", "it has backticks"),
    ("a '`' <<E", "it has backticks"),
    ("a 'b' '`' \"c\"", None),
    ("a '`' \"$b\"", "it has backticks"),
    ("a <<'E'\n`b`\nE", None),
    ('a <<"E"\n`b`\nE\nc', None),
    ("a <<E\n`b`\nE", "it has backticks"),
    ("a 'x' <<'E'\n`b`\nE", "it has backticks"),
    ("a <<'E'\n`b`\nF", "it has backticks"),
    ("a <<'E'\nb\nE\n`c`", "it has backticks"),
    ("a \\\n b", None),
    ("a\\\n b", "a line continues inside a word"),
    ("a\t\\\n b", None),
    ("a \\\n # b", "a line continues inside a word"),
    ("a \\\n <<E\nx\nE", "a line continues inside a word"),
]  # fmt: skip


def test_characters_that_the_parser_must_not_be_trusted_with_are_refused():
    assert [(text, _lexical.refused(text)) for text, _ in REFUSED] == REFUSED
    assert [_lexical.has_hidden_characters(text) for text in ("a\tb\nc é", "a\x07", "é\u200b", "")] == [
        False,
        True,
        True,
        False,
    ]


def test_what_the_parser_could_take_long_over_is_tangled():
    def tangled(text, limit=5):
        return _lexical.is_tangled(text, limit)

    assert [tangled(open_ * count) for open_ in "({[" for count in (5, 6)] == [False, True] * 3
    assert [tangled(close * count) for close in ")}]" for count in (5, 6)] == [False, True] * 3
    assert [
        tangled("()" * 50),
        tangled("(" * 3 + "{" * 3),
        tangled("(" * 3 + ")" * 3 + "(" * 3),
        tangled("))((((("),
        tangled("()" + "(" * 5),
    ] == [False, True, False, False, False]
    assert [tangled("a|" * count) for count in (250, 251)] == [False, True]
    assert [tangled(("a|" * 250 + end) * 2) for end in (";", "&", "\n")] == [False] * 3
    assert [tangled("<<" * count) for count in (40, 41)] == [False, True]


def test_commands_are_told_without_a_parser_for_denying():
    for text, commands in [
        ("a b", [["a", "b"]]),
        ("", []),
        ("a; b & c | d || e && f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("(a) {b}\nc", [["a"], ["b"], ["c"]]),
        ("a $(b) `c`", [["a"], ["b"], ["c"]]),
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("r'm' \"-\"rf", [["rm", "-rf"]]),
        ('a "b\\"c"', [["a", 'b"c']]),
    ]:
        assert _lexical.plain_commands(text) == commands
    assert len(_lexical.plain_commands("a;" * 5000)) == 2001
    assert sum(map(len, _lexical.plain_commands("a " * 40000))) == 16384


def test_a_program_is_mentioned_as_a_word_of_its_own():
    words = frozenset({"rm", "a.b"})
    found = {
        text: _lexical.mentions(text, words)
        for text in (
            "rm",
            "x rm y",
            "/bin/rm",
            "rmx",
            "xrm",
            "-rm",
            "rm-x",
            ".rm",
            "rm.",
            "axb",
            "a.b",
            "rm;",
            "'rm'",
            "x=rm",
            "",
        )
    }
    assert found == {
        "rm": "rm",
        "x rm y": "rm",
        "/bin/rm": "rm",
        "rmx": None,
        "xrm": None,
        "-rm": None,
        "rm-x": None,
        ".rm": None,
        "rm.": "rm",
        "axb": None,
        "a.b": "a.b",
        "rm;": "rm",
        "'rm'": "rm",
        "x=rm": "rm",
        "": None,
    }
    assert _lexical.mentions("rm", frozenset()) is None


@pytest.fixture
def folder(tmp_path):
    """A folder with a folder, a file, and links to both and out of it."""
    root = tmp_path.resolve() / "proj"
    (root / "src").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (root / "a").touch()
    for name, target in {
        "file": root / "a",
        "in": root / "src",
        "away": tmp_path.resolve() / "out",
        "circle": root / "circle",
    }.items():
        (root / name).symlink_to(target)
    return root


def test_where_a_path_leads(folder):
    base, home = str(folder), str(folder.parent / "home")

    def place(value, **options):
        return locate(value, base, home, **options)

    assert place("src/../a") == Place(f"{base}/a", f"{base}/a", f"{base}/a")
    assert place("file") == Place(f"{base}/a", f"{base}/file", f"{base}/file")
    assert place("away/x") == Place(str(folder.parent / "out/x"), str(folder.parent / "out/x"), f"{base}/away/x")
    assert place("~") == Place(home, home, home)
    assert place("~/x").real == f"{home}/x"
    assert place("~x/y").real.endswith("/y")
    assert place(f"{base}/a").real == f"{base}/a"
    once = place("file", resolve=lambda path, *, entry=False: folder / f"{path}-{entry}")
    assert once == Place(f"{base}/file-False", f"{base}/file-True", f"{base}/file")
    for value, problem in {
        "": "is no plain path",
        "a\nb": "is no plain path",
        "a\u200bb": "is no plain path",
        "$x": "is no plain path",
        "file:a": "is no plain path",
        "http://x": "is no plain path",
        "c:/x": "is no plain path",
        "a\\b": "has backslashes",
        "circle/x": "cannot be resolved",
    }.items():
        with pytest.raises(UnclearPathError, match=problem):
            place(value)
    assert place("a:b").real == f"{base}/a:b"
    assert place("a$b").real == f"{base}/a$b"


def test_what_lies_under_a_folder():
    assert [
        under(*pair)
        for pair in (
            ("/a", "/a"),
            ("/a/b", "/a"),
            ("/ab", "/a"),
            ("/", "/"),
            ("/a", "/"),
            ("/a", "/a/b"),
            ("/a/b", "/a/"),
        )
    ] == [True, True, False, True, True, False, True]


def test_a_rule_about_paths_covers_and_catches(folder):
    base, home = str(folder), str(folder.parent / "home")

    def judged(rule, value):
        made, place = PathRule.of(rule, base, home), locate(value, base, home)
        return made.allows(place), made.catches(place)

    for rule, value, expected in [
        ("a", "a", (True, True)), ("a", "file", (False, True)), ("file", "file", (False, True)), ("file", "a", (True, True)), ("src", "src/x", (True, True)), ("src/", "src/x", (True, True)), ("in", "src/x", (True, True)), ("in", "in/x", (True, True)), ("src", "in/x", (True, True)), ("new", "new/x", (False, True)), ("new/", "new/x", (True, True)),
        (".", "away/x", (False, True)), ("away", "away/x", (True, True)), (str(folder.parent / "out"), "away/x", (True, True)), ("*", "a", (True, True)), ("*", "file", (True, True)), ("*", "src/x", (False, True)), ("**", "src/x", (True, True)), ("s*/x", "src/x", (True, True)), ("s*/", "src/y/z", (True, True)), ("**/x", "x", (True, True)), ("**/x", "src/y/x", (True, True)),
        ("**/x", "src/yx", (False, False)), ("src/a*c", "src/abc", (True, True)), ("src/a*c", "src/a/c", (False, False)), ("in/*", "src/x", (True, True)), ("in/*", "in/x", (True, True)), ("~/x", "~/x", (True, True)), ("~", "~/x", (False, True)), ("~/", "~/x", (True, True)), ("src/a.c", "src/abc", (False, False)), ("src/a.*", "src/abc", (False, False)), ("file*", "a", (False, False)), ("file*", "file", (False, True)),
    ]:  # fmt: skip
        assert judged(rule, value) == expected, (rule, value)
    assert PathRule.of("/*", base, home).root == "/"


TOUCHED = [  # word, whether it is a glob, what it touches
    ("keys", False, "/proj/keys"), ("keys/a", False, "/proj/keys"), ("keysx", False, None), ("./x/../keys", False, "/proj/keys"), ("/proj/keys", False, "/proj/keys"), ("--f=keys/a", False, "/proj/keys"), ("a=b=keys", False, "/proj/keys"), ("-fkeys/a", False, "/proj/keys"), ("-f", False, None), ("~/.ssh", False, "/home/me/.ssh"), ("~/.ssh/id", False, "/home/me/.ssh"), ("~", False, None),
    ("k*", True, "/proj/keys"), ("k*", False, None), ("k*/a", True, "/proj/keys"), ("*", True, "/proj/keys"), ("*/*", True, "/proj/keys"), ("x*", True, None), ("[k]eys", True, "/proj/keys"), ("~/*", True, None), ("~/.*", True, "/home/me/.ssh"), ("~/.s*", True, "/home/me/.ssh"), ("~/[.]ssh", True, "/home/me/.ssh"), ("~/?ssh", True, None), ("/*/keys", True, "/proj/keys"), ("/p*", True, None), ("-f~/.ssh", False, "/home/me/.ssh"), ("--f=~", False, None),
]  # fmt: skip


def test_the_files_that_a_word_may_name():
    places = ["/proj/keys", "/home/me/.ssh"]
    found = [
        (word, is_glob, touches(word, "/proj", "/home/me", places, is_glob=is_glob)) for word, is_glob, _ in TOUCHED
    ]
    assert found == TOUCHED

"""What is told by characters alone: hidden ones and programs that are named; and where paths lead."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import pytest

from executor_permissions.judge.paths import _lexical
from executor_permissions.judge.paths._paths import PathRule, Place, UnclearPathError, locate, under

HIDDEN = "\x00\x08\x0b\x1f\x7f\r\x80\xa0\xad\u034f\u061c\u115f\u1680\u17b4\u180e\u2000\u200b\u202e\u2060\u2800\u3000\u3164\ufeff\uffa0\ufff9\U000e0041"


def test_characters_that_a_person_cannot_see_are_found():
    assert [character for character in HIDDEN if not _lexical.has_hidden_characters(f"a{character}b")] == []
    assert [text for text in ("a\tb\nc é", "ls 'ü'", "") if _lexical.has_hidden_characters(text)] == []
    assert _lexical.has_hidden_characters("é\u200b")


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

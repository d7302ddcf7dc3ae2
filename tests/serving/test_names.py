"""Names of what several servers offer."""

from __future__ import annotations

import time

import pytest

from executor.mcp.serving._names import LONGEST_NAME, Names, Titles, Uris, matches, spelled_out

ODD = ["", " x", "x ", "a\nb", "\x1b[31m", "\u202etxt", "x" * 200]


def test_the_first_keeps_a_name_and_others_are_found_again_by_theirs():
    names = Names(Uris())
    names.assign([("a", "memo://x"), ("b", "memo://x"), ("b", "memo://y")])
    assert [names.of("a", "memo://x"), names.of("b", "memo://x"), names.of("b", "memo://y")] == [
        "memo://x",
        "mcp://b/memo://x",
        "memo://y",
    ]
    assert names.owner("mcp://b/memo://x") == ("b", "memo://x")
    assert spelled_out("mcp://b/memo://x") == ("b", "memo://x")


def test_a_name_stays_its_owners_as_long_as_it_is_listed():
    names = Names(Titles())
    names.assign([("b", "greet")])
    names.assign([("a", "greet"), ("b", "greet")])  # the one that comes first was late
    assert (names.of("b", "greet"), names.of("a", "greet")) == ("greet", "a__greet")
    names.assign([("a", "greet")])
    assert names.of("a", "greet") == "a__greet"  # its own stays as well
    assert names.owner("greet") is None


def test_what_is_the_hosts_own_is_nobody_elses():
    names = Names(Uris())
    names.assign(
        [("a", "memo://mine"), ("a", "task://1/output"), ("a", "RESULT:x"), ("a", "mcp://b/x")], {"memo://mine"}
    )
    assert {names.of("a", own) for own in ("memo://mine", "task://1/output", "RESULT:x", "mcp://b/x")} == {
        "mcp://a/memo://mine",
        "mcp://a/task://1/output",
        "mcp://a/RESULT:x",
        "mcp://a/mcp://b/x",
    }


def test_a_name_that_would_be_taken_for_anothers_is_left_out():
    names = Names(Titles())
    names.assign([("a", "b__greet"), ("b", "greet"), ("c", "b__greet")])
    assert names.owner("b__greet") == ("a", "b__greet")
    again = Names(Titles())
    again.assign([("x", "greet"), ("a", "b__greet"), ("b", "greet")])  # b's other name is a's own
    assert again.of("b", "greet") is None


@pytest.mark.parametrize("rule", [Uris(), Titles()])
@pytest.mark.parametrize("name", ODD)
def test_names_with_something_hidden_are_given_others_without(rule, name):
    names = Names(rule)
    names.assign([("s", name), ("s", name + "\x07")])
    told = [names.of("s", name), names.of("s", name + "\x07")]
    assert len(set(told)) == 2
    for given in told:
        assert given.isprintable()
        assert given == given.strip()
    if isinstance(rule, Titles):
        assert all(len(given) <= LONGEST_NAME for given in told)


@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("town://{town}/weather", "town://berlin/weather", True),
        ("town://{town}/weather", "town://berlin/news", False),
        ("town://{town}/weather", "city://berlin/weather", False),
        ("a://{x}b{y}c", "a://1b2c", True),
        ("a://{x}b{y}c", "a://1c", False),
        ("a://aa{x}aa", "a://aaa", False),
        ("a://x", "a://x", True),
        ("a://{x}", "a://", True),
    ],
)
def test_a_uri_is_known_by_the_template_that_it_is_made_of(template, uri, fits):
    assert matches(template, uri) == fits


def test_a_template_that_somebody_has_made_to_be_slow_is_not():
    began = time.perf_counter()
    assert not matches("a://" + "{x}a" * 2000 + "b", "a://" + "a" * 20_000)
    assert time.perf_counter() - began < 1

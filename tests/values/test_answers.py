"""What a person's answer means, and what a question is bound to."""

from __future__ import annotations

import pytest

from executor.values._approval import WORDS, Answer, Approval, Lasting, asker_of, parse_answer, read_answer


@pytest.mark.parametrize(
    ("said", "word", "value"),
    [
        *((word, word, None) for word in WORDS if word not in ("edit", "comment")),
        *zip("ynoati", ("yes", "no", "once", "always", "turn", "idle"), [None] * 6, strict=True),
        (" Y ", "yes", None),
        ("comment: use mv ", "comment", "use mv"),
        ("c:", "comment", None),
        ("yes: and mind the dog", "yes", "and mind the dog"),
        ("y:use -n", "yes", "use -n"),
        ("No: not today", "no", "not today"),
        (("yes", "x"), "yes", "x"),
        (("no", "x"), "no", "x"),
        ("always project", "always", Lasting("project")),
        ("never", "never", None),
        ("Never User for 2 hours", "never", Lasting("user", 7200)),
        ("a tool 3 times", "always", Lasting(None, None, 3, True)),
        ("always for 30s", "always", Lasting(seconds=30)),
        ("always\nproject", "always", Lasting("project")),
        (
            ("always", {"scope": "project", "for": "2m", "times": 3, "whole_tool": True}),
            "always",
            Lasting("project", 120, 3, True),
        ),
        (("never", {"for": 1.5}), "never", Lasting(seconds=1.5)),
        (("always", {"rules": ["git *", "ls"]}), "always", Lasting(rules=("git *", "ls"))),
        *(
            (f"always {rest}", "no", None)
            for rest in ("please", "for ever", "0 times", "for 0s", "for 1w", "user project", "for 1234567s")
        ),
        *(
            (("always", rest), "no", None)
            for rest in (
                {"scope": "world"},
                {"for": "soon"},
                {"for": -5},
                {"for": True},
                {"times": 0},
                {"rules": "git *"},
                {"rules": [1]},
                {"times": True},
                {"times": "3"},
                {"times": 10**400},
                {"for": 10**400},
                {"for": float("inf")},
                {"rules": 0},
                {"whole_tool": "false"},
                {"whole_tool": 1},
                {"whole_tool": None},
                Lasting(seconds=float("inf")),
                Lasting(whole_tool="no"),  # type: ignore[arg-type]  # as a surface might
                "session",
            )
        ),
        ("always: project", "no", None),
        ("turn: x", "no", None),
        ("error", "no", None),
        ("comment", "comment", None),
        (("comment", "use mv"), "comment", "use mv"),
        (("edit", {"a": 1}), "edit", {"a": 1}),
        (("comment", 3), "no", None),
        (("edit", "a"), "no", None),
        (("comment",), "no", None),
        ("edit", "no", None),
        ("e", "no", None),
        ("timeout", "no", None),
        ("perhaps", "no", None),
        ("", "no", None),
        (True, "no", None),
        (None, "no", None),
    ],
)
def test_what_is_said_means_one_word_and_whatever_is_not_understood_is_a_no(said, word, value):
    assert parse_answer(said, "here") == Answer(word, value, "here")


def test_an_answer_is_itself():
    answer = Answer("once", None, "there")
    assert parse_answer(answer, "here") is answer


def test_an_answer_made_elsewhere_has_a_value_that_fits_its_word():
    assert parse_answer(Answer("always", {"scope": "user"}, "me")) == Answer("always", Lasting("user"), "me")
    assert parse_answer(Answer("error", "no display", "me")) == Answer("error", "no display", "me")
    for odd in (
        Answer("comment", 3),
        Answer("edit", "a"),
        Answer("edit"),
        Answer("always", {"for": 0}),
        Answer("always", {"time": 3}),
        Answer("always", {"expires": "1h"}),
        Answer("turn", "x"),
    ):
        assert read_answer(odd) is None
        assert parse_answer(odd) == Answer("no")


def test_an_asker_is_one_agent_in_one_context():
    assert asker_of(None) == asker_of({}) == ""
    assert len({asker_of(None), asker_of(None, "a"), asker_of({}, "b"), asker_of({"agent": "a"}, "a")}) == 4
    assert asker_of({"agent": "a", "client": 1}) == asker_of({"client": 1, "agent": "a"})
    several = [{"agent": "a"}, {"agent": "b"}, {"agent": "a", "client": 1}, {"agent": "a", "client": 2}, {1: 2, "a": 3}]
    assert len({asker_of(context) for context in several}) == len(several)


def test_the_words_that_let_a_call_run():
    every = (*WORDS, "timeout", "no_channel", "cancelled", "error")
    assert {word for word in every if Answer(word).allowed} == {"yes", "once", "always", "turn", "idle", "all"}


def test_a_question_is_bound_to_tool_and_arguments_and_to_nothing_else():
    digest = Approval("1", "act", {"a": 1, "b": 2}).digest
    assert len(digest) == 64
    assert Approval("2", "act", {"b": 2, "a": 1}, "another reason").digest == digest
    assert Approval("1", "act", {"a": 1}).digest != digest
    assert Approval("1", "do", {"a": 1, "b": 2}).digest != digest
    assert Approval("1", "act", {}, digest="given").digest == "given"
    assert Approval("1", "act", {"thing": object}).digest
    assert Approval("1", "act", {}).options == ("yes", "no", "comment")


@pytest.mark.parametrize("word", sorted(WORDS))
def test_a_pair_without_its_value_is_not_understood(word):
    assert read_answer((word, None)) is None

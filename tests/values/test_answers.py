"""What a person's answer means, and what a question is bound to."""

from __future__ import annotations

import pytest

from executor.values._approval import WORDS, Answer, Approval, parse_answer


@pytest.mark.parametrize(
    ("said", "word", "value"),
    [
        *((word, word, None) for word in WORDS if word not in ("edit", "comment")),
        *zip("ynoati", ("yes", "no", "once", "always", "turn", "idle"), [None] * 6, strict=True),
        (" Y ", "yes", None),
        ("comment: use mv ", "comment", "use mv"),
        ("c:", "comment", ""),
        ("comment", "comment", None),
        (("comment", "use mv"), "comment", "use mv"),
        (("edit", {"a": 1}), "edit", {"a": 1}),
        (("comment", 3), "no", None),
        (("edit", "a"), "no", None),
        (("yes", "x"), "no", None),
        (("comment",), "no", None),
        ("edit", "no", None),
        ("e", "no", None),
        ("yes: really", "no", None),
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


def test_the_words_that_let_a_call_run():
    every = (*WORDS, "timeout", "no_channel", "cancelled")
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

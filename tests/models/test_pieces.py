"""Replies that come in very many pieces are put together in the time that their length takes."""

from __future__ import annotations

import json

import pytest

from executor import models
from executor.models import _openai_chat
from executor.models._pieces import Pieces, joined


@pytest.mark.parametrize(
    "text",
    ['{"a": "}{"}', '{"a": "\\"}", "b": {"c": "\\\\"}}', ' {"a": [{}, {"b": 1}]} ', "{}", '{"\\\\\\"": "\\u007d"}'],
)
@pytest.mark.parametrize("length", [1, 2, 3, 100])
def test_a_text_is_closed_where_its_object_is(text, length):
    pieces, whole = Pieces(), []
    for start in range(0, len(text), length):
        pieces.add(text[start : start + length])
        whole.append(pieces.is_closed)
    assert (pieces.text, pieces.size) == (text, len(text))
    assert whole[-1]
    for end, closed in enumerate(whole[:-1], 1):
        try:
            is_object = isinstance(json.loads(text[: end * length]), dict)
        except ValueError:
            is_object = False
        assert closed or not is_object


@pytest.mark.parametrize(
    ("values", "together"),
    [
        ([], None),
        (["a", "b"], "ab"),
        ([[1], [2, 3]], [1, 2, 3]),
        (["a", [1], [2], "b", "c"], "bc"),
        ([{"a": 1}, {"b": 2}], {"b": 2}),
    ],
)
def test_what_comes_one_after_another_is_put_together(values, together):
    assert joined(values) == together


def test_arguments_are_read_when_they_may_be_whole_and_not_with_every_piece(monkeypatch):
    """Some servers say the name with every piece: each could begin another call."""
    read, is_whole = [], _openai_chat.is_whole
    monkeypatch.setattr(_openai_chat, "is_whole", lambda said: read.append(said) or is_whole(said))
    stream = models.Stream("openai-chat")
    for piece in ['{"text": "', *["} {} }"] * 1000, '"}']:
        call = {"index": 0, "id": "1", "function": {"name": "write", "arguments": piece}}
        stream.feed({"choices": [{"delta": {"tool_calls": [call]}}]})
    stream.feed({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    (call,) = stream.end().calls
    assert json.loads(call.arguments) == {"text": "} {} }" * 1000}
    assert len(read) <= 2


def test_an_answer_of_texts_and_blocks_keeps_their_order():
    stream, said = models.Stream("langchain", on_text=lambda piece: said.append(piece)), []
    for content in (
        "a",
        "b",
        [{"type": "text", "text": "c", "index": 0}],
        "d",
        "",
        [{"type": "text", "text": "e", "index": 0}],
    ):
        stream.feed({"type": "AIMessageChunk", "content": content})
    content = stream.end().message["content"]
    assert content == ["ab", {"type": "text", "text": "ce", "index": 0}, "d"]
    assert "".join(said) == "abcde"

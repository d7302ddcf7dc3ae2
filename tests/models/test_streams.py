"""Replies in pieces: what servers send that the documents do not say, and streams that break off."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from executor import ToolCall, models

CASES = json.loads((Path(__file__).parent / "cases.json").read_text("utf-8"))["streams"]


def chunk(*calls, finish=None, **delta):
    if calls:
        delta["tool_calls"] = list(calls)
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(index=None, call_id=None, name=None, arguments=None):
    found = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    return {key: value for key, value in found.items() if value is not None}


def collected(form, *events):
    stream = models.Stream(form)
    for event in events:
        stream.feed(event)
    return stream.end()


WHOLE = [ToolCall("1", "a", '{"x": 1}'), ToolCall("2", "b", "{}")]


@pytest.mark.parametrize(
    "events",
    [
        [chunk(piece(0, "1", "a", "")), chunk(piece(0, None, None, '{"x": ')), chunk(piece(1, "2", "b", "{}")),
         chunk(piece(0, None, None, "1}"))],
        [chunk(piece(None, "1", "a", '{"x": ')), chunk(piece(None, None, None, "1}")),
         chunk(piece(None, "2", "b", "{}"))],
        [chunk(piece(0, "1", "a", '{"x": 1}')), chunk(piece(0, "2", "b", "{}"))],
        [chunk(piece(None, "1", "a", '{"x": 1}'), piece(None, "2", "b", "{}"))],
        [chunk(piece(0, "1", "a", '{"x"')), chunk(piece(0, "1", "a", ": 1}")), chunk(piece(1, "2", "b", "{}"))],
        [chunk(piece(None, "1", "a", '{"x": ')), chunk(piece(None, "2", "b", "{")), chunk(piece(None, "1", None, "1}")),
         chunk(piece(None, "2", None, "}"))],
    ],
    ids=["by index", "no index", "always index 0", "all at once", "id and name each time", "by id, in turns"],
)  # fmt: skip
def test_servers_number_the_pieces_in_many_ways(events):
    assert collected("openai-chat", *events, chunk(finish="tool_calls")).calls == WHOLE
    assert collected("openai-chat", *events).calls == WHOLE  # some never say that they have ended


def test_whole_calls_without_ids_are_several_all_the_same():
    request = collected("openai-chat", chunk(piece(0, "", "a", '{"x": 1}')), chunk(piece(0, "", "b", "{}")))
    assert [(call.name, call.arguments) for call in request.calls] == [("a", '{"x": 1}'), ("b", "{}")]
    assert len({call.id for call in request.calls}) == 2


@pytest.mark.parametrize("index", [0, None])
@pytest.mark.parametrize("call_id", ["same", "", None])
def test_names_tell_calls_apart_where_numbers_and_ids_do_not(index, call_id):
    said = [("a", '{"x": '), (None, "1}"), ("b", "{}"), ("b", '{"y": 2}')]
    events = [chunk(piece(index, call_id, name, arguments)) for name, arguments in said]
    request = collected("openai-chat", *events, chunk(finish="tool_calls"))
    assert [(call.name, call.arguments) for call in request.calls] == [
        ("a", '{"x": 1}'),
        ("b", "{}"),
        ("b", '{"y": 2}'),
    ]
    assert len({call.id for call in request.calls}) == 3


@pytest.mark.parametrize("kind", [int, str, float])
def test_pieces_that_come_by_turns_are_put_together_by_their_numbers_however_these_are_written(kind):
    first, second = (piece(kind(number), str(number), "write", '{"path": "') for number in (0, 1))
    more = piece(kind(0), arguments='a"}')
    events = [chunk(each) for each in (first, second, more)]
    for event in events:
        event["choices"][0]["index"] = kind(0)
    assert collected("openai-chat", *events).calls == [ToolCall("0", "write", '{"path": "a"}')]


def test_a_call_that_is_said_once_more_as_a_whole_is_one():
    said = [
        chunk(piece(0, "1", "a", '{"x": ')),
        chunk(piece(0, None, None, "1}")),
        chunk(piece(0, "1", "a", '{"x": 1}')),
    ]
    assert collected("openai-chat", *said, chunk(finish="tool_calls")).calls == [ToolCall("1", "a", '{"x": 1}')]


def test_a_message_of_chat_completions_is_whole_again():
    call = piece(0, "1", "a", "{}") | {"extra_content": {"signature": "s"}}
    request = collected(
        "openai-chat",
        chunk(role="assistant", content="Let "),
        chunk(content="me", reasoning_content="so "),
        chunk(call, reasoning_content="then"),
        {"choices": [], "usage": {}},
        chunk(finish="tool_calls"),
    )
    assert request.message == {
        "role": "assistant",
        "content": "Let me",
        "reasoning_content": "so then",
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
            | {"extra_content": {"signature": "s"}}
        ],
    }


@pytest.mark.parametrize(
    ("arguments", "finish", "calls"),
    [
        ("", None, []),
        ('{"x"', None, []),
        ("", "tool_calls", [ToolCall("1", "a", {})]),
        ("", "length", []),
        ("", "content_filter", []),
        ('{"x"', "length", [ToolCall("1", "a", '{"x"')]),
        ('{"x"', "tool_calls", [ToolCall("1", "a", '{"x"')]),
    ],
)
def test_arguments_that_may_not_have_come_are_not_taken_for_none(arguments, finish, calls):
    request = collected("openai-chat", chunk(piece(0, "1", "a", arguments), finish=finish))
    assert request.calls == calls
    assert ("tool_calls" in request.message) == bool(calls)


def test_the_events_of_the_helper_of_the_openai_sdk():
    event = {"type": "chunk", "chunk": chunk(piece(0, "1", "a", '{"x": 1}'), piece(1, "2", "b", "{}"))}
    assert collected("openai-chat", event, {"type": "content.delta", "delta": "x"}).calls == WHOLE


def test_a_custom_tool_in_a_stream():
    start = {"index": 0, "id": "1", "type": "custom", "custom": {"name": "edit", "input": "--- "}}
    more = {"index": 0, "custom": {"input": "start"}}
    request = collected("openai-chat", chunk(start), chunk(more), chunk(finish="tool_calls"))
    assert request.calls == [ToolCall("1", "edit", {"input": "--- start"})]
    assert collected("openai-chat", chunk(start)).calls == []


@pytest.mark.parametrize("why", ["length", "content_filter"])
def test_a_text_for_a_custom_tool_that_was_cut_is_no_call(why):
    """Of JSON it is seen where it was cut; half of a text is a text."""
    first = {"index": 0, "id": "1", "type": "custom", "custom": {"name": "run", "input": "rm -rf /tmp/build"}}
    cut = {"index": 1, "id": "2", "type": "custom", "custom": {"name": "run", "input": "rm -rf /"}}
    request = collected("openai-chat", chunk(first), chunk(cut), chunk(finish=why))
    assert [call.id for call in request.calls] == ["1"] == [each["id"] for each in request.message["tool_calls"]]
    assert collected("openai-chat", chunk(cut), chunk(finish=why)).messages == []
    message = {"role": "assistant", "content": None, "tool_calls": [first, cut]}
    request = models.read({"choices": [{"message": message, "finish_reason": why}]}, "openai-chat")
    assert [call.id for call in request.calls] == ["1"]


def custom(call_id, **more):
    return {"type": "custom_tool_call", "id": f"c{call_id}", "call_id": call_id, "name": "run", "input": "x"} | more


def test_a_text_for_a_custom_tool_of_responses_that_may_be_cut_waits_for_what_tells_that():
    done = [{"type": "response.output_item.done", "item": custom(each)} for each in "123"]
    stream = models.Stream("openai")
    assert [[call.id for call in stream.feed(event)] for event in done] == [[], ["1"], ["2"]]
    output = [event["item"] for event in done]
    end = {"type": "response.incomplete", "response": {"status": "incomplete", "output": output}}
    assert stream.feed(end) == []
    assert [call.id for call in stream.end().calls] == ["1", "2"] == [each["call_id"] for each in stream.end().message]
    assert [call.id for call in collected("openai", *done).calls] == ["1", "2"]  # it has broken off
    assert [call.id for call in models.read(end["response"], "openai").calls] == ["1", "2"]


def test_a_text_for_a_custom_tool_of_responses_that_is_whole_is_a_call():
    says_so = {"type": "response.output_item.done", "item": custom("1", status="completed")}
    assert [call.id for call in models.Stream("openai").feed(says_so)] == ["1"]
    cut = {"type": "response.output_item.done", "item": custom("1", status="incomplete")}
    assert collected("openai", cut).messages == models.read([cut["item"]], "openai").messages == []
    whole = {"type": "response.output_item.done", "item": custom("1")}
    for after in (
        {"type": "response.output_item.added", "item": {"type": "message"}},
        {"type": "response.completed", "response": {"status": "completed", "output": [custom("1")]}},
        {"type": "response.completed", "response": {"status": "completed"}},
    ):
        assert [call.id for call in collected("openai", whole, after).calls] == ["1"]


def block(index, *deltas, **started):
    yield {"type": "content_block_start", "index": index, "content_block": started}
    yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
    yield {"type": "content_block_stop", "index": index}


def said(arguments):
    return {"type": "input_json_delta", "partial_json": arguments}


def test_a_message_of_anthropic_is_whole_again():
    events = [
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {"type": "ping"},
        *block(0, {"type": "thinking_delta", "thinking": "so"}, {"type": "signature_delta", "signature": "c2ln"},
               type="thinking", thinking="", signature=""),
        *block(1, {"type": "text_delta", "text": "One "}, {"type": "text_delta", "text": "moment"},
               {"type": "citations_delta", "citation": {"n": 1}}, type="text", text=""),
        *block(2, said('{"q": '), said("1}"), type="server_tool_use", id="s", name="web_search", input={}),
        *block(3, said('{"x": 1}'), type="tool_use", id="1", name="a", input={}),
        *block(4, said(""), type="tool_use", id="2", name="b", input={}),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]  # fmt: skip
    stream = models.Stream()
    ready = [call for event in events for call in stream.feed(event)]
    request = stream.end()
    assert ready == request.calls == [ToolCall("1", "a", {"x": 1}), ToolCall("2", "b", {})]
    assert request.remaining == []
    assert request.message["content"] == [
        {"type": "thinking", "thinking": "so", "signature": "c2ln"},
        {"type": "text", "text": "One moment", "citations": [{"n": 1}]},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": 1}},
        {"type": "tool_use", "id": "1", "name": "a", "input": {"x": 1}},
        {"type": "tool_use", "id": "2", "name": "b", "input": {}},
    ]


def test_arguments_that_are_cut_stand_in_the_message_as_an_object():
    events = block(0, said('{"x'), type="tool_use", id="1", name="a", input={})
    request = collected("anthropic", *events)
    assert request.calls == [ToolCall("1", "a", '{"x')]
    assert request.message["content"][0]["input"] == {"INVALID_JSON": '{"x'}


def test_a_call_of_anthropic_without_arguments_waits_for_what_tells_whether_it_was_cut():
    first, second = (list(block(n, type="tool_use", id=str(n), name="a", input={})) for n in (1, 2))
    stream = models.Stream("anthropic")
    given = [[call.id for call in stream.feed(event)] for event in (*first, *second)]
    assert given == [[], [], ["1"], []]
    assert stream.feed({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}) == []
    request = stream.end()
    assert [call.id for call in request.calls] == ["1"]
    assert [each["id"] for each in request.message["content"]] == ["1"]
    broken_off = collected("anthropic", *first, *second)
    assert [call.id for call in broken_off.calls] == ["1"] == [each["id"] for each in broken_off.message["content"]]
    whole = block(3, said("{}"), type="tool_use", id="3", name="a", input={})
    assert [call.id for call in collected("anthropic", *whole).calls] == ["3"]


def test_a_tool_of_the_api_without_its_result_is_given_back_only_where_the_api_has_paused():
    use = list(block(0, said('{"q": 1}'), type="server_tool_use", id="s", name="web_search", input={}))
    found = list(block(1, type="web_search_tool_result", tool_use_id="s", content=[]))
    assert collected("anthropic", *use).messages == []
    assert collected("anthropic", *use, found[0]).messages == []
    assert len(collected("anthropic", *use, *found).message["content"]) == 2
    pause = {"type": "message_delta", "delta": {"stop_reason": "pause_turn"}}
    assert len(collected("anthropic", *use, pause).message["content"]) == 1


def item(kind="function_call", **given):
    done = {"type": kind, "call_id": "1", "name": "a", "arguments": '{"x": 1}'} | given
    return {"type": "response.output_item.done", "item": done}


def test_a_response_is_whole_again_and_no_call_is_given_twice():
    second = item(call_id="2", name="b", arguments="{}")
    stream = models.Stream("openai")
    assert stream.feed({"type": "response.created", "response": {}}) == []
    assert stream.feed(item()) == WHOLE[:1]
    assert stream.feed(item()) == []
    output = [{"type": "reasoning", "id": "r"}, item()["item"], second["item"]]
    assert stream.feed({"type": "response.completed", "response": {"output": output}}) == WHOLE[1:]
    request = stream.end()
    assert (request.calls, request.message, request.remaining) == (WHOLE, output, [])


def test_reasoning_without_what_it_led_to_is_not_given_back():
    reasoning = {"type": "response.output_item.done", "item": {"type": "reasoning", "id": "r"}}
    assert collected("openai", reasoning, item(), reasoning).message == [reasoning["item"], item()["item"]]


def test_parts_of_gemini_come_whole_and_keep_their_signatures():
    first = {"functionCall": {"name": "a", "args": {"x": 1}}, "thoughtSignature": "c2ln"}
    second = {"functionCall": {"name": "b", "args": {}}}
    events = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in (first, second)]
    stream = models.Stream()
    ready = [
        stream.feed(event) for event in [*events, {"usageMetadata": {}}, {"candidates": [{"finishReason": "STOP"}]}]
    ]
    assert [[call.name for call in calls] for calls in ready] == [["a"], ["b"], [], []]
    request = stream.end()
    assert request.message == {"role": "model", "parts": [first, second]}
    assert [call.id for call in request.calls] == [call.id for calls in ready for call in calls]


def test_empty_texts_of_gemini_are_not_given_back_but_their_signatures_are():
    call, signed = {"functionCall": {"name": "a", "args": {}}}, {"text": "", "thoughtSignature": "c2ln"}
    parts = [{"text": ""}, call, signed, {"text": "", "thought": True}, {"text": "", "thought": False}]
    events = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts]
    whole = {"candidates": [{"content": {"role": "model", "parts": parts}}]}
    for request in (collected("gemini", *events), models.read(whole)):
        assert request.messages == [{"role": "model", "parts": [call, signed]}]
        assert [each.name for each in request.calls] == ["a"]
    assert collected("gemini", events[0]).messages == models.read(events[0]).messages == []


def test_of_several_candidates_of_gemini_the_first_is_the_reply():
    parts = [[{"text": str(number)}, {"functionCall": {"name": f"a{number}", "args": {}}}] for number in (0, 1)]
    events = [{"candidates": [{"index": number, "content": {"parts": parts[number]}}]} for number in (1, 0, 1)]
    request = collected("gemini", *events)
    assert ([call.name for call in request.calls], request.message["parts"]) == (["a0"], parts[0])


def test_pieces_of_langchain_end_with_the_last_or_with_the_reason():
    start = {
        "type": "AIMessageChunk",
        "content": "",
        "tool_call_chunks": [{"name": "b", "args": "", "id": "2", "index": 0}],
    }
    assert collected("langchain", start).calls == []
    for end in ({"chunk_position": "last"}, {"response_metadata": {"stop_reason": "tool_use"}}):
        assert collected("langchain", start, {"content": ""} | end).calls == [ToolCall("2", "b", {})]
    for why in ("length", "max_tokens", "content_filter", "refusal"):
        cut = {"content": "", "response_metadata": {"finish_reason": why}}
        assert collected("langchain", start, cut).calls == []
        assert collected("langchain", start, cut, {"content": "", "chunk_position": "last"}).calls == []


def test_content_of_langchain_is_text_or_blocks():
    text, blocks = {"content": "One "}, {"content": [{"type": "text", "text": "moment"}]}
    assert collected("langchain", text, text).message["content"] == "One One "
    assert collected("langchain", text, blocks).message["content"] == ["One ", {"type": "text", "text": "moment"}]


def test_blocks_of_langchain_are_put_together_and_what_signs_them_is_kept():
    pieces = [
        [{"type": "thinking", "thinking": "s", "index": 0}],
        [{"type": "thinking", "thinking": "o", "index": 0}],
        [{"type": "thinking", "signature": "c2ln", "index": 0}],
        [{"type": "text", "text": "One ", "index": 1}],
        [{"type": "text", "text": "moment", "index": 1}],
        [{"type": "tool_use", "id": "1", "name": "a", "input": {}, "index": 2}],
        [{"type": "input_json_delta", "partial_json": '{"x": 1}', "index": 2}],
    ]
    use = {"tool_call_chunks": [{"name": "a", "args": '{"x": 1}', "id": "1", "index": 2}]}
    signed = {"additional_kwargs": {"signatures": {"1": "c2ln"}, "tool_calls": [{"id": "1"}]}}
    events = [{"type": "AIMessageChunk", "content": each} for each in pieces]
    end = {"content": [], "chunk_position": "last"}
    request = collected("langchain", *events[:-1], events[-1] | use, {"content": ""} | signed, end)
    assert request.message["content"] == [
        {"type": "thinking", "thinking": "so", "signature": "c2ln", "index": 0},
        {"type": "text", "text": "One moment", "index": 1},
        {"type": "tool_use", "id": "1", "name": "a", "input": {"x": 1}, "index": 2},
    ]
    assert request.message["additional_kwargs"] == {"signatures": {"1": "c2ln"}}
    cut = collected("langchain", *events)
    assert (cut.calls, [block["type"] for block in cut.message["content"]]) == ([], ["thinking", "text"])


def test_requests_of_mcp_are_whole():
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "a", "arguments": {"x": 1}}}
    stream = models.Stream()
    assert stream.feed(request) == [ToolCall("7", "a", {"x": 1})]
    assert stream.end().answer([])[0]["id"] == 7


def test_requests_of_mcp_with_one_id_are_told_apart_and_each_is_answered():
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "a"}}
    ended = collected("mcp", request, request)
    assert len({call.id for call in ended.calls}) == 2
    assert [answer["id"] for answer in ended.answer([])] == [7, 7]


@pytest.mark.parametrize("calls", [7, [7], [{}], [{"function": {"name": 7}}]])
def test_what_is_no_call_of_ollama_is_refused_when_it_comes_and_the_stream_still_has_an_end(calls):
    stream = models.Stream("ollama")
    stream.feed({"message": {"role": "assistant", "content": "One moment."}})
    with pytest.raises(ValueError, match=r"tool_calls|function\.arguments"):
        stream.feed({"message": {"role": "assistant", "content": "", "tool_calls": calls}})
    assert (stream.end().text, stream.end().calls) == ("One moment.", [])


def test_a_call_without_arguments_whose_name_is_none_is_refused_when_it_comes_and_the_stream_still_has_an_end():
    stream = models.Stream("anthropic")
    start, stop = block(0, type="tool_use", id="1", name={}, input={})
    stream.feed(start)
    with pytest.raises(ValueError, match=r"content_block\.name is a dict"):
        stream.feed(stop)
    assert stream.end().calls == []


def test_a_call_that_stands_twice_at_the_end_of_responses_is_one():
    twice = {"type": "response.completed", "response": {"output": [item()["item"]] * 2}}
    request = collected("openai", item(), twice)
    assert (request.calls, len(request.message)) == (WHOLE[:1], 1)


@pytest.mark.parametrize("at_the_end", [True, False])
def test_two_calls_of_responses_that_have_one_id_are_two(at_the_end):
    items = [item(id=f"fc_{n}", arguments=f'{{"x": {n}}}') for n in (1, 2)]
    output = [each["item"] for each in items] if at_the_end else []
    stream = models.Stream("openai")
    calls = [*stream.calls([*items, {"type": "response.completed", "response": {"output": output}}])]
    request = stream.end()
    assert [call.arguments for call in calls] == ['{"x": 1}', '{"x": 2}']
    assert request.calls == calls
    assert [each["call_id"] for each in request.message] == [call.id for call in calls]
    assert [answer["call_id"] for answer in request.answer([])] == [call.id for call in calls]
    assert len({call.id for call in calls}) == 2


def test_two_calls_of_responses_that_have_one_id_are_two_where_only_the_end_has_the_second():
    first, second = (item(id=f"fc_{n}", arguments=f'{{"x": {n}}}')["item"] for n in (1, 2))
    told = [{"type": "response.output_item.done", "item": first}]
    end = {"type": "response.completed", "response": {"output": [first, second]}}
    assert [call.arguments for call in models.Stream("openai").calls([*told, end])] == ['{"x": 1}', '{"x": 2}']


def test_calls_that_were_given_out_stay_when_the_end_of_responses_cannot_be_read():
    stream = models.Stream("openai")
    stream.feed(item())
    with pytest.raises(ValueError, match="name is a int"):
        stream.feed(
            {"type": "response.completed", "response": {"output": [item(call_id="2", name=7)["item"], item()["item"]]}}
        )
    assert stream.end().calls == WHOLE[:1]


@pytest.mark.parametrize("call_id", ["other", None])
def test_calls_that_were_given_out_stay_when_the_end_of_responses_does_not_have_them(call_id):
    call = {"type": "function_call", "call_id": "1", "name": "a", "arguments": '{"x": 1}'}
    stream = models.Stream("openai")
    assert stream.feed({"type": "response.output_item.done", "item": call}) == WHOLE[:1]
    at_the_end = {"output": [{**call, "call_id": call_id}]}
    assert stream.feed({"type": "response.completed", "response": at_the_end}) == []  # it would run twice
    assert [answer["call_id"] for answer in stream.end().answer([])] == ["1"]


@pytest.mark.parametrize(
    ("form", "event", "message"),
    [
        ("anthropic", {"type": "error", "error": {"message": "overloaded"}}, "overloaded"),
        (
            "anthropic",
            {"type": "content_block_delta", "index": 3, "delta": {}},
            "goes on with block 3, which is not open",
        ),
        ("anthropic", {"type": "content_block_stop"}, "has no index"),
        ("openai", {"type": "response.failed", "response": {"message": "overloaded"}}, "overloaded"),
        (
            "openai",
            {"type": "response.failed", "response": {"id": "r", "output": [], "error": {"message": "overloaded"}}},
            "not a reply: overloaded",
        ),
        ("openai", {"type": "error", "code": "server_error", "message": "overloaded"}, "not a reply: overloaded"),
        ("openai-chat", {"error": {"message": "overloaded"}}, "overloaded"),
        ("openai-chat", {"choices": [{"delta": 3}]}, "delta is a int, not an object"),
        ("ollama", {"error": "overloaded"}, "overloaded"),
        ("gemini", {"error": {"message": "overloaded"}}, "overloaded"),
        ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, "no candidates.*SAFETY"),
        (None, {}, "cannot be told"),
        (None, "data: [DONE]", "cannot be told"),
        ("openai-chat", "data: [DONE]", "the event is a str, not an object"),
    ],
)
def test_what_is_no_event_is_an_error_that_says_so(form, event, message):
    with pytest.raises(ValueError, match=message):
        models.Stream(form).feed(event)


def test_a_stream_has_a_form_and_one_end():
    with pytest.raises(ValueError, match="unknown form 'soap'"):
        models.Stream("soap")
    with pytest.raises(ValueError, match="nothing has come yet"):
        models.Stream().end()
    stream = models.Stream("ollama")
    assert stream.end().calls == []
    with pytest.raises(ValueError, match="the stream has ended"):
        stream.feed({"message": {}})


def test_names_lead_back_in_streams_too():
    stream = models.Stream("openai", {"a": "ns:a"})
    assert stream.feed(item()) == [ToolCall("1", "ns:a", '{"x": 1}')]
    assert stream.end().calls == [ToolCall("1", "ns:a", '{"x": 1}')]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['form']} {case['name']}")
def test_a_stream_that_breaks_off_has_a_call_as_a_whole_or_not_at_all(case):
    whole = [(call["name"], call["arguments"]) for call in case["calls"]]
    for length in range(len(case["events"]) + 1):
        stream = models.Stream(case["form"])
        given = [call for event in case["events"][:length] for call in stream.feed(event)]
        request = stream.end()
        assert {(call.name, str(call.arguments)) for call in request.calls} <= {(n, str(a)) for n, a in whole}
        assert [call for call in given if call not in request.calls] == []
        assert len(request.answer([])) == (len(request.calls) if case["form"] != "anthropic" else min(1, len(given)))


SAID = {
    "openai-chat": [chunk(role="assistant", content=""), chunk(content="Hel", reasoning_content="so"),
                    chunk(refusal="lo"), chunk(piece(0, "1", "a", '{"x": 1}')), chunk(piece(1, "2", "b", "{}")),
                    chunk(finish="tool_calls")],
    "openai": [{"type": "response.reasoning_summary_text.delta", "delta": "so"},
               {"type": "response.output_text.delta", "delta": "Hel"},
               {"type": "response.refusal.delta", "delta": "lo"},
               {"type": "response.output_item.done", "item": {"type": "message", "content": [
                   {"type": "output_text", "text": "Hel"}, {"type": "refusal", "refusal": "lo"}]}},
               *({"type": "response.output_item.done", "item": {"type": "function_call", "call_id": each.id,
                  "name": each.name, "arguments": each.arguments}} for each in WHOLE)],
    "anthropic": [*block(0, {"type": "thinking_delta", "thinking": "so"}, type="thinking", thinking=""),
                  *block(1, {"type": "text_delta", "text": "lo"}, type="text", text="Hel"),
                  *block(2, said('{"x": 1}'), type="tool_use", id="1", name="a", input={}),
                  *block(3, said("{}"), type="tool_use", id="2", name="b", input={})],
    "gemini": [{"candidates": [{"content": {"role": "model", "parts": parts}}]} for parts in (
                   [{"text": "so", "thought": True}], [{"text": "Hel"}], [{"text": "lo"}, {"functionCall": {
                    "id": "1", "name": "a", "args": {"x": 1}}}], [{"functionCall": {"id": "2", "name": "b"}}])],
    "ollama": [{"message": {"role": "assistant", "content": "Hel", "thinking": "so"}},
               {"message": {"role": "assistant", "content": "lo"}},
               {"message": {"role": "assistant", "content": "", "tool_calls": [
                   {"id": "1", "function": {"name": "a", "arguments": {"x": 1}}},
                   {"id": "2", "function": {"name": "b", "arguments": {}}}]}}],
    "langchain": [{"type": "AIMessageChunk", "content": "Hel"},
                  {"type": "AIMessageChunk", "content": [{"type": "text", "text": "lo"}]},
                  {"type": "AIMessageChunk", "content": "", "chunk_position": "last", "tool_call_chunks": [
                      {"index": 0, "id": "1", "name": "a", "args": '{"x": 1}'},
                      {"index": 1, "id": "2", "name": "b", "args": "{}"}]}],
    "mcp": [{"jsonrpc": "2.0", "id": each.id, "method": "tools/call", "params": {"name": each.name}} for each in WHOLE],
}  # fmt: skip


@pytest.mark.parametrize("form", models.FORMS)
def test_a_stream_says_what_is_said_aloud_and_gives_each_call_once(form):
    heard = []
    stream = models.Stream(form, on_text=heard.append)
    given = list(stream.calls(SAID[form]))
    assert [(call.id, call.name) for call in given] == [("1", "a"), ("2", "b")]
    assert heard == ([] if form == "mcp" else ["Hel", "lo"])
    request = stream.end()
    assert request.calls == given
    assert request.text == "".join(heard)
    assert len(request.answer([])) == (1 if form in ("anthropic", "gemini") else 2)


def test_an_awaited_stream_gives_its_calls():
    async def events():
        for event in SAID["openai-chat"]:
            yield event

    async def collect():
        return [call async for call in models.Stream("openai-chat").acalls(events())]

    assert asyncio.run(collect()) == WHOLE


def test_of_a_stream_that_fails_what_was_given_is_in_the_reply():
    def events():
        yield from block(0, said('{"x": 1}'), type="tool_use", id="1", name="a", input={})
        yield {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    stream, given = models.Stream("anthropic"), []
    with pytest.raises(ValueError, match="Overloaded"):
        given.extend(stream.calls(events()))
    assert stream.end().calls == [ToolCall("1", "a", {"x": 1})]


def test_a_character_that_was_cut_in_two_is_said_whole():
    said = []
    stream = models.Stream("openai-chat", on_text=said.append)
    for piece in ("a\ud83d", "\ude00b", "\ude00", "\ud83d", "c"):
        stream.feed({"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]})
    assert said == ["a", "\U0001f600b", "?", "?c"]
    assert stream.end().message["content"] == "a\U0001f600b??c"

"""
Run where the vendors' SDKs are: whether they take what `executor.models` makes, and objects are read as dicts are.

Prints ``{form: [finding, …]}`` as JSON; no finding is good.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import anthropic.types as anthropic
import mcp.types as mcp
import ollama
import openai.types.chat as chat
import openai.types.responses as responses
from google.genai import types as genai
from langchain_core.messages import AIMessage, AIMessageChunk, convert_to_messages
from langchain_core.utils.function_calling import convert_to_openai_tool
from ollama._client import _copy_messages
from pydantic import TypeAdapter

from executor import models
from executor.values import Audio, Image, Resource, ToolDefinition

CASES = json.loads((Path(__file__).parent.parent / "cases.json").read_text("utf-8"))
PIXEL = Image(b"not looked at", "image/png")
MEDIA = [PIXEL, Audio(b"sound", "audio/wav"), Resource("file:///x/report.pdf", "application/pdf", blob=b"%PDF")]


def same(kind):
    """Whether a type of the SDK takes a dict as it is: nothing in it is unknown to the type."""
    adapter = TypeAdapter(kind)

    def check(given):
        adapter.validate_python(given)
        taken = json.loads(adapter.dump_json(adapter.validate_python(given), by_alias=True, warnings=False))
        missing = [key for key in given if key not in taken]
        assert not missing, f"unknown: {missing} in {given}"

    return check


def by_alias(model):
    def check(given):
        taken = model.model_validate(given).model_dump(mode="json", by_alias=True, exclude_none=True)
        missing = [key for key in given if key not in taken]
        assert not missing, f"unknown: {missing} in {given}"

    return check


def langchain(given):
    (message,) = convert_to_messages([given])
    assert not message.additional_kwargs, message.additional_kwargs


def ollama_message(given):
    assert set(given) <= set(ollama.Message.model_fields), given
    assert len(list(_copy_messages([given]))) == 1  # as the client prepares it


def mcp_answer(given):
    if "method" in given:
        mcp.JSONRPCNotification.model_validate(given)
        mcp.LoggingMessageNotification.model_validate({"method": given["method"], "params": given["params"]})
    else:
        mcp.JSONRPCResponse.model_validate(given)
        mcp.CallToolResult.model_validate(given["result"])


MESSAGES = {
    "openai-chat": same(chat.ChatCompletionMessageParam),
    "openai": same(responses.ResponseInputItemParam),
    "anthropic": same(anthropic.MessageParam),
    "gemini": by_alias(genai.Content),
    "ollama": ollama_message,
    "langchain": langchain,
    "mcp": mcp_answer,
}
TOOLS = {
    "openai-chat": same(chat.ChatCompletionToolParam),
    "openai": same(responses.FunctionToolParam),
    "anthropic": same(anthropic.ToolParam),
    "gemini": by_alias(genai.FunctionDeclaration),
    "ollama": by_alias(ollama.Tool),
    "langchain": convert_to_openai_tool,
    "mcp": by_alias(mcp.Tool),
}
RESPONSES = {
    "openai-chat": chat.ChatCompletion.model_validate,
    "openai": responses.Response.model_validate,
    "anthropic": anthropic.Message.model_validate,
    "gemini": genai.GenerateContentResponse.model_validate,
    "ollama": ollama.ChatResponse.model_validate,
    "langchain": lambda given: AIMessage(**{key: value for key, value in given.items() if key != "type"}),
    "mcp": mcp.JSONRPCRequest.model_validate,
}
EVENTS = {
    "openai-chat": chat.ChatCompletionChunk.model_validate,
    "openai": TypeAdapter(responses.ResponseStreamEvent).validate_python,
    "anthropic": TypeAdapter(anthropic.RawMessageStreamEvent).validate_python,
    "gemini": genai.GenerateContentResponse.model_validate,
    "ollama": ollama.ChatResponse.model_validate,
    "langchain": lambda given: AIMessageChunk(**{key: value for key, value in given.items() if key != "type"}),
    "mcp": mcp.JSONRPCRequest.model_validate,
}
SCHEMAS = [
    None,
    {"type": "object", "properties": {"path": {"type": "string"}, "lines": {"type": "integer", "minimum": 1}}},
    {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {"type": "array"}, "$b": True}},
    {"$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}}, "properties": {"n": {"$ref": "#/$defs/n"}}},
]


def plain(calls):
    return [(call.name, call.arguments if isinstance(call.arguments, str) else dict(call.arguments)) for call in calls]


def result(**given):
    return SimpleNamespace(**{"content": "words", "is_error": False, "blocks": [], "structured": None} | given)


def check_turn(form, turn):
    """That dict and object are read alike, and that the messages are taken."""
    written, found = RESPONSES[form](turn["response"]), []
    reads = [models.read(turn["response"], form), models.read(written, form), models.read(written)]
    for request in reads:
        assert plain(request.calls) == plain(reads[0].calls), "an object is read otherwise than a dict"
        assert request.form == form
        given = [call.id for call in request.calls if not call.id.startswith("call_") or len(call.id) < 20]
        assert given == [call.id for call in reads[0].calls if call.id in given], "ids"
        for results in ([], [result(call_id=call.id, blocks=MEDIA) for call in request.calls]):
            found += request.answer(results)
        found += [result for error in (True, False) for result in answer_all(request, error)]
    for message in found:
        MESSAGES[form](message)
    for request in reads[:2] if form != "mcp" else ():
        for message in request.messages:
            if isinstance(message, dict):
                MESSAGES[form](message)


def answer_all(request, error):
    return request.answer(
        [result(call_id=call.id, content="", is_error=error, structured={"a": 1}) for call in request.calls]
    )


def check_stream(form, stream):
    requests = []
    for make in (dict, EVENTS[form]):
        collected = models.Stream(form)
        ready = [plain(collected.feed(make(event))) for event in stream["events"]]
        requests.append((ready, collected.end()))
    (ready, request), (ready_of_objects, of_objects) = requests
    assert ready == ready_of_objects
    assert plain(request.calls) == plain(of_objects.calls)
    for message in [*request.messages, *of_objects.messages]:
        MESSAGES[form](message)


def check_told(form, _):
    for message in models.notice([result(call_id="1", task_id="shell_1", blocks=MEDIA)], form):
        MESSAGES[form](message)
    definitions = [ToolDefinition(f"ns:tool.{place}", "words", schema) for place, schema in enumerate(SCHEMAS)]
    told, names = models.tools(definitions, form)
    assert not names.left_out
    for tool in told:
        TOOLS[form](tool)


def main():
    warnings.simplefilter("error")
    found = {form: [] for form in models.FORMS}
    cases = [(check_turn, turn) for turn in CASES["turns"]] + [(check_stream, each) for each in CASES["streams"]]
    cases += [(check_told, {"form": form, "name": "tools and notices"}) for form in models.FORMS]
    for check, case in cases:
        try:
            check(case["form"], case)
        except Exception as error:
            found[case["form"]].append(f"{case['name']}: {type(error).__name__}: {str(error)[:1500]}")
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()

"""OpenAI's Responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from executor.models._forms import Reply, WireCall, WireTool
from executor.models._names import wire_name
from executor.models._objects import (
    arguments_of,
    as_json,
    differs,
    fields,
    id_of,
    is_blank,
    refuse_error,
    said_in,
    sequence,
    text,
    without,
)
from executor.models._results import IMAGES, PDF

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from executor.models._results import Answer, Media

_CARRIED = IMAGES | PDF
_SAID = ("response.output_text.delta", "response.refusal.delta")
_ENDS = ("response.completed", "response.incomplete")
_TELLING = ("response.output_item.added", "response.output_item.done", *_ENDS)  # what an item before them has come to
_DUMP = {"exclude_unset": True}  # the fields that were sent
_PARSED = frozenset({"parsed", "parsed_arguments"})  # the SDK's own reading, which the API does not take back
_CUT = ("incomplete", "in_progress")


class OpenAI:
    """See `Form`. A reply is several items, so its `message` is a list."""

    name = "openai"
    dump = _DUMP

    def define(self, tool: WireTool) -> dict[str, Any]:
        # Left out, strict would be true, and most schemas refused or changed.
        return {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
            "strict": False,
        }

    def read(self, response: object) -> Reply:
        if isinstance(response, list | tuple):
            return _reply(response)
        found = fields(response, "the response", **_DUMP)
        refuse_error(found)
        if "output" not in found:
            raise ValueError("the response has no output")
        return _reply(_output_of(found, found.get("status")))

    def answer(self, answers: Sequence[tuple[WireCall, Answer]]) -> list[dict[str, Any]]:
        return [_output(call, answer) for call, answer in answers]

    def notice(self, text: str, media: Sequence[Media]) -> list[dict[str, Any]]:
        carried = [each for each in media if each.mime_type in _CARRIED]
        return [{"role": "user", "content": [{"type": "input_text", "text": text}, *map(_part, carried)]}]

    def text(self, message: Any) -> str:
        return "".join(said_in(item.get("content")) for item in message if item.get("type") == "message")

    def collector(self, say: Callable[[str], object]) -> OpenAICollector:
        return OpenAICollector(say)


def _reply(output: Sequence[object]) -> Reply:
    calls: list[WireCall] = []
    items: list[Any] = []
    used: set[str] = set()
    for given in output:
        item = _as_taken_back(fields(given, "output[]", **_DUMP))
        if not _has_come(item):
            continue
        items.append(item)
        call = _call_in(item, used)
        if call is not None:
            calls.append(call)
            items[-1] = _mended(item, call)
    _without_loose_ends(items)
    return Reply(items, items, calls)


def _without_loose_ends(items: list[Any]) -> None:
    """Leave the reasoning out that came to nothing: the API refuses it without the item that it led to."""
    while items and items[-1].get("type") == "reasoning":
        items.pop()


def _output_of(response: Mapping[str, Any], status: object) -> list[Any]:
    """The items of a response, without the call at its end if the response was cut, perhaps within the call's text."""
    output = sequence(response.get("output"), "output")
    return output[:-1] if output and status in _CUT and _may_be_cut(output[-1]) else output


def _may_be_cut(given: object) -> bool:
    """Whether this is a call with a text that does not say that it is whole. Of a text nobody sees where it was cut."""
    item = fields(given, "output[]", **_DUMP)
    return item.get("type") == "custom_tool_call" and item.get("status") != "completed"


def _has_come(item: Mapping[str, Any]) -> bool:
    """Whether this is no call that was cut within a text, or before its arguments: those of a call without are none."""
    if item.get("status") not in _CUT:
        return True
    return item.get("type") != "custom_tool_call" and not (
        item.get("type") == "function_call" and is_blank(item.get("arguments"))
    )


def _as_taken_back(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The item itself, or without what the SDK has parsed: the API does not take that back."""
    item, content = without(item, _PARSED), item.get("content")
    if isinstance(content, list) and any(isinstance(part, Mapping) and "parsed" in part for part in content):
        parts = [without(part, _PARSED) if isinstance(part, Mapping) else part for part in content]
        return {**item, "content": parts}
    return item


def _mended(item: Mapping[str, Any], call: WireCall) -> Mapping[str, Any]:
    """The item with what the API insists on in what it is given back; see that of chat completions."""
    right: dict[str, Any] = {"call_id": call.echo, "name": wire_name(call.name, OpenAI.name)}
    if not call.custom and not isinstance(item.get("arguments"), str):
        right["arguments"] = as_json(call.arguments)
    return {**item, **right} if differs(item, right) else item


def _call_in(item: Mapping[str, Any], used: set[str]) -> WireCall | None:
    """The call in an item; None: it is something else."""
    kind = item.get("type")
    if kind not in ("function_call", "custom_tool_call"):
        return None
    found = id_of(item.get("call_id"), used)
    name = text(item.get("name"), "output[].name")
    if kind == "custom_tool_call":
        return WireCall(found, name, {"input": text(item.get("input"), "output[].input")}, found, custom=True)
    return WireCall(found, name, arguments_of(item.get("arguments")), found)


def _output(call: WireCall, answer: Answer) -> dict[str, Any]:
    media = answer.carried(_CARRIED)
    output: Any = answer.said(media)
    if media:
        words = [{"type": "input_text", "text": output}] if output.strip() else []
        output = [*words, *map(_part, media)]
    kind = "custom_tool_call_output" if call.custom else "function_call_output"
    return {"type": kind, "call_id": call.echo, "output": output}


def _part(media: Media) -> dict[str, Any]:
    if media.kind == "image":
        return {"type": "input_image", "detail": "auto", "image_url": media.url}
    return {"type": "input_file", "filename": media.name, "file_data": media.url}


class OpenAICollector:
    """See `Collector`. An item that is done is whole."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._items: list[tuple[Mapping[str, Any], WireCall | None]] = []
        self._used: set[str] = set()
        self._last: list[object] = []  # a call that may be cut: what comes next tells whether it was

    def feed(self, event: Mapping[str, Any]) -> list[WireCall]:
        kind = event.get("type")
        if kind not in _TELLING:
            return self._take_event(event)
        last, self._last = self._last, []
        whole = self._take(last, self._items) if kind != "response.incomplete" else []
        if kind == "response.output_item.done" and _may_be_cut(event.get("item")):
            self._last = [event.get("item")]
            return whole
        return whole + self._take_event(event)

    def _take_event(self, event: Mapping[str, Any]) -> list[WireCall]:
        kind = event.get("type")
        if kind == "response.output_item.done":
            return self._take([event.get("item")], self._items)
        if kind in _SAID:
            if piece := text(event.get("delta"), "delta"):
                self._say(piece)
        elif kind in _ENDS:
            response = fields(event.get("response") or {}, "response", **_DUMP)
            output = _output_of(response, "incomplete" if kind == "response.incomplete" else response.get("status"))
            if output and self._is_in(output):  # some servers leave it out here, or write other ids than before
                before, self._items = self._items, []
                try:
                    return self._take(output, before)
                except ValueError:
                    self._items = before
                    raise
        if kind in ("error", "response.failed"):
            told = fields(event.get("response") or event, "response", **_DUMP)
            refuse_error({"error": told.get("error") or told})
        return []

    def _is_in(self, output: Sequence[object]) -> bool:
        """Whether the calls that were given out are in what came at the end: they run, and have to be answered."""
        told = [fields(item, "output[]", **_DUMP).get("call_id") for item in output]
        return all(call is None or call.echo in told for _, call in self._items)

    def _take(self, output: Sequence[object], before: Sequence[tuple[object, WireCall | None]]) -> list[WireCall]:
        """Take items; their calls are known if they came *before*. Returns the others."""
        known = {call.echo: call for _, call in before if call is not None}
        new = []
        for given in output:
            item = _as_taken_back(fields(given, "output[]", **_DUMP))
            if not _has_come(item):
                continue
            call_id = item.get("call_id")
            call = known.get(call_id) if isinstance(call_id, str) else None
            taken = next((each for each, one in self._items if call is not None and one is call), None)
            if taken is not None:
                if taken.get("id") == item.get("id"):
                    continue  # the same item once more
                call = None  # another one, to which the model has given the same id
            if call is None:
                call = _call_in(item, self._used)
                new += [call] if call is not None else []
            self._items.append((item if call is None else _mended(item, call), call))
        return new

    def end(self) -> Reply:
        items: list[Any] = [item for item, _ in self._items]
        _without_loose_ends(items)
        return Reply(items, items, [call for _, call in self._items if call is not None])


FORM = OpenAI()

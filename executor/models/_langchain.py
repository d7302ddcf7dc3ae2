"""LangChain's messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from executor.models._anthropic import CUT as CUT_BY_ANTHROPIC
from executor.models._forms import Reply, WireCall, WireTool
from executor.models._names import wire_name
from executor.models._objects import arguments_of, as_object, differs, fields, id_of, said_in, sequence, text, without
from executor.models._openai_chat import CUT, ChatCollector
from executor.models._pieces import joined
from executor.models._results import NO_OUTPUT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from executor.models._results import Answer, Media


_CALLS = ("tool_use", "tool_call", "tool_call_chunk", "function_call", "input_json_delta")
_FINISHES = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_ONCE = frozenset({"type", "index", "id"})  # every piece of a block may say these, and each says the same


class LangChain:
    """See `Form`."""

    name = "langchain"
    dump: Mapping[str, bool] = {}

    def define(self, tool: WireTool) -> dict[str, Any]:
        return tool.as_function()

    def read(self, response: object) -> Reply:
        message = fields(response, "the message")
        if not {"content", "tool_calls", "invalid_tool_calls"} & message.keys():
            raise ValueError("this is no message: it has neither content nor tool_calls")
        if message.get("tool_call_chunks"):  # LangChain's own reading of them closes what is open, wherever it was cut
            collector = ChatCollector(_say_nothing)
            collector.feed(_as_chat(message))
            return _with_only(response, message, collector.end().calls)
        given = {
            key: [fields(call, f"{key}[]") for call in sequence(message.get(key), key)]
            for key in ("tool_calls", "invalid_tool_calls")
        }
        used: set[str] = set()
        calls = [_call_in(call, used) for key in given for call in given[key]]
        if calls and not given["invalid_tool_calls"] and _finish(message.get("response_metadata")) == "length":
            return _with_only(response, message, calls[:-1])  # where an object was cut cannot be seen
        if isinstance(response, Mapping):
            message = _with_all(message, calls)
        else:  # it holds more than its fields: it is kept
            mended = _with_ids(given, calls)
            message = response.model_copy(update=mended) if mended else response  # type: ignore[attr-defined, assignment]  # see fields
        return Reply(message, [message], calls)

    def answer(self, answers: Sequence[tuple[WireCall, Answer]]) -> list[dict[str, Any]]:
        return [_message(call, answer) for call, answer in answers]

    def notice(self, text: str, media: Sequence[Media]) -> list[dict[str, Any]]:
        content: Any = [{"type": "text", "text": text}, *map(_block, media)] if media else text
        return [{"type": "human", "content": content}]

    def text(self, message: Any) -> str:
        return said_in(fields(message, "the message").get("content"))

    def collector(self, say: Callable[[str], object]) -> LangChainCollector:
        return LangChainCollector(say)


def _call_in(call: Mapping[str, Any], used: set[str]) -> WireCall:
    found = id_of(call.get("id"), used)
    return WireCall(found, text(call.get("name"), "tool_calls[].name"), arguments_of(call.get("args")), found)


def _with_only(response: object, message: Mapping[str, Any], calls: list[WireCall]) -> Reply:
    """The reply without any other calls, as what it is: an object holds more than its fields."""
    content = _without_cut_calls(message.get("content"), calls)
    more = _without_calls(fields(message.get("additional_kwargs") or {}, "additional_kwargs"))
    whole: Any = _with_all({**message, "content": content, "additional_kwargs": more}, calls)
    if not isinstance(response, Mapping):
        mended = {key: whole[key] for key in ("content", "additional_kwargs", "tool_calls")}
        emptied: dict[str, Any] = {key: [] for key in ("invalid_tool_calls", "tool_call_chunks") if key in message}
        whole = response.model_copy(update=mended | emptied)  # type: ignore[attr-defined]  # see fields
    return Reply(whole, [whole], calls)


def _without_calls(more: Mapping[str, Any]) -> Mapping[str, Any]:
    """What models have beside their messages, without the calls once more."""
    return without(more, ("tool_calls", "function_call"))


def _with_all(message: Mapping[str, Any], calls: Sequence[WireCall]) -> dict[str, Any]:
    """
    A message as LangChain takes dicts: the calls that could not be read are lost unless they stand beside the others.
    """
    rest = {key: value for key, value in message.items() if key not in ("invalid_tool_calls", "tool_call_chunks")}
    written = [{**_known_by(call), "args": as_object(call.arguments), "type": "tool_call"} for call in calls]
    return {**rest, "type": "ai", "tool_calls": written}


def _known_by(call: WireCall) -> dict[str, Any]:
    """The id and the name of a call; the model behind LangChain may refuse one that could be no tool's."""
    return {"name": wire_name(call.name, LangChain.name), "id": call.echo}


def _with_ids(given: Mapping[str, list[Mapping[str, Any]]], calls: Sequence[WireCall]) -> dict[str, Any]:
    """The lists of calls, each with the id and the name that it has to have; empty when all have them."""
    written = [call for key in given for call in given[key]]
    if not any(differs(each, _known_by(call)) for call, each in zip(calls, written, strict=True)):
        return {}
    right = iter(calls)
    return {key: [{**call, **_known_by(next(right))} for call in given[key]] for key in given if given[key]}


def _message(call: WireCall, answer: Answer) -> dict[str, Any]:
    words = answer.words(answer.media)
    content: Any = words if words.strip() else NO_OUTPUT
    if answer.media:
        content = [*([{"type": "text", "text": words}] if words else []), *map(_block, answer.media)]
    return {
        "type": "tool",
        "tool_call_id": call.echo,
        "name": call.name,
        "content": content,
        "status": "error" if answer.is_error else "success",
    }


def _block(media: Media) -> dict[str, Any]:
    return {"type": media.kind, "base64": media.data, "mime_type": media.mime_type}


class LangChainCollector:
    """See `Collector`. The pieces of calls are those of chat completions, under other names."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._calls = ChatCollector(say)  # it is given the calls only
        self._content: Any = ""
        self._texts: list[str] = []  # that come after it, as long as it is a text
        self._more: dict[str, Any] = {}  # some models sign their calls there, and refuse them back unsigned

    def feed(self, event: Mapping[str, Any]) -> list[WireCall]:
        content = event.get("content") or ""
        if isinstance(content, str) and isinstance(self._content, str):
            self._texts.append(content)
        else:
            self._content = _put_together(*_alike(self._whole(), content))
        self._more = _put_together(self._more, fields(event.get("additional_kwargs") or {}, "additional_kwargs"))
        if said := said_in(content):
            self._say(said)
        return self._calls.feed(_as_chat(event))

    def _whole(self) -> Any:
        """The content, with the texts that have come for it."""
        if self._texts:
            self._content += "".join(self._texts)
            self._texts.clear()
        return self._content

    def end(self) -> Reply:
        calls = self._calls.end().calls
        message = _with_all({"content": _without_cut_calls(self._whole(), calls), **self._kept()}, calls)
        return Reply(message, [message], calls)

    def _kept(self) -> dict[str, Any]:
        kept = _without_calls(self._more)
        return {"additional_kwargs": dict(kept)} if kept else {}


def _as_chat(event: Mapping[str, Any]) -> dict[str, Any]:
    """The pieces of calls as chat completions have them."""
    chunks = [fields(chunk, "tool_call_chunks[]") for chunk in sequence(event.get("tool_call_chunks"), "chunks")]
    pieces = [
        {
            "index": chunk.get("index"),
            "id": chunk.get("id"),
            "function": {"name": chunk.get("name"), "arguments": chunk.get("args")},
        }
        for chunk in chunks
    ]
    finish = _finish(event.get("response_metadata")) or ("stop" if event.get("chunk_position") == "last" else None)
    return {"choices": [{"delta": {"tool_calls": pieces}, "finish_reason": finish}]}


def _without_cut_calls(content: Any, calls: Sequence[WireCall]) -> Any:
    """The content, in which some models have their calls once more: with those that are whole, as a whole."""
    if not isinstance(content, list):
        return content
    whole = {call.echo: call for call in calls}
    kept: list[Any] = []
    for block in content:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind not in _CALLS:
            kept.append(block)
            continue
        given = block.get("call_id") or block.get("id")
        call = whole.get(given) if isinstance(given, str) else None
        if call is not None and kind == "tool_use":
            block = {**without(block, ("partial_json",)), "input": as_object(call.arguments)}  # noqa: PLW2901 -- the same block, whole
        kept += [block] if call is not None else []
    return kept


def _alike(before: Any, value: Any) -> tuple[Any, Any]:
    """A text and a list as two lists."""
    if isinstance(before, str) and isinstance(value, list):
        return [before] if before else [], value
    if isinstance(before, list) and isinstance(value, str):
        return before, [value] if value else []
    return before, value


def _put_together(before: Any, value: Any) -> Any:
    """What stands in a message for what came in pieces: blocks with one index are pieces of one."""
    if before is None or value is None:
        return value if before is None else before
    if isinstance(before, Mapping) and isinstance(value, Mapping):
        pieces = {key: _put_together(before.get(key), each) for key, each in value.items() if key not in _ONCE}
        return {**value, **before, **pieces}
    if not (isinstance(before, list) and isinstance(value, list)):
        return joined([before, value])
    result = list(before)
    for block in value:
        place = _place_of(block, result)
        if place is None:
            result.append(block)
        else:
            result[place] = _put_together(result[place], block)
    return result


def _place_of(block: Any, among: Sequence[Any]) -> int | None:
    """Where the block is that this one goes on with; None: it is a new one."""
    index = block.get("index") if isinstance(block, Mapping) else None
    if index is None:
        return None
    found = (place for place, each in enumerate(among) if isinstance(each, Mapping) and each.get("index") == index)
    return next(found, None)


def _finish(metadata: object) -> str | None:
    """Why the model has stopped, as it is called by whoever is behind LangChain; None: it has not."""
    told = metadata if isinstance(metadata, Mapping) else {}
    found = next((told[key] for key in _FINISHES if told.get(key)), None)
    return None if found is None else "length" if str(found).lower() in (*CUT, *CUT_BY_ANTHROPIC) else "stop"


def _say_nothing(piece: str) -> None:
    """It was said before."""


FORM = LangChain()

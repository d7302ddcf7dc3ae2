"""Ollama's chat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor.models._forms import Reply, WireCall, WireTool
from executor.models._objects import arguments_of, fields, id_of, refuse_error, said_in, sequence, text
from executor.models._pieces import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from executor.models._results import Answer, Media

_IMAGES = frozenset({"image/png", "image/jpeg", "image/webp"})
_DUMP = {"exclude_none": True}  # the fields that were sent


class Ollama:
    """See `Form`."""

    name = "ollama"
    dump = _DUMP

    def define(self, tool: WireTool) -> dict[str, Any]:
        return tool.as_function()

    def read(self, response: object) -> Reply:
        found = fields(response, "the response", **_DUMP)
        if "message" not in found and "role" in found:
            return _reply(found)
        refuse_error(found)
        return _reply(fields(found.get("message"), "message", **_DUMP))

    def answer(self, answers: Sequence[tuple[WireCall, Answer]]) -> list[dict[str, Any]]:
        return [_message(call, answer) for call, answer in answers]

    def notice(self, text: str, media: Sequence[Media]) -> list[dict[str, Any]]:
        images = [each.data for each in media if each.mime_type in _IMAGES]
        return [{"role": "user", "content": text, **({"images": images} if images else {})}]

    def text(self, message: Any) -> str:
        return said_in(message.get("content"))

    def collector(self, say: Callable[[str], object]) -> OllamaCollector:
        return OllamaCollector(say)


def _reply(message: Mapping[str, Any]) -> Reply:
    used: set[str] = set()
    given = sequence(message.get("tool_calls"), "message.tool_calls")
    return Reply(message, [message], [_call_in(call, used) for call in given])


def _call_in(given: object, used: set[str]) -> WireCall:
    call = fields(given, "tool_calls[]", **_DUMP)
    function = fields(call.get("function"), "tool_calls[].function", **_DUMP)
    name = text(function.get("name"), "tool_calls[].function.name")
    echo = call.get("id") or None
    return WireCall(id_of(echo, used), name, arguments_of(function.get("arguments")), echo)


def _message(call: WireCall, answer: Answer) -> dict[str, Any]:
    images = answer.carried(_IMAGES)
    message: dict[str, Any] = {"role": "tool", "tool_name": call.name, "content": answer.said(images)}
    if call.echo is not None:  # newer servers have ids
        message["tool_call_id"] = call.echo
    if images:
        message["images"] = [each.data for each in images]
    return message


class OllamaCollector:
    """See `Collector`. Calls come whole, and are read with the message."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._message: dict[str, list[Any]] = {"content": [""]}

    def feed(self, event: Mapping[str, Any]) -> list[WireCall]:
        refuse_error(event)
        message = fields(event.get("message") or {}, "message", **_DUMP)
        _reply(message)  # what is no call spoils this event, not the end of the stream
        for key, value in message.items():
            if key != "role" and value is not None:
                self._message.setdefault(key, []).append(value)
                if key == "content" and (said := said_in(value)):
                    self._say(said)
        return []

    def end(self) -> Reply:
        return _reply({"role": "assistant", **{key: joined(values) for key, values in self._message.items()}})


FORM = Ollama()

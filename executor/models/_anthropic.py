"""Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from executor.models._forms import Reply, WireCall, WireTool
from executor.models._names import wire_name
from executor.models._objects import (
    arguments_of,
    as_object,
    differs,
    fields,
    id_of,
    is_blank,
    parsed,
    refuse_error,
    said_in,
    sequence,
    text,
)
from executor.models._results import IMAGES, NO_OUTPUT, PDF

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from executor.models._results import Answer, Media

_CARRIED = IMAGES | PDF
_LARGEST = 5 * 1024 * 1024  # characters of an image's base64; a request with a larger one is refused
# By the type of a delta: the key of the block it goes on with, and its own.
_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
}
_SERVERS = ("server_tool_use", "mcp_tool_use")  # refused without a result, unless the API has paused there
CUT = ("max_tokens", "model_context_window_exceeded", "refusal")  # why a reply stops in the middle
_THOUGHTS = ("thinking", "redacted_thinking")  # the API refuses a message that ends with one
_DUMP = {"exclude_unset": True}  # the fields that were sent


class Anthropic:
    """See `Form`."""

    name = "anthropic"
    dump = _DUMP

    def define(self, tool: WireTool) -> dict[str, Any]:
        return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}

    def read(self, response: object) -> Reply:
        message = fields(response, "the response", **_DUMP)
        if message.get("type") == "error":
            refuse_error(message)
        content = message.get("content")
        if isinstance(content, str):
            return _reply([({"type": "text", "text": content}, None)])
        if content is None:
            raise ValueError("the response has no content")
        blocks = [fields(block, "content[]", **_DUMP) for block in sequence(content, "content")]
        if blocks and message.get("stop_reason") in CUT and blocks[-1].get("type") == "tool_use":
            blocks.pop()  # where an object was cut cannot be seen: a part of its arguments is another call
        return _reply((block, None) for block in blocks)

    def answer(self, answers: Sequence[tuple[WireCall, Answer]]) -> list[dict[str, Any]]:
        if not answers:
            return []
        return [{"role": "user", "content": [_result(call, answer) for call, answer in answers]}]

    def notice(self, text: str, media: Sequence[Media]) -> list[dict[str, Any]]:
        carried = [each for each in media if each.mime_type in _CARRIED and _fits(each)]
        return [{"role": "user", "content": [{"type": "text", "text": text}, *map(_block, carried)]}]

    def text(self, message: Any) -> str:
        return said_in(message["content"])

    def collector(self, say: Callable[[str], object]) -> AnthropicCollector:
        return AnthropicCollector(say)


def _reply(blocks: Iterable[tuple[Mapping[str, Any], WireCall | None]]) -> Reply:
    """The reply in these blocks, each with the call in it if that is known already."""
    calls: list[WireCall] = []
    kept: list[Mapping[str, Any]] = []
    used: set[str] = set()
    for block, known in blocks:
        if block.get("type") == "text" and is_blank(block.get("text")):
            continue  # the API sends empty texts, and refuses to be sent them
        kept.append(block)
        if block.get("type") == "tool_use":
            calls.append(known or _call_in(block, used))
            kept[-1] = _mended(block, calls[-1])
    while kept and kept[-1].get("type") in _THOUGHTS:
        kept.pop()
    message = {"role": "assistant", "content": kept}
    return Reply(message, [message] if kept else [], calls)


def _mended(block: Mapping[str, Any], call: WireCall) -> Mapping[str, Any]:
    """The block with what the API insists on in what it is given back; see that of chat completions."""
    right: dict[str, Any] = {"id": call.echo, "name": wire_name(call.name, Anthropic.name)}
    if not isinstance(block.get("input"), Mapping):
        right["input"] = as_object(call.arguments)
    return {**block, **right} if differs(block, right) else block


def _call_in(block: Mapping[str, Any], used: set[str]) -> WireCall:
    found = id_of(block.get("id"), used)
    name = text(block.get("name"), "content[].name")
    return WireCall(found, name, arguments_of(block.get("input")), found)


def _result(call: WireCall, answer: Answer) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.echo}
    if answer.is_error:  # all of its content must be text, and there must be some
        return {**result, "content": answer.words(), "is_error": True}
    media = tuple(filter(_fits, answer.carried(_CARRIED)))
    words = answer.words(media)
    if not media:
        return {**result, "content": words if words.strip() else NO_OUTPUT}
    said = [{"type": "text", "text": words}] if words.strip() else []
    return {**result, "content": [*said, *map(_block, media)]}


def _fits(media: Media) -> bool:
    return media.kind != "image" or len(media.data) <= _LARGEST


def _block(media: Media) -> dict[str, Any]:
    source = {"type": "base64", "media_type": media.mime_type, "data": media.data}
    return {"type": "image" if media.kind == "image" else "document", "source": source}


class AnthropicCollector:
    """See `Collector`. A call is whole when its block stops."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._texts: dict[tuple[int, str], list[str]] = {}  # in pieces, by block and key
        self._stopped: set[int] = set()
        self._calls: dict[int, WireCall] = {}
        self._used: set[str] = set()
        # It has stopped, and nothing came of its arguments: what follows tells whether it was cut.
        self._last: int | None = None
        self._ended = False

    def feed(self, event: Mapping[str, Any]) -> list[WireCall]:
        kind = event.get("type")
        if kind == "message_delta":
            delta = fields(event.get("delta") or {}, "delta", **_DUMP)
            self._ended = self._ended or delta.get("stop_reason") is not None
            if delta.get("stop_reason") in CUT:
                self._last = None
        if kind in ("content_block_start", "message_delta", "message_stop"):
            whole = [] if self._last is None else [self._call_in(self._last)]
            self._last = None
            self._take(event)
            return whole
        return self._take(event)

    def _take(self, event: Mapping[str, Any]) -> list[WireCall]:
        kind = event.get("type")
        if kind == "content_block_start":
            block = fields(event.get("content_block"), "content_block", **_DUMP)
            if self._blocks.setdefault(_index(event), started := dict(block)) is not started:
                raise ValueError(f"the stream starts block {_index(event)} twice")
            self._said(said_in([block]))
        elif kind == "content_block_delta":
            self._extend(_index(event), fields(event.get("delta"), "delta", **_DUMP))
        elif kind == "content_block_stop":
            return self._stop(_index(event))
        elif kind == "error":
            refuse_error(event)
        return []

    def _extend(self, index: int, delta: Mapping[str, Any]) -> None:
        block, kind = self._block(index), delta.get("type")
        if kind == "input_json_delta":
            self._inputs.setdefault(index, []).append(text(delta.get("partial_json"), "delta.partial_json"))
        elif kind == "citations_delta":
            block["citations"] = [*sequence(block.get("citations"), "content_block.citations"), delta.get("citation")]
        elif isinstance(kind, str) and kind in _DELTAS:
            to, key = _DELTAS[kind]
            piece = text(delta.get(key), f"delta.{key}")
            if (index, to) not in self._texts:
                self._texts[index, to] = [text(block.get(to), f"content_block.{to}")]
            self._texts[index, to].append(piece)
            self._said(piece if to == "text" else "")

    def _said(self, piece: str) -> None:
        if piece:
            self._say(piece)

    def _stop(self, index: int) -> list[WireCall]:
        block = self._block(index)
        self._stopped.add(index)
        said = "".join(self._inputs.get(index, ()))
        arguments = arguments_of(said or block.get("input"))
        if isinstance(arguments, str):
            arguments = arguments if (found := parsed(arguments)) is None else found
        if "input" in block or said:
            block["input"] = as_object(arguments)
        if block.get("type") != "tool_use":
            return []
        text(block.get("name"), "content_block.name")
        if not (said or block.get("input")):
            self._last = index
            return []
        return [self._call_in(index, arguments)]

    def _call_in(self, index: int, arguments: Mapping[str, Any] | str | None = None) -> WireCall:
        block, arguments = self._blocks[index], {} if arguments is None else arguments
        found = id_of(block.get("id"), self._used)
        self._calls[index] = WireCall(found, text(block.get("name"), "content_block.name"), arguments, found)
        block["id"] = found
        return self._calls[index]

    def _block(self, index: int) -> dict[str, Any]:
        block = self._blocks.get(index)
        if block is None or index in self._stopped:
            raise ValueError(f"the stream goes on with block {index}, which is not open")
        return block

    def end(self) -> Reply:
        for (index, key), pieces in self._texts.items():
            self._blocks[index][key] = "".join(pieces)
        answered = [block.get("tool_use_id") for index, block in self._blocks.items() if index in self._stopped]
        return _reply(
            (block, self._calls.get(index))
            for index, block in sorted(self._blocks.items())
            if block.get("type") == "text" or (index in self._stopped and self._is_whole(index, answered))
        )

    def _is_whole(self, index: int, answered: Collection[Any]) -> bool:
        """Whether a stopped block may be given back: no call that was cut, of ours or of the API's own tools."""
        block = self._blocks[index]
        if block.get("type") == "tool_use":
            return index in self._calls
        return self._ended or block.get("type") not in _SERVERS or block.get("id") in answered


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    if not isinstance(index, int):
        raise ValueError(f"{event.get('type')} has no index")  # noqa: TRY004 -- as for everything that is no event
    return index


FORM = Anthropic()

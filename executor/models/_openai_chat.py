"""OpenAI's chat completions, and the many servers that speak like them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from executor.models._forms import Reply, WireCall, WireTool
from executor.models._names import wire_name
from executor.models._objects import (
    arguments_of,
    as_json,
    differs,
    fields,
    id_of,
    is_whole,
    refuse_error,
    said_in,
    sequence,
    text,
    without,
)
from executor.models._pieces import Pieces, joined
from executor.models._results import IMAGES, PDF

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from executor.models._results import Answer, Media

# What a user message takes; the messages of tools take text only.
_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_CARRIED = IMAGES | PDF | _SOUNDS.keys()
# Why a reply stops in the middle: at the limit of tokens, or where a filter has left out the rest.
CUT = ("length", "content_filter")
_DUMP = {"exclude_unset": True}  # the fields that were sent
_PARSED = frozenset({"parsed", "parsed_arguments"})  # the SDK's own reading, which the API does not take back


class OpenAIChat:
    """See `Form`."""

    name = "openai-chat"
    dump = _DUMP

    def define(self, tool: WireTool) -> dict[str, Any]:
        return tool.as_function()

    def read(self, response: object) -> Reply:
        return _reply(_message_in(fields(response, "the response", **_DUMP)))

    def answer(self, answers: Sequence[tuple[WireCall, Answer]]) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        shown: list[tuple[WireCall, tuple[Media, ...]]] = []
        for call, answer in answers:
            media = answer.carried(_CARRIED)
            said = answer.said(media)
            if media:
                shown.append((call, media))
                said = said or _follows(media)
            messages.append({"role": "tool", "tool_call_id": call.echo, "content": said})
        if shown:  # only now: nothing may stand between the calls and their answers
            messages.append({"role": "user", "content": list(_parts_of(shown))})
        return messages

    def notice(self, text: str, media: Sequence[Media]) -> list[dict[str, Any]]:
        carried = [each for each in media if each.mime_type in _CARRIED]
        content = [{"type": "text", "text": text}, *map(_part, carried)] if carried else text
        return [{"role": "user", "content": content}]

    def text(self, message: Any) -> str:
        return said_in(message.get("content")) + said_in(message.get("refusal"))

    def collector(self, say: Callable[[str], object]) -> ChatCollector:
        return ChatCollector(say)


def _message_in(response: Mapping[str, Any]) -> Mapping[str, Any]:
    if "choices" not in response and "role" in response:
        return response
    refuse_error(response)
    choices = sequence(response.get("choices"), "choices")
    if not choices:
        raise ValueError("the response has no choices, so there is no message in it")
    first = fields(choices[0], "choices[0]", **_DUMP)
    message = fields(first.get("message"), "choices[0].message", **_DUMP)
    return _without_cut_call(message) if first.get("finish_reason") in CUT else message


def _without_cut_call(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message that was cut, perhaps before the arguments of its last call, or within the text that it is given."""
    calls = sequence(message.get("tool_calls"), "tool_calls")
    if not calls:
        return message
    last = fields(calls[-1], "tool_calls[]", **_DUMP)
    said = fields(last.get("function") or {}, "function", **_DUMP).get("arguments", "{}")
    lost = last.get("type") == "custom" or (isinstance(said, str) and not said.strip())
    return {**message, "tool_calls": calls[:-1]} if lost else message


def _reply(message: Mapping[str, Any]) -> Reply:
    calls: list[WireCall] = []
    given: list[Mapping[str, Any]] = []
    used: set[str] = set()
    for item in sequence(message.get("tool_calls"), "tool_calls"):
        call = fields(item, "tool_calls[]", **_DUMP)
        calls.append(_call_in(call, used))
        given.append(call)
    mended = [_mended(written, call) for written, call in zip(given, calls, strict=True)]
    if any(now is not before for now, before in zip(mended, given, strict=True)):
        message, given = {**message, "tool_calls": mended}, mended
    message = _as_taken_back(message, given)
    # The API refuses a message in which nothing is said or asked for.
    empty = not any(value for key, value in message.items() if key != "role")
    return Reply(message, [] if empty else [message], calls)


def _mended(written: Mapping[str, Any], call: WireCall) -> Mapping[str, Any]:
    """
    The call with what the API insists on in what it is given back: an id of its own, by which its answer is told apart,
    a name that could be a tool's, arguments that are a text. Models make up names; servers write the rest otherwise.
    """
    kind = "custom" if call.custom else "function"
    told = fields(written.get(kind), f"tool_calls[].{kind}", **_DUMP)
    right = {"name": wire_name(call.name, OpenAIChat.name)}
    if not call.custom and not isinstance(told.get("arguments"), str):
        right["arguments"] = as_json(call.arguments)
    if differs(told, right):
        return {**written, "id": call.echo, kind: {**told, **right}}
    return written if written.get("id") == call.echo else {**written, "id": call.echo}


def _as_taken_back(message: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The message itself, if the API takes it back: a list of no calls it refuses, as it does what is not its own."""
    taken = without(message, _PARSED if calls else _PARSED | {"tool_calls"})
    functions = [call.get("function") for call in calls]
    if any(isinstance(told, Mapping) and not _PARSED.isdisjoint(told) for told in functions):
        written = [
            {**call, "function": without(told, _PARSED)} if isinstance(told, Mapping) else call
            for call, told in zip(calls, functions, strict=True)
        ]
        return {**taken, "tool_calls": written}
    return taken


def _call_in(call: Mapping[str, Any], used: set[str]) -> WireCall:
    custom = call.get("type") == "custom"
    kind = "custom" if custom else "function"
    told = fields(call.get(kind), f"tool_calls[].{kind}", **_DUMP)
    found = id_of(call.get("id"), used)
    name = text(told.get("name"), f"tool_calls[].{kind}.name")
    if custom:
        return WireCall(found, name, {"input": text(told.get("input"), "tool_calls[].custom.input")}, found, custom)
    return WireCall(found, name, arguments_of(told.get("arguments")), found)


def _follows(media: Sequence[Media]) -> str:
    if len(media) > 1:
        return f"({len(media)} attachments follow)"
    return {"image": "(an image follows)", "audio": "(a sound follows)"}.get(media[0].kind, "(a file follows)")


def _parts_of(shown: Sequence[tuple[WireCall, tuple[Media, ...]]]) -> Iterator[dict[str, Any]]:
    for call, media in shown:
        if len(shown) > 1:
            yield {"type": "text", "text": f"From {call.name} ({call.id}):"}
        yield from map(_part, media)


def _part(media: Media) -> dict[str, Any]:
    if media.kind == "image":
        return {"type": "image_url", "image_url": {"url": media.url}}
    if media.kind == "audio":
        return {"type": "input_audio", "input_audio": {"data": media.data, "format": _SOUNDS[media.mime_type]}}
    return {"type": "file", "file": {"filename": media.name, "file_data": media.url}}


@dataclass(slots=True, eq=False)
class _Piece:
    """A call as far as it has come."""

    id: str = ""
    name: str = ""
    custom: bool = False
    arguments: Pieces = field(default_factory=Pieces)
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.arguments.text

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are: nothing that comes later could belong to them."""
        return self.arguments.is_closed and is_whole(self.text)

    def says_again(self, said: str) -> bool:
        """Whether this is all that has come of its arguments, which are whole."""
        return len(said) == self.arguments.size and said == self.text and self.is_whole

    def is_followed_by(self, found_id: str, name: str, said: str, *, numbered: bool) -> bool:
        """Whether what comes next for it, by its number or for want of one, is another call."""
        if found_id and self.id and found_id != self.id:
            return True
        if not name or not self.name:
            return False
        if name != self.name:  # a name may come in pieces, but before the arguments
            return not numbered or bool(self.text.strip())
        if found_id and (not said.strip() or self.says_again(said)):
            return False
        return self.is_whole

    def as_call(self) -> dict[str, Any]:
        """It, as it stands in a message."""
        if self.custom:
            return {**self.more, "id": self.id, "type": "custom", "custom": {"name": self.name, "input": self.text}}
        function = {"name": self.name, "arguments": self.text}
        return {**self.more, "id": self.id, "type": "function", "function": function}


def _number(index: object) -> int | None:
    """The number of a call, which some servers write as a text or a fraction; None: it has none."""
    if isinstance(index, float) and index.is_integer():
        return int(index)
    if isinstance(index, str) and index.isdecimal():
        return int(index)
    return index if isinstance(index, int) else None


class ChatCollector:
    """See `Collector`. A call is whole at the end only: pieces of several come by turns."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._pieces: list[_Piece] = []
        self._by_index: dict[int, _Piece] = {}
        self._rest: dict[str, list[Any]] = {"content": []}
        self._finish: str | None = None

    def feed(self, event: Mapping[str, Any]) -> list[WireCall]:
        if "choices" not in event:
            if event.get("type") != "chunk":  # the SDK's helper has events of its own beside the chunks
                refuse_error(event)
                return []
            event = fields(event.get("chunk"), "chunk", **_DUMP)
        for item in sequence(event.get("choices"), "choices"):
            choice = fields(item, "choices[]", **_DUMP)
            if _number(choice.get("index")) in (None, 0):
                self._take(fields(choice.get("delta") or {}, "choices[].delta", **_DUMP))
                if self._finish not in CUT:  # no end that is told of after that makes it whole again
                    self._finish = choice.get("finish_reason") or self._finish
        return []

    def _take(self, delta: Mapping[str, Any]) -> None:
        for key, value in delta.items():
            if key == "tool_calls":
                for item in sequence(value, "tool_calls"):
                    self._take_piece(fields(item, "tool_calls[]", **_DUMP))
            elif value is not None and key != "role":  # servers have fields of their own that they want back
                self._rest.setdefault(key, []).append(value)
                if key in ("content", "refusal") and (said := said_in(value)):
                    self._say(said)

    def _take_piece(self, delta: Mapping[str, Any]) -> None:
        told = delta.get("function") or delta.get("custom") or {}
        told = fields(told, "tool_calls[].function", **_DUMP)
        name = text(told.get("name"), "tool_calls[].function.name")
        given = told.get("arguments", told.get("input"))
        said = as_json(given) if isinstance(given, Mapping) else text(given, "tool_calls[].arguments")
        piece = self._piece(delta, name, said)
        piece.custom = piece.custom or delta.get("type") == "custom"
        if name != piece.name:
            piece.name += name
        if not (name and said and piece.says_again(said)):  # some servers end with all of it once more
            piece.arguments.add(said)
        known = ("index", "id", "type", "function", "custom")
        piece.more.update({key: value for key, value in delta.items() if key not in known and value is not None})

    def _piece(self, delta: Mapping[str, Any], name: str, said: str) -> _Piece:
        """The call that a piece belongs to. Some servers leave the index out, and some always say 0."""
        index, given = _number(delta.get("index")), delta.get("id")
        found_id = given if isinstance(given, str) else ""
        if index is not None:
            piece = self._by_index.get(index)
        else:
            same = (piece for piece in reversed(self._pieces) if found_id and piece.id == found_id)
            piece = next(same, None if found_id or not self._pieces else self._pieces[-1])
        if piece is None or piece.is_followed_by(found_id, name, said, numbered=index is not None):
            piece = _Piece()
            self._pieces.append(piece)
        piece.id = piece.id or found_id
        if index is not None:
            self._by_index[index] = piece
        return piece

    def end(self) -> Reply:
        message = {"role": "assistant", **{key: joined(values) for key, values in self._rest.items()}}
        pieces = [piece for place, piece in enumerate(self._pieces, 1) if self._has_come(piece, place)]
        if pieces:
            message["tool_calls"] = [piece.as_call() for piece in pieces]
        return _reply(message)

    def _has_come(self, piece: _Piece, place: int) -> bool:
        """Whether it has come to its end: the stream has, or its arguments show it."""
        if self._finish is None:
            return not piece.custom and is_whole(piece.text)
        # Where a reply was cut, its last call may have lost its arguments: those of a call without any are none, and of
        # a text nobody sees where it was cut.
        cut = self._finish in CUT and place == len(self._pieces)
        return not cut or bool(piece.text.strip() and not piece.custom)


FORM = OpenAIChat()

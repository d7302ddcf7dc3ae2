"""Gemini's generateContent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor.models._forms import Reply, WireCall, WireTool
from executor.models._objects import arguments_of, fields, id_of, refuse_error, sequence, text
from executor.models._results import PDF

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from executor.models._results import Answer, Media

_IN_RESPONSES = frozenset({"image/png", "image/jpeg", "image/webp", "text/plain"}) | PDF
_SOUNDS = frozenset(f"audio/{kind}" for kind in ("wav", "mp3", "mpeg", "aiff", "aac", "ogg", "flac"))
_AFTER = _SOUNDS | {"image/gif", "image/heic", "image/heif"}  # a user's content takes more than an answer
_DUMP = {"exclude_none": True}  # the fields that were sent


class Gemini:
    """See `Form`. What SDKs write ``function_call`` the API writes ``functionCall``: both are read."""

    name = "gemini"
    dump = _DUMP

    def define(self, tool: WireTool) -> dict[str, Any]:
        return {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema}

    def read(self, response: object) -> Reply:
        return _reply(_content_in(fields(response, "the response", **_DUMP)))

    def answer(self, answers: Sequence[tuple[WireCall, Answer]]) -> list[dict[str, Any]]:
        if not answers:
            return []
        parts = [{"functionResponse": _response(call, answer)} for call, answer in answers]
        after = [_part(media) for _, answer in answers for media in answer.carried(_AFTER)]
        return [{"role": "user", "parts": [*parts, *after]}]

    def notice(self, text: str, media: Sequence[Media]) -> list[dict[str, Any]]:
        carried = [each for each in media if each.mime_type in _IN_RESPONSES | _AFTER]
        return [{"role": "user", "parts": [{"text": text}, *map(_part, carried)]}]

    def text(self, message: Any) -> str:
        return "".join(map(_said_in, sequence(message.get("parts"), "content.parts")))

    def collector(self, say: Callable[[str], object]) -> GeminiCollector:
        return GeminiCollector(say)


def _content_in(response: Mapping[str, Any]) -> Mapping[str, Any]:
    if "parts" in response:
        return response
    refuse_error(response)
    candidates = sequence(response.get("candidates"), "candidates")
    if not candidates:
        said = _feedback(response)
        why = f": {dict(said)}" if said else ""
        raise ValueError(f"the response has no candidates, so there is no message in it{why}"[:500])
    first = fields(candidates[0], "candidates[0]", **_DUMP)
    content = first.get("content")
    return {"role": "model", "parts": []} if content is None else fields(content, "candidates[0].content", **_DUMP)


def _feedback(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the API says of the prompt: why it has refused it, if it has."""
    said = _either(response, "promptFeedback", "prompt_feedback")
    return fields(said, "promptFeedback", **_DUMP) if said else {}


def _refused(event: Mapping[str, Any]) -> bool:
    return _either(_feedback(event), "blockReason", "block_reason") is not None


def _is_of_another(event: Mapping[str, Any]) -> bool:
    """Whether it goes on with another of several candidates: they come by turns, and the first is the reply."""
    candidates = sequence(event.get("candidates"), "candidates")
    return bool(candidates) and fields(candidates[0], "candidates[0]", **_DUMP).get("index") not in (None, 0)


def _reply(content: Mapping[str, Any]) -> Reply:
    used: set[str] = set()
    parts = _parts_in(content)
    calls = [call for part in parts if (call := _call_in(part, used)) is not None]
    message = {**content, "parts": parts}
    return Reply(message, [message] if parts else [], calls)


def _parts_in(content: Mapping[str, Any]) -> list[Any]:
    """The parts that say anything: the API sends empty texts, the last of a stream often, and refuses them back."""
    return [part for part in sequence(content.get("parts"), "content.parts") if not _is_empty(part)]


def _is_empty(part: object) -> bool:
    """Whether it is a text without any, and carries nothing else: a signature has to go back."""
    found = fields(part, "content.parts[]", **_DUMP)
    return found.get("text") == "" and not any(value for key, value in found.items() if key != "thought")


def _call_in(part: object, used: set[str]) -> WireCall | None:
    """The call in a part; None: it is something else."""
    given = _either(fields(part, "content.parts[]", **_DUMP), "functionCall", "function_call")
    if given is None:
        return None
    call = fields(given, "functionCall", **_DUMP)
    if _either(call, "willContinue", "will_continue") or _either(call, "partialArgs", "partial_args"):
        raise ValueError("the arguments come in pieces: turn streamFunctionCallArguments off")
    name = text(call.get("name"), "functionCall.name")
    echo = call.get("id") or None
    return WireCall(id_of(echo, used), name, arguments_of(call.get("args")), echo)


def _said_in(part: object) -> str:
    """What a part says aloud: a thought is none of it."""
    found = fields(part, "content.parts[]", **_DUMP)
    said = found.get("text")
    return said if isinstance(said, str) and not found.get("thought") else ""


def _either(thing: Mapping[str, Any], *names: str) -> Any:
    return next((thing[name] for name in names if thing.get(name) is not None), None)


def _response(call: WireCall, answer: Answer) -> dict[str, Any]:
    media = answer.carried(_IN_RESPONSES)
    words = answer.words([*media, *answer.carried(_AFTER)])
    if answer.is_error:
        said = {"error": words}
    else:
        said = {"output": words if answer.structured is None else answer.structured}
    response: dict[str, Any] = {"name": call.name, "response": said}
    if call.echo is not None:
        response["id"] = call.echo
    if media:
        response["parts"] = [_part(each) for each in media]
    return response


def _part(media: Media) -> dict[str, Any]:
    return {"inlineData": {"mimeType": media.mime_type, "data": media.data}}


class GeminiCollector:
    """See `Collector`. Parts come whole."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._role = "model"
        self._parts: list[Any] = []
        self._calls: list[WireCall] = []
        self._used: set[str] = set()

    def feed(self, event: Mapping[str, Any]) -> list[WireCall]:
        refuse_error(event)
        if not event.get("candidates") and "parts" not in event and not _refused(event):
            return []  # only what was used up
        if _is_of_another(event):
            return []
        parts = _parts_in(_content_in(event))
        calls = [call for part in parts if (call := _call_in(part, self._used)) is not None]
        self._parts += parts
        if said := "".join(map(_said_in, parts)):
            self._say(said)
        self._calls += calls
        return calls

    def end(self) -> Reply:
        content = {"role": self._role, "parts": self._parts}
        return Reply(content, [content] if self._parts else [], self._calls)


FORM = Gemini()

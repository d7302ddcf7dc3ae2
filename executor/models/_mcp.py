"""MCP, from a server's side: the calls are a client's requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor.models._forms import Reply, WireCall, WireTool
from executor.models._objects import arguments_of, fields, id_of, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from executor.models._results import Answer, Media

_DUMP = {"exclude_none": True}  # the fields that were sent


class MCP:
    """See `Form`."""

    name = "mcp"
    dump = _DUMP

    def define(self, tool: WireTool) -> dict[str, Any]:
        hints = tool.definition.annotations.to_dict() if tool.definition.annotations else {}
        extra = {
            "title": tool.definition.title,
            "outputSchema": tool.definition.output_schema,
            "annotations": hints or None,
        }
        kept = {key: value for key, value in extra.items() if value is not None}
        return {"name": tool.name, "description": tool.description, "inputSchema": tool.schema, **kept}

    def read(self, response: object) -> Reply:
        request = fields(response, "the request", **_DUMP)
        return Reply(request, [request], [_call_in(request, set())])

    def answer(self, answers: Sequence[tuple[WireCall, Answer]]) -> list[dict[str, Any]]:
        return [{"jsonrpc": "2.0", "id": call.echo, "result": _result(answer)} for call, answer in answers]

    def notice(self, text: str, media: Sequence[Media]) -> list[dict[str, Any]]:  # noqa: ARG002 -- a log takes text only
        params = {"level": "info", "logger": "toolexec", "data": text}
        return [{"jsonrpc": "2.0", "method": "notifications/message", "params": params}]

    def text(self, message: Any) -> str:  # noqa: ARG002 -- a client asks, and says nothing
        return ""

    def collector(self, say: Callable[[str], object]) -> MCPCollector:  # noqa: ARG002 -- as above
        return MCPCollector()


def _call_in(request: Mapping[str, Any], used: set[str]) -> WireCall:
    method = text(request.get("method"), "method")
    if method != "tools/call":
        raise ValueError(f"the request is {method!r}, not 'tools/call'")
    params = fields(request.get("params"), "params", **_DUMP)
    name = text(params.get("name"), "params.name")
    echo = request.get("id")
    return WireCall(id_of(echo, used), name, arguments_of(params.get("arguments")), echo)


def _result(answer: Answer) -> dict[str, Any]:
    words = answer.words(answer.media)
    content = [{"type": "text", "text": words}] if words.strip() or not answer.media else []
    result: dict[str, Any] = {"content": [*content, *map(_block, answer.media)], "isError": answer.is_error}
    if isinstance(answer.structured, dict):
        result["structuredContent"] = answer.structured
    return result


def _block(media: Media) -> dict[str, Any]:
    if media.kind != "file":
        return {"type": media.kind, "data": media.data, "mimeType": media.mime_type}
    resource = {"uri": media.uri, "mimeType": media.mime_type, "blob": media.data}
    return {"type": "resource", "resource": resource}


class MCPCollector:
    """See `Collector`. Each event is a request."""

    def __init__(self) -> None:
        self._requests: list[Any] = []
        self._calls: list[WireCall] = []
        self._used: set[str] = set()

    def feed(self, event: Mapping[str, Any]) -> list[WireCall]:
        call = _call_in(event, self._used)
        self._requests.append(event)
        self._calls.append(call)
        return [call]

    def end(self) -> Reply:
        return Reply(self._requests, self._requests, self._calls)


FORM = MCP()

"""``resources/…``: the output of tasks, results that were too long for a model, and what the host adds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

import mcp.types as t
from mcp import MCPError
from mcp.types import INVALID_PARAMS

from executor.errors import ToolExecutorError
from executor.mcp.serving import _peers
from executor.mcp.serving._following import COMPLETE
from executor.mcp.serving._tasks import output_uri, own_task
from executor.mcp.serving._tools import paged

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from executor.mcp.serving._host import Host
    from executor.mcp.serving._proxy import Proxy

PAGE = 100
MOST_TASKS = 500  # that are listed, the newest; all can be read
MOST_BYTES = 1024 * 1024  # of one answer; `?offset=` reads on
LEGACY_NOT_FOUND = -32002  # what clients up to 2025-11-25 expect for a document that is not there
_OUTPUT = re.compile(r"task://(?P<id>[\w.-]{1,200})/output(?:\?offset=(?P<offset>\d{1,15}))?")
_RESULT = re.compile(r"result://(?P<id>[\w.-]{1,200})(?:\?offset=(?P<offset>\d{1,15}))?")
_OURS = ("task:", "result:")
_FRESH = {**COMPLETE, "ttlMs": 0, "cacheScope": "private"}
_TEMPLATES = [
    {
        "uriTemplate": "task://{id}/output{?offset}",
        "name": "output of a task",
        "description": "What a background task has written, from a byte offset on.",
        "mimeType": "text/plain",
    },
    {
        "uriTemplate": "result://{id}{?offset}",
        "name": "long result",
        "description": "A result that was too long to be shown whole, by the id that stands where it was cut.",
        "mimeType": "text/plain",
    },
]


Pair: TypeAlias = tuple[list[dict[str, Any]], list[dict[str, Any]]]


class ResourceHandlers:
    """
    The handlers.

    Args:
        host_of: What is served to whoever sent a request.
        proxy: What MCP servers have, if that is passed on.
    """

    def __init__(self, host_of: Callable[[Any], Awaitable[Host]], proxy: Proxy | None) -> None:
        self._host_of = host_of
        self._proxy = proxy

    async def list(self, context: Any, params: Any) -> Any:
        """One page of the documents: the newest tasks' output first."""
        host = await self._host_of(context)
        own = await host.elsewhere(lambda: _listed(host))
        others, _ = await self._proxied(host, context, {item["uri"] for item in own})
        return paged("resources", [*own, *others], params)

    async def templates(self, context: Any, params: Any) -> Any:
        """How the names of documents are made."""
        host = await self._host_of(context)
        more = host.options.resources
        added = await host.elsewhere(more.list_templates) if more is not None else []
        _, others = await self._proxied(host, context, {item["uriTemplate"] for item in added})
        return paged("resourceTemplates", [*_TEMPLATES, *added, *others], params)

    async def _proxied(self, host: Host, context: Any, taken: set[str]) -> Pair:
        """Documents and templates of MCP servers, under names that are not *taken*."""
        if self._proxy is None:
            return [], []
        readers = await self._proxy.readers(host, "readResource")
        return await self._proxy.view(context).documents(readers, taken)

    async def read(self, context: Any, params: t.ReadResourceRequestParams) -> Any:
        """One document, or so much of it as one answer may have."""
        host, uri = await self._host_of(context), str(params.uri)
        contents = None
        if params.request_state is None:  # else it was a server's, who has asked something
            contents = await host.elsewhere(lambda: _read(host, uri))
        if contents is None and self._proxy is not None and not uri.startswith(_OURS):
            taken = await host.elsewhere(lambda: _taken(host))
            contents = await self._proxy.read(host, context, params, taken)
        if isinstance(contents, t.InputRequiredResult):
            return contents
        if contents is None:
            code = INVALID_PARAMS if _peers.is_modern(context) else LEGACY_NOT_FOUND
            raise MCPError(code, f"There is no resource {uri[:200]}", {"uri": uri[:200]})
        return {"contents": contents, **_FRESH}


def _taken(host: Host) -> set[str]:
    """The names of the host's own documents, which no server takes over."""
    more = host.options.resources
    return {item["uri"] for item in more.list_resources()} if more is not None else set()


def _listed(host: Host) -> list[dict[str, Any]]:
    executor, more = host.executor, host.options.resources
    tasks = [info for info in executor.tasks.list(limit=MOST_TASKS) if info.conversation == executor.conversation]
    outputs = [
        {
            "uri": output_uri(info.id),
            "name": f"output of {info.id}",
            "description": f"{info.tool_name}: {info.status}",
            "mimeType": "text/plain",
            "size": info.output_bytes,
        }
        for info in tasks
    ]
    return [*outputs, *(more.list_resources() if more is not None else [])]


def _read(host: Host, uri: str) -> list[dict[str, Any]] | None:
    if (match := _OUTPUT.fullmatch(uri)) is not None:
        return _part(uri, _output(host, match["id"], int(match["offset"] or 0)))
    if (match := _RESULT.fullmatch(uri)) is not None:
        return _part(uri, _result(host, match["id"], int(match["offset"] or 0)))
    return host.options.resources.read(uri) if host.options.resources is not None else None


def _output(host: Host, task_id: str, offset: int) -> tuple[str, int, int] | None:
    try:
        info = own_task(host, task_id)
    except MCPError:
        return None
    text, following, _ = host.executor.tasks.output(task_id, offset, MOST_BYTES)
    return text, following, info.output_bytes


def _result(host: Host, result_id: str, offset: int) -> tuple[str, int, int] | None:
    try:
        own = host.executor.conversation
        return host.executor.tasks.read_result(result_id, offset, MOST_BYTES, conversation=own)
    except ToolExecutorError:
        return None


def _part(uri: str, found: tuple[str, int, int] | None) -> list[dict[str, Any]] | None:
    """A text, with where to read on if it goes on."""
    if found is None:
        return None
    text, following, size = found
    part: dict[str, Any] = {"uri": uri, "mimeType": "text/plain", "text": text}
    if following < size:
        part["_meta"] = {"toolexec/next": f"{uri.partition('?')[0]}?offset={following}", "toolexec/size": size}
    return [part]

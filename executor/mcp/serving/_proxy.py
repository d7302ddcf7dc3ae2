"""What the executor's own MCP servers have beside tools, passed on: documents, prompts, values for their arguments."""

from __future__ import annotations

import contextvars
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import mcp.types as t
from mcp import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS

from executor.errors import ToolExecutorError
from executor.mcp._client import size_of
from executor.mcp._clients import work_for
from executor.mcp.serving import _peers
from executor.mcp.serving._following import begin, caller, come_back, follow
from executor.mcp.serving._host import elsewhere
from executor.mcp.serving._results import error_text
from executor.mcp.serving._view import View
from executor.values import ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor.mcp.serving._connections import Connections
    from executor.mcp.serving._host import Host
    from executor.mcp.serving._listing import Offered
    from executor.mcp.serving._values import Servers
    from executor.threads._workers import Workers

MOST_VIEWS = 256  # clients whose names are remembered
MOST_PASSED = 16 * 1024 * 1024  # characters of one document or prompt
COMPLETE_SECONDS = 5.0  # a value that comes later is of no use to who types


class Proxy:
    """
    Lives on the loop.

    Args:
        workers: Where servers are asked what they have: not those on which calls are judged.
        late: Told of a client whose lists have grown after it was answered.
    """

    def __init__(
        self,
        servers: Servers,
        connections: Connections,
        workers: Workers,
        late: Callable[[str], object],
    ) -> None:
        self.servers = servers
        self._connections = connections
        self._workers = workers
        self._late = late
        self._views: OrderedDict[str, View] = OrderedDict()

    def view(self, context: Any) -> View:
        """What the client of this request sees."""
        client = _peers.client_of(context)
        view = self._views.get(client)
        if view is None:
            view = self._views[client] = View(client, self.servers, self._workers, lambda: self._late(client))
            if len(self._views) > MOST_VIEWS:
                self.end_client(_peers.crowded(self._views))
        self._views.move_to_end(client)
        return view

    def renew(self, client: str) -> None:
        """What the servers of a client have may have changed; "": those that all share."""
        for view in list(self._views.values()) if not client else filter(None, [self._views.get(client)]):
            view.renew()

    def end_client(self, client: str) -> None:
        """A client is gone."""
        view = self._views.pop(client, None)
        if view is not None:
            view.close()

    def close(self) -> None:
        """Nobody is there any more."""
        for view in self._views.values():
            view.close()

    async def readers(self, host: Host, reading: str) -> dict[str, Offered]:
        """By server: the tool that reads it so, where that is offered."""
        listing = await host.listing()
        told = await host.elsewhere(self.servers.readers)
        found = {server: listing.by_id(ids[reading]) for server, ids in told.items() if reading in ids}
        return {server: offered for server, offered in found.items() if offered is not None}

    # Documents ---------------------------------------------------------------------------------------------------

    async def read(self, host: Host, context: Any, params: t.ReadResourceRequestParams, taken: set[str]) -> Any:
        """The contents of a document; what has to be asked first; None: no server has it."""
        view, readers, uri = self.view(context), await self.readers(host, "readResource"), str(params.uri)
        found = await view.document(uri, readers, taken)
        if found is None:
            return None
        server, own = found
        answer = await self._called(host, context, params, readers[server], {"uri": own})
        if isinstance(answer, t.InputRequiredResult):
            return answer
        return [self._renamed(part, view, server, {own: uri}) for part in answer.get("contents", ())]

    # Prompts -----------------------------------------------------------------------------------------------------

    async def prompt(self, host: Host, context: Any, params: t.GetPromptRequestParams) -> Any:
        """
        A prompt, filled in; or what has to be asked first.

        Raises:
            MCPError: There is none of this name, or its server refuses it.
        """
        view, readers = self.view(context), await self.readers(host, "getPrompt")
        found = await view.named("prompts", params.name, readers)
        if found is None:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {params.name[:100]}")
        server, own = found
        arguments = {"name": own, **({"arguments": params.arguments} if params.arguments else {})}
        answer = await self._called(host, context, params, readers[server], arguments)
        if isinstance(answer, t.InputRequiredResult):
            return answer
        messages = [
            {**message, "content": self.shown(message["content"], view, server)}
            for message in answer.get("messages", ())
        ]
        return {**answer, "messages": messages}

    # Values for arguments ----------------------------------------------------------------------------------------

    async def complete(self, host: Host, context: Any, params: t.CompleteRequestParams) -> dict[str, Any]:
        """Values for an argument; none where reading would not be allowed without a question."""
        view, ref = self.view(context), params.ref
        is_prompt = isinstance(ref, t.PromptReference)
        readers = await self.readers(host, "getPrompt" if is_prompt else "readResource")
        name = ref.name if isinstance(ref, t.PromptReference) else str(ref.uri)
        found = await view.named("prompts" if is_prompt else "templates", name, readers)
        if found is None:
            raise MCPError(INVALID_PARAMS, f"There is nothing called {name[:100]} whose arguments could be completed")
        server, own = found
        told = ref.model_copy(update={"name": own} if is_prompt else {"uri": own})
        known = params.context.arguments if params.context is not None else None
        wanted = params.argument.model_dump()
        judged = ToolCall("completion", readers[server].id, {"name": own} if is_prompt else {"uri": own})
        about = caller(host, context, judged.id)

        def work() -> dict[str, Any]:
            if host.executor.check(judged, context=about).kind != "ok":
                return {"values": []}
            work_for(view.client)
            bridge = self.servers.bridge()
            return bridge.complete(server, told, wanted, known, timeout=COMPLETE_SECONDS)

        return await self._asked(work)

    async def _asked(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        inside = contextvars.copy_context()
        try:
            return await elsewhere(self._workers, lambda: inside.run(work))
        except ToolExecutorError:  # nobody who types is helped by an error
            return {"values": []}

    # The way of a request ----------------------------------------------------------------------------------------

    async def _called(
        self, host: Host, context: Any, params: Any, offered: Offered, arguments: Mapping[str, Any]
    ) -> dict[str, Any] | t.InputRequiredResult:
        """
        What the tool gives that reads it, which is judged as every call is.

        Raises:
            MCPError: It is not allowed, or failed.
        """
        if params.request_state is not None:
            call = come_back(host, params)
        else:
            call = begin(host, context, offered, arguments, background=False)
        asked = await follow(host, call, context, logs=self._connections.takes_logs(context))
        if asked is not None:
            return asked
        result = call.result
        assert result is not None, "the turns are over"
        if result.is_error or not isinstance(result.structured, dict):
            raise MCPError(INTERNAL_ERROR, error_text(result)[:2000])
        size = size_of(result.structured)
        if size > MOST_PASSED:
            raise MCPError(INTERNAL_ERROR, f"It has {size} characters: more than {MOST_PASSED} are not passed on")
        return result.structured

    def shown(self, content: Any, view: View, server: str) -> Any:
        """A block, or blocks, of what a server says, with its documents as this client is to call them."""
        if isinstance(content, list):
            return [self.shown(block, view, server) for block in content]
        if not isinstance(content, dict):
            return content
        if content.get("type") == "resource_link":
            return self._renamed(content, view, server, {})
        if content.get("type") == "resource" and isinstance(content.get("resource"), dict):
            return {**content, "resource": self._renamed(content["resource"], view, server, {})}
        return content

    def _renamed(self, part: Any, view: View, server: str, known: Mapping[str, str]) -> Any:
        uri = part.get("uri") if isinstance(part, dict) else None
        return {**part, "uri": known.get(uri) or view.told(server, uri)} if isinstance(uri, str) else part

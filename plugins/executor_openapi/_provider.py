"""The services, as a provider of the run layer: synchronous, from any thread."""

from __future__ import annotations

import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from executor import Tool, ToolAnnotations, current_call
from executor.errors import BackendUnavailableError, ExecutionError, ToolFailedError, ToolTimeoutError
from executor.threads import LoopThread
from executor_openapi._answer import MAX_REDIRECTS, error_of, next_url, value_of
from executor_openapi._document import Document, DocumentError, read
from executor_openapi._operations import Operation, operations
from executor_openapi._request import build

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    import httpx2

    from executor_openapi._request import Request
    from executor_openapi._settings import Api

FETCH_SECONDS = 10.0  # for a description that is a URL
CLOSE_SECONDS = 3.0


class _Service:
    """One service, with its description as it was read."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.server = ""
        self.operations: dict[str, Operation] = {}
        self.problems: dict[str, str] = {}
        try:
            document = read(api.document, FETCH_SECONDS)
            self.server = _server(api, document)
        except DocumentError as error:
            self.problems["everything"] = str(error)
            return
        for found in operations(document):
            if isinstance(found, Operation):
                if not api.include or found.id in api.include:
                    self.operations[found.id] = found
            else:
                self.problems[found[0]] = found[1]
        for name in api.include:
            if name not in self.operations:
                self.problems.setdefault(name, "the description has no operation of this id")


def _server(api: Api, document: Document) -> str:
    if api.server is not None:
        return api.server
    told = document.first_server()
    if "://" in api.document:
        # What was fetched may not send us elsewhere.
        there = urljoin(api.document, told or "/")
        if urlsplit(there)[:2] != urlsplit(api.document)[:2]:
            raise DocumentError(f"it says that the service is at {there}: configure that as `server` if it is meant")
        return there
    if told is None or urlsplit(told).scheme not in ("http", "https"):
        raise DocumentError(f"{document.where} does not say where the service is: configure its `server`")
    return told


class OpenAPIProvider:
    """
    Calls the operations of HTTP services.

    Descriptions are read when a service is first used. `_lock` guards that.

    Args:
        apis: By provider id.
    """

    def __init__(self, apis: Mapping[str, Api]) -> None:
        self._apis = dict(apis)
        self._lock = threading.Lock()
        self._services: dict[str, _Service] = {}
        self._connections = _Connections()
        self._close = weakref.finalize(self, self._connections.close)

    def call_tool(self, provider_id: str, tool_id: str, args: Mapping[str, Any]) -> Any:
        """
        Call an operation: its JSON value, its text, or ``{"content_type", "size", "base64"}``.

        Raises:
            ToolFailedError: The service refused the call (4xx), or answered with something that cannot be used.
            BackendUnavailableError: The service is down (5xx, or not to be reached).
            ToolTimeoutError, ToolCancelledError: It took too long, or was cancelled; the connection was cut.
        """
        service = self._service(provider_id)
        operation = service.operations.get(tool_id)
        if operation is None:
            problem = service.problems.get(tool_id) or service.problems.get("everything") or "it is not described"
            raise ExecutionError(f"The service {provider_id!r} has no operation {tool_id!r}: {problem}")
        call = current_call()
        remaining = call.remaining if call is not None else None
        timeout = service.api.timeout if remaining is None else remaining
        request = build(operation, service.server, service.api, args)
        return self._connections.send(
            request, timeout, service.api.max_answer, call.on_cancel if call is not None else None
        )

    def tools(self, provider_id: str) -> dict[str, Tool]:
        """The operations of a service as tools, by operation id."""
        service = self._service(provider_id)
        return {name: _tool(provider_id, service.api, operation) for name, operation in service.operations.items()}

    def problems(self, provider_id: str) -> dict[str, str]:
        """Why operations are no tools, by operation id; ``everything`` for a description that cannot be used."""
        return dict(self._service(provider_id).problems)

    def close(self) -> None:
        """Close the connections; requests that run are cancelled."""
        self._close()

    def _service(self, name: str) -> _Service:
        api = self._apis.get(name)
        if api is None:
            there = ", ".join(sorted(self._apis)) or "none"
            raise ExecutionError(f"There is no provider {name!r}; configured: {there}")
        with self._lock:
            service = self._services.get(name)
            if service is None:
                service = self._services[name] = _Service(api)
            return service


def _tool(api_name: str, api: Api, operation: Operation) -> Tool:
    method = operation.method
    return Tool(
        operation.id,
        namespace=api_name,
        input_schema=operation.input_schema,
        output_schema=operation.output_schema,
        description=operation.description,
        title=operation.title,
        # By RFC 9110, section 9.2: what the methods promise.
        annotations=ToolAnnotations(
            read_only=method in ("GET", "HEAD", "OPTIONS"),
            destructive=None if method == "POST" else method in ("DELETE", "PUT", "PATCH"),
            idempotent=method not in ("POST", "PATCH"),
            open_world=True,
        ),
        timeout=api.timeout,
        auto_background=api.threshold,
    )


class _Connections:
    """The HTTP client, on its loop: kept apart from the provider, so that one that is dropped closes too."""

    def __init__(self) -> None:
        self._loop = LoopThread("executor-openapi", _closed)
        self._client: tuple[asyncio.AbstractEventLoop, httpx2.AsyncClient] | None = None  # used on its loop only

    def send(self, request: Request, timeout: float, most: int, on_cancel: Any) -> Any:
        """The value that the service answers; raises as `OpenAPIProvider.call_tool` does."""
        return self._loop.run(self._send(request, timeout, most), on_cancel)

    async def _send(self, request: Request, seconds: float, most: int) -> Any:
        import asyncio

        import httpx2

        try:
            async with asyncio.timeout(seconds):
                return await self._follow(self._client_of(asyncio.get_running_loop()), request, most)
        except TimeoutError:
            raise ToolTimeoutError(f"{request.shown}: no answer within {seconds:g} s") from None
        except httpx2.ConnectError as error:
            raise BackendUnavailableError(
                f"{request.shown}: the service cannot be reached: {error or 'no connection'}", started=False
            ) from error
        except httpx2.InvalidURL as error:
            raise ToolFailedError(f"{request.shown}: the URL cannot be used: {error}") from error
        except httpx2.HTTPError as error:
            raise BackendUnavailableError(
                f"{request.shown}: the connection broke: {error or type(error).__name__}"
            ) from error

    def _client_of(self, loop: asyncio.AbstractEventLoop) -> httpx2.AsyncClient:
        import httpx2

        if self._client is None or self._client[0] is not loop:  # in the child of a fork the loop is another one
            # No timeout of its own: the whole request has one.
            self._client = loop, httpx2.AsyncClient(timeout=None, follow_redirects=False)
        return self._client[1]

    async def _follow(self, client: httpx2.AsyncClient, request: Request, most: int) -> Any:
        url = request.url
        for _ in range(MAX_REDIRECTS + 1):
            stream = partial(client.stream, request.method, url, headers=request.headers, content=request.content)
            async with stream() as response:
                if not response.is_redirect:
                    return await _answer(request, response, most)
                location = response.headers.get("location")
                url = next_url(request.shown, url, response.status_code, location, request.method)
        raise ToolFailedError(f"{request.shown}: the service redirects more than {MAX_REDIRECTS} times")

    def close(self) -> None:
        async def end() -> None:
            if self._client is not None:
                await self._client[1].aclose()

        self._loop.close(CLOSE_SECONDS, end)


def _closed() -> BackendUnavailableError:
    return BackendUnavailableError("The HTTP services have been closed", started=False)


async def _answer(request: Request, response: httpx2.Response, most: int) -> Any:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most:
            if response.is_error:
                break
            raise ToolFailedError(
                f"{request.shown}: the answer has more than {most} bytes and was not read on: ask for less"
            )
    if response.is_error:
        raise error_of(request.shown, response.status_code, response.headers, bytes(body))
    content_type = response.headers.get("content-type", "")
    return value_of(request.shown, content_type, bytes(body), response.charset_encoding)

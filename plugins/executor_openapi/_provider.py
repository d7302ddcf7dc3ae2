"""The services, as a provider of the run layer: synchronous, from any thread."""

from __future__ import annotations

import hashlib
import threading
import weakref
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor import Tool, ToolAnnotations, current_call
from executor.errors import (
    BackendUnavailableError,
    ExecutionError,
    OutcomeUnknownError,
    ToolFailedError,
    ToolTimeoutError,
)
from executor.httpclient import http_client
from executor.ownfolders import own_folder
from executor.threads import LoopThread, fork_safe
from executor_openapi._answer import MAX_REDIRECTS, ElsewhereError, RefusedError, answer_of, next_url
from executor_openapi._authorising import Tokens, auths_of
from executor_openapi._document import DocumentError
from executor_openapi._hidden import without
from executor_openapi._reading import described, where, where_of
from executor_openapi._request import build

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    import httpx2

    from executor_openapi._kept import Operations
    from executor_openapi._operations import Operation
    from executor_openapi._request import Request
    from executor_openapi._schemes import Scheme
    from executor_openapi._settings import Api

CLOSE_SECONDS = 3.0
KEPT_SECONDS = 2.0  # for an idle connection
_READING = ("GET", "HEAD", "OPTIONS")  # methods that change nothing
LONGEST_ID = 128  # characters of a tool's id, the service's name in front included


class _Service:
    """One service, with its description as it was read."""

    def __init__(self, name: str, api: Api, folder: Path | None) -> None:
        self._name = name
        self.api = api
        self.server = ""
        self.names: dict[str, str] = {}  # of tools: the ids of their operations
        self._operations: Operations | None = None
        self.schemes: Mapping[str, Scheme] = {}
        self.problems: dict[str, str] = {}
        if api.problem is not None:
            self.problems["everything"] = api.problem
            return
        try:
            found = described(api, folder)
            self.server = where(api, found)
        except DocumentError as error:
            self.problems["everything"] = str(error)
            return
        self.schemes = found.schemes
        room = LONGEST_ID - len(name) - 1
        self.names = {_short(known, room): known for known in found.operations}
        self._operations = found.operations
        self.problems.update(found.problems)

    def operation(self, name: str) -> Operation | None:
        """The operation of a tool, or None. Raises DocumentError."""
        known = self.names.get(name)
        return self._operations[known] if self._operations is not None and known is not None else None

    def tools(self) -> dict[str, Tool]:
        """A tool for each operation."""
        if self._operations is None:
            return {}
        listed = self._operations.listed
        return {name: self._tool(name, *listed[known]) for name, known in self.names.items()}

    def _tool(self, name: str, method: str, description: str, title: str | None) -> Tool:
        return Tool(
            name,
            namespace=self._name,
            description=description,
            title=title,
            annotations=_annotations(method),
            timeout=self.api.timeout,
            auto_background=self.api.threshold,
            schemas=partial(self._schemas, name),
        )

    def _schemas(self, name: str) -> tuple[Mapping[str, Any], Mapping[str, Any] | bool | None]:
        operation = self.operation(name)
        assert operation is not None, "only operations that are there become tools"
        return operation.input_schema, None if self.api.answer_headers else operation.output_schema


class OpenAPIProvider:
    """
    Calls the operations of HTTP services.

    Descriptions are read when a service is first used. `_lock` guards that.

    Args:
        apis: By provider id.
        cache: The folder for what was read of descriptions; None reads them anew. By default in the user's cache
            folder.
    """

    def __init__(self, apis: Mapping[str, Api], *, cache: Path | str | None = "") -> None:
        self._apis = dict(apis)
        self._folder = _default_folder() if cache == "" else Path(cache) if cache is not None else None
        self._lock = fork_safe(self, "_lock", threading.Lock)
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
        try:
            operation = service.operation(tool_id)
        except DocumentError as error:
            raise ExecutionError(f"{provider_id}:{tool_id}: {error}") from error
        if operation is None:
            problem = service.problems.get(tool_id) or service.problems.get("everything") or "it is not described"
            raise ExecutionError(f"The service {provider_id!r} has no operation {tool_id!r}: {problem}")
        call = current_call()
        remaining = call.remaining if call is not None else None
        timeout = service.api.timeout if remaining is None else remaining
        try:
            auth = auths_of(operation, service.api, service.schemes, service.server)
            server = where_of(service.api, service.server, operation)
        except DocumentError as error:
            raise ExecutionError(f"{provider_id}:{tool_id}: {error}") from error
        request = build(operation, server, service.api, auth, args)
        return self._connections.send(request, timeout, service.api, call.on_cancel if call is not None else None)

    def tools(self, provider_id: str) -> dict[str, Tool]:
        """The operations of a service as tools, by operation id."""
        return self._service(provider_id).tools()

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
                service = self._services[name] = _Service(name, api, self._folder)
            return service


def _short(name: str, room: int) -> str:
    """An operation's id as part of a tool's: one that is too long ends in a hash of the whole."""
    return name if len(name) <= room else f"{name[: max(room - 9, 1)]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


@cache
def _annotations(method: str) -> ToolAnnotations:
    """By RFC 9110, section 9.2: what the methods promise."""
    return ToolAnnotations(
        read_only=method in _READING,
        destructive=None if method == "POST" else method in ("DELETE", "PUT", "PATCH"),
        idempotent=method not in ("POST", "PATCH"),
        open_world=True,
    )


class _Connections:
    """The HTTP client, on its loop: kept apart from the provider, so that one that is dropped closes too."""

    def __init__(self) -> None:
        self._loop = LoopThread("executor-openapi", _closed)
        self._client: tuple[asyncio.AbstractEventLoop, httpx2.AsyncClient] | None = None  # used on its loop only
        self._tokens: Tokens | None = None  # made with the client

    def send(self, request: Request, timeout: float, api: Api, on_cancel: Any) -> Any:
        """The value that the service answers; raises as `OpenAPIProvider.call_tool` does."""
        return self._loop.run(self._send(request, timeout, api), on_cancel)

    async def _send(self, request: Request, seconds: float, api: Api) -> Any:
        import asyncio

        import httpx2

        try:
            async with asyncio.timeout(seconds):
                return await self._authorised(self._client_of(asyncio.get_running_loop()), request, api)
        except ElsewhereError as error:
            raise ToolFailedError(f"{request.shown}: {without(request.secrets, str(error))}") from None
        except TimeoutError:
            raise ToolTimeoutError(f"{request.shown}: no answer within {seconds:g} s") from None
        except httpx2.ConnectError as error:
            words = str(error) or "it closes the connection at once; is it https that it speaks at this address?"
            raise BackendUnavailableError(
                f"{request.shown}: the service cannot be reached: {words}", started=False
            ) from error
        except httpx2.LocalProtocolError:
            # Its words quote the header, which may hold a secret.
            raise ToolFailedError(f"{request.shown}: a header has characters that HTTP does not allow") from None
        except httpx2.InvalidURL as error:
            words = without(request.secrets, str(error))
            raise ToolFailedError(f"{request.shown}: the URL cannot be used: {words}") from None
        except httpx2.HTTPError as error:  # its words may quote what the service sent
            words = without(request.secrets, str(error)) or type(error).__name__
            told = f"{request.shown}: the connection broke: {words}"
            if request.method in _READING:
                raise BackendUnavailableError(told) from None
            raise OutcomeUnknownError(f"{told}. Whether the request was carried out is not known") from None

    def _client_of(self, loop: asyncio.AbstractEventLoop) -> httpx2.AsyncClient:
        from http.cookiejar import CookieJar, DefaultCookiePolicy

        import httpx2

        if self._client is None or self._client[0] is not loop:  # in the child of a fork the loop is another one
            # No timeout of its own: the whole request has one. No bound of connections either, since one service that
            # does not answer would have the calls of all others wait for one. What was idle for a while is not used
            # again: many servers close it after 5 seconds, and a request on one that is just being closed is lost.
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=KEPT_SECONDS)
            # And no cookies, which know no ports: one service would be told those of another on this machine or in its
            # domain, and one call who the one before it was.
            cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
            client = http_client(
                httpx2.AsyncClient, timeout=None, follow_redirects=False, limits=limits, cookies=cookies
            )
            self._client = loop, client
            self._tokens = Tokens()
        return self._client[1]

    async def _authorised(self, client: httpx2.AsyncClient, request: Request, api: Api) -> Any:
        """Send it with the tokens that it wants; once more with new ones, where the service does not take the old."""
        assert self._tokens is not None, "made with the client"
        for last in (False, True):
            tokens = {auth: await self._tokens.token(auth, client) for auth in request.clients}
            for token in tokens.values():
                request.headers["Authorization"] = f"Bearer {token}"
                request.secrets.add(token)
            try:
                return await self._follow(client, request, api)
            except RefusedError as error:
                if last or not tokens or error.status != 401:
                    raise error.told from None
            for auth, token in tokens.items():
                self._tokens.forget(auth, token)
        return None

    async def _follow(self, client: httpx2.AsyncClient, request: Request, api: Api) -> Any:
        url = request.url
        for _ in range(MAX_REDIRECTS + 1):
            headers = [(name.encode(), value.encode()) for name, value in request.headers.items()]  # UTF-8 is taken
            stream = partial(client.stream, request.method, url, headers=headers, content=request.content)
            async with stream() as response:
                if not response.is_redirect:
                    return await answer_of(request.shown, response, api, request.secrets)
                location = response.headers.get("location")
                url = next_url(url, response.status_code, location, request.method)
        raise ToolFailedError(f"{request.shown}: the service redirects more than {MAX_REDIRECTS} times")

    def close(self) -> None:
        async def end() -> None:
            if self._client is not None:
                await self._client[1].aclose()

        self._loop.close(CLOSE_SECONDS, end)


def _closed() -> BackendUnavailableError:
    return BackendUnavailableError("The HTTP services have been closed", started=False)


def _default_folder() -> Path:
    return own_folder("cache") / "openapi"

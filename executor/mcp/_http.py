"""Servers that others run, over HTTP. What goes wrong with one request costs that request, and nobody's else."""

from __future__ import annotations

import contextlib
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from mcp.client.auth import OAuthFlowError

from executor.httpclient import http_client
from executor.httpstatus import retry_after
from executor.mcp._circle import headers as circle_headers
from executor.mcp._current import current
from executor.mcp._envelope import addressed
from executor.mcp._failures import Refusal
from executor.mcp._pace import LinePace
from executor.mcp._sent import GivenUpError, Sent, sent
from executor.mcp._texts import Halves, in_utf8

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping

    from executor.mcp._oauth import Login
    from executor.mcp._values import ServerConfig

MAX_EVENT = 64 * 1024 * 1024  # bytes of one event; the SDK's 1 MiB cuts answers that people do get
MAX_ERROR = 64 * 1024  # bytes of an error's body that are looked at
ERROR_SECONDS = 10.0  # for such a body to come
CONNECT_SECONDS = 30.0
NOTICE_SECONDS = 5.0  # for what has no answer to be taken; the SDK sends nothing else meanwhile
GOODBYE_SECONDS = 2.0  # for the end of a session to be taken; the next one is not begun meanwhile
# Servers close connections that were idle for 5 seconds, and a request on one that is just being closed is lost.
LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=2.0)
_SESSION = "mcp-session-id"


def as_bytes(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers in UTF-8: as texts only ASCII is taken."""
    return [(name.encode(), value.encode()) for name, value in headers.items()]


class _Client(httpx2.AsyncClient):
    """
    A client whose failures are answers. The SDK would end the whole session, with every other call in it, when the
    connection of a single request cannot be made or breaks.

    Args:
        start_refused: Told of refusals of requests that belong to no call.
    """

    def __init__(self, start_refused: Callable[[Refusal | None], None], **options: Any) -> None:
        super().__init__(**options)
        self._start_refused = start_refused

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        message = sent() or Sent({"GET": None, "DELETE": GOODBYE_SECONDS}.get(request.method, NOTICE_SECONDS))
        try:
            return await message.wait(lambda: self._send(message, request, **options))
        except GivenUpError:
            return httpx2.Response(202, request=request)  # of which the SDK reads no more, and which is no failure

    async def _send(self, message: Sent, request: httpx2.Request, **options: Any) -> httpx2.Response:
        in_session = _SESSION in request.headers
        try:
            response = await super().send(request, **options)
            _limit(response, message, lambda error: self._tell(request, Refusal(0, in_session, error=error)))
            if response.status_code >= 400:
                refusal = await _refusal(response, in_session)
                self._tell(request, refusal)
            elif request.method == "POST":
                self._tell(request, None)
        except httpx2.TransportError as error:
            started = not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
            self._tell(request, Refusal(0, in_session, error=error, started=started))
            return httpx2.Response(502, request=request)
        except OAuthFlowError as error:
            self._tell(request, Refusal(401, in_session, error=error))
            return httpx2.Response(401, request=request)
        response.stream = _Whole(
            response, message, lambda error: self._tell(request, Refusal(0, in_session, error=error))
        )
        return response

    def _tell(self, request: httpx2.Request, refusal: Refusal | None) -> None:
        if request.method != "POST":
            if refusal is not None and _SESSION not in request.headers:
                self._start_refused(refusal)  # of the older transport, which begins so
            return
        call = current()  # the SDK sends each request in the context of who makes it
        if call is not None:
            call.refusal = refusal
        else:
            self._start_refused(refusal)


class _Whole(httpx2.AsyncByteStream):
    """A body whose end the SDK can survive when it comes too early, and that is over when its message is."""

    def __init__(self, response: httpx2.Response, message: Sent, broke: Callable[[Exception], None]) -> None:
        self._stream: Any = response.stream
        self._streams = _streams(response)
        self._message = message
        self._broke = broke

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._stream)
        try:
            while (chunk := await self._message.wait(lambda: anext(chunks, None))) is not None:
                yield chunk
        except GivenUpError:
            if self._streams:
                raise
        except httpx2.TransportError as error:
            self._broke(error)
            raise httpx2.StreamError(str(error) or type(error).__name__) from error

    async def aclose(self) -> None:
        await self._stream.aclose()


class _UnreadableError(httpx2.StreamError):
    """A body that is not read on; the SDK takes it as the failure of that one request."""


def _streams(response: httpx2.Response) -> bool:
    """Whether its body is events, as many as the server likes; the SDK limits the size of each."""
    return response.headers.get("content-type", "").lower().startswith("text/event-stream") and (
        response.status_code < 400
    )


def _limit(response: httpx2.Response, message: Sent, broke: Callable[[Exception], None]) -> None:
    """Have no more read of a body than somebody may want, and what is no compression be this one request's failure."""
    response.encoding = "utf-8"  # MCP is; in what the server says, a text may take the square of its length to be read
    plain = response.aiter_bytes
    streams = _streams(response)
    most = MAX_ERROR if response.status_code >= 400 else MAX_EVENT

    async def aiter_bytes(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        size, why, halves = 0, "", Halves()
        try:
            all_parts = plain(chunk_size)
            async with contextlib.aclosing(_paced(all_parts, message) if streams else all_parts) as parts:
                async for part in parts:
                    size += len(part)
                    if size > most and not streams:
                        why = f"it has more than {most} bytes"
                        break
                    yield halves.without(part)
                yield halves.rest()
        except httpx2.DecodingError as error:
            why = str(error)
        if why:
            unreadable = _UnreadableError(f"the answer cannot be read: {why}")
            if response.status_code < 400:
                broke(unreadable)
            raise unreadable

    read = response.aread

    async def aread() -> bytes:
        if response.next_request is not None:
            return b""  # nobody wants what comes with a redirect, and the SDK would end the session when it breaks
        return (
            addressed(in_utf8(await read()), _asked(response.request)) if response.status_code < 400 else await read()
        )

    response.aiter_bytes = aiter_bytes  # type: ignore[method-assign, assignment]  # all other ways of reading use it
    response.aread = aread  # type: ignore[method-assign]  # by which httpx itself reads a whole answer


async def _paced(parts: AsyncGenerator[bytes], message: Sent) -> AsyncGenerator[bytes]:
    """*parts* of a stream of lines, no faster than those may be read; to be closed."""
    pace = LinePace()
    async with contextlib.aclosing(parts):
        async for part in parts:
            for piece in pace.pieces(part):
                await message.wait(partial(pace.turn, piece))
                yield piece


def _asked(request: httpx2.Request) -> Any:
    """The id of the JSON-RPC request that was sent, or None."""
    try:
        told = json.loads(request.content) if request.method == "POST" else None
    except (ValueError, httpx2.RequestNotRead):
        return None
    return told.get("id") if isinstance(told, dict) else None


async def _refusal(response: httpx2.Response, in_session: bool) -> Refusal:  # noqa: FBT001 -- what was, not what to do
    """What a response with an error status says; its body is read, and stays readable."""
    body, said = b"", None
    kind = response.headers.get("content-type", "").lower()
    if "json" in kind or kind.startswith("text/plain"):
        with contextlib.suppress(httpx2.TransportError, httpx2.StreamError), anyio.move_on_after(ERROR_SECONDS):
            body = await response.aread()
    if "json" in kind:
        with contextlib.suppress(ValueError, RecursionError):
            said = json.loads(body)
    answered = False
    if isinstance(said, dict) and isinstance(said.get("error"), dict):
        asked = _asked(response.request)
        answered = asked is not None and str(said.get("id")) == str(asked)
    return Refusal(
        response.status_code,
        in_session,
        answered,
        retry_after(response.headers.get("retry-after"), response.headers.get("date")),
        of_session=b"ession" in body or b"initial" in body,
    )


@contextlib.asynccontextmanager
async def remote(
    config: ServerConfig, start_refused: Callable[[Refusal | None], None], auth: Login | None
) -> AsyncIterator[tuple[Any, Any]]:
    """The transport to a server that others run: streamable HTTP, or SSE before it."""

    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        return http_client(
            _Client,
            start_refused=start_refused,
            headers=as_bytes(headers or {}),
            timeout=timeout,
            auth=auth,
            limits=LIMITS,
        )

    headers = {**config.headers, **circle_headers()}
    async with contextlib.AsyncExitStack() as stack:
        if auth is not None:
            await stack.enter_async_context(contextlib.aclosing(auth))
        if config.transport == "sse":
            from mcp.client.sse import sse_client

            seconds = config.timeout + 300
            transport = sse_client(
                config.url, headers, httpx_client_factory=client, auth=auth, sse_read_timeout=seconds
            )
        else:
            from mcp.client.streamable_http import streamable_http_client

            # No read timeout: calls have their own, and an answer may take longer than what would be a failure.
            timeout = httpx2.Timeout(CONNECT_SECONDS, read=None)
            http = await stack.enter_async_context(client(headers, timeout=timeout, auth=auth))
            transport = streamable_http_client(config.url, http_client=http, max_sse_event_size=MAX_EVENT)
        yield await stack.enter_async_context(transport)

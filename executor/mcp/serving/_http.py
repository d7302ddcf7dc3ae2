"""Serving over streamable HTTP: who may come in, and as whom."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import logging
import re
import sys
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import ClientDisconnect

from executor.mcp._circle import HEADER, marked
from executor.mcp.serving._peers import OPEN, PRINCIPAL, SESSION, client_key, request_of
from executor.mcp.serving._server import Serving
from executor.mcp.serving._sessions import Sessions
from executor.mcp.serving._signals import on_signals
from executor.mcp.serving._turns import Turns, most_connections
from executor.mcp.serving._unread import message_of
from executor.mcp.serving._values import ServeOptions

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from executor.mcp.serving._tokens import Tokens
    from executor.mcp.serving._values import Executor

PATH = "/mcp"
MAX_BODY = 4 * 1024 * 1024  # bytes of one request
BACKLOG = 1000  # connections that wait to be taken
CLOSE_SECONDS = 1  # for answers that are on their way
# What this machine calls itself, and no name server has an answer for: the SDK's own check takes whatever begins so.
_HERE = re.compile(r"(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)
_RESUMED = b"last-event-id"  # nothing is kept to be told again: the SDK has no answer then


class _Guard:
    """
    Lets requests in that bear a token, as its principal, and knows when they end.

    Args:
        tokens: None: all may come in, and are one.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens | None, serving: Serving) -> None:
        self._app = app
        self._tokens = tokens
        self._serving = serving
        self._turns = Turns(connections=most_connections())
        self._sessions = Sessions()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._request(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal: str | None = ""  # of all who may come in without a token
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refused = _elsewhere(scope["headers"])
        if refused is not None:
            await _refuse(send, *refused)
            return
        scope = {**scope, OPEN: [], "headers": [each for each in scope["headers"] if each[0] != _RESUMED]}
        if self._tokens is not None:
            given = [value for name, value in scope["headers"] if name == b"authorization"]
            principal = self._tokens.principal(given[0].decode("latin-1")) if len(given) == 1 else None
            if principal is None:
                await _refuse(send, 401, "a bearer token is needed")
                return
            scope |= {PRINCIPAL: principal, "user": _user(principal)}
        if headers.get(HEADER.lower()) == marked() is not None:
            await _refuse(send, 508, "this server would be its own MCP server: take its entry out of those that it has")
            return
        client = client_key(principal or "", headers)
        told = headers.get("content-length", "")
        size = int(told) if told.isdigit() and len(told) < 10 else 0 if scope["method"] != "POST" else MAX_BODY
        with self._turns.open(client, size) as fits:
            if fits:
                await self._let_in(client, headers.get(SESSION), scope, receive, send)
            else:
                await _refuse(send, 503, "too many requests of this client at once")

    async def _let_in(self, client: str, session: str | None, scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(self._turns.wait(client))
        principal, over = scope.get(PRINCIPAL, ""), []

        async def noting(message: Message) -> None:
            told = dict(message["headers"]).get(SESSION.encode()) if message["type"] == "http.response.start" else None
            if told is not None and session is None:
                over.append(self._sessions.begin(principal, told.decode("latin-1")))
            await send(message)

        try:
            with (
                request_of(principal),
                self._sessions.use(principal, session, ends=scope["method"] == "DELETE"),
            ):
                await self._app(scope, _mending(self._turns.paced(client, receive)), noting)
            for each in filter(None, over):
                await self._end(each, scope)
        except ClientDisconnect:
            return  # in the middle of its request: there is nobody to be answered
        finally:
            for leave in list(scope[OPEN]):  # it has ended before it was answered: nobody is there any more
                leave()
            if scope["method"] == "DELETE":
                self._serving.end_client(client)

    async def _end(self, session: str, scope: Scope) -> None:
        """End a session of whoever sent this request, as if its client did."""
        named = [(name, value) for name, value in scope["headers"] if name in (b"host", b"accept")]
        ending = {**scope, "method": "DELETE", "headers": [*named, (SESSION.encode(), session.encode("latin-1"))]}

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def unheard(_: Message) -> None:
            pass

        await self._app(ending, nothing, unheard)
        self._serving.end_client(client_key(scope.get(PRINCIPAL, ""), {SESSION: session}))


def _mending(receive: Receive) -> Receive:
    """*receive*, with an answer that is nearly one made one: the SDK would refuse it, and a call go on waiting."""
    parts: list[Message] = []

    async def next_message() -> Message:
        if parts:
            return await receive()
        size = 0
        while not parts or (parts[-1].get("more_body") and size <= MAX_BODY):
            parts.append(await receive())
            size += len(parts[-1].get("body", b""))
        body = b"".join(part.get("body", b"") for part in parts)
        told = message_of(body) if size <= MAX_BODY and b'"method"' not in body else None
        last = parts[-1]
        parts[:] = [{}]
        return {**last, "body": body if told is None else json.dumps(told).encode()}

    return next_message


def _elsewhere(headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
    """Why a request is refused: it was sent to another name, or by the page of another machine. None: it is not."""
    told = [(name, value.decode("latin-1")) for name, value in headers]
    hosts, origins = ([value for name, value in told if name == wanted] for wanted in (b"host", b"origin"))
    if len(hosts) != 1 or not _HERE.fullmatch(hosts[0]):
        return 421, "this is served to this machine, by its own names only"
    if not all(origin.startswith("http://") and _HERE.fullmatch(origin[len("http://") :]) for origin in origins):
        return 403, "a page of another machine may not ask for this"
    return None


def _user(principal: str) -> AuthenticatedUser:
    """As the SDK knows who may use a session: whoever has begun it."""
    return AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[]))


async def _refuse(send: Send, status: int, why: str) -> None:
    body = json.dumps({"error": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def http_app(
    executor: Executor | Callable[[str], Executor], options: ServeOptions | None = None, *, tokens: Tokens | None = None
) -> Any:
    """
    An ASGI app that serves an executor at ``/mcp``, for a host that has a server of its own.

    It answers only to the names of this machine (``Host`` and ``Origin`` are checked).

    Args:
        executor: One for all who call, or a function that makes one for each principal, asked on another thread, for
            one principal at a time. They stay yours to shut down.
        tokens: Who may call. None: whoever reaches the app; then all are one.
    """
    executor_of: Callable[[str], Executor] = executor if callable(executor) else lambda _: executor
    serving = Serving(executor_of, options or ServeOptions())
    checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # by `_Guard`
    app = serving.server.streamable_http_app(
        streamable_http_path=PATH, max_request_body_size=MAX_BODY, transport_security=checked
    )
    inner = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def lifespan(of: Any) -> AsyncIterator[Any]:
        async with inner(of) as state:
            try:
                yield state
            finally:
                await serving.close()

    app.router.lifespan_context = lifespan
    return _Guard(app, tokens, serving)


def serve_http(
    executor: Executor | Callable[[str], Executor],
    options: ServeOptions | None = None,
    *,
    tokens: Tokens,
    host: str = "127.0.0.1",
    port: int = 0,
    ready: Callable[[str], object] | None = None,
) -> int | None:
    """
    Serve over HTTP until Ctrl-C or SIGTERM.

    Args:
        executor: As for `http_app`.
        host: An address of this machine that others cannot reach.
        port: 0 takes any that is free.
        ready: Told the URL once requests are taken.

    Returns:
        The signal that came.

    Raises:
        ValueError: Others could reach the address: without TLS they could read the tokens.
        OSError: The port is taken.
    """
    if not _is_loopback(host):
        raise ValueError(
            f"{host} can be reached by others, who could read the tokens: serve on 127.0.0.1, behind a proxy with TLS"
        )
    with _listening(host, port) as listening:
        if ready is not None:
            shown = f"[{host}]" if ":" in host else host
            ready(f"http://{shown}:{listening.getsockname()[1]}{PATH}")
        return asyncio.run(_serve(http_app(executor, options, tokens=tokens), listening))


def _listening(host: str, port: int) -> socket.socket:
    import socket

    # With its protocol named: asyncio sends small answers at once only where it knows that it is TCP. Else each waits
    # for the client's word that the part before it has come, 40 ms later.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # there it would let others take the port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made


async def _serve(app: ASGIApp, listening: socket.socket) -> int | None:
    import uvicorn

    from executor.mcp.serving._protocol import protocol

    class Server(uvicorn.Server):
        """Its own handling of signals would end the process before anything is put in order."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

        def stop(self) -> None:
            """End as soon as what runs has been answered."""
            self.should_exit = True

    config = uvicorn.Config(
        app,
        http=protocol(most_connections()),
        access_log=False,
        log_level="error",  # warnings are of what strangers send, as often as they like
        timeout_graceful_shutdown=CLOSE_SECONDS,
    )
    server, log = Server(config), logging.getLogger("uvicorn.error")
    log.addFilter(_is_worth_telling)
    try:
        with on_signals(server.stop) as stopped:
            await server.serve(sockets=[listening])
    finally:
        log.removeFilter(_is_worth_telling)
    return stopped[0] if stopped else None


def _is_worth_telling(record: logging.LogRecord) -> bool:
    """Streams that are still open when a server ends are cut off: that is no error of anybody's."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, asyncio.CancelledError) and not str(record.msg).startswith("Cancel %s running")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

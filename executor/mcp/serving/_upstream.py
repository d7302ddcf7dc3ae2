"""
A running ``serve --http``, as `connect` reaches it: what a message is sent with, and what is wrong, in words.

The package ``mcp`` is not imported: a bridge is started by every assistant, and that is most of what a start costs.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ipaddress
import json
import re
import secrets
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2

from executor.httpclient import http_client
from executor.sockets import stranger_at

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

VERSION = "io.modelcontextprotocol/protocolVersion"  # in the _meta of requests since 2026-07-28
MAX_EVENT = 64 * 1024 * 1024  # bytes of one message
CONNECT_SECONDS = 5.0
MOST_CONNECTIONS = 256  # requests at once; the others wait for their turn
PATIENCE = 5.0  # seconds for which a server that is just being started, or started again, is waited for
TRY_EVERY = 0.2
LAST_SECONDS = 0.3  # for the word that this client is gone
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN = re.compile(r"[\x20-\x7e]*")
_ENCODED = re.compile(r"=\?base64\?.*\?=")


class UpstreamError(Exception):
    """
    Why a message was not answered, and what to do.

    Attributes:
        lost: The server does not know the session any more; it has not looked at the message.
    """

    def __init__(self, message: str, *, lost: bool = False) -> None:
        super().__init__(message)
        self.lost = lost


class Upstream:
    """
    The server.

    Args:
        token_from: Where the token is from, for errors.

    Attributes:
        session: Its id of the connection, in the older era; None before.
        version: The revision that was agreed on in that era.

    Raises:
        ValueError: A token must not be sent to this URL.
    """

    def __init__(self, url: str, token: str, token_from: str) -> None:
        self.url = url
        self.session: str | None = None
        self.version: str | None = None
        self._host, self._port, here = _checked(url)
        self._here = here
        self._token_from = token_from
        # A proxy of the environment's would be told the token of a server on this machine.
        self._http = http_client(
            httpx2.AsyncClient,
            headers={"Authorization": f"Bearer {token}", "Toolexec-Client": secrets.token_urlsafe(16)},
            timeout=httpx2.Timeout(CONNECT_SECONDS, read=None, write=None, pool=None),
            limits=httpx2.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=20, keepalive_expiry=2.0),
            trust_env=not here,
        )

    async def messages(
        self, method: str, message: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> AsyncGenerator[dict[str, Any]]:
        """
        What comes as an answer, one message after another.

        Args:
            method: ``POST`` with a message, or ``GET``.

        Raises:
            UpstreamError: There is none, or it broke off.
        """
        body = None if message is None else json.dumps(message).encode()
        request = self._http.build_request(method, self.url, content=body, headers=self._headers(headers))
        response = await self._sent(request)
        try:
            if response.status_code >= 400:
                yield await self._error(response)
                return
            if message is not None and message.get("method") == "initialize":
                self.session = response.headers.get("Mcp-Session-Id")
            if "text/event-stream" not in response.headers.get("content-type", ""):
                text = await response.aread()
                if text:
                    yield _object(text)
                return
            async for event in httpx2.EventSource(response, max_event_size=MAX_EVENT):
                if event.data:
                    yield _object(event.data)
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.SSEError) as error:
            raise UpstreamError(
                f"The connection to {self.url} broke off: make the call again ({_said(error)})"
            ) from error
        finally:
            await response.aclose()

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        told = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **more}
        if "MCP-Protocol-Version" not in told and self.session is not None:
            told |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.version or ""}
        return told

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        """The beginning of an answer. One that does not listen yet is waited for: it has seen nothing."""
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE
        while True:
            self._refuse_others()
            try:
                return await self._http.send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                if (refused := _tls_error(error)) is not None:
                    words = f"What answers at {self.url} cannot be trusted: look at its certificate, and at the address"
                    raise UpstreamError(f"{words} ({refused})") from error
                if loop.time() > until:
                    raise UpstreamError(
                        f"Nothing answers at {self.url}: start it with "
                        f"'toolexec serve --http {self._host}:{self._port} --proxy', and try again ({_said(error)})"
                    ) from error
            except httpx2.HTTPError as error:
                raise self._broke_off(error) from error
            await asyncio.sleep(TRY_EVERY)  # it is another process: nobody tells when it is there

    def _broke_off(self, error: Exception) -> UpstreamError:
        return UpstreamError(f"The connection to {self.url} broke off: make the call again ({_said(error)})")

    def _refuse_others(self) -> None:
        """Raises UpstreamError where somebody else listens there: the token is for one's own server only."""
        owner = stranger_at(self._port) if self._here else None
        if owner is not None:
            raise UpstreamError(f"Another user (uid {owner}) listens at {self.url}: it is not told the token")

    async def _error(self, response: httpx2.Response) -> dict[str, Any]:
        """The error of JSON-RPC that an answer is. Raises UpstreamError where it is none, or the session is lost."""
        status, said = response.status_code, None
        with contextlib.suppress(ValueError):
            said = json.loads(await response.aread())
        if status == 404 and "Mcp-Session-Id" in response.request.headers:
            raise UpstreamError(f"{self.url} was started again", lost=True)
        if isinstance(said, dict) and isinstance(said.get("error"), dict):
            return said
        known = {
            401: f"{self.url} refuses the token of {self._token_from}: give the file that it names when it starts",
            403: f"{self.url} refuses who asks (its Origin)",
            404: f"There is no MCP server at {self.url}: the URL of 'toolexec serve --http' ends in /mcp",
            413: f"The message is longer than {self.url} takes (4 MiB): pass a path, or less",
            421: f"{self.url} answers to other names than {self._host}: use the URL that 'toolexec serve --http' shows",
            503: f"{self.url} has too many connections: close other assistants, and try again",
        }
        raise UpstreamError(known.get(status, f"{self.url} has answered with the status {status}"))

    async def leave(self) -> None:
        """Say that this client is gone, if there is somebody to hear it, and close the connections."""
        with contextlib.suppress(httpx2.HTTPError, TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await self._http.delete(self.url, headers=self._headers({}))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await self._http.aclose()


def modern_version(message: Mapping[str, Any]) -> str | None:
    """The revision that a request of the era since 2026-07-28 says; None for the older ones."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(VERSION) if isinstance(meta, dict) else None
    return version if isinstance(version, str) else None


def modern_headers(
    message: Mapping[str, Any], version: str, arguments: Mapping[tuple[str, ...], str]
) -> dict[str, str]:
    """
    What stands in the head of such a request too.

    Args:
        arguments: Of the tool that is called: the headers that repeat its arguments, by their places.
    """
    params, method = message.get("params") or {}, str(message.get("method"))
    told = {"MCP-Protocol-Version": _encoded(version), "Mcp-Method": _encoded(method)}
    name = params.get("taskId" if method.startswith("tasks/") else _NAMED.get(method, ""))
    if isinstance(name, str):
        told["Mcp-Name"] = _encoded(name)
    for place, header in arguments.items():
        value: Any = params.get("arguments")
        for key in place:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str | int | float):
            told[f"Mcp-Param-{header}"] = _encoded(json.dumps(value) if isinstance(value, bool) else str(value))
    return told


def header_arguments(schema: object, place: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    """The arguments that are repeated in headers, as a tool's schema says it (``x-mcp-header``)."""
    found: dict[tuple[str, ...], str] = {}
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, inner in properties.items() if isinstance(properties, dict) and len(place) < 20 else ():
        if isinstance(inner, dict) and re.fullmatch(r"[\w!#$%&'*+.^`|~-]{1,100}", str(inner.get("x-mcp-header", ""))):
            found[*place, name] = inner["x-mcp-header"]
        found |= header_arguments(inner, (*place, name))
    return found


def _encoded(value: str) -> str:
    """As it may stand in a header."""
    if _PLAIN.fullmatch(value) and value == value.strip() and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode('ascii')}?="


def _object(text: str | bytes) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except ValueError as error:
        raise UpstreamError(f"The answer is no JSON: {error}") from error
    if not isinstance(told, dict):
        raise UpstreamError("The answer is no message of MCP")
    return told


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    """What TLS has refused, if it was that."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def _checked(url: str) -> tuple[str, int, bool]:
    """Host, port, and whether that is this machine. Raises ValueError where others could read the token."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise ValueError(f"{url}: it is no URL: {error}") from error
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not host or parts.username is not None:
        raise ValueError(f"{url}: write http://127.0.0.1:8765/mcp, as 'toolexec serve --http' shows it")
    here = host == "localhost"
    with contextlib.suppress(ValueError):
        here = here or ipaddress.ip_address(host).is_loopback
    if parts.scheme == "http" and not here:
        raise ValueError(f"{url}: the token would be sent to {host} in the clear: use https, or a tunnel to 127.0.0.1")
    return host, port, here

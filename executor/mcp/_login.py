"""A person logs in to a server: sent to a page, and awaited on the loopback interface."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult

from executor.errors import BackendUnavailableError
from executor.httpclient import http_client
from executor.mcp._http import as_bytes
from executor.mcp._oauth import Login, Storage
from executor.sockets import is_strange

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.mcp._values import ServerConfig

LOGIN_SECONDS = 300.0  # for a person to log in
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "toolexec", "version": "0"}},
}
_PAGE = (
    "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n"
    "Connection: close\r\n\r\n{text}"
)


def login(config: ServerConfig, send: Callable[[str], object], *, timeout: float = LOGIN_SECONDS) -> bool:
    """
    Log in to a server, and keep the tokens.

    Args:
        send: Sends the person to a URL.
        timeout: Seconds that the person may take.

    Returns:
        False where the server does not ask anybody to log in.

    Raises:
        BackendUnavailableError: It did not work out; the message says why.
    """
    try:
        return asyncio.run(_login(config, send, timeout))
    except TimeoutError:
        reason = f"nobody has logged in within {timeout:g} s"
    except (OAuthFlowError, httpx2.HTTPError, OSError) as error:
        reason = str(error) or type(error).__name__
    raise BackendUnavailableError(f"The MCP server {config.name!r}: no log-in: {reason}", started=False)


async def _login(config: ServerConfig, send: Callable[[str], object], timeout: float) -> bool:  # noqa: ASYNC109 -- of a person
    answered: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
    state: list[str] = []  # of the page that the person was sent to

    async def arrived(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The page's address, state included, stands among the arguments of the browser, which other users can read.
        if is_strange(writer.get_extra_info("peername"), writer.get_extra_info("sockname")):
            writer.close()
            return
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, IndexError):
            line = (await reader.readuntil(b"\r\n")).decode("latin-1")
            status, text = _heard(line.split(" ")[1], answered, state)
            writer.write(_PAGE.format(status=status, length=len(text), text=text).encode())
            await writer.drain()
        writer.close()

    wanted = (config.oauth or {}).get("callbackPort") or Storage(config).read().get("port") or 0
    server = await _listen(arrived, int(wanted))
    port = server.sockets[0].getsockname()[1]
    storage = Storage(config)
    if port != storage.read().get("port"):
        storage.path.unlink(missing_ok=True)  # whoever was registered with another port would be refused

    async def ask(url: str) -> AuthorizationCodeResult:
        state.append(parse_qs(urlsplit(url).query).get("state", [""])[0])
        send(url)
        async with asyncio.timeout(timeout):
            return await answered

    auth = Login(config, ask, port)
    try:
        made = http_client(httpx2.AsyncClient, auth=auth, headers=as_bytes(config.headers), timeout=30.0)
        async with made as client:
            headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
            async with client.stream("POST", config.url, json=_HELLO, headers=headers) as response:
                status = response.status_code
    finally:
        server.close()
    if not answered.done():
        if status < 400:
            return bool(storage.read().get("tokens"))  # logged in already, or it asks nobody
        raise OAuthFlowError(f"the server answered with HTTP {status}, and does not say how to log in")
    if status in (401, 403):
        storage.path.unlink(missing_ok=True)
        raise OAuthFlowError(f"the server does not take the token (HTTP {status})")
    auth.keep_servers(port)
    return True


async def _listen(arrived: Callable[..., object], port: int) -> asyncio.Server:
    try:
        return await asyncio.start_server(arrived, "127.0.0.1", port)  # type: ignore[arg-type]  # a coroutine function
    except OSError:
        return await asyncio.start_server(arrived, "127.0.0.1", 0)  # type: ignore[arg-type]  # as above


def _heard(target: str, answered: asyncio.Future[AuthorizationCodeResult], state: list[str]) -> tuple[str, str]:
    """What a browser is answered that brings what the person has said."""
    parts = urlsplit(target)
    told = {name: values[0] for name, values in parse_qs(parts.query).items()}
    if parts.path != "/callback" or not ("code" in told or "error" in told):
        return "404 Not Found", "There is nothing here."
    # Any page can send a browser here, and must not end the log-in by that. Some leave the state out of a refusal.
    if told.get("state") not in state and not ("error" in told and "state" not in told):
        return "404 Not Found", "This is not the answer to what was asked."
    if answered.done():
        return "200 OK", "This was answered before."
    if "error" in told:
        why = told.get("error_description") or told["error"]
        answered.set_exception(OAuthFlowError(f"it was refused: {why}"))
        return "200 OK", "It was refused. You can close this page."
    answered.set_result(AuthorizationCodeResult(code=told["code"], state=told.get("state"), iss=told.get("iss")))
    return "200 OK", "You are logged in. You can close this page."

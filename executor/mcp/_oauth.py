"""Who calls servers that others run (OAuth 2.1): tokens on disk, used and renewed without a person."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import time
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from executor._log import warn
from executor.httpclient import http_client
from executor.mcp._cache import replace_file
from executor.ownfolders import make_private, own_folder
from executor.wholefiles import locking

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from executor.mcp._values import ServerConfig

M = TypeVar("M", bound=BaseModel)
EARLY_SECONDS = 30.0  # before its end a token is renewed
EXPIRED = 1.0  # a point in time at which no token is valid any more
ANSWER_SECONDS = 30.0  # for an authorization server
CLOSE_SECONDS = 2.0  # for the answer to a renewal, when the connection ends that it is for
MOST_SAID = 1024 * 1024  # bytes of what is said of a log-in; the SDK reads all that comes


def tokens_path(config: ServerConfig) -> Path:
    """The file of a server's tokens, whether or not it exists."""
    name = hashlib.sha256(f"{config.name}\0{config.url}".encode()).hexdigest()[:32]
    return own_folder("data") / "oauth" / f"{name}.json"


class Storage:
    """
    What is kept of a log-in, in a file that only its owner may read: the client as it was registered, tokens, and where
    they are renewed.

    Attributes:
        path: The file.
        known: The tokens that this process has last read in it, or written.
    """

    def __init__(self, config: ServerConfig) -> None:
        self.path = tokens_path(config)
        self.known: Any = None
        self._oauth = config.oauth or {}

    def read(self) -> dict[str, Any]:
        """All of it; empty without a log-in, or if it cannot be read."""
        with contextlib.suppress(OSError, ValueError):
            told = json.loads(self.path.read_bytes())
            return told if isinstance(told, dict) else {}
        return {}

    def keep(self, **values: Any) -> None:
        """Add to it. Raises OSError."""
        make_private(self.path.parent)
        replace_file(self.path, json.dumps({**self.read(), **values}))  # made 0600

    async def get_tokens(self) -> OAuthToken | None:
        return _valid(OAuthToken, self.read().get("tokens"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        until = None if tokens.expires_in is None else time.time() + tokens.expires_in - EARLY_SECONDS
        told = _plain(tokens)
        try:
            self.keep(tokens=told, until=until)
            self.known = told
        except OSError as error:  # they serve this process all the same
            warn(f"Renewed tokens could not be kept ({error}): `toolexec mcp login` may be needed again", error=error)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client_of(self.read())

    def client_of(self, kept: dict[str, Any]) -> OAuthClientInformationFull | None:
        """The client, as it stands in what `read` gave, or is configured."""
        told = kept.get("client")
        if self._oauth.get("clientId"):
            secret = self._oauth.get("clientSecret") or None
            method = "client_secret_post" if secret else "none"
            told = {
                **(told if isinstance(told, dict) and told.get("client_id") == self._oauth["clientId"] else {}),
                "client_id": self._oauth["clientId"],
                "client_secret": secret,
                "token_endpoint_auth_method": method,
            }
        return _valid(OAuthClientInformationFull, told)

    def forget_client(self) -> None:
        """The authorization server does not know the client any more, which it had registered. Raises OSError."""
        self.keep(client=None)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.keep(client=_plain(client_info))


class Login(httpx2.Auth):
    """
    Says who calls in every request; renews tokens that are too old or not taken any more.

    Args:
        ask: Sends a person to a URL, and gives what came back; None: nobody can be asked now.
        port: Of the loopback interface, where the answer is waited for.
    """

    requires_response_body = True

    def __init__(
        self,
        config: ServerConfig,
        ask: Callable[[str], Awaitable[AuthorizationCodeResult]] | None = None,
        port: int = 0,
    ) -> None:
        self._storage = Storage(config)
        self._ask = ask
        self._assumes_pkce = (config.oauth or {}).get("assumePkce") == "true"
        self._scope = str((config.oauth or {}).get("scope") or "") or None
        self._answer: AuthorizationCodeResult | None = None
        self._renewal: asyncio.Task[Exception | None] | None = None
        told = self._storage.read()
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(f"http://127.0.0.1:{port or told.get('port') or 1}/callback")],
            client_name="toolexec",
            scope=self._scope,
        )
        self._provider = OAuthClientProvider(
            config.url,
            metadata,
            self._storage,
            self._sent_to,
            self._came_back,
        )
        self._restore(told)

    def _restore(self, told: dict[str, Any]) -> None:
        """What the file has, of which the SDK reads a part, and that once."""
        self._storage.known = told.get("tokens")
        context = self._provider.context
        context.oauth_metadata = _valid(OAuthMetadata, told.get("authorization_server"))
        context.protected_resource_metadata = _valid(ProtectedResourceMetadata, told.get("resource"))
        context.auth_server_url = told.get("issuer")
        context.client_info = self._storage.client_of(told)
        context.current_tokens = _valid(OAuthToken, self._storage.known)
        context.token_expiry_time = told.get("until")

    async def _sent_to(self, url: str) -> None:
        assert self._ask is not None, "nobody is sent anywhere without"
        self._check_servers(url)
        if self._scope is not None:
            asked = httpx2.URL(url)
            url = str(asked.copy_merge_params({"scope": self._scope}))
        self._answer = await self._ask(url)

    def _check_servers(self, page: str) -> None:
        """Raises OAuthFlowError: what a person would be sent to, or the code and the tokens, is not safe with them."""
        metadata = self._provider.context.oauth_metadata
        places = [page, *([str(metadata.token_endpoint)] if metadata is not None else [])]
        for place in places:
            parts = urlsplit(place)
            if parts.scheme != "https" and not self._may_be_plain(parts.hostname):
                raise OAuthFlowError(
                    f"its log-in goes over {parts.scheme}:// to {parts.hostname}: it has to be https://"
                )
        offered = metadata.code_challenge_methods_supported or () if metadata is not None else ("S256",)
        if "S256" not in offered and not self._assumes_pkce:
            raise OAuthFlowError(
                "its authorization server does not say that it has PKCE with S256, without which somebody else could "
                'use the answer. If you know that it has: "oauth": {"assumePkce": true} in the entry'
            )

    def _may_be_plain(self, host: str | None) -> bool:
        own = urlsplit(self._provider.context.server_url)
        return host in ("localhost", "127.0.0.1", "::1") or (own.scheme == "http" and own.hostname == host)

    async def _came_back(self) -> AuthorizationCodeResult:
        assert self._answer is not None, "it was asked for before"
        return self._answer

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        # Within the SDK's flow no other request of this server can begin, and what is asked for may be answered when a
        # tool has done its work: so that flow is for what has to be sent besides, and the request goes by here.
        context = self._provider.context
        for last in (False, True):
            await self._renew(request)
            used = context.current_tokens
            if used is not None and context.is_token_valid():
                request.headers["Authorization"] = f"Bearer {used.access_token}"
            refusal = yield request
            if refusal.status_code not in (401, 403):
                return
            _limit(refusal)
            if last or not self._is_stale(refusal, used):
                break
        if self._ask is None:
            return
        answer: httpx2.Response | None = None
        async with contextlib.aclosing(self._provider.async_auth_flow(request)) as flow:
            outgoing = await anext(flow)
            while outgoing is not request or answer is None:
                answer = refusal if outgoing is request else await self._heard((yield _in_time(outgoing)))
                try:
                    outgoing = await flow.asend(answer)
                except StopAsyncIteration:  # a 403 that no log-in would change
                    return
        yield request  # a person has just logged in

    def _is_stale(self, refusal: httpx2.Response, used: OAuthToken | None) -> bool:
        """Whether what was refused was revoked, or is older than it said: before anybody is asked, others are used."""
        context = self._provider.context
        if refusal.status_code != 401 or not context.can_refresh_token():
            return False
        if context.current_tokens is used:
            context.token_expiry_time = EXPIRED
        return True

    async def _renew(self, request: httpx2.Request) -> None:
        """
        Have tokens that are not too old, where there are any. One renewal is for all who wait for it, and goes on when
        nobody does any more: many authorities take each token but once, so that what they answer must be kept.

        Raises:
            OAuthFlowError: It did not come to an answer.
        """
        if self._newest():
            return
        if self._renewal is None or self._renewal.done():
            first = httpx2.Request(request.method, request.url, headers=request.headers)
            self._renewal = asyncio.create_task(self._renewed(first))
        error = await asyncio.shield(self._renewal)
        if error is not None:
            raise OAuthFlowError(f"its tokens could not be renewed: {str(error) or type(error).__name__}") from error

    async def _renewed(self, request: httpx2.Request) -> Exception | None:
        """Renew the tokens, as before *request*. Returns what kept it from an answer."""
        try:
            with contextlib.ExitStack() as stack:
                try:
                    for pause in stack.enter_context(locking(self._storage.path.with_suffix(".lock"))):
                        await asyncio.sleep(pause)
                except TimeoutError:
                    raise
                except OSError:
                    pass  # a folder that cannot be written, in which nobody keeps any
                if not self._newest():
                    async with asyncio.timeout(ANSWER_SECONDS):
                        await self._ask_authority(request)
        except Exception as error:  # noqa: BLE001 -- of a disk, the network, an authorization server: no reason to end a session
            return error
        return None

    async def _ask_authority(self, request: httpx2.Request) -> None:
        async with (
            http_client(httpx2.AsyncClient, timeout=None) as client,
            contextlib.aclosing(self._provider.async_auth_flow(request)) as flow,
        ):
            outgoing = await anext(flow)
            while outgoing is not request:
                outgoing = await flow.asend(await self._heard(await client.send(outgoing, stream=True)))

    async def aclose(self) -> None:
        """Wait a moment for a renewal that is on its way."""
        if self._renewal is not None:
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await asyncio.wait({self._renewal})

    def _newest(self) -> bool:
        """Take the tokens that another process has kept. Returns whether there is nothing to be renewed."""
        told = self._storage.read()
        context = self._provider.context
        if told.get("tokens") != self._storage.known or context.current_tokens is None:
            self._restore(told)
        return context.is_token_valid() or not context.can_refresh_token()

    async def _heard(self, response: httpx2.Response) -> httpx2.Response:
        """What an authorization server has answered."""
        _limit(response)
        if await _knows_no_client(response):
            self._storage.forget_client()  # it is registered anew, rather than a person shown an error
            self._provider.context.client_info = None
        return response

    def keep_servers(self, port: int) -> None:
        """Keep where tokens are renewed, after a log-in."""
        context = self._provider.context
        self._storage.keep(
            port=port,
            issuer=context.auth_server_url,
            authorization_server=_plain(context.oauth_metadata),
            resource=_plain(context.protected_resource_metadata),
        )


def login_of(config: ServerConfig) -> Login | None:
    """What says who calls, for a server that somebody has logged in to; None for others."""
    has_own = any(name.lower() == "authorization" for name in config.headers)
    return None if has_own or not tokens_path(config).exists() else Login(config)


def logout(config: ServerConfig) -> bool:
    """Forget a log-in. Returns whether there was one. Raises OSError."""
    path = tokens_path(config)
    try:
        os.unlink(path)  # noqa: PTH108 -- with the error that says which
    except FileNotFoundError:
        return False
    return True


def _limit(response: httpx2.Response) -> None:
    """Have no more read of it than a log-in can have to say."""
    plain = response.aiter_bytes

    async def aiter_bytes(chunk_size: int | None = None) -> AsyncGenerator[bytes]:
        size = 0
        async with contextlib.aclosing(plain(chunk_size)) as parts:
            async for part in parts:
                size += len(part)
                if size > MOST_SAID:
                    raise OAuthFlowError(f"{response.url.host} says more than {MOST_SAID} bytes of its log-in")
                yield part

    response.aiter_bytes = aiter_bytes  # type: ignore[method-assign]  # all other ways of reading use it


def _in_time(request: httpx2.Request) -> httpx2.Request:
    """A request of the SDK's own, which has no time-out of the client's."""
    request.extensions["timeout"] = httpx2.Timeout(ANSWER_SECONDS).as_dict()
    return request


async def _knows_no_client(response: httpx2.Response) -> bool:
    """RFC 6749, section 5.2."""
    if response.status_code not in (400, 401):
        return False
    await response.aread()
    try:
        told = response.json()
    except ValueError:
        return False
    return isinstance(told, dict) and told.get("error") == "invalid_client"


def _plain(model: Any) -> Any:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)


def _valid(kind: type[M], told: Any) -> M | None:
    try:
        return None if told is None else kind.model_validate(told)
    except ValidationError:
        return None

"""Who a request says that calls: by the description's own schemes, and with tokens that are asked for."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from executor.errors import BackendUnavailableError, ToolFailedError
from executor_openapi._answer import body_of, json_of
from executor_openapi._reading import shown, where_tokens_are
from executor_openapi._settings import UnsetVariableError, variable

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2

    from executor_openapi._operations import Operation
    from executor_openapi._schemes import Scheme
    from executor_openapi._settings import Api, Auth

EARLY_SECONDS = 30.0  # before its end a token is not used any more
USUAL_SECONDS = 300.0  # of a token that does not say how long it lives
MOST_SECONDS = 86400  # of any token: what it says may be no time at all
MAX_ANSWER = 1 << 20  # bytes that are read of the answer with the token


def auths_of(operation: Operation, api: Api, schemes: Mapping[str, Scheme], server: str) -> list[Auth]:
    """
    All that a request has to say.

    Args:
        server: Where the service is.

    Raises:
        BackendUnavailableError: The operation wants something that is not configured, although other schemes are.
        DocumentError: Its token would be asked for where no secret may be sent.
    """
    found = list(api.auth)
    if not api.security or not operation.security:
        return found
    ready = [way for way in operation.security if all(name in api.security and name in schemes for name in way)]
    if not ready and not found:
        ways = " or ".join(" and ".join(way) for way in operation.security if way)
        raise BackendUnavailableError(
            f"{operation.method} {operation.path} wants {ways}: configure them under `security`", started=False
        )
    # Where several would do, the one whose secrets are there; its error names the missing one otherwise.
    is_set = [way for way in ready if way and all(os.environ.get(api.security[name].env) for name in way)]
    for way in (is_set or ready)[:1]:
        found += [_concrete(schemes[name], api.security[name], api, server) for name in way]
    return found


def _concrete(scheme: Scheme, auth: Auth, api: Api, server: str) -> Auth:
    if scheme.kind == "oauth2" and auth.client_id:
        scopes = auth.scopes or scheme.scopes
        token_url = auth.token_url or where_tokens_are(api, server, scheme.token_url)
        return replace(auth, kind="oauth2", token_url=token_url, scopes=scopes)
    return replace(auth, kind="bearer" if scheme.kind == "oauth2" else scheme.kind, name=scheme.name)


@dataclass(slots=True)
class _Token:
    text: str
    until: float


class Tokens:
    """The tokens that client credentials were exchanged for; used on the loop only."""

    def __init__(self) -> None:
        import asyncio  # 20 ms, paid by the first request

        self._tokens: dict[Auth, _Token] = {}
        # One for each: who waits for a service that does not answer keeps nobody from the tokens of another.
        self._asking: defaultdict[Auth, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def token(self, auth: Auth, client: httpx2.AsyncClient) -> str:
        """
        A token that is valid for a while yet.

        Raises:
            BackendUnavailableError: There is none to be had.
        """
        async with self._asking[auth]:
            known = self._tokens.get(auth)
            if known is None or known.until <= time.monotonic():
                known = self._tokens[auth] = await _asked(auth, client)
            return known.text

    def forget(self, auth: Auth, token: str) -> None:
        """The service does not take *token* any more; another call may have a newer one by now, which stays."""
        known = self._tokens.get(auth)
        if known is not None and known.text == token:
            del self._tokens[auth]


async def _asked(auth: Auth, client: httpx2.AsyncClient) -> _Token:
    """RFC 6749, section 4.4."""
    import httpx2

    where = shown(auth.token_url)
    try:
        credentials = variable(auth.client_id), auth.secret()
    except UnsetVariableError as unset:
        raise BackendUnavailableError(
            f"The variable {unset.args[0]}, which {where} wants, is not set: set it in the environment", started=False
        ) from None
    form = {"grant_type": "client_credentials"} | ({"scope": " ".join(auth.scopes)} if auth.scopes else {})
    try:
        status, told = await _answered(client, auth.token_url, data=form, auth=credentials)
        if status in (400, 401):  # some take them in the body only
            named = {"client_id": credentials[0], "client_secret": credentials[1]}
            status, told = await _answered(client, auth.token_url, data={**form, **named})
    except (httpx2.HTTPError, ValueError, RecursionError, ToolFailedError) as error:
        raise BackendUnavailableError(
            f"{where} gave no token: {error or type(error).__name__}", started=False
        ) from error
    token = told.get("access_token") if isinstance(told, dict) else None
    if not isinstance(token, str) or not token or not token.isprintable():
        raise BackendUnavailableError(f"{where} gave no token (HTTP {status})", started=False)
    lives = told.get("expires_in")
    seconds = min(max(lives, 0), MOST_SECONDS) if isinstance(lives, int | float) else USUAL_SECONDS
    return _Token(token, time.monotonic() + max(0.0, seconds - EARLY_SECONDS))


async def _answered(client: httpx2.AsyncClient, url: str, **sent: Any) -> tuple[int, Any]:
    """The status, and what a success says. Raises what `body_of` and `json_of` do, too."""
    async with client.stream("POST", url, **sent) as response:
        if not response.is_success:
            return response.status_code, None
        body = await body_of(shown(url), response, MAX_ANSWER)
        return response.status_code, json_of(body, response.charset_encoding)

"""An authorization server and a server that wants its tokens, both made with the SDK, on loopback; and a person."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import secrets
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

import httpx2
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette

from executor.mcp import parse_entry

_spec = importlib.util.spec_from_file_location("mcp_web", Path(__file__).with_name("web.py"))
_web = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_web)


class Authority:
    """What an authorization server has to decide and to remember; everything else of it is the SDK's."""

    def __init__(self):
        self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}
        self.asked, self.renewed, self.lives, self.audience = [], 0, 3600, None
        self.may_renew = lambda: None

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        self.asked.append(params)
        code = secrets.token_hex(16)
        self.codes[code] = AuthorizationCode(
            code=code,
            client_id=client.client_id,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return f"{params.redirect_uri}?{urlencode({'code': code, 'state': params.state or ''})}"

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self._tokens(client, authorization_code.scopes, authorization_code.resource)

    def _tokens(self, client, scopes, resource):
        self.resource = resource
        access, refresh = secrets.token_hex(16), secrets.token_hex(16)
        self.access[access] = AccessToken(
            token=access, client_id=client.client_id, scopes=scopes, resource=self.audience or resource
        )
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client.client_id, scopes=scopes)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.lives, scope=" ".join(scopes))

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        self.renewed += 1
        await asyncio.to_thread(self.may_renew)
        del self.refresh[refresh_token.token]  # each is taken once
        return self._tokens(client, scopes, self.resource)

    async def load_access_token(self, token):
        return self.access.get(token)

    async def verify_token(self, token):
        return self.access.get(token)

    async def revoke_token(self, token):
        self.access.pop(token.token, None)


@contextlib.contextmanager
def guarded():
    """The authority, and a server (`config`) that takes its tokens only."""
    authority = Authority()
    auth, resource = _web.Served(), _web.Served()
    options = ClientRegistrationOptions(enabled=True, valid_scopes=["use"], default_scopes=["use"])
    auth.start(Starlette(routes=create_auth_routes(authority, AnyHttpUrl(auth.url), None, options)), lifespan="off")
    settings = AuthSettings(
        issuer_url=AnyHttpUrl(auth.url),
        resource_server_url=AnyHttpUrl(f"{resource.url}/mcp"),
        required_scopes=["use"],
        validate_token_resource=True,
    )
    server = MCPServer("guarded", log_level="CRITICAL", token_verifier=authority, auth=settings)
    server.add_tool(lambda text: text, name="echo")
    authority.server = server
    resource.start(server.streamable_http_app(json_response=True))  # an answer begins when the tool has done its work
    authority.config = parse_entry("guarded", {"url": f"{resource.url}/mcp"})
    yield authority
    resource.stop()
    auth.stop()


def browser(url):
    """What a person does: opens the page, which sends them back at once."""

    def visit():
        with httpx2.Client() as client:
            answer = client.get(url)
            with contextlib.suppress(httpx2.ConnectError):  # nobody waits any more
                client.get(answer.headers["location"])

    thread = threading.Thread(target=visit, daemon=True)
    thread.start()

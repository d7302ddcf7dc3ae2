"""Which requests are answered at all, and the headers of every answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor_console._connection import LET_IN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from executor_console._sessions import Sessions

OPEN = "/api/session"  # where a code is exchanged: the one request of the API without a session
MAX_BODY = 4 * 1024 * 1024  # bytes of one request
HEADERS: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_RAW = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """
    Lets only the page itself in, opened by this user.

    Every program of this user can reach the port, web pages in the browser included: by the name of another host (DNS
    rebinding), from another origin, or by a guess. Other users do not come so far; see `_connection`.

    Args:
        app: What is behind.
        host: The one name by which it is called: ``127.0.0.1:PORT``.
        sessions: Who may use the API.
    """

    def __init__(self, app: ASGIApp, host: str, sessions: Sessions) -> None:
        self._app = app
        self._host = host
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_RAW]}
            await send(message)

        refused = self._refusal(scope)
        if refused is None:
            await self._app(scope, receive, headed)
            return
        status, why = refused
        from starlette.responses import JSONResponse

        await JSONResponse({"error": why}, status)(scope, receive, headed)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """The status, and why the request is refused; None for one that is answered."""
        headers = _Headers(scope["headers"])
        host, origin, site = (headers.one(name) for name in ("host", "origin", "sec-fetch-site"))
        own = f"http://{self._host}"
        api, post = scope["path"].startswith("/api/"), scope["method"] == "POST"
        opened = not api and headers.one("sec-fetch-mode") == "navigate"  # from the file that leads to the page
        if host != self._host:
            return 421, f"the page is at {own} only"
        if scope["method"] not in ("GET", "POST"):
            return 405, "GET or POST"
        if origin not in (None, own) or (post and origin is None):
            return 403, "another page may not ask for this"
        if site not in (None, "same-origin") and not opened:
            return 403, "another site may not ask for this"
        if post and not (headers.one("content-type") or "").startswith("application/json"):
            return 415, "the body has to be application/json"
        if post and not 0 <= headers.length <= MAX_BODY:
            return 413, f"the body has to say its length, of at most {MAX_BODY} bytes"
        if api and scope["path"] != OPEN:
            if not self._sessions.knows(headers.one("authorization")):
                return 401, "this session has ended: open the page anew by 'toolexec console'"
            scope["state"][LET_IN]()
        return None


class _Headers:
    """The headers of a request, those that come twice for none that fits."""

    def __init__(self, raw: list[tuple[bytes, bytes]]) -> None:
        self._raw = raw

    def one(self, name: str) -> str | None:
        """The value of a header; None if it is missing, and something that nothing equals where it comes twice."""
        found = [value.decode("latin-1") for key, value in self._raw if key == name.encode()]
        return "\n".join(found) if found else None

    @property
    def length(self) -> int:
        """Of the body, as the request says; -1 where it does not."""
        text = self.one("content-length") or ""
        return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else -1

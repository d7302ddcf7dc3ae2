"""Who is at the other end: what a request says of its client."""

from __future__ import annotations

import contextvars
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from executor.mcp._tasks import TasksExtension

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

TASKS = TasksExtension.identifier
FOLLOWING: dict[str, Any] = {"extensions": {TASKS: {}}}  # what a client declares that may be answered with a task
PRINCIPAL = "toolexec.principal"  # where a request over HTTP carries who sent it, in its ASGI scope; and there
OPEN = "toolexec.open"  # what is to be called when it ends before it is answered
SESSION = "mcp-session-id"
CLIENT_HEADER = "toolexec-client"  # by which `serve --connect` tells its clients apart
_principal: contextvars.ContextVar[str] = contextvars.ContextVar("executor_principal", default="")
_CLIENT = re.compile(r"[A-Za-z0-9_-]{1,64}")


def principal_of(context: Any) -> str:
    """Who sent the request; "" on stdio."""
    request = context.request
    return str(request.scope.get(PRINCIPAL, "")) if request is not None else ""


@contextmanager
def request_of(principal: str) -> Iterator[None]:
    """While it is entered, the running context answers a request of *principal*."""
    before = _principal.set(principal)
    try:
        yield
    finally:
        _principal.reset(before)


def current_principal() -> str:
    """Who sent the request that is being answered, where there is no context of the SDK's that says it."""
    return _principal.get()


def client_of(context: Any) -> str:
    """
    What tells the client from others: its session, or the id that ``serve --connect`` gives itself; "" on stdio, where
    there is one. Requests of the newer era without such an id are those of one client for each principal.
    """
    request = context.request
    return "" if request is None else client_key(principal_of(context), request.headers)


def client_key(principal: str, headers: Mapping[str, str]) -> str:
    """See `client_of`."""
    told = headers.get(SESSION) or headers.get(CLIENT_HEADER) or ""
    return f"{principal}/{told if _CLIENT.fullmatch(told) else ''}"


def principal_name(client: str) -> str:
    """Whose client it is; see `client_key`."""
    return client.partition("/")[0]


def crowded(clients: Collection[str]) -> str:
    """
    Which of too many clients, the oldest first, is to go: the oldest of the principal that has most. A client chooses
    its name, but not its principal.
    """
    has = Counter(map(principal_name, clients))
    most = max(has.values())
    return next(client for client in clients if has[principal_name(client)] == most)


@contextmanager
def gone(context: Any, fn: Callable[[], object]) -> Iterator[None]:
    """While it is entered, call *fn* when a request over HTTP ends: nobody reads the answer to it any more."""
    asked = context.request.scope.get(OPEN) if context.request is not None else None
    if asked is None:
        yield
        return
    asked.append(fn)
    try:
        yield
    finally:
        asked.remove(fn)


def is_modern(context: Any) -> bool:
    """Whether the request is of the era since 2026-07-28, in which the server cannot call the client."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def can_elicit(context: Any) -> bool:
    """Whether the client shows forms."""
    told = context.session.client_capabilities
    if told is None or told.elicitation is None:
        return False
    # Before 2025-11-25, and from clients that say no more than {}, it is forms that are meant.
    return told.elicitation.form is not None or told.elicitation.url is None


def follows_tasks(context: Any) -> bool:
    """Whether the client may be answered with a task."""
    return is_modern(context) and declares(context, FOLLOWING)


def declares(context: Any, needed: Mapping[str, Any]) -> bool:
    """Whether the client has declared these capabilities."""
    told = context.session.client_capabilities
    return told is not None and _has(told.model_dump(by_alias=True, mode="json", exclude_none=True), needed)


def _has(told: object, needed: Mapping[str, Any]) -> bool:
    return isinstance(told, dict) and all(
        name in told and (not isinstance(inner, Mapping) or _has(told[name], inner)) for name, inner in needed.items()
    )


def named(needed: Mapping[str, Any]) -> list[str]:
    """The capabilities, for a person."""
    return [name for key, inner in needed.items() for name in (inner if key == "extensions" else [key])]


def client_name(context: Any) -> str | None:
    """How the client calls itself: a label, which proves nothing."""
    told = context.session.client_params
    return str(told.client_info.name)[:100] if told is not None and told.client_info is not None else None

"""The plugin's configuration."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

MAX_ANSWER = 10 * 1024 * 1024  # bytes; a model cannot take in more, and a service may send without end

AuthKind: TypeAlias = Literal["bearer", "header", "query", "basic"]
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Auth:
    """
    How a request says who calls. The secret itself stands in the environment, never in a file of ours.

    Attributes:
        env: The variable that holds the secret (for ``basic``: ``user:password``); read for each request.
        name: The header or query parameter; for ``header`` and ``query`` only.
    """

    kind: AuthKind
    env: str
    name: str = ""

    def secret(self) -> str | None:
        """The secret, or None while the variable is not set."""
        return os.environ.get(self.env) or None


@dataclass(frozen=True, slots=True)
class Api:
    """
    One service.

    Attributes:
        document: Its OpenAPI description: the path of a file, or a URL.
        server: Where it is; every request goes there and nowhere else. None: the document's first server, for a
            document that is a file; the document's own origin, for a URL.
        auth: How requests say who calls.
        headers: Further headers of every request.
        timeout: Seconds after which a call is given up.
        threshold: Seconds after which a call goes to the background; None never.
        max_answer: Bytes that an answer may have.
        include: The operation ids that become tools; empty: all.
    """

    document: str
    server: str | None = None
    auth: Auth | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 60.0
    threshold: float | None = 10.0
    max_answer: int = MAX_ANSWER
    include: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: object, where: str = "api") -> Api:
        """
        The service that *config* describes.

        Raises:
            ValueError: A key is unknown, or its value does not fit; the message says what would.
        """
        table = _table(where, config)
        known = [f.name for f in fields(cls)]
        for key in table:
            if key not in known:
                raise _wrong(f"{where}.{key}", f"is unknown: use {', '.join(known)}")
        document = table.get("document")
        if not isinstance(document, str) or not document:
            raise _wrong(f"{where}.document", "is missing: give the path or URL of an OpenAPI description")
        if "://" in document:
            _check_url(f"{where}.document", document)
        server = table.get("server")
        if server is not None:
            _check_url(f"{where}.server", server)
        headers = _table(f"{where}.headers", table.get("headers", {}))
        include = table.get("include", ())
        if not isinstance(include, list | tuple):
            raise _wrong(f"{where}.include", "is no list of operation ids")
        threshold = table.get("threshold", 10.0)
        return cls(
            document=document,
            server=server,
            auth=_auth(f"{where}.auth", table["auth"]) if table.get("auth") is not None else None,
            headers={str(name): str(value) for name, value in headers.items()},
            timeout=_number(f"{where}.timeout", table.get("timeout", 60.0)),
            threshold=None if threshold is None else _number(f"{where}.threshold", threshold, least=0.0),
            max_answer=int(_number(f"{where}.max_answer", table.get("max_answer", MAX_ANSWER), least=1)),
            include=tuple(str(name) for name in include),
        )


def read_settings(config: Mapping[str, Any]) -> dict[str, Api]:
    """
    The services by name.

    Raises:
        ValueError: As `Api.of`.
    """
    for key in config:
        if key != "apis":
            raise ValueError(f"executor_openapi: unknown key {key!r}: use apis")
    apis = _table("apis", config.get("apis", {}))
    for name in apis:
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise _wrong(f"apis.{name}", "is no name for a service: use letters, digits, '_', '.' and '-'")
    return {name: Api.of(table, f"apis.{name}") for name, table in apis.items()}


def report(api: str, problem: str) -> None:
    """Say that something of a service cannot be used; everything else can."""
    import logging  # 8 ms, and most processes never warn

    logging.getLogger("executor").warning("The OpenAPI service %r: %s", api, problem)


def _wrong(key: str, problem: str) -> ValueError:
    return ValueError(f"executor_openapi: {key} {problem}")


def _table(where: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(where, f"is {value!r}, not a table")
    return value


def _check_url(where: str, value: object) -> None:
    parts = urlsplit(value) if isinstance(value, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise _wrong(where, "is no http:// or https:// URL")
    if parts.username is not None or parts.password is not None:
        raise _wrong(
            where, 'has a user or password in it: take them out, and give auth = {kind = "basic", env = "VAR"}'
        )


def _auth(where: str, value: object) -> Auth:
    table = _table(where, value)
    kind, env, name = table.get("kind"), table.get("env"), table.get("name", "")
    for key in table:
        if key not in ("kind", "env", "name"):
            raise _wrong(f"{where}.{key}", "is unknown: use kind, env, name")
    if kind not in ("bearer", "header", "query", "basic"):
        raise _wrong(f"{where}.kind", f"is {kind!r}: use bearer, header, query or basic")
    if not isinstance(env, str) or _VARIABLE.fullmatch(env) is None:
        raise _wrong(f"{where}.env", "must be the name of the environment variable that holds the secret")
    if kind in ("header", "query") and not (isinstance(name, str) and name):
        raise _wrong(f"{where}.name", f"is missing: which {kind} takes the secret?")
    return Auth(kind, env, name)


def _number(where: str, value: object, *, least: float | None = None) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _wrong(where, f"is {value!r}, not a number")
    if value < (least or 0) or (least is None and value == 0):
        raise _wrong(where, f"is {value!r}: give {'more than 0' if least is None else f'{least:g} or more'}")
    return float(value)

"""The plugin's configuration."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard, get_args
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_ANSWER = 10 * 1024 * 1024  # bytes; a model cannot take in more, and a service may send without end

AuthKind: TypeAlias = Literal["bearer", "header", "query", "cookie", "basic", "oauth2"]
REFRESH_SECONDS = 3600.0  # for so long a description that was fetched from a URL is not asked for again
_KINDS = get_args(AuthKind)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")


class UnsetVariableError(Exception):
    """A variable that a request needs is not in the environment; the first argument is its name."""


@dataclass(frozen=True, slots=True)
class Auth:
    """
    How a request says who calls. The secret itself stands in the environment, never in a file of ours.

    Attributes:
        kind: ``oauth2`` exchanges client credentials for a token at `token_url`.
        env: The variable that holds the secret (for ``basic``: ``user:password``; for ``oauth2``: the client's secret);
            read for each request.
        name: The header, query parameter or cookie; for ``header``, ``query`` and ``cookie`` only.
        client_id: The variable that holds the client's id; for ``oauth2`` only.
        token_url: For ``oauth2`` only.
        scopes: For ``oauth2`` only.
    """

    kind: AuthKind
    env: str
    name: str = ""
    client_id: str = ""
    token_url: str = ""
    scopes: tuple[str, ...] = ()

    def secret(self) -> str:
        """The secret, without space around it, as a file that it was read from may have. Raises UnsetVariableError."""
        return variable(self.env).strip()


@dataclass(frozen=True, slots=True)
class Api:
    """
    One service.

    Attributes:
        document: Its OpenAPI description: the path of a file, or a URL.
        server: Where it is; every request goes there and nowhere else. None: what the document says, for a document
            that is a file; the document's own origin, for a URL.
        auth: How requests say who calls; all of them together.
        security: The secrets of the document's own security schemes, by their names.
        headers: Further headers of every request; ``${VAR}`` is the variable of the environment.
        timeout: Seconds after which a call is given up.
        threshold: Seconds after which a call goes to the background; None never.
        max_answer: Bytes that an answer may have.
        include, exclude: The operation ids that become tools, and those that do not: names or patterns with ``*``.
        tags, methods, paths: Operations that have none of these become no tools; patterns for paths.
        downloads: The folder for answers that are no text; by default they come as base64.
        answer_headers: Headers of the answer that a call gives beside its body.
        refresh: Seconds for which a description from a URL is not fetched again.
        problem: Why it cannot be used, or None.
    """

    document: str
    server: str | None = None
    auth: tuple[Auth, ...] = ()
    security: Mapping[str, Auth] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 60.0
    threshold: float | None = 10.0
    max_answer: int = MAX_ANSWER
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    downloads: str | None = None
    answer_headers: tuple[str, ...] = ()
    refresh: float = REFRESH_SECONDS
    problem: str | None = None

    @classmethod
    def of(cls, config: object, where: str = "api") -> Api:
        """
        The service that *config* describes.

        Raises:
            ValueError: A key is unknown, or its value does not fit; the message says what would.
        """
        table = _table(where, config)
        known = [f.name for f in fields(cls) if f.name != "problem"]
        for key in table:
            if key not in known:
                raise _wrong(f"{where}.{key}", f"is unknown: use {', '.join(known)}")
        document = table.get("document")
        if not isinstance(document, str) or not document:
            raise _wrong(f"{where}.document", "is missing: give the path or URL of an OpenAPI description")
        if "://" in document:
            _check_url(f"{where}.document", document)
        if table.get("server") is not None:
            _check_url(f"{where}.server", table["server"])
        downloads = table.get("downloads")
        if downloads is not None and not isinstance(downloads, str):
            raise _wrong(f"{where}.downloads", f"is {downloads!r}, not the path of a folder")
        lists: dict[str, Any] = {
            key: _texts(f"{where}.{key}", table.get(key, ()))
            for key in ("include", "exclude", "tags", "methods", "paths", "answer_headers")
        }
        threshold = table.get("threshold", 10.0)
        return cls(
            document=document,
            server=table.get("server"),
            auth=_auths(f"{where}.auth", table.get("auth")),
            security=_security(f"{where}.security", table.get("security", {})),
            headers={str(k): str(v) for k, v in _table(f"{where}.headers", table.get("headers", {})).items()},
            timeout=_number(f"{where}.timeout", table.get("timeout", 60.0)),
            threshold=None if threshold is None else _number(f"{where}.threshold", threshold, least=0.0),
            max_answer=int(_number(f"{where}.max_answer", table.get("max_answer", MAX_ANSWER), least=1)),
            downloads=downloads,
            refresh=_number(f"{where}.refresh", table.get("refresh", REFRESH_SECONDS), least=0.0),
            **{**lists, "methods": tuple(method.upper() for method in lists["methods"])},
        )

    def wants(self, name: str, method: str, path: str, tags: Sequence[object]) -> bool:
        """Whether an operation becomes a tool."""
        if self.include and not any(fnmatchcase(name, pattern) for pattern in self.include):
            return False
        if any(fnmatchcase(name, pattern) for pattern in self.exclude):
            return False
        if self.tags and not any(tag in self.tags for tag in tags):
            return False
        if self.methods and method.upper() not in self.methods:
            return False
        return not self.paths or any(fnmatchcase(path, pattern) for pattern in self.paths)


def variable(name: str) -> str:
    """A variable of the environment. Raises UnsetVariableError."""
    value = os.environ.get(name)
    if not value:
        raise UnsetVariableError(name)
    return value


def expanded(text: str) -> tuple[str, list[str]]:
    """
    *text* with ``${VAR}`` and ``${VAR:-default}`` replaced, and what the environment gave for them.

    Raises:
        UnsetVariableError: A variable is not there, and has no default.
    """
    given = []

    def value(found: re.Match[str]) -> str:
        name, default = found.groups()
        if default is None or os.environ.get(name):
            given.append(variable(name))
            return given[-1]
        return str(default)

    return _REFERENCE.sub(value, text), given


def read_settings(config: Mapping[str, Any]) -> dict[str, Api]:
    """
    The services by name; a table that is wrong costs only itself: its service has a `problem`.

    Raises:
        ValueError: There is a key beside ``apis``, or that is no table.
    """
    for key in config:
        if key != "apis":
            raise ValueError(f"executor_openapi: unknown key {key!r}: use apis")
    return {str(name): _one(name, table) for name, table in _table("apis", config.get("apis", {})).items()}


def _one(name: object, table: object) -> Api:
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        problem = "is no name for a service: use letters, digits, '_', '.' and '-'"
        return Api("", problem=str(_wrong(f"apis.{name}", problem)))
    try:
        api = Api.of(table, f"apis.{name}")
        if "://" not in api.document and not Path(api.document).expanduser().is_absolute():
            # Of a cloned project, it would say where the secrets go.
            raise _wrong(f"apis.{name}.document", "is another file in every folder: give its full path")
        return api
    except ValueError as error:
        return Api("", problem=str(error))


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


def _texts(where: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise _wrong(where, f"is {value!r}, not a list of texts")
    return tuple(value)


def _auths(where: str, value: object) -> tuple[Auth, ...]:
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return tuple(_auth(f"{where}[{index}]", one) for index, one in enumerate(value))
    return (_auth(where, value),)


def _security(where: str, value: object) -> dict[str, Auth]:
    """By scheme; what kind each is, and where it goes, the description says."""
    found = {}
    for name, told in _table(where, value).items():
        table = _table(f"{where}.{name}", told if isinstance(told, Mapping) else {"env": told})
        found[str(name)] = _auth(f"{where}.{name}", {"kind": "bearer", **table})
    return found


def _is_kind(kind: object) -> TypeGuard[AuthKind]:
    return kind in _KINDS


def _auth(where: str, value: object) -> Auth:
    table = _table(where, value)
    kind, env, name = table.get("kind"), table.get("env"), table.get("name", "")
    known = [f.name for f in fields(Auth)]
    for key in table:
        if key not in known:
            raise _wrong(f"{where}.{key}", f"is unknown: use {', '.join(known)}")
    if not _is_kind(kind):
        raise _wrong(f"{where}.kind", f"is {kind!r}: use {', '.join(_KINDS)}")
    for key in ("env", "client_id"):
        given = table.get(key)
        if (given is None and key == "client_id" and kind != "oauth2") or given == "":
            continue
        if not isinstance(given, str) or _VARIABLE.fullmatch(given) is None:
            what = "the secret" if key == "env" else "the client's id"
            raise _wrong(f"{where}.{key}", f"must be the name of the environment variable that holds {what}")
    if kind in ("header", "query", "cookie") and not (isinstance(name, str) and name):
        raise _wrong(f"{where}.name", f"is missing: which {kind} takes the secret?")
    token_url = table.get("token_url", "")
    if kind == "oauth2":
        _check_url(f"{where}.token_url", token_url)
    scopes = _texts(f"{where}.scopes", table.get("scopes", ()))
    return Auth(kind, str(env or ""), str(name), str(table.get("client_id") or ""), str(token_url), scopes)


def _number(where: str, value: object, *, least: float | None = None) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _wrong(where, f"is {value!r}, not a number")
    if value < (least or 0) or (least is None and value == 0):
        raise _wrong(where, f"is {value!r}: give {'more than 0' if least is None else f'{least:g} or more'}")
    return float(value)

"""From an operation and its arguments to a request: where it goes, and how each value is written."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from executor.errors import BackendUnavailableError, ToolFailedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor_openapi._operations import Body, Operation, Parameter
    from executor_openapi._settings import Api, Auth


@dataclass(slots=True)
class Request:
    """
    One request.

    Attributes:
        shown: Method and path, for messages: without query and secrets.
    """

    method: str
    url: str
    shown: str
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None


def build(operation: Operation, server: str, api: Api, args: Mapping[str, Any]) -> Request:
    """
    The request for a call.

    Args:
        server: Where the service is; nothing in *args* can lead elsewhere.

    Raises:
        ToolFailedError: A value cannot be written where it belongs.
        BackendUnavailableError: The secret for it is not in the environment.
    """
    query: list[tuple[str, str]] = []
    headers = {"Accept": "application/json, text/*;q=0.8, */*;q=0.1", **api.headers}
    cookies: list[tuple[str, str]] = []
    path = operation.path
    for parameter in operation.parameters:
        value = args.get(parameter.argument)
        if value is None and parameter.argument not in args:
            continue
        if parameter.place == "path":
            path = path.replace(f"{{{parameter.name}}}", _segment(parameter, value))
        elif parameter.place == "query":
            query += _pairs(parameter, value)
        elif parameter.place == "cookie":
            cookies += _pairs(parameter, value)
        else:
            headers[parameter.name] = _header(parameter, _joined(parameter, value))
    request = Request(operation.method, "", f"{operation.method} {operation.path}", headers)
    if cookies:
        headers["Cookie"] = "; ".join(f"{quote(name)}={quote(value)}" for name, value in cookies)
    if operation.body is not None:
        _fill(request, operation.body, args)
    if api.auth is not None:
        query += _authorise(request, api.auth)
    request.url = _url(server, path, query)
    return request


def _url(server: str, path: str, query: list[tuple[str, str]]) -> str:
    base = urlsplit(server)
    whole = f"{base.path.rstrip('/')}/{path.lstrip('/')}"
    return base._replace(path=whole, query=urlencode(query), fragment="").geturl()


def _segment(parameter: Parameter, value: Any) -> str:
    text = _joined(parameter, value)
    if text in ("", ".", ".."):
        # The path would become another operation's.
        raise ToolFailedError(f"The argument {parameter.argument!r} is {text!r}, which cannot be part of a path")
    return quote(text, safe=",")


def _header(parameter: Parameter, text: str) -> str:
    if any(character in text for character in "\r\n\0"):
        raise ToolFailedError(f"The argument {parameter.argument!r} has a line break, which no header may have")
    return text.encode("utf-8").decode("latin-1")


def _pairs(parameter: Parameter, value: Any) -> list[tuple[str, str]]:
    """A value as ``name=value`` pairs, by OpenAPI's styles."""
    name = parameter.name
    if isinstance(value, list) and parameter.explode and not parameter.as_json:
        return [(name, _plain(item)) for item in value]
    if isinstance(value, dict) and not parameter.as_json:
        if parameter.style == "deepObject":
            return [(f"{name}[{key}]", _plain(item)) for key, item in value.items()]
        if parameter.explode:
            return [(str(key), _plain(item)) for key, item in value.items()]
    return [(name, _joined(parameter, value))]


def _joined(parameter: Parameter, value: Any) -> str:
    """A value as one text."""
    if parameter.as_json:
        return json.dumps(value, separators=(",", ":"))
    if isinstance(value, list):
        separator = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(parameter.style, ",")
        return separator.join(_plain(item) for item in value)
    if isinstance(value, dict):
        between = "=" if parameter.explode else ","
        return ",".join(f"{key}{between}{_plain(item)}" for key, item in value.items())
    return _plain(value)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, separators=(",", ":"))


def _fill(request: Request, body: Body, args: Mapping[str, Any]) -> None:
    if body.fields is not None:
        value: Any = {name: args[name] for name in body.fields if name in args}
        if not value:
            return
    elif body.argument in args:
        value = args[body.argument]
    else:
        return
    request.headers["Content-Type"] = body.content_type if body.content_type != "*/*" else "application/json"
    if body.kind == "json":
        request.content = json.dumps(value, ensure_ascii=False).encode()
    elif body.kind == "text":
        request.content = str(value).encode()
    else:
        pairs = [(name, _plain(part)) for name, item in value.items() for part in _parts(item)]
        request.content = urlencode(pairs).encode()


def _parts(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _authorise(request: Request, auth: Auth) -> list[tuple[str, str]]:
    secret = auth.secret()
    if secret is None:
        raise BackendUnavailableError(
            f"The variable {auth.env}, which has the secret for this service, is not set: set it in the environment",
            started=False,
        )
    if auth.kind == "query":
        return [(auth.name, secret)]
    if auth.kind == "header":
        request.headers[auth.name] = secret
    elif auth.kind == "bearer":
        request.headers["Authorization"] = f"Bearer {secret}"
    else:
        request.headers["Authorization"] = f"Basic {base64.b64encode(secret.encode()).decode()}"
    return []

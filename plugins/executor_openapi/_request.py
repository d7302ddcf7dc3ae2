"""From an operation and its arguments to a request: where it goes, and how each value is written."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from executor.errors import BackendUnavailableError, ToolFailedError
from executor_openapi._settings import UnsetVariableError, expanded
from executor_openapi._written import Escape, Pair, bytes_of, escaped, form, joined, multipart, pairs
from executor_openapi._written import query as written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from executor_openapi._bodies import Body
    from executor_openapi._operations import Operation, Parameter
    from executor_openapi._settings import Api, Auth

_UNFIT = re.compile(r"[\r\n\f\v\0]")  # in headers
_RESERVED = ":/?[]@!$'()*+,;="  # but for what would end the value


@dataclass(slots=True)
class Request:
    """
    One request.

    Attributes:
        shown: Method and path, for messages: without query and secrets.
        clients: Whose credentials are to be exchanged for a token first.
        secrets: What is in it and must not be told; filled in as it becomes known.
    """

    method: str
    url: str
    shown: str
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None
    clients: tuple[Auth, ...] = ()
    secrets: set[str] = field(default_factory=set)

    def hide(self, secret: str) -> None:
        """It is not told, nor without a word in front of it, as in the value of a header."""
        whole = secret.strip()
        self.secrets |= {whole, whole.rpartition(" ")[2]}


def build(operation: Operation, server: str, api: Api, auth: Sequence[Auth], args: Mapping[str, Any]) -> Request:
    """
    The request for a call.

    Args:
        server: Where the service is; nothing in *args* can lead elsewhere.
        auth: How it says who calls.

    Raises:
        ToolFailedError: A value cannot be written where it belongs.
        BackendUnavailableError: A secret for it is not in the environment.
    """
    try:
        return _build(operation, server, api, auth, args)
    except UnsetVariableError as unset:
        raise BackendUnavailableError(
            f"The variable {unset.args[0]}, which has the secret for this service, is not set: set it in the "
            "environment",
            started=False,
        ) from None


def _build(operation: Operation, server: str, api: Api, auth: Sequence[Auth], args: Mapping[str, Any]) -> Request:
    query: list[Pair] = []
    headers = {"Accept": "application/json, text/*;q=0.8, */*;q=0.1"}
    cookies: list[Pair] = []
    path = operation.path
    for parameter in operation.parameters:
        if parameter.argument not in args:
            continue
        value = args[parameter.argument]
        if parameter.place == "path":
            path = path.replace(f"{{{parameter.name}}}", _segment(parameter, value))
        elif parameter.place == "query":
            query += _given(parameter, value)
        elif parameter.place == "cookie":
            # A comma is no character of a cookie.
            cookies += [(quote(name), text.replace(",", "%2C")) for name, text in _given(parameter, value)]
        elif parameter.name.lower() == "cookie":
            cookies += _cookies(_header(parameter, _joined(parameter, value, str)))
        else:
            headers[parameter.name] = _header(parameter, _joined(parameter, value, str))
    request = Request(operation.method, "", f"{operation.method} {operation.path}", headers)
    if operation.body is not None:
        _fill(request, operation.body, args)
    _identify(request, api, auth, query, cookies)
    if cookies:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies)
    _check_headers(headers)
    request.url = _url(server, path, query)
    return request


def _url(server: str, path: str, query: list[Pair]) -> str:
    base = urlsplit(server)
    whole = f"{base.path.rstrip('/')}/{path.lstrip('/')}"
    told = "&".join(part for part in (base.query, written(query)) if part)
    return base._replace(path=whole, query=told, fragment="").geturl()


def _segment(parameter: Parameter, value: Any) -> str:
    """A value as a part of a path."""
    text = _joined(parameter, value, escaped, "." if parameter.style == "label" and parameter.explode else ",")
    if not text or text in (".", ".."):
        # The path would become another operation's.
        raise ToolFailedError(f"The argument {parameter.argument!r} is {text!r}, which cannot be part of a path")
    if parameter.style == "label":
        return f".{text}"
    if parameter.style == "matrix":
        return "".join(f";{quote(name)}={item}" for name, item in _given(parameter, value))
    return text


def _joined(parameter: Parameter, value: Any, escape: Escape, between: str = ",") -> str:
    if parameter.as_json:
        return escape(json.dumps(value, separators=(",", ":")))
    return joined(value, parameter.style, parameter.explode, escape, between)


def _header(parameter: Parameter, text: str) -> str:
    if _UNFIT.search(text):
        raise ToolFailedError(f"The argument {parameter.argument!r} has a line break, which no header may have")
    return text


def _check_headers(headers: dict[str, str]) -> None:
    """Drop space around them; what was found in the environment may have been read from a file, with its line break."""
    for name, value in headers.items():
        headers[name] = value.strip()
        if _UNFIT.search(headers[name]):  # not shown: it may be a secret
            raise BackendUnavailableError(
                f"The header {name} would have a line break, which no header may have: look at the variable that it is "
                "made of",
                started=False,
            )


def _given(parameter: Parameter, value: Any) -> list[Pair]:
    safe = "/" if parameter.place == "cookie" else _RESERVED if parameter.reserved else ""
    escape = partial(escaped, safe=safe)
    if parameter.as_json:
        return [(parameter.name, _joined(parameter, value, escape))]
    return pairs(parameter.name, value, parameter.style, parameter.explode, escape)


def _fill(request: Request, body: Body, args: Mapping[str, Any]) -> None:
    if body.fields is not None:
        value: Any = {name: args[name] for name in body.fields if name in args}
        if not value and not body.required:
            return
    elif body.argument in args:
        value = args[body.argument]
    else:
        return
    content_type = body.content_type if "*" not in body.content_type else ""
    if body.kind == "json":
        request.content = json.dumps(value, ensure_ascii=False).encode()
        content_type = content_type or "application/json"
    elif body.kind == "text":
        request.content = str(value).encode()
        content_type = content_type or "text/plain"
    elif body.kind == "bytes":
        request.content = bytes_of(value, body.argument)
        content_type = content_type or "application/octet-stream"
    elif body.kind == "multipart":
        request.content, content_type = multipart(value, body.parts or {})
    else:
        request.content = form(value, body.parts or {})
    request.headers["Content-Type"] = content_type


def _identify(request: Request, api: Api, auth: Sequence[Auth], query: list[Pair], cookies: list[Pair]) -> None:
    """What the configuration gives is not an argument's to change, nor to stand beside."""
    for name, value in api.headers.items():
        text, given = expanded(value)
        if name.lower() == "cookie":
            _put(cookies, _cookies(text))
        else:
            _set_header(request, name, text)
        for secret in given:
            request.hide(secret)
    for one in auth:
        _authorise(request, one, query, cookies)


def _authorise(request: Request, auth: Auth, query: list[Pair], cookies: list[Pair]) -> None:
    if auth.kind == "oauth2":
        request.clients = (*request.clients, auth)
        return
    secret = auth.secret()
    request.hide(secret)
    if auth.kind == "query":
        _put(query, [(auth.name, escaped(secret))])
    elif auth.kind == "cookie":
        _put(cookies, [(quote(auth.name), quote(secret))])
    elif auth.kind == "header":
        _set_header(request, auth.name, secret)
    elif auth.kind == "bearer":
        _set_header(request, "Authorization", f"Bearer {secret}")
    else:
        encoded = base64.b64encode(secret.encode()).decode()
        request.secrets |= {encoded, secret.partition(":")[2]}
        _set_header(request, "Authorization", f"Basic {encoded}")


def _cookies(text: str) -> list[Pair]:
    """The cookies of a header, written as they are there."""
    found = (one.strip().partition("=") for one in text.split(";"))
    return [(name, value) for name, _, value in found if name]


def _put(found: list[Pair], own: list[Pair]) -> None:
    """In place of those of these names."""
    names = {name for name, _ in own}
    found[:] = [*(pair for pair in found if pair[0] not in names), *own]


def _set_header(request: Request, name: str, value: str) -> None:
    """In place of one of this name, however that is written."""
    for other in [other for other in request.headers if other.lower() == name.lower()]:
        del request.headers[other]
    request.headers[name] = value

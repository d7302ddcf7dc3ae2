"""How values are written outside JSON: in queries, forms and multipart bodies, by OpenAPI's styles."""

from __future__ import annotations

import base64
import binascii
import json
import secrets
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from executor.errors import ToolFailedError
from executor_openapi._bodies import Part

if TYPE_CHECKING:
    from collections.abc import Mapping

Pair: TypeAlias = "tuple[str, str, str]"  # name, value, and which characters of it are not escaped
_BASE64 = "base64:"


def plain(value: Any) -> str:
    """A value that is neither list nor object, as text; others as JSON."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, separators=(",", ":"))


def joined(value: Any, style: str, explode: bool, *, as_json: bool) -> str:  # noqa: FBT001 -- OpenAPI's own word
    """A value as one text."""
    if as_json:
        return json.dumps(value, separators=(",", ":"))
    if isinstance(value, list):
        separator = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(style, ",")
        return separator.join(plain(item) for item in value)
    if isinstance(value, dict):
        between = "=" if explode else ","
        return ",".join(f"{key}{between}{plain(item)}" for key, item in value.items())
    return plain(value)


def pairs(name: str, value: Any, style: str, explode: bool) -> list[Pair]:  # noqa: FBT001 -- as above
    """A value as ``name=value`` pairs."""
    if style == "deepObject" and isinstance(value, dict | list):
        return _deep(name, value)
    if isinstance(value, list) and explode:
        return [(name, plain(item), "") for item in value]
    if isinstance(value, dict) and explode:
        return [(str(key), plain(item), "") for key, item in value.items()]
    return [(name, joined(value, style, explode, as_json=False), "," if isinstance(value, list | dict) else "")]


def _deep(name: str, value: Any) -> list[Pair]:
    """Nested values by the names that lead to them: ``a[b][0]=x``."""
    if isinstance(value, dict):
        return [pair for key, item in value.items() for pair in _deep(f"{name}[{key}]", item)]
    if isinstance(value, list):
        return [pair for index, item in enumerate(value) for pair in _deep(f"{name}[{index}]", item)]
    return [(name, plain(value), "")]


def form(value: Mapping[str, Any], parts: Mapping[str, Part]) -> bytes:
    """The body of a form. What is nested, and of which the description does not say how, is JSON."""
    found: list[Pair] = []
    for name, item in value.items():
        part = parts.get(name, Part())
        if part.style:
            found += pairs(name, item, part.style, part.explode)
        elif isinstance(item, list) and not part.content_type:
            found += [(name, plain(one), "") for one in item] if part.explode else pairs(name, item, "form", False)
        else:
            found.append((name, plain(item), ""))
    # A space as %20: some that read forms leave a + as it is, none does that.
    return "&".join(f"{quote(name, safe='[]')}={quote(text, safe='')}" for name, text, _ in found).encode()


def multipart(value: Mapping[str, Any], parts: Mapping[str, Part]) -> tuple[bytes, str]:
    """The body of a multipart form, and its content type."""
    boundary = secrets.token_hex(16)
    written = bytearray()
    for name, whole in value.items():
        part = parts.get(name, Part())
        for item in whole if isinstance(whole, list) and part.content_type != "application/json" else [whole]:
            content = bytes_of(item, name) if part.binary else plain(item).encode()
            kind = part.content_type or _usual(item, part)
            file = f'; filename="{_quoted(name)}"' if part.binary else ""
            told = f"\r\nContent-Type: {kind}" if kind else ""
            written += (
                f'--{boundary}\r\nContent-Disposition: form-data; name="{_quoted(name)}"{file}{told}\r\n\r\n'.encode()
            )
            written += content + b"\r\n"
    return bytes(written) + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def _usual(item: Any, part: Part) -> str:
    """The content type that a part has where the description does not say, by OpenAPI 3.0.4, section 4.8.15.1."""
    return "application/octet-stream" if part.binary else "application/json" if isinstance(item, dict) else ""


def _quoted(name: str) -> str:
    return quote(name, safe=" !#$&'()*+,-./:;<=>?@[]^_`{|}~")


def bytes_of(value: Any, name: str) -> bytes:
    """
    Text as UTF-8; what begins with ``base64:`` as the bytes that it stands for.

    Raises:
        ToolFailedError: It is no base64.
    """
    text = plain(value)
    if not text.startswith(_BASE64):
        return text.encode()
    try:
        return base64.b64decode(text[len(_BASE64) :], validate=True)
    except binascii.Error as error:
        raise ToolFailedError(f"The argument {name!r} begins with 'base64:' and is no base64: {error}") from error

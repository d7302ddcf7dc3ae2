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
    from collections.abc import Callable, Mapping

Pair: TypeAlias = "tuple[str, str]"  # a name as it is, and a value as it is written
Escape: TypeAlias = "Callable[[str], str]"  # writes one value so that no character of it is taken for a separator
_BASE64 = "base64:"


def plain(value: Any) -> str:
    """A value that is neither list nor object, as text; others as JSON."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, separators=(",", ":"))


def escaped(text: str, safe: str = "") -> str:
    """*text* in a URL, with the characters of *safe* as they are."""
    return quote(text, safe=safe)


def joined(value: Any, style: str, explode: bool, escape: Escape, between: str = ",") -> str:  # noqa: FBT001 -- OpenAPI's own word
    """
    A value as one text.

    Args:
        between: What stands between the items of a list or object, where *style* has no word for that.
    """
    if isinstance(value, list):
        separator = {"spaceDelimited": escape(" "), "pipeDelimited": escape("|")}.get(style, between)
        return separator.join(escape(plain(item)) for item in value)
    if isinstance(value, dict):
        inner = "=" if explode else ","
        return between.join(f"{escape(str(key))}{inner}{escape(plain(item))}" for key, item in value.items())
    return escape(plain(value))


def pairs(name: str, value: Any, style: str, explode: bool, escape: Escape = escaped) -> list[Pair]:  # noqa: FBT001 -- as above
    """A value as ``name=value`` pairs."""
    if style == "deepObject" and isinstance(value, dict | list):
        return _deep(name, value, escape)
    if isinstance(value, list) and explode:
        return [(name, escape(plain(item))) for item in value]
    if isinstance(value, dict) and explode:
        return [(str(key), escape(plain(item))) for key, item in value.items()]
    return [(name, joined(value, style, explode, escape))]


def _deep(name: str, value: Any, escape: Escape) -> list[Pair]:
    """Nested values by the names that lead to them: ``a[b][0]=x``."""
    if isinstance(value, dict):
        return [pair for key, item in value.items() for pair in _deep(f"{name}[{key}]", item, escape)]
    if isinstance(value, list):
        return [pair for index, item in enumerate(value) for pair in _deep(f"{name}[{index}]", item, escape)]
    return [(name, escape(plain(value)))]


def query(found: list[Pair]) -> str:
    """Pairs as they stand in a URL, and in the body of a form."""
    return "&".join(f"{quote(name, safe='[]')}={text}" for name, text in found)


def form(value: Mapping[str, Any], parts: Mapping[str, Part]) -> bytes:
    """The body of a form. What is nested, and of which the description does not say how, is JSON."""
    found: list[Pair] = []
    for name, item in value.items():
        part = parts.get(name, Part())
        if part.style:
            found += pairs(name, item, part.style, part.explode)
        elif isinstance(item, list) and not part.content_type:
            found += pairs(name, item, "form", part.explode)
        else:
            found.append((name, escaped(plain(item))))
    # A space as %20: some that read forms leave a + as it is, none does that.
    return query(found).encode()


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

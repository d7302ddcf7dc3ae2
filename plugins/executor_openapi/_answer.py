"""From a response to the tool's value, or to the error that it is."""

from __future__ import annotations

import base64
import codecs
import json
import math
import mimetypes
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from executor.errors import BackendUnavailableError, ToolFailedError
from executor.httpstatus import LATER, never_begun, retry_after
from executor.ownfolders import make_private
from executor_openapi._hidden import without

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import httpx2

    from executor_openapi._settings import Api

MOST_TOLD = 2000  # characters of an error's body: what a model needs to mend its call
MOST_LOOKED_AT = 64 * 1024  # bytes of it: each is looked at in many ways
MAX_REDIRECTS = 5
MAX_DOWNLOAD = 4 * 1024**3  # bytes of a file; a service may send without end


class RefusedError(Exception):
    """The service answered with an error status; `told` is the error that this is."""

    def __init__(self, status: int, told: ToolFailedError | BackendUnavailableError) -> None:
        super().__init__(status)
        self.status = status
        self.told = told


class ElsewhereError(Exception):
    """The service redirects to where a request does not follow; in its words, which may hold a secret."""


async def answer_of(shown: str, response: httpx2.Response, api: Api, secrets: Collection[str]) -> Any:
    """
    What a response comes to: JSON as its value, text as text, anything else as ``{"content_type", "size", "base64"}``,
    or with ``path`` in place of ``base64`` where *api* has a folder for downloads.

    Args:
        secrets: What was sent and is in no error, even where the service gives it back.

    Raises:
        RefusedError: It has an error status.
        ToolFailedError: It is too long.
    """
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if api.downloads is not None and response.is_success and not (_is_json(kind) or _is_text(kind)):
        value: Any = await _downloaded(shown, response, kind, api.downloads)
    else:
        body = await body_of(shown, response, api.max_answer)
        if not response.is_success:
            status = response.status_code
            raise RefusedError(
                status, error_of(shown, status, response.headers, without(secrets, _told(body[:MOST_LOOKED_AT])))
            )
        value = value_of(shown, kind, body, response.charset_encoding)
    if not api.answer_headers:
        return value
    headers = {name: response.headers[name] for name in api.answer_headers if name in response.headers}
    return {"body": value, "headers": headers}


async def body_of(shown: str, response: httpx2.Response, most: int) -> bytes:
    """What a response has to say; not more than *most* bytes are read of it. Raises ToolFailedError."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most:
            if not response.is_success:
                break
            raise ToolFailedError(f"{shown}: the answer has more than {most} bytes and was not read on: ask for less")
    return bytes(body)


async def _downloaded(shown: str, response: httpx2.Response, kind: str, folder: str) -> Any:
    """The answer as a file of a new name, which only its owner may read."""
    file = None
    try:
        file = _Download(folder, kind)
        async for chunk in response.aiter_bytes():
            file.add(chunk)
    except BaseException as error:
        if file is not None:
            file.drop()
        if isinstance(error, OSError):
            raise ToolFailedError(f"{shown}: the answer could not be written: {error.strerror or error}") from error
        raise
    return file.done()


class _Download:
    """A file that is being written."""

    def __init__(self, folder: str, kind: str) -> None:
        self._kind = kind
        self._size = 0
        place = Path(folder).expanduser()
        make_private(place)
        ending = mimetypes.guess_extension(kind) or ""
        descriptor, self._name = tempfile.mkstemp(dir=place, prefix="answer-", suffix=ending)
        self._file = os.fdopen(descriptor, "wb")

    def add(self, chunk: bytes) -> None:
        """Raises OSError."""
        self._size += len(chunk)
        if self._size > MAX_DOWNLOAD:
            raise OSError(f"it has more than {MAX_DOWNLOAD} bytes")
        self._file.write(chunk)

    def drop(self) -> None:
        self._file.close()
        Path(self._name).unlink(missing_ok=True)

    def done(self) -> dict[str, Any]:
        self._file.close()
        return {"content_type": self._kind, "size": self._size, "path": self._name}


def value_of(shown: str, kind: str, body: bytes, charset: str | None) -> Any:
    """
    What a success answers; what says that it is JSON, and is not, is text with a warning: the call was carried out.

    Args:
        kind: Its content type, without parameters.
    """
    if not body:
        return None
    if _is_json(kind):
        try:
            return json_of(body, charset)
        except (ValueError, RecursionError) as error:
            warning = f"{shown}: the service answered with something that is no JSON, although it says so: {error}"
            return {"result": _text(body, charset), "warnings": [warning]}
    if _is_text(kind):
        return _text(body, charset)
    return {"content_type": kind, "size": len(body), "base64": base64.b64encode(body).decode()}


def json_of(body: bytes, charset: str | None) -> Any:
    """The value that JSON is of. Raises ValueError, RecursionError."""
    try:
        text = body.decode(json.detect_encoding(body))
    except UnicodeDecodeError:
        text = _text(body, charset) if charset else body.decode()
    return json.loads(text.removeprefix("\ufeff"), parse_constant=_finite, parse_float=_finite)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number of JSON")
    return number


def _is_json(kind: str) -> bool:
    return kind == "application/json" or kind.endswith("+json")


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind.endswith("+xml") or kind in _TEXTS


_TEXTS = (
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/javascript",
    "application/x-ndjson",
    "",
)


# What texts are written in, by Python's names. Its other codecs are for something else; that of domain names takes the
# square of a text's length, in which nobody else on the loop is answered.
_CHARSETS = re.compile(
    r"ascii|utf-(8|16|32).*|iso8859-.+|iso2022_.+|cp\d+|koi8-.|mac-.+|gb.+|hz|big5.*|euc_.+|shift_.+|johab|tis-620"
)


def _text(body: bytes, charset: str | None) -> str:
    try:
        known = codecs.lookup(charset or "utf-8").name
    except (LookupError, ValueError):
        known = "utf-8"
    return body.decode(known if _CHARSETS.fullmatch(known) else "utf-8", "replace")


def _told(body: bytes) -> str:
    try:
        return body.decode(json.detect_encoding(body)).strip()
    except UnicodeDecodeError:
        return body.decode("utf-8", "replace").strip()


def error_of(
    shown: str, status: int, headers: Mapping[str, str], told: str
) -> ToolFailedError | BackendUnavailableError:
    """The error that a status is: 4xx is the call's fault, 5xx and "later" the service's."""
    if len(told) > MOST_TOLD:
        told = told[:MOST_TOLD] + " …"
    message = f"{shown}: HTTP {status}{f': {told}' if told else ''}"
    if status in LATER or 500 <= status < 600:
        wait = retry_after(headers.get("retry-after"), headers.get("date"))
        return BackendUnavailableError(message, started=not never_begun(status, wait), retry_after=wait)
    return ToolFailedError(message)


def next_url(url: str, status: int, location: str | None, method: str) -> str:
    """
    Where a redirect leads.

    Raises:
        ElsewhereError: To another place than the service, or it would change the request.
    """
    if location is None:
        raise ElsewhereError(f"the service redirects (HTTP {status}) without saying where to")
    try:
        there = urljoin(url, location)
        old, new = urlsplit(url), urlsplit(there)
        elsewhere = (old.scheme, old.hostname, old.port) != (new.scheme, new.hostname, new.port)
    except ValueError as error:
        raise ElsewhereError(f"the service redirects to something that is no URL ({error})") from error
    if elsewhere or new.username is not None:
        raise ElsewhereError(
            f"the service redirects to {new.scheme}://{new.hostname}, which is not where it is configured to "
            "be, and is not followed: configure that place as its server if it is meant"
        )
    if status not in (307, 308) and method not in ("GET", "HEAD"):
        raise ElsewhereError(
            f"the service redirects a {method} (HTTP {status}) to {new.path}, which would drop what was sent; "
            "it may have been carried out"
        )
    return there

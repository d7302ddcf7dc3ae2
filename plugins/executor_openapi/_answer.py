"""From a response to the tool's value, or to the error that it is."""

from __future__ import annotations

import base64
import json
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from executor.errors import BackendUnavailableError, ToolFailedError

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_TOLD = 2000  # characters of an error's body: what a model needs to mend its call
MAX_REDIRECTS = 5
_WAIT = (408, 425, 429)  # statuses that say "later", not "never"


def value_of(shown: str, content_type: str, body: bytes, charset: str | None) -> Any:
    """
    What a success answers: JSON as its value, text as text, anything else as ``{"content_type", "size", "base64"}``.

    Raises:
        ToolFailedError: It says that it is JSON, and is not.
    """
    if not body:
        return None
    plain = content_type.partition(";")[0].strip().lower()
    if plain == "application/json" or plain.endswith("+json"):
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise ToolFailedError(
                f"{shown}: the service answered with something that is no JSON, although it says so: {error}; "
                f"it begins with {body[:80].decode('utf-8', 'replace')!r}"
            ) from error
    if plain.startswith("text/") or plain in ("application/xml", "application/yaml", "application/javascript", ""):
        return _text(body, charset)
    return {"content_type": plain, "size": len(body), "base64": base64.b64encode(body).decode()}


def _text(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def error_of(
    shown: str, status: int, headers: Mapping[str, str], body: bytes
) -> ToolFailedError | BackendUnavailableError:
    """The error that a status is: 4xx is the call's fault, 5xx and "later" the service's."""
    told = body.decode("utf-8", "replace").strip()
    if len(told) > MOST_TOLD:
        told = told[:MOST_TOLD] + " …"
    message = f"{shown}: HTTP {status}{f': {told}' if told else ''}"
    if status in _WAIT or status >= 500:
        started = status not in (*_WAIT, 503)
        return BackendUnavailableError(message, started=started, retry_after=_retry_after(headers.get("retry-after")))
    return ToolFailedError(message)


def _retry_after(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def next_url(shown: str, url: str, status: int, location: str | None, method: str) -> str:
    """
    Where a redirect leads.

    Raises:
        ToolFailedError: To another place than the service, or it would change the request.
    """
    if location is None:
        raise ToolFailedError(f"{shown}: the service redirects (HTTP {status}) without saying where to")
    there = urljoin(url, location)
    old, new = urlsplit(url), urlsplit(there)
    if (old.scheme, old.hostname, old.port) != (new.scheme, new.hostname, new.port) or new.username is not None:
        raise ToolFailedError(
            f"{shown}: the service redirects to {new.scheme}://{new.hostname}, which is not where it is configured to "
            "be, and is not followed: configure that place as its server if it is meant"
        )
    if status not in (307, 308) and method not in ("GET", "HEAD"):
        raise ToolFailedError(
            f"{shown}: the service redirects a {method} (HTTP {status}) to {new.path}, which would drop what was sent; "
            "it may have been carried out"
        )
    return there

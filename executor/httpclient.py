"""
How HTTP clients are made here: what the environment says of proxies and certificates holds, but for this machine, and
no URL is logged.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

from executor.errors import BackendUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["http_client"]

C = TypeVar("C")
# A proxy would be told what is for a server on this machine, tokens included, and could not reach it.
_HERE = ("localhost", "127.0.0.1", "[::1]")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def http_client(kind: Callable[..., C], **options: Any) -> C:
    """
    A client of httpx.

    Args:
        kind: Its class.
        options: What that is given.

    Raises:
        BackendUnavailableError: It cannot be made, because of what the environment says of proxies or certificates.
    """
    from executor._httplog import hooks

    try:
        return kind(mounts={f"all://{host}": None for host in _HERE}, event_hooks=hooks(kind), **options)
    except Exception as error:  # a file that is not there, a scheme that is none, a package that is missing
        names = _CERTIFICATES if isinstance(error, OSError) else _PROXIES
        told = [name for name in names if os.environ.get(name) or os.environ.get(name.lower())]
        if not told:
            raise
        raise BackendUnavailableError(
            f"no connection can be made with what the environment says: look at {', '.join(told)} ({error})",
            started=False,
        ) from error

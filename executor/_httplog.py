"""What httpx logs of our requests: it would be the URL of each, of which a query or a path may hold a secret."""

from __future__ import annotations

import logging
from typing import Any

import httpx2

__all__ = ["hooks"]


class _Own(httpx2.URL):
    """The URL of one of our requests."""


class _Shortened(logging.Filter):
    """Leaves of our URLs where they are; what others in this process send is theirs to log."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                f"{told.scheme}://{told.netloc.decode()}/…" if isinstance(told, _Own) else told for told in record.args
            )
        return True


_shortened = _Shortened()


def hooks(kind: object) -> dict[str, list[Any]]:
    """The hooks of a client of this class, with which no log has more of its requests than where they go."""
    logging.getLogger("httpx2").addFilter(_shortened)  # which it does once
    return {"request": [_mark_async if isinstance(kind, type) and issubclass(kind, httpx2.AsyncClient) else _mark]}


def _mark(request: httpx2.Request) -> None:
    request.url = _Own(request.url)


async def _mark_async(request: httpx2.Request) -> None:
    _mark(request)

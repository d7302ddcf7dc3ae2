"""
What a refusal over HTTP says: how long to wait, and whether what was sent can have been carried out.

For plugins that call services: one reading of the same answers everywhere.
"""

from __future__ import annotations

import re
import time

__all__ = ["LATER", "never_begun", "retry_after"]

LATER = (408, 425, 429, 503)
"""Statuses that say "later", not "never"."""
_UNREAD = (425, 429)  # RFC 8470, section 5.2; RFC 6585, section 4
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


def never_begun(status: int, wait: float | None) -> bool:
    """
    Whether a request with this answer is known not to have been carried out, so that it may be sent again.

    Args:
        wait: What `retry_after` gave. A 503 without it may be the word of a proxy that lost its server in the midst of
            the work, and a 408 that of one that did not wait for it.
    """
    return status in _UNREAD or (status == 503 and wait is not None)


def retry_after(value: str | None, date: str | None = None) -> float | None:
    """
    Seconds from a ``Retry-After`` header, which has a number or a date (RFC 9110, section 10.2.3); None: neither.

    Args:
        date: The answer's ``Date`` header: a date is counted from what its sender takes for now, if that is told.
    """
    if value is None:
        return None
    value = value.strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    until, sent = _time_of(value), _time_of(date) if date is not None else None
    return None if until is None else max(0.0, until - (time.time() if sent is None else sent))


def _time_of(date: str) -> float | None:
    from email.utils import parsedate_to_datetime  # 8 ms, paid by the first service that gives a date

    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None

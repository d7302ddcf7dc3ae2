"""Who may use the page: codes that open it once, and the sessions that they are exchanged for."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

CODE_SECONDS = 60.0


class Sessions:
    """
    Those of one process: they end with it. Used on the loop.

    Args:
        clock: Seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[bytes, float] = {}
        self._sessions: list[bytes] = []

    def new_code(self) -> str:
        """A code that is good once, for `CODE_SECONDS`."""
        code = secrets.token_urlsafe(32)
        self._codes[_digest(code)] = self._clock() + CODE_SECONDS
        return code

    def waits(self, code: str) -> bool:
        """Whether nobody has used the code yet."""
        return _digest(code) in self._codes

    def redeem(self, code: str) -> str | None:
        """The session that the code opens; None for a code that is none, was used, or is too old."""
        now, given = self._clock(), _digest(code)
        self._codes = {each: end for each, end in self._codes.items() if end > now}
        # A digest is looked up: how long that takes says nothing of the code.
        if self._codes.pop(given, None) is None:
            return None
        session = secrets.token_urlsafe(32)
        self._sessions.append(_digest(session))
        return session

    def knows(self, header: str | None) -> bool:
        """Whether an ``Authorization`` header bears a session."""
        scheme, _, session = (header or "").partition(" ")
        given, found = _digest(session.strip()), False
        for each in self._sessions:  # all of them: the time it takes says nothing of any
            found |= hmac.compare_digest(each, given)
        return found and scheme.lower() == "bearer"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()

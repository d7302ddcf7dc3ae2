"""The sessions of the older era, of which each principal has so many: one that opens ever more ends its own."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_SESSIONS = 200  # of one principal; each takes 40 KiB, and the SDK has 10,000 of them for all


class Sessions:
    """Lives on the loop."""

    def __init__(self) -> None:
        # Of each principal the requests that are open, by session: whichever was used last is the last.
        self._open: dict[str, OrderedDict[str, int]] = {}

    def begin(self, principal: str, session: str) -> str | None:
        """A session was opened. Returns one that is to be ended for it: nobody listens there, and it is the oldest."""
        own = self._open.setdefault(principal, OrderedDict())
        own[session] = 0
        if len(own) <= MOST_SESSIONS:
            return None
        over = next((each for each, requests in own.items() if not requests), next(iter(own)))
        del own[over]
        return over

    @contextmanager
    def use(self, principal: str, session: str | None, *, ends: bool) -> Iterator[None]:
        """A request of a session, from its first byte to the end of the answer."""
        own = self._open.get(principal, OrderedDict())
        if session is None or session not in own:  # else it is none that this principal has opened
            yield
            return
        own[session] += 1
        own.move_to_end(session)
        try:
            yield
        finally:
            if session in own:
                own[session] -= 1
                if ends:
                    del own[session]

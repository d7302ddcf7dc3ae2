"""A function that is called first when the interpreter ends, whatever else was registered for that."""

from __future__ import annotations

import atexit
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_SLOTS_STAY = sys.version_info < (3, 14)  # one that was registered leaves an empty slot, which every later look passes


class FirstAtExit:
    """
    What is registered last is called first: it is registered anew, by `renew`, where others came after it.

    Args:
        fn: The function; it may be called twice.
    """

    def __init__(self, fn: Callable[[], object]) -> None:
        self._fn = fn
        self._slots = -1
        self.renew()

    def renew(self) -> None:
        """Be the first again."""
        if _SLOTS_STAY and atexit._ncallbacks() == self._slots:  # noqa: SLF001 -- there is no other way to ask
            return
        atexit.unregister(self._fn)
        atexit.register(self._fn)
        self._slots = atexit._ncallbacks()  # noqa: SLF001 -- as above

"""A function that is called first when the interpreter ends, whatever else was registered for that."""

from __future__ import annotations

import atexit
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# How many there are, of CPython before 3.14: what was registered leaves an empty slot, which every later look passes.
_slots = getattr(atexit, "_ncallbacks", None) if sys.version_info < (3, 14) else None


class FirstAtExit:
    """
    What is registered last is called first: it is registered anew, by `renew`, where others came after it.

    Args:
        fn: The function; it may be called twice.
    """

    def __init__(self, fn: Callable[[], object]) -> None:
        self._fn = fn
        self._slots: int | None = None
        self.renew()

    def renew(self) -> None:
        """Be the first again."""
        if _slots is not None and _slots() == self._slots:
            return
        atexit.unregister(self._fn)
        atexit.register(self._fn)
        self._slots = _slots() if _slots is not None else None

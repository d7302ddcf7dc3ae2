"""What is done beside whatever comes to it: in the middle of the engine, or where others must not be held up by it."""

from __future__ import annotations

import _thread
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def beside(fn: Callable[..., object], *args: object) -> None:
    """
    Run *fn* on a thread of its own; in this one where the system, or an interpreter that ends, has no other left.

    For finalizers: the collector may come in any thread, while that holds the very locks that *fn* takes. And for what
    may never come back, on a thread that others need.
    """
    try:
        # Not by `Thread.start` here, which takes locks as well.
        _thread.start_new_thread(_start, (fn, args))
    except RuntimeError:
        fn(*args)


def _start(fn: Callable[..., object], args: tuple[object, ...]) -> None:
    """Go on as a thread with a name: one that `threading` does not know stays in its list for ever (Python 3.11)."""
    try:
        threading.Thread(target=fn, args=args, name="executor-beside", daemon=True).start()
    except RuntimeError:
        fn(*args)

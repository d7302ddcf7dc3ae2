"""What is done beside whatever comes to it: in the middle of the engine, or where others must not be held up by it."""

from __future__ import annotations

import _thread
import atexit
import os
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_BEGINNING = 1.0  # seconds that the end of the process waits for such a thread to begin
_beginning: set[_thread.LockType] = set()  # one for each thread that has not begun yet


def beside(fn: Callable[..., object], *args: object) -> None:
    """
    Run *fn* on a thread of its own; in this one where the system, or an interpreter that ends, has no other left.

    For finalizers: the collector may come in any thread, while that holds the very locks that *fn* takes. And for what
    may never come back, on a thread that others need.
    """
    if sys.is_finalizing():
        fn(*args)
        return
    begun = _thread.allocate_lock()
    begun.acquire()
    _beginning.add(begun)
    try:
        # Not by `Thread.start` here, which takes locks as well.
        _thread.start_new_thread(_start, (begun, fn, args))
    except RuntimeError:
        _run(begun, fn, args)


def _start(begun: _thread.LockType, fn: Callable[..., object], args: tuple[object, ...]) -> None:
    """Go on as a thread with a name: one that `threading` does not know stays in its list for ever (Python 3.11)."""
    try:
        threading.Thread(target=_run, args=(begun, fn, args), name="executor-beside", daemon=True).start()
    except RuntimeError:
        _run(begun, fn, args)


def _run(begun: _thread.LockType, fn: Callable[..., object], args: tuple[object, ...]) -> None:
    _beginning.discard(begun)
    begun.release()
    fn(*args)


@atexit.register
def await_beginnings() -> None:
    """Wait for threads that are about to begin: one that does so while the interpreter ends can crash Python 3.11."""
    for begun in tuple(_beginning):
        begun.acquire(timeout=LONGEST_BEGINNING)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_beginning.clear)  # none of them is there

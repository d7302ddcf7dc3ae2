"""What has threads begins anew in the child of a fork, where none of them exists."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Forked(Protocol):
    """Something with threads: `_begin` makes it as it was before it had any."""

    def _begin(self) -> None: ...


of_this_process: weakref.WeakSet[Forked] = weakref.WeakSet()
forks = 0  # how many forks lie between the first process and this one: what began with another number is the parent's


def _after_fork() -> None:
    global forks  # noqa: PLW0603 -- a number of this process, as os.getpid() is, but never used twice
    forks += 1
    for each in list(of_this_process):
        each._begin()  # noqa: SLF001 -- of this very module


class ThreadLock:
    """
    A lock among the threads of one process: in the child of a fork it is free, since whoever held it is in the parent.

    Args:
        make: Makes it; `threading.RLock` for one that its holder may take again.
    """

    def __init__(self, make: Callable[[], threading.Lock | threading.RLock] = threading.Lock) -> None:
        self._make = make
        # Used by its holder only: who forks while it holds the lock frees what it took.
        self._held: list[threading.Lock | threading.RLock] = []
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        self._lock = self._make()

    def __enter__(self) -> None:
        lock = self._lock
        lock.acquire()
        self._held.append(lock)

    def __exit__(self, *_: object) -> None:
        self._held.pop().release()


def leave_child(began: int) -> None:
    """
    End this process if work that began in another one came back in it: a tool forked, and returned in the child too.

    The call, and the program, are the parent's.

    Args:
        began: What `forks` was when the work began.
    """
    if forks != began:
        os._exit(0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

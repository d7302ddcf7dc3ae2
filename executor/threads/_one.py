"""The one thread that works for something, started when there is work and gone when there is none."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


class OneThread:
    """
    A daemon thread, of which there is one at a time.

    Whether there is one is never noted, but looked at: a Ctrl-C may come to whoever is about to start it. Then either
    the thread works, or it is none, and the next `start` starts another.

    Args:
        lock: Of whom it works for. It is held by who calls a method, and taken by the thread as it begins.
        run: What it does. At its end, with the lock held, it calls `leave`.
    """

    __slots__ = ("_lock", "_name", "_run", "_thread")

    def __init__(self, lock: AbstractContextManager[Any], run: Callable[[], object], name: str) -> None:
        self._lock = lock
        self._run = run
        self._name = name
        self._thread: threading.Thread | None = None

    @property
    def alive(self) -> bool:
        """Whether there is one."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def here(self) -> bool:
        """Whether it is the calling one; asked without the lock, too."""
        return self._thread is threading.current_thread()

    def start(self) -> None:
        """Have one. Raises RuntimeError: the system has no thread left, or the interpreter ends."""
        if not self.alive:
            self._thread = threading.Thread(target=self._main, name=self._name, daemon=True)
            self._thread.start()

    def be_here(self) -> None:
        """The calling thread is the one: nobody starts another before it leaves."""
        self._thread = threading.current_thread()

    def leave(self) -> None:
        """It does nothing any more."""
        self._thread = None

    def _main(self) -> None:
        with self._lock:
            if not self.here:  # who started it was interrupted, and another one was started since
                return
        self._run()

"""Signals that would end the process, while a server of ours runs in it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_STOPS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextlib.contextmanager
def on_signals(stop: Callable[[], object]) -> Iterator[list[int]]:
    """
    While it is entered, signals that would end the process call *stop* instead, where the main thread runs the loop.

    Yields:
        The signals that came.
    """
    loop = asyncio.get_running_loop()
    came: list[int] = []

    def handle(number: int) -> None:
        came.append(number)
        stop()

    handled: list[int] = []
    for number in _STOPS:
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):  # another thread's; Windows
            if signal.getsignal(number) is not signal.SIG_IGN:  # whoever ran us under nohup wants it ignored
                loop.add_signal_handler(number, handle, number)
                handled.append(number)
    try:
        yield came
    finally:
        for number in handled:
            loop.remove_signal_handler(number)

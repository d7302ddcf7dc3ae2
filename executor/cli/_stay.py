"""
A process that goes on after whoever started it takes it for ended.

An assistant ends its servers: it closes their stdin, and soon after that ends what has not ended. Tasks are to outlive
it. So the process that the assistant knows only waits for another one, which does the work: when that has work left
that is to go on, it says so, and the first one ends. If the first one is killed, so is the second.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GOES_ON = b"g"
_PR_SET_PDEATHSIG = 1


@contextlib.contextmanager
def stay() -> Iterator[Callable[[], None]]:
    """
    Have the block run in a process of its own, whose end is the end of this one.

    Where the system cannot end a process with its parent, it runs here.

    Yields:
        A function that lets the first process end now, with success, while the block goes on without it.
    """
    if sys.platform != "linux":
        yield lambda: None
        return
    told, tell = os.pipe()
    first = os.getpid()
    pid = os.fork()
    if pid:
        os.close(tell)
        _wait(pid, told)
    os.close(told)
    os.setsid()
    _end_with_parent(signal.SIGKILL)
    if os.getppid() != first:
        os._exit(1)  # it is gone already

    def go_on() -> None:
        _end_with_parent(0)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)  # whoever reads there sees the end
        os.close(nothing)
        os.write(tell, _GOES_ON)

    yield go_on


def _wait(pid: int, told: int) -> NoReturn:
    """In the first process: pass signals on, and end with the second one, or when that goes on by itself."""
    for number in _FORWARDED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda came, _: _pass_on(pid, came))
    for descriptor in (0, 1):
        os.close(descriptor)
    if os.read(told, 1) == _GOES_ON:
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _pass_on(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _end_with_parent(number: int) -> None:
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(number), 0, 0, 0)

"""Waiting for a command at a terminal, as a shell waits for one."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator


def wait_in_front(process: subprocess.Popen[bytes]) -> int:
    """
    Wait for *process*, which leads a process group of its own: a command must not be able to end ours (``kill 0``).

    Where this process is in the foreground of a terminal, the command is meanwhile; when it is stopped there, so is
    this process, and it goes on with it.

    Returns:
        The exit code of *process*, negative for a signal.
    """
    with _terminal() as terminal:
        if terminal is None:
            return process.wait()
        while True:
            os.tcsetpgrp(terminal, process.pid)
            _ignore_gone(process.pid, signal.SIGCONT)  # it may have asked for the terminal before it had it
            stopped = _stops(process.pid)
            os.tcsetpgrp(terminal, os.getpgrp())
            if not stopped:
                return process.wait()
            os.kill(0, signal.SIGSTOP)  # all that was started with this one, until whoever started it has it go on


def _stops(pid: int) -> bool:
    """Wait until a child is stopped, or ends; whether it is stopped."""
    try:
        seen = os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT)
    except ChildProcessError:  # a handler of signals has looked whether it has ended
        return False
    return seen is not None and seen.si_code == os.CLD_STOPPED


@contextlib.contextmanager
def _terminal() -> Iterator[int | None]:
    """The terminal that this process is in the foreground of, if any."""
    if sys.platform == "win32":
        yield None
        return
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # to take the terminal back from the background
    try:
        yield terminal if os.tcgetpgrp(terminal) == os.getpgrp() else None
    finally:
        signal.signal(signal.SIGTTOU, before)
        os.close(terminal)


def _ignore_gone(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)

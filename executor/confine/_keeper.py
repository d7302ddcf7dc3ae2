"""
The processes that start commands under Landlock: small, with one thread each, so that to fork one is cheap.

The **fork server** is in no box. A **keeper** is forked from it, gives up its rights, and puts itself where it can
signal nobody but what it has started. A command is started by a keeper, and before it is the command put under the
ruleset of the box, one layer below (`_leap`). So it can reach neither its keeper, who ends all that it leaves, nor
another command, nor the fork server.

All are children of the process that is served, and waited for there. They end when it lets them go, or ends itself.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import signal
import socket
import sys

from executor.confine import _restrict
from executor.confine._leap import Leap
from executor.confine._messages import LAST, LAST_WORD, close_all, received, send

TYPE_CHECKING = False  # `typing` would be copied with each fork, see `_restrict`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn


def main() -> NoReturn:
    """Be the fork server of whoever has the other end of the socket that is this process's input."""
    connection = socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)  # nothing to read, for what is forked from here
    for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them, and no command should
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()  # it would touch, and so copy, everything in each new process
    try:
        while True:
            told, [descriptor] = received(connection)
            with socket.socket(fileno=descriptor) as asking:
                try:
                    forked = _restrict.fork_as_sibling()
                except OSError as error:
                    send(asking, -(error.errno or errno.EIO))
                    continue
                if forked == 0:
                    connection.close()
                    _keep(asking, *told)
    except (EOFError, OSError):
        os._exit(0)


def _keep(connection: socket.socket, own_filter: bytes, last_filter: bytes, scoped: bool) -> NoReturn:  # noqa: FBT001 -- from a message
    send(connection, os.getpid())
    last_started, problem = 0, None
    try:
        leap = Leap()
        _restrict.give_up_rights(own_filter)
        if scoped:
            _restrict.scope_this_thread()
    except OSError as error:
        problem = 0, (error.strerror or "").partition(":")[0], error.errno or errno.EIO
    alone = problem is None and scoped and _restrict.signals_are_refused()
    last = _restrict.Program.of(last_filter)
    try:
        while True:
            told, descriptors = received(connection)
            if told is None:  # the command is over
                if alone:  # at one stroke: nothing can be started meanwhile
                    _restrict.end_all()
                continue
            answer = problem or _started(leap, last, told, descriptors)
            last_started = answer[0] if not answer[-1] else 0
            close_all(descriptors)
            send(connection, answer)
    except (EOFError, OSError):
        # Nobody is there any more; or somebody was interrupted before the answer was read, and hears it now.
        connection.sendall(LAST.pack(LAST_WORD, last_started), socket.MSG_NOSIGNAL)
    finally:
        os._exit(0)


def _started(leap: Leap, last: _restrict.Program, told: Sequence[Any], descriptors: list[int]) -> tuple[int, str, int]:
    """
    Start the command that is asked for.

    Args:
        leap: By which it is.
        last: The filter of system calls: what this process may do, and it may not.
        told: The texts of what follows, each with a NUL behind it; how many of these are paths at which its program may
            be, and how many its arguments, behind which stands its environment; whether it is to have its own session.
        descriptors: Its three streams, its folder, and its ruleset.

    Returns:
        See `Leap.start`; a number of 0 where there is no process, and the system call that failed for a step.
    """
    texts, paths, arguments, new_session = told
    *streams, folder, ruleset = descriptors
    addresses = _addresses(texts)
    argv = _pointers(addresses[paths : paths + arguments])
    env = _pointers(addresses[paths + arguments :])
    leap.first("prctl(PR_SET_SECCOMP)", "prctl", _restrict.SET_SECCOMP, _restrict.MODE_FILTER, ctypes.addressof(last))
    leap.then("landlock_restrict_self", "landlock_restrict_self", ruleset)
    if new_session:
        leap.then("setsid", "setsid")
    else:
        leap.then("setpgid", "setpgid")
    leap.then("folder", "fchdir", folder)
    for number, stream in enumerate(streams):
        leap.then("folder", "dup3", stream, number)
    for path in addresses[:paths]:
        leap.then("command", "execve", path, ctypes.addressof(argv), ctypes.addressof(env), or_else=True)
    try:
        return leap.start()
    except OSError as error:
        return 0, (error.strerror or "").partition(":")[0], error.errno or errno.EIO


def _addresses(texts: bytes) -> list[int]:
    """Where each of *texts*, which end with a NUL, begins in memory."""
    at = ctypes.cast(ctypes.c_char_p(texts), ctypes.c_void_p).value
    assert at is not None, "that of an object"
    found = []
    for text in texts.split(b"\0")[:-1]:
        found.append(at)
        at += len(text) + 1
    return found


def _pointers(addresses: list[int]) -> ctypes.Array[ctypes.c_ulong]:
    """The same for the kernel, with a 0 behind them."""
    return (ctypes.c_ulong * (len(addresses) + 1))(*addresses)


if __name__ == "__main__":
    sys.exit("this is started by toolexec itself")

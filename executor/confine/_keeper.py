"""
The processes that start commands under Landlock: small, with one thread each, so that to fork one is cheap.

The **fork server** is in no box. A **keeper** is forked from it, gives up its rights, and puts itself where it can
signal nobody but what it has forked. A **spare** is forked from a keeper before a command is asked for; it puts itself
under the ruleset of the box, one layer below, and becomes the command. So a command can reach neither its keeper, who
ends all that it leaves, nor another command, nor the fork server.

All are children of the process that is served, and waited for there. They end when it lets them go, or ends itself.
"""

from __future__ import annotations

import errno
import gc
import marshal
import os
import signal
import socket
import sys

from executor.confine import _restrict
from executor.confine._messages import BEGINS, received, send

TYPE_CHECKING = False  # `typing` would be copied with each fork, see `_restrict`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

_NOT_STARTED = 127


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
    problem = None
    try:
        _restrict.give_up_rights(own_filter)
        if scoped:
            _restrict.scope_this_thread()
    except OSError as error:
        problem = error
    alone = problem is None and scoped and _restrict.signals_are_refused()
    yielding = os.sched_getscheduler(0) == os.SCHED_OTHER
    if yielding:  # then it takes no processor from whom it serves
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    while True:
        own, other = socket.socketpair()
        try:
            spare = _restrict.fork_as_sibling()
        except OSError as error:  # there are as many processes as there may be
            _end(connection, error)
        if spare == 0:
            try:
                connection.close()
                other.close()
                if yielding:
                    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
                _wait_and_become(own, last_filter, problem)
            finally:
                os._exit(_NOT_STARTED)
        own.close()
        try:
            send(connection, spare, [other.fileno()])
        except OSError as error:  # as many descriptors are on their way as there may be
            _end(connection, error)
        other.close()
        received(connection)  # the command is over
        if alone:  # at one stroke: nothing can be started meanwhile
            _restrict.end_all()


def _end(connection: socket.socket, error: OSError) -> NoReturn:
    """End, and say why to whoever waits for a spare."""
    send(connection, -(error.errno or errno.EIO))
    os._exit(0)


def _wait_and_become(connection: socket.socket, last_filter: bytes, problem: OSError | None) -> None:
    """
    Be the command that is asked for; or say which step failed, and how.

    Args:
        connection: Where it is told.
        last_filter: Of system calls: what its keeper may do, and it may not.
        problem: Why its keeper is not where it should be.
    """
    try:
        _restrict.filter_this_thread(last_filter)
    except OSError as error:
        problem = problem or error
    (paths, argv, env, new_session), (*streams, folder, ruleset) = received(connection)
    step = "box"
    try:
        if problem is not None:
            raise problem
        _restrict.restrict_this_thread(ruleset)
        if new_session:
            os.setsid()
        else:
            os.setpgid(0, 0)
        step = "folder"
        os.fchdir(folder)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        connection.sendall(BEGINS)
        step = "command"
        _execute(paths, argv, env)
    except OSError as error:
        connection.sendall(marshal.dumps((step, error.errno, error.strerror)))


def _execute(paths: Sequence[bytes], argv: list[bytes], env: dict[bytes, bytes]) -> NoReturn:
    """Be the first of *paths* that can be run, as ``os.execvpe``. Raises OSError."""
    problem: OSError | None = None
    for path in paths:
        try:
            os.execve(path, argv, env)  # noqa: S606 -- this is what it is for
        except OSError as error:
            if problem is None or problem.errno in (errno.ENOENT, errno.ENOTDIR):
                problem = error
    raise problem or FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


if __name__ == "__main__":
    sys.exit("this is started by toolexec itself")

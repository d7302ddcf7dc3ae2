"""A command that a keeper starts, as ``subprocess`` has those that it starts itself."""

from __future__ import annotations

import contextlib
import errno
import marshal
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

from executor.confine._messages import BEGINS, send
from executor.errors import ConfinementError

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence


_MOST_HEARD = 4096  # bytes at once
_ENDED = "The process that was to become the command was ended by somebody else; try again"


class Process(subprocess.Popen[bytes]):
    """
    A command that a spare becomes (see `_keeper`); beyond its start all is as ``subprocess`` has it.

    Args:
        spare: The spare, which is a child of this process; used up in any case.
        connection: To it.
        ruleset: The descriptor of the ruleset that it is to be under.
    """

    def __init__(
        self,
        spare: int,
        connection: socket.socket,
        ruleset: int,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None = None,
        start_new_session: bool = False,
        **streams: Any,
    ) -> None:
        self._spare = spare
        self._connection = connection
        self._ruleset = ruleset
        try:
            super().__init__(argv, env=env, cwd=cwd, start_new_session=start_new_session, **streams)
        except BaseException:
            connection.close()  # first: where it may not be killed, it ends by that
            end(spare)
            raise
        connection.close()

    def _execute_child(self, args: Any, *told: Any) -> None:
        """In place of the one of ``subprocess`` (Python 3.11 to 3.14), which forks: *told* is as there."""
        (cwd, env), pipes, new_session = told[4:6], told[9:15], told[20]
        stdin, _, _, stdout, _, stderr = pipes
        with contextlib.ExitStack() as stack:
            stack.callback(self._close_pipe_fds, *pipes)  # type: ignore[attr-defined]  # not in typeshed
            message = (*_command(args, env, cwd or os.curdir), new_session)
            with contextlib.suppress(BrokenPipeError):  # it has ended, and said why if it could
                self._ask(message, (stdin, stdout, stderr), cwd)
            said = self._heard()
        failure = said.removeprefix(BEGINS)
        if failure:
            step, number, why = marshal.loads(failure)  # noqa: S302 -- our own spare's
            if step == "box":
                raise ConfinementError(f"The box (Landlock) could not be entered: {why}") from OSError(number, why)
            raise OSError(number, why, cwd if step == "folder" else args[0])
        if not said:
            raise ConfinementError(_ENDED)
        self.pid = self._spare
        self._child_created = True

    def _ask(self, message: object, streams: Sequence[int], cwd: str | None) -> None:
        with contextlib.ExitStack() as handed:
            folder = os.open(cwd or os.curdir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            handed.callback(os.close, folder)
            nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            handed.callback(os.close, nothing)
            given = [_open_or(nothing, stream, own) for own, stream in enumerate(streams)]
            send(self._connection, message, [*given, folder, self._ruleset])

    def _heard(self) -> bytes:
        """What the spare says until it has become the command, which has no connection, or has ended."""
        said = b""
        with contextlib.suppress(ConnectionResetError):  # it has ended, and not read all
            while piece := self._connection.recv(_MOST_HEARD):
                said += piece
        return said


def _command(
    argv: Sequence[str], env: Mapping[str, str], folder: str
) -> tuple[list[bytes], list[bytes], dict[bytes, bytes]]:
    """Where a program is, its arguments, and its environment. Raises ValueError."""
    if any("=" in name for name in env):
        raise ValueError("illegal environment variable name")
    program = argv[0]
    if not program:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
    paths = [program]
    if "/" not in program:
        paths = [os.path.join(path, program) for path in env.get("PATH", os.defpath).split(os.pathsep)]
        # What is not there costs much more to be tried in the new process.
        paths = [path for path in paths if os.path.lexists(os.path.join(folder, path))]
    names_and_values = iter(_encoded([text for pair in env.items() for text in pair]))
    return _encoded(paths), _encoded(argv), dict(zip(names_and_values, names_and_values, strict=True))


def _encoded(texts: Sequence[str]) -> list[bytes]:
    """*texts* as the system takes them, all at once: one by one costs five times as much. Raises ValueError."""
    encoded = os.fsencode("\0".join(texts)).split(b"\0") if texts else []
    if len(encoded) != len(texts):
        raise ValueError("embedded null byte")
    return encoded


def _open_or(nothing: int, stream: int, own: int) -> int:
    """
    *stream*, or this process's own; *nothing* where that is closed.

    What is not inheritable has come in its place since, and is not for others.
    """
    if stream != -1:
        return stream
    try:
        return own if os.get_inheritable(own) else nothing
    except OSError:
        return nothing


def end(pid: int) -> None:
    """Kill a child of this process, and wait for it; unless somebody else has, and its number may be another's."""
    with contextlib.suppress(ChildProcessError):
        if not os.waitpid(pid, os.WNOHANG)[0]:
            with contextlib.suppress(PermissionError):  # this process has given up its rights; it ends by itself
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

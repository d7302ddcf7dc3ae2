"""A command that a keeper starts, as ``subprocess`` has those that it starts itself."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

from executor.errors import ConfinementError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    Ask: TypeAlias = Callable[[object, Sequence[int]], tuple[int, str, int]]


class Process(subprocess.Popen[bytes]):
    """
    A command that a keeper starts (see `_keeper`); beyond its start all is as ``subprocess`` has it.

    Args:
        ask: Has the keeper start what a message and its descriptors tell, and gives its answer.
        ruleset: The descriptor of the ruleset that it is to be under.
    """

    def __init__(
        self,
        ask: Ask,
        ruleset: int,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None = None,
        start_new_session: bool = False,
        **streams: Any,
    ) -> None:
        self._ask = ask
        self._ruleset = ruleset
        super().__init__(argv, env=env, cwd=cwd, start_new_session=start_new_session, **streams)

    def _execute_child(self, args: Any, *told: Any) -> None:
        """In place of the one of ``subprocess`` (Python 3.11 to 3.14), which forks: *told* is as there."""
        (cwd, env), pipes, new_session = told[4:6], told[9:15], told[20]
        stdin, _, _, stdout, _, stderr = pipes
        with contextlib.ExitStack() as stack:
            stack.callback(self._close_pipe_fds, *pipes)  # type: ignore[attr-defined]  # not in typeshed
            message = (*_command(args, env), new_session)
            pid, step, number = self._told(message, (stdin, stdout, stderr), cwd)
        if step:
            why = os.strerror(number)
            if pid:
                end(pid)
            if step not in ("folder", "command"):
                raise ConfinementError(f"The box (Landlock) could not be entered: {step}: {why}") from OSError(
                    number, why
                )
            if step == "command" and not _is_anywhere(args[0], env, cwd):  # a folder of PATH is closed
                number, why = errno.ENOENT, os.strerror(errno.ENOENT)
            raise OSError(number, why, cwd if step == "folder" else args[0])
        self.pid = pid
        self._child_created = True

    def _told(self, message: object, streams: Sequence[int], cwd: str | None) -> tuple[int, str, int]:
        """The keeper's answer."""
        with contextlib.ExitStack() as handed:
            folder = os.open(cwd or os.curdir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            handed.callback(os.close, folder)
            nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            handed.callback(os.close, nothing)
            given = [_open_or(nothing, stream, own) for own, stream in enumerate(streams)]
            try:
                return self._ask(message, [*given, folder, self._ruleset])
            except OSError as error:
                raise ConfinementError(f"The box (Landlock) could not be made: {error}") from error


def _command(argv: Sequence[str], env: Mapping[str, str]) -> tuple[bytes, int, int]:
    """
    What a keeper is told of a command, see there: where its program is, its arguments, and its environment.

    Raises:
        FileNotFoundError: There is no such program.
        ValueError: A NUL is in them, or a ``=`` in the name of a variable.
    """
    if any("=" in name for name in env):
        raise ValueError("illegal environment variable name")
    if not argv[0]:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    paths = _paths(argv[0], env)
    texts = [*paths, *argv, *[f"{name}={value}" for name, value in env.items()], ""]
    encoded = os.fsencode("\0".join(texts))
    if encoded.count(b"\0") != len(texts) - 1:
        raise ValueError("embedded null byte")
    return encoded, len(paths), len(argv)


def _paths(program: str, env: Mapping[str, str]) -> list[str]:
    """Where *program* may be."""
    if "/" in program:
        return [program]
    return [os.path.join(path, program) for path in env.get("PATH", os.defpath).split(os.pathsep)]


def _is_anywhere(program: str, env: Mapping[str, str], folder: str | None) -> bool:
    return any(os.path.lexists(os.path.join(folder or os.curdir, path)) for path in _paths(program, env))


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

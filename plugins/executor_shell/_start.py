"""What to run, and the start of it, in its box."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from executor.errors import ToolFailedError
from executor_shell._group import CREATION_FLAGS, OWN_SESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from executor import CurrentCall
    from executor.confine import Box, Profile

# By them bash reads a line otherwise than it is judged: names with a dot for "*", a variable's name for a folder.
_READING = frozenset({"BASHOPTS", "SHELLOPTS", "GLOBIGNORE"})
# Said of a moment, and not of a program.
_PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, getattr(errno, "ETOOMANYREFS", errno.EAGAIN))


@dataclass(frozen=True, slots=True)
class Request:
    """
    What to run, and how.

    Attributes:
        program: The program and its arguments; a text is a line for the system's own shell (Windows).
        told: What the call asked for: a shell line, or a program and its arguments.
        cwd: The folder to run in; None for this process's own.
        env: Added to this process's environment.
        timeout: Seconds after which it is ended; None never.
        max_output: Bytes of each stream in the result.
        folder: Says where longer output is kept.
        confine: The profile of the box to run in; None for no box.
        terminal: Whether it runs on a terminal.
    """

    program: list[str] | str
    told: str | list[str]
    cwd: str | None
    env: Mapping[str, str]
    timeout: float | None
    max_output: int
    folder: Callable[[], Path]
    confine: Profile | None = None
    terminal: bool = False

    @property
    def dropped(self) -> frozenset[str]:
        """What of this process's environment is not for it, unless the call says so."""
        return _READING & os.environ.keys() - self.env.keys() if isinstance(self.told, str) else frozenset()

    @property
    def name(self) -> str:
        """The program, or the line."""
        return self.program if isinstance(self.program, str) else self.program[0]


def folder_of(cwd: str | None, call: CurrentCall | None) -> str | None:
    """
    The folder that *cwd* means, or the working folder: that which was judged, whatever the links on the way to it are
    by now, and wherever this process has gone since.

    Raises:
        ToolFailedError: There is another one in its place.
    """
    if call is None:
        return cwd
    try:
        folder = call.folder if cwd is None else str(call.resolve_path(cwd))
        same = os.path.realpath(folder) == folder
    except (OSError, ValueError):
        return cwd  # there is no such folder, as is said where it is to run
    if not same:
        told = folder if cwd is None else cwd
        raise ToolFailedError(f"The working folder {told!r} has become another one since it was judged: call it again")
    return folder


class Started(Protocol):
    """
    A process, and the box that it is in.

    Attributes:
        process: The process.
        box: What holds it; None where nothing was asked for.
    """

    @property
    def process(self) -> subprocess.Popen[bytes]: ...

    @property
    def box(self) -> Box | None: ...

    def end(self) -> None:
        """End all that is in the box, where that can be done at one stroke."""
        ...

    def close(self) -> None:
        """The process has ended: free what its box held."""
        ...


@dataclass(frozen=True, slots=True)
class _Free:
    """A process in no box."""

    process: subprocess.Popen[bytes]
    box: Box | None = None

    def end(self) -> None:
        """Nothing is in a box."""

    def close(self) -> None:
        """Nothing is held."""


def start(request: Request, marks: Mapping[str, str], terminal: int | None = None) -> Started:
    """
    A new process, in a session of its own, with nothing to read and a pipe for each of its streams, or a terminal.

    Args:
        request: What to run, and how.
        marks: What is in its environment besides, to tell it from others.
        terminal: The command's end of its terminal.

    Raises:
        ConfinementError: It is to run in a box, and there is none, or it could not be made.
        ToolFailedError: It could not be started; the message says what to mend.
    """
    program = request.name
    if request.cwd is not None and not os.path.isdir(request.cwd):  # noqa: PTH112 -- also for texts that are no path
        raise ToolFailedError(f"The working folder {request.cwd!r} does not exist: give an existing folder as cwd")
    try:
        return _started(request, marks) if terminal is None else _on_terminal(request, marks, terminal)
    except FileNotFoundError as error:
        raise ToolFailedError(
            f"There is no program {program!r}: check its spelling and that it is installed and on PATH, "
            "or give its full path"
        ) from error
    except PermissionError as error:
        raise ToolFailedError(f"{program!r} may not be run: {error}. Check that it is an executable file") from error
    except ValueError as error:
        raise ToolFailedError(f"{program!r} could not be started: {error} in its arguments, cwd or env") from error
    except OSError as error:
        raise not_started(program, error) from error


def not_started(program: str, error: OSError) -> ToolFailedError:
    """That *program* could not be started, and what helps."""
    hint = ""
    if error.errno == errno.ENOEXEC:
        hint = ". A script without a #! line needs its interpreter in front"
    elif error.errno in _PASSING:
        hint = ". Try again when that is over"
    return ToolFailedError(f"{program!r} could not be started: {error}{hint}")


def _how(request: Request, **streams: int) -> dict[str, Any]:
    session = {"start_new_session": OWN_SESSION, "creationflags": CREATION_FLAGS}
    return {"bufsize": 0, "cwd": request.cwd, **session, **streams}


def _on_terminal(request: Request, marks: Mapping[str, str], terminal: int) -> Started:
    from executor_shell._terminal import FOREGROUND, LEAD, TERM, python  # with the screen 5 ms, for those that have one

    assert not isinstance(request.program, str), "there are no such terminals on Windows"
    how = _how(request, stdin=terminal, stdout=terminal, stderr=terminal)
    more, program = {"TERM": TERM, **request.env}, request.program
    _check(program[0], more, request.cwd)  # what stands before it would start, and only then fail
    if request.confine is None:
        return _Free(subprocess.Popen([*python(LEAD), *program], env=_with({**more, **marks}, request.dropped), **how))
    from executor import confine

    env = _environment(more, request.dropped)
    front, inner = python(LEAD), python(FOREGROUND)
    return confine.start(request.confine, program, env=env, marks=marks, front=front, inner=inner, **how)


def _check(program: str, env: Mapping[str, str], cwd: str | None) -> None:
    """Raises OSError where there is no such program, or it may not be run."""
    path = os.path.join(cwd or "", program) if os.path.dirname(program) else program  # noqa: PTH118, PTH120 -- texts, as the system takes them
    if shutil.which(path, path=env.get("PATH", os.environ.get("PATH"))) is None:
        if os.path.dirname(program) and os.path.exists(path):  # noqa: PTH110, PTH120 -- likewise
            raise PermissionError(errno.EACCES, "it is not executable", program)
        raise FileNotFoundError(errno.ENOENT, "there is no such program", program)


def _started(request: Request, marks: Mapping[str, str]) -> Started:
    how = _how(request, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    program, profile = request.program, request.confine
    if profile is None:
        env = _with({**request.env, **marks}, request.dropped)
        return _Free(subprocess.Popen(program, shell=isinstance(program, str), env=env, **how))
    from executor import confine

    if isinstance(program, str):  # Windows, where there are no boxes: this says so, or refuses
        box = confine.box_of(profile)
        return _Free(subprocess.Popen(program, shell=True, env=_with(request.env), **how), box)  # noqa: S602 -- the gate has judged it
    env = _environment(request.env, request.dropped)
    return confine.start(profile, program, env=env, marks=marks, **how)


def _environment(more: Mapping[str, str], dropped: frozenset[str]) -> dict[str, str] | None:
    """This process's environment without what is *dropped*, and *more*; None for all of it and no more."""
    if not more and not dropped:
        return None
    return {name: os.environ[name] for name in os.environ.keys() - dropped} | dict(more)


def _with(more: Mapping[str, str], dropped: frozenset[str] = frozenset()) -> Mapping[Any, Any] | None:
    """The same, for a process in no box."""
    if sys.platform == "win32" or dropped or not more:
        return _environment(more, dropped)
    return {**os.environb, **{os.fsencode(name): os.fsencode(more[name]) for name in more}}  # not decoded for nothing

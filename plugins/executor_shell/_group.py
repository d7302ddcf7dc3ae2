"""The processes of one command: found, counted, and told to stop as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    import psutil

# A session of its own makes the command the leader of its own process group, and cuts it off from the terminal.
OWN_SESSION = sys.platform != "win32"
if sys.platform == "win32":
    CREATION_FLAGS = subprocess.CREATE_NEW_PROCESS_GROUP
    TERMINATE, KILL = signal.CTRL_BREAK_EVENT, signal.SIGTERM  # SIGTERM is TerminateProcess there
else:
    CREATION_FLAGS = 0
    TERMINATE, KILL = signal.SIGTERM, signal.SIGKILL
_ENDED = (128 + signal.SIGTERM, 137)  # how 128 and TERM, or KILL, come out of what stands before a command


class Member(NamedTuple):
    """A living process of a session, and the process group it is in."""

    pid: int
    group: int


def session_members(session: int) -> list[Member] | None:
    """
    The living processes of *session*, zombies left out; None where the system does not say (only Linux does).

    It costs about 15 µs for each process of the machine.
    """
    if sys.platform != "linux":
        return None
    try:
        if Path("/proc/self").readlink().name != str(os.getpid()):
            return None  # the /proc of another process namespace, with other numbers
        names = [name for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 -- names are wanted, not paths
    except OSError:
        return None
    found = []
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123 -- hundreds of files: the plain call is half the cost
                # pid (name) state parent group session …; the name may hold spaces and brackets
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it has ended since
        if int(fields[3]) == session and fields[0] not in b"ZX":
            found.append(Member(int(name), int(fields[2])))
    return found


class ProcessGroup:
    """
    A command's process and all it started that stayed in its session.

    What calls ``setsid`` has left it. It is ended too where psutil is installed, unless its parent is gone (a daemon).
    On Windows there is no such group: the command itself is sent CTRL_BREAK, then terminated, and with psutil what it
    started.

    Args:
        process: A process that was started with `OWN_SESSION` and `CREATION_FLAGS`.
        in_front: Whether that only stands before the command: it starts it, waits for it, and exits as it does, with
            128 and the number for a signal.
        end_box: Ends all that is in the command's box, if it has one.

    Attributes:
        reaped: Whether the command has exited, and is no zombie any more.
        exit_code: As `reap` says.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], *, in_front: bool = False, end_box: Callable[[], None] | None = None
    ) -> None:
        self.pid = process.pid
        self._in_front = in_front
        self._end_box = end_box
        self._process = process
        # Guards the three flags, and that no signal is sent once the number may belong to somebody else. Reentrant,
        # because a signal handler may stop the command while the interrupted thread is in here.
        self._lock = threading.RLock()
        self.reaped = False
        self.exit_code: int | None = None
        self._known = False
        self._terminated = False
        self._released = False
        self._escaped: list[psutil.Process] = []

    def wait(self) -> None:
        """Wait until the command has exited. Any thread may; what has exited is a zombie no more."""
        code = _ended(self._process)
        with self._lock:
            if not self._known:
                self._known, self.exit_code = True, code
                self._process.wait()

    def wait_in_thread(self, then: Callable[[], None]) -> None:
        """Have a thread `wait`, and call *then*. Raises RuntimeError: there is no thread to be had."""

        def wait() -> None:
            self.wait()
            then()

        threading.Thread(target=wait, name=f"executor-shell-wait-{self.pid}", daemon=True).start()

    def reap(self) -> int | None:
        """
        The exit code of the command, which must have exited: negative for a signal, None where it is lost. It is no
        zombie any more.

        Where a thread waits for the exit it has reaped the command a moment before this is told; a signal sent in
        between could reach a stranger, if the system gave the number away that fast.
        """
        with self._lock:
            if not self._known:
                self.wait()
            self.reaped = True
            if self._in_front and self._terminated and self.exit_code in _ENDED:
                self.exit_code = 128 - self.exit_code  # the command was ended by us
            return self.exit_code

    def number_in_use(self) -> bool:
        """
        Whether a process group of this number exists, zombies included.

        It costs 1 µs, and misses members in a group of their own (jobs of a shell with job control).
        """
        if sys.platform == "win32":
            return False
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # it exists, and has taken another user's rights
        return True

    def members(self) -> list[int]:
        """
        The processes that live, the command included; where the system does not list them, the group's number.

        Nothing of a box itself once all else is gone: that is ended with what the box holds.
        """
        with self._lock:
            if self._released:
                return []
            escaped = [process.pid for process in self._escaped if _lives(process)]
            living = session_members(self.pid)
            if living is None:
                return [self.pid, *escaped] if self.number_in_use() else escaped
            if self._in_front and self.reaped and len(living) == 1:
                # The first process of its box, which ends after all others: who left the session is not waited for.
                return escaped
            return [*(member.pid for member in living), *escaped]

    def terminate(self) -> None:
        """Ask all members to end; a second time does nothing. Any thread may."""
        with self._lock:
            if not self._terminated:
                self._terminated = True
                if not self.reaped:
                    self._escaped = _escaped(self.pid)
                self._send(TERMINATE)

    def kill(self) -> None:
        """
        End all members. Any thread may.

        Members are found one by one, and what starts others all the time is not caught so; its box ends it.
        """
        with self._lock:
            self._terminated = True
            if self._end_box is not None and not self._released:
                self._end_box()
            self._send(KILL)

    def release(self) -> None:
        """The command is over: from now on nothing is sent, because the number may be given to another process."""
        with self._lock:
            self._released = True

    def _send(self, number: int) -> None:
        if self._released:
            return
        for process in self._escaped:
            with contextlib.suppress(Exception):  # gone; psutil looks that it is no other one of that number
                process.send_signal(number if sys.platform != "win32" else signal.SIGTERM)
        if sys.platform == "win32":
            self._process.send_signal(number)
            return
        living = session_members(self.pid)
        # What stands before the command has to hear its end; it is killed with it.
        if self._in_front and living is not None and number != KILL:
            inside = [member.pid for member in living if member.pid != self.pid]
            for pid in inside:
                _ignore_gone(os.kill, pid, number)
            if inside:
                return
            number = KILL  # the command has not begun: it has nothing to tidy up, and what would be sent it never heard
        # Neither an unreaped command nor a living member lets the number go to somebody else.
        if not self.reaped or living is None or any(member.group == self.pid for member in living):
            _ignore_gone(os.killpg, self.pid, number)
        for member in living or ():
            if member.group != self.pid:  # a shell with job control gives each job a group, in the same session
                _ignore_gone(os.kill, member.pid, number)


def _ended(process: subprocess.Popen[bytes]) -> int | None:
    """
    Wait until a process has exited. How it did, which ``subprocess`` says is 0 where that is lost: to a part of this
    program that waits for every child, or to the system, where this program ignores SIGCHLD.
    """
    if not hasattr(os, "waitid"):  # Windows, and macOS before Python 3.13
        return process.wait()
    try:
        seen = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        return None
    assert seen is not None, "only WNOHANG has None"
    return seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status


def _escaped(pid: int) -> list[psutil.Process]:
    """The descendants of a process that have left its session; none where psutil is not installed."""
    try:
        import psutil
    except ImportError:
        return []
    found: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(ProcessLookupError):
                if sys.platform == "win32" or os.getsid(process.pid) != pid:
                    found.append(process)
    return found


def _lives(process: psutil.Process) -> bool:
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _ignore_gone(send: Callable[[int, int], None], target: int, number: int) -> None:
    # A member that took another user's rights cannot be ended by us: the caller sees that it is still there.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        send(target, number)

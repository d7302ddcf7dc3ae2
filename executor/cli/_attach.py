"""A person's terminal, put before the terminal of a task's command, until one of them ends or the person leaves."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import termios
import threading
import tty
from typing import TYPE_CHECKING, Any, Self

from executor.cli._errors import CliError, ExitCode
from executor.cli._render import is_terminal, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor.tasks import TaskManager

LEAVE = b"\x1d"  # Ctrl-], as in telnet: few programs want it, and no shell does
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
# What a command may have left: the other screen, colours, margins, character sets, the cursor, keys, pasting, a title.
# Leaving a screen, or the margins, moves the cursor: it is saved before.
_RESET = "\x1b7\x1b[?1049l\x1b7\x1b[r\x1b8\x1b[m\x1b(B\x0f\x1b[?25h\x1b[?1l\x1b>\x1b[?7h\x1b[?2004l\x1b[23;0t"
_CHUNK = 4096
# For a process that is killed: whoever started it may not set the terminal right. Where they did, nothing is done.
_GUARD = """
trap '' HUP INT QUIT TERM TSTP TTIN TTOU
read -r left && exit
[ "$(stty -g <"$1")" = "$3" ] && stty "$2" <"$1" && printf '%s' "$4" >"$1"
"""
# PATH may name a project's folders, in which a command may have left such programs: these are run in no box.
_SYSTEM = f"{os.defpath}:/run/current-system/sw/bin"


def attach(tasks: TaskManager, task_id: str) -> bool:
    """
    Use the terminal of a task from this one.

    Returns:
        Whether the person left; False when the terminal was closed, or the task's process is gone.

    Raises:
        CliError: This is no terminal.
        ToolExecutorError: See `TaskManager.attach`.
    """
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        raise CliError("attach needs a terminal: run it in one of your own, without a pipe or file", ExitCode.USAGE)
    with _Session() as session:
        return session.run(tasks, task_id)


class _Session:
    """One stay. What is shown is written by the thread that receives it, so that it waits for a slow terminal."""

    def __init__(self) -> None:
        self._in, self._out = sys.stdin.fileno(), sys.stdout.fileno()
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._lock = threading.Lock()  # held for each write, so that nothing comes after the last one
        self._ready = threading.Event()  # this terminal is
        self._open = True
        self._over = False  # the terminal of the task is closed
        self._signal: int | None = None
        self._resized = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._woken)
        os.close(self._wake)

    def run(self, tasks: TaskManager, task_id: str) -> bool:
        sys.stdout.flush()
        columns, rows = self._size()
        with (
            self._signals(),
            contextlib.closing(tasks.attach(task_id, self._show, columns=columns, rows=rows)) as place,
        ):
            try:
                with self._raw(f"{task_id}: Ctrl-] leaves", rows):
                    self._ready.set()
                    left = self._pass_on(place)
                    with self._lock:
                        self._open = False
            finally:
                self._open = False
                self._ready.set()
        if self._signal is not None:
            name = signal.Signals(self._signal).name
            raise CliError(f"ended by {name}; {task_id} goes on", ExitCode.INTERRUPTED)
        return left

    def _pass_on(self, place: Any) -> bool:
        """Pass keys and sizes on. Returns whether the person left."""
        while not self._over and self._signal is None:
            ready, _, _ = select.select([self._in, self._woken], [], [])
            if self._woken in ready:
                os.read(self._woken, _CHUNK)
            if self._resized:
                self._resized = False
                place.resize(*self._size())
            if self._in in ready and self._signal is None:
                try:
                    typed = os.read(self._in, _CHUNK)
                except OSError:  # the terminal is gone
                    return True
                before, leaves, _ = typed.partition(LEAVE)
                if before:
                    place.send(before)
                if leaves or not typed:
                    return True
        return False

    def _size(self) -> tuple[int, int]:
        columns, rows = os.get_terminal_size(self._out)
        return columns or 80, rows or 24  # a line that is no window says nothing

    def _show(self, text: str | None) -> None:
        if text is None:
            self._over = True
            self._ring()
        elif text:
            self._ready.wait()
            with self._lock, contextlib.suppress(OSError):
                if self._open:
                    self._write(text)

    def _write(self, text: str) -> None:
        data = memoryview(text.encode(errors="replace"))
        while data:
            try:
                data = data[os.write(self._out, data) :]
            except BlockingIOError:  # somebody has made it so
                select.select([], [self._out], [])

    def _ring(self) -> None:
        with contextlib.suppress(OSError):  # full: it has been rung; closed: nobody waits
            os.write(self._wake, b".")

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        def ended(number: int, _: object) -> None:
            self._signal = number
            self._ring()

        def resized(*_: object) -> None:
            self._resized = True
            self._ring()

        before = {number: signal.signal(number, ended) for number in _ENDING}
        before[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, resized)
        # The system may give a signal to another thread: then nothing but this wakes the one that waits.
        descriptor = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(descriptor)
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def _raw(self, title: str, rows: int) -> Iterator[None]:
        """This terminal passes every key on, and is as it was afterwards, whatever ends this process."""
        saved = termios.tcgetattr(self._in)
        with _guarded(self._in) as armed:
            try:
                tty.setraw(self._in)
                armed()
                # What is on the screen scrolls off: it is not drawn over.
                self._write(f"\x1b[22;0t\x1b]0;{printable(title)}\x07" + "\r\n" * rows)
                yield
            finally:
                with contextlib.suppress(OSError, termios.error):  # the terminal is gone
                    termios.tcflush(self._in, termios.TCIFLUSH)  # what was typed was for the command
                    termios.tcsetattr(self._in, termios.TCSANOW, saved)
                    self._write(_RESET + "\r\n")


@contextlib.contextmanager
def _guarded(terminal: int) -> Iterator[Any]:
    """Gives what to call once the terminal is raw: from then on it is set right, though this process is killed."""
    stty, shell = (shutil.which(name, path=_SYSTEM) for name in ("stty", "sh"))
    if stty is None or shell is None:
        yield lambda: None
        return

    def modes() -> str:
        return subprocess.run([stty, "-g"], stdin=terminal, capture_output=True, text=True, check=False).stdout.strip()

    with contextlib.ExitStack() as stack:
        saved = modes()

        def arm() -> None:
            words = (os.ttyname(terminal), saved, modes(), _RESET)
            guard = subprocess.Popen(
                [shell, "-c", _GUARD, "sh", *words],
                stdin=subprocess.PIPE,
                start_new_session=True,
                env={**os.environ, "PATH": _SYSTEM},
            )
            stack.callback(_dismiss, guard)

        yield arm


def _dismiss(guard: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        guard.communicate(b"left\n")

"""
The pseudo-terminal that a command runs on: what it writes becomes text, what a person types is passed to it.

The command's session has the terminal for its own; no other terminal is reached by it. What is typed is kept in memory
only until the command takes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import sys
import termios
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Literal

from executor import OutputChunk
from executor.errors import ToolFailedError
from executor.interpreter import WITHOUT, interpreter
from executor_shell._capture import TextDecoder
from executor_shell._screen import Screen

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor_shell._capture import Capture

COLUMNS, ROWS = 80, 24  # of the window until a person looks at it
TERM = "xterm-256color"  # what `Screen` understands, with what it leaves out
CHUNK = 64 * 1024  # bytes
CALM = 0.1  # seconds without output after which a line that has not ended is told: it may be a question …
MOST_DOUBLED = 6  # … and each line that changes doubles them, so often at most: a bar that moves for hours is not told
MOST_TYPED = 8 * 1024 * 1024  # bytes that wait to be read by the command: a person may paste a file, none of it is lost
MOST_ANSWERED = 64 * 1024  # of which what the terminal answers is no more: people need the rest

# A process becomes the command once the terminal is its session's: it leads the session, of which only it can say so.
LEAD = "import fcntl,os,sys,termios as t;fcntl.ioctl(0,t.TIOCSCTTY,0);os.execvp(sys.argv[1],sys.argv[1:])"
# The same within a box that something stands before, which leads the session and is to hear no key (Ctrl-C).
FOREGROUND = (
    "import os,signal as s,sys;s.signal(s.SIGTTOU,s.SIG_IGN);os.setpgid(0,0);os.tcsetpgrp(0,os.getpgrp());"
    "s.signal(s.SIGTTOU,s.SIG_DFL);os.execvp(sys.argv[1],sys.argv[1:])"
)


def python(code: str) -> list[str]:
    """What runs *code*, with what stands after it as its arguments, and imports nothing of a user's."""
    found = interpreter()
    if found is None:
        raise ToolFailedError(f"A terminal needs the program of Python, and {WITHOUT}: leave terminal out")
    return [getattr(sys, "_base_executable", None) or found, "-I", "-S", "-c", code]


class PseudoTerminal:
    """
    The terminal of one command; a `Terminal` for whoever is offered it. `take` and `type_on` are for the thread that
    follows the command, all else for any.

    Args:
        capture: Keeps the text as it stands in the end.
        emit: Is given the text as it comes, as an `OutputChunk`.
        wake: Has `type_on` called.

    Raises:
        OSError: There is no terminal to be had.
    """

    def __init__(self, capture: Capture, emit: Callable[[str], None], wake: Callable[[], object]) -> None:
        self.capture = capture
        self._emit = emit
        self._wake = wake
        self._decoder = TextDecoder()
        self._lock = threading.RLock()  # guards all of this; reentrant, as the screen answers what the command asks
        self._typed = bytearray()
        self._views: list[_View] = []
        self._screen = Screen(COLUMNS, ROWS, self._answer)
        self._since: float | None = None  # when something came that was not told
        self._over = False
        self._near, self._far = pty.openpty()
        os.set_blocking(self._near, False)
        self._set_size(COLUMNS, ROWS)

    # For who follows the command ---------------------------------------------------------------------------------

    def fileno(self) -> int:
        """The descriptor that a selector waits for."""
        return self._near

    @property
    def far(self) -> int:
        """The command's end, open here until `ended`."""
        return self._far

    @property
    def undecodable(self) -> bool:
        """Whether bytes came that are not UTF-8."""
        return self._decoder.undecodable

    @property
    def due(self) -> float | None:
        """How many seconds from now `calm` should be called, or None."""
        if self._since is None:
            return None
        calm = CALM * (1 << min(self._screen.again, MOST_DOUBLED))
        return max(0.0, self._since + calm - time.monotonic())

    def take(self) -> bool:
        """Take what was written. Returns False when nobody has the terminal any more."""
        try:
            data = os.read(self._near, CHUNK)
        except BlockingIOError:
            return True
        except OSError:  # EIO: nobody has the other end
            data = b""
        with self._lock:
            self._take_text(self._decoder.decode(data, final=not data))
            if not data:
                self._screen.finish()
        self._pass_on()
        return bool(data)

    def calm(self) -> None:
        """Tell what is on the screen, if nothing has come for a while."""
        if self.due == 0.0:
            with self._lock:
                self._since = None
                self._screen.tell()
            self._pass_on()

    def ended(self) -> None:
        """The command has ended: what reads here sees the end once it has read everything."""
        if self._far >= 0:
            os.close(self._far)
            self._far = -1

    def finish(self) -> None:
        """Nothing more will be taken."""
        with self._lock:
            self._take_text(self._decoder.decode(b"", final=True))
            self._screen.finish()
        self._pass_on()

    def type_on(self) -> bool:
        """Pass on what was typed. Returns whether there is more than the command takes now."""
        with self._lock, contextlib.suppress(OSError):  # full, or nobody is there any more
            while self._typed:
                del self._typed[: os.write(self._near, self._typed[:CHUNK])]
        return bool(self._typed)

    def close(self) -> None:
        """The terminal is gone. Who looked at it is told."""
        with self._lock:
            self._over = True
            views, self._views = self._views, []
            self._typed.clear()
            self.ended()
            os.close(self._near)
        self.capture.close()
        for view in views:
            view.tell(None)
            view.pass_on()

    def _take_text(self, text: str) -> None:
        if not text:
            return
        shown = self._screen.feed(text)
        self._since = time.monotonic()
        if shown:
            for view in self._views:
                view.tell(shown)

    def _pass_on(self) -> None:
        """Without the lock: who hears it may take their time, or ask what the terminal's mode is."""
        with self._lock:
            views = tuple(self._views)
            kept, said = "".join(self._screen.kept), "".join(self._screen.said)
            self._screen.kept.clear()
            self._screen.said.clear()
        for view in views:
            view.pass_on()
        if kept:
            self.capture.add(kept.encode("utf-8", "replace"))
        if said:
            self._emit(OutputChunk(said, self.capture.name, said.encode("utf-8", "replace")))

    def _answer(self, text: str) -> None:
        if len(self._typed) < MOST_ANSWERED:  # otherwise the command asks, and does not read the answers
            with contextlib.suppress(ToolFailedError):
                self.send(text.encode())

    # For people --------------------------------------------------------------------------------------------------

    @property
    def mode(self) -> Literal["shown", "unseen", "keys"]:
        """See `Terminal.mode`."""
        # Without the lock: it is asked for with locks of others held, who may be waited for by somebody that looks.
        if self._over:
            return "shown"
        try:
            flags = termios.tcgetattr(self._near)[3]
        except termios.error:  # it has been closed since
            return "shown"
        if flags & termios.ECHO:
            return "shown"
        return "unseen" if flags & termios.ICANON else "keys"

    def send(self, data: bytes) -> None:
        """See `Terminal.send`. Raises ToolFailedError: the command does not read it, or has ended."""
        with self._lock:
            if self._over:
                raise ToolFailedError("The command has ended: nothing reads what is typed")
            if len(self._typed) + len(data) > MOST_TYPED:
                raise ToolFailedError("The command does not read what is typed: there is no room for more")
            self._typed += data
        self._wake()

    def watch(self, show: Callable[[str | None], object], columns: int, rows: int) -> _View:
        """See `Terminal.watch`."""
        view = _View(self, show, columns, rows)
        with self._lock:
            if self._over:
                view.tell(None)
            else:
                self._views.append(view)
                self._fit()
                view.tell(self._screen.picture())
        view.pass_on()
        return view

    def _fit(self) -> None:
        """Nobody's window is too small for what is drawn."""
        if self._views and not self._over:
            columns, rows = min(view.columns for view in self._views), min(view.rows for view in self._views)
            if (columns, rows) != (self._screen.columns, self._screen.rows):
                self._screen.resize(columns, rows)
                self._pass_on_later()
                self._set_size(columns, rows)

    def _pass_on_later(self) -> None:
        self._since = time.monotonic()
        self._wake()

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._near, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def changed(self, view: _View) -> None:
        """A window has another size."""
        with self._lock:
            if view in self._views:
                self._fit()

    def show_again(self, view: _View) -> None:
        """Show somebody the whole screen."""
        with self._lock:
            if view in self._views:
                view.tell(self._screen.picture())
        view.pass_on()

    def forget(self, view: _View) -> None:
        """Somebody looks no more."""
        with self._lock:
            if view in self._views:
                self._views.remove(view)
                self._fit()


class _View:
    """Somebody who looks; a `Viewer`. What they see is put in order under the terminal's lock, and given after it."""

    def __init__(self, terminal: PseudoTerminal, show: Callable[[str | None], object], columns: int, rows: int) -> None:
        self.columns = columns
        self.rows = rows
        self._show = show
        self._terminal = terminal
        self._told: deque[str | None] = deque()
        self._giving = threading.Lock()

    def tell(self, text: str | None) -> None:
        """Something is to be shown."""
        self._told.append(text)

    def pass_on(self) -> None:
        """Show it. Where another thread is at that, or this one, it goes on with this."""
        while self._told and self._giving.acquire(blocking=False):
            try:
                while self._told:
                    self._show(self._told.popleft())
            finally:
                self._giving.release()

    def picture(self) -> None:
        self._terminal.show_again(self)

    def resize(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._terminal.changed(self)

    def close(self) -> None:
        self._terminal.forget(self)

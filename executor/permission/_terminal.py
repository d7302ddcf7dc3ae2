"""The terminal as a surface on which a person is asked."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from typing import TYPE_CHECKING, TextIO, cast

from executor._log import warn
from executor.permission._dialogue import Dialogue, Heard
from executor.permission._editor import edit, find_editor
from executor.threads._fork import of_this_process
from executor.values._approval import Answer, Approval, NoChannelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class TerminalChannel:
    """
    Asks on the terminal, one question at a time. Input typed before a question is shown is thrown away.

    Args:
        source: Where answers are read; a terminal, or nobody can be reached. Default: stdin.
        target: Where questions are written. Default: stderr.
    """

    def __init__(self, source: TextIO | None = None, target: TextIO | None = None) -> None:
        self._source = source
        self._target = target
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        """Nothing is asked; in the child of a fork again, where the thread and the questions of the parent are not."""
        for end in getattr(self, "_wake", None) or ():
            os.close(end)
        self._lock = threading.Lock()  # guards the queue and the thread's existence
        self._queue: list[tuple[Approval, Callable[[object], bool]]] = []
        self._current: str | None = None
        self._thread: threading.Thread | None = None
        self._wake: tuple[int, int] | None = None  # while there is a thread

    def ask(self, approval: Approval, answer: Callable[[object], bool]) -> None:
        """Queue the question. Raises NoChannelError without a terminal."""
        source = self._source or sys.stdin
        if source is None or source.closed or not source.isatty():
            raise NoChannelError
        with self._lock:
            self._queue.append((approval, answer))
            if self._wake is not None:
                return
            self._wake = os.pipe()
            os.set_blocking(self._wake[0], False)
            self._thread = threading.Thread(
                target=self._serve, args=(source.fileno(),), name="executor-terminal", daemon=True
            )
            self._thread.start()

    def withdraw(self, approval_id: str) -> None:
        """Take the question back; the person is told if it was the one on the screen."""
        with self._lock:
            self._queue = [entry for entry in self._queue if entry[0].id != approval_id]
            if self._current == approval_id and self._wake is not None:
                self._current = None
                os.write(self._wake[1], b".")

    def close(self) -> None:
        """Take back every question, and wait until nothing reads or writes the terminal any more."""
        with self._lock:
            self._queue.clear()
            if self._current is not None and self._wake is not None:
                self._current = None
                os.write(self._wake[1], b".")
            thread = self._thread
        if thread is not None:
            thread.join()

    def _serve(self, source: int) -> None:
        while True:
            with self._lock:
                if not self._queue:
                    for end in self._wake or ():
                        os.close(end)
                    self._wake = None
                    return
                approval, answer = self._queue.pop(0)
                self._current = approval.id
                wake = cast("tuple[int, int]", self._wake)[0]
                _drain(wake)  # of the question before, if that was taken back as it was answered
            try:
                self._put(approval, answer, source, wake)
            except BaseException as error:  # noqa: BLE001 -- one question that fails must not stop those behind it
                warn(f"A question could not be put on the terminal: {error!r}", error=error)
                answer(Answer("error", f"the terminal failed: {error}"))
            finally:
                with self._lock:
                    self._current = None

    def _put(self, approval: Approval, answer: Callable[[object], bool], source: int, wake: int) -> None:
        with _unseen(source) if approval.secret else contextlib.nullcontext():
            self._talk(approval, answer, source, wake)

    def _talk(self, approval: Approval, answer: Callable[[object], bool], source: int, wake: int) -> None:
        _discard_input(source)
        dialogue = Dialogue(approval)
        self._write(dialogue.opening)
        while (line := self._read(source, wake)) is not None:
            if not line:
                answer(Answer("no_channel"))  # the terminal is gone
                return
            heard = dialogue.hear(line.decode("utf-8", "replace"))
            if heard.edit:
                heard = self._edit(dialogue, source, wake)
            self._write(heard.say)
            if heard.answer is not None and answer(heard.answer):
                return

    def _read(self, source: int, wake: int) -> bytes | None:
        """A line of the person's, empty at the end of input; None when the question needs no answer any more."""
        ready, _, _ = select.select([source, wake], [], [])  # whoever asked keeps the deadline, and takes it back then
        if wake in ready:
            self._write("(no longer needed: answered elsewhere, given up, or not answered in time)\n")
            return None
        return os.read(source, 4096)

    def _edit(self, dialogue: Dialogue, source: int, wake: int) -> Heard:
        command = find_editor()
        if command is None:
            return dialogue.edit_by_line()
        text = edit(command, dialogue.draft, source, wake)
        if text is None:
            return Heard("(the editor gave nothing back)\n" + dialogue.opening)
        return dialogue.edited(text)

    def _write(self, text: str) -> None:
        target = self._target or sys.stderr
        try:
            target.write(text)
            target.flush()
        except (OSError, ValueError):
            return  # nobody can read it; the deadline, or the closed input, ends the question


def _drain(wake: int) -> None:
    with contextlib.suppress(BlockingIOError):
        os.read(wake, 1024)


@contextlib.contextmanager
def _unseen(source: int) -> Iterator[None]:
    """What is typed is not shown."""
    try:
        import termios
    except ImportError:  # Windows
        yield
        return
    before = termios.tcgetattr(source)
    quiet = before.copy()
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(source, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(source, termios.TCSADRAIN, before)


def _discard_input(source: int) -> None:
    """Throw away what was typed before the question: it was no answer to it."""
    try:
        import termios
    except ImportError:  # Windows
        return
    termios.tcflush(source, termios.TCIFLUSH)

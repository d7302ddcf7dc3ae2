"""What a person does at the terminal of a task, wherever that runs: a part of `_manager`."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, TypeVar, cast

from executor._log import warn
from executor.calls._state import current
from executor.errors import ExecutorUnavailableError, ToolError, ToolExecutorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.tasks._table import TaskTable
    from executor.values import TaskInfo
    from executor.values._terminal import Terminal, TerminalMode, Viewer

T = TypeVar("T")
PATIENCE = 3.0  # seconds for a task that has just begun to have its terminal
POLL = 0.1  # seconds between two looks for that of another process


class Attached:
    """
    A person's place at a terminal; from `TaskManager.attach`. Any thread may use it.

    `send` and `resize` do nothing once the terminal is closed, or this is.
    """

    def __init__(
        self, send: Callable[[str], object], resize: Callable[[int, int], object], close: Callable[[], object]
    ) -> None:
        self._send = send
        self._resize = resize
        self._close = close

    def send(self, data: bytes) -> None:
        """Type something."""
        self._send(data.decode("utf-8", "surrogateescape"))

    def resize(self, columns: int, rows: int) -> None:
        """The person's window has another size."""
        self._resize(columns, rows)

    def close(self) -> None:
        """They leave; the command goes on."""
        self._close()


class Input:
    """The half of `TaskManager` that has to do with terminals."""

    _table: TaskTable

    def get(self, task_id: str) -> TaskInfo:
        """See `TaskManager.get`."""
        raise NotImplementedError

    def send_input(self, task_id: str, text: str, *, unseen: bool = False) -> TerminalMode:
        """
        Type *text* into the terminal of a task, of another process too, on a person's behalf.

        It is kept nowhere. A newline is the key Enter; control characters do what their keys do. Within a call only
        what the terminal shows can be typed: a password is a person's, and no model's.

        Args:
            unseen: It is a secret: where the terminal would show it, it is refused.

        Returns:
            ``shown`` when the terminal shows it, ``unseen`` when it does not, as with a password, ``keys`` when
            the program reads each key itself.

        Raises:
            TaskNotFoundError: No such task.
            ToolError: It takes no more input, none within a call, or would show what is a secret.
            ToolExecutorError: It has ended, or has no terminal.
            ExecutorUnavailableError: Its process does not answer.
        """
        by_call = current.get() is not None
        here = self._here(task_id)
        if here is not None:
            from executor.tasks._door import type_into

            return cast("TerminalMode", type_into(here, text, by_call=by_call, unseen=unseen))
        from executor.tasks._caller import type_elsewhere

        return cast(
            "TerminalMode", self._call(task_id, lambda: type_elsewhere(task_id, text, by_call=by_call, unseen=unseen))
        )

    def attach(
        self, task_id: str, show: Callable[[str | None], object], *, columns: int = 80, rows: int = 24
    ) -> Attached:
        """
        Put a person at the terminal of a task, of another process too. For people only: within a call it is refused.

        Args:
            show: Given the screen as it is, from then on what is written, for a terminal that understands xterm's
                sequences, and None when the terminal is closed or its process is gone; from any thread, one after
                another. It must not block.
            columns: How wide their window is. Of several the smallest counts.
            rows: How high it is.

        Raises:
            As `send_input`.
        """
        if current.get() is not None:
            raise ToolError("Only a person may be at a terminal: a call may not attach to one")
        here, shown = self._here(task_id), _carefully(show)
        if here is not None:
            return _attached(here, here.watch(shown, columns, rows))
        from executor.tasks._caller import attach_elsewhere

        return self._call(task_id, lambda: attach_elsewhere(task_id, shown, columns, rows))

    def _here(self, task_id: str) -> Terminal | None:
        """The terminal of a task of this manager; None where another process has it. Raises ToolExecutorError."""
        self._live(task_id)
        with self._table.lock:
            here = task_id in self._table.tasks
        if not here:
            return None
        found = self._table.terminals.find(task_id, PATIENCE)
        if found is None:
            raise self._none(task_id)
        return found

    def _call(self, task_id: str, call: Callable[[], T]) -> T:
        """Reach the terminal of another process's task; one that has just begun is waited for."""
        from executor.permission._meeting import can_meet  # with sockets 5 ms, for who reaches another process

        if not can_meet():
            raise ExecutorUnavailableError("This system has no local sockets: type in the process that runs the task")
        deadline, rest = time.monotonic() + PATIENCE, threading.Event()
        while True:
            try:
                return call()
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > deadline:
                    raise self._none(task_id) from None
            except OSError as error:
                self._live(task_id)  # it may just have ended
                raise ExecutorUnavailableError(f"The process of the task {task_id} is not reached: {error}") from error
            self._live(task_id)
            rest.wait(POLL)

    def _live(self, task_id: str) -> None:
        info = self.get(task_id)
        if info.status.final:
            raise ToolExecutorError(f"The task {task_id} has ended ({info.status}): nothing reads what is typed")

    def _none(self, task_id: str) -> ToolExecutorError:
        self._live(task_id)
        return ToolExecutorError(f"The task {task_id} has no terminal: of runCommand, start it with terminal: true")


def _carefully(show: Callable[[str | None], object]) -> Callable[[str | None], None]:
    """*show*, until it raises: that must not end what is shown."""
    failed = False

    def shown(text: str | None) -> None:
        nonlocal failed
        if failed:
            return
        try:
            show(text)
        except Exception as error:  # noqa: BLE001 -- likewise
            failed = True
            warn(f"A function that shows a terminal raised, and is left out from now on: {error!r}", error=error)

    return shown


def _attached(terminal: Terminal, viewer: Viewer) -> Attached:
    def send(text: str) -> None:
        with contextlib.suppress(ToolError):  # closed, or full
            terminal.send(text.encode("utf-8", "surrogateescape"))

    return Attached(send, viewer.resize, viewer.close)

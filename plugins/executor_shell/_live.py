"""The commands that run now, so that they can be ended when the process or the executor is."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING, Protocol

from executor.errors import ToolFailedError
from executor.threads import fork_safe

if TYPE_CHECKING:
    from collections.abc import Iterator

AT_EXIT = 0.2  # seconds in all for commands to end by themselves when the interpreter does


class LiveCommand(Protocol):
    """
    A command that can be ended from any thread.

    Attributes:
        over: Set when no process of it is left that could be ended.
    """

    over: threading.Event

    def stop(self) -> None:
        """Ask it to end."""
        ...

    def kill(self) -> None:
        """End it."""
        ...


class LiveCommands:
    """
    The commands of one plugin that run now. Its lock guards the set and the two flags; nothing is called under it.

    A forked child has a copy of the set, of commands that are not its own: it never touches them.
    """

    def __init__(self) -> None:
        self._lock = fork_safe(self, "_lock", threading.Lock)
        self._commands: set[tuple[int, LiveCommand]] = set()
        self._registered = False
        self._exiting = False

    @contextlib.contextmanager
    def holding(self, command: LiveCommand) -> Iterator[None]:
        """
        Know *command* while the block runs.

        Raises:
            ToolFailedError: The interpreter is exiting; the command has been killed.
        """
        entry = os.getpid(), command
        with self._lock:
            if not self._registered:
                self._registered = True
                atexit.register(self._at_exit)
            self._commands.add(entry)
            exiting = self._exiting
        try:
            if exiting:
                command.kill()
                raise ToolFailedError("The command was ended: the process that runs it is exiting")
            yield
        finally:
            with self._lock:
                self._commands.discard(entry)

    def end_all(self, seconds: float = AT_EXIT) -> None:
        """Ask every command to end, kill those that have not after *seconds* in all; back as soon as none is left."""
        with self._lock:
            commands = [command for pid, command in self._commands if pid == os.getpid()]
        for command in commands:
            command.stop()
        deadline = time.monotonic() + seconds
        for command in commands:
            if not command.over.wait(max(0.0, deadline - time.monotonic())):
                command.kill()

    def close(self) -> None:
        """End every command, and no longer wait for the end of the process; a command that starts later does again."""
        self.end_all()
        with self._lock:
            if not self._commands:
                self._registered = False
                atexit.unregister(self._at_exit)

    def _at_exit(self) -> None:
        with self._lock:
            self._exiting = True
        self.end_all()

"""The life of one command: started, followed until it ends, ended when it must."""

from __future__ import annotations

import contextlib
import functools
import os
import selectors
import sys
import threading
import time
from typing import IO, TYPE_CHECKING, Any, Protocol

from executor.errors import ToolCancelledError, ToolFailedError, ToolTimeoutError
from executor_shell._capture import Capture, Spool
from executor_shell._group import OWN_SESSION, ProcessGroup
from executor_shell._pipes import Bell, Pipe, Source
from executor_shell._start import Request, Started, not_started, start
from executor_shell._told import told

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping

    from executor.protocols import Terminal
    from executor_shell._live import LiveCommands
    from executor_shell._terminal import PseudoTerminal

GRACE = 2.0  # seconds between TERM and KILL
KILL_WAIT = 1.0  # seconds for killed processes to go; one in an uninterruptible system call does not
QUIET = 0.2  # seconds without output after which what a command left running is ended …
SETTLE_LIMIT = 2.0  # … and with output
DRAIN_LIMIT = 0.2  # seconds to read what is left in the pipes when all is over: a daemon may write into them for ever
LONGEST_TURN = 24 * 3600.0  # seconds: the system's waiting takes 32 bits of milliseconds
MAX_WATCHED = 64  # members of a group watched at once, a descriptor each


class Call(Protocol):
    """What is wanted of the call that a command belongs to."""

    @property
    def cancelled(self) -> bool:
        """Whether the command should stop."""
        ...

    def emit(self, chunk: str) -> None:
        """Take a piece of output."""
        ...

    def on_cancel(self, fn: Callable[[], object]) -> Callable[[], None]:
        """Run *fn* when the command should stop; returns what takes it back."""
        ...

    def expect_process_group(self) -> Mapping[str, str]:
        """Know that a command is about to be started; returns its environment. Raises if it must not be."""
        ...

    def add_process_group(self, pid: int, expected: Mapping[str, str]) -> None:
        """Know the command's process group, to be ended when this process cannot do it any more."""
        ...

    def offer_terminal(self, terminal: Terminal) -> Callable[[], None]:
        """Let people use the command's terminal; returns what ends that."""
        ...


def run(request: Request, live: LiveCommands, call: Call | None) -> dict[str, Any]:
    """
    Run a command to its end.

    Args:
        request: What to run.
        live: Knows the command while it runs, and can end it.
        call: Takes the output as it comes, and says when to stop; None outside a call.

    Returns:
        ``exit_code``, ``stdout``, ``stderr``, ``duration``, and what else there is to say.

    Raises:
        ToolFailedError: It could not be started.
        ToolTimeoutError: Its own time limit passed; ``result`` is what there was until then.
        ToolCancelledError: It was stopped; ``result`` likewise.
    """
    if call is not None and call.cancelled:
        raise ToolCancelledError("The command was cancelled before it started")
    try:
        execution = Execution(request, call.emit if call is not None else _nowhere)
    except OSError as error:
        raise not_started(request.name, error) from error
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.closing(execution))
        expected = call.expect_process_group() if call is not None else {}
        execution.start(expected)
        with live.holding(execution):
            forget = call.on_cancel(execution.stop) if call is not None else _nothing
            if call is not None and OWN_SESSION:
                call.add_process_group(execution.pid, expected)
            if call is not None and execution.terminal is not None:
                # Taken back first: who comes from then on finds nothing, who is there is given what is still to come.
                stack.callback(call.offer_terminal(execution.terminal))
            try:
                execution.follow()
            finally:
                forget()
    return execution.outcome()


def _nowhere(_text: str) -> None:
    pass


def _nothing() -> None:
    pass


class Execution:
    """
    One command. `stop` and `kill` may be called from any thread, everything else from one.

    Attributes:
        over: Set when nothing of it is left that could be ended.
        terminal: What it runs on, or None.
    """

    def __init__(self, request: Request, emit: Callable[[str], None]) -> None:
        self.over = threading.Event()
        self._request = request
        self._emit = emit
        with contextlib.ExitStack() as undo:
            self._bell = undo.enter_context(contextlib.closing(Bell()))
            self._selector = undo.enter_context(selectors.DefaultSelector())
            self._selector.register(self._bell, selectors.EVENT_READ, self._answer_bell)
            undo.pop_all()
        self._process: subprocess.Popen[bytes] | None = None
        self._started: Started | None = None
        self.terminal: PseudoTerminal | None = None
        self._pipes: list[Source] = []
        self._open: set[Source] = set()
        self._watched: set[int] = set()
        self._stopped = False
        self._cancelled = False
        self._timed_out = False
        self._followed = False
        self._remarks: dict[str, bool] = {}

    def start(self, marks: Mapping[str, str]) -> None:
        """
        Start the command.

        Args:
            marks: What is in its environment besides.

        Raises:
            ToolFailedError: It could not be started; the message says what to mend.
        """
        self._began = self._ended = self._last_output = time.monotonic()
        if self._request.terminal:
            self._open_terminal()
        self._started = started = start(self._request, marks, self.terminal.far if self.terminal is not None else None)
        self._process = process = started.process
        in_front = started.box is not None and started.box.mechanism == "bubblewrap"
        self._group = ProcessGroup(process, in_front=in_front, end_box=started.end)
        self._watch_exit(process)
        if self.terminal is None:
            self._follow_pipe("stdout", process.stdout)
            self._follow_pipe("stderr", process.stderr)

    @property
    def pid(self) -> int:
        """The number of the command, and of its process group."""
        return self._group.pid

    def _follow_pipe(self, name: str, source: IO[bytes] | None) -> None:
        assert source is not None, "every stream was asked for as a pipe"
        pipe = Pipe(source, self._capture(name), self._emit)
        self._follow_source(pipe, functools.partial(self._take, pipe))

    def _capture(self, name: str) -> Capture:
        return Capture(name, self._request.max_output, lambda stream: Spool(self._request.folder(), stream))

    def _follow_source(self, source: Source, then: Callable[[], None]) -> None:
        self._pipes.append(source)
        self._selector.register(source, selectors.EVENT_READ, then)
        self._open.add(source)

    def _open_terminal(self) -> None:
        if sys.platform == "win32":
            raise ToolFailedError("There are no terminals for commands on Windows: leave terminal out")
        from executor_shell._terminal import PseudoTerminal  # with the screen 5 ms

        try:
            self.terminal = PseudoTerminal(self._capture("stdout"), self._emit, self._bell.ring)
        except OSError as error:
            raise ToolFailedError(
                f"There is no terminal to be had ({error}): end other commands and try again"
            ) from error
        self._follow_source(self.terminal, self._use_terminal)

    def _use_terminal(self) -> None:
        if self.terminal is not None and self.terminal in self._open:
            self._take(self.terminal)
            self._type_on()

    def _type_on(self) -> None:
        """Pass on what was typed; what the command does not take now, it is given when it does."""
        if self.terminal is not None and self.terminal in self._open:
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.terminal.type_on() else 0)
            key = self._selector.get_key(self.terminal)
            if key.events != wanted:
                self._selector.modify(self.terminal, wanted, key.data)

    def _take(self, pipe: Source) -> None:
        if pipe.take():
            self._last_output = time.monotonic()
        else:
            self._selector.unregister(pipe)
            self._open.discard(pipe)

    def _watch_exit(self, process: subprocess.Popen[bytes]) -> None:
        if not self._watch(process.pid, self._reap):
            self._group.wait_in_thread(self._bell.ring)

    def _answer_bell(self) -> None:
        self._bell.hush()
        self._type_on()
        if self._process is not None and self._process.returncode is not None and not self._group.reaped:
            self._reap()  # it was the waiting thread that rang

    def _watch(self, pid: int, then: Callable[[], None]) -> bool:
        """Call *then* in the turn in which process *pid* has exited. Returns False if the system cannot tell."""
        if sys.platform != "linux":
            return False
        try:
            fd = os.pidfd_open(pid)
        except (OSError, AttributeError):  # gone, no descriptor left, forbidden by a sandbox, or Python lacks it
            return False
        self._watched.add(fd)
        self._selector.register(fd, selectors.EVENT_READ, functools.partial(self._unwatch, fd, then))
        return True

    def _unwatch(self, fd: int, then: Callable[[], None]) -> None:
        self._selector.unregister(fd)
        self._watched.discard(fd)
        os.close(fd)
        then()

    def _reap(self) -> None:
        if self._group.reap() is None:
            self._remarks["exit_code_lost"] = True
        if self.terminal is not None:
            self.terminal.ended()
        self._ended = self._last_output = time.monotonic()

    def stop(self) -> None:
        """Ask the command to end, and make `follow` see to it. Any thread may."""
        self._stopped = True
        self._group.terminate()
        self._bell.ring()

    def kill(self) -> None:
        """End the command now. Any thread may."""
        self._stopped = True
        self._group.kill()
        self._bell.ring()

    def follow(self) -> None:
        """Pass the output on until the command has ended, by itself or because it must, and nothing of it is left."""
        limit = self._request.timeout
        deadline = self._began + limit if limit is not None else float("inf")
        while not self._group.reaped and not self._stopped and (left := deadline - time.monotonic()) > 0:
            self._turn(left)
        if not self._group.reaped and not self._stopped:
            self._timed_out = True
        if not self._group.reaped or self._stopped:
            self._end()
        else:
            self._settle()
        self._drain()
        self._cancelled = self._stopped  # who stops it from now on is too late
        self._followed = True

    def _turn(self, seconds: float) -> bool:
        """Wait for something to happen, and deal with it. Returns whether anything did."""
        due = self.terminal.due if self.terminal is not None else None
        events = self._selector.select(max(0.0, min(seconds, LONGEST_TURN, seconds if due is None else due)))
        for key, _ in events:
            key.data()
        if self.terminal is not None:
            self.terminal.calm()
        return bool(events)

    def _settle(self) -> None:
        """The command has exited: read what is in the pipes, and end what it left running once that falls quiet."""
        limit = time.monotonic() + SETTLE_LIMIT
        while self._open or (self._group.number_in_use() and not self._nobody_left()):
            left = min(self._last_output + QUIET, limit) - time.monotonic()
            if self._stopped or left <= 0:
                break
            self._turn(left)
        else:
            return
        if not self._nobody_left():
            self._remarks["left_running_ended"] = self._end()

    def _end(self) -> bool:
        """TERM, a grace, KILL. Returns whether nobody is left."""
        self._group.terminate()
        if self._gone_within(GRACE):
            return True
        self._group.kill()
        return self._gone_within(KILL_WAIT)

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not self._nobody_left():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._turn(left)
        return True

    def _nobody_left(self) -> bool:
        """Whether every process of the group is gone. If not, one of them that goes ends the next turn."""
        if not self._group.reaped or self._watched:
            return False
        living = self._group.members()
        watching = [self._watch(pid, _nothing) for pid in living[:MAX_WATCHED]]
        if living and not any(watching):
            living = self._group.members()  # they have gone since, or cannot be watched
        return not living

    def _drain(self) -> None:
        """Read what is in the pipes now. Who still holds them left the group, and is not waited for."""
        limit = time.monotonic() + DRAIN_LIMIT
        while self._open and time.monotonic() < limit and self._turn(0.0):
            pass
        for pipe in self._open:
            pipe.finish()
        if self._open:
            self._remarks["output_held_open"] = True

    def close(self) -> None:
        """Free everything. A command that was not followed to its end, because something raised, is killed."""
        with contextlib.ExitStack() as stack:  # last in, first out; one that raises does not keep the others from it
            stack.callback(self._bell.close)
            stack.callback(self._selector.close)
            stack.callback(self._close_watched)
            for pipe in self._pipes:
                stack.callback(pipe.close)
            if self._started is not None:
                stack.callback(self._let_go, self._started)

    def _close_watched(self) -> None:
        while self._watched:
            os.close(self._watched.pop())

    def _let_go(self, started: Started) -> None:
        for pipe in self._open:
            self._selector.unregister(pipe)  # listening is over
        try:
            if not self._followed:
                self._group.kill()
                self._gone_within(KILL_WAIT)
        finally:
            self._group.release()
            self._close_box(started)
            self.over.set()

    def _close_box(self, started: Started) -> None:
        if not self._group.reaped:  # stuck in the system: no zombie once it comes back
            with contextlib.suppress(RuntimeError):  # no thread is to be had
                self._group.wait_in_thread(started.close)
                return
        started.close()

    def outcome(self) -> dict[str, Any]:
        """
        The result, after `close`.

        Raises:
            ToolTimeoutError, ToolCancelledError: As `run` says.
        """
        result = told(
            self._request, self._group.exit_code, self._pipes, self._started.box if self._started is not None else None
        )
        result["duration"] = round(self._ended - self._began, 3)
        result |= self._remarks
        if self._cancelled:
            raise ToolCancelledError("The command was cancelled; its processes were ended", result=result)
        if self._timed_out:
            raise ToolTimeoutError(
                f"The command timed out after {self._request.timeout:g} s; its processes were ended. "
                "Give a larger timeout, or start it as a background task",
                result=result,
            )
        return result

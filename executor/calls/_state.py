"""
What the engine knows of a running call. Tools, plugins and the gate see it through `CurrentCall`, which is made of it.

The state is held in a ContextVar, so that it follows the work into worker threads and coroutines, and is restored when
a nested call ends.
"""

from __future__ import annotations

import _thread
import contextvars
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from executor._log import warn
from executor.calls._terminal import awaited_at
from executor.errors import ToolCancelledError, ToolError
from executor.threads._beside import beside
from executor.threads._fork import fork_safe
from executor.values._output import OutputChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor.calls._clock import Clock
    from executor.calls._host import Host
    from executor.calls._until import Turn
    from executor.values import Progress, ProgressCallback, Tool, ToolOutputCallback
    from executor.values._profile import Profile
    from executor.values._retry import RetryConfig
    from executor.values._terminal import Terminal

Spawn: TypeAlias = "Callable[[Callable[[], object]], object]"

# Guards the lists of functions of every source. Held for list operations only; nothing is taken or called under it.
# Reentrant, because a signal handler may cancel a token while the interrupted thread is in here.
_lists = fork_safe(sys.modules[__name__], "_lists", threading.RLock)
BESIDE = 0.1  # seconds that are waited for the functions of a stop which may have interrupted the engine
NO_NOTES: Mapping[str, str] = {}
MARK = "TOOLEXEC_START"  # names what tells the first process of a group that was expected
OVER = object()  # the fate of work that was not stopped


def nothing() -> None:
    pass


class CancelSource:
    """
    The one end of some work: stopped, or over. Whoever comes first has it.

    Only this half can say that the work is over, or stop it with an error of its own. Tools and hosts hold a
    `CancelToken`, so that no tool can take itself out of its time limit.

    Attributes:
        fate: Empty, or under None the one end: the error that it was stopped with, or `OVER`. It is only ever set by
            ``setdefault``, which is atomic: of two that set it, the first has it.
        functions: What is called at a stop.
    """

    __slots__ = ("fate", "functions")

    def __init__(self) -> None:
        self.fate: dict[None, Any] = {}
        self.functions: list[Callable[[], object]] | None = None

    @property
    def error(self) -> ToolError | None:
        """What the work was stopped with, or None."""
        fate = self.fate.get(None)
        return None if fate is OVER else fate

    def cancel(self, reason: str | None = None, within: float | None = None) -> bool:
        """`stop` on somebody's word, who waits at most *within* seconds for what is called then; None: without end."""
        run = None if within is None else partial(_run_beside, seconds=within)
        return self.stop(ToolCancelledError(reason or "The call was cancelled"), run)

    def interrupted(self) -> None:
        """A Ctrl-C came to whoever waits for the work: nobody does any more."""
        self.cancel("The caller was interrupted while waiting")

    def stop(self, error: ToolError, run: Spawn | None = None) -> bool:
        """Call every `on_cancel` function, by *run*; the work is to end in *error*. Returns whether this changed it."""
        try:
            if self.fate.setdefault(None, error) is not error:
                return False
            if self.functions is not None:
                if run is None and threading.get_ident() == threading.main_thread().ident:
                    run = _run_beside
                if run is None:
                    self._call_all()
                else:
                    run(self._call_all)
        except BaseException:  # Ctrl-C: whoever depends on it is told all the same
            if self.fate.get(None) is error:
                beside(self._call_all)
            raise
        return True

    def drop(self, reason: str) -> bool:
        """
        `cancel` by who waits for no function at all, such as the garbage collector: it may come in any thread, and in
        the middle of the engine, whose locks that thread would then wait for itself to free.
        """
        return self.stop(ToolCancelledError(reason), beside)

    def _call_all(self) -> None:
        """Once for each function, however often this is called."""
        with _lists:
            functions, self.functions = self.functions, None
        for fn in functions or ():
            run_safely(fn)

    def end(self) -> ToolError | None:
        """The work is over. Returns the error that it was stopped with, if that came first."""
        fate = self.fate.setdefault(None, OVER)
        if fate is not OVER:
            return fate  # type: ignore[no-any-return]  # `stop` calls the functions: also when it has yet to take them
        if self.functions is not None:
            with _lists:
                self.functions = None
        return None

    def on_cancel(self, fn: Callable[[], object], spawn: Spawn | None = None) -> Callable[[], None]:
        """Call *fn* at a stop, by *spawn*; at once, if there was one. Returns a function that takes *fn* back."""
        if spawn is not None:
            fn = partial(spawn, partial(run_safely, fn))
        return partial(self.forget, fn) if self.call_at_stop(fn) else nothing

    def call_at_stop(self, fn: Callable[[], object]) -> bool:
        """`on_cancel` for what is never taken back. Returns False if it was called at once."""
        with _lists:  # stop() sets the fate before it takes the list: a function is in the list, or sees the fate
            if not self.fate or self.fate[None] is OVER:
                if self.functions is None:
                    self.functions = [fn]
                else:
                    self.functions.append(fn)
                return True
        run_safely(fn)
        return False

    def propagate(self, to: CancelSource) -> Propagation:
        """Cancel *to* as well when this is stopped, until what is returned ends that."""
        propagation = Propagation(self, to)
        self.call_at_stop(propagation)
        return propagation

    def forget(self, fn: Callable[[], object]) -> None:
        """Do not call *fn* at a stop any more."""
        with _lists:
            if self.functions is not None and fn in self.functions:
                self.functions.remove(fn)


class Propagation:
    """From one source to another; an object and no closure, for there is one for each of many calls."""

    __slots__ = ("_source", "_to")

    def __init__(self, source: CancelSource, to: CancelSource) -> None:
        self._source = source
        self._to = to

    def __call__(self) -> None:
        error = self._source.error
        self._to.cancel(error.message if error is not None else None)

    def end(self) -> None:
        self._source.forget(self)


def _run_beside(fn: Callable[[], object], seconds: float = -1) -> None:
    """Run it on a thread of its own, and wait for it: in the main thread a Ctrl-C would end what others depend on."""
    ended = threading.Lock()
    ended.acquire()

    def run() -> None:
        fn()
        ended.release()

    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:  # the system has no thread left
        fn()
    else:
        ended.acquire(timeout=BESIDE if _in_between() else seconds)


def _in_between() -> bool:
    """
    Whether this may be a signal handler that has interrupted the engine, which then may hold any of its locks.

    So it looks when, behind whoever says stop, there is the engine again; a tool in the main thread looks the same.
    What is called at a stop takes locks: this thread must not wait without end for what it would go on to free.
    """
    frame, left = sys._getframe(1), False  # noqa: SLF001 -- the one way to see it, for those who write a debugger too
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith("executor."):
            left = True
        elif left:
            return True
        frame = frame.f_back  # type: ignore[assignment]  # None at the end
    return False


def run_safely(fn: Callable[[], object]) -> None:
    """Call *fn*; one bad function must not keep the others from stopping their work."""
    try:
        fn()
    except BaseException as error:  # noqa: BLE001 -- SystemExit included: who says stop is not who ends
        warn(f"A function given to on_cancel raised: {error!r}", error=error)


class Sink(Protocol):
    """What keeps a call's output for readers that come later."""

    def append(self, text: str) -> None: ...

    def expect_process_group(self) -> str: ...

    def add_process_group(self, pid: int, mark: str = "") -> None: ...


class CallState:
    """
    One call, from its name to its end.

    Attributes:
        id: The call's id.
        name: The tool's name as it was asked for.
        arguments, changed: As asked for, and what a gate has put in their place or None; the tool gets a checked copy.
        host: The executor that runs it; None for a bare `Runner`.
        parent: The call that it is made in, or None.
        depth: How many calls it is nested in.
        tool: What is being called; None until it has been resolved.
        plugin_name: Who registered the tool.
        source: Stops it.
        context: What the permission plugin is given with it.
        retry: How it is tried again, in place of the tool's own retries.
        secrets: What a person has told its tool alone.
        permission: The ``_permission`` entry of its result, once the gate has allowed it.
        confine: The profile of the box that it is to run in, once the gate has allowed it; None for no box.
        deadline, reached: Monotonic time at which it is given up, and the last progress, or None.
        clock: Whether its time stands still, once a person was asked something in it.
        waits: For a person, what it waits for, under itself; and what calls wait for that it makes, under those. None
            until there is something.
        notes: What the ledger's records of it carry beside.
        leave: Ends what plugins have put around it, in the context in which it came in; None when they have not.
        blocking: Whether a thread waits for it: what may block then does so there, and not on a worker.
        teller: The thread that tells others its end, once one does; else 0.
        given_up: Whether it has ended while its tool went on; so have the calls that the tool makes.
        turn: What it gives back when it is over, unless that is its work's to do.
        spawn: Runs a function on a thread of its own, or None where nobody has threads.
        listener, on_progress: Told of output and of progress; None once the call has been answered.
        sink: Keeps its output as well, or None.
        parent_link, cancel_link: By which it is stopped together with the call around it, or by its caller's token.
        token, places: The `CancelToken` of this call, and the `Places` where it is at work, once somebody has asked.
        view: The `CurrentCall` of this call, once somebody has asked for it, until the call is over.
    """

    tool: Tool = None  # type: ignore[assignment]  # set by the first stage; nothing of the tool runs before
    plugin_name = "local"
    changed: dict[str, Any] | None = None
    context: Mapping[str, Any] | None = None
    secrets: tuple[str, ...] = ()
    permission: Mapping[str, Any] | None = None
    confine: Profile | None = None
    deadline: float | None = None
    clock: Clock | None = None
    reached: Progress | None = None
    waits: dict[CallState, str] | None = None
    notes: Mapping[str, str] = NO_NOTES
    blocking = True
    spawn: Spawn | None = None
    token: Any = None
    places: Any = None
    teller = 0
    given_up = False
    turn: Turn | None = None
    terminal: Terminal | None = None
    on_terminal: Callable[[], object] | None = None  # told that there is one, or none any more

    def __init__(
        self,
        call_id: str,
        name: str,
        arguments: Any,
        host: Host | None,
        listener: ToolOutputCallback | None = None,
        on_progress: ProgressCallback | None = None,
        parent: CallState | None = None,
    ) -> None:
        # What every call is asked for is set here, what few are stands above: one is made for each call.
        self.id = call_id
        self.name = name
        self.arguments = arguments
        self.host = host
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.source = CancelSource()
        self.retry: RetryConfig | None = None
        self.leave: Callable[[], object] | None = None
        self.listener = listener
        self.on_progress = on_progress
        self.sink: Sink | None = None
        self.parent_link: Propagation | None = None
        self.cancel_link: Propagation | None = None
        self.view: Any = None

    @property
    def waiting_for(self) -> str | None:
        """What it waits for, or a call that it makes, for a person; None: nothing that is known."""
        if self.terminal is not None and (awaited := awaited_at(self.terminal)) is not None:
            return awaited
        return next(iter(list(self.waits.values())), None) if self.waits else None

    def begin_wait(self, what: str) -> None:
        """It waits for *what* from now on, and so do the calls that it is made in."""
        around: CallState | None = self
        while around is not None:
            with _lists:  # two calls that it makes may be the first to wait
                if around.waits is None:
                    around.waits = {}
            around.waits[self] = what if around is self else f"{self.id} ({self.name}), which waits for {what}"
            around = around.parent

    def end_wait(self) -> None:
        """It waits no more."""
        around: CallState | None = self
        while around is not None:
            if around.waits is not None:
                around.waits.pop(self, None)
            around = around.parent

    @property
    def remaining(self) -> float | None:
        """Seconds until the call is given up, 0 once that has happened; None when it has no time limit."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def emit(self, chunk: str) -> None:
        """Show a piece of output now: to the call's callback, and to whoever reads the task's output."""
        if type(chunk) is not str and type(chunk) is not OutputChunk:
            chunk = chunk.decode("utf-8", "replace") if isinstance(chunk, bytes | bytearray) else str(chunk)
        sink = self.sink
        if sink is not None:
            sink.append(chunk)
        listener = self.listener
        if listener is not None:
            try:
                listener(chunk)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 -- SystemExit included: a listener must not end a tool
                self.listener = None
                warn(
                    f"The output callback of call {self.id} raised and is left out from now on: {error!r}", error=error
                )

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Say how far the work is; never goes back."""
        if self.reached is not None:
            done = max(done, self.reached[0])
        self.reached = (done, total, message)
        callback = self.on_progress
        if callback is not None:
            try:
                callback(done, total, message)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 -- as in emit
                self.on_progress = None
                warn(f"The progress callback of call {self.id} raised and is left out: {error!r}", error=error)

    def on_cancel(self, fn: Callable[[], object]) -> Callable[[], None]:
        """Run *fn* at a stop, on a thread of its own where there are threads. Returns a function that takes it back."""
        return self.source.on_cancel(fn, self.spawn)

    def expect_process_group(self) -> Mapping[str, str]:
        """
        One is about to be started for this call. Returns what its environment is to have besides.

        Raises:
            ToolError: The call was stopped: nothing more is to be started for it.
        """
        sink = self.sink
        mark = sink.expect_process_group() if sink is not None else ""
        if self.source.error is not None:  # looked at last: what is expected before a stop is stored with the end
            raise self.source.error
        return {MARK: mark} if mark else NO_NOTES

    def add_process_group(self, pid: int, expected: Mapping[str, str] = NO_NOTES) -> None:
        """The process group *pid* works for this call."""
        if self.sink is not None:
            self.sink.add_process_group(pid, expected.get(MARK, ""))


current: contextvars.ContextVar[CallState | None] = contextvars.ContextVar("executor_current_call", default=None)

"""
The current call: where its output goes, how it is told to stop, what it has reported.

It is held in a ContextVar, so that it follows the work into worker threads and coroutines, and is restored by token
when a nested call ends.
"""

from __future__ import annotations

import contextvars
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from executor._log import warn
from executor.calls._token import CancelToken, run_safely

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from executor.protocols import Host
    from executor.values import Block, ProgressCallback, Tool, ToolOutputCallback
    from executor.values._retry import RetryConfig


class Sink(Protocol):
    """What keeps a call's output for readers that come later."""

    def append(self, text: str) -> None: ...

    def own_group(self, pid: int) -> None: ...


class Apart:
    """
    What sets some calls apart; made for those only.

    Attributes:
        retry: How it is tried again, in place of the tool's own retries.
        collect: Given what it came to, as the run layer has it: a `RunResult`, or the error. A call that somebody
            collects is waited for to its end, and never handed over to the background.
        blocks: Those of an MCP answer.
    """

    __slots__ = ("blocks", "collect", "retry")

    def __init__(self, *, retry: RetryConfig | None = None, collect: Callable[[Any], object] | None = None) -> None:
        self.retry = retry
        self.collect = collect
        self.blocks: tuple[Block, ...] = ()


class CurrentCall:
    """
    The call that the running code belongs to, as tools, plugins and the gate see it.

    Attributes:
        id: The call's id.
        name: The tool's name as it was asked for.
        arguments: The arguments as they were asked for; what the tool gets is a checked copy.
        tool: What is being called; None until it has been resolved.
        host: The executor that runs it.
        token: Its own cancel token.
        depth: How many calls it is nested in.
        plugin_name: The plugin that registered the tool.
        permission: The ``_permission`` entry of its result, once the gate has allowed it.
        deadline: Monotonic time at which it is given up, or None.
        apart: What sets this call apart from an ordinary one, or None.
    """

    __slots__ = (
        "_aside",
        "_listener",
        "_on_progress",
        "_paths",
        "_reached",
        "_sink",
        "apart",
        "arguments",
        "deadline",
        "depth",
        "host",
        "id",
        "name",
        "permission",
        "plugin_name",
        "token",
        "tool",
    )

    def __init__(
        self,
        call_id: str,
        name: str,
        arguments: Any,
        host: Host,
        listener: ToolOutputCallback | None = None,
        on_progress: ProgressCallback | None = None,
        depth: int = 0,
        aside: Callable[[Callable[[], object]], object] | None = None,
    ) -> None:
        self.id = call_id
        self.name = name
        self.arguments = arguments
        self.host = host
        self.depth = depth
        self.tool: Tool = None  # type: ignore[assignment]  # set by the first stage; nothing of the tool runs before
        self.plugin_name = "local"
        self.permission: Mapping[str, Any] | None = None
        self.token = CancelToken()
        self.deadline: float | None = None
        self.apart: Apart | None = None
        self._listener = listener
        self._on_progress = on_progress
        self._aside = aside
        self._sink: Sink | None = None
        self._paths: dict[tuple[str, str, bool], Path] | None = None
        self._reached: tuple[float, float | None, str | None] | None = None

    def emit(self, chunk: str) -> None:
        """Show a piece of output now: to the call's callback, and to whoever reads the task's output."""
        if type(chunk) is not str:
            chunk = chunk.decode("utf-8", "replace") if isinstance(chunk, bytes | bytearray) else str(chunk)
        sink = self._sink
        if sink is not None:
            sink.append(chunk)
        listener = self._listener
        if listener is not None:
            try:
                listener(chunk)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 -- SystemExit included: a listener must not end a tool
                self._listener = None
                warn(
                    f"The output callback of call {self.id} raised and is left out from now on: {error!r}", error=error
                )

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Say how far the work is; never goes back."""
        if self._reached is not None:
            done = max(done, self._reached[0])
        self._reached = (done, total, message)
        callback = self._on_progress
        if callback is not None:
            try:
                callback(done, total, message)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 -- as in emit
                self._on_progress = None
                warn(f"The progress callback of call {self.id} raised and is left out: {error!r}", error=error)

    @property
    def reached(self) -> tuple[float, float | None, str | None] | None:
        """The last (done, total, message), or None."""
        return self._reached

    @property
    def cancelled(self) -> bool:
        """Whether the work should stop: somebody cancelled it, or its time is up."""
        return self.token.cancelled

    @property
    def remaining(self) -> float | None:
        """Seconds until the call is given up, 0 once that has happened; None when it has no time limit."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def wait(self, seconds: float | None = None) -> bool:
        """Sleep, but wake at once when the work should stop. Returns whether it should."""
        return self.token.wait(seconds)

    def on_cancel(self, fn: Callable[[], object]) -> Callable[[], None]:
        """
        Run *fn* when the work should stop, on a thread of its own: it may block without holding up who cancels.

        Returns:
            A function that takes *fn* back.
        """
        aside = self._aside
        return self.token.on_cancel(fn if aside is None else lambda: aside(lambda: run_safely(fn)))

    def resolve_path(self, path: str, *, base: str | Path | None = None, entry: bool = False) -> Path:
        """
        `executor.paths.resolve` (or `resolve_entry`), answered once for each call: what the gate judged is what the
        tool opens, also when a link was put there in between. Raises as they do.
        """
        from executor import paths  # with pathlib behind it, 4 ms

        key = (path, str(base), entry)
        if self._paths is None:
            self._paths = {}
        if key not in self._paths:
            self._paths[key] = (paths.resolve_entry if entry else paths.resolve)(path, base=base)
        return self._paths[key]

    def run_in_thread(self, fn: Callable[[], object]) -> threading.Thread:
        """Run *fn* on a new daemon thread that belongs to this call; other threads of a tool see no call."""
        context = contextvars.copy_context()
        context.run(_current.set, self)
        thread = threading.Thread(target=context.run, args=(fn,), name=f"executor-tool-{self.id}", daemon=True)
        thread.start()
        return thread

    def follow(self, on_progress: ProgressCallback) -> None:
        """Tell *on_progress* of all progress from now on, in place of whom was told before."""
        self._on_progress = on_progress

    def own_group(self, pid: int) -> None:
        """
        The process group *pid*, of a process that lives, works for this call.

        When this process dies while the call is a background task, the group is ended by the next one that finds out.
        """
        sink = self._sink
        if sink is not None:
            sink.own_group(pid)

    def keep_output(self, sink: Sink) -> None:
        """Keep all output from now on in *sink* as well."""
        self._sink = sink

    def close(self) -> None:
        """The call has been answered: whatever it still says reaches nobody."""
        self._listener = self._on_progress = self._sink = None


_current: contextvars.ContextVar[CurrentCall | None] = contextvars.ContextVar("executor_current_call", default=None)


def current_call() -> CurrentCall | None:
    """The call that the running code belongs to, or None outside a call."""
    return _current.get()


def get_current_tool_output_callback() -> ToolOutputCallback | None:
    """
    The function that takes the current call's output.

    Inside a call it is never None, in whatever thread the tool runs, also after the call went to the background;
    outside a call it is None.
    """
    call = _current.get()
    return None if call is None else call.emit

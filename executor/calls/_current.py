"""The current call, as tools, plugins and the gate see it."""

from __future__ import annotations

import contextvars
import os
import threading
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from executor._deprecated import warn_deprecated
from executor._json import shown_arguments
from executor.calls._apart import Rehearsal
from executor.calls._clock import standing_still
from executor.calls._places import Places
from executor.calls._state import NO_NOTES, CallState, current
from executor.calls._terminal import offer
from executor.calls._token import CancelToken, of_call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from executor.calls._host import Host
    from executor.values import Progress, Tool, ToolOutputCallback
    from executor.values._profile import Profile
    from executor.values._terminal import Terminal


def token_of(call: CallState) -> CancelToken:
    """The token of *call*: the half of its end that may be handed out."""
    if call.token is None:
        call.token = of_call(call)
    return call.token  # type: ignore[no-any-return]  # the state knows nothing of its views


def places_of(call: CallState) -> Places:
    """Where *call* is at work."""
    places: Places | None = call.places
    if places is None:
        places = call.places = Places()
    return places


class CurrentCall:
    """The call that the running code belongs to; from `current_call`."""

    __slots__ = ("_state",)

    def __init__(self, state: CallState) -> None:
        self._state = state

    @property
    def id(self) -> str:
        """The call's id."""
        return self._state.id

    @property
    def name(self) -> str:
        """The tool's name as it was asked for."""
        return self._state.name

    @property
    def arguments(self) -> Any:
        """A copy of the arguments as they were asked for: an object, if they came as text too, or not at all."""
        return shown_arguments(self._state.arguments)

    @property
    def tool(self) -> Tool:
        """What is being called."""
        return self._state.tool

    @property
    def plugin_name(self) -> str:
        """The plugin that registered the tool, or ``local``."""
        return self._state.plugin_name

    @property
    def host(self) -> Host:
        """The executor that runs the call. Raises RuntimeError in a call of a bare `Runner`, which has none."""
        if self._state.host is None:
            raise RuntimeError("This call is made by a Runner, which is no host: make it through a ToolExecutor")
        return self._state.host

    @property
    def token(self) -> CancelToken:
        """Its own cancel token."""
        return token_of(self._state)

    @property
    def depth(self) -> int:
        """How many calls it is nested in."""
        return self._state.depth

    @property
    def context(self) -> Mapping[str, Any] | None:
        """What the permission plugin is given with this call."""
        return self._state.context

    @property
    def is_rehearsal(self) -> bool:
        """Whether it is only judged, by ``ToolExecutor.check``: nothing will run."""
        return isinstance(self._state, Rehearsal)

    @property
    def permission(self) -> Mapping[str, Any] | None:
        """The ``_permission`` entry of its result, once the gate has allowed it."""
        return None if self._state.permission is None else MappingProxyType(self._state.permission)

    @property
    def confine(self) -> Profile | None:
        """The profile of the box that what it starts is to run in, once the gate has allowed it; None for no box."""
        return self._state.confine

    @property
    def deadline(self) -> float | None:
        """The monotonic time at which it is given up, or None."""
        return self._state.deadline

    @property
    def remaining(self) -> float | None:
        """Seconds until it is given up, 0 once that has happened; None when it has no time limit."""
        return self._state.remaining

    @property
    def waiting_for(self) -> str | None:
        """
        What it waits for, or a call that it makes: a resource that another call holds, a rate, the answer of a person.
        None: nothing that is known.
        """
        return self._state.waiting_for

    @property
    def reached(self) -> Progress | None:
        """The last (done, total, message), or None."""
        return self._state.reached

    @property
    def cancelled(self) -> bool:
        """Whether the work should stop: somebody cancelled it, or its time is up."""
        return self._state.source.error is not None

    def emit(self, chunk: str) -> None:
        """Show a piece of output now: to the call's callback, and to whoever reads the task's output."""
        self._state.emit(chunk)

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Say how far the work is; never goes back."""
        self._state.progress(done, total, message)

    def wait(self, seconds: float | None = None) -> bool:
        """Sleep, but wake at once when the work should stop. Returns whether it should."""
        return token_of(self._state).wait(seconds)

    def ask(
        self,
        message: str,
        schema: Mapping[str, Any] | None = None,
        *,
        secret: bool = False,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """
        Ask a person something, on every surface that is open, and wait for the answer. Meanwhile the call's time limit
        and threshold stand still.

        Args:
            message: What to ask.
            schema: Of the answer, a JSON object; by default one text, ``{"answer": …}``.
            secret: The answer is for this tool alone: no surface shows it, and no ledger, store or model has it, unless
                the tool tells. Of an error that it raises, the secret is left out.
            timeout: Seconds to wait at most; None waits as long as it takes.

        Returns:
            The answer, which fits the schema.

        Raises:
            ExecutionError: Nobody is there, nobody answered in time, or somebody said no.
            SchemaError: *schema* is none.
            RuntimeError: In a call of a bare `Runner`.
        """
        with standing_still(self._state):
            said = self.host.approvals.fill_in(
                self._state.tool.id, message, schema, secret=secret, timeout=timeout, cancel=self.token
            )
        if secret:
            self._state.secrets += tuple(value for value in said.values() if isinstance(value, str))
        return said

    def on_cancel(self, fn: Callable[[], object]) -> Callable[[], None]:
        """
        Run *fn* when the work should stop, on a thread of its own: it may block without holding up who cancels.

        Returns:
            A function that takes *fn* back.
        """
        return self._state.on_cancel(fn)

    @property
    def folder(self) -> str:
        """
        Where relative paths of its arguments start, and a command that it runs: the tool's `folder`, or the working
        folder. It stays the same, also when the process goes elsewhere after the call was judged.

        Raises FileNotFoundError where the working folder is gone.
        """
        return places_of(self._state).folder(self._state.tool)

    def resolve_path(self, path: str, *, base: str | Path | None = None, entry: bool = False) -> Path:
        """
        `executor.paths.resolve` (or `resolve_entry`), answered once for each call: what the gate judged is what the
        tool opens, also when a link was put there in between. Raises as they do.

        Args:
            base: What a relative path is relative to; by default `folder`.
        """
        places = places_of(self._state)
        if os.path.isabs(os.path.expanduser(path)):  # noqa: PTH111, PTH117 -- text, and pathlib is slower
            base = "/"  # whatever it is said to be relative to: the tool and the gate may say that in two ways
        return places.resolve(path, str(self.folder if base is None else base), entry=entry)

    def run_in_thread(self, fn: Callable[[], object]) -> threading.Thread:
        """Run *fn* on a new daemon thread that belongs to this call; other threads of a tool see no call."""
        context = contextvars.copy_context()
        context.run(current.set, self._state)
        thread = threading.Thread(target=context.run, args=(fn,), name=f"executor-tool-{self.id}", daemon=True)
        thread.start()
        return thread

    def expect_process_group(self) -> Mapping[str, str]:
        """
        A process is about to be started for this call, with a group of its own.

        Returns:
            What is to be in its environment besides. By that it is found when this process dies before it has said
            `add_process_group`, to which this is given, too.

        Raises:
            ToolError: The call was stopped: nothing more is to be started for it.
        """
        return self._state.expect_process_group()

    def add_process_group(self, pid: int, expected: Mapping[str, str] = NO_NOTES) -> None:
        """
        The process group *pid*, of a process that nobody has waited for, works for this call.

        When this process dies while the call is a background task, the group is ended by the next one that finds out.

        Args:
            expected: What `expect_process_group` has returned for it.
        """
        self._state.add_process_group(pid, expected)

    def offer_terminal(self, terminal: Terminal) -> Callable[[], None]:
        """
        A person may use *terminal*, on which something runs for this call, once the call is a task: by
        ``toolexec tasks attach`` from any terminal of the same user, or a host by `TaskManager.send_input`.

        Returns:
            A function that ends that; it is to be called before the terminal is gone.
        """
        return offer(self._state, terminal)

    def own_group(self, pid: int) -> None:
        """The older name of `add_process_group`."""
        warn_deprecated("CurrentCall.own_group", "CurrentCall.add_process_group")
        self.add_process_group(pid)


def current_call() -> CurrentCall | Any:  # a tool always has one: type checkers are not to have it asked for None
    """The call that the running code belongs to, or None outside a call."""
    state = current.get()
    if state is None:
        return None
    view = state.view  # looked at once: it is taken away when the call is over
    if view is None:
        view = state.view = CurrentCall(state)
    return view


def get_current_tool_output_callback() -> ToolOutputCallback | None:
    """
    The function that takes the current call's output.

    Inside a call it is never None, in whatever thread the tool runs, also after the call went to the background;
    outside a call it is None.
    """
    state = current.get()
    return None if state is None else state.emit

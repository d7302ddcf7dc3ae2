"""The process that a call was left to: makes the plugins anew, starts the task, and stays until it has ended."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from executor.background._detached import STARTING, Order, changed, impossible
from executor.calls._current import current_call
from executor.calls._state import current
from executor.errors import ExecutionError, ToolExecutorError
from executor.registry._registry import PluginRegistry
from executor.tasks._durable import Durable
from executor.tasks._manager import TaskManager
from executor.tasks._table import TaskTable
from executor.tasks._unstored import wait_until_stored
from executor.tools._frames import read, write
from executor.values import Decision, ToolCall, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor.calls._places import Places
    from executor.permission._plugin import PermissionPlugin
    from executor.protocols import Ledger
    from executor.tools._make import Registered
    from executor.values import TaskInfo, Tool
    from executor.values._profile import Profile


_UNPICKLED = "cannot be pickled"
_STORED = "stored"  # an event beside the ids of tasks, and beside "", to be told to end


class Runner(Protocol):
    """The executor that the runner process makes."""

    def get_tool(self, name: str) -> Registered: ...
    def register(self, tool: Tool, /) -> object: ...
    def _start_stored(self, call: ToolCall, timeout: float | None = None) -> str: ...
    def shutdown(self, *, cancel: bool = False) -> object: ...


class JudgedCall:
    """
    The permission plugin of the runner process: allows the one call that was judged before it was detached.

    Calls that its tool makes are judged by *plugin*, or denied where there is none; *missing* is why.
    """

    def __init__(
        self,
        call: ToolCall,
        plugin: PermissionPlugin | None,
        confine: Profile | None,
        places: Places | None = None,
        missing: str = _UNPICKLED,
    ) -> None:
        self._call = call
        self._places = places
        self._plugin = plugin
        self._missing = f"a detached call may make no others: the permission plugin that would judge them {missing}"
        reason = "it was allowed before it was detached"
        self._allowed = Decision("allow", reason, "detached", confine=confine)

    def _is_it(self, call: ToolCall) -> bool:
        made = current_call()
        same = (call.name, call.arguments) == (self._call.name, self._call.arguments)
        return same and made is not None and made.depth == 0

    def decide(self, call: ToolCall, context: Mapping[str, Any] | None) -> Decision:
        """The first step."""
        if self._is_it(call):
            state = current.get()
            if state is not None and self._places is not None:
                state.places = self._places  # what was judged is what its tool opens, and where it starts
            return self._allowed
        if self._plugin is None:
            return Decision("deny", self._missing, "detached")
        return self._plugin.decide(call, context)

    def settle(self, decision: Decision) -> bool:
        """The decision is used."""
        settle = getattr(self._plugin, "settle", None)
        return decision is self._allowed or settle is None or bool(settle(decision))

    def ask(self, call: ToolCall, decision: Decision, context: Mapping[str, Any] | None) -> Verdict:
        """The second step; of the judged call a hook that says ask was answered before."""
        if self._is_it(call):
            info = {"reason": self._allowed.reason, "method": self._allowed.method}
            return Verdict(True, None, info, self._allowed.confine)
        if self._plugin is None:
            return Verdict(False, None, {"reason": decision.reason, "method": "detached"})
        return self._plugin.ask(call, decision, context)


class RestOfLedger:
    """
    The ledger of the runner process, which has the detached call from the process that left it: its start, what was
    decided, and where it went. What is recorded here is the end of the task, and the calls that its tool makes.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.required = bool(getattr(ledger, "required", False))

    def record(self, stage: str, payload: Mapping[str, Any]) -> None:
        """Record what is not recorded yet."""
        made = current_call()
        if stage == "task-end" or made is None or made.depth > 0:
            self._ledger.record(stage, payload)


def run(make: Callable[..., Runner]) -> int:
    """
    The runner process: start the task that stdin tells of, say its id, and stay until it has ended.

    Args:
        make: Makes an executor.
    """
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a plugin prints must not be taken for the answer
    events: queue.SimpleQueue[str] = queue.SimpleQueue()  # may be put into wherever a signal arrives
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: events.put(""))
    order: Order = read(sys.stdin.buffer)
    folder, host, cap = order.tasks
    tasks = TaskManager(TaskTable(output_cap=cap, durable=Durable(Path(folder), host, detached=True)))
    try:
        executor = _executor_for(order, make, tasks)
        tasks.subscribe(lambda info: _told(events, info))
        with contextlib.suppress(OSError):  # who left it may have ended
            write(answers, STARTING)
        task_id = executor._start_stored(order.call, order.timeout)  # noqa: SLF001 -- nobody else would ever find it
    except BaseException as error:  # noqa: BLE001 -- whatever it is, it is the answer
        _answer(answers, _sendable(error))
        tasks.close()
        return 1
    _answer(answers, task_id)
    event = events.get()
    while event not in ("", task_id):  # another task, which the tool has started
        event = events.get()
    if not event:
        tasks.cancel(task_id, "Its runner process was told to end")
    executor.shutdown(cancel=not event)
    if event:
        _stay(tasks, events)
    tasks.close()
    return 0


def _stay(tasks: TaskManager, events: queue.SimpleQueue[str]) -> None:
    """The result is in no other place than here until it is stored: wait for that, or to be told to end."""

    def wait() -> None:
        wait_until_stored(tasks)
        events.put(_STORED)

    threading.Thread(target=wait, name="executor-runner-stays", daemon=True).start()
    while events.get() not in ("", _STORED):
        pass  # of another task, which the tool has started


def _told(events: queue.SimpleQueue[str], info: TaskInfo) -> None:
    events.put(info.id)


def _judge(order: Order) -> JudgedCall:
    try:
        return JudgedCall(order.call, order.made("permission"), order.confine, order.places)
    except Exception as error:  # noqa: BLE001 -- code of others; or its policy cannot be read by now
        return JudgedCall(order.call, None, order.confine, order.places, f"cannot be made in its process: {error}")


def _executor_for(order: Order, make: Callable[..., Runner], tasks: TaskManager) -> Runner:
    """The executor that makes the call. Raises ExecutionError when it has no such tool, or another one."""
    registry = order.registry.follow(PluginRegistry) if order.registry is not None else None
    ledger = order.brought("ledger")
    executor = make(
        RestOfLedger(ledger) if ledger is not None else None,
        registry=registry,
        permission_plugin=_judge(order),
        permission_context=order.brought("context"),
        tasks=tasks,
        **order.options,
    )
    if order.tool is not None and order.function is not None:
        executor.register(order.function.found(order.tool))
    elif registry is not None and order.call.name not in registry.tools:
        failed = "; ".join(f"{failure.plugin}: {failure.error}" for failure in registry.failures())
        raise impossible(order.call.name, f"no plugin brings it there ({failed or 'its plugin is not found'})")
    if executor.get_tool(order.call.name).tool.definition_hash != order.definition:
        raise changed(order.call.name)
    return executor


def _sendable(error: BaseException) -> BaseException:
    if isinstance(error, ToolExecutorError):
        return error
    return ExecutionError(f"The process that was to run it could not start it: {error!r}")


def _answer(answers: BinaryIO, value: str | BaseException) -> None:
    """Say *value* to who started this process, and let go of that one's pipes and terminal."""
    with contextlib.suppress(OSError), answers:  # that one may have ended; the task goes on
        write(answers, ("answer", value))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)

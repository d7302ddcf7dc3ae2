"""The way of calling a `ToolExecutor` that outlives it: the call is left to another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor._several import SeveralCalls
from executor.run._beyond import leave_call
from executor.run._ended import HandedOver
from executor.run._limits import able, seconds
from executor.run._options import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor

    from executor.background._on_engine import OnEngine
    from executor.calls._work import Threads
    from executor.engines import DaskEngine
    from executor.permission._gate import Gate
    from executor.records._report import Reports
    from executor.registry._registry import PluginRegistry
    from executor.run import Prepared
    from executor.tasks import TaskManager
    from executor.tools._catalogue import Catalogue
    from executor.values import ToolCall


class Detaching(SeveralCalls):
    """The part of `ToolExecutor` that leaves calls to other processes."""

    _gate: Gate
    _registry: PluginRegistry | None
    _reports: Reports

    @property
    def tasks(self) -> TaskManager:
        """The background tasks."""
        raise NotImplementedError

    def detach(self, call: ToolCall, *, timeout: float | None = None, context: Mapping[str, Any] | None = None) -> str:
        """
        Leave a call to a process of its own, which goes on when this one ends.

        The call is resolved, validated and judged here. The process has a session of its own, so that Ctrl-C and a
        closed terminal do not reach it; it has the same plugins with the same configurations, and keeps its task where
        this executor keeps its own. The tool's resources and rate are not shared with calls of this process. Calls that
        the tool makes there are judged by the permission plugin if that can be pickled (the bundled one can, and has
        nobody to ask there), and denied otherwise. A ledger has the call from here, and the end of its task from there,
        if it can be pickled (`JsonLinesLedger` can).

        Args:
            timeout: Time limit in seconds, instead of the tool's own.
            context: What the permission plugin is given, in place of the executor's own.

        Returns:
            The id of its task.

        Raises:
            ToolError: It cannot, or may not, run.
            ExecutionError: Another process cannot find the tool's function or plugin; the message says what to do.
                Tasks are kept in memory only. The process died before it had started the call
                (`ToolInterruptedError`: while it did).
            ExecutorUnavailableError: The task cannot be stored.
        """
        if self._hand_over.cluster is not None:
            return self._leave_to_engine(call, timeout, context)
        from executor.background._detached import Caller, detach  # with subprocess and the store 15 ms

        options = Options(seconds(timeout))
        state = self._asked_for(call, context=context)
        record, gate, task = self._reports.record, self._gate, self._hand_over
        caller = Caller(
            self.tasks,
            self._registry,
            gate.plugin,
            state.context,
            record.ledger if record is not None else None,
            {"conversation": task.conversation, "max_content": task.max_content},
        )

        def leave(prepared: Prepared) -> HandedOver:
            task_id = detach(prepared, options.limit(prepared, self._way.default_timeout), caller)
            return HandedOver(task_id, prepared, None)

        return leave_call(self._way, state, leave).task_id

    def _leave_to_engine(self, call: ToolCall, timeout: float | None, context: Mapping[str, Any] | None) -> str:
        """`detach` where there is a cluster: the call is there, and this process has no more to do with it."""
        assert self._hand_over.cluster is not None
        task_id = self._start_stored(call, timeout, context)
        self._hand_over.cluster.leave(task_id)
        return task_id

    def _start_stored(
        self, call: ToolCall, timeout: float | None = None, context: Mapping[str, Any] | None = None
    ) -> str:
        """`start` it, if its task can be stored, where others find it. Returns the id."""
        options = Options(seconds(timeout), background=True, stored=True)
        return self._started(self._asked_for(call, context=context), options).task_id or ""

    def _on_engine(
        self, make: Callable[..., Any], engine: DaskEngine | None, pool: Executor | None, threads: Threads
    ) -> OnEngine | None:
        """What places calls on *engine*; *make* makes an executor there, and is found by its name."""
        if engine is None:
            return None
        if pool is not None:
            raise ValueError("pool and engine are both given: background calls go to one of them")
        able(engine, "engine", "offer", "an engine, such as executor.engines.DaskEngine(…)")
        from executor.background._on_engine import OnEngine  # with pickle, for those who have a cluster

        return OnEngine(
            engine,
            make,
            threads,
            registry=lambda: self._registry,
            judge=lambda: self._gate.plugin,
            default_timeout=lambda: self._way.default_timeout,
            let_go=lambda call: self._way.over(call),  # noqa: PLW0108 -- there is no way yet
        )


def delivering(tasks: TaskManager, conversation: str | None, catalogue: Catalogue) -> TaskManager:
    """The same tasks, whose settings by *catalogue* are known, and of which those of *conversation* are delivered."""
    from executor.tasks._manager import engine_of, of_conversation  # wanted once there are tasks

    able(tasks, "tasks", "undelivered", "a TaskManager, such as TaskManager.open()")
    engine_of(tasks).catalogues.add(catalogue)
    return of_conversation(tasks, conversation)

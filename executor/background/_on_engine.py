"""Calls of one executor that a cluster carries out: what is sent of them."""

from __future__ import annotations

import contextlib
import json
import pickle
from typing import TYPE_CHECKING, Any

from executor.background._detached import brought, check_exposed, impossible
from executor.engines._plugins import plugin_set
from executor.engines._remote import Remote
from executor.engines._wire import Order, Setup
from executor.errors import ExecutionError, ExecutorUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._state import CallState
    from executor.calls._work import Threads, Work
    from executor.engines import DaskEngine
    from executor.registry._recipe import Recipe
    from executor.registry._registry import PluginRegistry
    from executor.run._backends import Prepared
    from executor.run._options import Options
    from executor.tasks._table import TaskTable
    from executor.tools._make import Registered


class OnEngine:
    """
    Places calls on an engine.

    Args:
        make: Makes an executor, on a worker; found there by its name.
        threads: What the ends of calls are told on.
        registry: The plugins in use.
        judge: The permission plugin in use.
        default_timeout: Seconds, for tools that have no limit of their own.
        let_go: Called with a call that this process does not wait for any more.
    """

    def __init__(
        self,
        engine: DaskEngine,
        make: Callable[..., Any],
        threads: Threads,
        *,
        registry: Callable[[], PluginRegistry | None],
        judge: Callable[[], object],
        default_timeout: Callable[[], float | None],
        let_go: Callable[[CallState], object],
    ) -> None:
        self._engine = engine
        self._make = make
        self._threads = threads
        self._registry = registry
        self._judge = judge
        self._default_timeout = default_timeout
        self._let_go = let_go
        self._tools: dict[str, tuple[Registered, str, bytes | None]] = {}
        self._known: tuple[object, Recipe | None, Setup] | None = None

    @property
    def ready(self) -> bool:
        """Whether `place` keeps nobody waiting for the cluster."""
        return self._engine.ready

    def place(self, work: Work, prepared: Prepared, options: Options, tasks: TaskTable) -> Remote:
        """
        Have the engine carry *work* out, once it is submitted.

        Raises:
            ExecutionError: Another machine cannot have the tool, or the task would be lost.
            ExecutorUnavailableError: The cluster cannot be reached.
        """
        entry, call = prepared.entry, prepared.call
        place = tasks.place()
        if place is None:
            raise impossible(entry.name, "this executor keeps tasks in memory only; use TaskManager.open()")
        ref = self._engine.open()
        registry = self._registry()
        recipe, setup = self._setup(registry)
        check_exposed(entry, registry)
        definition, tool = self._told_of(entry, recipe)
        order = Order(
            setup=self._engine.offer(setup),
            call_id=call.id,
            definition=definition,
            tool=tool,
            timeout=options.limit(prepared, self._default_timeout()),
            confine=call.confine,
            permission=dict(call.permission) if call.permission is not None else None,
            judge=_pickled(self._judge()),
            context=_pickled(call.context),
            output_cap=place[2],
        )
        try:
            sent = pickle.dumps(order)
        except Exception as error:
            raise ExecutionError(
                f"{entry.name} cannot be left to a cluster: its options cannot be pickled ({error})", tool_id=entry.name
            ) from error
        remote = Remote(
            self._engine, call, entry.name, json.dumps(prepared.arguments), sent,
            ref=ref, spool=work.spool, tasks=tasks, threads=self._threads, let_go=self._let_go,
        )  # fmt: skip
        work.carry_out_elsewhere(remote.start, remote.stop)
        return remote

    def _told_of(self, entry: Registered, recipe: Recipe | None) -> tuple[str, bytes | None]:
        """What `Order` says of a tool: the hash of its definition, and itself."""
        known = self._tools.get(entry.name)
        if known is None or known[0] is not entry:
            tool, function = brought(entry, recipe)
            pickled = pickle.dumps((tool, function)) if tool is not None else None
            known = self._tools[entry.name] = entry, entry.tool.definition_hash, pickled
        return known[1], known[2]

    def leave(self, task_id: str) -> None:
        """
        A task that was just started is no more this process's, which may end.

        Raises:
            ExecutorUnavailableError: It is not known whether the cluster has it.
        """
        if not self._engine.leave(task_id):
            raise ExecutorUnavailableError(f"The cluster did not answer whether it has taken the task {task_id}")

    def _setup(self, registry: PluginRegistry | None) -> tuple[Recipe | None, Setup]:
        tools = registry.tools if registry is not None else None  # replaced whenever something is exposed
        if self._known is None or self._known[0] is not tools:
            recipe = registry.recipe() if registry is not None else None
            self._known = tools, recipe, Setup(self._make, recipe, plugin_set(registry))
        return self._known[1], self._known[2]


def _pickled(value: object) -> bytes | None:
    """*value*, or None for what cannot be sent: what it would have allowed is denied there."""
    if value is not None:
        with contextlib.suppress(Exception):  # code of others
            return pickle.dumps(value)
    return None

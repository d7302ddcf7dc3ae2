"""
`ToolExecutor`: its settings, its tools, and what hosts and tools look at. It makes calls in `_calls` and `_several`.

Locks: `_lock` guards the making of what is made when first needed, and the changing of what calls are made with;
nothing else is taken under it.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, Unpack

from executor._detaching import Detaching, delivering
from executor._log import warn
from executor.background._handover import HandOver
from executor.calls._content import LEAST_CONTENT, MAX_CONTENT
from executor.calls._state import current
from executor.calls._work import Threads
from executor.errors import ToolNotFoundError
from executor.permission._gate import Gate
from executor.records._report import Reports
from executor.run._backends import Backends, Setup
from executor.run._gate import asked_on
from executor.run._limits import able, count, function, seconds, truth
from executor.run._pipeline import Pipeline
from executor.run._way import Way
from executor.threads._deadlines import Deadlines
from executor.threads._fork import fork_safe
from executor.threads._loop import LoopThread
from executor.threads._workers import Workers
from executor.tools._catalogue import Catalogue
from executor.tools._make import make_tool, prepare, toolbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from executor.calls._state import CallState
    from executor.engines import DaskEngine
    from executor.permission._gate import Record
    from executor.permission._inbox import Inbox
    from executor.permission._plugin import CheckingPlugin, PermissionPlugin
    from executor.protocols import Ledger
    from executor.registry._registry import PluginRegistry
    from executor.run import Runner
    from executor.tasks import TaskManager
    from executor.tasks._table import TaskTable
    from executor.tools._make import Registered
    from executor.tools._options import ToolOptions
    from executor.values import OutputCallback, TaskDoneCallback, TaskInfo, Tool, ToolDefinition, ToolOutputCallback

METADATA_KEYS = frozenset({"continuation_id", "show_output", "show_popup"})
NO_BACKENDS = Backends()
LEAVING = 2.0  # seconds that tools which are told to stop have for it, when the program itself is about to end


class ToolExecutor(Detaching):
    """
    Runs the tool calls of a model: permission first, output live, long work in the background under an id.

    Every call ends in exactly one result, whichever route it comes by, and nothing a tool, plugin, callback or ledger
    raises escapes it. An executor may be used from any thread, and by its own tools.

    Args:
        ledger: Where the events of calls are recorded (``record(stage, payload)``).
        auto_background_enabled: Whether calls go to the background past their tool's threshold.
        auto_background_pool_size: How many idle worker threads are kept.
        registry: Plugins; None: only what is registered here.
        permission_plugin: Asked before every call; see `set_permission_plugin`.
        permission_context: Passed to it unchanged.
        runner: Its index, resolvers and local functions are asked after this executor's own tools.
        tasks: Where background tasks are kept; by default `TaskManager.open()`, which outlives the process.
        pool: Any `concurrent.futures.Executor`: runs what is started in the background on purpose, or has a threshold
            of 0. On other pools than of threads a tool has no output but its result. It stays yours to shut down.
        engine: A cluster that carries out what is started in the background on purpose, or has a threshold of 0; its
            tasks go on when this process ends. See `executor.engines`. It stays yours to close.
        max_workers: How many worker threads there may be.
        max_background_tasks: How many tasks there may be before starts in the background are refused.
        default_timeout: Time limit in seconds for tools that have none of their own.
        max_content: How many bytes of `ToolResult.content` a model is given; the rest is kept to be read on.
        conversation: Stored with each task: whose results they are, where one program has several. What `tasks`
            delivers, and a done-callback is told of earlier tasks, is of this conversation only.
    """

    def __init__(
        self,
        ledger: Ledger | None = None,
        auto_background_enabled: bool = True,  # noqa: FBT001, FBT002 -- positional in the interface people know
        auto_background_pool_size: int = 4,
        *,
        registry: PluginRegistry | None = None,
        permission_plugin: PermissionPlugin | CheckingPlugin | None = None,
        permission_context: Mapping[str, Any] | None = None,
        runner: Runner | None = None,
        tasks: TaskManager | None = None,
        pool: Executor | None = None,
        engine: DaskEngine | None = None,
        max_workers: int = 256,
        max_background_tasks: int = 64,
        default_timeout: float | None = None,
        max_content: int = MAX_CONTENT,
        conversation: str | None = None,
    ) -> None:
        warm = count(auto_background_pool_size, "auto_background_pool_size")
        threads = Threads(Workers(warm=warm, limit=count(max_workers, "max_workers", least=1)), Deadlines())
        self._lock, self._spawn = fork_safe(self, "_lock", threading.Lock), threads.spawn
        self._inbox: Inbox | None = None
        self._registry: PluginRegistry | None = None
        self._listener: ToolOutputCallback | None = None
        self._output_callback: OutputCallback | None = None
        self._catalogue = Catalogue()
        self._tasks = None if tasks is None else delivering(tasks, conversation, self._catalogue)
        self._reports = Reports(self._get_table, conversation)
        self._gate = Gate(self._get_opinions, self._get_approvals, self._get_record, threads.workers)
        own = able(runner, "runner", "run_chain", "a Runner(…)").way.setup if runner is not None else None
        self._own_backends = own.backends if own is not None else NO_BACKENDS
        # On threads of this executor: the runner may be closed, or dropped.
        self._own_gates = asked_on(runner.gate, threads.workers) if runner is not None else ()
        setup = Setup(
            sources=(self._catalogue, *(own.sources if own is not None else ())),
            gates=self._own_gates,
            backends=self._own_backends,
            metadata_keys=METADATA_KEYS,
            loop=LoopThread(),
            find=self._catalogue.find,
        )
        pipeline = runner.pipeline if runner is not None else Pipeline()
        self._hand_over = HandOver(
            self._get_table,
            count(max_background_tasks, "max_background_tasks", least=1),
            self._task_ended,
            able(pool, "pool", "submit", "a concurrent.futures.Executor"),
            max_content=count(max_content, "max_content", LEAST_CONTENT),
            conversation=conversation,
            find=self._catalogue.find,
            cluster=self._on_engine(ToolExecutor, engine, pool, threads),
        )
        self._way = Way(pipeline, setup, threads, observer=self._reports, background=self._hand_over)
        self._way.thresholds = truth(auto_background_enabled, "auto_background_enabled")
        self._way.default_timeout = seconds(default_timeout, "default_timeout")
        weakref.finalize(self, threads.drop, setup.loop).atexit = False  # dropped, it leaves no idle threads
        self.set_ledger(ledger)
        self.set_registry(registry)
        self.set_permission_plugin(permission_plugin, permission_context)

    # Settings ----------------------------------------------------------------------------------------------------

    def set_ledger(self, ledger: Ledger | None) -> None:
        """Record the events of calls there; None: nowhere."""
        self._reports.to_ledger(ledger)

    def set_registry(self, registry: PluginRegistry | None) -> None:
        """Use the tools, hooks and channels of this registry's exposed plugins; None: none."""
        able(registry, "registry", "attach", "a PluginRegistry()")
        if self._registry is not None:
            self._registry.detach(self._registry_changed)
        self._registry = registry
        if registry is not None:
            registry.attach(self._registry_changed)
            if self._output_callback is not None:
                registry.set_output_callback(self._output_callback)
        self._registry_changed()

    def set_permission_plugin(
        self, plugin: PermissionPlugin | CheckingPlugin | None, context: Mapping[str, Any] | None = None
    ) -> None:
        """
        Ask *plugin* before every call; None: nobody but the plugins that have an opinion.

        Args:
            plugin: An object with ``decide(call, context) -> Decision`` and ``ask(call, decision, context) ->
                Verdict``, or of the older form ``check_permission(name, args, context, call_id) -> (allowed, info)``.
            context: Passed to it unchanged, for calls that bring none.

        Raises:
            TypeError: It has neither form.
        """
        self._gate.use(plugin, context)
        self._change_setup()

    def set_output_callback(self, callback: OutputCallback | None) -> None:
        """Give ``callback(source, text, mode)`` to every plugin that takes it, and to the permission plugin."""
        self._output_callback = function(callback, "callback")
        if self._registry is not None:
            self._registry.set_output_callback(callback)
        take = getattr(self._gate.plugin or self._gate.checking, "set_output_callback", None)
        if take is not None:
            try:
                take(callback)
            except Exception as error:  # noqa: BLE001 -- as for every plugin: it is said, and the others work
                warn(f"The permission plugin did not take the output callback: {error!r}", error=error)

    def get_output_callback(self) -> OutputCallback | None:
        """The callback for output that belongs to no call."""
        return self._output_callback

    def set_tool_output_callback(self, callback: ToolOutputCallback | None) -> None:
        """Show tools' output by ``callback(chunk)``, for calls that bring no callback and are in no other call."""
        self._listener = function(callback, "callback")

    def get_tool_output_callback(self) -> ToolOutputCallback | None:
        """The callback of the current call, else the instance's."""
        call = current.get()
        return call.emit if call is not None else self._listener

    def set_task_done_callback(self, callback: TaskDoneCallback | None) -> None:
        """
        Be told of the end of every task: ``callback(task_id, success, error, duration)``, exactly once each.

        Tasks that ended while there was no callback are told now.
        """
        self._reports.to_task_done(callback)

    # Tools -------------------------------------------------------------------------------------------------------

    def register(
        self,
        name: str | Tool | Callable[..., Any],
        fn: Callable[..., Any] | None = None,
        **options: Unpack[ToolOptions],
    ) -> Tool:
        """
        Make a tool callable; one of the same name is replaced.

        Args:
            name: Its name, a `Tool`, or the function itself.
            fn: ``fn(args: dict)``, or any typed function, whose parameters then are the arguments; sync or async. The
                texts of its parameters are taken from its docstring (Google, NumPy or Sphinx style).
            options: ``description``, ``schema``, ``timeout`` …: see `ToolOptions`.

        Raises:
            InvalidToolIdError: The name is malformed.
            SchemaError: A schema is not valid JSON Schema, or the signature has none.
            TypeError: An option does not exist; the nearest is named.
            ValueError: An option has a value that cannot be meant.
        """
        entry = prepare(make_tool(name, fn, **options))
        self._catalogue.add(entry)
        return entry.tool

    def register_toolbox(self, box: object, *, prefix: str = "") -> list[Tool]:
        """Register each public method of *box*, named *prefix* and the method's name."""
        return [self.register(tool) for tool in toolbox(box, prefix)]

    def unregister(self, name: str) -> bool:
        """Take a tool away that was registered here. Returns whether there was one; calls that run go on."""
        return self._catalogue.remove(name)

    def clear_executors(self) -> None:
        """Take every tool away that was registered here; those of plugins stay."""
        self._catalogue.clear()

    def register_metadata_keys(self, *keys: str) -> None:
        """Let tools return these keys beside their result, as ``(result, metadata)``."""
        self._change_setup(metadata_keys=frozenset({*self._way.setup.metadata_keys, *keys}))

    def list_tools(self) -> list[ToolDefinition]:
        """Every tool a model may be told of: those registered here, then those of exposed plugins."""
        return self._catalogue.definitions()

    def get_tool(self, name: str) -> Registered:
        """A tool, with who registered it. Raises ToolNotFoundError."""
        entry = self._catalogue.find(name)
        if entry is None:
            raise ToolNotFoundError(f"No executor registered for {name}", tool_id=name)
        return entry

    def on_tools_changed(self, fn: Callable[[], object]) -> Callable[[], None]:
        """
        Call *fn* whenever tools came, went or were replaced, here or by a plugin, in the thread that did it.

        Returns:
            A function that ends this.
        """
        return self._catalogue.on_changed(fn)

    def background_tools(self) -> list[tuple[str, str, float | None]]:
        """(tool, plugin, threshold in seconds or None) of every tool that may go to the background."""
        return [(e.name, e.plugin_name, e.tool.auto_background) for e in self._catalogue.entries() if e.background]

    # What hosts and tools look at --------------------------------------------------------------------------------

    @property
    def tasks(self) -> TaskManager:
        """The background tasks, of which those of its conversation are delivered, if it has one."""
        if self._tasks is None:
            with self._lock:
                if self._tasks is None:
                    from executor.tasks import TaskManager

                    self._tasks = delivering(TaskManager.open(), self.conversation, self._catalogue)
        return self._tasks

    @property
    def max_content(self) -> int:
        """How many bytes of content a result may have."""
        return self._hand_over.max_content

    @property
    def conversation(self) -> str | None:
        """Which conversation of the program it works for, or None."""
        return self._hand_over.conversation

    @property
    def approvals(self) -> Inbox:
        """The questions that wait for a person; shown on the surfaces of all processes of the user."""
        if self._inbox is None:
            from executor.permission._inbox import Inbox

            channels = self._registry.channels() if self._registry is not None else {}
            with self._lock:
                if self._inbox is None:
                    self._inbox = Inbox.shared()
                    for name, channel in channels.items():
                        self._inbox.add_channel(name, channel)
        return self._inbox

    @property
    def registry(self) -> PluginRegistry | None:
        """The plugins in use."""
        return self._registry

    @property
    def abandoned(self) -> int:
        """How many threads still work on calls that were given up."""
        return len(self._way.threads.abandoned)

    # What its parts are given ------------------------------------------------------------------------------------

    def _get_table(self) -> TaskTable:
        from executor.tasks._manager import engine_of

        return engine_of(self.tasks)

    def _get_approvals(self) -> Inbox:
        return self.approvals

    def _get_opinions(self) -> Sequence[tuple[str, Callable[..., Any]]]:
        return self._catalogue.opinions

    def _get_record(self) -> Record | None:
        return self._reports.record

    def _task_ended(self, call: CallState, info: TaskInfo) -> None:
        self._way.over(call)
        self._reports.task_ended(call, info)

    def _change_setup(self, **changes: Any) -> None:
        """Calls are made with this from now on; a gate that has nothing to say of any call is not asked."""
        with self._lock:
            gates = self._own_gates if self._gate.silent else (*self._own_gates, self._gate.judge)
            self._way.setup = replace(self._way.setup, gates=gates, **changes)

    def _registry_changed(self) -> None:
        registry = self._registry
        self._catalogue.use(registry)
        self._reports.to_plugins(registry)
        plugged = registry.backends() if registry is not None else {}
        self._change_setup(backends=self._own_backends.with_others(plugged))
        if registry is not None and self._inbox is not None:
            for name, channel in registry.channels().items():
                self._inbox.add_channel(name, channel)

    # The end -----------------------------------------------------------------------------------------------------

    def shutdown(self, wait: bool = True, cancel: bool = False, timeout: float | None = None) -> bool:  # noqa: FBT001, FBT002 -- as concurrent.futures has it
        """
        Take no more calls, and end. What was accepted comes to its end, unless the process ends before.

        Args:
            wait: Wait for running calls and tasks. Those that were given up are not waited for, but for half a second
                after their stop, in which tools clean up. A tool that calls this waits for nothing.
            cancel: Stop them first.
            timeout: Wait at most so many seconds.

        Returns:
            Whether everything had ended.
        """
        # A tool that shuts its own executor down cannot wait for itself.
        free = partial(self._way.threads.free, self._way.setup.loop)
        ended = self._way.close(timeout, free, cancel=cancel, wait=wait and current.get() is None)
        if self._registry is not None:
            self._registry.detach(self._registry_changed)
        if self._inbox is not None:
            self._inbox.close()
        return ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # After Ctrl-C or exit() nobody wants to wait for what still runs; after an ordinary error its work is kept.
        leaves = kind is not None and not issubclass(kind, Exception)
        self.shutdown(cancel=leaves, timeout=LEAVING if leaves else None)

"""What the commands share: made once for each run of the command, and only when first used."""

from __future__ import annotations

import contextlib
import gc
import math
import sys
import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

from executor.cli._errors import CliError, ExitCode
from executor.cli._render import Screen
from executor.errors import BackendUnavailableError, PluginError, ToolExecutorError, ToolNotFoundError

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterable

    from executor import Ledger, PluginRegistry, ToolExecutor
    from executor.approval import PermissionPlugin
    from executor.cli._config import Config
    from executor.engines import DaskEngine
    from executor.run import Runner
    from executor.tasks import TaskManager
    from executor.tools import Registered

C = TypeVar("C", bound="Callable[..., Any]")


class Seconds(click.FloatRange):
    """A length of time, as an option is given it; more than any clock can wait for is as long as one can."""

    name = "number of seconds"  # as click's errors call it

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Fails for what is none, 'nan' included, which no comparison refuses."""
        seconds = float(super().convert(value, param, ctx))
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return min(seconds, threading.TIMEOUT_MAX)


class App:
    """
    One run of the command.

    Args:
        json_mode: See `Screen`.

    Attributes:
        stdin_is_used: stdin carries arguments, so that no answer can be read from it.
        stuck: A thread is left in a tool that did not end when it was told to.
    """

    def __init__(self, *, json_mode: bool) -> None:
        self.screen = Screen(json_mode=json_mode)
        self.stdin_is_used = False
        self.stuck = False
        self._warnings: logging.Handler | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if "known" in self.__dict__:  # it was used
                self.known.close()
        finally:
            if self._warnings is not None:
                import logging

                logging.getLogger("executor").removeHandler(self._warnings)

    @cached_property
    def config(self) -> Config:
        """The configuration. Raises CliError."""
        from executor.cli._config import load  # with platformdirs 4 ms

        return load()

    @cached_property
    def registry(self) -> PluginRegistry:
        """Every plugin that there is, exposed with its configuration. Raises CliError for a wrong one."""
        config, registry = self.config, self.known
        catch_up = getattr(registry.get_plugin("mcp"), "catch_up", None)
        if catch_up is not None:
            with self.screen.working("starting servers"):
                catch_up()
        there = {*registry.list_available(), *(failure.plugin for failure in registry.failures()), *config.blocked}
        for name in config.plugins:
            if name not in there:
                self.screen.warning(f"{config.path}: plugins.{name}: there is no plugin of this name")
        for name in config.tools:
            if name not in registry.tools:
                self.screen.warning(f"{config.path}: tools.{name}: no plugin has a tool of this name")
        return registry

    @cached_property
    def known(self) -> PluginRegistry:
        """The same before any MCP server is asked what it has: only what is known of them is there."""
        from executor.registry import PluginRegistry

        config = self.config
        self._route_warnings()
        registry = PluginRegistry(blocked=config.blocked)
        gc.freeze()  # as in `main`; not what plugins make: a file may wait for the last collection to be written out
        # What a plugin prints is no result.
        with self.screen.working("loading plugins"), contextlib.redirect_stdout(sys.stderr):
            registry.discover()
            put_off = getattr(registry.get_plugin("mcp"), "put_off", None)
            if put_off is not None:
                put_off()
            there = registry.list_available()  # of others `registry` warns, once servers were asked
            registry.expose_all({name: given for name, given in config.plugins.items() if name in there})
        for name, settings in config.tools.items():
            registry.adjust(name, settings)
        return registry

    def find(self, name: str) -> Registered:
        """The tool of this name. Raises CliError, with names that are near."""
        try:
            return self._found(name)
        except PluginError:  # not about this name
            raise
        except ToolExecutorError as error:
            raise CliError(f"{error.message}\n'toolexec tools list' shows what there is") from error

    def _found(self, name: str) -> Registered:
        """The tool, for which its own server is asked at most; all are where none is known to have it."""
        try:
            return self.known.get_tool(name)
        except ToolNotFoundError:
            look_for = getattr(self.known.get_plugin("mcp"), "look_for", None)
            try:
                looked = look_for is not None and look_for(name)
            except BackendUnavailableError as error:
                raise CliError(error.message, ExitCode.UNAVAILABLE) from error
            return (self.known if looked else self.registry).get_tool(name)

    def registry_for(self, entries: Iterable[Registered]) -> PluginRegistry:
        """The plugins for calls of these tools: servers that they have nothing to do with are not asked."""
        from executor.registry import BUNDLED

        # What is not ours may call any other tool, and what carries calls does.
        alone = all(entry.plugin_name in BUNDLED and not entry.carrier for entry in entries)
        return self.known if alone else self.registry

    def read_only_tools(self) -> list[str]:
        """The tools that run without a policy: those of bundled plugins that only read. Raises CliError."""
        from executor.cli._ask import only_reads

        return sorted(name for name, entry in self.registry.tools.items() if only_reads(entry.plugin_name, entry.tool))

    def engine(self) -> DaskEngine:
        """The cluster of the configuration. Raises CliError: there is none."""
        from executor.engines import DaskEngine

        config = self.config
        if config.engine is None:
            raise CliError(
                f'{config.path}: engine: there is no cluster: write [engine] with address = "tls://HOST:PORT"',
                details={"path": str(config.path), "key": "engine"},
            )
        return DaskEngine(**config.engine)

    def executor(
        self,
        gate: PermissionPlugin,
        runner: Runner | None = None,
        *,
        entries: Iterable[Registered] | None = None,
        conversation: str | None = None,
        engine: DaskEngine | None = None,
        tasks: TaskManager | None = None,
    ) -> ToolExecutor:
        """
        An executor over the plugins that asks *gate* before every call, and makes calls by *runner*.

        With *entries* it makes calls of these tools only; with *conversation* it knows the tasks of that only, without
        them *tasks*; with *engine* what it starts in the background is there.
        """
        from executor import ToolExecutor
        from executor.tasks import ConversationTasks

        config = self.config
        ledger: Ledger | None = None
        if config.ledger is not None:
            from executor import JsonLinesLedger  # with what masks secrets 4 ms

            ledger = JsonLinesLedger(config.ledger)
        return ToolExecutor(
            ledger,
            registry=self.registry if entries is None else self.registry_for(entries),
            permission_plugin=gate,
            runner=runner,
            max_background_tasks=config.max_background_tasks,
            default_timeout=config.default_timeout,
            conversation=conversation,
            engine=engine,
            tasks=ConversationTasks(conversation) if conversation is not None else tasks,
        )

    def _route_warnings(self) -> None:
        import logging

        screen = self.screen

        class ToScreen(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                screen.warning(record.getMessage())

        self._warnings = ToScreen()
        logging.getLogger("executor").addHandler(self._warnings)


pass_app = click.make_pass_decorator(App)


def json_option(command: C) -> C:
    """The ``--json`` option; `main` looks for it too, so that errors before parsing are JSON as well."""
    return click.option("--json", "as_json", is_flag=True, help="Write JSON, of a stable shape.")(command)


def complete_tool(ctx: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """The tools whose names begin with *typed*, for the shell."""
    app = ctx.find_object(App)
    return [name for name in app.registry.tools if name.startswith(typed)] if app is not None else []

"""The command itself: which commands there are, and where each is; errors of every kind end here."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from contextlib import contextmanager, nullcontext, redirect_stderr
from typing import TYPE_CHECKING, Any

import click

from executor.cli._app import App
from executor.cli._errors import CliError, ExitCode, of_library, of_system, of_want
from executor.cli._help import WHOLE
from executor.cli._render import flush
from executor.errors import ToolExecutorError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# The built-in commands: the module of each and its name there; imported when it is called for, or help tells of all.
BUILT_IN = {
    "approvals": "_approvals.group",
    "call": "_call.command",
    "chain": "_chain.command",
    "config": "_config_commands.group",
    "confine": "_confine.command",
    "doctor": "_doctor.command",
    "init": "_init.command",
    "mcp": "_mcp_login.group",  # adds to the commands of _mcp
    "plugins": "_plugins.group",
    "serve": "_serve.command",
    "tasks": "_top.group",  # adds to the commands of _tasks
    "tools": "_tools.group",
}
# Commands that a bundled plugin brings: the plugin, and what help says of it without loading any.
OF_BUNDLED = {
    "console": ("console", "Open the page on which you are asked, in the browser."),
    "files": ("files", "Look at what the file tools changed, and take it back."),
    "permissions": ("permissions", "Look at the permission policy, try it, and change it."),
}
_OF_PLUGINS = "executor.cli.of_plugins"  # in the context: what plugins have added their commands to
COMPLETE = "_TOOLEXEC_COMPLETE"  # click's name for the variable by which a shell asks for completions


class Root(click.Group):
    """The command itself: built-in commands first; plugins are asked for theirs when a name is not built in."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A built-in command, or one of a plugin, or None."""
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in BUILT_IN:
            found = self._load(cmd_name)
        if found is None and cmd_name in OF_BUNDLED:
            found = self._of_bundled(ctx, OF_BUNDLED[cmd_name][0]).get(cmd_name)
        if found is None and not cmd_name.startswith("-"):
            found = self._of_plugins(ctx).get(cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that *args* begin with. Where there is none, all have to be there to tell the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            if BUILT_IN.keys() <= self.commands.keys():
                raise
        self.commands.update({name: self._load(name) for name in BUILT_IN})
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The built-in commands, which help names at once; for a shell that completes a word, those of plugins too."""
        return sorted(
            {*self.commands, *BUILT_IN, *OF_BUNDLED, *(self._of_plugins(ctx) if ctx.resilient_parsing else ())}
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands and what each is for; none of a plugin is loaded for this."""
        names = self.list_commands(ctx)
        said = {name: text for name, (_, text) in OF_BUNDLED.items()}
        built_in = {**self.commands, **{name: self._load(name) for name in BUILT_IN}}
        said |= {name: command.get_short_help_str(WHOLE) for name, command in built_in.items()}
        with formatter.section("Commands"):
            formatter.write_dl([(name, said[name]) for name in names if name in said])

    @staticmethod
    def _load(name: str) -> click.Command:
        module, _, its_name = BUILT_IN[name].partition(".")
        command: click.Command = getattr(importlib.import_module(f"executor.cli.{module}"), its_name)
        return command

    def _of_bundled(self, ctx: click.Context, name: str) -> Mapping[str, click.Command]:
        """The commands of this bundled plugin, which are there whatever plugins are chosen; no other one is loaded."""
        from executor.registry import BUNDLED, PluginRegistry

        try:
            plugin = importlib.import_module(BUNDLED[name])
        except ImportError as error:
            text = f"{BUNDLED[name]} cannot be imported ({error}): install the package as a whole"
            raise CliError(text, ExitCode.UNAVAILABLE) from error
        guest = _Guest(self, ctx.find_object(App))
        with PluginRegistry(bundled=False, entry_points=False) as registry:
            registry.register(plugin, name)
            registry.expose(name)
            registry.hooks.register_commands(guest)
        return guest.commands

    def _of_plugins(self, ctx: click.Context) -> Mapping[str, click.Command]:
        app = ctx.find_object(App)
        if app is None:
            return {}
        if _OF_PLUGINS not in ctx.meta:  # a name that is unknown is looked for twice
            guest = ctx.meta[_OF_PLUGINS] = _Guest(self, app)
            app.registry.hooks.register_commands(guest)
        commands: Mapping[str, click.Command] = ctx.meta[_OF_PLUGINS].commands
        return commands

    def main(self, args: Sequence[str] | None = None, *_: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the command, and exit with its code; see click. Errors of every kind end here."""
        words = list(sys.argv[1:] if args is None else args)
        extra.pop("prog_name", None)  # python -m executor is the same command
        if not standalone_mode:
            return super().main(words, "toolexec", standalone_mode=False, **extra)
        with App(json_mode="--json" in words) as app, _silence() if COMPLETE in os.environ else nullcontext():
            code = self._run(app, words, extra)
        raise Stuck(code) if app.stuck else SystemExit(code)

    def _run(self, app: App, words: list[str], extra: dict[str, Any]) -> int:
        try:
            # Commands end by ctx.exit(code); what a plugin's command returns is no exit code.
            code = super().main(words, "toolexec", standalone_mode=False, obj=app, **extra)
        except click.ClickException as error:
            return _report(app, error)
        except ToolExecutorError as error:
            return _report(app, of_library(error))
        except click.Abort:
            return _report(app, CliError("interrupted", ExitCode.INTERRUPTED))
        except OSError as error:
            return _report_system(app, error)
        except Exception as error:  # noqa: BLE001 -- the last place where it can be told
            return _report_unexpected(app, error)
        return code if isinstance(code, int) else ExitCode.OK

    def invoke(self, ctx: click.Context) -> None:
        """Run the command that was named; what it returns is not used."""
        super().invoke(ctx)


class Stuck(SystemExit):
    """The command is over, but a thread is still in a tool that does not end."""


@contextmanager
def _silence() -> Iterator[None]:
    """While a shell completes a word, nobody wants to read what is wrong with a plugin."""
    with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):  # noqa: PTH123 -- no path of a user's
        yield


def _report(app: App, error: click.ClickException) -> int:
    app.screen.error(error)
    return error.exit_code


_NO_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of a write, which knows no file's name


def _report_system(app: App, error: OSError) -> int:
    try:
        flush(sys.stdout)  # click's own words, such as a help, are not written by the screen
    except CliError as unwritten:
        return _report(app, unwritten)
    if isinstance(error, FileNotFoundError) and _is_nowhere():
        return _report(app, CliError("the working folder was removed: go into one that is there, and try again"))
    if error.filename is None and error.errno not in _NO_PLACE:
        return _report_unexpected(app, error)
    return _report(app, of_system(error))


def _is_nowhere() -> bool:
    """Whether the working folder of this process is no more: all that is relative fails then."""
    try:
        os.getcwd()  # noqa: PTH109 -- only whether
    except FileNotFoundError:
        return True
    return False


def _report_unexpected(app: App, error: Exception) -> int:
    if (want := of_want(error)) is not None:
        return _report(app, want)
    import traceback

    trace = "".join(traceback.format_exception(error))
    unexpected = CliError(f"unexpected: {error!r}", ExitCode.UNEXPECTED, {"traceback": trace})
    app.screen.error(unexpected, trace)
    return unexpected.exit_code


class _Guest(click.Group):
    """What plugins add their commands to. A name that exists stays as it was, and that is said."""

    def __init__(self, root: Root, app: App | None) -> None:
        super().__init__("toolexec")
        self._root = root
        self._app = app

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command of a plugin."""
        name = name or cmd.name
        if name in BUILT_IN or name in self._root.commands or name in self.commands:
            whose = getattr(cmd.callback, "__module__", "a plugin")
            if self._app is not None:
                self._app.screen.warning(f"the command {name!r} of {whose} is left out: there is one of this name")
            return
        super().add_command(cmd, name)

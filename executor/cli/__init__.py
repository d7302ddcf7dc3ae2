"""
The ``toolexec`` command. Whatever is heavy is imported by the command that needs it.

What is public here is for plugins that bring commands of their own by ``executor_register_commands``.
"""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import importlib
import os
import sys
from contextlib import contextmanager, nullcontext, redirect_stderr
from typing import TYPE_CHECKING, Any, NoReturn

import click

from executor.cli import (
    _approvals,
    _call,
    _chain,
    _config_commands,
    _confine,
    _doctor,
    _init,
    _mcp,
    _mcp_login,  # noqa: F401 -- adds to the commands of _mcp
    _plugins,
    _serve,
    _tasks,
    _tools,
    _top,  # noqa: F401 -- adds to the commands of _tasks
)
from executor.cli._app import App, complete_tool, json_option, pass_app
from executor.cli._arguments import read as read_arguments
from executor.cli._call import rehearse, show_judgement
from executor.cli._errors import CliError, ExitCode, of_library
from executor.cli._people import for_people, refuse_below_a_call
from executor.cli._session import terminal_session
from executor.errors import ToolExecutorError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "App",
    "CliError",
    "ExitCode",
    "cli",
    "complete_tool",
    "for_people",
    "json_option",
    "main",
    "pass_app",
    "read_arguments",
    "refuse_below_a_call",
    "rehearse",
    "show_judgement",
    "terminal_session",
]

# Commands that a bundled plugin brings: the plugin, and what help says of it without loading any.
OF_BUNDLED = {
    "files": ("files", "Look at what the file tools changed, and take it back."),
    "permissions": ("permissions", "Look at the permission policy, try it, and change it."),
}
COMPLETE = "_TOOLEXEC_COMPLETE"  # click's name for the variable by which a shell asks for completions


class Root(click.Group):
    """The command itself: built-in commands first; plugins are asked for theirs when a name is not built in."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A built-in command, or one of a plugin, or None."""
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in OF_BUNDLED:
            found = self._of_bundled(ctx, OF_BUNDLED[cmd_name][0]).get(cmd_name)
        if found is None and not cmd_name.startswith("-"):
            found = self._of_plugins(ctx).get(cmd_name)
        return found

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The built-in commands, which help names at once; for a shell that completes a word, those of plugins too."""
        return sorted({*self.commands, *OF_BUNDLED, *(self._of_plugins(ctx) if ctx.resilient_parsing else ())})

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands and what each is for; none of a plugin is loaded for this."""
        names = self.list_commands(ctx)
        room = formatter.width - 6 - max(map(len, names))
        said = {name: text for name, (_, text) in OF_BUNDLED.items()}
        said |= {name: command.get_short_help_str(room) for name, command in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl([(name, said[name]) for name in names if name in said])

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
        guest = _Guest(self, app)
        app.registry.hooks.register_commands(guest)
        return guest.commands

    def main(self, args: Sequence[str] | None = None, *_: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the command, and exit with its code; see click. Errors of every kind end here."""
        words = list(sys.argv[1:] if args is None else args)
        extra.pop("prog_name", None)  # python -m executor is the same command
        if not standalone_mode:
            return super().main(words, "toolexec", standalone_mode=False, **extra)
        with App(json_mode="--json" in words) as app, _silence() if COMPLETE in os.environ else nullcontext():
            code = self._run(app, words, extra)
        raise _Stuck(code) if app.stuck else SystemExit(code)

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
        except Exception as error:  # noqa: BLE001 -- the last place where it can be told
            import traceback

            trace = traceback.format_exc()
            unexpected = CliError(f"unexpected: {error!r}", ExitCode.UNEXPECTED, {"traceback": trace})
            app.screen.error(unexpected, trace)
            return unexpected.exit_code
        return code if isinstance(code, int) else ExitCode.OK

    def invoke(self, ctx: click.Context) -> None:
        """Run the command that was named; what it returns is not used."""
        super().invoke(ctx)


class _Stuck(SystemExit):
    """The command is over, but a thread is still in a tool that does not end."""


@contextmanager
def _silence() -> Iterator[None]:
    """While a shell completes a word, nobody wants to read what is wrong with a plugin."""
    with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):  # noqa: PTH123 -- no path of a user's
        yield


def _report(app: App, error: click.ClickException) -> int:
    app.screen.error(error)
    return error.exit_code


class _Guest(click.Group):
    """What plugins add their commands to. A name that exists stays as it was, and that is said."""

    def __init__(self, root: Root, app: App | None) -> None:
        super().__init__("toolexec")
        self._root = root
        self._app = app

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command of a plugin."""
        name = name or cmd.name
        if name in self._root.commands or name in self.commands:
            whose = getattr(cmd.callback, "__module__", "a plugin")
            if self._app is not None:
                self._app.screen.warning(f"the command {name!r} of {whose} is left out: there is one of this name")
            return
        super().add_command(cmd, name)


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 -- click calls it so
    if value and not ctx.resilient_parsing:
        click.echo(f"toolexec {_doctor.version_of('toolexec')}")
        ctx.exit()


@click.group(
    cls=Root,
    name="toolexec",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Plugins may add commands of their own: see 'toolexec plugins list'.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
def cli() -> None:
    """
    Run the tools that a language model is given: list them, call them, look after their plugins.

    \b
    Examples:
      toolexec tools list                                what can be called
      toolexec call runCommand command='ls -l'           call it
      toolexec init                                      set up a policy, servers, assistants
      toolexec doctor                                    see whether all is well
    """


@cli.command("version")
@json_option
@pass_app
def version_command(app: App, *, as_json: bool) -> None:
    """
    Print the version.

    \b
    Example:
      toolexec version --json
    """
    version = _doctor.version_of("toolexec")
    if as_json:
        app.screen.json({"toolexec": version, "python": sys.version.split()[0]})
    else:
        app.screen.result(f"toolexec {version}")


@cli.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@pass_app
def completion_command(app: App, shell: str) -> None:
    """
    Print what makes a shell complete this command's words.

    \b
    Examples:
      toolexec completion bash > ~/.local/share/bash-completion/completions/toolexec
      toolexec completion zsh > "${fpath[1]}/_toolexec"
      toolexec completion fish > ~/.config/fish/completions/toolexec.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click knows the shells of the choice"
    # Not kind.source(): that starts a bash to ask for its version.
    completion = kind(cli, {}, "toolexec", COMPLETE)
    app.screen.result(completion.source_template % completion.source_vars())


cli.add_command(_init.command)
cli.add_command(_tools.group)
cli.add_command(_call.command)
cli.add_command(_chain.command)
cli.add_command(_tasks.group)
cli.add_command(_approvals.group)
cli.add_command(_mcp.group)
cli.add_command(_serve.command)
cli.add_command(_plugins.group)
cli.add_command(_config_commands.group)
cli.add_command(_doctor.command)
cli.add_command(_confine.command)


def main() -> NoReturn:
    """Run the command with the words of the process's command line, and exit."""
    try:
        cli.main()
    except _Stuck as end:
        # At its end the interpreter stops such a thread wherever it is, and aborts if that is in the middle of a write.
        os._exit(int(str(end.code)))
    raise AssertionError("cli.main exits")

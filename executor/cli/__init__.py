"""
The ``toolexec`` command. Whatever is heavy is imported by the command that needs it.

What is public here is for plugins that bring commands of their own by ``executor_register_commands``.
"""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from executor.cli._app import App, json_option, pass_app
from executor.cli._root import COMPLETE, Root, Stuck

if TYPE_CHECKING:
    from executor.cli._app import complete_tool
    from executor.cli._arguments import read_arguments
    from executor.cli._call import rehearse, show_judgement
    from executor.cli._errors import CliError, ExitCode
    from executor.cli._help import Group
    from executor.cli._people import for_people, refuse_below_a_call
    from executor.cli._policy import load_permissions
    from executor.terminalsession import terminal_session

__all__ = [
    "App",
    "CliError",
    "ExitCode",
    "Group",
    "cli",
    "complete_tool",
    "for_people",
    "json_option",
    "load_permissions",
    "main",
    "pass_app",
    "read_arguments",
    "refuse_below_a_call",
    "rehearse",
    "show_judgement",
    "terminal_session",
]

_HOMES = {  # of what is imported when it is first used: modules of this package, or beside it
    "CliError": "_errors",
    "ExitCode": "_errors",
    "Group": "_help",
    "complete_tool": "_app",
    "for_people": "_people",
    "load_permissions": "_policy",
    "read_arguments": "_arguments",
    "refuse_below_a_call": "_people",
    "rehearse": "_call",
    "show_judgement": "_call",
    "terminal_session": ".terminalsession",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 -- click calls it so
    if value and not ctx.resilient_parsing:
        from executor.cli._doctor import version_of

        click.echo(f"toolexec {version_of('toolexec')}")
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
    from executor.cli._doctor import version_of

    version = version_of("toolexec")
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


def _open_what_is_closed() -> None:
    """
    Open the streams that whoever started this has closed (``<&-``) on nothing: the next file that is opened would get
    the number of one, and be read, written or closed as that.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False))


def _end(number: int, _frame: object) -> NoReturn:
    """
    Being told to end is as Ctrl-C is: a terminal that was without its echo, or showed another screen, is set right.

    A second time it ends the process where it stands.
    """
    signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt


def main() -> NoReturn:
    """Run the command with the words of the process's command line, and exit."""
    _open_what_is_closed()
    gc.freeze()  # all of it stays: looking through it again at each collection, the last one too, is a tenth of a start
    if sys.platform != "win32":
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # who ignores it hands that down, and no child can be waited for
    for number in (getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)):
        if signal.getsignal(number) is signal.SIG_DFL:  # who runs this under nohup wants it ignored
            signal.signal(number, _end)
    try:
        cli.main()
    except Stuck as end:
        # At its end the interpreter stops such a thread wherever it is, and aborts if that is in the middle of a write.
        os._exit(int(str(end.code)))
    raise AssertionError("cli.main exits")

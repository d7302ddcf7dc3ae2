"""The command."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import sys

import click

from executor.cli import App, CliError, ExitCode, for_people, pass_app
from executor.errors import ExecutorUnavailableError


@click.command("console")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of this machine. Default: any that is free.")
@click.option("--print", "printed", is_flag=True, help="Print the link, instead of opening the browser.")
@pass_app
@for_people
def console_command(app: App, port: int, *, printed: bool) -> None:
    """
    Open the page on which you are asked, in the browser; it ends with Ctrl-C.

    It shows what waits for you, what runs in the background, what you have granted, and what was decided, of all your
    processes. While the page is open, there is somebody to ask. A link works once, and for a minute; Enter makes
    another one.

    \b
    Examples:
      toolexec console
      toolexec console --print
    """
    from executor_console._run import run

    if sys.platform == "win32":
        raise CliError("This system has no local sockets, by which other processes could ask", ExitCode.UNAVAILABLE)
    try:
        number = run(app, port, printed=printed)
    except OSError as error:
        raise CliError(f"--port {port}: {error.strerror or error}", ExitCode.UNAVAILABLE) from error
    except ExecutorUnavailableError as error:
        raise CliError(error.message, ExitCode.UNAVAILABLE) from error
    raise click.exceptions.Exit(ExitCode.INTERRUPTED if number else ExitCode.OK)

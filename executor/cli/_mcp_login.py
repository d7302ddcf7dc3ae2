"""``toolexec mcp login`` and ``logout``."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from executor.cli._app import App, Seconds, json_option, pass_app
from executor.cli._errors import CliError
from executor.cli._mcp import find, group
from executor.cli._people import for_people

if TYPE_CHECKING:
    from executor.mcp import ServerConfig


@group.command("login")
@click.argument("name")
@click.option(
    "--no-browser", is_flag=True, help="Only show the page's address; the answer still comes to this machine."
)
@click.option(
    "--timeout",
    metavar="S",
    type=Seconds(min=0, min_open=True),
    default=300.0,
    show_default=True,
    help="Wait S seconds at most for the browser's answer.",
)
@json_option
@pass_app
@for_people
def login_command(app: App, name: str, timeout: float, *, no_browser: bool, as_json: bool) -> None:
    """
    Log in to a server that asks who you are (OAuth): in your browser. The tokens are kept for you alone.

    \b
    Example:
      toolexec mcp login linear
    """
    from executor.mcp import login

    server = _remote(app, name)

    def send(url: str) -> None:
        app.screen.note(f"log in here: {url}")
        if not no_browser:
            from executor.systempath import open_in_browser

            with contextlib.suppress(OSError):  # the link stands above
                open_in_browser(url)

    wanted = login(server, send, timeout=timeout)
    if as_json:
        app.screen.json({"name": name, "logged_in": wanted})
    else:
        app.screen.result(f"logged in to {name}" if wanted else f"{name} does not ask anybody to log in")


@group.command("logout")
@click.argument("name")
@json_option
@pass_app
@for_people
def logout_command(app: App, name: str, *, as_json: bool) -> None:
    """
    Forget the tokens for a server.

    \b
    Example:
      toolexec mcp logout linear
    """
    from executor.mcp import logout

    was = logout(_remote(app, name))
    if as_json:
        app.screen.json({"name": name, "logged_out": was})
    else:
        app.screen.result(f"logged out of {name}" if was else f"nobody was logged in to {name}")


def _remote(app: App, name: str) -> ServerConfig:
    server = find(app, name)
    if server.problem is not None:
        raise CliError(f"{name}: {server.problem}")
    if server.transport not in ("http", "sse"):
        raise CliError(f"{name} is started here, and nobody logs in to it: its secrets are variables of its env")
    return server

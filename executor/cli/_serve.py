"""``toolexec serve``: the tools as an MCP server, for assistants."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import contextlib
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import click
from click.exceptions import Exit

from executor.cli._app import App, pass_app
from executor.cli._errors import CliError, ExitCode
from executor.cli._people import refuse_below_a_call
from executor.cli._render import is_terminal
from executor.ownfolders import home_folder, own_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from executor import ToolExecutor
    from executor.mcp import MCPBridge, ServeOptions

LAST_SECONDS = 0.5  # for what does not end when it is told to; a client does not wait longer than a second or two
HTTP = "127.0.0.1:8765"


@dataclass(frozen=True, slots=True)
class How:
    """The options of ``toolexec serve`` that say how it serves."""

    http: str | None = None
    url: str | None = None
    project: str | None = None
    principal: str | None = None
    patterns: Sequence[str] = ()
    ask: Literal["client", "console", "both", "never"] | None = None
    wait: bool = False
    proxy: bool = False
    token_file: str | None = None


@click.command("serve")
@click.option("--http", "http", is_flag=False, flag_value=HTTP, metavar="[HOST:PORT]", help=f"Over HTTP. [{HTTP}]")
@click.option("--connect", "url", metavar="URL", help="On stdin and stdout, what a running serve --http serves at URL.")
@click.option("--proxy", is_flag=True, help="Pass on what the MCP servers have beside tools: resources and prompts.")
@click.option("--project", metavar="DIR", help="The project whose policy holds. Default: the working folder.")
@click.option("--as", "principal", metavar="NAME", help="Who calls: grants and tasks are bound to it.")
@click.option("--tools", "patterns", multiple=True, metavar="PATTERN", help="Offer these tools only; may be repeated.")
@click.option(
    "--ask",
    type=click.Choice(["client", "console", "both", "never"]),
    help="Where you are asked: by the assistant alone; on your open surfaces, in any process; on both; nowhere. "
    "Default: console if a surface is open anywhere, else client.",
)
@click.option("--wait", is_flag=True, help="Wait for the end of every call: none becomes a task.")
@click.option(
    "--token-file", metavar="FILE", help="For --http: lines name:token. Default: one of ours, made if missing."
)
@click.option("--print-config", "shown", metavar="HOST", help="Print the entry for an assistant, and end.")
@click.option("--install", "installed", metavar="HOST", help="Write the entry into the assistant's file, and end.")
@click.option("--uninstall", "removed", metavar="HOST", help="Take the entry out of the assistant's file, and end.")
@click.option("--yes", "-y", is_flag=True, help="For --install and --uninstall: do not ask first.")
@pass_app
def command(
    app: App, /, shown: str | None, installed: str | None, removed: str | None, *, yes: bool, **options: Any
) -> None:
    """
    Serve the tools to an assistant, as an MCP server on stdin and stdout or over HTTP.

    Every call is judged by the policy, as on the command line. What no rule decides is asked where --ask says. A call
    past its threshold becomes a task; it goes on when the assistant is gone, and is found again under its id.

    HOST is claude-desktop, claude-code, cursor, vscode, lmstudio, gemini, goose or codex.

    \b
    Examples:
      toolexec serve --print-config claude-code
      toolexec serve --install cursor --project ~/work
      toolexec serve --tools 'read*' --tools searchFiles
      toolexec serve --http --proxy
      toolexec serve --connect http://127.0.0.1:8765/mcp
    """
    how = How(**options)
    _refuse_what_does_not_fit(how)
    if yes and not (installed or removed):
        raise CliError("--yes answers no question of a call: give it with --install or --uninstall")
    if shown or installed or removed:
        from executor.cli._serve_entry import change, entry_of

        if how.http is not None:
            raise CliError(
                "an assistant starts what its entry says, on stdin and stdout: leave --http out, or run "
                "'toolexec serve --http' yourself and give --connect URL here"
            )
        change(app, entry_of(how), shown=shown, installed=installed, removed=removed, yes=yes)
        return
    refuse_below_a_call()
    _refuse_in_a_circle()
    if how.url is not None:
        _connect(how.url, how.token_file, how.principal)
    if how.http is not None:
        address = _address(how.http)
        _enter(app, how.project)
        _serve_http(app, address, how)
        return
    from executor.cli._stay import stay

    with stay() as behind:
        _enter(app, how.project)
        _serve_stdio(app, how, behind)


def _refuse_what_does_not_fit(how: How) -> None:
    """Raises CliError where options contradict each other: of a server that is run now, or by an entry."""
    served = bool(how.project or how.patterns or how.ask or how.wait or how.proxy)
    if how.url is not None and (how.http is not None or served):
        raise CliError("--connect takes --token-file and --as only: the others are said where it is served")
    if how.http is None and how.url is None and how.token_file is not None:
        raise CliError("--token-file is for --http and --connect; on stdin and stdout use --as NAME")
    if how.http is not None and how.principal is not None:
        raise CliError("--as is for stdin and stdout; over HTTP the token says who calls: use --token-file")


def _refuse_in_a_circle() -> None:
    from executor.mcp import enter_circle

    if not enter_circle():
        raise CliError(
            "this was started by a 'toolexec serve', as one of its MCP servers, and would serve its tools again: "
            "'toolexec mcp remove' takes the entry out; an assistant's own files are read where the configuration "
            "names them (plugins.mcp.files)"
        )


def _options(app: App, how: How) -> ServeOptions:
    from executor.mcp import ServeOptions

    return ServeOptions(
        tools=tuple(how.patterns),
        ask=how.ask,
        wait=how.wait,
        instructions=_instructions(app),
        principal=how.principal or "",
        servers=_Servers(app),
        proxy=how.proxy,
    )


class _Servers:
    """The servers of the plugin ``mcp``, which is there once there is an executor."""

    def __init__(self, app: App) -> None:
        self._app = app

    def _plugin(self) -> Any:
        return self._app.registry.get_plugin("mcp")

    def readers(self) -> Mapping[str, Mapping[str, str]]:
        readers: Mapping[str, Mapping[str, str]] = getattr(self._plugin(), "readers", dict)()
        return readers

    def server_of(self, tool: str) -> str | None:
        plugin = self._plugin()
        server: str | None = plugin.server_of(tool) if plugin is not None else None
        return server

    def bridge(self) -> MCPBridge:
        from executor.mcp import MCPBridge

        plugin = self._plugin()
        bridge: MCPBridge = plugin.bridge() if plugin is not None else MCPBridge({})
        return bridge


def _instructions(app: App) -> str | None:
    if "background" in app.config.blocked:
        return None
    return (
        "A call that takes long is answered with a task_id and goes on in the background: "
        "getBackgroundOutput reads its output and, once it has ended, its result."
    )


def _enter(app: App, project: str | None) -> None:
    """
    Work in the project's folder; say so where there is none (the root, the home folder).

    Raises:
        CliError: There is no such folder.
    """
    if project is not None:
        try:
            os.chdir(Path(project).expanduser())
        except OSError as error:
            raise CliError(f"--project {project}: {error.strerror}") from error
        return
    here, home = Path.cwd(), home_folder()
    if here == home or here in home.parents:  # of which `${project}` is none, see docs/permissions.md
        app.screen.note(f"{here} is no project: rules about one allow nothing here; --project names one")


def _state_folder() -> Path:
    return own_folder("state")


def _made(app: App, principal: str, how: How) -> ToolExecutor:
    """What is served to one principal. Raises CliError, which is also shown here: its client may show no errors."""
    from executor.cli._serve_gate import ServeGate

    session = f"serve-{os.urandom(8).hex()}-{principal}"  # numbers of processes are used again
    gate = ServeGate(app.screen, session=session, ask=how.ask)
    try:
        return app.executor(gate, conversation=f"serve:{principal}")
    except CliError as error:
        app.screen.warning(error.message)
        raise


def _serve_stdio(app: App, how: How, behind: Callable[[], None]) -> None:
    with _uncollected():
        from executor.mcp import serve
        from executor.tasks import has_unstored, wait_until_stored

    made: list[ToolExecutor] = []

    def executor_of(_: str) -> ToolExecutor:
        made.append(_made(app, how.principal or "", how))
        return made[-1]

    app.stuck = True  # a client that is gone waits for no thread
    if is_terminal(sys.stdin):
        app.screen.note(
            "serving on stdin and stdout, for an assistant that starts this itself (--install, --print-config); "
            "Ctrl-C ends it"
        )
    number = serve(executor_of, _options(app, how))
    for executor in made:
        if number != signal.SIGINT and (executor.tasks.open_count() or has_unstored(executor.tasks)):
            behind()
            for info in executor.tasks.live():
                executor.tasks.wait(info.id)
            wait_until_stored(executor.tasks)
        executor.shutdown(cancel=True, timeout=LAST_SECONDS)
    raise Exit(ExitCode.OK if number is None else ExitCode.INTERRUPTED)


def _token_path(token_file: str | None) -> Path:
    return Path(token_file).expanduser() if token_file is not None else _state_folder() / "serve.tokens"


def _connect(url: str, token_file: str | None, principal: str | None) -> NoReturn:
    from executor.mcp import connect, token_of

    path = _token_path(token_file)
    try:
        number = connect(url, token_of(path, principal), token_from=str(path))
    except ValueError as error:
        raise CliError(str(error)) from error
    except OSError as error:
        what = f"{path}: {error.strerror}: 'toolexec serve --http' makes it; --token-file FILE names another"
        raise CliError(what, ExitCode.UNAVAILABLE) from error
    raise Exit(ExitCode.OK if number is None else ExitCode.INTERRUPTED)


def _serve_http(app: App, address: tuple[str, int], how: How) -> None:
    with _uncollected():
        from executor.mcp import Tokens, serve_http

    path = _token_path(how.token_file)
    made: dict[str, ToolExecutor] = {}

    def executor_of(principal: str) -> ToolExecutor:
        made[principal] = _made(app, principal, how)
        return made[principal]

    def ready(url: str) -> None:
        app.screen.note(f"serving at {url}; tokens: {path}")

    try:
        tokens = Tokens.of_file(path)
        app.stuck = True
        serve_http(executor_of, _options(app, how), tokens=tokens, host=address[0], port=address[1], ready=ready)
    except ValueError as error:
        raise CliError(str(error)) from error
    except OSError as error:
        raise CliError(f"--http: {error.strerror or error}", ExitCode.UNAVAILABLE) from error
    finally:
        for executor in made.values():
            executor.shutdown(cancel=True, timeout=LAST_SECONDS)
    raise Exit(ExitCode.INTERRUPTED)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """For imports of which everything stays: to look through it again and again is a tenth of their time."""
    import gc

    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon:
        host, port = (HTTP.partition(":")[0], text) if text.isdigit() else (text, HTTP.partition(":")[2])
    if not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise CliError(f"--http {text}: write HOST:PORT")
    return host.strip("[]"), int(port)

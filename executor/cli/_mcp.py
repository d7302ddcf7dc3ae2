"""``toolexec mcp``: the servers that are configured, and our own file of them."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from executor.cli._app import App, Seconds, json_option, pass_app
from executor.cli._errors import CliError, ExitCode
from executor.cli._help import Group
from executor.cli._mcp_rows import row_of, tools, where
from executor.cli._mcp_source import chosen
from executor.cli._people import for_people
from executor.cli._render import for_person
from executor.cli._serve_entry import NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from executor.mcp import Catalogue, ServerConfig


@click.group("mcp", cls=Group)
def group() -> None:
    """
    Look after the MCP servers whose tools are used here.

    Servers of other assistants are imported; their files are only read. Secrets are never stored or shown: an entry
    holds ${NAME}, and the environment the value.

    \b
    Examples:
      toolexec mcp import claude-desktop
      toolexec mcp add time -- uvx mcp-server-time
      toolexec mcp test time
    """


def _servers(app: App) -> dict[str, ServerConfig]:
    """Every server that is configured; what cannot be read is said."""
    from executor.mcp import configured

    try:
        found = configured(app.config.plugins.get("mcp", {}))
    except ValueError as error:
        raise CliError(f"{app.config.path}: plugins.mcp: {error}") from error
    for problem in found.problems:
        app.screen.warning(problem)
    return found.servers


def find(app: App, name: str) -> ServerConfig:
    """The server of this name. Raises CliError."""
    servers = _servers(app)
    if name not in servers:
        raise CliError(f"there is no MCP server {name!r}; configured: {', '.join(sorted(servers)) or 'none'}")
    return servers[name]


def _catalogue() -> Catalogue:
    from executor.mcp import Catalogue, catalogue_path

    return Catalogue(catalogue_path())


@group.command("list")
@json_option
@pass_app
def list_command(app: App, *, as_json: bool) -> None:
    """
    List the configured servers with what is known of them; starts none.

    \b
    Example:
      toolexec mcp list --json
    """
    from executor.mcp import MCPBridge

    servers = _servers(app)
    bridge = MCPBridge(servers)
    rows = [row_of(bridge, server) for server in servers.values()]
    if as_json:
        app.screen.json(rows)
        return
    if not rows:
        app.screen.note("no MCP server is configured: see 'toolexec mcp add --help' and 'toolexec mcp import --help'")
        return
    app.screen.table(
        ("name", "transport", "where", "tools"),
        [(row["name"], row["transport"], where(row["entry"]), tools(row)) for row in rows],
    )
    for row in rows:
        if row["problem"]:
            app.screen.note(f"{row['name']}: {row['problem']}")


@group.command("get")
@click.argument("name")
@json_option
@pass_app
def get_command(app: App, name: str, *, as_json: bool) -> None:
    """
    Show one server: its entry, where that stands, its tools; secrets are masked, and nothing is started.

    \b
    Example:
      toolexec mcp get github
    """
    from executor.mcp import MCPBridge

    server = find(app, name)
    row = row_of(MCPBridge({name: server}), server)
    if as_json:
        app.screen.json(row)
    else:
        app.screen.result(for_person({key: value for key, value in row.items() if value not in (None, {}, "", [])}))


@group.command("add", context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND [ARGS]...]")
@click.option("--url", help="The URL of a server that runs elsewhere, instead of a command.")
@click.option("--transport", type=click.Choice(["stdio", "http", "sse"]), help="Only where it cannot be told.")
@click.option("--env", "-e", multiple=True, metavar="NAME=VALUE", help="A variable for the process; may be repeated.")
@click.option("--header", "-H", multiple=True, metavar="NAME=VALUE", help="A header for requests; may be repeated.")
@click.option("--cwd", help="The folder to run the command in.")
@click.option(
    "--confine", type=click.Choice(["read", "project", "network", "open"]), help="The box that the command runs in."
)
@click.option("--replace", is_flag=True, help="Replace a server of this name.")
@json_option
@pass_app
@for_people
def add_command(
    app: App,
    name: str,
    command: Sequence[str],
    url: str | None,
    transport: str | None,
    env: Sequence[str],
    header: Sequence[str],
    cwd: str | None,
    confine: str | None,
    *,
    replace: bool,
    as_json: bool,
) -> None:
    """
    Add a server to our own file.

    \b
    Examples:
      toolexec mcp add time -- uvx mcp-server-time
      toolexec mcp add github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' -- npx -y @modelcontextprotocol/server-github
      toolexec mcp add docs --url https://example.org/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'
    """
    if bool(command) == bool(url):
        raise CliError("give either a command after -- or a --url")
    if command and command[0].startswith("-"):
        raise CliError(f"there is no option {command[0]}, and no program is called so: see 'toolexec mcp add --help'")
    entry: dict[str, Any] = {"url": url} if url else {"command": command[0], "args": list(command[1:])}
    more = {"type": transport, "cwd": cwd, "env": _pairs(env), "headers": _pairs(header), "confine": confine}
    entry.update({key: value for key, value in more.items() if value})
    _store(app, {name: entry}, replace=replace, as_json=as_json)


def _pairs(given: Sequence[str]) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in given]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise CliError(f"{name!r} is no NAME=VALUE")
    return {name: value for name, _, value in pairs}


@group.command("add-json")
@click.argument("name")
@click.argument("entry", metavar="JSON")
@click.option("--replace", is_flag=True, help="Replace a server of this name.")
@json_option
@pass_app
@for_people
def add_json_command(app: App, name: str, entry: str, *, replace: bool, as_json: bool) -> None:
    """
    Add a server to our own file as a JSON entry of an mcpServers file; - reads it from stdin.

    \b
    Example:
      toolexec mcp add-json time '{"command": "uvx", "args": ["mcp-server-time"]}'
    """
    from executor.mcp import parse_text

    try:
        # Bytes: JSON is UTF-8, whatever the locale has stdin decoded as.
        text = entry if entry != "-" else sys.stdin.buffer.read().decode() if sys.stdin else ""
        told = parse_text(text, "the entry")
    except ValueError as error:
        raise CliError(str(error)) from error
    if not isinstance(told, dict):
        raise CliError(f"the entry is a {type(told).__name__}, not an object")
    _store(app, {name: told}, replace=replace, as_json=as_json)


def _store(app: App, entries: Mapping[str, Any], *, replace: bool, as_json: bool) -> None:
    """Write entries to our own file, unless they cannot be meant."""
    from executor.mcp import bound, parse_entry

    catalogue = _catalogue()
    # What is stored is used from every folder, and must not be another program in each.
    entries = {name: bound(entry, Path.cwd(), of_project=False) for name, entry in entries.items()}
    try:
        for name, entry in entries.items():
            told = parse_entry(name, entry)
            problem = told.problem
            for loss in told.lost:
                app.screen.note(f"{name}: {loss}")
            if problem is not None and "is not set" not in problem:
                raise CliError(f"{name}: {problem}")
            if problem is not None:
                app.screen.note(f"{name}: {problem}")
        taken = catalogue.put(entries, replace=replace)
    except ValueError as error:
        raise CliError(str(error)) from error
    except OSError as error:
        raise CliError(f"{catalogue.path}: it cannot be written: {error.strerror}", ExitCode.UNEXPECTED) from error
    if taken:
        raise CliError(f"there is a server {taken[0]!r} already: --replace replaces it")
    if as_json:
        app.screen.json({"path": str(catalogue.path), "added": list(entries)})
    else:
        app.screen.result("\n".join(f"{name} added to {catalogue.path}" for name in entries))


@group.command("import")
@click.argument("source", metavar="HOST|FILE")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--replace", is_flag=True, help="Replace servers of the same names.")
@json_option
@pass_app
@for_people
def import_command(app: App, source: str, names: Sequence[str], *, replace: bool, as_json: bool) -> None:
    """
    Copy servers of another assistant (all, or those named) to our own file. Its files are only read.

    HOST is claude-desktop, claude-code, cursor, vscode, lmstudio, gemini, codex, zed, windsurf, goose or continue. A
    secret that stands there in the clear is not copied: a variable takes its place, and you are told its name. What is
    bound to the project's folder stays bound to it, and what has no effect here is named. A server that came with the
    project, in a file of its own such as .cursor/mcp.json, is copied only by its name or that file's.

    \b
    Examples:
      toolexec mcp import claude-desktop
      toolexec mcp import ~/project/.mcp.json github
    """
    wanted = chosen(app.screen, source, names)
    if NAME in wanted and not names:
        del wanted[NAME]
        app.screen.note(
            f"{NAME}: this is the entry of 'toolexec serve', whose tools are here already: it is not copied"
        )
    bring_in(app, wanted, replace=replace, as_json=as_json)


def bring_in(app: App, wanted: Mapping[str, ServerConfig], *, replace: bool = False, as_json: bool = False) -> None:
    """Copy servers to our own file, and say what of them was not. Raises CliError."""
    from executor.mcp import variables_of, without_secrets

    there = entries_here()
    copied: dict[str, Any] = {}
    taken = variables_of({name: entry for name, entry in there.items() if name not in wanted or not replace})
    for name, server in wanted.items():
        if name in there and not replace:
            app.screen.note(f"{name}: there is a server of this name already, which stays; --replace replaces it")
            continue
        copied[name], variables = without_secrets(name, server.entry, taken)
        taken |= variables_of(copied)
        for variable in variables:
            app.screen.note(f"{name}: a secret was not copied: set {variable} in the environment")
        for loss in server.lost:
            app.screen.note(f"{name}: {loss}")
    usable = {name: entry for name, entry in copied.items() if _is_usable(app, name, entry)}
    if usable:
        _store(app, usable, replace=replace, as_json=as_json)
    elif as_json:
        app.screen.json({"path": str(_catalogue().path), "added": []})


def entries_here() -> dict[str, Any]:
    """The entries of our own file. Raises CliError."""
    try:
        return _catalogue().entries()
    except ValueError as error:
        raise CliError(str(error)) from error


def _is_usable(app: App, name: str, entry: Mapping[str, Any]) -> bool:
    from executor.mcp import parse_entry

    problem = parse_entry(name, entry).problem
    if problem is None or "is not set" in problem:
        return True
    app.screen.warning(f"{name} is left out: {problem}")
    return False


@group.command("remove")
@click.argument("name")
@json_option
@pass_app
@for_people
def remove_command(app: App, name: str, *, as_json: bool) -> None:
    """
    Take a server out of our own file.

    \b
    Example:
      toolexec mcp remove time
    """
    catalogue = _catalogue()
    try:
        removed = catalogue.remove(name)
    except ValueError as error:
        raise CliError(str(error)) from error
    if not removed:
        there = ", ".join(sorted(entries_here())) or "none"
        raise CliError(f"{catalogue.path} has no server {name!r}; it has {there}")
    if as_json:
        app.screen.json({"path": str(catalogue.path), "removed": name})
    else:
        app.screen.result(f"{name} removed from {catalogue.path}")


@group.command("test")
@click.argument("name")
@click.option("--timeout", metavar="S", type=Seconds(min=0, min_open=True), help="It may take S seconds to start.")
@json_option
@pass_app
def test_command(app: App, name: str, timeout: float | None, *, as_json: bool) -> None:
    """
    Start a server, ask what it offers, and end it again.

    \b
    Example:
      toolexec mcp test time
    """
    from dataclasses import replace

    from executor.mcp import MCPBridge

    server = find(app, name)
    if timeout is not None:
        server = replace(server, start_timeout=timeout)
    with app.screen.working(f"starting {name}"), MCPBridge({name: server}) as bridge:
        bridge.forget(name)
        listing = bridge.listing(name, fresh=True)
        status = bridge.status()[name]
    told = {
        "name": name,
        "server": status.server,
        "protocol": status.protocol,
        "tools": [str(tool["name"]) for tool in listing.tools],
        "left_out": dict(listing.left_out),
        "prompts": listing.prompts,
        "resources": listing.resources,
    }
    if as_json:
        app.screen.json(told)
    else:
        app.screen.result(for_person({key: value for key, value in told.items() if value not in (None, {})}))

"""``toolexec tools``: what can be called."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import shutil
import sys
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from executor import models
from executor.cli._app import App, complete_tool, json_option, pass_app
from executor.cli._errors import CliError
from executor.cli._help import Group
from executor.cli._render import for_person, is_terminal, to_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from executor.tools import Registered


@click.group("tools", cls=Group)
def group() -> None:
    """
    Show the tools that there are.

    \b
    Examples:
      toolexec tools list --plugin shell
      toolexec tools show runCommand
      toolexec tools export --format anthropic > tools.json
    """


def describe(entry: Registered) -> dict[str, Any]:
    """Everything there is to say about a tool; the shape that ``--json`` writes."""
    from executor.cli._arguments import signature

    tool = entry.tool
    return {
        "name": entry.name,
        "plugin": entry.plugin_name,
        "signature": signature(entry),
        "title": tool.title,
        "description": tool.description,
        "annotations": tool.annotations.to_dict() if tool.annotations is not None else {},
        "argument_kinds": dict(tool.argument_kinds or {}),
        "background": entry.background,
        "threshold_seconds": tool.auto_background,
        "timeout_seconds": tool.timeout,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
    }


@group.command("list")
@json_option
@click.option("--plugin", metavar="P", help="Only the tools of this plugin.")
@pass_app
def list_command(app: App, *, as_json: bool, plugin: str | None) -> None:
    """
    List the tools by plugin, as signatures; a question mark follows what may be left out.

    \b
    Examples:
      toolexec tools list
      toolexec tools list --plugin files --json
    """
    shown: set[str] = set()
    room = shutil.get_terminal_size().columns - 7 if is_terminal(sys.stdout) else 100

    def show(entries: Iterable[Registered]) -> None:
        rows = [describe(entry) for entry in entries if entry.name not in shown and plugin in (None, entry.plugin_name)]
        for name, tools in groupby(rows, key=lambda row: row["plugin"]):
            app.screen.heading(f"\n{name}" if shown else name)
            for row in tools:
                first = row["description"].partition("\n")[0]
                app.screen.result(f"  {row['signature']}" + (f"\n      {_shorten(first, room)}" if first else ""))
                shown.add(row["name"])

    names = app.known.list_exposed()
    if plugin is not None and plugin not in names:
        raise CliError(f"there is no plugin {plugin!r} in use; there are {', '.join(names) or 'none'}")
    if not as_json:
        show(app.known.tools.values())  # servers may take seconds to say what they have
    entries = (app.registry if plugin in (None, "mcp") else app.known).tools.values()
    if as_json:
        app.screen.json([describe(entry) for entry in entries if plugin in (None, entry.plugin_name)])
        return
    show(entries)
    if not shown:
        told = "no plugin brings a tool" if plugin is None else f"the plugin {plugin!r} brings no tool"
        app.screen.note(f"{told}: see 'toolexec plugins list'")


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(1, limit - 1)].rstrip() + "…"


@group.command("show")
@click.argument("name", shell_complete=complete_tool)
@json_option
@pass_app
def show_command(app: App, name: str, *, as_json: bool) -> None:
    """
    Show all about one tool: schema, annotations, plugin, threshold.

    \b
    Example:
      toolexec tools show runCommand
    """
    told = describe(app.find(name))
    if as_json:
        app.screen.json(told)
        return
    app.screen.heading(told.pop("signature"))
    app.screen.result(for_person({key: value for key, value in told.items() if value not in (None, {}, "")}))


@group.command("export")
@click.option("--format", "form", required=True, type=click.Choice(models.FORMS), help="The model API to write for.")
@pass_app
def export_command(app: App, form: str) -> None:
    """
    Write the tools as JSON, in the words of a model API.

    \b
    Example:
      toolexec tools export --format openai > tools.json
    """
    try:
        told, _ = models.tools([entry.definition for entry in app.registry.tools.values()], form)
    except ValueError as error:
        raise CliError(str(error)) from error
    app.screen.result(to_json(told))

"""``toolexec init``: what is worth setting up once, shown, asked about and done."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from executor.cli import _mcp, _serve, _serve_entry
from executor.cli._app import App, pass_app
from executor.cli._errors import CliError, ExitCode, of_system
from executor.cli._people import for_people
from executor.cli._render import is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from executor.mcp import ServerConfig

TRY = "toolexec call runCommand command='git status'"
_POLICY = (
    "A permission policy to begin with (toolexec permissions init): the usual commands of development that only read "
    "or test run unasked, those that nobody wants run are forbidden, and everything else is asked about."
)


class _Step(NamedTuple):
    """
    Something to set up.

    Attributes:
        shown: What it would do.
        question: Whether it is to be done; "" where doing it asks by itself.
    """

    shown: str
    question: str
    do: Callable[[], object]


@click.command("init")
@click.option("--yes", "-y", is_flag=True, help="Do all of it without asking.")
@click.pass_context
@pass_app
@for_people
def command(app: App, ctx: click.Context, *, yes: bool) -> None:
    """
    Set up what is worth it: a policy, the MCP servers of your other assistants, and an entry for them.

    Each step says what it would do, and asks first. What is there already stays; it can be run again at any time.

    \b
    Examples:
      toolexec init
      toolexec init --yes
    """
    steps = list(_steps(app, ctx, yes=yes))
    if steps and not yes and not is_terminal(sys.stdin):
        for step in steps:
            app.screen.result(step.shown)
        raise CliError("nothing was done: run it at a terminal, or give --yes to do all of this")
    counted = {"done": 0, "left": 0, "failed": 0}
    for number, step in enumerate(steps, 1):
        app.screen.heading(f"{number} of {len(steps)}: {step.shown}")
        counted[_take(app, step, yes=yes)] += 1
    if counted["failed"]:
        text = f"{counted['failed']} of {len(steps)} failed: mend what is said above, and run 'toolexec init' again"
        raise CliError(text, ExitCode.UNEXPECTED)
    said = "Done" if steps else "Everything is set up"
    said = "What you left out can be set up by another 'toolexec init'" if counted["left"] else said
    app.screen.result(f"{said}. Now try: {TRY}")


def _take(app: App, step: _Step, *, yes: bool) -> Literal["done", "left", "failed"]:
    """Do a step if it is wanted, and say what became of it; after one that fails the others may still be wanted."""
    if not yes and step.question and not click.confirm(step.question, default=True, err=True):
        return "left"
    try:
        step.do()
    except CliError as error:
        if error.exit_code == ExitCode.DENIED:  # it asked by itself
            app.screen.note(error.message)
            return "left"
        app.screen.warning(error.message)
    except OSError as error:
        app.screen.warning(of_system(error).message)
    else:
        return "done"
    return "failed"


def _steps(app: App, ctx: click.Context, *, yes: bool) -> Iterator[_Step]:
    from executor.cli._ask import CommandGate

    policy = CommandGate(app.screen, yes=False).plugin
    if policy is not None and not policy.has_policy:
        yield _Step(_POLICY, "Write it?", partial(_write_policy, ctx))
    there = _mcp.entries_here()
    for host, servers in _servers_of_others():
        new = {name: server for name, server in servers.items() if name not in there}
        there |= dict.fromkeys(new)
        if new:
            shown = f"The MCP servers of {host}, so that their tools can be called here: {', '.join(new)}"
            yield _Step(shown, "Copy them?", partial(_mcp.bring_in, app, new))
    for host in _serve_entry.hosts_without():
        words = _serve_entry.entry_of(_serve.How())
        install = partial(_serve_entry.change, app, words, shown=None, installed=host, removed=None, yes=yes)
        yield _Step(f"The tools from here for {host}, behind the same policy", "", install)


def _write_policy(ctx: click.Context) -> None:
    root = ctx.find_root()
    assert isinstance(root.command, click.Group)
    group = root.command.get_command(ctx, "permissions")
    init = group.get_command(ctx, "init") if isinstance(group, click.Group) else None
    if init is None:
        raise CliError("there is no plugin that could judge by a policy: install the package as a whole")
    ctx.invoke(init)


def _servers_of_others() -> Iterator[tuple[str, dict[str, ServerConfig]]]:
    """The servers of each assistant's own files; those of a project's, which came with it, are not among them."""
    from executor.mcp import HOSTS, files_of, load_file

    for host in HOSTS:
        found: dict[str, ServerConfig] = {}
        for path in files_of(host, None):
            try:
                servers = load_file(path, host=host).servers
            except ValueError:  # the command that is about it says so
                continue
            for server in servers:
                if server.name != _serve_entry.NAME:  # we ourselves
                    found.setdefault(server.name, server)
        if found:
            yield host, found

"""``toolexec permissions grants``: what people have answered for longer than a session."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import time

import click

from executor.cli import App, CliError, Group, for_people, json_option, pass_app, terminal_session
from executor.ownfolders import home_folder
from executor_permissions.judge.rules._rules import Placeholders
from executor_permissions.store._grants import GrantBook
from executor_permissions.store._load import default_state_dir, find_project


@click.group("grants", cls=Group)
def grants_group() -> None:
    """
    Look after what was answered with 'always' or 'never' for a project, for good, or at this terminal.

    \b
    Examples:
      toolexec permissions grants list
      toolexec permissions grants revoke grant_0a1b2c3d4e5f
    """


def _book() -> GrantBook:
    places = Placeholders(str(find_project()), str(home_folder()))
    return GrantBook(default_state_dir(), places, session=terminal_session())


@grants_group.command("list")
@json_option
@pass_app
def grants_list_command(app: App, *, as_json: bool) -> None:
    """
    List the lasting grants.

    \b
    Example:
      toolexec permissions grants list --json
    """
    grants = _book().all()
    if as_json:
        app.screen.json([grant.to_dict() for grant in grants])
        return
    rows = [
        (grant.id, grant.verdict, grant.tool, grant.rule, grant.project if grant.scope == "project" else grant.scope,
         "" if grant.expires is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(grant.expires)),
         "" if grant.uses_left is None else str(grant.uses_left))
        for grant in grants
    ]  # fmt: skip
    if not rows:
        app.screen.note("nothing that was answered holds for longer than one call")
        return
    app.screen.table(("grant", "verdict", "tool", "rule", "for", "until", "uses left"), rows)


@grants_group.command("revoke")
@click.argument("grant_id")
@pass_app
@for_people
def grants_revoke_command(app: App, grant_id: str) -> None:
    """
    End a grant.

    \b
    Example:
      toolexec permissions grants revoke grant_0a1b2c3d4e5f
    """
    if not _book().revoke(grant_id):
        raise CliError(f"there is no grant {grant_id!r}: see 'toolexec permissions grants list'")
    app.screen.result(f"{grant_id} was revoked")

"""``toolexec files``."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import sqlite3

import click

from executor import paths
from executor.cli import App, CliError, ExitCode, Group, json_option, pass_app
from executor_files._common import shown
from executor_files._history import Change, History
from executor_files._undo import when

_KINDS = {"nothing": "created", "large": "changed", "file": "changed", "link": "changed", "folder": "changed"}


@click.group("files", cls=Group)
def group() -> None:
    """
    Look at what the file tools changed, and take it back.

    \b
    Examples:
      toolexec files history
      toolexec files undo notes.txt
    """


@group.command("history")
@click.argument("path", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="How many at most.")
@json_option
@pass_app
def history_command(app: App, path: str | None, *, limit: int, as_json: bool) -> None:
    """
    List the changes of files that can be taken back, of PATH or of all, newest first.

    \b
    Example:
      toolexec files history src/main.py
    """
    changes = _changes(path, limit)
    if as_json:
        app.screen.json([_told(change) for change in changes])
        return
    if not changes:
        app.screen.note("there is no change that can be taken back")
        return
    rows = [(when(change.at), change.tool, _done(change), shown(change.path), _state(change)) for change in changes]
    app.screen.table(("when", "tool", "what", "file", ""), rows)


def _changes(path: str | None, limit: int) -> list[Change]:
    try:
        return History().changes(None if path is None else paths.resolve_entry(path), limit)
    except ValueError as error:
        raise CliError(str(error)) from error
    except (OSError, sqlite3.Error) as error:
        raise CliError(f"what was kept of changed files cannot be read: {error}", ExitCode.UNAVAILABLE) from error


def _done(change: Change) -> str:
    return "deleted" if change.after == "nothing" else _KINDS[change.before.partition(":")[0]]


def _state(change: Change) -> str:
    return "undone" if change.undone else f"not kept: {change.lost}" if change.lost is not None else ""


def _told(change: Change) -> dict[str, object]:
    told: dict[str, object] = {"at": change.at, "tool": change.tool, "path": shown(change.path), "what": _done(change)}
    return told | {"undone": change.undone, "kept": change.lost is None}


@group.command("undo")
@click.argument("path")
@json_option
@click.option("--yes", "-y", is_flag=True, help="Answer questions with yes; what a rule forbids, or may, stays so.")
@click.pass_context
def undo_command(ctx: click.Context, path: str, *, as_json: bool, yes: bool) -> None:
    """
    Take back the last change that a file tool made to PATH; again, the one before that.

    It is a call of undoFileChange like any other: the policy is asked.

    \b
    Example:
      toolexec files undo notes.txt
    """
    root = ctx.find_root()
    assert isinstance(root.command, click.Group)
    call = root.command.get_command(ctx, "call")
    assert call is not None
    ctx.invoke(call, name="undoFileChange", arguments=(f"path={path}",), as_json=as_json, yes=yes)

"""``toolexec permissions log`` and ``replay``: what was decided about calls, and what a draft would decide."""
# ruff: noqa: D301 -- as in _grants

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from executor.approval import visible
from executor.cli import App, CliError, json_option, pass_app
from executor_permissions._plugin import PermissionPlugin
from executor_permissions._replay import replay
from executor_permissions.store._load import Policy

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 120  # characters of arguments
_DECIDED = ("permission-check", "permission-error")
_SHAPE: Mapping[str, type | tuple[type, ...]] = {
    "stage": str,
    "tool": str,
    "allowed": bool,
    "method": str,
    "reason": str,
    "ts": (int, float),
}
_ASKED = frozenset(  # methods by which a call that the policy asks about came to its end
    {"user_approved", "user_denied", "user_comment", "turn_suspension", "idle_suspension", "allow_all"}
    | {"timeout", "no_channel", "yes_option"}
)


@click.command("log")
@json_option
@click.option("--last", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="The newest N.")
@pass_app
def log_command(app: App, *, as_json: bool, last: int) -> None:
    """
    Show what was decided about calls, from the ledger that the configuration names.

    \b
    Example:
      toolexec permissions log --last 10
    """
    config = app.config
    if config.ledger is None:
        raise CliError(f'no ledger is kept: write ledger = "calls.jsonl" into the first line of {config.path}')
    records: list[dict[str, Any]] = []
    for path in (config.ledger, Path(f"{config.ledger}.1")):  # the file before, where this one is new
        if len(records) < last and (path == config.ledger or path.exists()):
            records = [each for each in _records(app, path) if each.get("stage") in _DECIDED] + records
    records = records[-last:]
    if as_json:
        app.screen.json(records)
        return
    rows = [
        (_when(record.get("ts")), "allowed" if record.get("allowed") else "denied",
         str(record.get("tool")), _given(record.get("args")),
         str(record.get("method", "error")))
        for record in records
    ]  # fmt: skip
    app.screen.table(("time", "decision", "tool", "arguments", "method"), rows)


def _given(arguments: object) -> str:
    """Arguments as long as a column is, their middle left out: what ends a command is no less than what begins it."""
    return visible(json.dumps(arguments, ensure_ascii=False), LONGEST)


def _when(seconds: object) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)) if isinstance(seconds, int | float) else ""
    except (OverflowError, ValueError, OSError):  # no time that there is a date for
        return ""


def _is_record(value: object) -> bool:
    """Whether what is known of records has its kind in this one."""
    return isinstance(value, dict) and all(isinstance(value[k], kind) for k, kind in _SHAPE.items() if k in value)


def _records(app: App, path: Path) -> list[dict[str, Any]]:
    """The records of a ledger's file. Raises CliError."""
    try:
        lines = [line for line in path.read_bytes().splitlines() if line]
    except FileNotFoundError:
        raise CliError(f"{path}: there is no such ledger: no call has been recorded there") from None
    except OSError as error:
        raise CliError(f"{path}: it cannot be read: {error.strerror}") from error
    records, damaged = [], 0
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if _is_record(record):
            records.append(record)
        else:
            damaged += 1
    if damaged:
        app.screen.warning(f"{path}: {damaged} of {len(lines)} lines are no records, and were left out")
    return records


@click.command("replay")
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option("--policy", "draft", type=click.Path(path_type=Path), metavar="FILE", help="Default: the one in use.")
@json_option
@pass_app
def replay_command(app: App, ledger: Path, *, draft: Path | None, as_json: bool) -> None:
    """
    Judge the calls of a ledger by a draft of a policy, and list what would be decided otherwise.

    A call that a person was asked about, and would be asked about again, is no change.

    \b
    Example:
      toolexec permissions replay calls.jsonl --policy draft.json
    """
    policy = Policy.load(draft) if draft is not None else PermissionPlugin().policy
    assert policy is not None, "it has just been loaded"
    changes = [
        change
        for change in replay(_records(app, ledger), policy)
        if not (change["after"] == "ask" and change["method"] in _ASKED)
    ]
    if as_json:
        app.screen.json(changes)
        return
    rows = [
        (f"{change['before']} ({change['method']})", change["after"], str(change["tool"]),
         _given(change["args"]), change["reason"])
        for change in changes
    ]  # fmt: skip
    if rows:
        app.screen.table(("before", "after", "tool", "arguments", "because"), rows)
    else:
        app.screen.result("nothing would be decided otherwise")

"""``toolexec tasks``: the background tasks of all processes of this user, while they run and afterwards."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import contextlib
import re
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from executor.cli._app import App, Seconds, json_option, pass_app
from executor.cli._errors import CliError, ExitCode, of_failure
from executor.cli._help import Group
from executor.cli._people import for_people
from executor.cli._render import for_person
from executor.errors import ExecutorUnavailableError, TaskNotFoundError
from executor.pasted import within
from executor.values import TaskStatus

if TYPE_CHECKING:
    from executor.tasks import TaskManager
    from executor.values import TaskInfo

PATIENCE = 5.0  # seconds for another process to be done with the store: its disk may be slow
END = 10.0  # seconds for a task to end once its terminal is closed
PIECE = 64 * 1024  # bytes of output that are read at once
MOST_NEAR = 1000  # tasks that are counted whose ids begin with what was given
AWAY = 10.0  # seconds in a row without any look at a task after which it is followed no more: as `TaskManager.wait`
TURN = 0.2  # seconds between two looks at a task of another process
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@click.group("tasks", cls=Group)
def group() -> None:
    """
    Show, read, wait for and stop background tasks.

    They are those of all your processes. The id of a task may be cut short, as long as it is the only one so.

    \b
    Examples:
      toolexec tasks list --state running
      toolexec tasks output shell_4f3a -f
      toolexec tasks attach shell_4f3a
      toolexec tasks cancel shell_4f3a
    """


def open_tasks() -> TaskManager:
    """The tasks of this user."""
    from executor.tasks import TaskManager

    return TaskManager.open(patience=PATIENCE)


def find(tasks: TaskManager, task_id: str) -> TaskInfo:
    """The task of this id, or the only one whose id begins so. Raises CliError."""
    try:
        return tasks.get(task_id)
    except TaskNotFoundError:
        near = _beginning(tasks, task_id, MOST_NEAR)
    if len(near) == 1:
        return tasks.get(near[0])
    if near:
        many = f"{len(near)}" if len(near) < MOST_NEAR else "many"
        raise CliError(f"{many} tasks have an id that begins with {task_id!r}: give more of it")
    raise CliError(f"there is no task {task_id!r}: 'toolexec tasks list' shows what there is")


def _beginning(tasks: TaskManager, text: str, limit: int) -> list[str]:
    from executor.tasks import ids_beginning

    return ids_beginning(tasks, text, limit)


def complete(_ctx: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """The ids that begin with *typed*, for the shell."""
    try:
        return _beginning(open_tasks(), typed, 1000)
    except Exception:  # noqa: BLE001 -- a shell that completes has no place for an error
        return []


def told(info: TaskInfo) -> dict[str, Any]:
    """A task in the shape that ``--json`` writes."""
    return {
        "task_id": info.id,
        "status": str(info.status),
        "tool_name": info.tool_name,
        "plugin_name": info.plugin_name,
        "call_id": info.call_id,
        "created": info.created,
        "started": info.started,
        "ended": info.ended,
        "duration": round(info.duration, 3),
        "error": info.error,
        "output_bytes": info.output_bytes,
        "owner": info.owner,
        "abandoned": info.abandoned,
        "waiting_for": info.waiting_for,
    }


def _state(info: TaskInfo) -> str:
    return f"{info.status} (thread still at work)" if info.abandoned else str(info.status)


@group.command("list")
@json_option
@click.option("--state", type=click.Choice([str(status) for status in TaskStatus]), help="Only those in this state.")
@click.option("--tool", metavar="NAME", help="Only those of this tool.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many.")
@pass_app
def list_command(app: App, *, as_json: bool, state: str | None, tool: str | None, limit: int) -> None:
    """
    List the tasks, newest first.

    \b
    Example:
      toolexec tasks list --state running
    """
    infos = open_tasks().list(state, tool, limit)
    if as_json:
        app.screen.json([told(info) for info in infos])
    elif not infos:
        app.screen.note("there is no such task" if state or tool else "there is no task")
    else:
        rows = [
            (info.id, info.tool_name, _state(info), f"{info.duration:.1f} s", f"{info.output_bytes:,}", info.owner)
            for info in infos
        ]
        app.screen.table(("TASK", "TOOL", "STATE", "TIME", "OUTPUT", "PROCESS"), rows)


@group.command("show")
@click.argument("task_id", shell_complete=complete)
@json_option
@pass_app
def show_command(app: App, task_id: str, *, as_json: bool) -> None:
    """
    Show a task, and its result once it has ended.

    \b
    Example:
      toolexec tasks show shell_4f3a --json
    """
    tasks = open_tasks()
    info = find(tasks, task_id)
    shown = told(info)
    if info.status.final:
        succeeded, value = tasks.result(info.id)
        shown["result" if succeeded else "failure"] = value
    if as_json:
        app.screen.json(shown)
    else:
        app.screen.heading(_timeline(info))
        for name in ("created", "started", "ended"):
            if shown[name] is not None:
                shown[name] = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(shown[name]))
        app.screen.result(for_person({key: item for key, item in shown.items() if item is not None}))


def _timeline(info: TaskInfo) -> str:
    """What became of it when, on one line."""
    made = f"created {time.strftime('%H:%M:%S', time.localtime(info.created))}"
    if info.started is not None:
        made += f" ─ {max(0.0, info.started - info.created):.1f} s → started"
    if info.status.final:
        return f"{made} ━ {info.duration:.1f} s → {_state(info)}"
    what = f"waits for {info.waiting_for}" if info.waiting_for else str(info.status)
    return f"{made} ━ {info.duration:.1f} s … {what}"


@group.command("output")
@click.argument("task_id", shell_complete=complete)
@click.option("--follow", "-f", is_flag=True, help="Go on until the task has ended.")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Begin at this byte of the output.")
@pass_app
def output_command(app: App, task_id: str, *, follow: bool, offset: int) -> None:
    """
    Write what a task has said to stdout.

    \b
    Example:
      toolexec tasks output shell_4f3a -f
    """
    tasks = open_tasks()
    info, known = find(tasks, task_id), time.monotonic()
    while True:
        try:
            ended = tasks.get(info.id).status.final
            text, reached, dropped = tasks.output(info.id, offset, PIECE)
            offset = max(offset, reached)  # another store in the place of this one may not have had so much yet
            known = time.monotonic()
        except ExecutorUnavailableError:
            if not follow or time.monotonic() > known + AWAY:
                raise
            threading.Event().wait(TURN)
            continue
        if dropped:
            app.screen.note(f"{dropped:,} bytes of output were not kept")
        if text and not app.screen.raw(text):
            return  # nobody reads on
        if text or dropped:
            continue
        if ended or not follow:
            return
        with contextlib.suppress(ExecutorUnavailableError):  # as above
            tasks.wait(info.id, TURN)


@group.command("attach")
@click.argument("task_id", shell_complete=complete)
@pass_app
@for_people
def attach_command(app: App, task_id: str) -> None:
    """
    Type at the terminal of a task: passwords, answers, menus. Of runCommand with terminal=true.

    What you type goes to the command, Ctrl-C too, and nowhere else. Ctrl-] leaves, and the command goes on; so does it
    when this terminal is closed. Several may be attached.

    \b
    Examples:
      toolexec call runCommand command='ssh-keygen -f key' terminal=true --detach
      toolexec tasks attach shell_4f3a
    """
    if sys.platform == "win32":
        raise CliError("there are no terminals for commands on Windows")
    from executor.cli._attach import attach

    tasks = open_tasks()
    info = find(tasks, task_id)
    if attach(tasks, info.id):
        app.screen.note(f"{info.id} goes on without you; {within('toolexec tasks attach', info.id)} comes back to it")
        return
    info = tasks.wait(info.id, END)
    app.screen.note(f"{info.id}: {_state(info)}" if info.status.final else f"{info.id} has no terminal any more")


@group.command("wait")
@click.argument("task_id", shell_complete=complete)
@json_option
@click.option(
    "--timeout",
    type=Seconds(min=0, min_open=True),
    metavar="S",
    help="Wait S seconds at most; then exit with 7.",
)
@pass_app
def wait_command(app: App, task_id: str, *, as_json: bool, timeout: float | None) -> None:
    """
    Wait for the end of a task, and print its result as 'toolexec call' does, with its exit code.

    Ctrl-C ends the waiting; the task goes on.

    \b
    Example:
      toolexec tasks wait shell_4f3a
    """
    tasks = open_tasks()
    info = tasks.wait(find(tasks, task_id).id, timeout)
    if not info.status.final:
        raise CliError(f"{info.id} is still {info.status}", ExitCode.BACKGROUND, told(info))
    succeeded, value = tasks.result(info.id)
    if not succeeded:
        error = of_failure(value, "")
        if error.exit_code == ExitCode.INTERRUPTED:  # the task was: not the one who waits
            error = CliError(error.message, ExitCode.FAILED, error.details)
        raise error
    from executor.cli._call import present
    from executor.cli._follow import Options

    raise Exit(present(app, info.plugin_name, value, Options(as_json, live=False, timeout=None, threshold=None)))


@group.command("cancel")
@click.argument("task_id", shell_complete=complete)
@json_option
@click.option("--reason", metavar="TEXT", help="Why; it becomes the task's error.")
@pass_app
def cancel_command(app: App, task_id: str, *, as_json: bool, reason: str | None) -> None:
    """
    Stop a task. The process that runs it is asked to, and waited for a few seconds.

    \b
    Example:
      toolexec tasks cancel shell_4f3a --reason 'wrong folder'
    """
    tasks = open_tasks()
    info = find(tasks, task_id)
    cancelled = tasks.cancel(info.id, reason or "The task was cancelled from a terminal")
    info = tasks.get(info.id)
    if as_json:
        app.screen.json({**told(info), "cancelled": cancelled})
    elif cancelled:
        app.screen.result(f"{info.id} was cancelled")
    elif info.status.final:
        app.screen.result(f"{info.id} had ended before: {info.status}")
    if not info.status.final:
        raise CliError(f"{info.id} was told to stop, and is still {info.status}", ExitCode.BACKGROUND, told(info))


def _age(_ctx: click.Context, _parameter: click.Parameter, text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text)
    if found is None:
        raise click.BadParameter(f"{text!r} is no age: give a number and s, m, h or d, as in 12h")
    return float(found[1]) * _UNITS[found[2]]


@group.command("prune")
@json_option
@click.option("--older-than", callback=_age, default="7d", show_default=True, metavar="AGE", help="As in 12h or 30d.")
@pass_app
def prune_command(app: App, *, as_json: bool, older_than: float) -> None:
    """
    Forget tasks that ended some time ago, and delete their output.

    \b
    Example:
      toolexec tasks prune --older-than 30d
    """
    with app.screen.working("forgetting old tasks"):
        count = open_tasks().prune(older_than)
    if as_json:
        app.screen.json({"pruned": count})
    else:
        app.screen.result(f"{count} {'task was' if count == 1 else 'tasks were'} forgotten")

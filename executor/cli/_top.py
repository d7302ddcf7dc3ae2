"""``toolexec tasks top``: the tasks of all processes, live."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import contextlib
import os
import select
import shutil
import sys
from typing import TYPE_CHECKING

import click

from executor.cli._app import App, Seconds, pass_app
from executor.cli._render import can_redraw, is_terminal, printable
from executor.cli._tables import has_rich
from executor.cli._tasks import group, open_tasks
from executor.errors import ToolExecutorError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import RenderableType
    from rich.table import Column

    from executor.tasks import TaskManager
    from executor.values import TaskInfo

HEADERS = ("TASK", "TOOL", "STATE", "TIME", "PROGRESS", "OUTPUT", "LAST LINE")
_WIDE = 120  # columns of a terminal with room for whole ids
_MOST = {"TASK": 16, "TOOL": 12, "STATE": 12, "PROGRESS": 10}  # columns of a narrower one that these take
_TAIL = 400  # bytes of output in which the last line is looked for
_AROUND = 5  # lines of the screen that are not tasks
_COLOURS = {"completed": "green", "failed": "red", "timeout": "red", "interrupted": "red", "cancelled": "yellow"}


@group.command("top")
@click.option(
    "--every", type=Seconds(min=0.1), default=1.0, show_default=True, metavar="S", help="Look every S seconds."
)
@pass_app
def top_command(app: App, *, every: float) -> None:
    """
    Watch the tasks of all your processes: those that run, then those that ended last. q, or Ctrl-C, ends it.

    Without a terminal, on a dumb one, or without the package rich, it lists those that run, once.

    \b
    Example:
      toolexec tasks top
    """
    tasks = open_tasks()
    watched = can_redraw(sys.stdout) and is_terminal(sys.stdin)
    if watched and not has_rich():
        app.screen.note("this is how it stands: to watch it, pip install rich")
    if not (watched and has_rich()):
        running = [info for info in tasks.list() if not info.status.final]
        if running:
            app.screen.table(HEADERS, [_row(tasks, info) for info in running])
        else:
            app.screen.note("no task is running")
        return
    with contextlib.suppress(KeyboardInterrupt):
        _watch(tasks, every)


def _watch(tasks: TaskManager, every: float) -> None:
    from rich.live import Live

    live = Live(_picture(tasks), screen=True, auto_refresh=False)
    with _keys() as key:
        try:
            with live:
                while key(every) != "q":
                    live.update(_picture(tasks), refresh=True)
        finally:
            live.stop()  # once more, where its start was broken off


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """A function that waits so many seconds for a key: the key, or ""."""
    try:
        import termios
        import tty
    except ImportError:  # Windows
        yield _wait
        return
    descriptor = sys.stdin.fileno()

    def key(seconds: float) -> str:
        if not select.select([descriptor], [], [], seconds)[0]:
            return ""
        return os.read(descriptor, 1).decode("ascii", "replace") or "q"  # nothing: nobody can type any more

    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield key
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _wait(seconds: float) -> str:
    import threading

    threading.Event().wait(seconds)
    return ""


def _picture(tasks: TaskManager) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    width, lines = shutil.get_terminal_size()
    room = max(1, lines - _AROUND)
    try:
        shown = _shown(tasks, room)
        running = sum(not info.status.final for info in shown)
        said = f"{running} running; q ends this view"
        rows = [(_row(tasks, info), _COLOURS.get(str(info.status), "")) for info in shown]
    except ToolExecutorError as error:  # the store may come back
        said, rows = error.message, []
    table = Table(
        *_columns(width),
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
        expand=True,
        caption=Text(printable(said)),
    )
    for row, colour in rows:
        table.add_row(
            *(Text(cell, style=colour if header == "STATE" else "") for header, cell in zip(HEADERS, row, strict=True))
        )
    return table


def _columns(width: int) -> list[Column]:
    """Where there is little room, the long cells give way: an id can be typed cut short, half a time says nothing."""
    from rich.table import Column

    most = _MOST if width < _WIDE else {}
    return [
        Column(
            header, no_wrap=True, overflow="ellipsis", ratio=header == "LAST LINE" or None, max_width=most.get(header)
        )
        for header in HEADERS
    ]


def _shown(tasks: TaskManager, room: int) -> list[TaskInfo]:
    """Those that run, newest first, then those that ended last."""
    running = tasks.list("running", limit=room) + tasks.list("pending", limit=room)
    ended = [info for info in tasks.list(limit=2 * room) if info.status.final]
    ended.sort(key=lambda info: info.ended or 0.0, reverse=True)
    return (running + ended)[:room]


def _row(tasks: TaskManager, info: TaskInfo) -> tuple[str, ...]:
    done = ""
    if info.progress is not None:
        reached, total, message = info.progress
        done = f"{reached:g}" if total is None else f"{reached / total:.0%}" if total else f"{reached:g} of {total:g}"
        done += f" {message}" if message else ""
    state = f"waits for {info.waiting_for}" if info.waiting_for else str(info.status)
    return (
        info.id,
        printable(info.tool_name),
        printable(state),
        _duration(info.duration),
        _line(done),
        f"{info.output_bytes:,}",
        _last_line(tasks, info),
    )


def _duration(seconds: float) -> str:
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}" if minutes else f"{seconds:.1f} s"


def _last_line(tasks: TaskManager, info: TaskInfo) -> str:
    try:
        text, _, _ = tasks.output(info.id, max(0, info.output_bytes - _TAIL), _TAIL)
    except ToolExecutorError:  # it has been forgotten
        return ""
    lines = [line for line in text.split("\n") if line.strip()]
    return _line(lines[-1].rpartition("\r")[2] or lines[-1]) if lines else ""


def _line(text: str) -> str:
    return printable(text).replace("\n", " ").replace("\r", " ").replace("\t", " ")

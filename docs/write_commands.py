# ruff: noqa: INP001 -- a script, in no package
"""
Writes docs/commands.md: every command with all its options, from what the commands say of themselves.

    python docs/write_commands.py
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from executor.cli import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parent / "commands.md"
HEAD = """\
# Every command and option

This page is written by [`write_commands.py`](write_commands.py) from the commands themselves: what `--help` says. How
they are meant to be used, their exit codes and the shapes of their JSON: [cli.md](cli.md). Every command has `--help`.
"""


def commands() -> Iterator[click.Context]:
    """The context of each command that help names, those of bundled plugins included, a group before what is in it."""

    def below(context: click.Context) -> Iterator[click.Context]:
        yield context
        if isinstance(context.command, click.Group):
            for name in context.command.list_commands(context):
                command = context.command.get_command(context, name)
                if command is not None and not command.hidden:
                    yield from below(click.Context(command, parent=context, info_name=name, **command.context_settings))

    return below(click.Context(cli, info_name="toolexec", **cli.context_settings))


def options(context: click.Context) -> Iterator[tuple[str, str]]:
    """How each option is written, and what help says of it."""
    for parameter in context.command.params:
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None:
            yield record


def _prose(text: str) -> str:
    """Help as Markdown: what help shows as it stands is a block of code."""
    made = []
    for paragraph in re.split(r"\n{2,}", inspect.cleandoc(text)):
        if not paragraph.startswith("\b"):
            made.append(re.sub(r"([<>*_|\\])", r"\\\1", paragraph))
            continue
        head, *lines = paragraph.removeprefix("\b\n").splitlines()
        if head.startswith("Example"):
            body = "\n".join(lines)
            made.append(f"```console\n{re.sub('^  ', '', body, flags=re.MULTILINE)}\n```")
        else:
            made.append("```text\n" + "\n".join((head, *lines)) + "\n```")
    return "\n\n".join(made)


def _cell(text: str) -> str:
    return re.sub(r"([<>*_|\\])", r"\\\1", " ".join(text.split()))


def _section(context: click.Context) -> str:
    command = context.command
    depth = context.command_path.count(" ")
    pieces = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    usage = " ".join((context.command_path, *pieces))
    parts = [f"{'#' * (2 if depth < 2 else 3)} {context.command_path}", f"`{usage}`", _prose(command.help or "")]
    rows = [f"| `{written.replace('|', chr(92) + '|')}` | {_cell(said)} |" for written, said in options(context)]
    if rows:
        parts.append("\n".join(("| option | |", "|---|---|", *rows)))
    return "\n\n".join(parts) + "\n"


def write() -> str:
    """The page, as Markdown."""
    return "\n".join((HEAD, *(_section(context) for context in commands())))


if __name__ == "__main__":
    PAGE.write_text(write(), encoding="utf-8")

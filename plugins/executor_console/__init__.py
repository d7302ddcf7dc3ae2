"""
``toolexec console``: a page in the browser that shows what waits for a person, what runs, what was granted, and what
was decided, of all processes of the user.

The plugin brings that command and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor import hookimpl

if TYPE_CHECKING:
    import click

__all__ = ["executor_register_commands"]


@hookimpl
def executor_register_commands(cli: click.Group) -> None:
    """``toolexec console``."""
    from executor_console._command import console_command

    cli.add_command(console_command)

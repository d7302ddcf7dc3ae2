"""What ``--help`` says of the commands of a group."""

from __future__ import annotations

import click

WHOLE = 1000  # characters of what is said of a command: a sentence goes on in the next line, and is not cut


class Group(click.Group):
    """A group of commands whose help cuts no sentence."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, and what each is for."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        told = [(name, each.get_short_help_str(WHOLE)) for name, each in commands.items() if each and not each.hidden]
        if told:
            with formatter.section("Commands"):
                formatter.write_dl(told)

"""``toolexec confine``: try a box."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
from click.exceptions import Exit

from executor.cli._app import App, pass_app
from executor.cli._errors import CliError, ExitCode

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from executor.confine import Box, Profile, ProfileName

# Sent to this process alone, or before the terminal is the command's.
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT")


@click.command("confine", context_settings={"ignore_unknown_options": True})
@click.argument("profile", type=click.Choice(["read", "project", "network", "open"]))
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@pass_app
def command(app: App, profile: str, command: tuple[str, ...]) -> None:
    """
    Run a command in the box of a profile, as the policy makes it for this project.

    Which box that is stands on stderr; the exit code is the command's.

    \b
    Examples:
      toolexec confine read -- git status
      toolexec confine project -- make test
    """
    from executor import confine

    made = profile_of(cast("ProfileName", profile))
    try:
        boxed = confine.start(made, list(command))
    except FileNotFoundError as error:
        raise CliError(f"There is no program {command[0]!r}: check its spelling, and PATH") from error
    except OSError as error:
        raise CliError(f"{command[0]!r} could not be started: {error}", ExitCode.FAILED) from error
    app.screen.note(describe(boxed.box))
    try:
        with _passing_signals(boxed.process):
            code = confine.wait_in_front(boxed.process)
    finally:
        boxed.close()
    raise Exit(code if code >= 0 else 128 - code)


def profile_of(name: ProfileName) -> Profile:
    """The profile of this name, by the policy in force. Raises PermissionConfigError, CliError."""
    from executor.cli._policy import make_plugin
    from executor.confine import Profile

    plugin = make_plugin()
    profile: Profile = Profile(name, str(Path.cwd())) if plugin is None else plugin.policy.boxes.profile(name)
    return profile


def describe(box: Box) -> str:
    """A box in a line: what holds it, and what it does not hold."""
    said = f"{box.profile}: {'no box' if box.mechanism == 'none' else box.mechanism}"
    if box.open and box.profile != "open":
        said += f"; not held: {', '.join(box.open)}"
    return said + (f" ({box.reason})" if box.reason else "")


@contextmanager
def _passing_signals(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """What this process is sent while it waits is for the command."""

    def pass_on(number: int, _: object) -> None:
        process.send_signal(number)

    names = () if sys.platform == "win32" else _FORWARDED
    before = {number: signal.signal(number, pass_on) for number in (getattr(signal, name) for name in names)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

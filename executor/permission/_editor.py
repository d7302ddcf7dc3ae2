"""The person's own editor, for the arguments of a call."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor._regular import read_regular
from executor.ownfolders import make_private, own_folder
from executor.systempath import outside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GRACE = 2.0  # seconds for an editor that was asked to end; some keep what was typed


def find_editor() -> list[str] | None:
    """
    The command of ``$VISUAL`` or ``$EDITOR``; None where there is none that could be started and waited for.

    A name is none of the project's programs: what PATH finds there, a command may have left.
    """
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        words = shlex.split(named)
    except ValueError:
        return None
    if not words or not hasattr(os, "pidfd_open"):
        return None
    path, here = os.environ.get("PATH", os.defpath), os.path.realpath(os.curdir)
    found = shutil.which(words[0], path=path if here == "/" else outside(path, here))  # no box can write all of it
    return [found, *words[1:]] if found else None


def edit(command: list[str], arguments: Mapping[str, Any], terminal: int, wake: int) -> str | None:
    """
    Let the person change *arguments*, as JSON, at a terminal.

    Args:
        terminal: The descriptor of the terminal.
        wake: A descriptor that becomes readable when the question needs no answer any more.

    Returns:
        What the file holds afterwards; None when the editor failed, has left no file that can be read, or was ended
        because the question was taken back.
    """
    with _private_file(json.dumps(dict(arguments), indent=2, ensure_ascii=False) + "\n") as path, _kept(terminal):
        device = os.open(os.ttyname(terminal), os.O_RDWR | os.O_NOCTTY)
        try:
            editor = subprocess.Popen([*command, str(path)], stdin=device, stdout=device, stderr=device)
        except OSError:
            return None
        finally:
            os.close(device)
        if not _ended(editor, wake):
            _stop(editor)
            return None
        return _left_in(path) if editor.returncode == 0 else None


def _stop(editor: subprocess.Popen[bytes]) -> None:
    """End an editor whose file nobody wants any more."""
    editor.terminate()
    try:
        editor.wait(GRACE)
    except subprocess.TimeoutExpired:
        editor.kill()
        editor.wait()


def _left_in(path: Path) -> str | None:
    """What the editor has left; None where that cannot be read, or is no file."""
    try:
        return read_regular(path).decode("utf-8-sig", "replace")
    except OSError:
        return None


def _ended(editor: subprocess.Popen[bytes], wake: int) -> bool:
    """Wait for the editor's end. Returns False when the question was taken back first."""
    ends = os.pidfd_open(editor.pid)
    try:
        ready, _, _ = select.select([ends, wake], [], [])
    finally:
        os.close(ends)
    if ends not in ready:
        return False
    editor.wait()
    return True


@contextlib.contextmanager
def _private_file(text: str) -> Iterator[Path]:
    """A file in the state folder, which the permission policy keeps from every tool."""
    state = own_folder("state") / "permissions"
    make_private(state)
    with tempfile.TemporaryDirectory(prefix="edit-", dir=state) as folder:
        path = Path(folder) / "arguments.json"
        path.touch(0o600)
        path.write_text(text, encoding="utf-8")
        yield path


@contextlib.contextmanager
def _kept(terminal: int) -> Iterator[None]:
    """Leave the terminal as it was, whatever the editor did to it."""
    import termios

    before = termios.tcgetattr(terminal)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)

"""Notifications of the desktop, for when no page is seen that could tell of a question."""

from __future__ import annotations

import asyncio
import contextlib
import html
import shutil
import time
from typing import TYPE_CHECKING

from executor.approval import visible
from executor.systempath import system_path
from executor_console._question import notice

if TYPE_CHECKING:
    from executor.approval import Approval

PAUSE = 3.0  # seconds between two: many questions at once are one notification
LIMIT = 5.0  # seconds for the program to do it
_LONGEST = 200  # characters


class Notifier:
    """Runs ``notify-send``, where the system has it: the one of a project may be a command's."""

    def __init__(self) -> None:
        self._program = shutil.which("notify-send", path=system_path())
        self._last = -PAUSE

    async def notify(self, approval: Approval) -> None:
        """Tell of a question."""
        now = time.monotonic()
        if self._program is None or now < self._last + PAUSE:
            return
        self._last = now
        title = f"{visible(approval.tool, _LONGEST)} waits for you"
        body = html.escape(visible(notice(approval), _LONGEST))  # some desktops read markup in it
        words = (self._program, "--app-name=toolexec", "--", title, body)
        quiet = asyncio.subprocess.DEVNULL
        with contextlib.suppress(OSError):
            program = await asyncio.create_subprocess_exec(*words, stdin=quiet, stdout=quiet, stderr=quiet)
            try:
                await asyncio.wait_for(program.wait(), LIMIT)
            except TimeoutError:
                program.kill()
                await program.wait()

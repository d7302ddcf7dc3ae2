"""The session of a terminal: what several runs of the command share."""

from __future__ import annotations

import os
from pathlib import Path

_START_TIME = 19  # place of the process's start time in /proc/PID/stat, counted behind the name in brackets


def terminal_session() -> str:
    """
    The id of this terminal's session, the same for every command that is run in it.

    It is the process that leads the session, usually the shell, and when that was started: no later process is taken
    for it. "" where that cannot be told, and nothing is shared.
    """
    try:
        leader = os.getsid(0)
        fields = Path(f"/proc/{leader}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        return f"{leader}-{fields[_START_TIME]}"
    except (OSError, AttributeError, IndexError):
        return ""

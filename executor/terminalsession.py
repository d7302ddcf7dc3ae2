"""The session of a terminal: what several processes share, until the terminal is closed."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["is_open", "terminal_session"]

_STATE, _START_TIME = 0, 19  # places in /proc/PID/stat, counted behind the name in brackets; see proc_pid_stat(5)
_SESSION = re.compile(r"terminal-(\d+)-(\d+)")


def terminal_session() -> str:
    """
    The id of this terminal's session, the same for every command that is run in it.

    It is the process that leads the session, usually the shell, and when that was started: no later process is taken
    for it. "" where that cannot be told, and nothing is shared.
    """
    try:
        leader = os.getsid(0)
        began = _began(leader)
    except (OSError, AttributeError):
        return ""
    return f"terminal-{leader}-{began}" if began is not None else ""


def is_open(session: str) -> bool | None:
    """
    Whether the terminal of *session*, a `terminal_session` of this machine, is open: the leader has not ended.

    Returns:
        None for a session that is no terminal's.

    Raises:
        OSError: The system cannot be asked.
    """
    leader = _SESSION.fullmatch(session)
    return None if leader is None else _began(int(leader[1])) == leader[2]


def _began(pid: int) -> str | None:
    """When a process was started, in the system's ticks; None: it has ended. Raises OSError."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = told.rpartition(")")[2].split()  # the name before it may hold spaces and brackets
    return fields[_START_TIME] if fields[_STATE] not in "ZX" else None

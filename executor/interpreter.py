"""The Python of processes of our own."""

from __future__ import annotations

import sys

WITHOUT = "this program is frozen, or embeds Python, and has no interpreter to start beside it"


def interpreter() -> str | None:
    """
    The program that runs Python code in another process; None where there is none.

    Of a frozen program (PyInstaller, cx_Freeze …) ``sys.executable`` is that program: it would start itself again, and
    show its user a second window.
    """
    return None if getattr(sys, "frozen", False) else sys.executable or None

"""How the page is opened: by a file that only this user can read, so that the code is on no command line."""

from __future__ import annotations

import contextlib
import html
import os
import secrets
import sys
import threading
from typing import TYPE_CHECKING

from executor.ownfolders import make_private, own_folder
from executor.systempath import open_in_browser

if TYPE_CHECKING:
    from pathlib import Path

_PAGE = """<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={url}"><title>toolexec console</title>
"""


class Door:
    """
    A file that leads to the page, there until it is closed.

    Args:
        url: Of the page, with a code.

    Raises:
        OSError: The file cannot be made.
    """

    def __init__(self, url: str) -> None:
        folder = own_folder("state") / "console"
        make_private(folder)
        self.path = folder / f"{secrets.token_hex(8)}.html"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(_PAGE.format(url=html.escape(url)))

    def open(self) -> None:
        """Have the browser open it; nobody waits for that."""
        threading.Thread(target=_open, args=(self.path,), name="executor-console-browser", daemon=True).start()

    def close(self) -> None:
        """Take the file away."""
        with contextlib.suppress(OSError):
            self.path.unlink()


def _open(path: Path) -> None:
    with contextlib.suppress(OSError):  # the link is printed when nobody comes by the file
        open_in_browser(path.as_uri())


def has_browser() -> bool:
    """Whether there is a browser with a window: one in the terminal would take that from the command."""
    if sys.platform != "linux":
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))

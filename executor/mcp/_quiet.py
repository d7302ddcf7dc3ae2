"""What the SDK logs, kept from the terminal."""

from __future__ import annotations

import logging


def quiet_sdk() -> None:
    """
    Have the SDK's messages go only where somebody has set up logging. It logs a traceback for much that is told here as
    an error, or kept as a server's last words, and whoever sends it nonsense could fill a log with them.
    """
    for name in ("mcp", "sse_starlette"):
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())

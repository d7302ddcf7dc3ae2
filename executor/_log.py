"""Where the library says that something beside a call went wrong: the ``executor`` logger of the standard library."""

from __future__ import annotations

import contextlib
import sys


def warn(message: str, *, error: BaseException | None = None) -> None:
    """
    Record *message* (and the traceback of *error*) as a warning.

    Without any logging configuration the standard library prints warnings to stderr, so that a
    plugin, callback or ledger that fails is seen without being able to end a call.
    """
    try:
        import logging  # costs 8 ms at import, and most processes never warn
    except (OSError, ImportError):  # the process may open no more files
        with contextlib.suppress(Exception):
            print(message, file=sys.stderr)  # noqa: T201 -- where logging would have put it
        return
    logging.getLogger("executor").warning(message, exc_info=error)

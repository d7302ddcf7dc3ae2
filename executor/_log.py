"""Where the library says that something beside a call went wrong: the ``executor`` logger of the standard library."""

from __future__ import annotations

import contextlib
import sys


def warn(message: str, *, error: BaseException | None = None) -> None:
    """
    Record *message* (and the traceback of *error*) as a warning.

    Without any logging configuration the standard library prints warnings to stderr, so that a
    plugin, callback or ledger that fails is seen without being able to end a call. Neither can a handler of the
    program's that raises: this is called where something else has gone wrong, and has to go on there.
    """
    try:
        import logging  # costs 8 ms at import, and most processes never warn

        logging.getLogger("executor").warning(message, exc_info=error)
    except KeyboardInterrupt:  # the person's own, who wants the program to stop
        raise
    except BaseException:  # noqa: BLE001 -- a handler raised, SystemExit too, or the process may open no more files
        with contextlib.suppress(Exception):
            print(message, file=sys.stderr)  # noqa: T201 -- where logging would have put it

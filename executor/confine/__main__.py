"""
``python -I -m executor.confine PROFILE -- COMMAND``: be COMMAND, in the box of PROFILE.

PROFILE is ``read``, ``project`` or ``network``, with the working folder as the project, or the JSON of a profile. The
exit code is the command's; 125 when there is no box, 126 when the command cannot be run, 127 when there is none.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from executor.confine._values import Box

_NO_BOX, _NOT_RUNNABLE, _NOT_FOUND = 125, 126, 127


def main(arguments: list[str], seen: str | None = None) -> int:
    """
    The exit code: the command's, or why there is none.

    Args:
        arguments: As above.
        seen: By whom the box is to be as if made, see `_launch.see_as`; by default this process.
    """
    from executor.confine._become import become
    from executor.confine._launch import brought, see_as
    from executor.errors import ConfinementError
    from executor.values._profile import Profile

    if len(arguments) < 3 or arguments[1] != "--":
        return _fail(2, "usage: python -I -m executor.confine PROFILE -- COMMAND [ARGUMENT ...]")
    told, command, environment = arguments[0], arguments[2:], dict(os.environ)
    if seen is not None:
        environment = brought(environment)
        see_as(seen)

    def warn(box: Box) -> None:
        if box.open and told != "open":
            _fail(0, f"not held: {', '.join(box.open)} ({box.reason})")

    if sys.platform != "win32":
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # who ignores it hands that down, and no child can be waited for
    try:
        profile = Profile.of(json.loads(told) if told.startswith("{") else {"name": told, "project": os.getcwd()})
        return become(profile, command, warn, environment)
    except (ValueError, ConfinementError) as error:
        return _fail(_NO_BOX, str(error))
    except FileNotFoundError as error:
        return _fail(_NOT_FOUND, f"{command[0]}: {error.strerror}")
    except OSError as error:
        return _fail(_NOT_RUNNABLE, f"{command[0]}: {error.strerror or error}")


def _fail(code: int, message: str) -> int:
    print(f"executor.confine: {message}", file=sys.stderr)  # noqa: T201 -- this is a program
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

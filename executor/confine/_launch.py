"""The command in front of a command that others start: it becomes that command, in a box."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from executor.values._profile import Profile

# As ``-m executor.confine``, which finds the package only where it is installed.
_PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from executor.confine.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def launcher(profile: Profile) -> list[str]:
    """What to put in front of a command and its arguments, so that it runs in the box of *profile*."""
    root = Path(__file__).parents[2]
    # -S: a project may hold the interpreter's own packages, of which some are run at every start (site(1)).
    return [sys.executable, "-I", "-S", "-c", _PROGRAM, str(root), json.dumps(profile.to_dict()), "--"]

"""The command in front of a command that others start: it becomes that command, in a box."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from executor.confine._environment import withheld
from executor.confine._git_config import PROGRAMS
from executor.errors import ConfinementError
from executor.interpreter import WITHOUT, interpreter
from executor.ownfiles import keep_own, kept_own

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.values._profile import Profile

# As ``-m executor.confine``, which finds the package only where it is installed.
_PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from executor.confine.__main__ import main
sys.exit(main(sys.argv[2:], sys.argv[1]))
"""
_CARRIED = "TOOLEXEC_CARRIED_"  # in front of the names of the command's variables
# By which boxes find what they hide and close, their own folder, and bubblewrap.
_VARIABLES = (
    "HOME", "PATH", "TMPDIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "TOOLEXEC_CONFIG",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_TEMPLATE_DIR", *PROGRAMS,
)  # fmt: skip


def launcher(profile: Profile) -> list[str]:
    """
    What to put in front of a command and its arguments, so that it runs in the box of *profile*.

    The box is the one that this process would make now: the command's environment may know nothing of the user's
    folders, or name others. All of it is started with what `carried` makes of that.

    Raises:
        ConfinementError: There is no Python that could stand there.
    """
    python = interpreter()
    if python is None:
        raise ConfinementError(f"A command that others start cannot be put into a box: {WITHOUT}")
    root = Path(__file__).parents[2]
    values = ((name, os.environ.get(name)) for name in _VARIABLES)
    named = {name: value for name, value in values if not withheld(name, value or "")}  # others see what is told here
    seen = json.dumps({"variables": named, "own": sorted(kept_own())})
    # -S: a project may hold the interpreter's own packages, of which some are run at every start (site(1)).
    return [python, "-I", "-S", "-c", _PROGRAM, str(root), seen, json.dumps(profile.to_dict()), "--"]


def carried(environment: Mapping[str, str]) -> dict[str, str]:
    """
    *environment*, for a command behind a `launcher`, by names that mean nothing to what stands in front of it.

    That is in no box yet: it would load what such variables name (``LD_PRELOAD``, ``LD_LIBRARY_PATH``), and a box may
    have made it.
    """
    return {_CARRIED + name: value for name, value in environment.items()}


def brought(environment: Mapping[str, str]) -> dict[str, str]:
    """What `carried` was given."""
    return {name.removeprefix(_CARRIED): value for name, value in environment.items() if name.startswith(_CARRIED)}


def see_as(told: str) -> None:
    """Have this process make boxes as the one that made the `launcher`, which told it so."""
    seen = json.loads(told)
    for name, value in seen["variables"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    keep_own(*seen["own"])

"""The permission plugin and its policy file, as the command uses them."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor.cli._errors import CliError
from executor.ownfolders import lost_link, own_folder
from executor.pasted import operand
from executor.registry import BUNDLED

if TYPE_CHECKING:
    from collections.abc import Sequence

PLUGIN = BUNDLED["permissions"]
ENVIRONMENT_NAME = "TOOLEXEC_PERMISSIONS"


def load_permissions() -> Any:
    """
    The module of the permission plugin.

    Raises:
        ImportError: It is not installed, or something that it needs is not.
    """
    return importlib.import_module(PLUGIN)


def make_plugin(session: str = "") -> Any:
    """
    The permission plugin with the policy in force; None if it cannot be imported and there is no policy that it misses.

    It asks on the channels of the executor's inbox, unless the policy names others: the command puts its own terminal
    there. What is answered with "always" holds for the project, since a run of the command is soon over; what is
    answered for the session holds for the terminal's.

    Args:
        session: Which one that is, see `terminal_session`; "" is none that outlives the process.

    Raises:
        PermissionConfigError: The policy does not load.
        CliError: There is a policy, and nothing that could judge by it.
    """
    try:
        return load_permissions().PermissionPlugin(terminal=False, always="project", session_id=session)
    except ImportError as error:
        path = _policy_without_plugin()
        if path is not None:
            text = f"{path}: there is a policy, but {PLUGIN} cannot be imported ({error}): install it, so that it holds"
            raise CliError(text) from error
        return None


def _policy_without_plugin() -> Path | None:
    """A policy file that holds, or would."""
    named = os.environ.get(ENVIRONMENT_NAME)
    if named:
        return Path(named)
    own = own_folder("config") / "permissions.json"
    here = Path.cwd()
    projects = (folder / ".toolexec" / "permissions.json" for folder in (here, *here.parents))
    return next((path for path in (own, *projects) if os.path.lexists(path) or lost_link(path) is not None), None)


def add_commands(rules: Sequence[str]) -> str:
    """The commands that add *rules* to the whitelist."""
    return "; ".join(f"toolexec permissions add {operand(rule)}" for rule in rules)

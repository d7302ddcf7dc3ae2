"""
Boxes: the operating system holds a command to what its profile says it may do.

::

    boxed = start(Profile("project", "/home/me/app"), ["make", "test"])
    boxed.process.wait()
    boxed.close()

Linux only: Landlock where it can hold all of a profile, bubblewrap where something is closed inside what is open, and a
filter of system calls with both. ``python -I -m executor.confine PROFILE -- COMMAND`` runs a command in a box.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor._lazy import lazy_names

# Twice each, as in `executor` itself.
if TYPE_CHECKING:
    from executor.confine._foreground import wait_in_front as wait_in_front
    from executor.confine._git_index import GitIndex as GitIndex
    from executor.confine._git_index import read_index as read_index
    from executor.confine._git_remotes import remote_paths as remote_paths
    from executor.confine._launch import carried as carried
    from executor.confine._launch import launcher as launcher
    from executor.confine._places import named_secrets as named_secrets
    from executor.confine._programs import is_elsewhere as is_elsewhere
    from executor.confine._refusal import refusal as refusal
    from executor.confine._repositories import repositories_below as repositories_below
    from executor.confine._secret_places import HOMES as HOMES
    from executor.confine._secret_places import SECRET_PLACES as SECRET_PLACES
    from executor.confine._secret_places import SYSTEM_PLACES as SYSTEM_PLACES
    from executor.confine._secret_places import TICKETS as TICKETS
    from executor.confine._secret_places import homes_below as homes_below
    from executor.confine._start import Boxed as Boxed
    from executor.confine._start import box_of as box_of
    from executor.confine._start import let_go as let_go
    from executor.confine._start import start as start
    from executor.confine._values import Box as Box
    from executor.values._profile import PROFILE_NAMES as PROFILE_NAMES
    from executor.values._profile import Profile as Profile
    from executor.values._profile import ProfileName as ProfileName

__all__, __getattr__ = lazy_names(
    __name__,
    {
        "executor.confine._foreground": "wait_in_front",
        "executor.confine._git_index": "GitIndex read_index",
        "executor.confine._git_remotes": "remote_paths",
        "executor.confine._launch": "carried launcher",
        "executor.confine._places": "named_secrets",
        "executor.confine._programs": "is_elsewhere",
        "executor.confine._refusal": "refusal",
        "executor.confine._repositories": "repositories_below",
        "executor.confine._secret_places": "HOMES SECRET_PLACES SYSTEM_PLACES TICKETS homes_below",
        "executor.confine._start": "Boxed box_of let_go start",
        "executor.confine._values": "Box",
        "executor.values._profile": "PROFILE_NAMES Profile ProfileName",
    },
)

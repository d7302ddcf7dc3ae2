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

from executor._lazy import lazy_names

__all__, __getattr__ = lazy_names(
    __name__,
    {
        "executor.confine._launch": "launcher",
        "executor.confine._start": "Boxed box_of start",
        "executor.confine._values": "Box",
        "executor.confine._wrap": "tidy",
        "executor.values._profile": "PROFILE_NAMES Profile ProfileName",
    },
)

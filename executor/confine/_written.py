"""The single files that a command may write, beside what its profile lets it write anyway."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

from executor.confine._closed import unwritable
from executor.confine._files import files_made
from executor.confine._mounted import is_in, mounts, other_names
from executor.confine._places import Places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor.values._profile import Profile


@contextlib.contextmanager
def writing(profile: Profile) -> Iterator[Profile]:
    """
    *profile* with those of its further files alone that may be given; they are there, or are made for as long.

    Each is one regular file: what is given of a folder holds for all that is in it. Nor is it one that is closed in
    every box, which a rule of the policy does not open.

    Raises:
        OSError: What is closed cannot be told now, and may be soon.
    """
    if not profile.writable:
        yield profile
        return
    closed = _closed(profile)
    asked = tuple(path for path in profile.writable if not any(is_in(path, place) for place in closed))
    with files_made(asked):
        yield replace(profile, writable=tuple(filter(is_regular, asked)))


def is_regular(path: str | int) -> bool:
    """Whether a path, or a descriptor, is that of a regular file, and no link."""
    try:
        return stat.S_ISREG((os.fstat(path) if isinstance(path, int) else os.lstat(path)).st_mode)
    except OSError:
        return False


def _closed(profile: Profile) -> tuple[str, ...]:
    """What no box writes, without links, by each of its names."""
    places = Places.now()
    named = (*unwritable(profile), *places.all_own)
    real = tuple(dict.fromkeys(map(os.path.realpath, named)))
    return (*real, *other_names(real, mounts()))

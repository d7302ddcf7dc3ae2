"""What has locks begins anew in the child of a fork: the threads that held them are the parent's."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forked(Protocol):
    """Something with locks: `_begin` makes it as it was before anybody held one."""

    def _begin(self) -> None: ...


of_this_process: weakref.WeakSet[Forked] = weakref.WeakSet()


def _after_fork() -> None:
    for each in list(of_this_process):
        each._begin()  # noqa: SLF001 -- of this very package


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

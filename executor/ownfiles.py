"""
The files of toolexec that lie where the user says: no tool reads or writes them, as none does our own folders.

Whoever uses such a file says so here, before anything else is done with it; whoever judges calls, or makes boxes, asks.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["keep_own", "kept_own", "when_kept"]

_VARIABLES = ("TOOLEXEC_CONFIG", "TOOLEXEC_PERMISSIONS")  # a process that loads none keeps the files of those that do


class _Told(Protocol):
    def __call__(self) -> object: ...


_lock = threading.Lock()  # guards the two below; nothing is called under it
_kept: set[str] = set()
_told: list[weakref.WeakMethod[_Told]] = []


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 -- whoever held it is in the parent; boxes begin without `executor.threads`
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def keep_own(*paths: str | os.PathLike[str]) -> None:
    """These files are ours from now on, by the name that they were given and by what it leads to."""
    found = {name for path in paths for name in _names(path)}
    with _lock:
        if found <= _kept:
            return
        _kept.update(found)
        told = list(_told)
    for one in told:
        if (fn := one()) is not None:
            fn()


def kept_own() -> frozenset[str]:
    """The absolute paths of all of them, whether anything is there or not."""
    named = [name for variable in _VARIABLES if (path := os.environ.get(variable)) for name in _names(_spelt_out(path))]
    with _lock:
        return frozenset(_kept.union(named))


def when_kept(method: Callable[[], object]) -> None:
    """Call *method*, of an object that lives, whenever there are more of them: in the thread that says so."""
    with _lock:
        _told[:] = [one for one in _told if one() is not None]
        _told.append(weakref.WeakMethod(method))


def _spelt_out(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111 -- text


def _names(path: str | os.PathLike[str]) -> tuple[str, str]:
    return os.path.abspath(path), os.path.realpath(path)  # noqa: PTH100 -- the link itself, and what it leads to

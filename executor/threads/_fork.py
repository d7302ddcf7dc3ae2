"""What has threads begins anew in the child of a fork, where none of them exists."""

from __future__ import annotations

import _frozen_importlib as imports  # what `importlib` is made of
import os
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable


class Forked(Protocol):
    """Something with threads: `_begin` makes it as it was before it had any."""

    def _begin(self) -> None: ...


L = TypeVar("L")
_locks: weakref.WeakKeyDictionary[object, dict[str, Callable[[], object]]] = weakref.WeakKeyDictionary()
of_this_process: weakref.WeakSet[Forked] = weakref.WeakSet()
forks = 0  # how many forks lie between the first process and this one: what began with another number is the parent's


def _after_fork() -> None:
    global forks  # noqa: PLW0603 -- a number of this process, as os.getpid() is, but never used twice
    forks += 1
    _forget_imports()
    for owner, names in list(_locks.items()):  # first: what is dropped below may take one of them when it ends
        for name, make in names.items():
            setattr(owner, name, make())
    for each in list(of_this_process):
        each._begin()  # noqa: SLF001 -- of this very module


def _forget_imports() -> None:
    """
    What a thread of the parent was importing is imported anew by whoever needs it here.

    Python gives the child each module's lock as that thread held it, and whoever imports the module waits without end.
    """
    locks: dict[str, Callable[[], Any]] = getattr(imports, "_module_locks", {})
    for name, get in list(locks.items()):
        lock = get()
        if lock is None or lock.owner == threading.get_ident():  # this thread forks while it imports
            continue
        locks.pop(name, None)
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
            del sys.modules[name]


def fork_safe(owner: object, name: str, make: Callable[[], L]) -> L:
    """
    A lock among the threads of one process: in the child of a fork *owner* has a new one, since whoever held it is in
    the parent. Whoever forks with it held frees the one that it took.

    Args:
        owner: What has the lock: an object, or a module. It can be referred to weakly.
        name: The attribute that is to be the lock.
        make: Makes it, `threading.Lock` say. It stays what that makes: no signal comes between its taking and its use.
    """
    _locks.setdefault(owner, {})[name] = make
    return make()


def leave_child(began: int) -> None:
    """
    End this process if work that began in another one came back in it: a tool forked, and returned in the child too.

    The call, and the program, are the parent's.

    Args:
        began: What `forks` was when the work began.
    """
    if forks != began:
        os._exit(0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

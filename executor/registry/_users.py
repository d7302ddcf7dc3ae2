"""Who uses a registry: executors, which are not kept alive by that."""

from __future__ import annotations

import weakref
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    Changed: TypeAlias = Callable[[], object]


class Users:
    """
    The users of one registry, each known by the function that is called when its tables are replaced.

    Of a method the object is not kept alive: one that is dropped counts no more. Whoever calls holds the registry's
    lock.
    """

    def __init__(self, listen: Callable[[Changed], Callable[[], None]]) -> None:
        self._listen = listen
        self._forget: dict[weakref.WeakMethod[Changed] | _Function, Callable[[], None]] = {}

    def add(self, changed: Changed) -> None:
        """Call *changed* from now on."""
        self._drop_dead()
        user = _reference(changed)
        self._forget[user] = self._listen(partial(_call_if_alive, user))

    def remove(self, changed: Changed) -> bool:
        """Call it no more. Returns whether this was the last user."""
        forget = self._forget.pop(_reference(changed), None)
        if forget is None:
            return False
        forget()
        self._drop_dead()
        return not self._forget

    def _drop_dead(self) -> None:
        # Not in a callback of the references: these come at any moment, in whatever thread, whatever locks it holds.
        for user in [user for user in self._forget if user() is None]:
            self._forget.pop(user)()


class _Function:
    """A function, in the form of a reference to a method."""

    def __init__(self, fn: Changed) -> None:
        self._fn = fn

    def __call__(self) -> Changed:
        return self._fn

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Function) and other() == self._fn

    def __hash__(self) -> int:
        return hash(self._fn)


def _reference(changed: Changed) -> weakref.WeakMethod[Changed] | _Function:
    return weakref.WeakMethod(changed) if isinstance(changed, MethodType) else _Function(changed)


def _call_if_alive(user: weakref.WeakMethod[Changed] | _Function) -> None:
    fn = user()
    if fn is not None:
        fn()

"""
Old names that keep working for a while: each use of one says which name to use now, and when the old one goes.

What is promised about them is in docs/stability.md.
"""

from __future__ import annotations

import functools
import sys
import warnings
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
R = TypeVar("R")

REMOVED = "0.4"  # what 0.2 deprecates goes two minor versions later


def warn_deprecated(old: str, new: str, *, removed: str = REMOVED) -> None:
    """
    Say that *old* is deprecated; the line that is blamed is the nearest that is not of this package.

    Args:
        old: What was used: ``CancelToken.end``, ``tool_id=``.
        new: What to use instead.
        removed: The version in which *old* goes.
    """
    level, frame = 1, sys._getframe(0)  # noqa: SLF001 -- as `skip_file_prefixes` of Python 3.12 does it
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(f"{old} is deprecated and goes in {removed}: use {new}", DeprecationWarning, stacklevel=level)


def renamed_parameters(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """
    Let a function go on taking parameters under their old names: ``@renamed_parameters(args="arguments")``.

    Raises (when called):
        TypeError: Both names of a parameter were given.
    """

    def decorate(fn: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(fn)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in names.keys() & kwargs.keys():
                new = names[old]
                if new in kwargs:
                    raise TypeError(f"{fn.__name__}() got both {new!r} and its old name {old!r}: give {new!r} only")
                warn_deprecated(f"{fn.__name__}({old}=)", f"{new}=")
                kwargs[new] = kwargs.pop(old)
            return fn(*args, **kwargs)

        return wrapper

    return decorate


def takes(fn: Callable[..., object], count: int) -> bool:
    """Whether *fn* can be called with so many positional arguments; yes, if that cannot be found out."""
    from executor._signatures import signature_of

    try:
        signature = signature_of(fn)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*(None,) * count)
    except TypeError:
        return False
    return True


class FormerNamedTuple:
    """A dataclass that was a named tuple in 0.1: it can still be unpacked and indexed, and no more than that."""

    __slots__ = ()

    def _as_tuple(self) -> tuple[Any, ...]:
        first = next(iter(self.__match_args__))  # type: ignore[attr-defined]  # every dataclass has it
        warn_deprecated(f"using a {type(self).__name__} as a tuple", f"its fields (.{first}, …)")
        from dataclasses import fields

        # What came later has to be named.
        return tuple(getattr(self, field.name) for field in fields(self) if not field.kw_only)  # type: ignore[arg-type]  # see above

    def __iter__(self) -> Iterator[Any]:
        return iter(self._as_tuple())

    def __getitem__(self, index: Any) -> Any:
        return self._as_tuple()[index]

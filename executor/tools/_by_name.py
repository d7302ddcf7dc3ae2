"""Functions as another process finds them: by name, also where the decorator `tool` has put a `Tool` in their place."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from executor.values import Tool

if TYPE_CHECKING:
    from collections.abc import Callable


def find(module: str, qualified: str) -> Any:
    """What has that name. Raises ImportError, AttributeError: it is not there."""
    found: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in qualified.split("."):
        found = getattr(found, part)
    return found


def function_of(found: Any) -> Any:
    """The function that *found* is, or was made of."""
    return found.fn if isinstance(found, Tool) else found


def sendable(fn: Callable[..., Any]) -> Any:
    """*fn*, or where its name means the `Tool` made of it what a pickle makes *fn* of."""
    try:
        found = find(fn.__module__, fn.__qualname__)
    except (AttributeError, ImportError):  # found by no name: whoever pickles it says so
        return fn
    return _Behind(fn) if isinstance(found, Tool) and found.fn is fn else fn


class _Behind:
    """A function behind a `Tool`, to be pickled."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        return _found, (self._fn.__module__, self._fn.__qualname__)


def _found(module: str, qualified: str) -> Any:
    return function_of(find(module, qualified))

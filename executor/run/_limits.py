"""Time limits, numbers and names, as callers give them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def seconds(value: float | None, name: str = "timeout") -> float | None:
    """*value* as a time limit; what no clock can wait for is none. Raises ValueError for no number above 0."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError(f"{name} is {value!r}, not a number of seconds above 0, or None for no limit")
    return value if value < threading.TIMEOUT_MAX else None


def count(value: int, name: str, least: int = 0) -> int:
    """*value*, a number of things. Raises ValueError for what is not a whole number from *least* on."""
    if type(value) is not int or value < least:
        raise ValueError(f"{name} is {value!r}, not a whole number from {least} on")
    return value


def truth(value: bool, name: str) -> bool:  # noqa: FBT001 -- it is what is looked at
    """*value*, a yes or no. Raises TypeError for anything else: Python would take "no" for a yes."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}: give True or False")
    return value


def text(value: str, name: str) -> str:
    """*value*, a text that names something. Raises TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is of the type {type(value).__name__}: give a text")
    return value


def names(value: Iterable[str], name: str) -> tuple[str, ...]:
    """*value*, some texts. Raises TypeError for anything else, such as a text alone: Python would take its letters."""
    found = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else (None,)
    texts = tuple(each for each in found if isinstance(each, str))
    if len(texts) < len(found):
        raise TypeError(f"{name} is {value!r}: give a list of texts")
    return texts


def table(value: Mapping[str, Any] | None, name: str) -> dict[str, Any]:
    """*value*, by names; None is empty. Raises TypeError for anything else."""
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"{name} is {value!r}: give a dict")
    return dict(value or {})


def function(value: T, name: str) -> T:
    """*value*, to be called later, or None. Raises TypeError for anything else, which would only fail when called."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} is {value!r}: give a function, or None")
    return value


def able(value: T, name: str, method: str, wanted: str) -> T:
    """*value*, an object with this method, or None. Raises TypeError for anything else, such as the object's class."""
    found = getattr(value, method, None)
    if value is not None and (not callable(found) or (isinstance(value, type) and not hasattr(found, "__self__"))):
        raise TypeError(f"{name} is {value!r}: give {wanted}")
    return value

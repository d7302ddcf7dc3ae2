"""Tool ids: what a tool may be called."""

from __future__ import annotations

import re

from executor.errors import InvalidToolIdError

MAX_NAME = 128
_NAME = re.compile(r"[A-Za-z0-9_.-]+(:[A-Za-z0-9_.-]+){0,2}")


def check_name(name: object) -> str:
    """
    Returns:
        *name*, when it is a tool id: one to three parts of ``[A-Za-z0-9_.-]+`` joined by colons, 128 characters in all.

    Raises:
        InvalidToolIdError: It is not.
    """
    if not isinstance(name, str) or len(name) > MAX_NAME or _NAME.fullmatch(name) is None:
        shown = ascii(name) if isinstance(name, str) else f"of type {type(name).__name__}"
        raise InvalidToolIdError(
            f"Invalid tool id {shown[:160]}: use 1 to 3 parts of letters, digits, '_', '.', '-' "
            f"joined by ':', {MAX_NAME} characters in all"
        )
    return name

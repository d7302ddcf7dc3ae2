"""The signatures of functions that others wrote."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable


def signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    """
    The signature of *fn*; an annotation of names that only type checkers know does not keep it from being read.

    Python 3.14 evaluates annotations when they are first asked for, and so can fail there.

    Raises:
        TypeError: *fn* cannot be called, or its signature is of no such kind.
        ValueError: It has no signature that can be read.
    """
    import inspect

    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(fn, annotation_format=Format.FORWARDREF)
    return inspect.signature(fn)

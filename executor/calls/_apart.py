"""Calls that are not judged, or not carried out, as others are."""

from __future__ import annotations

from typing import Any

from executor.calls._state import CallState


class Judged(CallState):
    """
    A call that was judged in another process, where a person sits: no gate is asked about it here.

    Attributes:
        entry: The tool that was judged, whatever its name means here.
        judge: The pickled permission plugin of that process, for the calls that its tool makes; made when it is wanted.
    """

    __slots__ = ("entry", "judge")
    entry: Any  # a `Registered`, of which this room knows nothing
    judge: Any


class Rehearsal(CallState):
    """A call that is only judged: nothing runs, and nobody keeps what was decided."""

    __slots__ = ()

"""What a decision of ours carries along: who decided, and what is used once its call runs."""

from __future__ import annotations

from typing import NamedTuple


class Judged(NamedTuple):
    """
    What a decision of a permission plugin carries along.

    Attributes:
        by: Stands for the plugin that decided.
        grants: The ids of the grants with a number of uses that it rests on.
        limited: The tool whose limit counts the call, if one does.
        conversation: In which it is counted.
    """

    by: object
    grants: tuple[str, ...] = ()
    limited: str | None = None
    conversation: str | None = None

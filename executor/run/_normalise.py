"""The stage that makes one kind of result of whatever a backend returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor.run._backends import RunResult

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from executor.run._backends import Prepared


def normalise(prepared: Prepared, value: Any, metadata_keys: AbstractSet[str]) -> RunResult:
    """
    The result of a local function is its value as it is, JSON or not.

    A pair of dicts is a result and its metadata only if every key of the second is one of *metadata_keys*; any other
    tuple is a value like any other.
    """
    if (
        type(value) is tuple
        and len(value) == 2
        and metadata_keys
        and isinstance(value[0], dict)
        and isinstance(value[1], dict)
        and value[1].keys() <= metadata_keys
    ):
        return RunResult(prepared.entry.tool, prepared.backend, value[0], metadata=value[1])
    return RunResult(prepared.entry.tool, prepared.backend, value)

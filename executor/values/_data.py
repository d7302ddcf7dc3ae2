"""The data that objects stand for which JSON has no word for."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, time, timedelta
from enum import Enum
from pathlib import PurePath
from typing import Any

from executor.values._blocks import BLOCKS

_AS_TEXTS = (date, time, timedelta, PurePath)
_TEXTS_TOO = ("Decimal", "Fraction", "UUID")  # which need not be imported here


def data_of(value: object) -> Any:
    """
    What *value* stands for; what is in that may stand for something in turn.

    A model reads the same of a result, whether its tool runs in a box, in a process of its own, or in this one.

    Raises:
        TypeError: It stands for no data. A block stands for itself. So may be what an object raises when it is read.
    """
    kind: Any = type(value)
    if not isinstance(value, (type, *BLOCKS)):
        if dataclasses.is_dataclass(value):
            # What its author keeps out of `repr`, a password say, is not told either.
            return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.repr}
        if hasattr(kind, "model_dump"):  # of pydantic
            return kind.model_dump(value, mode="json")
        if isinstance(value, Enum):
            return value.value
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, AbstractSet | deque):
            return list(value)
        if hasattr(kind, "tolist"):  # of numpy, and like it
            return kind.tolist(value)
        if isinstance(value, _AS_TEXTS) or kind.__name__ in _TEXTS_TOO:
            return str(value)
    raise TypeError(f"{kind.__module__}.{kind.__name__} stands for no data")

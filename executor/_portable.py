"""What crosses to another process with an error."""

from __future__ import annotations

import copyreg
import dataclasses
import pickle
from typing import Any

from executor.errors import ToolExecutorError


def portable(value: Any) -> Any:
    """*value* itself, or as much of it as can cross to another process; of an error at least its text."""
    try:
        pickle.loads(pickle.dumps(value))  # noqa: S301 -- what was just made here
    except Exception:  # noqa: BLE001 -- whatever somebody else's class does, the rest must survive
        if hasattr(value, "portable"):
            return value.portable()
        if isinstance(value, BaseException):
            return ToolExecutorError(f"{type(value).__name__}: {value}")
        if type(value) in (tuple, list):
            return type(value)(map(portable, value))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = (field.name for field in dataclasses.fields(value))
            return dataclasses.replace(value, **{name: portable(getattr(value, name)) for name in names})
        return repr(value)
    return value


def pickle_as_written() -> None:
    """
    Have errors pickled as their classes say, after `tblib` was imported.

    With `distributed` it comes into a process, and answers for every class of errors that there is. What it makes of an
    error has the cause as it is, so that one whose cause cannot be pickled cannot be, either.
    """
    kinds: list[type[ToolExecutorError]] = [ToolExecutorError]
    for kind in kinds:  # it grows
        kinds += kind.__subclasses__()
        copyreg.dispatch_table.pop(kind, None)

"""
What carries background calls out elsewhere than in this process. The ids, states, outputs and promises are ours.

::

    _dask       the engine of a host: gives calls to a cluster of Dask, and hears what becomes of them
    _remote     one such call, as the host has it
    _line       the way to a scheduler, also for processes that only ask for a task that another one has started
    _scheduler  our extension of the scheduler: which tasks there are, each begun once
    _entries    what that knows of each
    _worker     what a worker does: `run_named_tools`
    _wire       what they say to one another
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor._lazy import lazy_names

if TYPE_CHECKING:
    from executor.engines._dask import DaskEngine as DaskEngine
    from executor.engines._line import Reattached

_names, _find = lazy_names(__name__, {"executor.engines._dask": "DaskEngine"})
__all__ = sorted(_names)  # noqa: PLE0605 -- checkers read the imports above


def reattach(name: str, ref: str) -> Reattached:
    """
    An engine, for a process that asks for a task that another one has started.

    Args:
        name: ``dask``.
        ref: As the store has it.

    Raises:
        KeyError: There is no such engine.
        ExecutorUnavailableError: The reference is damaged, or the extra is not installed.
    """
    from importlib.util import find_spec

    from executor.engines._line import Reattached
    from executor.engines._where import read_ref
    from executor.errors import ExecutorUnavailableError

    if name != "dask":
        raise KeyError(name)
    if find_spec("distributed") is None:
        raise ExecutorUnavailableError("The task is on a cluster: install toolexec[dask] to reach it")
    try:
        return Reattached(*read_ref(ref))
    except (ValueError, KeyError, TypeError) as error:
        raise ExecutorUnavailableError(f"Where the cluster of the task is cannot be read: {error!r}") from error


def __getattr__(name: str) -> Any:
    return _find(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

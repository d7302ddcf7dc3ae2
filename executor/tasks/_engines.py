"""The seam to what carries tasks out elsewhere: an engine is found by its name, and imported when it is needed."""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING, Any, Protocol

from executor.errors import ExecutorUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# By string: engines stand on tasks, and not the other way round.
FOUND_IN = {"dask": "executor.engines"}


class Reattached(Protocol):
    """
    An engine, as any process of the user sees it; see `executor.engines`.

    Raises:
        ExecutorUnavailableError: From every method but `close` and `forget`: it cannot be reached.
    """

    def probe(self, task_ids: Sequence[str]) -> Mapping[str, Any]:
        """
        What is known of each task: its ``state`` (queued, running, ended, gone, or unknown, for one that never came
        there), ``size`` (bytes of output), ``progress``, ``worker``, and ``why`` it is gone.
        """
        ...

    def read(self, task_id: str, offset: int, limit: int) -> tuple[str, int, int] | None:
        """Output from a byte on, the offset to go on from, and what is gone; None: it is not there any more."""
        ...

    def record(self, task_id: str, seen: Any) -> Any:
        """What a task came to that `probe` has seen ended; None: that is lost. Raises ValueError: it makes no sense."""
        ...

    def withdraw(self, task_id: str) -> bool:
        """Have a task that `probe` does not know never begin, should it still come. Returns False: it has come."""
        ...

    def cancel(self, task_id: str, reason: str, seconds: float) -> bool:
        """Stop a task. Returns whether it has ended within so many seconds."""
        ...

    def forget(self, task_ids: Sequence[str]) -> None:
        """Their ends are stored."""
        ...

    def close(self) -> None:
        """Leave; what it carries out goes on."""
        ...


class Engines:
    """The engines that this process has asked, each connected once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[tuple[str, str], Reattached] = {}

    def of(self, name: str, ref: str) -> Reattached:
        """
        An engine.

        Args:
            ref: As the store has it.

        Raises:
            ExecutorUnavailableError: This toolexec has no such engine, its extra is missing, or *ref* is damaged.
        """
        with self._lock:
            made = self._made.get((name, ref))
            if made is None:
                try:
                    made = importlib.import_module(FOUND_IN[name]).reattach(name, ref)
                except KeyError:
                    raise ExecutorUnavailableError(f"There is no engine {name!r} in this toolexec: update it") from None
                self._made[name, ref] = made
            return made

    def close(self) -> None:
        """Leave all of them."""
        with self._lock:
            made, self._made = list(self._made.values()), {}
        for each in made:
            each.close()

"""What a cluster is given to run, by name."""

from __future__ import annotations

import asyncio
import pickle
import threading
import weakref
from time import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Worker

    from executor.engines._worker import Side

_sides: weakref.WeakKeyDictionary[Worker, Side] = weakref.WeakKeyDictionary()
_making = threading.Lock()


async def run_named_tools(key: str, calls: bytes) -> None:
    """
    Carry out calls, each on a thread of ours: this only waits for them, on the worker's loop.

    Args:
        key: Of the task of the cluster that this is.
        calls: Pickled: each as `executor.engines._wire.sent`.
    """
    from distributed import get_worker
    from distributed.worker_state_machine import SecedeEvent

    worker = get_worker()
    # What `distributed.secede` does for a thread: it counts among the host's tasks, and takes no turn from others.
    worker.handle_stimulus(SecedeEvent(key=key, compute_duration=0.0, stimulus_id=f"secede-{time()}"))
    side = _sides.get(worker)
    if side is None:
        side = await asyncio.to_thread(_side_of, worker)
    await side.carry_out(pickle.loads(calls))  # noqa: S301 -- ours


def _side_of(worker: Worker) -> Side:
    """What is ours of a worker, made when it first has a call of ours."""
    from executor.engines._worker import Side  # with all that runs tools: the scheduler needs none of it

    with _making:
        side = _sides.get(worker)
        if side is None:
            side = _sides[worker] = Side(worker)
        return side

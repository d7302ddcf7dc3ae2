"""What a cluster is given to run, by name."""

from __future__ import annotations


def run_named_tool(task_id: str, name: str, args_json: str, order: bytes) -> None:
    """
    Carry out one call, on a thread of a worker.

    Args:
        args_json: The arguments that were judged.
        order: A pickled `executor.engines._wire.Order`.
    """
    from distributed import get_worker, secede

    from executor.engines._worker import side_of  # with everything that runs tools: the scheduler needs none of it

    side = side_of(get_worker())
    secede()  # type: ignore[no-untyped-call]  # it counts among the host's tasks, and takes no turn from others
    side.carry_out(task_id, name, args_json, order)

"""`max_workers`: who waits for an inner call lends its place, whatever thread it waits in; an outer call never does."""

from __future__ import annotations

import contextvars
import threading

import pytest

from executor import ToolExecutor
from executor.testing import HeldTool

SECONDS = 10.0


def in_its_own_context(call):
    """The worker's thread, but nothing that says which call it works for."""
    return contextvars.Context().run(call)


def in_a_thread_of_the_tool(call):
    """Not a worker's thread, but still a call inside of another."""
    results, context = [], contextvars.copy_context()
    thread = threading.Thread(target=lambda: results.append(context.run(call)))
    thread.start()
    thread.join(SECONDS)
    return results[0]


@pytest.mark.parametrize("way", [lambda call: call(), in_its_own_context, in_a_thread_of_the_tool])
def test_an_inner_call_gets_a_worker_while_the_only_one_waits_for_it(way):
    with ToolExecutor(max_workers=1) as executor:
        executor.register("inner", lambda args: "inner", timeout=1)
        executor.register("outer", lambda args: way(lambda: executor.execute("inner")), timeout=2 * SECONDS)
        assert executor.execute("outer") == (True, (True, "inner"))


def test_a_call_from_outside_lends_no_place():
    ran = []
    with ToolExecutor(max_workers=1) as executor, HeldTool() as tool:
        executor.register("holder", tool, timeout=2 * SECONDS)
        executor.register("next", ran.append, timeout=0.05)
        holding = threading.Thread(target=executor.execute, args=("holder", {}))
        holding.start()
        assert tool.started.wait(SECONDS)
        assert executor.execute("next", {})[1].get("timed_out") is True
        tool.go_on()
        holding.join(SECONDS)
    assert ran == []

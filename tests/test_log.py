"""What is said beside a call, and what becomes of calls where the program's own logging fails."""

from __future__ import annotations

import asyncio
import logging

import pytest

from executor import PluginRegistry, ToolCall, ToolExecutor, current_call, hookimpl

SECONDS = 20.0
CALL = ToolCall("1", "say")


class Raising(logging.Handler):
    """What the handlers of a program do that lost whom they send to, and were written without `handleError`."""

    def __init__(self, raised):
        super().__init__()
        self.raised, self.seen = raised, 0

    def emit(self, record):
        self.seen += 1
        raise self.raised


class Bad:
    """A ledger, and a plugin."""

    def record(self, stage, payload):
        raise ValueError(stage)

    @hookimpl
    def executor_start_call(self, call):
        raise ValueError(call.name)

    @hookimpl
    def executor_after_call(self, call, result):
        raise ValueError(call.name)


def bad(*_):
    raise ValueError("a callback")


def say(args):
    current_call().emit("said")
    current_call().progress(1, 2)
    return 1


ROUTES = {
    "call": lambda ex, **told: ex.call(CALL, **told),
    "submit": lambda ex, **told: ex.submit(CALL, **told).result(SECONDS),
    "acall": lambda ex, **told: asyncio.run(asyncio.wait_for(ex.acall(CALL, **told), SECONDS)),
    "many": lambda ex, **told: ex.execute_many([CALL, CALL], **told)[1],
}


@pytest.fixture(params=[RuntimeError("no more"), SystemExit(3)], ids=["error", "exit"])
def handler(request):
    made = Raising(request.param)
    logging.getLogger("executor").addHandler(made)
    yield made
    logging.getLogger("executor").removeHandler(made)


@pytest.fixture(params=["callbacks", "ledger", "plugin"])
def made(request, handler):
    """An executor beside whose calls something goes wrong, and what they are given."""
    with PluginRegistry(bundled=False, entry_points=False) as registry:
        if request.param == "plugin":
            registry.register(Bad(), "bad")
            registry.expose("bad")
        ledger = Bad() if request.param == "ledger" else None
        with ToolExecutor(ledger=ledger, registry=registry) as executor:
            told = dict.fromkeys(["on_output", "on_progress", "on_done"], bad) if request.param == "callbacks" else {}
            yield executor, told
    assert handler.seen


@pytest.mark.timeout(60)
@pytest.mark.parametrize("options", [{}, {"timeout": SECONDS}], ids=["here", "on a worker"])
@pytest.mark.parametrize("route", ROUTES)
def test_a_handler_that_raises_costs_no_call_its_end(made, route, options):
    executor, told = made
    executor.register("say", say, **options)
    result = ROUTES[route](executor, **told)
    assert (result.kind.value, result.value) == ("ok", 1)


@pytest.mark.timeout(60)
def test_a_handler_that_raises_costs_no_task_its_end(made):
    executor, told = made
    executor.register("say", say, auto_background=0)
    task_id = executor.call(CALL, **told).task_id
    assert executor.tasks.wait(task_id, SECONDS).status.value == "completed"


def test_what_a_handler_did_not_take_is_said_on_stderr(handler, capsys):
    with ToolExecutor() as executor:
        executor.register("say", say)
        executor.call(CALL, on_output=bad)
    assert "The output callback of call 1 raised" in capsys.readouterr().err

"""pydantic-ai: `ToolManager.handle_call` over a `FunctionToolset` that was prepared once; async tools."""

import functools
from importlib.metadata import version

import measure
import payload
from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.usage import RunUsage


def asynchronous(function):
    """The tool as a coroutine function: a sync one goes through a thread there, which costs more."""

    @functools.wraps(function)
    async def call(*args, **options):
        return function(*args, **options)

    return call


async def main():
    toolset = FunctionToolset([asynchronous(payload.add), asynchronous(payload.order)])
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage(), run_step=1)
    manager = await ToolManager(toolset).for_run_step(context)

    def add():
        return manager.handle_call(ToolCallPart("add", payload.SMALL, "1"))

    def order():
        return manager.handle_call(ToolCallPart("order", payload.LARGE, "1"))

    assert await add() == 3
    assert await order() == 20
    small, large = await measure.of_async(add), await measure.of_async(order)
    measure.report(version("pydantic-ai-slim"), small=small, large=large)


measure.run(main())

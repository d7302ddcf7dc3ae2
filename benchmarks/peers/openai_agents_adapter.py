"""openai-agents: `FunctionTool.on_invoke_tool`, which takes JSON text, with a new context and without tracing."""

import functools
from importlib.metadata import version

import measure
import payload
from agents import function_tool, set_tracing_disabled
from agents.tool_context import ToolContext

set_tracing_disabled(True)


def asynchronous(function):
    """The tool as a coroutine function: a sync one goes through a thread there, which costs more."""

    @functools.wraps(function)
    async def call(*args, **options):
        return function(*args, **options)

    return call


add = function_tool(asynchronous(payload.add), failure_error_function=None)
order = function_tool(asynchronous(payload.order), failure_error_function=None, strict_mode=False)


def calling(tool, text):
    def call():
        context = ToolContext(context=None, tool_name=tool.name, tool_call_id="1", tool_arguments=text)
        return tool.on_invoke_tool(context, text)

    return call


async def main():
    assert await calling(add, payload.SMALL_TEXT)() == 3
    assert await calling(order, payload.LARGE_TEXT)() == 20
    measure.report(
        version("openai-agents"),
        small=await measure.of_async(calling(add, payload.SMALL_TEXT)),
        large=await measure.of_async(calling(order, payload.LARGE_TEXT)),
    )


measure.run(main())

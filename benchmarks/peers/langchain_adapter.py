"""langchain-core: `StructuredTool.invoke`."""

from importlib.metadata import version

import measure
import payload
from langchain_core.tools import StructuredTool

add = StructuredTool.from_function(payload.add)
order = StructuredTool.from_function(payload.order)
assert add.invoke(payload.SMALL) == 3
assert order.invoke(payload.LARGE) == 20
measure.report(
    version("langchain-core"),
    small=measure.of(lambda: add.invoke(payload.SMALL)),
    large=measure.of(lambda: order.invoke(payload.LARGE)),
)

"""The run layer: from a tool id and arguments to a normalised result, in stages that each have their own file."""

from executor._output import CancelToken
from executor._types import BackendKind, Tool, ToolBackend
from executor.run._backends import LocalRegistry, Prepared, RunResult, ToolIndex
from executor.run._runner import Runner

__all__ = [
    "BackendKind",
    "CancelToken",
    "LocalRegistry",
    "Prepared",
    "RunResult",
    "Runner",
    "Tool",
    "ToolBackend",
    "ToolIndex",
]

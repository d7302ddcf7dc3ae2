"""
The values that cross the library's seams. They import nothing of ours.

Each comes when its name is first used: making dataclasses is most of what importing the library costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor._lazy import lazy_names

# Twice each, as in the package's own `__init__`.
if TYPE_CHECKING:
    from executor.values._blocks import Audio as Audio
    from executor.values._blocks import Block as Block
    from executor.values._blocks import Image as Image
    from executor.values._blocks import Link as Link
    from executor.values._blocks import Resource as Resource
    from executor.values._blocks import Text as Text
    from executor.values._blocks import blocks_of as blocks_of
    from executor.values._call import JSON as JSON
    from executor.values._call import Outcome as Outcome
    from executor.values._call import OutputCallback as OutputCallback
    from executor.values._call import Progress as Progress
    from executor.values._call import ProgressCallback as ProgressCallback
    from executor.values._call import ResultKind as ResultKind
    from executor.values._call import TaskDoneCallback as TaskDoneCallback
    from executor.values._call import ToolCall as ToolCall
    from executor.values._call import ToolOutputCallback as ToolOutputCallback
    from executor.values._call import ToolResult as ToolResult
    from executor.values._check import Check as Check
    from executor.values._decision import Decision as Decision
    from executor.values._decision import Verdict as Verdict
    from executor.values._output import OutputChunk as OutputChunk
    from executor.values._status import TaskStatus as TaskStatus
    from executor.values._task import TaskInfo as TaskInfo
    from executor.values._tool import ArgumentKind as ArgumentKind
    from executor.values._tool import BackendKind as BackendKind
    from executor.values._tool import Tool as Tool
    from executor.values._tool import ToolAnnotations as ToolAnnotations
    from executor.values._tool import ToolBackend as ToolBackend
    from executor.values._tool import ToolDefinition as ToolDefinition

_names, __getattr__ = lazy_names(
    __name__,
    {
        "executor.values._blocks": "Audio Block Image Link Resource Text blocks_of",
        "executor.values._call": (
            "JSON Outcome OutputCallback Progress ProgressCallback ResultKind TaskDoneCallback ToolCall "
            "ToolOutputCallback ToolResult"
        ),
        "executor.values._check": "Check",
        "executor.values._decision": "Decision Verdict",
        "executor.values._output": "OutputChunk",
        "executor.values._status": "TaskStatus",
        "executor.values._task": "TaskInfo",
        "executor.values._tool": "ArgumentKind BackendKind Tool ToolAnnotations ToolBackend ToolDefinition",
    },
)
__all__ = _names  # noqa: PLE0605 -- checkers read the imports above

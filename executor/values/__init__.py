"""The values that cross the library's seams. They are frozen, and import nothing of ours."""

from executor.values._blocks import Audio, Block, Image, Link, Resource, Text, blocks_of
from executor.values._call import (
    JSON,
    Outcome,
    OutputCallback,
    Progress,
    ProgressCallback,
    ResultKind,
    TaskDoneCallback,
    ToolCall,
    ToolOutputCallback,
    ToolResult,
)
from executor.values._decision import Check, Decision, Verdict
from executor.values._task import TaskInfo, TaskStatus
from executor.values._tool import ArgumentKind, BackendKind, Tool, ToolAnnotations, ToolBackend, ToolDefinition

__all__ = [
    "JSON",
    "ArgumentKind",
    "Audio",
    "BackendKind",
    "Block",
    "Check",
    "Decision",
    "Image",
    "Link",
    "Outcome",
    "OutputCallback",
    "Progress",
    "ProgressCallback",
    "Resource",
    "ResultKind",
    "TaskDoneCallback",
    "TaskInfo",
    "TaskStatus",
    "Text",
    "Tool",
    "ToolAnnotations",
    "ToolBackend",
    "ToolCall",
    "ToolDefinition",
    "ToolOutputCallback",
    "ToolResult",
    "Verdict",
    "blocks_of",
]

"""The values that cross the library's seams. They are frozen, and import nothing of ours."""

from executor.values._call import (
    JSON,
    Outcome,
    OutputCallback,
    Progress,
    ProgressCallback,
    TaskDoneCallback,
    ToolCall,
    ToolOutputCallback,
    ToolResult,
)
from executor.values._decision import Decision, Verdict
from executor.values._task import TaskInfo, TaskStatus
from executor.values._tool import ArgumentKind, BackendKind, Tool, ToolAnnotations, ToolBackend, ToolDefinition

__all__ = [
    "JSON",
    "ArgumentKind",
    "BackendKind",
    "Decision",
    "Outcome",
    "OutputCallback",
    "Progress",
    "ProgressCallback",
    "TaskDoneCallback",
    "TaskInfo",
    "TaskStatus",
    "Tool",
    "ToolAnnotations",
    "ToolBackend",
    "ToolCall",
    "ToolDefinition",
    "ToolOutputCallback",
    "ToolResult",
    "Verdict",
]

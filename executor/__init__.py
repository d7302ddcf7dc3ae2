"""
toolexec: runs the tool calls of a language model.

What is imported here is light; everything else comes when its name is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from executor import errors
from executor._executor import ToolExecutor
from executor._output import CancelToken, current_call, get_current_tool_output_callback
from executor._tools import tool
from executor._types import (
    BackgroundCapable,
    Decision,
    TaskInfo,
    TaskStatus,
    Tool,
    ToolAnnotations,
    ToolCall,
    ToolDefinition,
    ToolExecutorPort,
    ToolResult,
    Verdict,
)

if TYPE_CHECKING:
    from executor._approval import Approval, Channel
    from executor._host import PluginRegistry
    from executor._ledger import JsonLinesLedger, TokenLedger
    from executor.hookspecs import hookimpl, hookspec
    from executor.tasks import TaskManager

__all__ = [
    "Approval",
    "BackgroundCapable",
    "CancelToken",
    "Channel",
    "Decision",
    "JsonLinesLedger",
    "PluginRegistry",
    "TaskInfo",
    "TaskManager",
    "TaskStatus",
    "TokenLedger",
    "Tool",
    "ToolAnnotations",
    "ToolCall",
    "ToolDefinition",
    "ToolExecutor",
    "ToolExecutorPort",
    "ToolResult",
    "Verdict",
    "current_call",
    "errors",
    "get_current_tool_output_callback",
    "hookimpl",
    "hookspec",
    "tool",
]

_LATER = {
    "Approval": "executor._approval",
    "Channel": "executor._approval",
    "JsonLinesLedger": "executor._ledger",
    "PluginRegistry": "executor._host",
    "TaskManager": "executor.tasks",
    "TokenLedger": "executor._ledger",
    "hookimpl": "executor.hookspecs",
    "hookspec": "executor.hookspecs",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("toolexec")
    if name in _LATER:
        value = getattr(importlib.import_module(_LATER[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

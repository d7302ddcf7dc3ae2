"""
toolexec: runs the tool calls of a language model.

What is imported here is light; everything else comes when its name is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from executor import errors
from executor._executor import ToolExecutor
from executor.calls._current import current_call, get_current_tool_output_callback
from executor.calls._token import CancelToken
from executor.protocols import BackgroundCapable, ToolExecutorPort
from executor.tools._make import tool
from executor.values import (
    Decision,
    TaskInfo,
    TaskStatus,
    Tool,
    ToolAnnotations,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Verdict,
)

if TYPE_CHECKING:
    from executor.hookspecs import hookimpl, hookspec
    from executor.permission._questions import Approval, Channel
    from executor.records._ledger import JsonLinesLedger, TokenLedger
    from executor.registry._registry import PluginRegistry
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
    "Approval": "executor.permission._questions",
    "Channel": "executor.permission._questions",
    "JsonLinesLedger": "executor.records._ledger",
    "PluginRegistry": "executor.registry._registry",
    "TaskManager": "executor.tasks",
    "TokenLedger": "executor.records._ledger",
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

"""
toolexec: runs the tool calls of a language model.

Everything here comes when its name is first used, with what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor import errors as errors
from executor._lazy import lazy_names

# Twice each, and both are needed: type checkers read the imports, Python the table. A test compares them.
if TYPE_CHECKING:
    from executor._executor import ToolExecutor as ToolExecutor
    from executor.calls._current import CurrentCall as CurrentCall
    from executor.calls._current import current_call as current_call
    from executor.calls._current import get_current_tool_output_callback as get_current_tool_output_callback
    from executor.calls._host import Host as Host
    from executor.calls._limits import Shared as Shared
    from executor.calls._token import CancelToken as CancelToken
    from executor.hookspecs import hookimpl as hookimpl
    from executor.hookspecs import hookspec as hookspec
    from executor.permission._plugin import PermissionPlugin as PermissionPlugin
    from executor.protocols import BackgroundCapable as BackgroundCapable
    from executor.protocols import Ledger as Ledger
    from executor.protocols import ToolExecutorPort as ToolExecutorPort
    from executor.records._ledger import JsonLinesLedger as JsonLinesLedger
    from executor.records._ledger import TokenLedger as TokenLedger
    from executor.registry._failures import PluginFailure as PluginFailure
    from executor.registry._registry import PluginRegistry as PluginRegistry
    from executor.tasks import TaskManager as TaskManager
    from executor.tools._make import tool as tool
    from executor.tools._options import ToolOptions as ToolOptions
    from executor.values import Audio as Audio
    from executor.values import Check as Check
    from executor.values import Decision as Decision
    from executor.values import Image as Image
    from executor.values import Link as Link
    from executor.values import OutputCallback as OutputCallback
    from executor.values import OutputChunk as OutputChunk
    from executor.values import ProgressCallback as ProgressCallback
    from executor.values import Resource as Resource
    from executor.values import ResultKind as ResultKind
    from executor.values import TaskDoneCallback as TaskDoneCallback
    from executor.values import TaskInfo as TaskInfo
    from executor.values import TaskStatus as TaskStatus
    from executor.values import Text as Text
    from executor.values import Tool as Tool
    from executor.values import ToolAnnotations as ToolAnnotations
    from executor.values import ToolBackend as ToolBackend
    from executor.values import ToolCall as ToolCall
    from executor.values import ToolDefinition as ToolDefinition
    from executor.values import ToolOutputCallback as ToolOutputCallback
    from executor.values import ToolResult as ToolResult
    from executor.values import Verdict as Verdict
    from executor.values._approval import Approval as Approval
    from executor.values._approval import Channel as Channel

_names, _find = lazy_names(
    __name__,
    {
        "executor._executor": "ToolExecutor",
        "executor.calls._current": "CurrentCall current_call get_current_tool_output_callback",
        "executor.calls._host": "Host",
        "executor.calls._limits": "Shared",
        "executor.calls._token": "CancelToken",
        "executor.hookspecs": "hookimpl hookspec",
        "executor.values._approval": "Approval Channel",
        "executor.permission._plugin": "PermissionPlugin",
        "executor.protocols": "BackgroundCapable Ledger ToolExecutorPort",
        "executor.records._ledger": "JsonLinesLedger TokenLedger",
        "executor.registry._failures": "PluginFailure",
        "executor.registry._registry": "PluginRegistry",
        "executor.tasks": "TaskManager",
        "executor.tools._make": "tool",
        "executor.tools._options": "ToolOptions",
        "executor.values": (
            "Audio Check Decision Image Link OutputCallback OutputChunk ProgressCallback Resource ResultKind "
            "TaskDoneCallback TaskInfo TaskStatus Text Tool ToolAnnotations ToolBackend ToolCall ToolDefinition "
            "ToolOutputCallback ToolResult Verdict"
        ),
    },
)
__all__ = sorted(["errors", *_names])  # noqa: PLE0605 -- checkers read the imports above


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("toolexec")
    return _find(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

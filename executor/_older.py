"""Older forms of what people hand in, made to fit: who hands one in is told what to write instead."""

from __future__ import annotations

from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any

from executor._deprecated import takes, warn_deprecated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor.values import Decision, ToolCall, ToolResult, Verdict


def done_callback(
    on_done: Callable[..., object] | None, duration: Callable[[str], float]
) -> Callable[[ToolResult], object] | None:
    """
    A callback for the end of a call, which is given its result.

    Args:
        on_done: One of 0.1 took ``(task_id, success, error, duration)``, and was told of tasks only.
        duration: How long a task took, in seconds.
    """
    if on_done is None or isinstance(on_done, BuiltinFunctionType):  # was not written for 0.1, and is slow to look into
        return on_done
    if takes(on_done, 1) or not takes(on_done, 4):
        return on_done
    warn_deprecated("on_done(task_id, success, error, duration)", "on_done(result)")

    def notify(result: ToolResult) -> None:
        if result.task_id is not None:
            on_done(result.task_id, result.success, result.error, duration(result.task_id))

    return notify


class AskWithoutContext:
    """
    A permission plugin whose ``ask`` takes no context, as in 0.1.

    Args:
        plugin: Everything else is its own.
    """

    def __init__(self, plugin: Any) -> None:
        self._plugin = plugin

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plugin, name)

    def ask(self, call: ToolCall, decision: Decision, _: Mapping[str, Any] | None) -> Verdict:
        """Ask a person."""
        verdict: Verdict = self._plugin.ask(call, decision)
        return verdict


def permission_plugin(plugin: Any) -> Any:
    """*plugin*, with an ``ask`` that takes the context."""
    if takes(plugin.ask, 3) or not takes(plugin.ask, 2):
        return plugin
    warn_deprecated(f"{type(plugin).__name__}.ask(call, decision)", "ask(call, decision, context)")
    return AskWithoutContext(plugin)

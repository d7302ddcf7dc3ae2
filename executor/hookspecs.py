"""
The hooks a plugin can implement. Mark implementations with ``hookimpl`` and take only the arguments you need.

Each implementation is called by itself: one that raises is recorded, and never keeps another from being called.
Plugins are called in the order of their registration, those with ``tryfirst`` before and those with ``trylast`` after
the others. Hooks that are called for one plugin at a time, when it is exposed or ended, have no such order: there both
are warned about. Hook wrappers are refused, because they would run around other plugins' answers.

A module that has a class or function ``executor_plugin`` is not a plugin itself: each registry calls that, without
arguments, and what it returns is the plugin. Whatever has a configuration should be made so; otherwise two registries
of one process share it.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, Unpack

import pluggy

from executor.values._frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    import click

    from executor.tools._options import ToolOptions
    from executor.values import Decision, OutputCallback, TaskInfo, Tool, ToolBackend, ToolCall, ToolResult
    from executor.values._approval import Channel

__all__ = [
    "CallScope",
    "RegisterTool",
    "executor_after_call",
    "executor_before_call",
    "executor_check_permission",
    "executor_configure",
    "executor_deny_call",
    "executor_register_backends",
    "executor_register_channels",
    "executor_register_commands",
    "executor_register_tools",
    "executor_set_output_callback",
    "executor_shutdown",
    "executor_start_call",
    "executor_task_done",
    "hookimpl",
    "hookspec",
]

hookspec = pluggy.HookspecMarker("executor")
hookimpl = pluggy.HookimplMarker("executor")


class RegisterTool(Protocol):
    """
    Registers a tool of the plugin: ``register(name, fn, …)``, ``register(fn)`` or ``register(tool)``.

    Args:
        name: Its name, a `Tool`, or the function itself.
        fn: The function, as for `ToolExecutor.register`.
        backend: Where a tool runs that has no function: ``register(tool, backend=ToolBackend.mcp(server, tool_name))``.
        carrier: The call inside its arguments is judged, not the call itself; for bundled plugins only.
        options: See `ToolOptions`.
    """

    def __call__(
        self,
        name: str | Tool | Callable[..., Any],
        fn: Callable[..., Any] | None = None,
        *,
        backend: ToolBackend | None = None,
        carrier: bool = False,
        **options: Unpack[ToolOptions],
    ) -> None: ...

    def again(self) -> None:
        """The tools have changed: have the hook called again, now. May be kept, and called from any thread."""
        ...


@hookspec
def executor_register_tools(register: RegisterTool) -> None:
    """Register the plugin's tools; of two plugins with one tool name the first keeps it, the second is reported."""


@hookspec
def executor_check_permission(call: ToolCall, context: Mapping[str, Any] | None) -> Decision | None:
    """Give an opinion on a call, asking nobody; deny beats ask beats allow, an error is a deny."""


@hookspec
def executor_register_channels(register: Callable[[str, Channel], None]) -> None:
    """Register surfaces on which a person can be asked; all are shown each question, the first answer wins."""


@hookspec
def executor_register_backends(register: Callable[[str, object], None]) -> None:
    """Register what runs tools elsewhere, by kind (``mcp``, ``provider``); a second one of a kind is reported."""


@hookspec
def executor_register_commands(cli: click.Group) -> None:
    """Add commands to the ``toolexec`` command; a name that exists already is reported and left as it was."""


@hookspec
def executor_configure(config: Mapping[str, Any]) -> None:
    """Take the plugin's own configuration, before its tools are registered; raising leaves the plugin out."""


@hookspec
def executor_set_output_callback(callback: OutputCallback | None) -> None:
    """Take ``callback(source, text, mode)`` for output that belongs to no call; every plugin gets the same one."""


@dataclass(frozen=True, slots=True)
class CallScope:
    """
    What a plugin puts around a call.

    Attributes:
        notes: What the ledger's records of the call carry beside: ``{"trace_id": "…"}``.
        around: Entered when the call comes in, and left when it is answered; context variables that it sets are seen
            by the tool, wherever that runs, and by all that it calls.
    """

    notes: Mapping[str, str] = field(default_factory=dict)
    around: AbstractContextManager[object] | None = None


@hookspec
def executor_start_call(call: ToolCall) -> CallScope | None:
    """Observe a call that comes in, of whatever tool and with whatever arguments; each scope is put around it."""


@hookspec
def executor_before_call(call: ToolCall) -> None:
    """Observe a call of a known tool with valid arguments, before the gate; what is returned is not used."""


@hookspec
def executor_deny_call(call: ToolCall, decision: Decision) -> None:
    """Observe a call that was denied, and why; what is returned is not used."""


@hookspec
def executor_after_call(call: ToolCall, result: ToolResult) -> None:
    """Observe the one result of a call, while it still is the current call; what is returned is not used."""


@hookspec
def executor_task_done(task: TaskInfo) -> None:
    """Observe the end of a background task, once; what is returned is not used."""


@hookspec
def executor_shutdown() -> None:
    """Free what the plugin holds; called when it is unexposed, and when the registry's last executor shuts down."""

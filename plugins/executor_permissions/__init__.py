"""
The permission plugin: decides about calls by a policy file, and asks a person about the rest.

``ToolExecutor.set_permission_plugin(PermissionPlugin())`` puts it in front of every tool; being installed or exposed
does nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from executor import hookimpl

if TYPE_CHECKING:
    import click

    from executor_permissions._desk import Desk
    from executor_permissions._plugin import PermissionPlugin
    from executor_permissions._replay import replay
    from executor_permissions._session import Session, SessionStatus
    from executor_permissions.ask._channels import CallbackChannel, QueueChannel
    from executor_permissions.ask._files import FileChannel
    from executor_permissions.ask._webhook import WebhookChannel
    from executor_permissions.judge.rules._rules import Part
    from executor_permissions.judge.rules._scene import CallInfo
    from executor_permissions.store._grants import Grant
    from executor_permissions.store._load import Policy, policy_file

__all__ = [
    "CallInfo",
    "CallbackChannel",
    "Desk",
    "FileChannel",
    "Grant",
    "Part",
    "PermissionPlugin",
    "Policy",
    "QueueChannel",
    "Session",
    "SessionStatus",
    "WebhookChannel",
    "policy_file",
    "replay",
]

_HOMES = {
    "CallInfo": "judge.rules._scene",
    "CallbackChannel": "ask._channels",
    "Desk": "_desk",
    "FileChannel": "ask._files",
    "Grant": "store._grants",
    "Part": "judge.rules._rules",
    "PermissionPlugin": "_plugin",
    "Policy": "store._load",
    "QueueChannel": "ask._channels",
    "Session": "_session",
    "SessionStatus": "_session",
    "WebhookChannel": "ask._webhook",
    "policy_file": "store._load",
    "replay": "_replay",
}


@hookimpl
def executor_register_commands(cli: click.Group) -> None:
    """``toolexec permissions``."""
    from executor_permissions.commands import group

    cli.add_command(group)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)

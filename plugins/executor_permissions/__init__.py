"""
The permission plugin: decides about calls by a policy file, and asks a person about the rest.

``ToolExecutor.set_permission_plugin(PermissionPlugin())`` puts it in front of every tool; being installed or exposed
does nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor_permissions._channels import CallbackChannel, FileChannel, QueueChannel, WebhookChannel
    from executor_permissions._grants import Grant
    from executor_permissions._plugin import PermissionPlugin
    from executor_permissions._policy import Policy
    from executor_permissions._replay import replay
    from executor_permissions._rules import Part

__all__ = [
    "CallbackChannel",
    "FileChannel",
    "Grant",
    "Part",
    "PermissionPlugin",
    "Policy",
    "QueueChannel",
    "WebhookChannel",
    "replay",
]

_HOMES = {
    "CallbackChannel": "_channels",
    "FileChannel": "_channels",
    "Grant": "_grants",
    "Part": "_rules",
    "PermissionPlugin": "_plugin",
    "Policy": "_policy",
    "QueueChannel": "_channels",
    "WebhookChannel": "_channels",
    "replay": "_replay",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)

"""Which surfaces a policy names for its questions; what they need is imported for those who use them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from executor.errors import PermissionConfigError
from executor_permissions.store._channel import TYPES, folder_of, unfit_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from executor import Approval, Channel
    from executor_permissions.store._load import Policy


def choose_channel(
    channel: Channel | Callable[[Approval], object] | None,
    channel_type: str | None,
    policy: Policy,
    state_dir: Path,
    *,
    terminal: bool,
) -> dict[str, Channel] | None:
    """The surfaces to ask on, by name; None for those of the executor's inbox. Raises TypeError: *channel* is none."""
    if channel is not None:
        if not (hasattr(channel, "ask") or callable(channel)):
            raise TypeError(f"channel: {channel!r} is neither a Channel, with ask and withdraw, nor a function")
        from executor_permissions.ask._channels import CallbackChannel

        return {"callback": channel if hasattr(channel, "ask") else CallbackChannel(channel)}  # type: ignore[dict-item]  # either form
    name = channel_type or policy.channel.get("type")
    if name is None or (name == "console" and not terminal):
        return None
    places = policy.places
    return make_channel(name, policy.channel, project=places.base, home=places.home, state_dir=state_dir)


def make_channel(
    name: str, settings: Mapping[str, Any], *, project: str, home: str, state_dir: Path
) -> dict[str, Channel] | None:
    """
    The surfaces for a channel type of the policy file, by name; None for those of the executor's inbox.

    Args:
        project: What a relative folder starts from.
        home: What ``~`` stands for.
        state_dir: Where the secret of the file channel is kept.

    Raises:
        PermissionConfigError: It cannot be made with these settings.
    """
    if name == "auto":
        return None
    makers: dict[str, Callable[[], dict[str, Channel]]] = {
        "none": dict,
        "console": lambda: {"console": terminal_channel()},
        "queue": lambda: {"queue": _queue()},
        "file": lambda: {"file": _file_channel(settings, project, home, state_dir)},
        "webhook": lambda: {"webhook": _webhook(settings)},
    }
    if name in makers:
        return makers[name]()
    if name == "callback":
        raise _unusable("channel: a callback is given in code: PermissionPlugin(channel=function)")
    raise _unusable(f"channel.type: {name!r} is no channel: use one of {', '.join(TYPES)}")


def terminal_channel() -> Channel:
    """This process's terminal."""
    from executor.approval import TerminalChannel

    return TerminalChannel()


def _queue() -> Channel:
    from executor_permissions.ask._channels import QueueChannel

    return QueueChannel()


def _file_channel(settings: Mapping[str, Any], project: str, home: str, state_dir: Path) -> Channel:
    from executor_permissions.ask._files import POLL_SECONDS, FileChannel

    folder = folder_of({**settings, "type": "file"}, project, home)
    if folder is None:
        raise _unusable('channel: the file channel needs a folder: add "base_path": "/folder"')
    problem = unfit_folder(folder, project, home)
    if problem is not None:
        raise _unusable(f"channel.base_path: {problem}")
    return FileChannel(folder, float(settings.get("poll_interval") or POLL_SECONDS), state_dir)


def _webhook(settings: Mapping[str, Any]) -> Channel:
    from executor_permissions.ask._webhook import WebhookChannel

    endpoint = settings.get("endpoint")
    token = settings.get("auth_token") or os.environ.get(str(settings.get("auth_token_env", "")), "")
    if not endpoint or not token:
        raise _unusable(
            'channel: a webhook needs "endpoint" and "auth_token" (or "auth_token_env"): replies are signed'
        )
    if not endpoint.startswith(("https://", "http://")):
        raise _unusable(f"channel.endpoint: {endpoint!r} is no http address")
    return WebhookChannel(endpoint, token, settings.get("headers") or {}, float(settings.get("timeout") or 300))


def _unusable(problem: str) -> PermissionConfigError:
    return PermissionConfigError(f"The permission policy's channel cannot be used: {problem}", problems=[problem])

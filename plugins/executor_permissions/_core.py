"""The few things of the core that a permission plugin needs and that have no public name yet."""

from __future__ import annotations

from executor._approval import (
    Answer,
    Approval,
    Channel,
    Inbox,
    NoChannelError,
    TerminalChannel,
    new_approval_id,
    parse_answer,
    visible,
)
from executor._json import copy_arguments, mask, to_text
from executor._log import warn

__all__ = [
    "Answer",
    "Approval",
    "Channel",
    "Inbox",
    "NoChannelError",
    "TerminalChannel",
    "copy_arguments",
    "mask",
    "new_approval_id",
    "parse_answer",
    "to_text",
    "visible",
    "warn",
]

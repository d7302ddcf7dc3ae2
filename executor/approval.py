"""
For authors of permission plugins and of surfaces on which a person is asked: questions, answers, and how to show them.

What a person is shown goes through `visible`, what is kept of arguments through `mask`.
"""

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
]

"""
For authors of permission plugins and of surfaces on which a person is asked: questions, answers, and how to show them.

What a person is shown goes through `visible`, what is kept of arguments through `mask`; `keyed_digest`
tells whether two records are of the same arguments.
"""

from executor._json import copy_arguments, to_text
from executor._mask import keyed_digest, mask
from executor.calls._above import call_above
from executor.calls._host import Approvals
from executor.permission._inbox import Inbox
from executor.permission._open import new_approval_id
from executor.permission._plugin import CheckingPlugin, PermissionPlugin
from executor.permission._surface import Surface
from executor.permission._terminal import TerminalChannel
from executor.permission._visible import question_text, visible
from executor.values._approval import (
    Answer,
    Approval,
    Channel,
    Lasting,
    NoChannelError,
    Scope,
    asker_of,
    parse_answer,
    read_answer,
)

__all__ = [
    "Answer",
    "Approval",
    "Approvals",
    "Channel",
    "CheckingPlugin",
    "Inbox",
    "Lasting",
    "NoChannelError",
    "PermissionPlugin",
    "Scope",
    "Surface",
    "TerminalChannel",
    "asker_of",
    "call_above",
    "copy_arguments",
    "keyed_digest",
    "mask",
    "new_approval_id",
    "parse_answer",
    "question_text",
    "read_answer",
    "to_text",
    "visible",
]

"""
For authors of permission plugins and of surfaces on which a person is asked: questions, answers, and how to show them.

What a person is shown goes through `visible`, what is kept of arguments through `mask`; `keyed_digest`
tells whether two records are of the same arguments. Everything here comes when its name is first used.
"""

# ruff: noqa: PLC0414 -- type checkers take only names that are imported so for handed on

from __future__ import annotations

from typing import TYPE_CHECKING

from executor._lazy import lazy_names

# Twice each, as in `executor`.
if TYPE_CHECKING:
    from executor._json import copy_arguments as copy_arguments
    from executor._json import to_text as to_text
    from executor._mask import keyed_digest as keyed_digest
    from executor._mask import mask as mask
    from executor.calls._above import call_above as call_above
    from executor.calls._host import Approvals as Approvals
    from executor.permission._inbox import Inbox as Inbox
    from executor.permission._open import new_approval_id as new_approval_id
    from executor.permission._plugin import CheckingPlugin as CheckingPlugin
    from executor.permission._plugin import PermissionPlugin as PermissionPlugin
    from executor.permission._surface import Surface as Surface
    from executor.permission._terminal import TerminalChannel as TerminalChannel
    from executor.permission._visible import counted as counted
    from executor.permission._visible import in_order as in_order
    from executor.permission._visible import named as named
    from executor.permission._visible import question_text as question_text
    from executor.permission._visible import visible as visible
    from executor.values._approval import Answer as Answer
    from executor.values._approval import Approval as Approval
    from executor.values._approval import Channel as Channel
    from executor.values._approval import Lasting as Lasting
    from executor.values._approval import NoChannelError as NoChannelError
    from executor.values._approval import Scope as Scope
    from executor.values._approval import asker_of as asker_of
    from executor.values._approval import parse_answer as parse_answer
    from executor.values._approval import read_answer as read_answer

__all__, __getattr__ = lazy_names(
    __name__,
    {
        "executor._json": "copy_arguments to_text",
        "executor._mask": "keyed_digest mask",
        "executor.calls._above": "call_above",
        "executor.calls._host": "Approvals",
        "executor.permission._inbox": "Inbox",
        "executor.permission._open": "new_approval_id",
        "executor.permission._plugin": "CheckingPlugin PermissionPlugin",
        "executor.permission._surface": "Surface",
        "executor.permission._terminal": "TerminalChannel",
        "executor.permission._visible": "counted in_order named question_text visible",
        "executor.values._approval": (
            "Answer Approval Channel Lasting NoChannelError Scope asker_of parse_answer read_answer"
        ),
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

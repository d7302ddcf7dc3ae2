"""Whose call it is."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from executor import ToolCall
from executor_permissions.judge._carriers import innermost
from executor_permissions.judge.rules._scene import CallInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor import CurrentCall, Tool


def agent_of(context: Mapping[str, Any] | None) -> str | None:
    """Who calls, as the caller's context says."""
    agent = (context or {}).get("agent")
    return agent if agent is None or isinstance(agent, str) else repr(agent)


def about_of(call: ToolCall) -> ToolCall:
    """The call that a decision on *call* is about: the very one, or that which it carries."""
    name, arguments = innermost(call.name, call.arguments)
    return call if name == call.name else ToolCall(call.id, name, arguments)


def tool_of(current: CurrentCall | None, name: str) -> Tool | None:
    """The tool *name*, where a call of it is at work; None of another one, about which a tool asks by itself."""
    tool = current.tool if current is not None else None
    return tool if tool is not None and tool.id == name else None


def info_of(name: str, call: CurrentCall | None, tool: Tool | None) -> CallInfo:
    """
    What is known of *call*, one of the tool *name*, which is *tool*.

    Raises:
        FileNotFoundError: The working folder is no more.
    """
    if tool is None:
        return CallInfo(folder_of(call, None))
    # What a server says about its own tools is not to be trusted.
    read_only = not name.startswith("mcp__") and bool(tool.annotations and tool.annotations.read_only)
    return CallInfo(
        folder_of(call, tool),
        tool.argument_kinds,
        read_only,
        call.resolve_path if call is not None else None,
        partial(_defaults, tool),
    )


def folder_of(call: CurrentCall | None, tool: Tool | None) -> str:
    """
    Where relative paths of *call*, one of *tool*, start: in the working folder, or in that of the server which has it.

    Raises:
        FileNotFoundError: The working folder is no more.
    """
    try:
        if call is not None and tool is not None:
            return call.folder
        here = os.getcwd()  # noqa: PTH109 -- of many judgements
    except FileNotFoundError as error:  # its own words name no folder, and nobody would know what to do
        words = "the working folder of this program was removed: start it again in one that is there"
        raise FileNotFoundError(words) from error
    return here if tool is None or tool.folder is None else os.path.join(here, tool.folder)  # noqa: PTH118 -- as above


def _defaults(tool: Tool) -> Mapping[str, Any]:
    """What *tool* takes for arguments that are left out; asked where a rule is about one."""
    from executor_permissions.judge.rules._defaults import defaults_of  # for those rules

    return defaults_of(tool.input_schema)


def conversation_of(call: CurrentCall | None) -> str | None:
    """Which conversation of the program *call* belongs to, or None."""
    try:
        return call.host.conversation if call is not None else None
    except RuntimeError:  # no executor makes it
        return None

"""
What the arguments of a tool mean: which is a command, a path or an address, by the policy, the tool and our table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor_permissions.judge.rules._rules import KINDS, SHELL_TOOLS, names_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Kinds = Mapping[str, str]


class Meanings:
    """
    What the policy says of tools by their names, and knows of some.

    Args:
        kinds: By tool the kinds of its arguments: ``shell``, ``argv``, ``path``, ``url``.
        shell_tools: Tools whose argument ``command`` is one, beside those that are known.
    """

    def __init__(self, kinds: Mapping[str, Kinds], shell_tools: Iterable[str]) -> None:
        self.kinds = {tool: dict(arguments) for tool, arguments in kinds.items()}
        self.shell_tools = SHELL_TOOLS | frozenset(shell_tools)

    def is_shell_tool(self, tool: str) -> bool:
        """Whether the tool of this very name runs shell commands, without being told its kinds."""
        return tool in self.shell_tools or "shell" in self.kinds.get(tool, {}).values()

    def own(self, tool: str, declared: Kinds) -> dict[str, str]:
        """The kinds of the arguments of the tool that has this very name. The policy's come before *declared* ones."""
        kinds = {**KINDS.get(tool, {}), **declared, **self.kinds.get(tool, {})}
        if tool in self.shell_tools and "shell" not in kinds.values():
            kinds["command"] = "shell"
        return kinds

    def of_any(self, tool: str, declared: Kinds) -> dict[str, str]:
        """
        Likewise, and of any tool that is called like a part of its id: ``ns:runCommand:2`` is kept from what
        ``runCommand`` is, and allowed nothing for that.
        """
        kinds: dict[str, str] = {}
        for name in names_of(tool)[1:]:
            kinds |= self.own(name, {})
        return kinds | self.own(tool, declared)


def is_shell(kinds: Kinds) -> bool:
    """Whether one of the arguments is a command."""
    return "shell" in kinds.values() or "argv" in kinds.values()

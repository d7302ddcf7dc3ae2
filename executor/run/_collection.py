"""A collection of tools in memory: an index for a `Runner`, from which others can be chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.errors import ToolNotFoundError
from executor.run._resolve import entry_of
from executor.tools._make import Registered, make_tool, prepare
from executor.tools._names import check_name
from executor.values import BackendKind, Tool, ToolBackend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class Tools:
    """
    Tools in the order in which they were added. Changed and read from any thread.

    Args:
        tools: Tools that have a function, or functions.
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., object]] = ()) -> None:
        self._entries: dict[str, Registered] = {}  # single operations, which are atomic; no lock
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool | Callable[..., object], *backends: ToolBackend) -> Tool:
        """
        Take a tool in; one of the same id is replaced, in its place.

        Args:
            backends: Where it runs; by default its own function.

        Raises:
            InvalidToolIdError, SchemaError, ValueError: See `ToolExecutor.register`.
        """
        made = make_tool(tool)
        if any(backend.kind is not BackendKind.LOCAL for backend in backends) or (backends and made.fn is None):
            entry = entry_of(check_name(made.id), made, backends)
        else:
            entry = prepare(made)
        self._entries[entry.name] = entry
        return entry.tool

    def remove(self, tool_id: str) -> bool:
        """Take a tool out. Returns whether there was one."""
        return self._entries.pop(tool_id, None) is not None

    def filter(self, predicate: Callable[[Tool], object]) -> Tools:
        """A collection of those tools for which *predicate* is true; this one stays as it is."""
        chosen = Tools()
        chosen._entries = {name: entry for name, entry in self._entries.copy().items() if predicate(entry.tool)}
        return chosen

    def __iter__(self) -> Iterator[Tool]:
        return iter([entry.tool for entry in self._entries.copy().values()])

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, tool_id: object) -> bool:
        return tool_id in self._entries

    # As an index, and as a source ---------------------------------------------------------------------------------

    def get_tool(self, tool_id: str) -> Tool:
        """The tool of this id. Raises ToolNotFoundError."""
        return self._known(tool_id).tool

    def get_all_backends(self, tool_id: str) -> Sequence[ToolBackend]:
        """Where it runs. Raises ToolNotFoundError."""
        return self._known(tool_id).backends

    def find(self, tool_id: str) -> Registered | None:
        """The tool of this id, with what a call needs of it, or None."""
        return self._entries.get(tool_id)

    def names(self) -> Iterable[str]:
        """The ids of all tools."""
        return list(self._entries)

    def _known(self, tool_id: str) -> Registered:
        entry = self._entries.get(tool_id)
        if entry is None:
            raise ToolNotFoundError(f"There is no tool {tool_id}", tool_id=tool_id)
        return entry

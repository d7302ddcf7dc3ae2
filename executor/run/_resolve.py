"""The first stages: from an id to a tool and the backend that is to run it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor._tools import Registered, check_name
from executor._types import BackendKind
from executor.errors import ExecutionError, NoBackendsError, ToolNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from executor._types import Tool, ToolBackend
    from executor.run._backends import BackendSelector, BackendsResolver, Source, ToolIndex, ToolResolver

_PREFERENCE = (BackendKind.LOCAL, BackendKind.PROVIDER, BackendKind.MCP)


def resolve(tool_id: str, sources: Sequence[Source]) -> Registered:
    """
    The tool of this id, from the first source that knows it. A source that fails is not one that does not know.

    Raises:
        InvalidToolIdError: The id is malformed; no source knows such an id.
        ToolNotFoundError: No source knows it.
        NoBackendsError: It is known, but nothing can run it.
    """
    if type(tool_id) is str:
        for source in sources:
            entry = source.find(tool_id)
            if entry is not None:
                if not entry.backends:
                    raise NoBackendsError(f"Nothing can run the tool {tool_id}: it has no backend", tool_id=tool_id)
                return entry
    check_name(tool_id)
    raise ToolNotFoundError(f"No executor registered for {tool_id}{_did_you_mean(tool_id, sources)}", tool_id=tool_id)


def _did_you_mean(tool_id: str, sources: Sequence[Source]) -> str:
    import difflib

    # Among 10,000 names this takes longer than a model call should wait for a hint; the first 2,000 do.
    names = [name for source in sources for name, _ in zip(source.names(), range(2000), strict=False)]
    near = difflib.get_close_matches(tool_id, names, n=3, cutoff=0.7)
    return f". Did you mean {' or '.join(near)}?" if near else ""


def select(entry: Registered, selector: BackendSelector | None) -> ToolBackend:
    """
    The backend to run a tool on: local before provider before MCP, list order within a kind; or the selector's choice.

    Raises:
        ExecutionError: The selector chose a backend that the tool does not have.
    """
    backends = entry.backends
    if selector is not None:
        chosen = selector(list(backends))
        if chosen not in backends:
            raise ExecutionError(
                f"The backend selector chose {chosen!r}, which is none of the tool's backends",
                tool_id=entry.name,
                op="select_backend",
            )
        return chosen
    if len(backends) == 1:
        return backends[0]
    return min(backends, key=lambda backend: _PREFERENCE.index(backend.kind))


class IndexSource:
    """A `ToolIndex` as a source."""

    def __init__(self, index: ToolIndex) -> None:
        self._index = index

    def find(self, tool_id: str) -> Registered | None:
        """The tool and its backends; only "not found" is None, every other error is passed on."""
        try:
            tool = self._index.get_tool(tool_id)
        except ToolNotFoundError:
            return None
        return _entry(tool_id, tool, self._index.get_all_backends(tool_id))

    def names(self) -> Iterable[str]:
        return ()


class ResolverSource:
    """Two functions, one for tools and one for their backends, as a source."""

    def __init__(self, tool_resolver: ToolResolver, backends_resolver: BackendsResolver | None) -> None:
        self._tool = tool_resolver
        self._backends = backends_resolver

    def find(self, tool_id: str) -> Registered | None:
        """The resolvers' answer; None or ToolNotFoundError is "not found", every other error is passed on."""
        try:
            tool = self._tool(tool_id)
        except ToolNotFoundError:
            return None
        if tool is None:
            return None
        return _entry(tool_id, tool, self._backends(tool_id) if self._backends is not None else ())

    def names(self) -> Iterable[str]:
        return ()


def _entry(tool_id: str, tool: Tool, backends: Iterable[ToolBackend]) -> Registered:
    return Registered(
        name=tool_id,
        tool=tool,
        definition=tool.definition,
        backends=tuple(backends),
        handler=None,
        check=None,
        is_async=False,
        plugin_name="local",
        background=tool.auto_background is not None,
        carrier=False,
    )

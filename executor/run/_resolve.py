"""The first stages: from an id to a tool and the backends that may run it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from executor.errors import ExecutionError, NoBackendsError, ToolNotFoundError
from executor.tools._make import Registered
from executor.tools._names import check_name
from executor.values import BackendKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from executor.run._backends import BackendSelector, BackendsResolver, Source, ToolResolver
    from executor.values import Tool, ToolBackend

_RANK = {BackendKind.LOCAL: 0, BackendKind.PROVIDER: 1, BackendKind.MCP: 2}
CACHED = 4096  # entries kept for each index; each is a handful of references


def resolve(tool_id: str, sources: Sequence[Source]) -> Registered:
    """
    The tool of this id, from the first source that knows it. A source that fails is not one that does not know.

    Raises:
        InvalidToolIdError: The id is malformed; no source is asked for such an id.
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


def select(entry: Registered, selector: BackendSelector | None) -> tuple[ToolBackend, ...]:
    """
    The backends to run a tool on, the first one first; the others are for when it is down.

    Without a selector it is one: local before provider before MCP, list order within a kind.

    Raises:
        ExecutionError: The selector raised, or chose a backend that the tool does not have, or none.
    """
    backends = entry.backends
    if selector is None:
        if len(backends) == 1:
            return backends
        return (min(backends, key=lambda backend: _RANK.get(backend.kind, len(_RANK))),)
    try:
        chosen = selector(list(backends))
    except Exception as error:
        raise ExecutionError(
            f"The backend selector raised {error!r}", tool_id=entry.name, op="select_backend"
        ) from error
    candidates = tuple(chosen) if isinstance(chosen, list | tuple) else (cast("ToolBackend", chosen),)
    strangers = [candidate for candidate in candidates if candidate not in backends]
    if strangers or not candidates:
        what = f"{strangers[0]!r}, which is not one of the tool's backends" if strangers else "no backend at all"
        raise ExecutionError(f"The backend selector chose {what}", tool_id=entry.name, op="select_backend")
    return candidates


class ResolverSource:
    """
    Two functions, one for tools and one for their backends, as a source: also those of a `ToolIndex`.

    What was made of a tool and its backends is kept for as long as they give the same ones.
    """

    def __init__(self, tool_resolver: ToolResolver, backends_resolver: BackendsResolver | None) -> None:
        self._tool = tool_resolver
        self._backends = backends_resolver
        self._entries: dict[str, Registered] = {}  # single operations, which are atomic; no lock

    def find(self, tool_id: str) -> Registered | None:
        """The resolvers' answer; None or ToolNotFoundError is "not found", every other error is passed on."""
        known = self._entries.get(tool_id)
        if known is None:
            check_name(tool_id)
        try:
            tool = self._tool(tool_id)
        except ToolNotFoundError:
            return None
        if tool is None:
            return None
        try:
            found = self._backends(tool_id) if self._backends is not None else ()
        except ToolNotFoundError:  # of a tool that is known, so that this means: none
            found = ()
        backends = tuple(found or ())
        if known is not None and known.tool is tool and known.backends == backends:
            return known
        if len(self._entries) >= CACHED:
            self._entries.clear()  # what is still in use is made again
        made = self._entries[tool_id] = entry_of(tool_id, tool, backends)
        return made

    def names(self) -> Iterable[str]:
        return ()  # an index of any size is not listed for a hint


def entry_of(tool_id: str, tool: Tool, backends: tuple[ToolBackend, ...]) -> Registered:
    """A tool whose backends know its function."""
    return Registered(
        name=tool_id,
        tool=tool,
        backends=backends,
        handler=None,
        check=None,
        is_async=False,
        plugin_name="local",
        background=tool.auto_background is not None,
        carrier=False,
    )

"""What is known of a server: its configuration, what it offers, and how it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from executor.values._profile import ProfileName

CALL_SECONDS = 300.0  # for calls that nobody limited; a call that waits for ever holds a thread for ever
START_SECONDS = 30.0  # from a start to the first answer
FIRST_START_SECONDS = 60.0  # of a package runner, which may have to download its server first

_PATTERN = frozenset("*?[")

Transport: TypeAlias = Literal["stdio", "http", "sse", "memory"]
News: TypeAlias = Literal["tools", "prompts", "resources"]  # of what a server says that it has changed
State: TypeAlias = Literal["unusable", "stopped", "starting", "running", "waiting"]


def is_named(tool: str, names: Iterable[str]) -> bool:
    """Whether one of *names* is a tool's, or a pattern that fits it: no name of a tool has such characters."""
    return any(tool == name or (not _PATTERN.isdisjoint(name) and fnmatchcase(tool, name)) for name in names)


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """
    How to reach one MCP server; made by `parse_entry` from an entry of an ``mcpServers`` file.

    Attributes:
        transport: Says which of the other fields are set.
        env: Variables for the process, added to the few that every server gets (PATH, HOME …).
        confine: The profile of the box that the process runs in; None for no box.
        protocol: The revision of MCP to be spoken; ``auto`` for the newest that both know.
        hidden: What variables have put into `url`, `headers` and `oauth`; no error quotes it.
        oauth: How to log in, where the server does not say it all: ``clientId``, ``clientSecret``, ``scope``,
            ``callbackPort``.
        include: The only tools that may be used, by name or pattern with ``*``; None: all.
        exclude: Tools that may not be used, in the same way.
        server: The server object of an in-memory server.
        timeout: Seconds for a call that brings no limit of its own.
        start_timeout: Seconds from starting it to its first answer.
        idle_timeout: Seconds without a call after which it is stopped; None: never.
        shared: Whether all clients of an executor that is served use one and the same; else each has its own.
        problem: Why it cannot be used, in words, or None.
        source: Where the entry stands.
        lost: What of the entry has no effect here, in words.
        entry: The entry as it is written, with its variables unexpanded; for showing, masked.
    """

    name: str
    transport: Transport = "stdio"
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)  # here and below may be secrets
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    confine: ProfileName | None = None
    protocol: str = "auto"
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    hidden: frozenset[str] = field(default=frozenset(), repr=False)
    oauth: Mapping[str, Any] | None = field(default=None, repr=False)
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    server: object = None
    timeout: float = CALL_SECONDS
    start_timeout: float = START_SECONDS
    idle_timeout: float | None = None
    shared: bool = False
    problem: str | None = None
    source: str = ""
    lost: tuple[str, ...] = ()
    entry: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def offers(self, tool: str) -> bool:
        """Whether a tool of the server may be used."""
        return not is_named(tool, self.exclude) and (self.include is None or is_named(tool, self.include))

    @property
    def fingerprint(self) -> str:
        """Hex digits that change when another server is meant; made of the entry as written, so of no secret value."""
        import hashlib  # 4 ms, which a process without servers need not spend
        import json

        told = [self.name, self.transport, self.entry, self.cwd, self.source]
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """
    What a server offers.

    Attributes:
        tools: Each as MCP writes it: ``name``, ``description``, ``inputSchema``, ``outputSchema``, ``annotations`` …
        left_out: Name and reason of each tool that could not be taken.
        prompts: Whether it has prompts.
        resources: Whether it has resources.
    """

    tools: tuple[Mapping[str, Any], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    prompts: bool = False
    resources: bool = False

    def __eq__(self, other: object) -> bool:
        """Whether a client is told the same: as JSON, for Python takes 1, 1.0 and true for one value."""
        return isinstance(other, Listing) and self._text() == other._text()

    __hash__ = None  # type: ignore[assignment]  # as for all that has dicts in it

    def _text(self) -> str:
        import json

        return json.dumps([self.tools, self.left_out, self.prompts, self.resources], sort_keys=True, default=str)

    def tool(self, name: str) -> Mapping[str, Any] | None:
        """The tool of this name."""
        return next((tool for tool in self.tools if tool["name"] == name), None)


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """
    One server at one moment.

    Attributes:
        state: ``unusable`` (wrongly configured), ``stopped``, ``starting``, ``running``, or ``waiting`` (it failed
            several times in a row and is not started again before some time has passed).
        problem: What went wrong last, or None.
        pid: Its process, for one that is started here.
        protocol: The revision of MCP that was agreed on.
        server: Its name and version as it says them.
        tools: How many tools it has; None when it was never asked.
        calls: How many calls it works on.
        answered: How many it has answered since it was first started.
        starts: How often it was started.
        stderr: The end of what it wrote to stderr, and of lines on stdout that were no messages.
    """

    name: str
    state: State
    problem: str | None = None
    pid: int | None = None
    protocol: str | None = None
    server: str | None = None
    tools: int | None = None
    calls: int = 0
    answered: int = 0
    starts: int = 0
    stderr: str = ""


@dataclass(frozen=True, slots=True)
class Elicitation:
    """
    What a server wants to know from a person.

    Attributes:
        schema: The form, a flat JSON Schema; None when the person is sent to `url` instead.
    """

    server: str
    message: str
    schema: Mapping[str, Any] | None = None
    url: str | None = None

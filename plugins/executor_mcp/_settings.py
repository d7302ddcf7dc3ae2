"""The plugin's configuration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from executor.mcp import ServerConfig

THRESHOLD = 10.0  # as for commands: what takes longer is worth an id
LIST_SECONDS = 3.5  # for servers whose tools are not known yet; the others' are on disk
_NOTHING: Mapping[str, Any] = {}


class Options(NamedTuple):
    """
    What can be set for a server, and for each of its tools.

    Attributes:
        threshold: Seconds after which a call goes to the background; None never.
        timeout: Seconds after which a call is given up; None: what the server's entry says.
        enabled: Whether it is used.
        trusted: Whether the server's word that a tool only reads, or may be repeated, is believed.
        tools: What is set for single tools, by the server's names or patterns with ``*``.
    """

    threshold: float | None = THRESHOLD
    timeout: float | None = None
    enabled: bool = True
    trusted: bool = False
    tools: Mapping[str, Options] = _NOTHING

    def of_tool(self, name: str) -> Options:
        """What is set for one tool: under its name, else under the first pattern with ``*`` that fits it."""
        named = self.tools.get(name)
        fitting = (options for pattern, options in self.tools.items() if fnmatchcase(name, pattern))
        return named if named is not None else next(fitting, self)


class Settings(NamedTuple):
    """
    What can be configured: ``servers`` (entries by name, as in ``mcpServers`` files), ``files`` (paths of such files,
    or names of hosts such as ``cursor``), ``catalogue`` (whether ``toolexec mcp add`` counts), ``threshold``,
    ``timeout``, ``list_timeout``, ``start_timeout``, ``idle_timeout`` (seconds), ``options`` (by server: `Options`).

    Attributes:
        servers: Those that are used; of two of one name the first.
        options: What is set for each server.
    """

    servers: Mapping[str, ServerConfig] = _NOTHING
    options: Mapping[str, Options] = _NOTHING
    default: Options = Options()
    list_timeout: float = LIST_SECONDS

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Settings:
        """
        The settings that *config* asks for; what it does not name has its default.

        Raises:
            ValueError: A key is unknown, or its value does not fit; the message says what would.
        """
        _check_keys("", config, _KEYS)
        default = _options("", {key: config[key] for key in ("threshold", "timeout") if key in config}, Options())
        options = {
            str(name): _options(f"options.{name}.", table, default)
            for name, table in _table("options", config.get("options")).items()
        }
        settings = cls(options=options, default=default, list_timeout=_seconds(config, "list_timeout", LIST_SECONDS))
        return settings._replace(servers=settings._chosen(config))

    def of_server(self, name: str) -> Options:
        """What is set for one server."""
        return self.options.get(name, self.default)

    def offers(self, server: str, tool: str) -> bool:
        """Whether a tool of this name may be used, as far as the server's entry says."""
        return server not in self.servers or self.servers[server].offers(tool)

    def _chosen(self, config: Mapping[str, Any]) -> dict[str, ServerConfig]:
        from executor.mcp import configured

        try:
            found = configured(config)
        except ValueError as error:
            raise ValueError(f"executor_mcp: {error}") from error
        for problem in found.problems:
            warn(problem)
        return {
            name: replace(
                server,
                timeout=self.of_server(name).timeout or server.timeout,
                start_timeout=_seconds(config, "start_timeout", server.start_timeout),
                idle_timeout=_seconds(config, "idle_timeout", None),
            )
            for name, server in found.servers.items()
            if self.of_server(name).enabled
        }


def warn(message: str) -> None:
    """Say that something cannot be used; everything else can."""
    import logging  # 8 ms, and most processes never warn

    logging.getLogger("executor").warning(message)


_KEYS = (
    "servers", "files", "catalogue", "threshold", "timeout", "list_timeout", "start_timeout", "idle_timeout", "options",
)  # fmt: skip


def _table(key: str, value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"executor_mcp: {key} is {value!r}: give a table")  # noqa: TRY004 -- as for every setting
    return value


def _check_keys(where: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise ValueError(f"executor_mcp: unknown key {where}{key}: use {', '.join(known)}")


def _options(where: str, value: object, default: Options) -> Options:
    table = _table(where.rstrip("."), value)
    _check_keys(where, table, Options._fields)
    for key in ("enabled", "trusted"):
        if not isinstance(table.get(key, False), bool):
            raise ValueError(f"executor_mcp: {where}{key} is {table[key]!r}: give true or false")  # noqa: TRY004 -- as above
    threshold = default.threshold
    if "threshold" in table:
        threshold = None if table["threshold"] is None else _seconds(table, "threshold", None, where, least=0.0)
    own = default._replace(
        threshold=threshold,
        timeout=_seconds(table, "timeout", default.timeout, where),
        enabled=table.get("enabled", True),
        trusted=table.get("trusted", default.trusted),
    )
    tools = _table(f"{where}tools", table.get("tools"))
    return own._replace(tools={str(name): _options(f"{where}tools.{name}.", item, own) for name, item in tools.items()})


def _seconds(table: Mapping[str, Any], key: str, default: Any, where: str = "", least: float | None = None) -> Any:
    value = table.get(key)
    if value is None:
        return default
    fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or value < (least if least is not None else 0) or (least is None and value == 0):
        more = "0 or more" if least is not None else "more than 0"
        raise ValueError(f"executor_mcp: {where}{key} is {value!r}: give seconds ({more})")
    return float(value)

"""Every server that is configured, wherever: in the configuration itself, in our own file, in files of other hosts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from executor.mcp._hosts import catalogue_path, files_of
from executor.ownfiles import keep_own

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor.mcp._values import ServerConfig


class Configured(NamedTuple):
    """
    Attributes:
        servers: By name; of two of one name the first.
        problems: What could not be read, or was left out, in words.
    """

    servers: dict[str, ServerConfig]
    problems: list[str]


def configured(config: Mapping[str, Any]) -> Configured:
    """
    The servers that a configuration means. Those that are switched off are left out.

    Args:
        config: ``servers`` (entries by name, or server objects), ``files`` (paths, or names of hosts), ``catalogue``
            (whether our own file counts; it does by default).

    Raises:
        ValueError: One of the three has a value that cannot be meant.
    """
    from executor.mcp._config import is_switched_off

    entries = config.get("servers", {})
    if not isinstance(entries, Mapping):
        raise ValueError(f"servers is {entries!r}: give a table of servers by name")  # noqa: TRY004 -- as for every setting
    files = list(_files(config))
    found = Configured({}, [])
    if not entries and not files:
        return found
    for server in [*_written(entries), *_read(files, found.problems)]:
        kept = found.servers.setdefault(server.name, server)
        if kept is not server and not is_switched_off(server.entry):
            source = kept.source or "the configuration"
            off = ", and is switched off" if is_switched_off(kept.entry) else ""
            found.problems.append(
                f"the MCP server {server.name!r} of {server.source} is left out: the one of {source} has its name{off}"
            )
    used = {name: server for name, server in found.servers.items() if not is_switched_off(server.entry)}
    own = ("", str(catalogue_path()))
    for server in used.values():  # a file of another assistant has words for that one
        told = server.lost if server.source in own else ()
        found.problems.extend(f"the MCP server {server.name!r}: {loss}" for loss in told)
    return found._replace(servers=used)


def _written(entries: Mapping[str, Any]) -> Iterator[ServerConfig]:
    from executor.mcp._config import parse_entry
    from executor.mcp._values import ServerConfig

    for name, entry in entries.items():
        if isinstance(entry, ServerConfig):
            yield entry
        elif isinstance(entry, Mapping | str | int | float | list) or entry is None:
            yield parse_entry(str(name), entry)
        else:
            yield ServerConfig(str(name), "memory", server=entry)


def _read(files: list[Path], problems: list[str]) -> Iterator[ServerConfig]:
    from executor.mcp._files import load_file

    for path in files:
        try:
            yield from load_file(path, anywhere=True).servers
        except ValueError as error:
            problems.append(f"{error}; its MCP servers are left out")


def _files(config: Mapping[str, Any]) -> Iterator[Path]:
    own = catalogue_path()
    if config.get("catalogue", True) is not False and own.exists():
        yield own
    named = config.get("files", [])
    if not isinstance(named, list) or not all(isinstance(file, str) for file in named):
        raise ValueError(f"files is {named!r}: give a list of paths, or of hosts such as 'cursor'")
    for file in named:
        if "/" in file or "\\" in file or file.endswith((".json", ".toml", ".yaml", ".yml")):
            path = Path(file).expanduser()
            if not path.is_absolute():  # of a cloned project, it would run whatever that says
                raise ValueError(f"files has {file!r}, which is another file in every folder: give its full path")
            yield _own(path)
        else:
            yield from map(_own, files_of(file, None))


def _own(path: Path) -> Path:
    """It names the programs that are run next, outside of every box."""
    keep_own(path)
    return path

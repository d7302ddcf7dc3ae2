"""The servers of another assistant, or of a file, that ``toolexec mcp import`` is to copy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from executor.cli._errors import CliError
from executor.pasted import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor.cli._render import Screen
    from executor.mcp import ServerConfig


def chosen(screen: Screen, source: str, names: Sequence[str]) -> dict[str, ServerConfig]:
    """
    Those of *names*; without any all, but of a host's files only what stands in the user's own: what a project brings
    says what is run, and is whoever's that wrote it. A project's server never takes the place of one of the user's.

    Raises:
        CliError: There is no such file or server, or it cannot be read.
    """
    from executor.mcp import HOSTS, files_of

    own = files_of(source, None) if source in HOSTS else [Path(source).expanduser()]
    brought = [path for path in files_of(source, Path.cwd()) if path not in own] if source in HOSTS else []
    if not own and not brought:
        raise CliError(f"{source} has no file with servers here")
    if source not in HOSTS and not own[0].exists():
        raise CliError(f"{source!r} is neither a file nor one of {', '.join(HOSTS)}")
    found = _read([*own, *brought], source if source in HOSTS else None)
    missing = [name for name in names if name not in found]
    if missing:
        raise CliError(f"{source} has no server {missing[0]!r}; it has {', '.join(found) or 'none'}")
    if names:
        return {name: server for name, server in found.items() if name in names}
    left = {name for name, server in found.items() if server.source in map(str, brought)}
    for name in sorted(left):
        screen.note(
            f"{name}: {found[name].source} came with the project, and says what is run: it is not copied unless you "
            f"name it: {within(f'toolexec mcp import {source}', name)}"
        )
    return {name: server for name, server in found.items() if name not in left}


def _read(files: list[Path], host: str | None) -> dict[str, ServerConfig]:
    from executor.mcp import load_file

    found: dict[str, ServerConfig] = {}
    for path in files:
        try:
            servers = load_file(path, host=host).servers
        except ValueError as error:
            if len(files) == 1:
                raise CliError(str(error)) from error
            continue  # a project's file counts although the user's own has no servers
        for server in servers:
            found.setdefault(server.name, server)
    return found

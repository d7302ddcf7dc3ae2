"""Files of servers, of whichever host. Nothing here writes. A file that cannot be read is an error, with its line."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from executor._regular import read_regular
from executor.mcp._binding import bound
from executor.mcp._config import URL_KEYS, Expander, here, parsed
from executor.mcp._foreign import Foreign, switched_off, translated
from executor.mcp._hosts import host_of, project_of

if TYPE_CHECKING:
    from pathlib import Path

    from executor.mcp._values import ServerConfig

_PLACES = ("mcpServers", "servers", "context_servers", "mcp_servers", "extensions")  # also Zed's, Codex's and goose's
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Found:
    """What a file of servers has."""

    path: Path
    servers: tuple[ServerConfig, ...] = ()


def load_file(
    path: Path,
    *,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    host: str | None = None,
    anywhere: bool = False,
) -> Found:
    """
    The servers of a file, of whichever host: JSON (comments are allowed), TOML, or YAML where PyYAML is installed.

    Args:
        folder: As for `parse_entry`; by default the project's that the file belongs to.
        variables: As for `parse_entry`.
        anywhere: As for `parse_entry`. A file that belongs to a project means one folder in any case.
        host: Whose it is; by default its name tells.

    Raises:
        ValueError: It cannot be read, is no JSON (with the line), names a server twice, or has no servers at all.
    """
    try:
        text = read_regular(path).decode("utf-8-sig")
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: it cannot be read: {error}") from error
    host = host or host_of(path)
    project = project_of(path)
    document = _document(text, path)
    entries = entries_of(document, folder or project or here(), host)
    if entries is None:
        raise ValueError(f'{path}: it has no servers: {{"mcpServers": {{"name": {{"command": …}}}}}} is expected')
    entries = {
        name: {**entry, "disabled": True} if name in _off_beside(host, path) and isinstance(entry, Mapping) else entry
        for name, entry in entries.items()
    }
    expand = Expander(folder or project or here(), os.environ if variables is None else variables)
    anywhere = anywhere and project is None
    return Found(
        path,
        tuple(
            parsed(name, _of_project(translated(entry, host), project), expand, str(path), anywhere=anywhere)
            for name, entry in entries.items()
        ),
    )


def _off_beside(host: str | None, path: Path) -> set[str]:
    """The servers of a project that Claude Code's own settings switch off."""
    found: set[str] = set()
    if host != "claude-code" or path.name != ".mcp.json":
        return found
    folder = path.absolute().parent
    for file in (folder / ".claude" / "settings.local.json", folder / ".claude" / "settings.json"):
        with contextlib.suppress(OSError, ValueError):  # they are not what is read here; a broken one is its host's
            document = parse_text(read_regular(file).decode("utf-8-sig"), str(file))
            found |= switched_off(host, document, str(folder))[0] if isinstance(document, Mapping) else set()
    return found


def _document(text: str, path: Path) -> Any:
    if path.suffix == ".toml":
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path}: {error}") from None
    if path.suffix not in (".yaml", ".yml"):
        return parse_text(text, str(path))
    try:
        import yaml  # type: ignore[import-untyped, unused-ignore]  # it ships no types, and need not be installed
    except ImportError:
        raise ValueError(f"{path}: YAML is not read without PyYAML: pip install 'toolexec[yaml]'") from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: {error}") from None


def parse_text(text: str, where: str) -> Any:
    """JSON with comments and trailing commas. Raises ValueError with the line."""
    plain = _STRING_OR_COMMENT.sub(lambda found: _blanked(found.group()), text)
    plain = _STRING_OR_COMMA.sub(lambda found: " " if found.group() == "," else found.group(), plain)
    try:
        return json.loads(plain, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except _TwiceError as error:
        again = [found.start() for found in re.finditer(re.escape(json.dumps(error.name)) + r"\s*:", plain)][1:]
        line = plain.count("\n", 0, again[0]) + 1 if again else 0
        raise ValueError(f"{where}: line {line}: the name {error.name!r} stands there twice") from None
    except RecursionError:
        raise ValueError(f"{where}: it is nested too deeply") from None


def _blanked(text: str) -> str:
    return text if text.startswith('"') else re.sub(r"[^\n]", " ", text)


class _TwiceError(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise _TwiceError(name)
        made[name] = value
    return made


def entries_of(document: object, folder: Path, host: str | None = None) -> dict[str, Any] | None:
    """The entries by name, wherever the document has them; None if it has none. What is switched off says so."""
    found = _entries(document, folder)
    if found is None or not isinstance(document, Mapping):
        return found
    off, only = switched_off(host, document, str(folder))
    return {
        name: {**entry, "disabled": True}
        if isinstance(entry, Mapping) and (name in off or (only is not None and name not in only))
        else entry
        for name, entry in found.items()
    }


def _entries(document: object, folder: Path) -> dict[str, Any] | None:
    if not isinstance(document, Mapping):
        return None
    found: dict[str, Any] = {}
    known = False
    # ~/.claude.json keeps the servers of a single project under that project; they come first, as they do there.
    projects = document.get("projects")
    own = projects.get(str(folder)) if isinstance(projects, Mapping) else None
    for place in (own, document):
        if not isinstance(place, Mapping):
            continue
        for key in _PLACES:
            servers = place.get(key)
            if isinstance(servers, list):  # Continue's, each with its name
                servers = {item["name"]: item for item in servers if isinstance(item, Mapping) and "name" in item}
            if isinstance(servers, Mapping):
                known = True
                for name, entry in servers.items():
                    found.setdefault(str(name), entry)
    if known:
        return found
    if document and all(isinstance(entry, Mapping) and _is_entry(entry) for entry in document.values()):
        return {str(name): entry for name, entry in document.items()}
    return None


def _of_project(foreign: Foreign, project: Path | None) -> Foreign:
    """An entry of a project's file, as it means the same everywhere."""
    if project is None or not isinstance(foreign.entry, Mapping):
        return foreign
    return foreign._replace(entry=bound(foreign.entry, project, of_project=True))


def _is_entry(entry: Mapping[str, Any]) -> bool:
    return any(key in entry for key in ("command", *URL_KEYS))

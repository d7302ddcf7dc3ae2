"""
Entries of ``mcpServers`` files, in every spelling that hosts use, and the files themselves. Nothing here writes.

An entry that cannot be used costs nobody but itself: its `ServerConfig` has a `problem`. A file that is no JSON is an
error, with its line.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from executor.mcp._values import ServerConfig, Transport
from executor.values._profile import PROFILE_NAMES

if TYPE_CHECKING:
    from executor.values._profile import ProfileName

TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}
URL_KEYS = ("url", "httpUrl", "serverUrl")
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_NAME = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Found:
    """What a file of servers has."""

    path: Path
    servers: tuple[ServerConfig, ...] = ()


class _UnusableError(Exception):
    """Why an entry cannot be used."""


def parse_entry(
    name: str,
    entry: object,
    *,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    source: str = "",
) -> ServerConfig:
    """
    The server that *entry* describes. Never raises: what is wrong with it is its `problem`.

    Args:
        folder: What ``${workspaceFolder}`` means; the working folder by default.
        variables: What other ``${…}`` mean; the environment by default.
        source: Where the entry stands.
    """
    written = dict(entry) if isinstance(entry, Mapping) else {}
    expand = _Expander(folder or _here(), os.environ if variables is None else variables)
    try:
        told = _read(entry, expand)
    except _UnusableError as problem:
        return ServerConfig(name, problem=str(problem), source=source, entry=written)
    return ServerConfig(name, source=source, entry=written, **told)


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:  # the working folder was removed
        return Path()


def _read(entry: object, expand: _Expander) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise _UnusableError(f"its entry is a {type(entry).__name__}, not an object")
    if entry.get("disabled") is True or entry.get("enabled") is False:
        raise _UnusableError("it is switched off where it is configured")
    url = next((expand.text(entry[key], key) for key in URL_KEYS if entry.get(key)), "")
    transport = _transport(entry, url)
    if transport == "stdio":
        if not entry.get("command"):
            raise _UnusableError('it has neither a "command" nor a "url"')
        arguments = entry.get("args") or []
        if not isinstance(arguments, list):
            raise _UnusableError('"args" is no list of texts')
        env = _env_file(expand.text(entry["envFile"], "envFile")) if entry.get("envFile") else {}
        cwd = entry.get("cwd")
        return {
            "transport": transport,
            "command": _at_home(expand.text(entry["command"], "command")),
            "args": tuple(expand.text(argument, "args") for argument in arguments),
            "env": env | _texts(entry, "env", expand),
            "cwd": _at_home(expand.text(cwd, "cwd")) if cwd else None,
            "confine": _confine(entry.get("confine")),
        }
    if entry.get("confine") not in (None, "open"):
        raise _UnusableError('"confine" is for servers that are started here, and this one has a "url"')
    _check_url(url)
    return {"transport": transport, "url": url, "headers": _texts(entry, "headers", expand)}


def _confine(value: Any) -> ProfileName | None:
    if value is not None and value not in PROFILE_NAMES:
        raise _UnusableError(f'"confine" is {value!r}: use {", ".join(PROFILE_NAMES)}')
    return None if value == "open" else value


def _at_home(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111 -- pathlib would make "./server" a program that is looked for on PATH


def _transport(entry: Mapping[str, Any], url: str) -> Transport:
    named = entry.get("type") or entry.get("transport")
    if named is None:
        return "stdio" if not url else "sse" if url.rstrip("/").endswith("/sse") and "url" in entry else "http"
    found = TRANSPORTS.get(str(named))
    if found is None:
        raise _UnusableError(f"its transport is {named!r}, which is unknown: use stdio, http or sse")
    if found != "stdio" and not url:
        raise _UnusableError(f'its transport is {named!r}, but it has no "url"')
    return found


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _UnusableError(f"its URL cannot be read: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise _UnusableError("its URL is not http:// or https:// with a host")
    if parts.username is not None or parts.password is not None:
        # Not shown: a URL ends up in logs, errors and process lists.
        raise _UnusableError(
            'its URL has a user or password in it: take them out, and give "headers": {"Authorization": "Basic ${VAR}"}'
        )


def _texts(entry: Mapping[str, Any], key: str, expand: _Expander) -> dict[str, str]:
    value = entry.get(key) or {}
    if not isinstance(value, Mapping):
        raise _UnusableError(f'"{key}" is no object of texts')
    return {str(name): expand.text(item, f"{key}.{name}") for name, item in value.items() if item is not None}


class _Expander:
    """Puts values in place of ``${VAR}``, ``${VAR:-default}``, ``${env:VAR}`` and ``${workspaceFolder}``."""

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._places = {
            "workspaceFolder": str(folder),
            "workspaceFolderBasename": folder.name,
            "userHome": str(Path.home()),
            "pathSeparator": os.sep,
            "/": os.sep,
        }

    def text(self, value: object, where: str) -> str:
        """*value* with its variables replaced."""
        if isinstance(value, bool | int | float):
            value = json.dumps(value)
        if not isinstance(value, str):
            raise _UnusableError(f'"{where}" is a {type(value).__name__}, not a text')
        return _VARIABLE.sub(self._value, value)

    def _value(self, found: re.Match[str]) -> str:
        inside = found.group(1)
        if inside in self._places:
            return self._places[inside]
        if inside.startswith("input:"):
            raise _UnusableError(
                f"it wants the input {inside[6:]!r}, which only its own host asks for: write ${{env:NAME}} instead"
            )
        variable = _NAME.fullmatch(inside)
        if variable is None:
            raise _UnusableError(f"${{{inside}}} is not understood: use ${{VAR}}, ${{VAR:-default}} or ${{env:VAR}}")
        name, default = variable.groups()
        value = self._variables.get(name)
        if not value and default is not None:
            return default
        if value is None:
            raise _UnusableError(
                f"the variable {name} is not set: set it in the environment, or write ${{{name}:-default}}"
            )
        return value


def _env_file(path: str) -> dict[str, str]:
    try:
        lines = Path(path).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise _UnusableError(f"its envFile cannot be read: {error}") from error
    pairs = [line.removeprefix("export ").partition("=") for line in lines if "=" in line and line.lstrip()[:1] != "#"]
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}


def load_file(path: Path, *, folder: Path | None = None, variables: Mapping[str, str] | None = None) -> Found:
    """
    The servers of a file: ``mcpServers``, ``servers`` (VS Code), or the entries alone; comments are allowed.

    Args:
        folder, variables: As for `parse_entry`.

    Raises:
        ValueError: It cannot be read, is no JSON (with the line), names a server twice, or has no servers at all.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: it cannot be read: {error}") from error
    entries = entries_of(parse_text(text, str(path)), folder or _here())
    if entries is None:
        raise ValueError(f'{path}: it has no servers: {{"mcpServers": {{"name": {{"command": …}}}}}} is expected')
    return Found(
        path,
        tuple(
            parse_entry(name, entry, folder=folder, variables=variables, source=str(path))
            for name, entry in entries.items()
        ),
    )


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


def entries_of(document: object, folder: Path) -> dict[str, Any] | None:
    """The entries by name, wherever the document has them; None if it has none."""
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
        for key in ("mcpServers", "servers"):
            servers = place.get(key)
            if isinstance(servers, Mapping):
                known = True
                for name, entry in servers.items():
                    found.setdefault(str(name), entry)
    if known:
        return found
    if document and all(isinstance(entry, Mapping) and _is_entry(entry) for entry in document.values()):
        return {str(name): entry for name, entry in document.items()}
    return None


def _is_entry(entry: Mapping[str, Any]) -> bool:
    return any(key in entry for key in ("command", *URL_KEYS))

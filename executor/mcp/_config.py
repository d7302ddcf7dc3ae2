"""
Entries of ``mcpServers`` files, in every spelling that hosts use.

An entry that cannot be used costs nobody but itself: its `ServerConfig` has a `problem`.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from executor._regular import read_regular
from executor.mcp._binding import why_bound
from executor.mcp._foreign import Foreign, translated
from executor.mcp._values import FIRST_START_SECONDS, START_SECONDS, ServerConfig, Transport
from executor.ownfolders import home_folder
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
_UNFIT = re.compile(r"[\r\n\f\v\0]")  # in headers
_NAME = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
# What the SDK speaks, which is not imported for a look at a file.
PROTOCOLS = ("auto", "legacy", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")


class _UnusableError(Exception):
    """Why an entry cannot be used."""


def parse_entry(
    name: str,
    entry: object,
    *,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    source: str = "",
    host: str | None = None,
    anywhere: bool = False,
) -> ServerConfig:
    """
    The server that *entry* describes. Never raises: what is wrong with it is its `problem`.

    Args:
        folder: What ``${workspaceFolder}`` means; the working folder by default.
        variables: What other ``${…}`` mean; the environment by default.
        source: Where the entry stands.
        host: Whose spelling it has, where that is not the same for all.
        anywhere: It is used from every folder: one that would mean another program in each is then a problem.
    """
    expand = Expander(folder or here(), os.environ if variables is None else variables)
    return parsed(name, translated(entry, host), expand, source, anywhere=anywhere)


def parsed(name: str, foreign: Foreign, expand: Expander, source: str, *, anywhere: bool) -> ServerConfig:
    """As `parse_entry`, for an entry in our own spelling."""
    entry, lost = foreign
    written = dict(entry) if isinstance(entry, Mapping) else {}
    try:
        if anywhere:
            _check_bound(written)
        told = _read(entry, expand)
    except _UnusableError as problem:
        transport: Transport = "http" if any(written.get(key) for key in URL_KEYS) else "stdio"
        return ServerConfig(name, transport, problem=str(problem), source=source, entry=written, lost=lost)
    return ServerConfig(name, source=source, entry=written, lost=lost, **told)


def _check_bound(entry: Mapping[str, Any]) -> None:
    why = why_bound(entry)
    if why is not None:
        raise _UnusableError(f"{why}, so it would be another program in each folder: import it from its own")


def here() -> Path:
    """The working folder."""
    try:
        return Path.cwd()
    except OSError:  # the working folder was removed
        return Path()


def is_switched_off(entry: Mapping[str, Any]) -> bool:
    """Whether the entry says that its server is not to be used."""
    return entry.get("disabled") is True or entry.get("enabled") is False


def _read(entry: object, expand: Expander) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise _UnusableError(f"its entry is a {type(entry).__name__}, not an object")
    for key in ("disabled", "enabled"):
        if not isinstance(entry.get(key), bool | None):
            raise _UnusableError(f'"{key}" is {entry[key]!r}: use true or false')
    if is_switched_off(entry):
        raise _UnusableError("it is switched off where it is configured")
    url = next((expand.text(entry[key], key) for key in URL_KEYS if entry.get(key)), "")
    transport = _transport(entry, url)
    common = _common(entry, expand)
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
            "start_timeout": FIRST_START_SECONDS if _is_runner(entry["command"]) else START_SECONDS,
            **common,
        }
    if entry.get("confine") not in (None, "open"):
        raise _UnusableError('"confine" is for servers that are started here, and this one has a "url"')
    _check_url(url)
    headers = _headers(entry, expand)
    place = urlsplit(url).netloc  # of which every error speaks
    hidden = frozenset(value for value in expand.given if value not in place)
    return {"transport": transport, "url": url, "headers": headers, "hidden": hidden, **common}


_RUNNERS = frozenset(
    {
        "npx",
        "npm",
        "pnpm",
        "yarn",
        "bunx",
        "bun",
        "uvx",
        "uv",
        "pipx",
        "docker",
        "podman",
        "deno",
        "go",
        "dotnet",
        "nix",
    }
)


def _is_runner(command: object) -> bool:
    """Whether a command may have to download its server first."""
    return isinstance(command, str) and command.replace("\\", "/").rpartition("/")[2].partition(".")[0] in _RUNNERS


def _common(entry: Mapping[str, Any], expand: Expander) -> dict[str, Any]:
    """What an entry may say of servers of every kind."""
    # What Gemini shuts out with some arguments only, "tool(rm *)", is shut out whole.
    found: dict[str, Any] = {"exclude": tuple(name.partition("(")[0] for name in _names(entry, "excludeTools"))}
    if entry.get("includeTools") is not None:
        found["include"] = tuple(_names(entry, "includeTools"))
    for key, name in (("timeout", "timeout"), ("startTimeout", "start_timeout")):
        value = entry.get(key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < threading.TIMEOUT_MAX:
            raise _UnusableError(f'"{key}" is {value!r}: give seconds')
        found[name] = float(value)
    shared = entry.get("shared", False)
    if not isinstance(shared, bool):
        raise _UnusableError(f'"shared" is {shared!r}: use true or false')
    found["shared"] = shared
    protocol = entry.get("protocol", "auto")
    if protocol not in PROTOCOLS:
        raise _UnusableError(f'"protocol" is {protocol!r}: use {", ".join(PROTOCOLS)}')
    found["protocol"] = protocol
    oauth = entry.get("oauth")
    if oauth is not None:
        if not isinstance(oauth, Mapping):
            raise _UnusableError('"oauth" is no object')
        found["oauth"] = {
            str(key): expand.text(value, f"oauth.{key}") for key, value in oauth.items() if value is not None
        }
    return found


def _names(entry: Mapping[str, Any], key: str) -> list[str]:
    """A list of tools. One that cannot be read must not open what it was to keep shut."""
    value = entry.get(key) or []
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise _UnusableError(f'"{key}" is no list of names')
    return value


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
        raise _UnusableError("its URL cannot be read") from error  # the error would quote it, secrets and all
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise _UnusableError("its URL is not http:// or https:// with a host")
    if parts.username is not None or parts.password is not None:
        # Not shown: a URL ends up in logs, errors and process lists.
        raise _UnusableError(
            'its URL has a user or password in it: take them out, and give "headers": {"Authorization": "Basic ${VAR}"}'
        )


def _headers(entry: Mapping[str, Any], expand: Expander) -> dict[str, str]:
    """Without space around them: what a variable has may have been read from a file, with its line break."""
    found = {name: value.strip() for name, value in _texts(entry, "headers", expand).items()}
    for name, value in found.items():
        if not name.isascii() or _UNFIT.search(name + value):  # the value is not shown: it may be a secret
            raise _UnusableError(f"its header {name!r} would have a line break, which no header may have")
    return found


def _texts(entry: Mapping[str, Any], key: str, expand: Expander) -> dict[str, str]:
    value = entry.get(key) or {}
    if not isinstance(value, Mapping):
        raise _UnusableError(f'"{key}" is no object of texts')
    return {str(name): expand.text(item, f"{key}.{name}") for name, item in value.items() if item is not None}


class Expander:
    """
    Puts values in place of ``${VAR}``, ``${VAR:-default}``, ``${env:VAR}`` and ``${workspaceFolder}``.

    Attributes:
        given: What variables had, without space around it.
    """

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self.given: set[str] = set()
        self._places = {
            "workspaceFolder": str(folder),
            "workspaceFolderBasename": folder.name,
            "userHome": str(home_folder()),
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
        self.given.add(value.strip())
        return value


def _env_file(path: str) -> dict[str, str]:
    try:
        lines = read_regular(Path(path).expanduser()).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise _UnusableError(f"its envFile cannot be read: {error}") from error
    pairs = [line.removeprefix("export ").partition("=") for line in lines if "=" in line and line.lstrip()[:1] != "#"]
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}

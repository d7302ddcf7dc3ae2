"""Entries as other assistants spell them, in the spelling that is read here. What is lost on the way is named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

# Our own spelling, which is that of most.
KNOWN = frozenset(
    {
        "args",
        "command",
        "confine",
        "cwd",
        "disabled",
        "enabled",
        "env",
        "envFile",
        "excludeTools",
        "headers",
        "httpUrl",
        "includeTools",
        "oauth",
        "protocol",
        "serverUrl",
        "shared",
        "startTimeout",
        "timeout",
        "transport",
        "type",
        "url",
    }
)
_OF_NO_EFFECT = frozenset(
    {
        "$schema",
        "name",
        "description",
        "display_name",
        "title",
        "icon",
        "gallery",
        "version",
        "bundled",
        "source",
        "faviconUrl",
    }
)
_LOSSES = {
    "trust": "calls are judged here as everywhere",
    "autoApprove": "calls are judged here as everywhere",
    "alwaysAllow": "calls are judged here as everywhere",
    "default_tools_approval_mode": "calls are judged here as everywhere",
    "autoStart": "servers start when they are first called",
    "sandbox": "it runs without that box: 'confine' is the one here",
    "sandboxEnabled": "it runs without that box: 'confine' is the one here",
    "headersHelper": "no program is run for headers: give them under 'headers'",
    "authProviderType": "only OAuth is spoken here",
}
_DOLLAR = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_OF_CONTINUE = re.compile(r"\$\{\{\s*(?:secrets|inputs)\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
MILLISECONDS = 1000  # a limit from here on is not in seconds, whoever wrote it


class Foreign(NamedTuple):
    """
    Attributes:
        entry: In our spelling.
        lost: What of it has no effect here, in words.
    """

    entry: Any
    lost: tuple[str, ...]


def translated(entry: Any, host: str | None) -> Foreign:
    """An entry of a host's file, or of any (None), in our spelling."""
    if not isinstance(entry, Mapping):
        return Foreign(entry, ())
    made: dict[str, Any] = {str(key): value for key, value in entry.items()}
    lost: list[str] = []
    for change in (_zed, _goose, _continue, _codex, _auth, _tools, _times):
        change(made, lost)
    if host == "gemini":
        made = _replaced(made, lambda text: _DOLLAR.sub(r"${\1}", text))
    if host == "continue":
        made = _replaced(made, lambda text: _OF_CONTINUE.sub(r"${\1}", text))
    for key in [*made]:
        if key not in KNOWN:
            value = made.pop(key)
            if key not in _OF_NO_EFFECT and value not in (None, False, [], {}, ""):
                lost.append(f"{key!r} has no effect here: {_LOSSES.get(key, 'it is not known')}")
    return Foreign(made, tuple(lost))


def _replaced(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _replaced(item, change) for key, item in value.items()}
    return [_replaced(item, change) for item in value] if isinstance(value, list) else value


def _zed(made: dict[str, Any], lost: list[str]) -> None:
    command = made.get("command")
    if isinstance(command, Mapping):
        made["command"] = command.get("path")
        for key in ("args", "env"):
            if key in command:
                made[key] = command[key]
    if "settings" in made and "command" not in made and "url" not in made:
        lost.append("it is an extension of Zed's, which has the command")
    made.pop("settings", None)


def _goose(made: dict[str, Any], lost: list[str]) -> None:
    for old, new in (("cmd", "command"), ("envs", "env"), ("uri", "url")):
        if old in made:
            made.setdefault(new, made.pop(old))
    if made.get("type") in ("builtin", "platform", "frontend", "inline_python"):
        lost.append(f"it is a part of its assistant ({made.pop('type')})")
    keys = made.pop("env_keys", None)
    if isinstance(keys, list) and keys:
        env = made.get("env")
        own = env if isinstance(env, Mapping) else {}
        made["env"] = {**{str(name): f"${{{name}}}" for name in keys}, **own}
        lost.append(f"set {', '.join(map(str, keys))} in the environment: its assistant keeps them in a keyring")


def _continue(made: dict[str, Any], _: list[str]) -> None:
    options = made.pop("requestOptions", None)
    if isinstance(options, Mapping) and isinstance(options.get("headers"), Mapping):
        made.setdefault("headers", options["headers"])
    if "connectionTimeout" in made:
        made.setdefault("startTimeout", made.pop("connectionTimeout"))


def _codex(made: dict[str, Any], _: list[str]) -> None:
    headers: dict[str, Any] = {}
    if isinstance(made.get("http_headers"), Mapping):
        headers.update(made.pop("http_headers"))
    if isinstance(made.get("env_http_headers"), Mapping):
        headers.update({name: f"${{{variable}}}" for name, variable in made.pop("env_http_headers").items()})
    if isinstance(made.get("bearer_token_env_var"), str):
        headers["Authorization"] = f"Bearer ${{{made.pop('bearer_token_env_var')}}}"
    if headers:
        made["headers"] = {**headers, **(made.get("headers") or {})}
    names = made.pop("env_vars", None)
    if isinstance(names, list) and names:
        made["env"] = {**{str(name): f"${{{name}}}" for name in names}, **(made.get("env") or {})}
    for old, new in (("tool_timeout_sec", "timeout"), ("startup_timeout_sec", "startTimeout")):
        if old in made:
            made[new] = made.pop(old)
    if "startup_timeout_ms" in made:
        told = made.pop("startup_timeout_ms")
        made["startTimeout"] = told / 1000 if isinstance(told, int | float) else told


_OAUTH = {
    "CLIENT_ID": "clientId",
    "CLIENT_SECRET": "clientSecret",
    "client_id": "clientId",
    "client_secret": "clientSecret",
    "clientId": "clientId",
    "clientSecret": "clientSecret",
    "scope": "scope",
    "scopes": "scope",
    "callbackPort": "callbackPort",
    "assumePkce": "assumePkce",
}


def _auth(made: dict[str, Any], lost: list[str]) -> None:
    """Cursor's ``auth``, Gemini's and Claude Code's ``oauth``."""
    told = made.pop("auth", None) or made.get("oauth")
    if not isinstance(told, Mapping):
        return
    found: dict[str, Any] = {}
    for key, value in told.items():
        if key in _OAUTH:
            found[_OAUTH[key]] = " ".join(map(str, value)) if isinstance(value, list) else value
        elif key != "enabled" and value:
            lost.append(f"'oauth.{key}' has no effect here: it is found by asking the server")
    made["oauth"] = found


def _tools(made: dict[str, Any], _: list[str]) -> None:
    for new, others in (("excludeTools", ("disabledTools", "disabled_tools")), ("includeTools", ("enabled_tools",))):
        for old in others:
            if old in made:
                told, own = made.pop(old), made.get(new, [])
                if isinstance(own, list):  # what is none is said, and keeps nothing open
                    made[new] = [*own, *told] if isinstance(told, list) else told
    available = made.pop("available_tools", None)  # goose: an empty list is all of them
    if available:
        made.setdefault("includeTools", available)


def _times(made: dict[str, Any], _: list[str]) -> None:
    for key in ("timeout", "startTimeout"):
        value = made.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= MILLISECONDS:
            made[key] = value / 1000


def switched_off(host: str | None, document: Mapping[str, Any], folder: str) -> tuple[set[str], set[str] | None]:
    """The servers that a host's document switches off elsewhere than in their entries; and the only ones it allows."""
    off: set[str] = set()
    only: set[str] | None = None
    if host == "gemini":
        mcp = document.get("mcp")
        told = mcp if isinstance(mcp, Mapping) else {}
        off = _names(told.get("excluded")) | _names(document.get("excludeMCPServers"))
        allowed = told.get("allowed", document.get("allowMCPServers"))
        only = _names(allowed) if isinstance(allowed, list) and allowed else None
    elif host == "claude-code":
        projects = document.get("projects")
        own = projects.get(folder) if isinstance(projects, Mapping) else None
        for place in (document, own if isinstance(own, Mapping) else {}):
            off |= _names(place.get("disabledMcpServers")) | _names(place.get("disabledMcpjsonServers"))
    return off, only


def _names(value: Any) -> set[str]:
    return {str(name) for name in value} if isinstance(value, list) else set()

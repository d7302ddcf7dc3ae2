"""Entries that belong to a folder: made independent of it, or known to depend on where they are used."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_FOLDER = re.compile(r"\$\{workspaceFolder(Basename)?\}")
_SCRIPT = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".jar", ".rb")


def bound(entry: Mapping[str, Any], folder: Path, *, of_project: bool) -> dict[str, Any]:
    """
    *entry* with its paths made absolute, so that it means the same from every folder.

    Args:
        of_project: It stands in a file of the project in *folder*, where its host runs it.
    """

    def replace(value: Any) -> Any:
        if isinstance(value, str):
            return _FOLDER.sub(lambda found: folder.name if found.group(1) else str(folder), value)
        if isinstance(value, Mapping):
            return {key: replace(item) for key, item in value.items()}
        return [replace(item) for item in value] if isinstance(value, list) else value

    made: dict[str, Any] = replace(dict(entry))
    needs = of_project or any(_is_relative(word, folder) for word in _words(entry))
    for key in ("command", "cwd", "envFile"):
        if isinstance(made.get(key), str) and made[key] and (key != "command" or _is_path(made[key])):
            made[key] = _absolute(made[key], folder)
    if needs and made.get("command") and not made.get("cwd"):
        made["cwd"] = str(folder)
    return made


def why_bound(entry: Mapping[str, Any]) -> str | None:
    """Why an entry would run another program in every folder from which it is used; None if it does not."""
    texts = [entry.get("command"), entry.get("cwd"), entry.get("envFile"), *_words(entry)]
    for text in texts:
        if isinstance(text, str) and _FOLDER.search(text):
            return "it is bound to a folder by ${workspaceFolder}"
    command = entry.get("command")
    if isinstance(command, str) and _is_path(command) and not _stays(command):
        return "its command is a relative path"
    cwd = entry.get("cwd")
    if isinstance(cwd, str) and cwd and not _stays(cwd):
        return "its cwd is a relative path"
    if not cwd and any(isinstance(word, str) and word.startswith(("./", "../")) for word in _words(entry)):
        return "it has a relative path in its arguments"
    return None


def _words(entry: Mapping[str, Any]) -> list[Any]:
    arguments = entry.get("args")
    return arguments if isinstance(arguments, list) else []


def _is_path(command: str) -> bool:
    return "/" in command or os.sep in command


def _stays(path: str) -> bool:
    """Whether a path means the same from everywhere."""
    return Path(path).is_absolute() or path.startswith(("~", "${"))


def _absolute(path: str, folder: Path) -> str:
    return path if _stays(path) else str(folder / path)


def _is_relative(word: Any, folder: Path) -> bool:
    if not isinstance(word, str) or word.startswith("-") or "://" in word or _stays(word):
        return False
    if word.startswith(("./", "../")):
        return True
    return ("/" in word or word.endswith(_SCRIPT)) and (folder / word).exists()

"""Our own file of servers, the only one that is ever written, and how entries are shown and stored without secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from executor._mask import MASK, is_secret_name, mask
from executor.mcp._cache import replace_file
from executor.mcp._config import entries_of, parse_text

if TYPE_CHECKING:
    from pathlib import Path

_VARIABLE = re.compile(r"\$\{[^{}]*\}")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token)\s+", re.IGNORECASE)


class Catalogue:
    """The entries of one file, written as a whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self) -> dict[str, Any]:
        """
        The entries by name, as written; none without a file.

        Raises:
            ValueError: The file is no JSON (with the line), or cannot be read.
        """
        return entries_of(self._document(), self.path.parent) or {}

    def _document(self) -> Any:
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{self.path}: it cannot be read: {error}") from error
        return parse_text(text, str(self.path))

    def put(self, entries: Mapping[str, Any]) -> None:
        """
        Add or replace entries.

        Raises:
            ValueError: An entry holds a secret in the clear, or the file is no JSON.
            OSError: The file cannot be written.
        """
        for name, entry in entries.items():
            found = secrets_in(entry)
            if found:
                raise ValueError(
                    f"{name}: {found[0]} looks like a secret in the clear, and none is stored here: "
                    f"keep it in an environment variable, and write ${{NAME}}"
                )
        self._write({**self.entries(), **entries})

    def remove(self, name: str) -> bool:
        """Take an entry out. Returns whether there was one; raises as `put` does."""
        entries = self.entries()
        if name not in entries:
            return False
        del entries[name]
        self._write(entries)
        return True

    def _write(self, entries: Mapping[str, Any]) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        document = self._document()
        others = document if isinstance(document, dict) and "mcpServers" in document else {}
        told = json.dumps({**others, "mcpServers": entries}, indent=2, ensure_ascii=False)
        replace_file(self.path.resolve(), told + "\n")  # a link to it stays a link


def secrets_in(entry: object) -> list[str]:
    """Where an entry holds what looks like a secret in the clear."""
    return [place for place, _, _ in _secrets(entry)]


def without_secrets(name: str, entry: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A copy of *entry* with ``${VARIABLE}`` in place of each secret, and the names of the variables to be set."""
    copy: dict[str, Any] = json.loads(json.dumps(entry))
    names = []
    for _, path, key in _secrets(entry):
        holder: Any = copy[path[0]]
        last: Any = path[1]
        variable = _variable(key if path[0] == "env" else f"{name}_{key}")
        prefix = _SCHEME.match(holder[last])
        if path[0] == "args" and key in holder[last]:
            holder[last] = f"{holder[last].partition('=')[0]}=${{{variable}}}"
        else:
            holder[last] = f"{prefix.group() if prefix else ''}${{{variable}}}"
        names.append(variable)
    return copy, names


def masked(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of *entry* to be shown: every value of ``env`` and ``headers``, and secrets in ``args``, hidden."""
    copy: dict[str, Any] = json.loads(json.dumps(entry, default=str))
    for key in ("env", "headers"):
        if isinstance(copy.get(key), dict):
            copy[key] = {name: _hidden(value) for name, value in copy[key].items()}
    for _, path, key in _secrets(entry):
        if path[0] == "args":
            argument = copy["args"][path[1]]
            copy["args"][path[1]] = f"{argument.partition('=')[0]}={MASK}" if key in argument else MASK
    for key in ("url", "httpUrl", "serverUrl"):
        if isinstance(copy.get(key), str):
            copy[key] = re.sub(r"//[^/@]*@", f"//{MASK}@", copy[key]).partition("?")[0]
    shown: dict[str, Any] = {}
    for key, value in copy.items():
        shown.update({key: value} if key in _SHOWN else mask({key: value}))  # a key may be masked too
    return shown


_SHOWN = ("env", "headers", "args", "url", "httpUrl", "serverUrl")


def _hidden(value: Any) -> Any:
    """Only references to variables are shown."""
    return value if isinstance(value, str) and _VARIABLE.search(value) and not _left(value) else MASK


def _left(value: str) -> str:
    """What is left of a value without its references and the scheme in front."""
    return _SCHEME.sub("", _VARIABLE.sub("", value)).strip()


def _secrets(entry: object) -> list[tuple[str, tuple[str, Any], str]]:
    """Place, path and name of each value that looks like a secret in the clear."""
    if not isinstance(entry, Mapping):
        return []
    found: list[tuple[str, tuple[str, Any], str]] = []
    for key in ("env", "headers"):
        values = entry.get(key)
        for name, value in values.items() if isinstance(values, Mapping) else ():
            if is_secret_name(str(name)) and isinstance(value, str) and _left(value):
                found.append((f"{key}.{name}", (key, name), name))
    arguments = entry.get("args")
    before = ""
    for index, argument in enumerate(arguments if isinstance(arguments, list) else ()):
        if not isinstance(argument, str):
            continue
        flag, equals, value = argument.partition("=")
        if flag.startswith("-") and equals and is_secret_name(flag) and _left(value):
            found.append((f"args[{index}]", ("args", index), flag.lstrip("-")))
        elif before and not argument.startswith("-") and _left(argument):
            found.append((f"args[{index}]", ("args", index), before))
        before = argument.lstrip("-") if argument.startswith("-") and not equals and is_secret_name(argument) else ""
    return found


def _variable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").upper()

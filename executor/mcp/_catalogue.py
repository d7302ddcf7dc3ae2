"""Our own file of servers, the only one that is ever written."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from executor._json import copy_json
from executor._regular import read_regular
from executor.errors import InvalidArgumentsError
from executor.mcp._files import entries_of, parse_text
from executor.mcp._secrets import secrets_of, without_secrets
from executor.ownfolders import make_private
from executor.wholefiles import locked, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_NAME = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)")


class Catalogue:
    """The entries of one file, written as a whole or not at all; changed by one process at a time."""

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
            text = read_regular(self.path).decode("utf-8-sig")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{self.path}: it cannot be read: {error}") from error
        return parse_text(text, str(self.path))

    def put(self, entries: Mapping[str, Any], *, replace: bool = True) -> list[str]:
        """
        Add entries, and replace those of the same names.

        Args:
            replace: False to add only.

        Returns:
            The names that are there and not to be replaced: with one of these, nothing was written.

        Raises:
            ValueError: An entry holds a secret in the clear or what JSON does not have, or the file is no JSON.
            OSError: The file cannot be written.
        """
        try:
            copy_json(dict(entries))
        except InvalidArgumentsError as error:
            odd = error.errors[0]
            raise ValueError(f"{odd['path'] or 'a name'} {odd['message']}: the file is JSON, in UTF-8") from error
        self._refuse_secrets(entries)
        with self._changing() as there:
            taken = [name for name in entries if name in there and not replace]
            if not taken:
                there.update(entries)
            return taken

    def _refuse_secrets(self, entries: Mapping[str, Any]) -> None:
        there = self.entries()
        for name, entry in entries.items():
            found = secrets_of(entry)
            if found:
                variables = without_secrets(name, entry, variables_of(there, name))[1]
                raise ValueError(
                    f"{name}: {' and '.join(secret.place for secret in found)} looks like a secret in the clear, and "
                    f"none is stored here: keep it in an environment variable, and write "
                    f"{' and '.join(f'${{{variable}}}' for variable in variables)}"
                )

    def remove(self, name: str) -> bool:
        """Take an entry out. Returns whether there was one; raises as `put` does."""
        if name not in self.entries():
            return False
        with self._changing() as there:
            return there.pop(name, None) is not None

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        """The entries, to be changed; written at the end."""
        make_private(self.path.parent)
        path = self.path.resolve()  # a link to it stays a link
        with locked(path.with_name(f".{path.name}.lock")):
            document = self._document()
            entries = entries_of(document, self.path.parent) or {}
            yield entries
            others = document if isinstance(document, dict) and "mcpServers" in document else {}
            told = json.dumps({**others, "mcpServers": entries}, indent=2, ensure_ascii=False)
            write_whole(path, told + "\n")


def variables_of(entries: Mapping[str, Any], name: str = "") -> set[str]:
    """The variables that entries refer to, but for those of the server *name*."""
    others = {key: entry for key, entry in entries.items() if key != name}
    return set(_NAME.findall(json.dumps(others, default=str)))

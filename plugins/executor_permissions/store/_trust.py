"""The folders whose own policy files are believed."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from executor.ownfolders import make_private
from executor.wholefiles import locked
from executor_permissions.store._private import read_private, write_private

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Trust:
    """The folders whose own policy files may allow things, each bound to the content of its file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "trusted.json"

    def _read(self) -> dict[str, str]:
        try:
            value = read_private(self._path)
        except (FileNotFoundError, ValueError):
            return {}  # nothing is trusted: the safe side of a damaged file
        return {str(key): str(item) for key, item in value.items()} if isinstance(value, dict) else {}

    def is_trusted(self, folder: Path, digest: str) -> bool:
        """Whether *folder* was trusted with a policy file of this SHA-256."""
        return bool(digest) and self._read().get(os.path.realpath(folder)) == digest

    def trust(self, folder: Path, digest: str) -> None:
        """Trust *folder* with its policy file as it is now."""
        with self._changing() as trusted:
            trusted[os.path.realpath(folder)] = digest

    def forget(self, folder: Path) -> bool:
        """Trust it no longer. Returns whether it was trusted."""
        if os.path.realpath(folder) not in self._read():
            return False
        with self._changing() as trusted:
            return trusted.pop(os.path.realpath(folder), None) is not None

    @contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        """What is trusted, to be changed; one process at a time."""
        make_private(self._path.parent)
        with locked(self._path.with_suffix(".lock")):
            trusted = self._read()
            yield trusted
            write_private(self._path, trusted)

"""Lists of tools on disk, so that a model can be told of tools whose server was not started yet."""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from executor.mcp._values import Listing
from executor.ownfolders import make_private, own_folder

if TYPE_CHECKING:
    from executor.mcp._values import ServerConfig

FAILURE_SECONDS = 15.0  # for so long a server that could not be asked does not hold up the next start of a program
FORM = 1  # changes when the files' form does; older ones are then not read


def default_folder() -> Path:
    """``mcp`` in the user's cache folder."""
    return own_folder("cache") / "mcp"


class ListingCache:
    """One file a server, named by the fingerprint of its configuration. What cannot be read or written is not there."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def read(self, config: ServerConfig) -> Listing | None:
        """What the server offered when it was last asked, or None."""
        if self._folder is None or config.transport == "memory":
            return None
        try:
            told = json.loads((self._folder / f"{config.fingerprint}.json").read_bytes())
            return _listing(told) if told["form"] == FORM else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, config: ServerConfig, listing: Listing) -> None:
        """Keep what the server offers."""
        if self._folder is None or config.transport == "memory":
            return
        self._write(f"{config.fingerprint}.json", {"form": FORM, "server": config.name, **asdict(listing)})
        with contextlib.suppress(OSError):
            (self._folder / f"{config.fingerprint}.failed").unlink(missing_ok=True)

    def failure(self, config: ServerConfig) -> str | None:
        """Why the server could not be asked, if that was tried in the last seconds."""
        if self._folder is None:
            return None
        try:
            told = json.loads((self._folder / f"{config.fingerprint}.failed").read_bytes())
            age = time.time() - float(told["at"])
            return str(told["problem"]) if 0 <= age < FAILURE_SECONDS else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def has_failed(self, config: ServerConfig) -> bool:
        """Whether the server could not be asked the last time that it was tried, whenever that was."""
        return self._folder is not None and (self._folder / f"{config.fingerprint}.failed").exists()

    def write_failure(self, config: ServerConfig, problem: str) -> None:
        """Keep why the server could not be asked."""
        if self._folder is not None and config.transport != "memory":
            self._write(f"{config.fingerprint}.failed", {"at": time.time(), "problem": problem})

    def forget(self, config: ServerConfig) -> None:
        """Ask the server again next time."""
        for ending in ("json", "failed") if self._folder is not None else ():
            (cast("Path", self._folder) / f"{config.fingerprint}.{ending}").unlink(missing_ok=True)

    def _write(self, name: str, told: dict[str, Any]) -> None:
        folder = cast("Path", self._folder)
        with contextlib.suppress(OSError):  # a full or read-only disk costs the next start a moment, and no more
            make_private(folder)
            replace_file(folder / name, json.dumps(told))


def _listing(told: dict[str, Any]) -> Listing:
    if not all(isinstance(tool, dict) and isinstance(tool.get("name"), str) for tool in told["tools"]):
        raise TypeError("tools")
    return Listing(
        tools=tuple(told["tools"]),
        left_out=tuple((str(name), str(reason)) for name, reason in told["left_out"]),
        prompts=bool(told["prompts"]),
        resources=bool(told["resources"]),
    )


def replace_file(path: Path, text: str) -> None:
    """Write *text* so that a reader finds the old file or the new one, never a part. Raises OSError."""
    import tempfile  # 4 ms, for writers only

    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise

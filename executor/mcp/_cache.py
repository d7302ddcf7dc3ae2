"""Lists of tools on disk, so that a model can be told of tools whose server was not started yet."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor.mcp._values import Listing

if TYPE_CHECKING:
    from executor.mcp._values import ServerConfig

FORM = 1  # changes when the files' form does; older ones are then not read


def default_folder() -> Path:
    """``mcp`` in the user's cache folder."""
    import platformdirs

    return platformdirs.user_cache_path("toolexec", appauthor=False) / "mcp"


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
        told = json.dumps({"form": FORM, "server": config.name, **asdict(listing)})
        with contextlib.suppress(OSError):  # a full or read-only disk costs the next start a moment, and no more
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._folder / f"{config.fingerprint}.json", told)

    def forget(self, config: ServerConfig) -> None:
        """Ask the server again next time."""
        if self._folder is not None:
            (self._folder / f"{config.fingerprint}.json").unlink(missing_ok=True)


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

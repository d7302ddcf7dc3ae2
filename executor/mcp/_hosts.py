"""Where our own servers are kept, and where other assistants keep theirs. Those files are only read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HOSTS = ("claude-desktop", "claude-code", "cursor", "vscode", "lmstudio", "gemini")


def catalogue_path() -> Path:
    """``mcp.json`` in the user's configuration folder."""
    import platformdirs

    return platformdirs.user_config_path("toolexec", appauthor=False) / "mcp.json"


def files_of(host: str, project: Path) -> list[Path]:
    """
    The files in which *host* keeps servers, those of *project* first, that exist.

    Raises:
        ValueError: The host is not known.
    """
    if host not in HOSTS:
        raise ValueError(f"{host!r} is no host that is known: use {', '.join(HOSTS)}, or the path of its file")
    return [path for path in _candidates(host, project) if path.is_file()]


def _candidates(host: str, project: Path) -> list[Path]:
    home = Path.home()
    if host == "claude-desktop":
        return [folder / "claude_desktop_config.json" for folder in _claude_folders(home)]
    if host == "claude-code":
        return [project / ".mcp.json", home / ".claude.json"]
    if host == "cursor":
        return [project / ".cursor" / "mcp.json", home / ".cursor" / "mcp.json"]
    if host == "vscode":
        return [project / ".vscode" / "mcp.json", _application(home, "Code") / "User" / "mcp.json"]
    if host == "lmstudio":
        return [home / ".lmstudio" / "mcp.json", home / ".cache" / "lm-studio" / "mcp.json"]
    return [project / ".gemini" / "settings.json", home / ".gemini" / "settings.json"]


def _claude_folders(home: Path) -> list[Path]:
    folders = [_application(home, "Claude")]
    local = os.environ.get("LOCALAPPDATA")
    if sys.platform == "win32" and local:
        # Installed from the Microsoft Store, it sees a folder of its own in place of %APPDATA%.
        packages = sorted(Path(local, "Packages").glob("Claude_*"))
        folders = [package / "LocalCache" / "Roaming" / "Claude" for package in packages] + folders
    return folders


def _application(home: Path, name: str) -> Path:
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / name
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming") / name
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / name

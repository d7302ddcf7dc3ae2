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


def files_of(host: str, project: Path | None) -> list[Path]:
    """
    The files in which *host* keeps servers, that exist.

    Args:
        project: The folder whose own files are to come first. They came with the project, whoever wrote it, and name
            programs to be run: None leaves them out.

    Raises:
        ValueError: The host is not known.
    """
    if host not in HOSTS:
        raise ValueError(f"{host!r} is no host that is known: use {', '.join(HOSTS)}, or the path of its file")
    own = [project / _OF_PROJECTS[host]] if project is not None and host in _OF_PROJECTS else []
    return [path for path in (*own, *_of_user(host, Path.home())) if path.is_file()]


_OF_PROJECTS = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "gemini": ".gemini/settings.json",
}


def _of_user(host: str, home: Path) -> list[Path]:
    if host == "claude-desktop":
        return [folder / "claude_desktop_config.json" for folder in _claude_folders(home)]
    if host == "vscode":
        return [_application(home, "Code") / "User" / "mcp.json"]
    if host == "lmstudio":
        return [home / ".lmstudio" / "mcp.json", home / ".cache" / "lm-studio" / "mcp.json"]
    return [home / {"claude-code": ".claude.json"}.get(host, _OF_PROJECTS.get(host, ""))]


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

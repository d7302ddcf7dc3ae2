"""Where our own servers are kept, and where other assistants keep theirs. Those files are only read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from executor.ownfolders import home_folder, own_folder

HOSTS = (
    "claude-desktop",
    "claude-code",
    "cursor",
    "vscode",
    "lmstudio",
    "gemini",
    "codex",
    "zed",
    "windsurf",
    "goose",
    "continue",
)


def catalogue_path() -> Path:
    """``mcp.json`` in the user's configuration folder."""
    return own_folder("config") / "mcp.json"


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
    return [path for path in (*own, *_of_user(host, home_folder())) if path.is_file()]


_OF_PROJECTS = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "gemini": ".gemini/settings.json",
    "codex": ".codex/config.toml",
    "zed": ".zed/settings.json",
    "continue": ".continue/config.yaml",
}
_FOLDERS = {Path(file).parent.name: host for host, file in _OF_PROJECTS.items() if "/" in file}


def host_of(path: Path) -> str | None:
    """Whose a file is, by its name and folder; None if that does not tell."""
    names = {
        "claude_desktop_config.json": "claude-desktop",
        ".mcp.json": "claude-code",
        ".claude.json": "claude-code",
        "mcp_config.json": "windsurf",
    }
    folder = path.absolute().parent.name
    return names.get(path.name) or _FOLDERS.get(folder) or {"goose": "goose", "zed": "zed"}.get(folder)


def project_of(path: Path) -> Path | None:
    """The folder of the project that a file belongs to; None for a file of the user's own."""
    place = path.expanduser().absolute()
    folder = place.parent
    if place.name == ".mcp.json":
        return folder
    if folder.name not in _FOLDERS or place.name not in {Path(file).name for file in _OF_PROJECTS.values()}:
        return None
    return None if folder.parent == home_folder().absolute() else folder.parent


def _of_user(host: str, home: Path) -> list[Path]:
    if host == "claude-desktop":
        return [folder / "claude_desktop_config.json" for folder in _claude_folders(home)]
    if host == "vscode":
        return [_application(home, "Code") / "User" / "mcp.json"]
    if host == "lmstudio":
        return [home / ".lmstudio" / "mcp.json", home / ".cache" / "lm-studio" / "mcp.json"]
    if host == "codex":
        return [Path(os.environ.get("CODEX_HOME") or home / ".codex") / "config.toml"]
    if host == "zed":
        return [_configured(home, "zed", "Zed") / "settings.json"]
    if host == "windsurf":
        return [home / ".codeium" / "windsurf" / "mcp_config.json"]
    if host == "goose":
        return [_configured(home, "goose", "Block/goose/config") / "config.yaml"]
    if host == "continue":
        return [home / ".continue" / name for name in ("config.yaml", "config.json")]
    return [home / {"claude-code": ".claude.json"}.get(host, _OF_PROJECTS.get(host, ""))]


def _configured(home: Path, name: str, on_windows: str) -> Path:
    """The folder of a host that keeps to ``~/.config`` on macOS too."""
    if sys.platform == "win32":
        return _application(home, on_windows)
    return Path((sys.platform != "darwin" and os.environ.get("XDG_CONFIG_HOME")) or home / ".config") / name


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

"""The entry by which an assistant starts ``toolexec serve``: shown, written into its file, and taken out again."""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from executor.cli._errors import CliError, ExitCode
from executor.cli._people import refuse_below_a_call
from executor.cli._render import is_terminal
from executor.interpreter import WITHOUT, interpreter
from executor.ownfolders import home_folder
from executor.paths import regular_only
from executor.wholefiles import beside

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.cli._app import App
    from executor.cli._serve import How

NAME = "toolexec"
MOST_KEPT = 5  # copies of an assistant's file


@dataclass(frozen=True, slots=True)
class _Kind:
    """
    How an assistant keeps its servers.

    Attributes:
        key: The table of servers in its file.
        form: From command and arguments to the entry.
    """

    path: Callable[[Path], Path]
    key: str
    form: Callable[[list[str]], dict[str, Any]]


def _plain(words: list[str]) -> dict[str, Any]:
    return {"command": words[0], "args": words[1:]}


def _typed(words: list[str]) -> dict[str, Any]:
    return {"type": "stdio", **_plain(words)}


def _config(home: Path, name: str) -> Path:
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / name
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / name


_JSON = {
    "claude-desktop": _Kind(lambda home: _config(home, "Claude") / "claude_desktop_config.json", "mcpServers", _plain),
    "claude-code": _Kind(lambda home: home / ".claude.json", "mcpServers", _typed),
    "cursor": _Kind(lambda home: home / ".cursor" / "mcp.json", "mcpServers", _plain),
    "vscode": _Kind(lambda home: _config(home, "Code") / "User" / "mcp.json", "servers", _typed),
    "lmstudio": _Kind(lambda home: home / ".lmstudio" / "mcp.json", "mcpServers", _plain),
    "gemini": _Kind(lambda home: home / ".gemini" / "settings.json", "mcpServers", _plain),
}
_PRINTED = ("codex", "goose")  # their files are not JSON: an entry is shown, and put there by hand
HOSTS = (*_JSON, *_PRINTED)


def _toolexec() -> list[str]:
    """This toolexec: the first one in PATH may be another, or a program that a command has put there."""
    python = interpreter()
    beside = shutil.which("toolexec", path=str(Path(python).parent) if python else None)
    if beside is not None:
        return [beside]
    if python is None:
        raise CliError(f"There is no toolexec in your PATH for the assistant to start, and {WITHOUT}", ExitCode.USAGE)
    return [python, "-P", "-m", "executor"]  # -P: or the folder in which it is started has modules of these names


def entry_of(how: How) -> list[str]:
    """The command that an assistant is to run."""
    words = [*_toolexec(), "serve"]
    if how.url is not None:
        words += ["--connect", how.url]
    if how.token_file is not None:
        words += ["--token-file", str(Path(how.token_file).expanduser().absolute())]
    if how.project is not None:
        words += ["--project", str(Path(how.project).expanduser().absolute())]
    if how.principal is not None:
        words += ["--as", how.principal]
    for pattern in how.patterns:
        words += ["--tools", pattern]
    if how.ask is not None:
        words += ["--ask", how.ask]
    return [*words, *(["--proxy"] if how.proxy else []), *(["--wait"] if how.wait else [])]


def change(
    app: App, words: list[str], *, shown: str | None, installed: str | None, removed: str | None, yes: bool
) -> None:
    """Show the entry for one assistant, put it into its file, or take it out. Raises CliError."""
    host = shown or installed or removed
    if sum(each is not None for each in (shown, installed, removed)) > 1 or host is None:
        raise CliError("give one of --print-config, --install and --uninstall")
    if host not in HOSTS:
        raise CliError(f"{host!r} is no assistant that is known: use one of {', '.join(HOSTS)}")
    if shown is not None:
        app.screen.result(_snippet(host, words))
        return
    refuse_below_a_call()
    if host not in _JSON:
        raise CliError(f"the file of {host} is not JSON: put there what --print-config {host} prints")
    _rewrite(app, host, words if installed is not None else None, yes=yes)


def hosts_without() -> list[str]:
    """The assistants that seem to be installed here, and whose file can be written and has no entry of ours."""
    found = []
    for host, kind in _JSON.items():
        path = kind.path(home_folder())
        if not (path.exists() or (path.parent.exists() and path.parent != home_folder())):
            continue
        try:
            told = json.loads(_read(path) or "{}")
        except CliError:
            continue
        if NAME not in told.get(kind.key, {}):
            found.append(host)
    return found


def _snippet(host: str, words: list[str]) -> str:
    if host == "codex":
        return f"[mcp_servers.{NAME}]\ncommand = {json.dumps(words[0])}\nargs = {json.dumps(words[1:])}"
    if host == "goose":
        arguments = "".join(f"\n      - {json.dumps(word)}" for word in words[1:])
        return (
            f"extensions:\n  {NAME}:\n    type: stdio\n    enabled: true\n    name: {NAME}\n"
            f"    cmd: {json.dumps(words[0])}\n    args:{arguments}\n    timeout: 300"
        )
    kind = _JSON[host]
    return _text({kind.key: {NAME: kind.form(words)}})


def _text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _rewrite(app: App, host: str, words: list[str] | None, *, yes: bool) -> None:
    """Put the entry into the file of *host*; None: take it out."""
    kind = _JSON[host]
    path = kind.path(home_folder())
    before = _read(path)
    told = json.loads(before or "{}")
    servers = told.setdefault(kind.key, {})
    was = servers.get(NAME)
    if words is None and NAME not in servers:
        raise CliError(f"{path}: there is no entry {NAME}")
    if words is None:
        del servers[NAME]
    else:
        servers[NAME] = kind.form(words)
    if servers.get(NAME) == was:
        app.screen.result(f"{path}: nothing to change")
        return
    after = f"{json.dumps(told, indent=_indent_of(before), ensure_ascii=False)}\n"
    # Only of our own entry: the others hold secrets.
    lines = difflib.unified_diff(
        _lines(kind.key, was), _lines(kind.key, servers.get(NAME)), str(path), str(path), lineterm=""
    )
    others = ["what else the file says stays"] if before.strip() else []
    app.screen.note("\n".join([*lines, *others]))
    try:
        agreed = yes or click.confirm(f"Write {path}?", err=True)
    except click.Abort:
        if is_terminal(sys.stdin):
            raise
        raise CliError(f"{path} stays as it is: run it at a terminal, or give --yes") from None
    if not agreed:
        raise CliError(f"{path} stays as it is", ExitCode.DENIED)
    if _read(path) != before:
        raise CliError(f"{path} was changed meanwhile and stays as it is: try again")
    backup = _write(path, after)
    app.screen.result(f"{path} written{f'; as it was: {backup}' if backup is not None else ''}; restart {host}")


def _lines(key: str, entry: object) -> list[str]:
    return [] if entry is None else _text({key: {NAME: entry}}).splitlines()


def _indent_of(text: str) -> str | int | None:
    """How the file is indented, so that nothing else of it looks changed."""
    found = re.search(r'\n([ \t]+)"', text)
    return found[1] if found is not None else None if text.strip() else 2


def _read(path: Path) -> str:
    """The file's text, "" if there is none. Raises CliError where its servers cannot be told."""
    try:
        with open(path, "rb", opener=regular_only) as file:
            text = file.read().decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"{path}: it cannot be read: {error}") from error
    try:
        told = json.loads(text or "{}")
        json.dumps(told, allow_nan=False)  # it has to be written again
    except (ValueError, RecursionError) as error:
        raise CliError(
            f"{path}: it is not plain JSON ({error}) and stays as it is: put there what --print-config prints"
        ) from error
    if not isinstance(told, dict) or any(not isinstance(told.get(key, {}), dict) for key in ("mcpServers", "servers")):
        raise CliError(f"{path}: it has another shape than is known, and stays as it is")
    return text


def _write(path: Path, text: str) -> Path | None:
    """Replace the file as a whole. Returns where the old one is kept."""
    try:
        target = path.resolve()  # through a link: what it points to is replaced, not the link
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = _keep(target) if target.exists() else None
        # Half a character, as of a history that was cut, is written as JSON has it: \ud83d.
        with beside(target, text.encode(errors="backslashreplace")) as new:
            if backup is not None:
                shutil.copymode(backup, new)
            new.replace(target)
    except OSError as error:
        raise CliError(f"{path}: it cannot be written: {error.strerror}", ExitCode.UNEXPECTED) from error
    return backup


def _keep(target: Path) -> Path:
    """
    Copy a file to where it can be found again. Raises OSError.

    The first copy is of what was there before anything of ours, and is never written to again. Of the others the newest
    are kept.
    """
    first = target.with_name(f"{target.name}.before-toolexec")
    kept = [first, *(first.with_name(f"{first.name}-{number}") for number in range(2, MOST_KEPT + 1))]
    now = target.read_bytes()
    for each in kept:
        if each.exists() and each.read_bytes() == now:
            return each
    free = next((each for each in kept if not each.exists()), None)
    if free is None:
        for newer, older in zip(kept[2:], kept[1:], strict=False):
            newer.replace(older)
        free = kept[-1]
    with beside(target, now) as copy:  # half of it, where the disk is full, would be taken for the whole
        shutil.copystat(target, copy)
        copy.replace(free)
    return free

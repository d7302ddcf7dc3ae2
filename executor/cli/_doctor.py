"""``toolexec doctor``: what is there, what is broken, and what to do about it."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import errno
import json
import os
import shlex
import stat
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from click.exceptions import Exit

from executor.cli._app import App, json_option, pass_app
from executor.cli._errors import ExitCode, of_system
from executor.errors import PluginError
from executor.ownfolders import own_folder
from executor.pasted import within
from executor.terminalsession import terminal_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# What an uninstalled checkout needs; an installed package says so itself.
NEEDED = ("click", "jsonschema", "jsonschema-rs", "platformdirs", "pluggy", "pydantic")
FULL = (errno.ENOSPC, errno.EDQUOT) if sys.platform != "win32" else (errno.ENOSPC,)
ANOTHER_DISK = "see to its disk, or move it to another"
TRIAL = 64 * 1024  # bytes that are written to see whether a disk takes them
EXTRAS = {"rich": "tables and colours at a terminal", "psutil": "more about processes"}


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One thing that was looked at.

    Attributes:
        status: ``ok``; ``warning``, which should be mended; ``broken``, which has to be.
        do: What to do, unless all is well.
    """

    check: str
    status: Literal["ok", "warning", "broken"]
    found: str
    do: str = ""


def version_of(distribution: str) -> str | None:
    """The installed version of a distribution; None if it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "(not installed: run from its source)" if distribution == "toolexec" else None


def _versions() -> Iterator[Finding]:
    yield Finding("python", "ok", f"{sys.version.split()[0]} ({sys.executable})")
    yield Finding("toolexec", "ok", str(version_of("toolexec")))
    for name in _needed():
        version = version_of(name)
        if version is None:
            yield Finding(name, "broken", "not installed", f"pip install {name}")
        else:
            yield Finding(name, "ok", version)
    for name, use in EXTRAS.items():
        version = version_of(name)
        yield Finding(name, "ok", version if version is not None else f"not installed (optional: {use})")


def _needed() -> tuple[str, ...]:
    import re
    from importlib import metadata

    try:
        wanted = metadata.requires("toolexec") or []
    except metadata.PackageNotFoundError:
        return NEEDED
    return tuple(re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in wanted if "extra ==" not in line)


def _config(app: App) -> Iterator[Finding]:
    try:
        config = app.config
    except click.ClickException as error:
        yield Finding("configuration", "broken", error.format_message(), "mend the file, or move it away")
        return
    yield Finding("configuration", "ok", f"{config.path}{'' if config.exists else ' (there is none: defaults)'}")
    try:
        yield from _plugins(app)
    except PluginError as error:
        do = "unset TOOLEXEC_STRICT to use the other plugins"
        yield Finding(f"plugin {error.plugin}", "broken", error.message, do)


def _plugins(app: App) -> Iterator[Finding]:
    failed = False
    origins = {row["name"]: row["origin"] for row in app.registry.describe()}
    for failure in app.registry.failures():
        failed = True
        taken = failure.distribution is not None and origins.get(failure.plugin) not in (None, failure.distribution)
        found = f"failed ({failure.stage}): {failure.error}"
        do = f"see {within('toolexec plugins show', failure.plugin)}; to leave it out: {_blocked(failure.plugin)}"
        if taken:  # blocked by its name, the one that works would be left out
            do = f"uninstall {failure.distribution}, or have it give its plugin another name"
        yield Finding(f"plugin {failure.plugin}", "broken", found, do)
    for row in app.registry.describe():
        for remark in row["remarks"]:
            do = f"tell its author; to leave it out: {_blocked(row['name'])}"
            yield Finding(f"plugin {row['name']}", "warning", remark, do)
    if not failed:
        exposed = app.registry.list_exposed()
        yield Finding("plugins", "ok", f"{', '.join(exposed) or 'none'}; {len(app.registry.tools)} tools")


def _blocked(plugin: str) -> str:
    return f"[plugins] blocked = [{json.dumps(plugin)}]"


def _permissions() -> Finding:
    """Whether the policy file in use loads, and who else can reach it."""
    from executor.cli._policy import PLUGIN, load_permissions, make_plugin
    from executor.errors import PermissionConfigError

    check = "permissions"
    try:
        plugin = make_plugin(terminal_session())  # as every call: by what was said at this terminal too
    except (PermissionConfigError, click.ClickException) as error:
        return Finding(check, "broken", error.message, "mend the file; until then no call runs")
    if plugin is None:
        text = f"{PLUGIN} cannot be imported: everything but the bundled tools that only read is asked about"
        return Finding(check, "warning", text, "install the package as a whole")
    path, exists = load_permissions().policy_file()
    if not exists:
        return Finding(check, "ok", f"{path} (there is none: what may change something is asked about)")
    mode = 0 if sys.platform == "win32" else path.stat().st_mode
    if not _is_ones_own(path) and (mode & (stat.S_IWGRP | stat.S_IWOTH) or path.stat().st_uid != 0):
        return _of_another(check, path)  # what the system's own administrator wrote may be read by all
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        return Finding(check, "broken", f"{path} can be written by other users", _chmod("600", path))
    if _is_ones_own(path) and mode & (stat.S_IRWXG | stat.S_IRWXO):
        return Finding(check, "warning", f"{path} can be read by other users", _chmod("600", path))
    if plugin.policy.problems:
        return Finding(check, "warning", "\n".join(plugin.policy.problems), "see 'toolexec permissions show'")
    return Finding(check, "ok", str(path))


def _folders() -> Iterator[Finding]:
    from executor.cli._config import config_path

    state = own_folder("state")
    yield _folder("state folder", state)
    for below in ("output", "owners"):
        if os.path.lexists(state / below):
            yield _folder(f"{below} of tasks", state / below)
    yield _folder("config folder", config_path().parent)


def _folder(check: str, path: Path) -> Finding:
    """Whether a folder can be written, and by nobody else."""
    if not os.path.lexists(path):
        return _missing(check, path)
    if not path.is_dir():
        what = f"a link to {path.readlink()}, which is no folder" if path.is_symlink() else "no folder"
        return Finding(check, "broken", f"{path} is {what}", "move it away")
    if not os.access(path, os.W_OK | os.X_OK):
        if not _is_ones_own(path):
            return _of_another(check, path)
        return Finding(check, "broken", f"{path} cannot be written", _opened(path))
    refused = _write(path)
    if refused is not None:
        do = "free some space" if refused.errno in FULL else ANOTHER_DISK
        return Finding(check, "broken", f"nothing can be written in {path}: {refused.strerror}", do)
    if sys.platform == "win32":
        return Finding(check, "ok", str(path))
    if not _is_ones_own(path):
        return _of_another(check, path)
    about = path.stat()
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return Finding(check, "broken", f"{path} can be written by other users", _chmod("700", path))
    if about.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return Finding(check, "warning", f"{path} can be read by other users", _chmod("700", path))
    return Finding(check, "ok", str(path))


def _missing(check: str, path: Path) -> Finding:
    above = next((folder for folder in path.parents if os.path.lexists(folder)), path)
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
        return Finding(check, "ok", f"{path} (will be made when it is needed)")
    if not above.is_dir():
        return Finding(check, "broken", f"{path} cannot be reached: {above} is no folder", f"move {above} away")
    do = _opened(above) if _is_ones_own(above) else f"make {path} by hand"
    return Finding(check, "broken", f"{path} cannot be reached: {above} cannot be written", do)


def _is_ones_own(path: Path) -> bool:
    return sys.platform == "win32" or path.stat().st_uid == os.geteuid()


def _of_another(check: str, path: Path) -> Finding:
    return Finding(check, "broken", f"{path} belongs to another user", f"chown it, or move {path} away")


def _opened(path: Path) -> str:
    """What lets its owner write to a folder."""
    read_only = sys.platform != "win32" and os.statvfs(path).f_flag & os.ST_RDONLY
    return ANOTHER_DISK if read_only else _chmod("u+rwx", path)


def _chmod(mode: str, path: Path) -> str:
    """What can be pasted into a shell, from any folder."""
    return f"chmod {mode} {shlex.quote(str(path.absolute()))}"


def _write(folder: Path) -> OSError | None:
    """Write a file and delete it again. What went wrong is what would go wrong with a task's."""
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(TRIAL))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error
    return None


def _tasks() -> Finding:
    """Whether the store of background tasks can be used, and whether threads are still at work on what was given up."""
    from executor.errors import ExecutorUnavailableError
    from executor.tasks import TaskManager

    if not os.path.lexists(own_folder("state") / "tasks.db"):
        return Finding("tasks", "ok", "there is none")
    tasks = TaskManager.open()
    try:
        infos = tasks.list(limit=1000)
    except ExecutorUnavailableError as error:
        return Finding("tasks", "broken", error.message, "until then calls stay in the foreground")
    finally:
        tasks.close()
    live = sum(not info.status.final for info in infos)
    stuck = [info for info in infos if info.abandoned]
    if stuck:
        which = ", ".join(f"{info.id} (process {info.owner})" for info in stuck[:5])
        found = f"{live} running; {len(stuck)} given up with a thread still at work: {which}"
        return Finding("tasks", "warning", found, "end the process, and have the tool look at current_call().cancelled")
    return Finding("tasks", "ok", f"{live} running")


def _engine(app: App) -> Iterator[Finding]:
    """Whether the cluster of the configuration can be reached, and who else can."""
    from executor.errors import ExecutorUnavailableError

    try:
        if app.config.engine is None:
            return
    except click.ClickException:
        return  # which is said already
    engine = app.engine()
    try:
        engine.open()
    except ExecutorUnavailableError as error:
        yield Finding("engine", "broken", error.message, "start its scheduler and workers, or take [engine] out")
        return
    finally:
        engine.close()
    if engine.where.plain_local:
        found = f"{engine.where.address}: without TLS every user of this machine can run commands there as you"
        yield Finding("engine", "warning", found, "start the scheduler with TLS: see docs/engines.md")
    else:
        yield Finding("engine", "ok", engine.where.address)


def _machine() -> Iterator[Finding]:
    import shutil

    shell = shutil.which("cmd" if sys.platform == "win32" else "sh")
    if shell is None:
        yield Finding(
            "shell", "broken", "there is none: runCommand can run argv only", "install bash, or put sh on PATH"
        )
    else:
        yield Finding("shell", "ok", shutil.which("bash") or shell)
    try:
        import sqlite3
    except ImportError as error:
        yield Finding("sqlite", "broken", f"this Python has none: {error}", "install a Python with SQLite")
    else:
        yield Finding("sqlite", "ok", sqlite3.sqlite_version)


def _boxes() -> Finding:
    """What holds commands to their profiles on this machine."""
    from executor.cli._confine import describe
    from executor.confine import Profile, box_of
    from executor.errors import ConfinementError

    here = os.path.realpath(os.curdir)
    try:
        boxes = [box_of(Profile(name, here)) for name in ("read", "project", "network")]
    except ConfinementError as error:
        return Finding("boxes", "broken", str(error), "until then no command that belongs into a box is started")
    told = "; ".join(describe(box) for box in boxes)
    if not any(box.open for box in boxes):
        return Finding("boxes", "ok", told)
    do = (
        "install bubblewrap, and let users make namespaces"
        if sys.platform == "linux"
        else "run it on Linux, in a container"
    )
    return Finding("boxes", "warning", told, f"{do}; until then commands can do what is not held")


def _threads() -> Finding:
    """Whether something that was loaded has left a thread that the process would wait for at its end."""
    import threading

    held = [thread.name for thread in threading.enumerate() if not thread.daemon]
    held.remove(threading.main_thread().name)
    if held:
        found = f"plugins left threads that keep a process from ending: {', '.join(held)}"
        return Finding("threads", "warning", found, "their plugin should make them daemon threads")
    return Finding("threads", "ok", "none is left behind")


def examine(app: App) -> list[Finding]:
    """Look at everything. What the system refuses ends one look, and no other."""
    looks: dict[str, Callable[[], Iterable[Finding]]] = {
        "versions": _versions,
        "configuration": lambda: _config(app),
        "permissions": lambda: [_permissions()],
        "folders": _folders,
        "tasks": lambda: [_tasks()],
        "engine": lambda: _engine(app),
        "machine": _machine,
        "boxes": lambda: [_boxes()],
        "threads": lambda: [_threads()],
    }
    findings: list[Finding] = []
    os.getcwd()  # noqa: PTH109 -- from a folder that was removed no command runs
    for check, look in looks.items():
        try:
            findings += look()
        except OSError as error:
            findings.append(_refused(check, error))
    return findings


def _refused(check: str, error: OSError) -> Finding:
    """What the system refused, and what to do about the folder that it is because of."""
    do = ""
    if isinstance(error.filename, str):
        path = Path(error.filename)
        do = _folder(check, path if os.path.isdir(path) else path.parent).do  # noqa: PTH112 -- pathlib's raises
    found = of_system(error).message.partition("; 'toolexec")[0]
    return Finding(check, "broken", found, do or "see whose it is, and its mode")


@click.command("doctor")
@json_option
@pass_app
def command(app: App, *, as_json: bool) -> None:
    """
    Look for what is broken, and say what to do; the exit code is 1 if something is.

    \b
    Example:
      toolexec doctor --json
    """
    findings = examine(app)
    broken = any(finding.status == "broken" for finding in findings)
    if as_json:
        app.screen.json({"broken": broken, "findings": [asdict(finding) for finding in findings]})
    else:
        rows = [(finding.status, finding.check, finding.found) for finding in findings]
        app.screen.table(("status", "check", "found"), rows)
        for finding in findings:
            if finding.do:
                app.screen.result(f"{finding.check}: {finding.do}")
    raise Exit(ExitCode.UNEXPECTED if broken else ExitCode.OK)

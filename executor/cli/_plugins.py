"""``toolexec plugins``: what plugins there are, what became of them, and a new one."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from executor.cli import _template
from executor.cli._app import App, json_option, pass_app
from executor.cli._doctor import version_of
from executor.cli._errors import CliError, ExitCode
from executor.cli._help import Group
from executor.cli._render import for_person

if TYPE_CHECKING:
    from executor.registry import PluginFailure

_NAME = re.compile(r"[a-z][a-z0-9_]*")


@click.group("plugins", cls=Group)
def group() -> None:
    """
    Show the plugins, and start a new one.

    \b
    Examples:
      toolexec plugins list
      toolexec plugins show shell
      toolexec plugins new weather
    """


def rows(app: App) -> list[dict[str, Any]]:
    """Each plugin with what failed of it; the shape that ``--json`` writes."""
    failures = app.registry.failures()
    return [
        {**row, "failures": [_failure(failure) for failure in failures if failure.plugin == row["name"]]}
        for row in app.registry.describe()
    ]


def _failure(failure: PluginFailure) -> dict[str, Any]:
    return {"stage": failure.stage, "error": failure.error, "traceback": failure.traceback}


@group.command("list")
@json_option
@pass_app
def list_command(app: App, *, as_json: bool) -> None:
    """
    List the plugins with where they come from, whether they work, and their tools.

    \b
    Example:
      toolexec plugins list --json
    """
    found = rows(app)
    if as_json:
        app.screen.json(found)
        return
    columns = ("name", "origin", "version", "status", "tools")
    app.screen.table(
        columns,
        [
            (row["name"], row["origin"], row["version"] or "-", row["status"], ", ".join(row["tools"]) or "-")
            for row in found
        ],
    )
    for row in found:
        for failure in row["failures"]:
            app.screen.note(f"{row['name']} ({failure['stage']}): {failure['error']}")
        for remark in row["remarks"]:
            app.screen.note(f"{row['name']}: {remark}")


@group.command("show")
@click.argument("name")
@json_option
@pass_app
def show_command(app: App, name: str, *, as_json: bool) -> None:
    """
    Show one plugin: its hooks and tools, and the traceback of what failed.

    \b
    Example:
      toolexec plugins show shell
    """
    found = rows(app)
    row = next((row for row in found if row["name"] == name), None)
    if row is None:
        raise CliError(f"there is no plugin {name!r}; there are {', '.join(row['name'] for row in found) or 'none'}")
    if as_json:
        app.screen.json(row)
        return
    failures = row.pop("failures")
    app.screen.result(for_person({key: value for key, value in row.items() if value is not None}))
    for failure in failures:
        app.screen.heading(f"\nfailed ({failure['stage']}): {failure['error']}")
        app.screen.result(failure["traceback"])


@group.command("new")
@click.argument("name")
@click.argument("folder", required=False, metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path))
@json_option
@pass_app
def new_command(app: App, name: str, folder: Path | None, *, as_json: bool) -> None:
    """
    Write a plugin NAME that works, with one tool, to DIR (default: executor-NAME here).

    It has tests, a README and what GitHub needs to run the tests.

    \b
    Example:
      toolexec plugins new weather
      pip install -e './executor-weather[test]'
      python -m pytest executor-weather
      toolexec tools list --plugin weather
    """
    name = name.replace("-", "_").removeprefix("executor_")
    if _NAME.fullmatch(name) is None:
        raise CliError(f"{name!r} cannot be a plugin's name: use lower-case letters, digits and '_', a letter first")
    _refuse_known(app, name)
    folder = folder if folder is not None else Path("executor-" + name.replace("_", "-"))
    first, *others = name.split("_")
    tool = first + "".join(word.capitalize() for word in others)
    made = _template.files(name, tool, version_of("toolexec") or "0")
    files = {folder / path: text for path, text in made.items()}
    _write(folder, files)
    if as_json:
        app.screen.json({"name": name, "folder": str(folder), "files": [str(path) for path in files]})
        return
    app.screen.result("\n".join(str(path) for path in files))
    place = f"./{folder}" if str(folder).startswith("-") else str(folder)
    app.screen.note(f"install it with: pip install -e {shlex.quote(f'{place}[test]')}")
    app.screen.note(f"run its tests with: python -m pytest {shlex.quote(place)}")


def _refuse_known(app: App, name: str) -> None:
    import keyword

    from executor.registry import BUNDLED

    if name in BUNDLED or any(entry.name == name for entry in app.registry.tools.values()):
        raise CliError(f"there is a plugin or tool {name!r} already, which would keep the name: choose another one")
    if keyword.iskeyword(name):
        raise CliError(f"{name!r} is a word of Python's own: choose another name")


def _write(folder: Path, files: dict[Path, str]) -> None:
    """Write all of *files* or, where one does not fit on the disk, none."""
    made: list[Path] = []
    try:
        if folder.exists() and any(folder.iterdir()):
            raise CliError(f"{folder} exists and is not empty: nothing is overwritten; give another folder")
        for path, text in files.items():
            for missing in reversed([each for each in path.parents if not each.exists()]):
                missing.mkdir()
                made.append(missing)
            with path.open("x", encoding="utf-8") as file:
                made.append(path)
                file.write(text)
    except OSError as error:
        for each in reversed(made):
            with contextlib.suppress(OSError):
                each.rmdir() if each.is_dir() else each.unlink()
        raise CliError(
            f"{error.filename or folder}: it cannot be written: {error.strerror}", ExitCode.UNEXPECTED
        ) from error

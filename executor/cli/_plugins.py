"""``toolexec plugins``: what plugins there are, what became of them, and a new one."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from executor.cli._app import App, json_option, pass_app
from executor.cli._errors import CliError, ExitCode
from executor.cli._render import for_person

if TYPE_CHECKING:
    from executor.registry import PluginFailure

_NAME = re.compile(r"[a-z][a-z0-9_]*")

PROJECT = """\
[project]
name = "executor-{dashed}"
version = "0.1.0"
readme = "README.md"
dependencies = ["toolexec"]
[project.entry-points.executor]
{name} = "executor_{name}"
[tool.setuptools]
packages = ["executor_{name}"]
"""

MODULE = '''\
"""The toolexec plugin {name}: one tool, {tool}."""

from __future__ import annotations

from typing import Any

from executor import current_call, hookimpl


def {name}(args: dict[str, Any]) -> dict[str, Any]:
    """Say the text back, and count its words."""
    call = current_call()
    words = args["text"].split()
    for word in words:
        if call is not None:
            call.emit(word + "\\n")  # shown live
    return {{"text": args["text"], "words": len(words)}}


@hookimpl
def executor_register_tools(register: Any) -> None:
    register(
        "{tool}",
        {name},
        schema={{
            "type": "object",
            "properties": {{"text": {{"type": "string", "description": "What to say back."}}}},
            "required": ["text"],
            "additionalProperties": False,
        }},
        annotations={{"read_only": True, "idempotent": True}},
    )
'''


README = """\
# executor-{dashed}

A plugin for [toolexec](https://pypi.org/project/toolexec/) with one tool, `{tool}`.

```sh
pip install -e .
toolexec tools show {tool}
toolexec call {tool} text='hello there'
pip install pytest && python -m pytest
```

It asks before it runs, as tools of plugins do; `toolexec permissions add {tool}` allows it for good.
"""

TEST = '''\
"""The plugin {name}: what toolexec finds wrong with it, and its tool."""

from __future__ import annotations

import executor_{name}
from executor import PluginRegistry, ToolExecutor
from executor.testing import check_plugin


def test_the_plugin_is_as_it_should_be() -> None:
    assert check_plugin(executor_{name}) == []


def test_words_are_counted_and_shown_live() -> None:
    registry = PluginRegistry(bundled=False, entry_points=False)
    registry.register(executor_{name}, "{name}")
    registry.expose("{name}")
    shown: list[str] = []
    with ToolExecutor(registry=registry) as executor:
        success, result = executor.execute("{tool}", {{"text": "hello there"}}, shown.append)
    assert (success, result) == (True, {{"text": "hello there", "words": 2}})
    assert "".join(shown) == "hello\\nthere\\n"
'''


@click.group("plugins")
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
    Write a plugin NAME that works, with one tool and its tests, to DIR (default: executor-NAME here).

    \b
    Example:
      toolexec plugins new weather
      pip install -e ./executor-weather
      toolexec tools list --plugin weather
    """
    name = name.replace("-", "_").removeprefix("executor_")
    if _NAME.fullmatch(name) is None:
        raise CliError(f"{name!r} cannot be a plugin's name: use lower-case letters, digits and '_', a letter first")
    _refuse_known(app, name)
    dashed = name.replace("_", "-")
    folder = folder if folder is not None else Path(f"executor-{dashed}")
    first, *others = name.split("_")
    tool = first + "".join(word.capitalize() for word in others)
    files = {
        folder / "pyproject.toml": PROJECT.format(name=name, dashed=dashed),
        folder / "README.md": README.format(tool=tool, dashed=dashed),
        folder / f"executor_{name}" / "__init__.py": MODULE.format(name=name, tool=tool),
        folder / "tests" / f"test_{name}.py": TEST.format(name=name, tool=tool),
    }
    _write(folder, files)
    if as_json:
        app.screen.json({"name": name, "folder": str(folder), "files": [str(path) for path in files]})
        return
    app.screen.result("\n".join(str(path) for path in files))
    app.screen.note(f"install it with: pip install -e {folder if folder.is_absolute() else f'./{folder}'}")


def _refuse_known(app: App, name: str) -> None:
    import keyword

    from executor.registry import BUNDLED

    if name in BUNDLED or any(entry.name == name for entry in app.registry.tools.values()):
        raise CliError(f"there is a plugin or tool {name!r} already, which would keep the name: choose another one")
    if keyword.iskeyword(name):
        raise CliError(f"{name!r} is a word of Python's own: choose another name")


def _write(folder: Path, files: dict[Path, str]) -> None:
    try:
        if folder.exists() and any(folder.iterdir()):
            raise CliError(f"{folder} exists and is not empty: nothing is overwritten; give another folder")
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise CliError(
            f"{error.filename or folder}: it cannot be written: {error.strerror}", ExitCode.UNEXPECTED
        ) from error

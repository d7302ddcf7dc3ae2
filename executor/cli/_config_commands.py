"""``toolexec config``: the configuration file, shown."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import click

from executor.cli._app import App, json_option, pass_app
from executor.cli._config import config_path, effective
from executor.cli._help import Group


@click.group("config", cls=Group)
def group() -> None:
    """
    Show where the configuration is and what it says.

    \b
    Examples:
      toolexec config path
      toolexec config show --json
    """


@group.command("path")
@json_option
@pass_app
def path_command(app: App, *, as_json: bool) -> None:
    """
    Print the path of the configuration file.

    \b
    Example:
      $EDITOR "$(toolexec config path)"
    """
    path = config_path()
    if as_json:
        app.screen.json({"path": str(path), "exists": path.exists()})
    else:
        app.screen.result(str(path))


@group.command("show")
@json_option
@pass_app
def show_command(app: App, *, as_json: bool) -> None:
    """
    Print the settings in force and where each comes from; secrets are masked.

    \b
    Example:
      toolexec config show
    """
    import json

    config = app.config
    settings = effective(config)
    if as_json:
        app.screen.json({"path": str(config.path), "exists": config.exists, "settings": settings})
        return
    app.screen.heading(f"{config.path}{'' if config.exists else ' (there is none; these are the defaults)'}")
    rows = [(key, json.dumps(row["value"], default=str), str(row["source"])) for key, row in settings.items()]
    app.screen.table(("setting", "value", "source"), rows)

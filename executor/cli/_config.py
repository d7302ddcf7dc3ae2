"""The configuration file."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from executor.cli._errors import CliError
from executor.ownfiles import keep_own
from executor.ownfolders import lost_link, own_folder, spelt_out

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from executor.tools import ToolSettings

KEYS = ("default_timeout", "engine", "ledger", "max_background_tasks", "plugins", "tools")
ENGINE_KEYS = ("name", "address", "ca", "cert", "key", "insecure")
TOOL_KEYS = ("timeout", "auto_background", "resources", "max_concurrent", "rate")
VARIABLES = (
    "TOOLEXEC_CONFIG",
    "TOOLEXEC_PERMISSIONS",
    "TOOLEXEC_PLUGINS",
    "TOOLEXEC_BLOCK_PLUGINS",
    "TOOLEXEC_STRICT",
    "TOOLEXEC_TRACE_PLUGINS",
)
_NOTHING: Mapping[str, Any] = {}


class Config(NamedTuple):
    """
    What the configuration file says.

    Attributes:
        path: The file, whether it exists or not.
        plugins: The configuration of each plugin, by name.
        blocked: The plugins that are never loaded.
        default_timeout: Time limit in seconds for tools that have none of their own, or None.
        ledger: Where the events of calls are recorded, or None.
        tools: What is said of tools of plugins, by name.
        engine: What `DaskEngine` is made with, or None: there is no cluster.
        given: The keys that stand in the file.
    """

    path: Path
    exists: bool = False
    plugins: Mapping[str, dict[str, Any]] = _NOTHING
    blocked: tuple[str, ...] = ()
    default_timeout: float | None = None
    max_background_tasks: int = 64
    ledger: Path | None = None
    tools: Mapping[str, ToolSettings] = _NOTHING
    engine: dict[str, Any] | None = None
    given: frozenset[str] = frozenset()


def config_path() -> Path:
    """Where the configuration file is: ``TOOLEXEC_CONFIG``, or ``config.toml`` in the user's configuration folder."""
    named = os.environ.get("TOOLEXEC_CONFIG")
    if named:
        return spelt_out(named).absolute()
    return own_folder("config") / "config.toml"


def load() -> Config:
    """
    Read the configuration file; without one everything has its default.

    Raises:
        CliError: It cannot be read, is not TOML, or says something that cannot be meant.
    """
    path = config_path()
    keep_own(path)
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):  # below a file, such as HOME=/dev/null, there is none either
        if os.environ.get("TOOLEXEC_CONFIG"):
            raise CliError(f"{path}: there is no such file, but TOOLEXEC_CONFIG names it") from None
        link = lost_link(path)
        if link is not None:
            text = f"{link}: the link leads to nothing: have it lead to the configuration, or remove it"
            raise CliError(text) from None
        return Config(path)
    except OSError as error:
        why = f"it cannot be read: {error.strerror or error}"
        raise CliError(f"{path}: {why}: make it readable, or have TOOLEXEC_CONFIG name another") from error
    import tomllib  # 3 ms, for those who have such a file

    try:
        told = tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise CliError(f"{path}: it is not UTF-8 (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise CliError(f"{path}: it is not TOML: {error}") from error  # the error's text ends in line and column
    except RecursionError as error:
        raise CliError(f"{path}: it is not TOML that can be read: it is nested too deep") from error
    return _read(path, told)


def _read(path: Path, told: dict[str, Any]) -> Config:
    for key in told:
        if key not in KEYS:
            raise _wrong(path, key, f"there is no such setting: use {', '.join(KEYS)}")
    tables = told.get("plugins", {})
    if not isinstance(tables, dict):
        raise _wrong(path, "plugins", f"is {_shown(tables)}, not a table: write [plugins.NAME]")
    plugins = {name: table for name, table in tables.items() if name != "blocked"}
    for name, table in plugins.items():
        if not isinstance(table, dict):
            hint = f"not a table: write [plugins.{name}] for a plugin; the one setting beside these is blocked"
            raise _wrong(path, f"plugins.{name}", f"is {_shown(table)}, {hint}")
    return Config(
        path,
        exists=True,
        plugins=plugins,
        blocked=_blocked(path, tables.get("blocked", [])),
        default_timeout=_default_timeout(path, told.get("default_timeout")),
        max_background_tasks=_max_background_tasks(path, told.get("max_background_tasks", 64)),
        ledger=_ledger(path, told.get("ledger")),
        tools=_tools(path, told.get("tools", {})),
        engine=_engine(path, told["engine"]) if "engine" in told else None,
        given=frozenset({*told, *(["plugins.blocked"] if "blocked" in tables else [])}),
    )


def _tools(path: Path, tables: object) -> dict[str, ToolSettings]:
    """The settings of tools, each value checked by itself so that a wrong one is named."""
    from executor.tools import ToolSettings

    if not isinstance(tables, dict):
        raise _wrong(path, "tools", f"is {_shown(tables)}, not a table: write [tools.NAME]")
    made: dict[str, ToolSettings] = {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise _wrong(path, f"tools.{name}", f"is {_shown(table)}, not a table: write [tools.{name}]")
        for option, value in table.items():
            if option not in TOOL_KEYS:
                known = ", ".join(TOOL_KEYS)
                raise _wrong(path, f"tools.{name}.{option}", f"there is no such setting: use {known}")
            try:
                ToolSettings(**{option: value})
            except ValueError as error:
                raise _wrong(path, f"tools.{name}.{option}", str(error)) from error
        made[name] = ToolSettings(**table)
    return made


def _engine(path: Path, table: object) -> dict[str, Any]:
    """The settings of the cluster, checked by who uses them."""
    from executor.engines import DaskEngine

    if not isinstance(table, dict):
        raise _wrong(path, "engine", f"is {_shown(table)}, not a table: write [engine]")
    for key, value in table.items():
        if key not in ENGINE_KEYS:
            raise _wrong(path, f"engine.{key}", f"there is no such setting: use {', '.join(ENGINE_KEYS)}")
        if not isinstance(value, bool if key == "insecure" else str):
            raise _wrong(path, f"engine.{key}", f"is {_shown(value)}, not {'true' if key == 'insecure' else 'a text'}")
    if table.get("name", "dask") != "dask":
        raise _wrong(path, "engine.name", f"is {table['name']!r}: the engine that there is is 'dask'")
    options = {key: value for key, value in table.items() if key != "name"}
    for key in ("ca", "cert", "key"):
        if key in options:
            options[key] = str(path.parent / spelt_out(options[key]))
    try:
        DaskEngine(**{"address": "", **options})
    except ValueError as error:
        word = str(error).split(" ", 1)[0]
        raise _wrong(path, f"engine.{word if word in ENGINE_KEYS else 'address'}", str(error)) from error
    return options


def _wrong(path: Path, key: str, problem: str) -> CliError:
    return CliError(f"{path}: {key}: {problem}", details={"path": str(path), "key": key})


def _shown(value: object) -> str:
    return f"{str(value)[:80]!r}" if isinstance(value, str) else f"a {type(value).__name__}"


def _blocked(path: Path, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise _wrong(path, "plugins.blocked", 'is no list of plugin names: write blocked = ["name"]')
    return tuple(value)


def _default_timeout(path: Path, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not (value > 0 and math.isfinite(value)):
        raise _wrong(path, "default_timeout", f"is {value!r}, not a number of seconds above 0")
    return float(value)


def _max_background_tasks(path: Path, value: object) -> int:
    if type(value) is not int or value < 1:
        raise _wrong(path, "max_background_tasks", f"is {value!r}, not a whole number from 1 on")
    return value


def _ledger(path: Path, value: object) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value or "\0" in value:
        raise _wrong(path, "ledger", f"is {_shown(value)}, not the path of a file")
    return path.parent / spelt_out(value)


def effective(config: Config) -> dict[str, dict[str, Any]]:
    """Every setting with its value and ``source`` (``default``, ``file``, ``environment``), secrets masked."""
    from executor.approval import mask

    values: dict[str, Any] = {
        "default_timeout": config.default_timeout,
        "ledger": str(config.ledger) if config.ledger is not None else None,
        "max_background_tasks": config.max_background_tasks,
        "plugins.blocked": list(config.blocked),
    }
    rows = {
        key: {"value": value, "source": "file" if key in config.given else "default"} for key, value in values.items()
    }
    for name, table in mask(config.plugins).items():
        for key, value in table.items() if isinstance(table, dict) else [("", table)]:
            rows[f"plugins.{name}.{key}".rstrip(".")] = {"value": value, "source": "file"}
    for name, settings in config.tools.items():
        for option in TOOL_KEYS:
            value = getattr(settings, option)
            if value is not None:
                rows[f"tools.{name}.{option}"] = {"value": value, "source": "file"}
    for key, value in (config.engine or {}).items():
        rows[f"engine.{key}"] = {"value": value, "source": "file"}
    for variable in VARIABLES:
        if variable in os.environ:
            rows[variable] = {"value": os.environ[variable], "source": "environment"}
    return rows

"""Finding plugins: the bundled ones first, then those of installed packages."""

from __future__ import annotations

import importlib
import os
import sys
import time
from functools import partial
from importlib.machinery import PathFinder
from types import ModuleType
from typing import TYPE_CHECKING

from executor.errors import PluginLoadError
from executor.registry._failures import Origin
from executor.values._frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

# By name only: the core never imports a plugin by statement. Found before every entry point, so that nothing can take
# a bundled plugin's name.
BUNDLED: Mapping[str, str] = {
    "shell": "executor_shell",
    "files": "executor_files",
    "background": "executor_background",
    "echo": "executor_echo",
    "mcp": "executor_mcp",
    "openapi": "executor_openapi",
    "permissions": "executor_permissions",  # only its commands: it judges where it is set as the permission plugin
    "otel": "executor_otel",
    "console": "executor_console",
}
ON_REQUEST = frozenset({"otel"})  # what costs something on every call is exposed only where it is named
GROUP = "executor"  # of entry points
FACTORY = "executor_plugin"  # in a module: makes the plugin, one for each registry


@dataclass(frozen=True, slots=True)
class Found:
    """A plugin that can be loaded, and `load`, which imports it; `entry` is what its entry point names."""

    name: str
    load: Callable[[], object]
    origin: Origin
    entry: str | None = None


class Choice:
    """
    Which plugins are loaded; ``TOOLEXEC_PLUGINS`` and ``TOOLEXEC_BLOCK_PLUGINS`` are read once, here.

    Args:
        blocked: Names that are never loaded.
    """

    def __init__(self, blocked: Iterable[str]) -> None:
        self._blocked = {*blocked, *_names("TOOLEXEC_BLOCK_PLUGINS")}
        self._only = set(_names("TOOLEXEC_PLUGINS")) if "TOOLEXEC_PLUGINS" in os.environ else None

    def __contains__(self, name: str) -> bool:
        return name not in self._blocked and (self._only is None or name in self._only)


def find(*, bundled: bool, entry_points: bool) -> Iterator[Found]:
    """The bundled plugins, then those of installed packages; nothing is imported yet."""
    if bundled:
        for name, module in BUNDLED.items():
            yield Found(name, partial(importlib.import_module, module), Origin(bundled=True))
    if entry_points and _may_be_installed():
        from importlib.metadata import entry_points as installed

        for entry in installed(group=GROUP):
            distribution = entry.dist.name if entry.dist else None
            version = entry.dist.version if entry.dist else None
            yield Found(entry.name, entry.load, Origin(distribution=distribution, version=version), entry.value)


def _may_be_installed() -> bool:
    """
    Whether a package may be installed that has a plugin: most people have none, and `importlib.metadata` takes a tenth
    of the time of a short command. It is asked wherever this cannot tell: of archives, eggs, and others' finders.
    """
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return True
    return any(map(_may_have_plugins, sys.path))


def _may_have_plugins(folder: str) -> bool:
    if folder.lower().endswith(".egg"):
        return True
    try:
        names = os.listdir(folder or ".")  # noqa: PTH208 -- hundreds of them, at every start
    except FileNotFoundError:
        return False
    except OSError:  # an archive, or a folder that cannot be listed
        return True
    packages = [name for name in names if name.lower().endswith((".dist-info", ".egg-info", ".egg"))]
    return any(name.lower().endswith(".egg") or _names_group(f"{folder or '.'}/{name}") for name in packages)


def _names_group(package: str) -> bool:
    try:
        with open(f"{package}/entry_points.txt", "rb") as file:  # noqa: PTH123 -- as above
            return f"[{GROUP}]".encode() in file.read()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def load(found: Found) -> tuple[object, float]:
    """
    Import a plugin.

    Returns:
        The module or object, and how many seconds that took.

    Raises:
        PluginLoadError: It could not be imported.
    """
    began = time.perf_counter()
    try:
        plugin = found.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module that calls sys.exit() ends nobody's process
        told = "" if found.entry is None else f" as its entry point {found.entry!r} says"
        raise PluginLoadError(f"could not be imported{told}: {error!r}", plugin=found.name) from error
    return plugin, time.perf_counter() - began


def make(plugin: object, name: str) -> object:
    """
    The plugin for one registry: what the module's ``executor_plugin()`` makes, or *plugin* itself.

    Raises:
        PluginLoadError: ``executor_plugin()`` raised, or cannot be called.
    """
    factory = getattr(plugin, FACTORY, None) if isinstance(plugin, ModuleType) else None
    if factory is None:
        return plugin
    if not callable(factory):
        told = f"{FACTORY} is {factory!r}: give the class, or a function without parameters, that makes the plugin"
        raise PluginLoadError(told, plugin=name)
    try:
        return factory()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginLoadError(f"{FACTORY}() failed: {error!r}", plugin=name) from error


def _names(variable: str) -> list[str]:
    return [name.strip() for name in os.environ.get(variable, "").split(",") if name.strip()]


def is_set(variable: str) -> bool:
    """Whether a variable of the environment says yes."""
    return os.environ.get(variable, "") not in ("", "0")

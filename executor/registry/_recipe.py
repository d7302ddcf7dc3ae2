"""What another process needs in order to have the same plugins, configured and exposed alike."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from executor._log import warn
from executor.values._frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from executor.registry._plugin import Loaded
    from executor.tools._settings import ToolSettings


class Registry(Protocol):
    """What is asked of a `PluginRegistry` to make it like another one."""

    def adjust(self, tool: str, settings: ToolSettings) -> None: ...
    def register(self, plugin: object, name: str | None = None) -> str: ...
    def list_available(self) -> list[str]: ...
    def expose(self, name: str, config: Mapping[str, Any] | None = None) -> bool: ...


R = TypeVar("R", bound=Registry)


@dataclass(frozen=True, slots=True)
class Recipe:
    """
    A registry, as it can be made anew; it can be pickled if the configurations can.

    Attributes:
        options: What the registry is made with.
        modules: (plugin, module) of the plugins that were registered as modules.
        objects: The plugins that were registered as objects, which no other process can find.
        exposed: (plugin, configuration), in the order of their loading.
        settings: What was said of tools by `PluginRegistry.adjust`.
    """

    options: Mapping[str, Any]
    modules: tuple[tuple[str, str], ...]
    objects: tuple[str, ...]
    exposed: tuple[tuple[str, Mapping[str, Any]], ...]
    settings: Mapping[str, ToolSettings]

    def follow(self, make: Callable[..., R]) -> R:
        """The registry that *make* makes, with these plugins; one that is missing or fails is warned about."""
        registry = make(**self.options)
        for tool, settings in self.settings.items():
            registry.adjust(tool, settings)
        for name, module in self.modules:
            registry.register(importlib.import_module(module), name)
        available = registry.list_available()
        for name, config in self.exposed:
            if name in available:
                registry.expose(name, config)
            elif name not in self.objects:
                warn(f"The plugin {name!r} is not found by the process that a call was left to")
        return registry


def recipe_of(options: Mapping[str, Any], plugins: Iterable[Loaded], settings: Mapping[str, ToolSettings]) -> Recipe:
    """The recipe of a registry that was made with *options* and has loaded *plugins*."""
    plugins = list(plugins)
    by_hand = [loaded for loaded in plugins if loaded.hooks.origin.by_hand]
    return Recipe(
        dict(options),
        tuple((loaded.name, loaded.module) for loaded in by_hand if loaded.module is not None),
        tuple(loaded.name for loaded in by_hand if loaded.module is None),
        tuple((loaded.name, loaded.config or {}) for loaded in plugins if loaded.exposed),
        dict(settings),
    )


def module_of(plugin: object) -> str | None:
    """The name by which another process imports *plugin*; None for what is no module, or the main program."""
    return plugin.__name__ if isinstance(plugin, ModuleType) and plugin.__name__ != "__main__" else None

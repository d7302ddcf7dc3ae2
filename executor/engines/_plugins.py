"""What tells the plugins of one process from those of another."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.registry._registry import PluginRegistry


def plugin_set(registry: PluginRegistry | None) -> dict[str, str]:
    """The exposed plugins of a registry with their versions, and toolexec's own."""
    found = {"toolexec": version("toolexec")}
    if registry is not None:
        found |= {row["name"]: str(row["version"] or "") for row in registry.describe() if row["status"] == "exposed"}
    return found


def difference(wanted: Mapping[str, str], found: Mapping[str, str]) -> str:
    """What is wrong with the plugins that were *found*, in words; empty where nothing is."""
    wrong = [f"{name} is missing" for name in wanted if name not in found]
    wrong += [
        f"{name} is {found[name] or 'of no version'}, not {told or 'of no version'}"
        for name, told in wanted.items()
        if name in found and found[name] != told
    ]
    return ", ".join(wrong)

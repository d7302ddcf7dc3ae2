"""Plugins: found, loaded, exposed, called through their hooks, and ended."""

from executor.registry._failures import PluginFailure
from executor.registry._registry import PluginRegistry

__all__ = ["PluginFailure", "PluginRegistry"]

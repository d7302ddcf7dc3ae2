"""
Plugins: found, loaded, exposed, called through their hooks, and ended.

`BUNDLED` has the modules of the plugins that come with the package, by the plugins' names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor._lazy import lazy_names

# Twice each, and both are needed: type checkers read the imports, Python the table. A test compares them.
if TYPE_CHECKING:
    from executor.registry._failures import PluginFailure as PluginFailure
    from executor.registry._load import BUNDLED as BUNDLED
    from executor.registry._registry import PluginRegistry as PluginRegistry

__all__, __getattr__ = lazy_names(
    __name__,
    {
        "executor.registry._failures": "PluginFailure",
        "executor.registry._load": "BUNDLED",
        "executor.registry._registry": "PluginRegistry",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

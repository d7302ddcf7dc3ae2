"""What the tests of the registry share."""

from __future__ import annotations

import importlib.metadata

import pytest

from executor import PluginRegistry
from executor.registry import _load


@pytest.fixture
def registry():
    """A registry without plugins."""
    with PluginRegistry(bundled=False, entry_points=False) as made:
        yield made


class EntryPoint:
    """A stand-in for an installed package's entry point."""

    def __init__(self, name, load):
        self.name, self.load, self.value = name, load, f"executor_{name}"
        self.dist = type("Distribution", (), {"name": f"executor-{name}", "version": "1.2"})()


@pytest.fixture
def installed(monkeypatch):
    """Pretend that packages with these plugins are installed."""

    def install(**plugins):
        def load(plugin):
            def load():
                if isinstance(plugin, BaseException):
                    raise plugin
                return plugin

            return load

        found = [EntryPoint(name, load(plugin)) for name, plugin in plugins.items()]
        monkeypatch.setattr(_load, "_may_be_installed", lambda: True)
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: found if group == "executor" else [])

    return install

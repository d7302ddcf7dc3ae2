"""Who is told that the tools have changed."""

from __future__ import annotations

import pytest

from executor import hookimpl
from executor.tools._catalogue import Catalogue
from executor.tools._make import make_tool, prepare


class Plugin:
    def __init__(self):
        self.names = ["first"]

    @hookimpl
    def executor_register_tools(self, register):
        self.again = register.again
        for name in self.names:
            register(name, lambda args: 1)


def test_exposing_refreshing_and_unexposing_is_told(registry):
    plugin, seen = Plugin(), []
    registry.register(plugin, "one")
    forget = registry.on_tools_changed(lambda: seen.append(sorted(registry.tools)))
    registry.expose("one")
    plugin.names = ["first", "second"]
    plugin.again()
    registry.unexpose("one")
    assert seen == [["first"], ["first", "second"], []]
    forget()
    registry.expose("one")
    assert len(seen) == 3


def entry(name):
    return prepare(make_tool(name, lambda args: 1))


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda catalogue, _: catalogue.add(entry("new")), ["new", "old"]),
        (lambda catalogue, _: catalogue.remove("old"), []),
        (lambda catalogue, _: catalogue.clear(), []),
        (lambda catalogue, registry: catalogue.use(registry), ["first", "old"]),
    ],
    ids=["add", "remove", "clear", "use"],
)
def test_a_catalogue_tells_of_every_change_without_its_lock(registry, change, names):
    registry.register(Plugin(), "one")
    registry.expose("one")
    catalogue, seen = Catalogue(), []
    catalogue.add(entry("old"))
    forget = catalogue.on_changed(lambda: seen.append(sorted(tool.name for tool in catalogue.definitions())))
    change(catalogue, registry)
    assert seen == [names]
    forget()
    forget()
    catalogue.add(entry("other"))
    assert len(seen) == 1


def test_removing_what_is_not_there_is_no_change():
    catalogue, seen = Catalogue(), []
    catalogue.on_changed(lambda: seen.append(1))
    assert catalogue.remove("nothing") is False
    assert seen == []


def test_a_listener_that_raises_is_said_and_the_others_are_called(caplog):
    catalogue, seen = Catalogue(), []

    def broken():
        raise RuntimeError("no luck")

    catalogue.on_changed(broken)
    catalogue.on_changed(lambda: seen.append(1))
    catalogue.add(entry("one"))
    assert seen == [1]
    assert "no luck" in caplog.text


def test_a_function_that_is_added_twice_is_called_twice_and_forgotten_one_by_one():
    catalogue, seen = Catalogue(), []

    def listener():
        seen.append(1)

    forget = catalogue.on_changed(listener)
    catalogue.on_changed(listener)
    catalogue.add(entry("one"))
    forget()
    catalogue.add(entry("two"))
    assert len(seen) == 3

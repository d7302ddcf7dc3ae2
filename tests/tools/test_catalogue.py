"""Names of tools, and the table of all tools with who is told of its changes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor import Tool
from executor.errors import InvalidToolIdError
from executor.tools._catalogue import Catalogue
from executor.tools._ids import ToolId
from executor.tools._make import make_tool, prepare
from executor.tools._names import check_name


def entry(name, fn=lambda args: 1):
    return prepare(make_tool(name, fn))


# Names ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "a:b", "a:b:c", "A_1.x-y", "x" * 128])
def test_a_name_has_one_to_three_parts(name):
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "a:", ":a", "a::b", "a:b:c:d", "a b", "ä", "a\n", "x" * 129, None, 3])
def test_every_other_name_is_refused_with_what_is_allowed(name):
    with pytest.raises(InvalidToolIdError, match=r"use 1 to 3 parts of letters.*128 characters in all"):
        check_name(name)


def test_a_refused_name_is_shown_in_part():
    with pytest.raises(InvalidToolIdError) as error:
        check_name("ä" * 1000)
    assert "\\xe4" in error.value.message
    assert len(error.value.message) < 300
    with pytest.raises(InvalidToolIdError, match="of type int"):
        check_name(3)


def test_the_parts_of_a_name():
    assert ToolId.parse("n") == ToolId("n")
    assert ToolId.parse("a:n") == ToolId("n", "a")
    assert ToolId.parse("a:n:1") == ToolId("n", "a", "1")


# The table -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def catalogue():
    return Catalogue()


@pytest.fixture
def told(catalogue):
    """How often it was told that tools have changed."""
    heard = []
    catalogue.on_changed(lambda: heard.append(sorted(catalogue.names())))
    return heard


def plugins(*names, opinions=()):
    return SimpleNamespace(tools={name: entry(name) for name in names}, opinions=opinions)


def test_own_tools_come_first_and_hide_those_of_plugins(catalogue):
    registry, own = plugins("a", "b"), entry("b")
    catalogue.use(registry)
    catalogue.add(own)
    assert catalogue.names() == ["b", "a"]
    assert catalogue.find("b") is own
    assert catalogue.find("a") is registry.tools["a"]
    assert catalogue.find("c") is None
    assert [definition.name for definition in catalogue.definitions()] == ["b", "a"]
    assert catalogue.remove("b") is True
    assert catalogue.find("b") is registry.tools["b"]
    assert catalogue.names() == ["a", "b"]
    catalogue.add(own)
    catalogue.clear()
    assert catalogue.find("b") is registry.tools["b"]
    catalogue.use(None)
    assert catalogue.names() == []
    assert catalogue.find("a") is None


def test_a_registry_that_hides_nothing_keeps_own_tools(catalogue):
    own = entry("a")
    catalogue.add(own)
    catalogue.use(plugins("a", "b"))
    assert catalogue.find("a") is own
    catalogue.use(None)
    assert catalogue.find("a") is own
    assert catalogue.find("b") is None


def test_opinions_are_the_plugins(catalogue):
    assert catalogue.opinions == ()
    catalogue.use(plugins(opinions=[("p", print)]))
    assert catalogue.opinions == [("p", print)]
    catalogue.use(None)
    assert catalogue.opinions == ()


def test_definitions_are_made_once_and_a_callers_list_is_its_own(catalogue):
    catalogue.add(entry("a"))
    first = catalogue.definitions()
    first.clear()
    (again,) = catalogue.definitions()
    assert catalogue.definitions()[0] is again
    catalogue.add(entry("a", lambda args: 2))
    assert catalogue.definitions()[0] is not again
    catalogue.remove("a")
    assert catalogue.definitions() == []
    catalogue.use(plugins("b"))
    assert [definition.name for definition in catalogue.definitions()] == ["b"]


def test_every_change_is_told_and_what_is_none_is_not(catalogue, told):
    catalogue.add(entry("a"))
    catalogue.use(plugins("b"))
    assert catalogue.remove("missing") is False
    assert catalogue.remove("b") is False, "it is the plugin's"
    catalogue.remove("a")
    catalogue.clear()
    assert told == [["a"], ["a", "b"], ["b"], ["b"]]


def test_who_is_told_twice_is_told_so_until_each_is_ended(catalogue, caplog):
    heard = []

    def listen():
        heard.append(1)

    ends = [catalogue.on_changed(listen) for _ in range(2)]
    catalogue.on_changed(lambda: 1 / 0)
    catalogue.on_changed(lambda: heard.append("after"))
    catalogue.clear()
    assert heard == [1, 1, "after"]
    assert "ZeroDivisionError" in caplog.text
    ends[0]()
    ends[0]()
    catalogue.clear()
    assert heard == [1, 1, "after", 1, "after"]


def test_a_tool_is_what_was_registered():
    tool = Tool("x", fn=lambda args: 1)
    assert prepare(tool).tool is tool


NAMES = st.sampled_from("abcd")
CHANGES = st.one_of(
    st.tuples(st.just("add"), NAMES),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("use"), st.lists(NAMES, unique=True)),
    st.tuples(st.sampled_from(["clear", "list"]), st.just("")),
)


@given(changes=st.lists(CHANGES, max_size=12))
def test_what_is_listed_is_what_is_there_whatever_was_listed_before(changes):
    catalogue = Catalogue()
    own, plugin = {}, {}
    for change, what in changes:
        if change == "add":
            own[what] = entry(what)
            catalogue.add(own[what])
        elif change == "remove":
            assert catalogue.remove(what) is (own.pop(what, None) is not None)
        elif change == "use":
            registry = plugins(*what)
            plugin = registry.tools
            catalogue.use(registry)
        elif change == "clear":
            own.clear()
            catalogue.clear()
        else:
            listed = [*own.values(), *(each for name, each in plugin.items() if name not in own)]
            assert catalogue.definitions() == [each.definition for each in listed]
            assert catalogue.entries() == listed
        assert all(catalogue.find(name) is own.get(name, plugin.get(name)) for name in "abcd")

"""Old names: they work, they say what to use now and until when, and they blame whoever uses them."""

import sys
import types

import pytest

from executor._deprecated import Moved, deprecated, module_getattr, renamed_parameters, warn_deprecated
from executor.run import ChainResult, ProgressEvent, StepResult, StreamEvent, StreamEventKind, ToolId


def warned(text):
    return pytest.warns(DeprecationWarning, match=text)


def test_a_warning_names_the_new_name_and_the_version_and_blames_the_caller():
    def old():
        warn_deprecated("old()", "new()", removed="9.0")

    with warned(r"^old\(\) is deprecated and goes in 9\.0: use new\(\)$") as caught:
        old()
    assert caught[0].filename == __file__


def test_a_module_finds_what_has_moved_and_nothing_else():
    module = types.ModuleType("somewhere")
    module.__getattr__ = module_getattr("somewhere", {"old": Moved("json", "dumps", "json.dumps")})
    for _ in range(2):
        with warned(r"somewhere\.old is deprecated .* use json\.dumps"):
            assert module.old([1]) == "[1]"
    with pytest.raises(AttributeError, match="module 'somewhere' has no attribute 'other'"):
        module.other
    assert not hasattr(module, "__path__")


def test_a_name_can_be_imported_from_where_it_was(monkeypatch):
    module = types.ModuleType("somewhere")
    module.__getattr__ = module_getattr("somewhere", {"old": Moved("collections.abc", "Mapping", removed="3.0")})
    monkeypatch.setitem(sys.modules, "somewhere", module)
    with warned(r"goes in 3\.0: use collections\.abc\.Mapping"):
        from somewhere import old
    assert old.__name__ == "Mapping"


@renamed_parameters(args="arguments")
def call(name, arguments=None, *, timeout=1):
    """Docs."""
    return name, arguments, timeout


def test_a_parameter_is_taken_under_its_old_name():
    with warned(r"call\(args=\) is deprecated .* use arguments="):
        assert call("x", args=1, timeout=2) == ("x", 1, 2)
    assert call("x", 1) == call("x", arguments=1) == ("x", 1, 1)
    assert (call.__name__, call.__doc__) == ("call", "Docs.")


def test_both_names_of_a_parameter_are_an_error():
    with pytest.raises(TypeError, match="both 'arguments' and its old name 'args'"):
        call("x", arguments=1, args=2)


def test_a_method_under_its_old_name_works():
    class Thing:
        def close(self):
            return "closed"

        @deprecated("Thing.close", removed="5.0")
        def shut(self):
            return self.close()

    with warned(r"Thing\.shut\(\) is deprecated and goes in 5\.0: use Thing\.close") as caught:
        assert Thing().shut() == "closed"
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (ChainResult(None, []), (None, [])),
        (ProgressEvent(1, 2, "m"), (1, 2, "m")),
        (StepResult("x"), ("x", None, None, None, 0.0, None, 0, False)),
        (StreamEvent(StreamEventKind.DONE), (StreamEventKind.DONE, None, None, None)),
        (ToolId("a", "b"), ("a", "b", None)),
    ],
)
def test_what_was_a_named_tuple_can_still_be_read_as_one(value, parts):
    name = type(value).__name__
    with warned(f"using a {name} as a tuple is deprecated and goes in") as caught:
        first, *rest = value
    assert (first, *rest) == parts
    assert caught[0].filename == __file__
    with warned(name):
        assert value[0] == parts[0]

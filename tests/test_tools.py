"""Registration: functions, toolboxes and schemas become tools, or are refused with the tool's name."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Mapping
from datetime import date
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from executor import Tool, ToolAnnotations, ToolExecutor, errors, tool


def greet(name: str, times: int = 1) -> str:
    """Greet somebody."""
    return f"hello {name}! " * times


class Point(BaseModel):
    x: int
    y: int = 0


def test_a_typed_function_becomes_a_tool_with_a_schema(executor):
    registered = executor.register(greet)
    assert registered.name == "greet"
    assert registered.description == "Greet somebody."
    assert registered.input_schema == {
        "type": "object",
        "properties": {"name": {"type": "string"}, "times": {"type": "integer", "default": 1}},
        "required": ["name"],
        "additionalProperties": False,
    }
    assert executor.execute("greet", {"name": "Ada"}) == (True, "hello Ada! ")


def test_arguments_of_a_typed_function_are_checked_and_converted(executor):
    def move(
        point: Point,
        way: Literal["up", "down"] = "up",
        by: Annotated[int, Field(description="how far", ge=1)] = 1,
    ) -> int:
        return point.y + by if way == "up" else point.y - by

    schema = executor.register("move", move).input_schema
    assert schema["properties"]["by"] == {"type": "integer", "default": 1, "minimum": 1, "description": "how far"}
    assert executor.execute("move", {"point": {"x": 1}, "by": 2}) == (True, 2)
    success, value = executor.execute("move", {"point": {"x": "1"}, "way": "left", "by": 0})
    assert not success
    assert {error["path"] for error in value["errors"]} == {"/point/x", "/way", "/by"}


def test_what_only_the_type_knows_is_checked_before_anybody_is_asked(executor):
    asked = []

    class Plugin:
        def check_permission(self, *call):
            asked.append(call)
            return True, {}

    def when(day: date) -> int:
        return day.year

    executor.register("when", when)
    executor.set_permission_plugin(Plugin())
    success, value = executor.execute("when", {"day": "the day after tomorrow"})
    assert not success
    assert value["errors"][0]["path"] == "/day"
    assert asked == []
    assert executor.execute("when", {"day": "2026-11-20"})[1] == 2026


def test_an_error_raised_inside_a_typed_function_is_no_argument_error(executor):
    def fail(n: int) -> None:
        Point(x="not a number")

    executor.register("fail", fail)
    _, value = executor.execute("fail", {"n": 1})
    assert "errors" not in value
    assert "traceback" in value


def test_one_unannotated_parameter_is_the_mapping_form(executor):
    executor.register("keys", lambda a: sorted(a))
    executor.register("extra", functools.partial(lambda args, extra: extra, extra=3))
    assert executor.execute("keys", {"b": 1, "a": 2}) == (True, ["a", "b"])
    assert executor.execute("extra", {"anything": 1}) == (True, 3)


def test_a_parameter_annotated_as_text_that_means_a_mapping_is_the_mapping_form(executor):
    def keys(args: dict[str, int]) -> list[str]:  # annotations are texts in this file
        return sorted(args)

    executor.register("keys", keys)
    assert executor.execute("keys", {"b": 1}) == (True, ["b"])


@pytest.mark.parametrize(
    "fn", [functools.partial(greet, times=2), type("Greeter", (), {"__call__": lambda self, name: "hello"})()]
)
def test_partials_and_callable_objects_are_tools(executor, fn):
    executor.register("greet", fn)
    assert executor.execute("greet", {"name": "Ada"})[0]


@dataclasses.dataclass
class Scale:
    factor: int

    def __call__(self, number: int, unit: str = "m") -> str:
        return f"{number * self.factor} {unit}"


@dataclasses.dataclass
class Keys:
    reverse: bool = False

    def __call__(self, args: Mapping[str, Any]) -> list[str]:
        return sorted(args, reverse=self.reverse)


def test_an_object_with_annotated_fields_is_called_as_its_call_method_is_annotated(executor):
    made = executor.register("scale", Scale(3))
    assert made.input_schema["properties"] == {
        "number": {"type": "integer"},
        "unit": {"default": "m", "type": "string"},
    }
    assert executor.execute("scale", {"number": 2}) == (True, "6 m")
    executor.register("keys", Keys(reverse=True))
    assert executor.execute("keys", {"a": 1, "b": 2}) == (True, ["b", "a"])


DEFERRED = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from nowhere import Missing

def result(n: int) -> Missing:
    '''Double.

    Args:
        n: A number.
    '''
    return 2 * n

def parameter(n: Missing, m: int) -> int: ...
"""


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated with the function")
def test_names_of_annotations_that_only_type_checkers_know_are_missed_where_a_schema_needs_them(executor):
    found = {}
    exec(compile(DEFERRED, "tools", "exec", dont_inherit=True), found)
    made = executor.register("double", found["result"])
    assert made.input_schema["properties"] == {"n": {"type": "integer", "description": "A number."}}
    assert executor.execute("double", {"n": 2}) == (True, 4)
    with pytest.raises(errors.SchemaError, match="'Missing' is not defined"):
        executor.register("parameter", found["parameter"])


def test_each_public_method_of_an_object_becomes_a_tool(executor):
    class Notes:
        def __init__(self):
            self.all = []

        @property
        def trap(self):
            raise AssertionError("a property is no tool")

        def add(self, text: str) -> int:
            """Add a note."""
            self.all.append(text)
            return len(self.all)

        def _hidden(self):
            raise AssertionError

    tools = executor.register_toolbox(Notes(), prefix="notes.")
    assert [t.name for t in tools] == ["notes.add"]
    assert executor.execute("notes.add", {"text": "x"}) == (True, 1)


def test_the_decorator_makes_a_tool_that_is_still_a_function(executor):
    @tool(annotations={"read_only": True}, timeout=5)
    def double(n: int) -> int:
        """Twice."""
        return 2 * n

    assert isinstance(double, Tool)
    assert double(4) == 8
    executor.register(double)
    assert executor.execute("double", {"n": 4}) == (True, 8)
    assert double.annotations == ToolAnnotations(read_only=True)

    @tool
    def bare(n: int) -> int:
        return n

    assert bare.name == "bare"


def test_a_name_that_is_registered_again_is_replaced(executor):
    executor.register("x", lambda a: 1)
    executor.register("x", lambda a: 2)
    assert executor.execute("x") == (True, 2)
    assert len(executor.list_tools()) == 1


def test_what_is_told_of_a_tool_is_made_once_and_anew_where_the_tool_changes(executor):
    executor.register("kept", lambda args: 1)
    executor.register("changed", lambda args: 1, description="before")
    kept, _ = executor.list_tools()
    executor.register("changed", lambda args: 1, description="after")
    again, changed = executor.list_tools()
    assert again is kept
    assert changed.description == "after"


def test_tools_can_be_taken_away(executor):
    executor.register("x", lambda a: 1)
    assert executor.unregister("x") is True
    assert executor.unregister("x") is False
    executor.register("y", lambda a: 1)
    executor.clear_executors()
    assert executor.list_tools() == []
    assert not executor.execute("y")[0]


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "strnig"}, "strnig"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "regex"),
        ({"$ref": "https://example.com/schema"}, "another document"),
        ({"properties": {"a": {"$ref": "#/$defs/missing"}}}, "missing"),
        ({"$schema": "https://example.com/dialect", "type": "object"}, "example.com"),
        ({"type": "string"}, "object of named arguments"),
        (False, "object of named arguments"),
        ("nonsense", "give a dict"),
        ({"properties": {"a": object()}}, "Unsupported"),
    ],
)
def test_a_schema_that_is_none_is_found_at_registration(executor, schema, text):
    with pytest.raises(errors.SchemaError, match="'broken'") as caught:
        executor.register("broken", lambda a: 1, schema=schema)
    assert text in str(caught.value)
    assert caught.value.tool_id == "broken"


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (lambda *a: 1, "name each parameter"),
        (lambda a, b, /: 1, "name each parameter"),
        (lambda a, *rest, b: 1, "name each parameter"),
        (lambda a, /, *, b: 1, "name each parameter"),
    ],
)
def test_a_signature_without_a_schema_is_found_at_registration(executor, fn, text):
    with pytest.raises(errors.SchemaError, match="'broken'") as caught:
        executor.register("broken", fn)
    assert text in str(caught.value)


@pytest.mark.parametrize("name", ["a b", "", "a:b:c:d", "né", "x" * 129])
def test_a_malformed_name_is_found_at_registration(executor, name):
    with pytest.raises(errors.InvalidToolIdError):
        executor.register(name, lambda a: 1)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": "5"},
        {"timeout": True},
        {"auto_background": -0.1},
        {"auto_background": float("nan")},
        {"annotations": {"readOnly": True}},
        {"argument_kinds": {"command": "bash"}},
    ],
)
def test_an_option_that_cannot_be_meant_is_found_at_registration(executor, options):
    with pytest.raises(ValueError, match=r"."):
        executor.register("x", lambda a: 1, **options)
    assert executor.list_tools() == []


def test_something_without_a_function_is_no_tool(executor):
    with pytest.raises(ValueError, match="no function"):
        executor.register("x")
    with pytest.raises(ValueError, match="no function"):
        executor.register(Tool("x"))
    with pytest.raises(ValueError, match="no name"):
        executor.register(lambda a: 1)
    with pytest.raises(TypeError, match="no function of its own"):
        Tool("x")()


def test_the_definition_hash_changes_with_what_a_model_is_told():
    first = Tool("a", {"type": "object"}, description="x")
    assert first.definition_hash == Tool("a", {"type": "object"}, description="x", tags=("t",)).definition_hash
    assert first.definition_hash != Tool("a", {"type": "object"}, description="y").definition_hash
    assert len(first.definition_hash) == 64


def test_an_id_has_up_to_three_parts(executor):
    registered = executor.register(Tool("read", namespace="fs", version="1.0", fn=lambda a: 1))
    assert registered.id == "fs:read:1.0"
    assert executor.execute("fs:read:1.0") == (True, 1)


# Options --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "hint"), [("timeuot", "did you mean 'timeout'?"), ("max_concurent", "'max_concurrent'"), ("zzz", "use ")]
)
def test_an_option_that_does_not_exist_is_an_error_that_names_the_nearest(executor, registry_register, option, hint):
    for register in (executor.register, registry_register, lambda name, fn, **options: tool(name, **options)(fn)):
        with pytest.raises(TypeError, match=f"a tool has no option '{option}': ") as caught:
            register("x", greet, **{option: 1})
        assert hint in str(caught.value)


@pytest.fixture
def registry_register():
    """A plugin's ``register``."""
    from executor.registry._plugin import _Register

    return _Register(SimpleNamespace(plugin=None), {}, None)


def test_an_option_beside_a_finished_tool_is_refused_rather_than_dropped(executor):
    with pytest.raises(ValueError, match=r"has its own timeout: change it with dataclasses\.replace"):
        executor.register(Tool("x", fn=greet), timeout=5)


def test_limits_of_a_tool_are_kept_and_checked(executor):
    def resources(arguments):
        return [arguments["name"]]

    made = executor.register(greet, resources=resources, max_concurrent=2, rate="20/min")
    assert (made.resources, made.max_concurrent, made.rate) == (resources, 2, "20/min")
    assert made.portable().resources is None
    for wrong in ({"max_concurrent": 0}, {"max_concurrent": True}, {"max_concurrent": 1.5}, {"rate": 20}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            executor.register(greet, **wrong)
    with pytest.raises(ValueError, match="resources is not a function"):
        executor.register(greet, resources=["x"])


def test_every_option_reaches_the_tool_it_makes():
    from dataclasses import fields

    from executor.tools._options import ToolOptions

    renamed = {"schema": "input_schema", "retry_unsafe": "retry"}
    assert {renamed.get(name, name) for name in ToolOptions.__annotations__} <= {field.name for field in fields(Tool)}
    assert all(f" {name}: " in ToolOptions.__doc__ for name in ToolOptions.__annotations__)


NOT_GIVEN = object()


def test_a_default_that_json_cannot_hold_is_not_in_the_schema(recwarn):
    def measure(limit: float = float("nan"), most: float = float("inf"), least: float = 0.5, mark: object = NOT_GIVEN):
        return [str(limit), most, least, mark is NOT_GIVEN]

    with ToolExecutor() as executor:
        made = executor.register(measure)
        assert [each.get("default") for each in made.input_schema["properties"].values()] == [None, None, 0.5, None]
        assert executor.execute("measure") == (True, ["nan", float("inf"), 0.5, True])
    assert not recwarn.list

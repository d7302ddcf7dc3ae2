"""Objects that stand for data: a model reads the data, the program has the object, and a schema is about the data."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum
from types import MappingProxyType

import pydantic
import pytest

from executor import Image, ToolCall, ToolExecutor
from executor.run import Runner, Tools
from executor.tasks._answers import encode


class Heat(Enum):
    WARM = "warm"


class Place(pydantic.BaseModel):
    name: str
    seen: date | None = None


@dataclass(slots=True)
class Weather:
    place: Place
    heat: Heat = Heat.WARM
    days: set[int] = field(default_factory=lambda: {1})


class Lost:
    """Raises when it is asked for its data, and has a text."""

    def __str__(self):
        return "lost"

    def model_dump(self, mode):
        raise OSError("the database is gone")


@dataclass
class Login:
    user: str
    password: str = field(default="hunter2", repr=False)


@dataclass
class Loop:
    inner: object = None


OSLO = Weather(Place(name="Oslo", seen=date(2026, 1, 2)))
TOLD = {"place": {"name": "Oslo", "seen": "2026-01-02"}, "heat": "warm", "days": [1]}


@pytest.fixture
def executor():
    with ToolExecutor() as executor:
        yield executor


@pytest.mark.parametrize(
    ("value", "told", "content"),
    [
        (OSLO, TOLD, '{"place":{"name":"Oslo","seen":"2026-01-02"},"heat":"warm","days":[1]}'),
        ([Place(name="a")], [{"name": "a", "seen": None}], '[{"name":"a","seen":null}]'),
        ({"heat": Heat.WARM}, {"heat": "warm"}, '{"heat":"warm"}'),
        (frozenset({2}), [2], "[2]"),
        (deque([1, deque()]), [1, []], "[1,[]]"),
        (MappingProxyType({"a": 1}), {"a": 1}, '{"a":1}'),
        ([Decimal("1.50")], ["1.50"], '["1.50"]'),
        ([Lost()], ["lost"], '["lost"]'),
        ([Login("ada")], [{"user": "ada"}], '[{"user":"ada"}]'),
        ([Place], [str(Place)], f'["{Place}"]'),
        (Loop(float("nan")), {"inner": None}, '{"inner":NaN}'),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_model_reads_the_data_and_the_program_has_the_object(executor, value, told, content):
    executor.register("give", lambda args: value)
    result = executor.call(ToolCall("1", "give"))
    assert result.value is value
    assert (result.structured, result.content) == (told, content)


def test_what_holds_itself_has_its_text(executor):
    loop = Loop()
    loop.inner = loop
    executor.register("give", lambda args: loop)
    assert executor.call(ToolCall("1", "give")).content == str(loop)


def test_a_task_keeps_the_data(executor):
    executor.register("give", lambda args: OSLO, auto_background=0)
    task = executor.execute("give")[1]["task_id"]
    executor.tasks.wait(task)
    assert json.loads(encode(OSLO)) == TOLD
    assert executor.tasks.tool_result(task).structured == TOLD


def test_images_in_an_object_are_among_the_blocks(executor):
    image = Image(b"PNG", "image/png")
    executor.register("give", lambda args: Loop([image]))
    assert executor.call(ToolCall("1", "give")).blocks[1:] == (image,)


@pytest.mark.parametrize("value", [OSLO, Place(name="Oslo"), MappingProxyType({"name": "Oslo"})], ids=repr)
def test_an_output_schema_is_about_the_data(executor, value):
    required = "place" if value is OSLO else "name"
    executor.register("give", lambda args: value, output_schema={"type": "object", "required": [required]})
    executor.register("other", lambda args: value, output_schema={"type": "object", "required": ["other"]})
    assert executor.execute("give") == (True, value)
    assert executor.execute("other")[1]["errors"][0]["keyword"] == "required"


def test_what_stands_for_no_data_does_not_fit_an_output_schema(executor):
    executor.register("give", lambda args: Lost(), output_schema={"type": "object"})
    executor.register("bare", lambda args: object(), output_schema={})
    assert executor.execute("give")[1]["errors"]
    assert executor.execute("bare")[1]["errors"]


def test_the_runner_compares_the_data_too():
    def give(args: Mapping[str, object]) -> Weather:
        return OSLO

    tools = Tools([give])
    assert Runner(tools).run("give", {}).structured is OSLO

"""What tools return that raises when it is looked at, and names that are no text: each call has its one result."""

from __future__ import annotations

import asyncio
import re
from enum import StrEnum

import pytest

from executor import (
    JsonLinesLedger,
    PluginRegistry,
    ResultKind,
    TaskManager,
    TaskStatus,
    TokenLedger,
    ToolCall,
    ToolExecutor,
    hookimpl,
)
from executor.calls._content import json_of

SECONDS = 20.0


class Lost(dict):
    """Rows of a database that is gone; a dict that another thread still fills raises a RuntimeError in the same way."""

    def items(self):
        raise OSError("the database is gone")


class Text(str):
    """A text that cannot be compared."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        raise RuntimeError("not to be compared")


class Rows(list):
    """A list that cannot be asked whether there is anything in it."""

    def __len__(self):
        raise RuntimeError("not to be counted")


class Exits:
    """What ends whoever writes it out."""

    def __str__(self):
        raise SystemExit("not to be written")

    __repr__ = __str__


VALUES = {"dict": Lost(a=1), "within": {"rows": [Lost(a=1)]}, "text": Text("said"), "list": Rows([1])}


@pytest.fixture
def executor():
    with ToolExecutor() as executor:
        yield executor


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_a_value_that_raises_when_it_is_read_is_a_result_on_every_route(executor, value):
    executor.register("give", lambda args: value)
    executor.register("one", lambda args: 1)
    assert executor.execute("give")[1] is value
    called = executor.call(ToolCall("1", "give"))
    submitted = executor.submit(ToolCall("2", "give")).result(SECONDS)
    many = executor.execute_many([ToolCall("3", "one"), ToolCall("4", "give"), ToolCall("5", "one")])
    for result in (called, submitted, *many):
        assert result.kind is ResultKind.OK
        assert result.content
    assert called.value is submitted.value is many[1].value is value
    task_id = executor.start(ToolCall("6", "give")).task_id
    assert executor.tasks.wait(task_id, SECONDS).status is TaskStatus.COMPLETED
    assert executor.tasks.tool_result(task_id).content


def test_a_call_that_was_submitted_ends_also_when_its_value_ends_whoever_writes_it(executor):
    executor.register("give", lambda args: Exits())
    assert executor.submit(ToolCall("1", "give")).result(SECONDS).error == "SystemExit: not to be written"
    task_id = executor.start(ToolCall("2", "give")).task_id
    assert executor.tasks.wait(task_id, SECONDS).status.final


class Unreadable(Exception):
    """An error that ends whoever looks at it."""

    @property
    def __cause__(self):
        raise SystemExit("not to be read")


def fail(args):
    raise Unreadable


@pytest.mark.parametrize("tool", [lambda args: Exits(), fail], ids=["value", "error"])
@pytest.mark.parametrize("watched", ["nobody", "ledger", "observer"])
def test_what_a_call_comes_to_may_end_whoever_looks_at_it_and_is_a_failure_on_every_route(tool, watched):
    class Observer:
        @hookimpl
        def executor_after_call(self, call, result):
            pass

    with PluginRegistry(bundled=False, entry_points=False) as registry:
        registry.register(Observer(), "observer")
        if watched == "observer":
            registry.expose("observer")
        with ToolExecutor(TokenLedger() if watched == "ledger" else None, registry=registry) as executor:
            executor.register("give", tool)
            executor.execute("give")  # never raises; who does not look at a value has it
            told = []
            called = executor.call(ToolCall("1", "give"), on_done=told.append)
            timed = executor.call(ToolCall("2", "give"), timeout=SECONDS)
            submitted = executor.submit(ToolCall("3", "give")).result(SECONDS)
            awaited = asyncio.run(executor.acall(ToolCall("4", "give")))
            many = executor.execute_many([ToolCall("5", "give"), ToolCall("6", "give")])
            assert [result.kind for result in (called, timed, submitted, awaited, *many)] == [ResultKind.FAILED] * 6
            assert told == [called]
            assert executor.shutdown(timeout=SECONDS)


def test_an_observer_is_given_a_value_that_raises_when_it_is_read_as_it_is():
    seen = []

    class Observer:
        @hookimpl
        def executor_after_call(self, call, result):
            seen.append(result.value)

    value = Lost(a=1)
    with PluginRegistry(bundled=False, entry_points=False) as registry:
        registry.register(Observer(), "observer")
        registry.expose("observer")
        with ToolExecutor(registry=registry) as executor:
            executor.register("give", lambda args: value)
            assert executor.execute("give") == (True, value)
    assert seen[0] is value


def test_a_text_of_a_class_of_its_own_is_the_text_it_is():
    class Colour(StrEnum):
        RED = "red"

    for value in (Text("red"), Colour.RED):
        structured, content = json_of(value)
        assert type(structured) is type(content) is str
        assert [structured, content] == ["red", "red"]


# Names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call_id", [7, b"7", 7.0, True, ["7"], object()])
def test_an_id_that_is_no_text_is_refused_before_anything_runs(executor, call_id):
    ran = []
    executor.register("note", lambda args: ran.append(args))
    call = ToolCall(call_id, "note")
    for route in (
        executor.call,
        executor.submit,
        executor.start,
        executor.check,
        executor.judged,
        lambda call: executor.execute(call.name, {}, None, call.id),
        lambda call: executor.execute_stream(call.name, call_id=call.id, adapt=True),
        lambda call: executor.execute_many([ToolCall("1", "note"), call]),
        lambda call: list(executor.as_completed([ToolCall("1", "note"), call])),
    ):
        with pytest.raises(TypeError, match="the id of a call is of the type"):
            route(call)
    assert ran == []


def test_of_several_calls_none_is_made_when_one_is_no_request(executor):
    ran = []
    executor.register("note", lambda args: ran.append(args))
    with pytest.raises(TypeError, match="is no request"):
        executor.execute_many([ToolCall("1", "note"), None])
    assert ran == []


def test_a_conversation_that_is_no_text_is_refused():
    with pytest.raises(TypeError, match="conversation is of the type int: give a text"):
        ToolExecutor(conversation=7)


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [
        ("ledger", "give an object with record(stage, payload), such as JsonLinesLedger(path)"),
        ("registry", "give a PluginRegistry()"),
        ("engine", "give an engine, such as executor.engines.DaskEngine(…)"),
        ("tasks", "give a TaskManager, such as TaskManager.open()"),
    ],
)
@pytest.mark.parametrize("value", [5, "calls.jsonl", JsonLinesLedger, PluginRegistry, TaskManager])
def test_a_setting_that_cannot_be_what_it_stands_for_is_refused_at_the_door(setting, wanted, value):
    with pytest.raises(TypeError, match=re.escape(f"{setting} is {value!r}: {wanted}")):
        ToolExecutor(**{setting: value})


def test_a_registry_that_is_refused_leaves_the_one_before_in_use(executor):
    registry = PluginRegistry(bundled=False, entry_points=False)
    executor.set_registry(registry)
    with pytest.raises(TypeError, match="registry is 5"):
        executor.set_registry(5)
    assert executor.registry is registry


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"annotations": 5}, "annotations is 5: give ToolAnnotations, or a mapping such as {'read_only': True}"),
        ({"annotations": "read_only"}, "annotations is 'read_only': give"),
        ({"annotations": {"read_only": "false"}}, "the annotation read_only is 'false', not true or false"),
        ({"annotations": {1: True, "x": 1}}, "unknown annotation 1: use read_only, "),
        ({"argument_kinds": 5}, "the tool 't': argument_kinds is 5: give a mapping such as {'command': 'shell'}"),
        ({"argument_kinds": ["a"]}, "the tool 't': argument_kinds is ['a']: give a mapping"),
    ],
)
def test_options_that_are_no_mappings_of_theirs_are_refused_at_registration(executor, options, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        executor.register("t", lambda args: 1, **options)
    assert executor.list_tools() == []


@pytest.mark.parametrize("option", ["description", "title"])
def test_a_description_or_a_title_that_is_no_text_is_refused_at_registration(executor, option):
    with pytest.raises(ValueError, match=f"the tool 't': {option} is 7, not a text"):
        executor.register("t", lambda args: 1, **{option: 7})
    assert executor.list_tools() == []


def test_what_is_no_cancel_token_is_refused_before_anything_runs(executor):
    ran = []
    executor.register("note", lambda args: ran.append(args))
    for route in (executor.call, executor.submit, lambda call, cancel: executor.execute_many([call], cancel=cancel)):
        with pytest.raises(TypeError, match="cancel is 7: give a CancelToken"):
            route(ToolCall("1", "note"), cancel=7)
    assert ran == []
    assert executor.shutdown(timeout=SECONDS)

"""Tools, backends and results as values: what they say of themselves, and their JSON form."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pytest

from executor import Tool, ToolAnnotations, ToolExecutor, ToolResult
from executor.values import ResultKind, TaskStatus, ToolBackend, ToolDefinition

BACKENDS = {
    "local": (ToolBackend.local("fn"), {"kind": "local", "local": {"name": "fn"}}),
    "mcp": (ToolBackend.mcp("s", "t"), {"kind": "mcp", "mcp": {"serverName": "s", "toolName": "t"}}),
    "mcp, bare": (ToolBackend.mcp("s"), {"kind": "mcp", "mcp": {"serverName": "s"}}),
    "provider": (ToolBackend.provider("p", "t"), {"kind": "provider", "provider": {"providerId": "p", "toolId": "t"}}),
}


@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_and_its_json_form_are_the_same(name):
    backend, told = BACKENDS[name]
    assert backend.to_dict() == told
    assert ToolBackend.from_dict(told) == backend


def test_a_backend_without_details_says_its_kind_only():
    assert ToolBackend(BACKENDS["local"][0].kind).to_dict() == {"kind": "local"}
    assert ToolBackend.from_dict({"kind": "local"}) == ToolBackend(BACKENDS["local"][0].kind)


def test_a_backend_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="cloud"):
        ToolBackend.from_dict({"kind": "cloud"})
    with pytest.raises(ValueError, match="unknown key 'name' in a backend of kind mcp: use serverName, toolName"):
        ToolBackend.from_dict({"kind": "mcp", "mcp": {"name": "x"}})


def test_hints_are_understood_in_both_spellings():
    hints = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    wire = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    plain = {"read_only": True, "destructive": False, "idempotent": True, "open_world": False}
    assert hints.to_dict() == wire
    assert ToolAnnotations.of(wire) == ToolAnnotations.of(plain) == hints
    assert ToolAnnotations.of(hints) is hints
    assert ToolAnnotations.of(None) is None
    assert ToolAnnotations().to_dict() == {}
    with pytest.raises(ValueError, match="unknown annotation 'safe': use read_only, destructive"):
        ToolAnnotations.of({"safe": True})


def test_the_id_has_the_parts_that_there_are():
    assert Tool("n").id == "n"
    assert Tool("n", namespace="a").id == "a:n"
    assert Tool("n", namespace="a", version="1").id == "a:n:1"


@pytest.mark.parametrize(
    ("hints", "repeatable"),
    [
        (None, False),
        (ToolAnnotations(), False),
        (ToolAnnotations(idempotent=True), True),
        (ToolAnnotations(read_only=True), True),
        (ToolAnnotations(read_only=False, idempotent=False), False),
        (ToolAnnotations(destructive=True, open_world=True), False),
    ],
)
def test_a_tool_is_repeatable_when_somebody_said_so(hints, repeatable):
    assert Tool("n", annotations=hints).repeatable is repeatable


def test_a_tool_may_be_called_as_its_function():
    assert Tool("n", fn=lambda a, *, b: (a, b))(1, b=2) == (1, 2)
    with pytest.raises(TypeError, match="'n' has no function of its own"):
        Tool("n")()


def test_what_cannot_cross_to_another_process_stays():
    tool = Tool("n", fn=print, resources=lambda a: [], retry=object(), rate="1/s", timeout=2.0)
    assert (tool.portable().fn, tool.portable().retry, tool.portable().resources) == (None, None, None)
    assert tool.portable() == tool
    assert tool.portable().timeout == 2.0


def test_the_hash_of_a_definition_changes_with_what_a_model_is_told_and_with_nothing_else():
    tool = Tool("n", {"type": "object"}, {"type": "string"}, description="d", title="t", fn=print)
    assert tool.definition == ToolDefinition("n", "d", {"type": "object"}, {"type": "string"}, "t", None)
    assert len(tool.definition_hash) == 64
    same = {replace(tool, fn=None, timeout=3, tags=("x",)).definition_hash, tool.definition_hash}
    assert len(same) == 1
    changes = [
        {"name": "m"}, {"description": "e"}, {"title": None}, {"input_schema": {}}, {"output_schema": None},
        {"annotations": ToolAnnotations(read_only=True)}, {"annotations": ToolAnnotations(idempotent=True)},
    ]  # fmt: skip
    assert len({replace(tool, **change).definition_hash for change in changes} | same) == len(changes) + 1


def test_a_result_says_what_it_came_to():
    assert (ToolResult("c", True).kind, ToolResult("c", True).is_error) == (ResultKind.OK, False)
    assert (ToolResult("c", False).kind, ToolResult("c", False).is_error) == (ResultKind.FAILED, True)
    assert ToolResult("c", True, backgrounded=True).kind is ResultKind.BACKGROUNDED
    assert ToolResult("c", False, backgrounded=True).kind is ResultKind.FAILED
    assert ToolResult("c", False, kind=ResultKind.DENIED).kind is ResultKind.DENIED
    assert ToolResult("c", True, is_error=True).is_error is False


def test_the_words_of_kinds_and_states_are_those_that_are_stored_and_read():
    assert [str(kind) for kind in ResultKind] == [
        "ok", "invalid_arguments", "not_found", "denied", "failed", "invalid_result", "timed_out", "cancelled",
        "interrupted", "unavailable", "capacity", "unknown_outcome", "backgrounded",
    ]  # fmt: skip
    states = {str(state): state.final for state in TaskStatus}
    assert states == {
        "pending": False, "running": False, "completed": True, "failed": True, "cancelled": True, "timeout": True,
        "interrupted": True,
    }  # fmt: skip


@pytest.fixture
def late():
    """A tool whose schemas are read late; `late.read` counts that."""

    def read():
        read.count += 1
        return {"type": "object"}, {"type": "integer"}

    read.count = 0
    return Tool("late", description="later", schemas=read), read


def test_schemas_are_read_when_they_are_first_looked_at(late):
    tool, read = late
    assert (tool.id, tool.definition.description, read.count) == ("late", "later", 0)
    assert (tool.output_schema, tool.input_schema, read.count) == ({"type": "integer"}, {"type": "object"}, 1)
    assert tool.schemas is None
    assert tool == Tool("late", {"type": "object"}, {"type": "integer"}, description="later")


def test_a_definition_shares_the_schemas_of_its_tool(late):
    tool, read = late
    definition = tool.definition
    assert definition.input_schema is tool.input_schema
    assert definition == tool.definition
    assert read.count == 1


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda tool: pickle.loads(pickle.dumps(tool)), lambda tool: tool.portable()]
)
def test_a_copy_has_the_schemas_themselves(late, copied):
    made = copied(late[0])
    assert (made.schemas, made.input_schema) == (None, {"type": "object"})


def test_another_schema_takes_the_place_of_one_that_is_read_late(late):
    made = replace(late[0], input_schema={"type": "object", "properties": {}}, output_schema=None)
    assert (made.input_schema, made.output_schema) == ({"type": "object", "properties": {}}, None)


def test_schemas_that_cannot_be_read_cost_a_call_and_no_more():
    def read():
        raise ValueError("the disk is damaged")

    with ToolExecutor() as executor:
        executor.register(Tool("bad", fn=lambda args: 1, schemas=read))
        executor.register("good", lambda args: 2)
        assert [tool.name for tool in executor.list_tools()] == ["bad", "good"]
        ok, result = executor.execute("bad", {})
        assert (ok, "the disk is damaged" in result["error"]) == (False, True)
        assert executor.execute("good") == (True, 2)


def test_a_name_that_is_not_there_is_no_attribute(late):
    with pytest.raises(AttributeError, match="no attribute 'schema'"):
        late[0].schema
    assert late[1].count == 0

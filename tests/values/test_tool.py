"""Tools, backends and results as values: what they say of themselves, and their JSON form."""

from __future__ import annotations

from dataclasses import replace

import pytest

from executor import Tool, ToolAnnotations, ToolResult
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

"""The arguments come as an object, as JSON text (as OpenAI's APIs send them), or not at all; a policy stands before."""

from __future__ import annotations

import json

import pytest

from executor import PluginRegistry, ToolCall, ToolExecutor
from executor_permissions import PermissionPlugin

CALLS = [
    ("listFiles", {"path": "."}),
    ("searchFiles", {"path": ".", "pattern": "tea"}),
    ("readFile", {"path": "notes.txt"}),
    ("editFile", {"path": "notes.txt", "old_text": "tea", "new_text": "milk"}),
    ("writeFile", {"path": "notes.txt", "content": "milk"}),
    ("deleteFile", {"path": "notes.txt"}),
]


@pytest.fixture
def executor(here):
    (here / "notes.txt").write_text("buy tea\n")
    policy = {"defaultPolicy": "allow", "blacklist": {"arguments": {"readFile": {"path": ["${project}/secret/"]}}}}
    registry = PluginRegistry(entry_points=False)
    registry.discover()
    registry.expose("files")
    with ToolExecutor(registry=registry, permission_plugin=PermissionPlugin(policy=policy)) as executor:
        yield executor


@pytest.mark.parametrize("form", [dict, json.dumps], ids=["object", "text"])
@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=[name for name, _ in CALLS])
def test_each_tool_takes_each_form(executor, name, arguments, form):
    result = executor.call(ToolCall("1", name, form(arguments)))
    assert (result.kind, result.error) == ("ok", None)


@pytest.mark.parametrize("form", [dict, json.dumps], ids=["object", "text"])
def test_a_change_is_taken_back_in_each_form(executor, here, form):
    executor.execute("writeFile", {"path": "notes.txt", "content": "milk"})
    result = executor.call(ToolCall("1", "undoFileChange", form({"path": "notes.txt"})))
    assert (result.error, (here / "notes.txt").read_text()) == (None, "buy tea\n")


@pytest.mark.parametrize("nothing", [None, "", "null", {}])
def test_a_call_without_arguments_leaves_out_what_the_policy_keeps(executor, here, nothing):
    (here / "secret").mkdir()
    result = executor.call(ToolCall("1", "listFiles", nothing))
    assert result.error is None
    assert [entry["path"] for entry in result.value["entries"]] == ["notes.txt"]

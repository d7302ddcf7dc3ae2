"""From a description to tools, and what is wrong with descriptions and configurations."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from executor import PluginRegistry, ToolExecutor
from executor.testing import check_plugin
from executor_openapi import Api, OpenAPIPlugin
from executor_openapi._document import DocumentError, parse


def test_operations_become_tools_with_one_schema(pets):
    tools = pets.tools("pets")
    assert set(tools) == {
        "listPets",
        "addPet",
        "getPet",
        "delete_pets_petId",
        "odd",
        "send",
        "form",
        "upload",
        "broken",
    }
    add = tools["addPet"]
    assert add.id == "pets:addPet"
    assert add.input_schema["required"] == ["name"]
    assert set(add.input_schema["properties"]) == {"name", "tags", "weight", "parent", "secret"}
    assert add.input_schema["additionalProperties"] is False
    assert add.input_schema["properties"]["weight"] == {"type": ["number", "null"], "exclusiveMinimum": 0}
    assert add.input_schema["properties"]["parent"] == {"$ref": "#/$defs/Pet"}
    assert "secret" not in tools["getPet"].output_schema["$defs"]["Pet"]["properties"]
    assert tools["listPets"].description == "List pets\n\nAll of them."


def test_annotations_are_what_the_methods_promise(pets):
    tools = pets.tools("pets")
    assert tools["listPets"].annotations.to_dict() == {
        "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": True,
    }  # fmt: skip
    assert tools["addPet"].annotations.idempotent is False
    assert tools["delete_pets_petId"].annotations.destructive


def test_what_cannot_be_a_tool_is_said_and_costs_only_itself(pets):
    problems = pets.problems("pets")
    assert set(problems) == {"remote"}
    assert pets.tools("pets")["broken"].output_schema is None  # what its answer refers to is not there
    assert "none is ever fetched" in problems["remote"]


def test_only_what_is_included_becomes_a_tool(provider_of, document):
    provider = provider_of(document, include=["getPet", "feedPet"])
    assert list(provider.tools("pets")) == ["getPet"]
    assert provider.problems("pets")["feedPet"] == "the description has no operation of this id"


def test_a_description_is_fetched_and_its_service_is_where_it_came_from(provider_of, service):
    provider = provider_of(f"{service.url}/openapi.json")
    assert provider.call_tool("pets", "getPet", {"petId": 1})["name"] == "Rex"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{\n "openapi": "3.0.0",\n oops', "line 3, column 2"),
        ("[]", "it is a list"),
        ('{"swagger": "2.0"}', "Swagger 2.0, which is not read: convert it"),
        ("<?xml version='1.0'?><x/>", "is XML or HTML"),
        ('{"openapi": "4.0.0"}', "version '4.0.0'"),
        ("{}", "no description of OpenAPI 3.0 or 3.1"),
        ('{"openapi": "3.1.0", "paths": []}', '"paths" is no object'),
        ("openapi: 3.0.0\n  x: [", "(for YAML: pip install|is no YAML)"),
        (b"\xff\xfe{", "cannot be read|no JSON|YAML"),
    ],
)
def test_a_text_that_is_no_description_is_said_to_be_none(text, problem):
    with pytest.raises(DocumentError, match=problem):
        parse(text, "pets.json")


def described(paths: dict, **more) -> dict:
    return {"openapi": "3.1.0", "servers": [{"url": "http://h.example"}], "paths": paths, **more}


@pytest.fixture
def tools_of(provider_of, tmp_path):
    def make(told):
        path = tmp_path / "own.json"
        path.write_text(json.dumps(told))
        provider = provider_of(path)
        return provider.tools("pets"), provider.problems("pets")

    return make


def test_a_circle_of_references_is_said_and_a_recursive_schema_is_none(tools_of):
    components = {
        "schemas": {"Tree": {"type": "object", "properties": {"child": {"$ref": "#/components/schemas/Tree"}}}},
        "parameters": {"a": {"$ref": "#/components/parameters/b"}, "b": {"$ref": "#/components/parameters/a"}},
    }
    tree = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}}}
    paths = {
        "/tree": {"post": {"operationId": "plant", "requestBody": tree}},
        "/circle": {"get": {"operationId": "turn", "parameters": [{"$ref": "#/components/parameters/a"}]}},
    }
    tools, problems = tools_of(described(paths, components=components))
    assert list(tools) == ["plant"]
    assert tools["plant"].input_schema["properties"]["child"] == {"$ref": "#/$defs/Tree"}
    assert "leads in a circle" in problems["turn"]


def test_a_body_that_cannot_be_taken_apart_stays_one_argument(tools_of):
    either = {"oneOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "string"}]}
    clash = {"type": "object", "properties": {"id": {"type": "string"}}}
    query = {"name": "id", "in": "query", "schema": {"type": "string"}}

    def post(name, schema, *parameters):
        body = {"required": True, "content": {"application/json": {"schema": schema}}}
        return {"post": {"operationId": name, "parameters": list(parameters), "requestBody": body}}

    tools, _ = tools_of(described({"/a": post("either", either), "/b": post("clash", clash, query)}))
    assert list(tools["either"].input_schema["properties"]) == ["body"]
    assert list(tools["clash"].input_schema["properties"]) == ["id", "body"]
    assert tools["clash"].input_schema["required"] == ["body"]


def test_two_operations_of_one_id_are_said(tools_of):
    tools, problems = tools_of(
        described({"/a": {"get": {"operationId": "same"}}, "/b": {"get": {"operationId": "same"}}})
    )
    assert list(tools) == ["same"]
    assert "GET /b has the id of another operation" in problems["same"]


def test_a_description_without_a_place_needs_one_in_the_configuration(tools_of):
    tools, problems = tools_of({"openapi": "3.1.0", "paths": {}})
    assert tools == {}
    assert "configure its `server`" in problems["everything"]


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"apis": 3}, "apis is 3, not a table"),
        ({"api": {}}, "unknown key 'api': use apis"),
    ],
)
def test_a_wrong_configuration_is_refused_with_what_would_fit(config, problem):
    with pytest.raises(ValueError, match=problem):
        OpenAPIPlugin().executor_configure(config)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"apis": {"a b": {}}}, "is no name for a service"),
        ({"apis": {"a": {}}}, "document is missing"),
        ({"apis": {"a": {"document": "api.json"}}}, "another file in every folder: give its full path"),
        ({"apis": {"a": {"document": "x", "sever": "y"}}}, "apis.a.sever is unknown: use document"),
        ({"apis": {"a": {"document": "x", "server": "h"}}}, "server is no http"),
        ({"apis": {"a": {"document": "x", "server": "http://u:p@h"}}}, "take them out"),
        ({"apis": {"a": {"document": "x", "auth": {"kind": "oauth"}}}}, "kind is 'oauth': use bearer"),
        ({"apis": {"a": {"document": "x", "auth": {"kind": "bearer", "env": "sk-12 3"}}}}, "name of the environment"),
        ({"apis": {"a": {"document": "x", "auth": {"kind": "header", "env": "K"}}}}, "which header takes the secret"),
        ({"apis": {"a": {"document": "x", "timeout": 0}}}, "timeout is 0"),
        ({"apis": {"a": {"document": "x", "include": "b"}}}, "include is 'b', not a list of texts"),
        ({"apis": {"a": {"document": "x", "auth": {"kind": "oauth2", "env": "S"}}}}, "client_id must be the name"),
        ({"apis": {"a": {"document": "x", "security": {"key": "sk 1"}}}}, "security.key.env must be the name"),
    ],
)
def test_a_wrong_table_costs_its_own_service_and_says_what_would_fit(config, problem, document, caplog):
    registry = PluginRegistry(bundled=False, entry_points=False)
    plugin = OpenAPIPlugin()
    registry.register(plugin, "openapi")
    assert registry.expose("openapi", {"apis": {**config["apis"], "pets": {"document": str(document)}}})
    assert "pets:getPet" in registry.tools
    assert problem in caplog.text
    plugin.executor_shutdown()


def test_a_service_that_cannot_be_used_costs_only_itself(document, caplog):
    registry = PluginRegistry(bundled=False, entry_points=False)
    plugin = OpenAPIPlugin()
    registry.register(plugin, "openapi")
    assert registry.expose("openapi", {"apis": {"pets": {"document": str(document)}, "no": {"document": "/no.json"}}})
    assert "pets:getPet" in registry.tools
    assert "/no.json cannot be read" in caplog.text
    assert "remote (it refers to another document" in caplog.text
    plugin.executor_shutdown()


def test_without_configuration_nothing_is_imported_or_registered():
    root = Path(__file__).parents[3]
    program = f"""
import sys; sys.path[:0] = {[str(root), str(root / "plugins")]!r}
from executor import PluginRegistry
registry = PluginRegistry(entry_points=False)
assert registry.expose("openapi")
print(list(registry.tools), registry.backends(), [m for m in ("httpx2", "asyncio", "pydantic") if m in sys.modules])
"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[] {} []"


def test_what_is_kept_of_a_description_is_read_without_what_only_requests_need(document, own_folders):
    root = Path(__file__).parents[3]
    program = f"""
import sys; sys.path[:0] = {[str(root), str(root / "plugins")]!r}
from executor import PluginRegistry
registry = PluginRegistry(entry_points=False)
assert registry.expose("openapi", {{"apis": {{"pets": {{"document": {str(document)!r}}}}}}})
print("pets:getPet" in registry.tools, [m for m in ("httpx2", "asyncio", "pydantic") if m in sys.modules])
"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "True []"


def test_an_operation_with_a_long_id_is_a_tool_all_the_same(service, tmp_path):
    long = "drives.item." + "charts." * 30
    paths = {f"/pets/{number}": {"get": {"operationId": f"{long}{number}"}} for number in (1, 2)}
    file = tmp_path / "long.json"
    file.write_text(json.dumps(described(paths, servers=[{"url": f"{service.url}/v1"}])))
    registry = PluginRegistry(entry_points=False)
    registry.expose("openapi", {"apis": {"s": {"document": str(file)}}})
    names = [name for name in registry.tools if name.startswith("s:drives.item")]
    assert [len(name) for name in names] == [128, 128]
    with ToolExecutor(registry=registry) as executor:
        assert executor.execute(names[0]) == (True, {"id": 1, "name": "Rex", "tags": ["dog"]})
        assert "no such pet" in executor.execute(names[1])[1]["error"]
    registry.close()


def test_it_passes_the_checks_for_plugin_authors(document):
    plugin = OpenAPIPlugin()
    assert check_plugin(plugin, {"apis": {"pets": {"document": str(document), "include": ["addPet"]}}}) == []
    plugin.executor_shutdown()


def test_an_api_has_limits_of_its_own():
    api = Api.of({"document": "x.json", "timeout": 5, "threshold": None, "max_answer": 10})
    assert (api.timeout, api.threshold, api.max_answer) == (5, None, 10)

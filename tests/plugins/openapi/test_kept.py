"""What was read of a description is kept, and read again only where the description has changed."""

from __future__ import annotations

import json
import os
import socket
import threading

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from executor_openapi import Api, _reading
from executor_openapi._document import DocumentError
from executor_openapi._provider import OpenAPIProvider


def description(count=3, **more):
    components = {
        "schemas": {
            "A": {"type": "object", "properties": {"b": {"$ref": "#/components/schemas/B"}}},
            "B": {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/A"}}},
        }
    }
    answer = {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}
    paths = {
        f"/things/{number}": {
            "get": {"operationId": f"get{number}", "tags": ["read"], "responses": answer},
            "post": {"operationId": f"make{number}", "tags": ["write"], "requestBody": body, "responses": answer},
        }
        for number in range(count)
    }
    return {
        "openapi": "3.1.0",
        "servers": [{"url": "http://h.example"}],
        "paths": paths,
        "components": components,
        **more,
    }


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "api.json"
    path.write_text(json.dumps(description()))
    return path


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Reads a service; ``read.parsed`` has the places that were parsed for it."""
    parse = _reading.parse

    def parsed(text, where):
        read.parsed.append(where)
        return parse(text, where)

    monkeypatch.setattr(_reading, "parse", parsed)

    def read(document, **options):
        provider = OpenAPIProvider({"s": Api.of({"document": str(document), **options})}, cache=tmp_path / "kept")
        return provider.tools("s"), provider.problems("s")

    read.parsed = []
    return read


def test_a_file_is_parsed_once_until_it_changes(read, file):
    first, _ = read(file)
    again, _ = read(file)
    assert first == again
    assert read.parsed == [str(file)]
    file.write_text(json.dumps(description(2)))
    assert len(read(file)[0]) == 4
    assert len(read.parsed) == 2


def test_what_is_kept_is_its_owners_alone(read, file, tmp_path):
    read(file)
    (kept,) = (tmp_path / "kept").iterdir()
    assert (kept.stat().st_mode & 0o077, kept.parent.stat().st_mode & 0o077) == (0, 0)


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"form": 1}', "[{}, 0]\n[{}, {}]", "[1, 0]\n", '"\\ud800"'])
def test_what_is_damaged_is_read_anew(read, file, tmp_path, damage):
    first, _ = read(file)
    (kept,) = (tmp_path / "kept").iterdir()
    kept.write_text(damage)
    assert read(file)[0] == first


def test_an_index_that_lost_a_letter_is_read_anew(read, file, tmp_path):
    first, _ = read(file)
    (kept,) = (tmp_path / "kept").iterdir()
    kept.write_bytes(kept.read_bytes().replace(b"get0", b"get9", 1))
    assert read(file)[0] == first
    assert len(read.parsed) == 2


def test_a_start_reads_no_operation_and_a_call_reads_one(file, tmp_path):
    def provider():
        return OpenAPIProvider({"s": Api.of({"document": str(file)})}, cache=tmp_path / "kept")

    wanted = provider().tools("s")["make1"].input_schema
    (kept,) = (tmp_path / "kept").iterdir()
    lines = kept.read_bytes().split(b"\n")
    spoilt = [line if number < 2 or b'"make1"' in line else b"x" * len(line) for number, line in enumerate(lines)]
    shared = {number for number, line in enumerate(lines) if not line.startswith(b'{"id"')}
    kept.write_bytes(b"\n".join(lines[n] if n in shared else line for n, line in enumerate(spoilt)))
    tools = provider().tools("s")
    assert sorted(tools) == ["get0", "get1", "get2", "make0", "make1", "make2"]
    assert tools["make1"].input_schema == wanted


def test_an_operation_that_was_spoilt_says_so_and_the_next_start_reads_anew(read, file, tmp_path):
    first, _ = read(file)
    (kept,) = (tmp_path / "kept").iterdir()
    kept.write_bytes(kept.read_bytes().replace(b'"path":"/things/1"', b'"path":"/thinks/1"'))
    tools, _ = read(file)
    assert tools["get0"].input_schema == first["get0"].input_schema
    with pytest.raises(DocumentError, match=r"'get1' cannot be read .* the next start reads the description anew"):
        tools["get1"].input_schema
    assert not kept.exists()
    assert read(file)[0] == first


def test_what_was_opened_stays_what_it_is(read, file):
    before, _ = read(file)
    tools, _ = read(file)
    told = description(2)
    told["paths"]["/things/1"]["get"]["parameters"] = [{"name": "more", "in": "query", "schema": {}}]
    file.write_text(json.dumps(told))
    assert "more" in read(file)[0]["get1"].input_schema["properties"]
    assert tools["get1"].input_schema == before["get1"].input_schema


def test_an_open_file_is_closed_with_its_provider(read, file):
    read(file)
    here = len(os.listdir("/proc/self/fd"))
    tools, _ = read(file)
    assert len(os.listdir("/proc/self/fd")) == here + 1
    del tools
    assert len(os.listdir("/proc/self/fd")) == here


def test_an_operation_with_a_schema_that_is_none_is_left_out_once_and_for_all(read, tmp_path):
    told = description(2)
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"a": {"minLength": "x"}}}}}}
    told["paths"]["/things/1"]["post"]["requestBody"] = body
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(told))
    for _ in range(2):
        tools, problems = read(path)
        assert sorted(tools) == ["get0", "get1", "make0"]
        assert "is not valid JSON Schema" in problems["make1"]


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(file, tmp_path):
    (tmp_path / "in the way").write_text("")
    provider = OpenAPIProvider({"s": Api.of({"document": str(file)})}, cache=tmp_path / "in the way" / "kept")
    assert len(provider.tools("s")) == 6


def test_what_operations_share_is_one_object(read, file):
    for _ in range(2):
        tools, _ = read(file)
        schemas = [tool.output_schema for tool in tools.values()]
        assert {id(schema["$defs"]["B"]) for schema in schemas} == {id(schemas[0]["$defs"]["B"])}
        assert len({id(schema["$defs"]) for schema in schemas}) == 1


def test_a_schema_with_too_many_definitions_is_cut_and_still_one(read, tmp_path):
    told = description(1)
    schemas = told["components"]["schemas"]
    for number in range(300):
        schemas[f"N{number}"] = {
            "type": "object",
            "properties": {"next": {"$ref": f"#/components/schemas/N{number + 1}"}, "v": {"type": "integer"}},
        }
    schemas["N300"] = {"type": "integer"}
    schemas["A"]["properties"]["n"] = {"$ref": "#/components/schemas/N0"}
    path = tmp_path / "chain.json"
    path.write_text(json.dumps(told))
    tools, problems = read(path)
    assert problems == {}
    assert tools["make0"].output_schema is None
    kept = tools["make0"].input_schema["$defs"]
    assert len(kept) == 101
    assert sum(definition == {} for definition in kept.values()) == 1


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"include": ["get0", "make1"]}, ["get0", "make1"]),
        ({"include": ["get*"], "exclude": ["get1"]}, ["get0", "get2"]),
        ({"tags": ["write"]}, ["make0", "make1", "make2"]),
        ({"methods": ["post"], "paths": ["/things/[01]"]}, ["make0", "make1"]),
        ({"paths": ["/nothing"]}, []),
    ],
)
def test_only_what_is_wanted_becomes_a_tool(read, file, options, names):
    assert sorted(read(file, **options)[0]) == names


def test_an_operation_that_is_wanted_and_is_not_there_is_said(read, file):
    assert read(file, include=["get0", "getX", "none*"])[1] == {"getX": "the description has no operation of this id"}


class Place:
    """Serves a description, with an ETag."""

    def __init__(self):
        self.told, self.asked, self.fails = description(1), [], False
        self.app = Starlette(routes=[Route("/api.json", self.get)])

    async def get(self, request):
        self.asked.append(request.headers.get("if-none-match"))
        tag = f'"{len(self.told["paths"])}"'
        if self.fails:
            return Response(status_code=503)
        if self.asked[-1] == tag:
            return Response(status_code=304)
        return Response(json.dumps(self.told), media_type="application/json", headers={"ETag": tag})


@pytest.fixture
def place():
    made = Place()
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(made.app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{listening.getsockname()[1]}/api.json"
    made.told["servers"] = [{"url": "/v1"}]
    yield made
    server.should_exit = True
    thread.join(10)
    listening.close()


def test_a_url_is_fetched_once_an_hour_and_then_asked_whether_it_changed(read, place):
    for _ in range(3):
        assert len(read(place.url)[0]) == 2
    assert place.asked == [None]
    assert len(read(place.url, refresh=0)[0]) == 2
    assert (place.asked, len(read.parsed)) == ([None, '"1"'], 1)
    place.told = description(2, servers=[{"url": "/v1"}])
    assert len(read(place.url, refresh=0)[0]) == 4


def test_a_url_that_cannot_be_fetched_any_more_leaves_what_was_there(read, place):
    read(place.url)
    place.fails = True
    tools, problems = read(place.url, refresh=0)
    assert len(tools) == 2
    assert "HTTP 503; the one that was fetched before is used" in problems["the description"]

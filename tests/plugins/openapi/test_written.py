"""What arrives at a service, compared with what OpenAPI says that should."""

from __future__ import annotations

import asyncio
import contextlib
import email.parser
import email.policy
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qsl

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from executor import PluginRegistry, ToolExecutor
from executor.errors import BackendUnavailableError, ExecutionError, ToolFailedError
from executor_openapi import Api
from executor_openapi._provider import OpenAPIProvider


class Echo:
    """A service that keeps what it is sent; ``/token`` gives tokens for client credentials."""

    def __init__(self):
        self.seen, self.tokens, self.valid = [], [], set()
        self.arrived, self.answer = threading.Event(), threading.Event()  # of a request with p=late
        self.app = Starlette(
            routes=[
                Route("/token", self.token, methods=["POST"]),
                Route("/bytes", lambda _: Response(b"\x89PNG" * 1000, media_type="image/png")),
                Route("/told", self.told),
                Route("/{path:path}", self.any, methods=["GET", "POST", "PUT", "DELETE"]),
            ]
        )

    async def any(self, request):
        if request.url.path == "/api.json":
            return JSONResponse(self.description)
        self.seen.append(request)
        request.sent = await request.body()
        taken = not self.valid or request.headers.get("authorization") in self.valid
        if request.query_params.get("p") == "late":
            self.arrived.set()
            await asyncio.to_thread(self.answer.wait, 20)
        if not taken:
            return JSONResponse({"error": "who are you?"}, 401)
        return JSONResponse({}, headers={"Set-Cookie": "session=s-1; Path=/"})

    async def told(self, request):
        return JSONResponse([1], headers={"Link": "<next>", "X-Left": "3"})

    async def token(self, request):
        self.tokens.append((request.headers.get("authorization"), dict(parse_qsl((await request.body()).decode()))))
        self.valid = {f"Bearer token-{len(self.tokens)}"}
        return JSONResponse({"access_token": f"token-{len(self.tokens)}", "expires_in": 3600})


@pytest.fixture
def echo():
    made = Echo()
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(made.app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    yield made
    server.should_exit = True
    thread.join(10)
    listening.close()


@pytest.fixture
def service_of(echo, tmp_path):
    """Makes a provider of one service, ``s``, with these paths."""
    made = []

    def make(paths, options=None, **more):
        file = tmp_path / f"{len(made)}.json"
        told = {"openapi": "3.1.0", "servers": [{"url": f"{echo.url}/v1"}], "paths": paths, **more}
        file.write_text(json.dumps(told))
        made.append(OpenAPIProvider({"s": Api.of({"document": str(file), **(options or {})})}, cache=tmp_path / "kept"))
        return made[-1]

    yield make
    for provider in made:
        provider.close()


def get(*parameters, **more):
    return {"get": {"operationId": "do", "parameters": list(parameters), **more}}


def post(kind, schema, encoding=None, **more):
    media = {"schema": schema, **({"encoding": encoding} if encoding else {})}
    return {"post": {"operationId": "do", "requestBody": {"content": {kind: media}, "required": True}, **more}}


def parameter(place, style=None, explode=None, **more):
    told = {"name": "p", "in": place, "style": style, "explode": explode, "schema": {}, **more}
    return {key: value for key, value in told.items() if value is not None}


LIST, OBJECT = ["a", "b c"], {"x": 1, "y": "z"}
NESTED = {"a": {"b": [1, {"c": "d e"}]}, "f": True}


@pytest.mark.parametrize(
    ("place", "style", "explode", "value", "expected"),
    [
        # The table of OpenAPI 3.1, section 4.8.12.4.
        ("path", "simple", False, LIST, "/a,b%20c"),
        ("path", "simple", True, LIST, "/a,b%20c"),
        ("path", "simple", False, OBJECT, "/x,1,y,z"),
        ("path", "simple", True, OBJECT, "/x=1,y=z"),
        ("path", "label", False, 5, "/.5"),
        ("path", "label", False, ["a", "b"], "/.a,b"),
        ("path", "label", True, ["a", "b"], "/.a.b"),
        ("path", "label", False, OBJECT, "/.x,1,y,z"),
        ("path", "label", True, OBJECT, "/.x=1.y=z"),
        ("path", "matrix", False, 5, "/;p=5"),
        ("path", "matrix", False, ["a", "b"], "/;p=a,b"),
        ("path", "matrix", True, ["a", "b"], "/;p=a;p=b"),
        ("path", "matrix", False, OBJECT, "/;p=x,1,y,z"),
        ("path", "matrix", True, OBJECT, "/;x=1;y=z"),
        ("query", "form", True, LIST, "?p=a&p=b%20c"),
        ("query", "form", False, LIST, "?p=a,b%20c"),
        ("query", "form", True, OBJECT, "?x=1&y=z"),
        ("query", "form", False, OBJECT, "?p=x,1,y,z"),
        ("query", "spaceDelimited", False, ["a", "b"], "?p=a%20b"),
        ("query", "pipeDelimited", False, ["a", "b"], "?p=a%7Cb"),
        ("query", "deepObject", True, OBJECT, "?p[x]=1&p[y]=z"),
        ("query", "deepObject", True, NESTED, "?p[a][b][0]=1&p[a][b][1][c]=d%20e&p[f]=true"),
        ("query", None, None, None, "?p="),
        # What stands between items is no character of theirs.
        ("path", "simple", False, ["a,b", "c"], "/a%2Cb,c"),
        ("path", "simple", True, {"x": "1,y=2"}, "/x=1%2Cy%3D2"),
        ("path", "label", True, ["a,b", "c"], "/.a%2Cb.c"),
        ("path", "matrix", False, ["a,b", "c"], "/;p=a%2Cb,c"),
        ("query", "form", False, ["a,b", "c"], "?p=a%2Cb,c"),
        ("query", "form", False, {"x": "1,y,2"}, "?p=x,1%2Cy%2C2"),
        ("query", "form", True, "a,b", "?p=a%2Cb"),
    ],
)
def test_parameters_by_style(service_of, echo, place, style, explode, value, expected):
    path = "/{p}" if place == "path" else "/"
    service_of({path: get(parameter(place, style, explode))}).call_tool("s", "do", {"p": value})
    url = echo.seen[-1]
    arrived = url.scope["raw_path"].decode() + (f"?{url.url.query}" if url.url.query else "")
    assert arrived == "/v1" + (expected if place == "path" else f"/{expected}")


def test_reserved_characters_are_kept_where_the_description_says_so(service_of, echo):
    paths = {"/": get(parameter("query", allowReserved=True))}
    service_of(paths).call_tool("s", "do", {"p": "a/b?c:d&e"})
    assert echo.seen[-1].url.query == "p=a/b?c:d%26e"


@pytest.mark.parametrize(
    ("encoding", "value", "expected"),
    [
        (None, {"a": "x y", "n": 3}, "a=x%20y&n=3"),
        (None, {"a": ["x", "y"]}, "a=x&a=y"),
        (None, {"a": {"b": 1}}, "a=%7B%22b%22%3A1%7D"),
        ({"a": {"style": "deepObject", "explode": True}}, {"a": {"k": "v", "l": {"m": 1}}}, "a[k]=v&a[l][m]=1"),
        (
            {"a": {"style": "deepObject"}},
            {"a": [{"price": "p_1"}, {"price": "p_2"}]},
            "a[0][price]=p_1&a[1][price]=p_2",
        ),
        ({"a": {"style": "form", "explode": False}}, {"a": ["x", "y"]}, "a=x,y"),
        ({"a": {"contentType": "application/json"}}, {"a": ["x", "y"]}, "a=%5B%22x%22%2C%22y%22%5D"),
    ],
)
def test_forms_by_encoding(service_of, echo, encoding, value, expected):
    schema = {"type": "object", "properties": {"a": {}, "n": {"type": "integer"}}}
    service = service_of({"/": post("application/x-www-form-urlencoded", schema, encoding)})
    service.call_tool("s", "do", value)
    assert echo.seen[-1].sent.decode() == expected
    assert echo.seen[-1].headers["content-type"] == "application/x-www-form-urlencoded"


def test_a_multipart_body_has_a_part_for_each_value(service_of, echo):
    schema = {
        "type": "object",
        "properties": {
            "note": {"type": "string"},
            "meta": {"type": "object"},
            "file": {"type": "string", "format": "binary"},
            "more": {"type": "array", "items": {"type": "string", "format": "binary"}},
        },
    }
    service = service_of({"/": post("multipart/form-data", schema, {"file": {"contentType": "image/png"}})})
    service.call_tool("s", "do", {"note": "a\nb", "meta": {"x": 1}, "file": "base64:iVBORw==", "more": ["one", "two"]})
    request = echo.seen[-1]
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
    parts = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + request.sent).get_payload()
    arrived = [
        (part.get_param("name", header="content-disposition"), part.get_content_type(), part.get_payload(decode=True))
        for part in parts
    ]
    assert arrived == [
        ("note", "text/plain", b"a\nb"),
        ("meta", "application/json", b'{"x":1}'),
        ("file", "image/png", b"\x89PNG"),
        ("more", "application/octet-stream", b"one"),
        ("more", "application/octet-stream", b"two"),
    ]
    assert [part.get_filename() for part in parts] == [None, None, "file", "more", "more"]


@pytest.mark.parametrize(
    ("kind", "given", "arrived"),
    [
        ("application/octet-stream", "base64:AAEC", b"\x00\x01\x02"),
        ("application/octet-stream", "as it is", b"as it is"),
        ("image/png", "base64:iVBORw==", b"\x89PNG"),
        ("text/plain", "grüße", "grüße".encode()),
        ("text/csv", "a,b", b"a,b"),
        ("application/x-anything", "x", b"x"),
    ],
)
def test_bodies_that_are_sent_as_they_are(service_of, echo, kind, given, arrived):
    service_of({"/": post(kind, {})}).call_tool("s", "do", {"body": given})
    assert (echo.seen[-1].sent, echo.seen[-1].headers["content-type"]) == (arrived, kind)


def test_what_is_no_base64_is_not_sent(service_of, echo):
    with pytest.raises(ToolFailedError, match="'body' begins with 'base64:' and is no base64"):
        service_of({"/": post("application/octet-stream", {})}).call_tool("s", "do", {"body": "base64:!"})
    assert not echo.seen


def test_a_body_of_xml_alone_is_said_not_to_be_written(service_of):
    assert "XML is not written here" in service_of({"/": post("application/xml", {})}).problems("s")["do"]


def test_an_operation_may_have_a_server_of_its_own_on_the_spot_only(service_of, echo):
    service = service_of(
        {
            "/": get(servers=[{"url": f"{echo.url}/v2"}]),
            "/e": {"servers": [{"url": "http://e.example"}], "get": {"operationId": "elsewhere"}},
        }
    )
    service.call_tool("s", "do", {})
    assert echo.seen[-1].url.path == "/v2/"
    with pytest.raises(ExecutionError, match=r"http://e.example/?: configure that as `server`"):
        service.call_tool("s", "elsewhere", {})


def test_answers_that_are_no_text_are_files_where_a_folder_is_configured(service_of, echo, tmp_path):
    service = service_of(
        {"/bytes": get()}, {"downloads": str(tmp_path / "files"), "server": echo.url, "max_answer": 10}
    )
    value = service.call_tool("s", "do", {})
    assert (value["content_type"], value["size"]) == ("image/png", 4000)
    (file,) = (tmp_path / "files").iterdir()
    assert (str(file), file.read_bytes(), file.stat().st_mode & 0o077) == (value["path"], b"\x89PNG" * 1000, 0)


def test_headers_of_an_answer_that_are_wanted_come_beside_its_body(service_of, echo):
    service = service_of({"/told": get()}, {"answer_headers": ["link", "x-none"], "server": echo.url})
    assert service.call_tool("s", "do", {}) == {"body": [1], "headers": {"link": "<next>"}}


def test_headers_of_the_configuration_take_variables(service_of, echo, monkeypatch):
    service = service_of({"/": get()}, {"headers": {"X-Team": "${TEAM}", "X-Mode": "${MODE:-plain}"}})
    with pytest.raises(BackendUnavailableError, match="TEAM, which has the secret"):
        service.call_tool("s", "do", {})
    monkeypatch.setenv("TEAM", "blue")
    service.call_tool("s", "do", {})
    assert (echo.seen[-1].headers["x-team"], echo.seen[-1].headers["x-mode"]) == ("blue", "plain")


SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "app": {"type": "apiKey", "in": "query", "name": "app"},
    "session": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "user": {"type": "http", "scheme": "basic"},
    "token": {"type": "http", "scheme": "bearer"},
    "odd": {"type": "mutualTLS"},
}


@pytest.mark.parametrize(
    ("security", "configured", "arrived"),
    [
        ([{"key": []}], {"key": "S1"}, ("one", None, "", None)),
        ([{"key": [], "app": []}], {"key": "S1", "app": "S2"}, ("one", None, "app=t%20wo", None)),
        ([{"session": []}, {"key": []}], {"session": "S1"}, (None, None, "", "sid=one")),
        ([{"odd": []}, {"user": []}], {"user": "S1"}, (None, "Basic b25l", "", None)),
        ([{"user": []}, {"token": []}], {"user": "UNSET", "token": "S1"}, (None, "Bearer one", "", None)),
        ([{}], {"key": "S1"}, (None, None, "", None)),
    ],
)
def test_a_request_says_who_calls_by_the_documents_own_schemes(
    service_of, echo, monkeypatch, security, configured, arrived
):
    monkeypatch.setenv("S1", "one")
    monkeypatch.setenv("S2", "t wo")
    paths = {"/": get(security=security)}
    service_of(paths, {"security": configured}, components={"securitySchemes": SCHEMES}).call_tool("s", "do", {})
    seen = echo.seen[-1]
    names = ("x-key", "authorization", "cookie")
    key, authorization, cookie = (seen.headers.get(name) for name in names)
    assert (key, authorization, seen.url.query, cookie) == arrived


def test_a_scheme_that_is_not_configured_is_named(service_of):
    paths = {"/": get(security=[{"key": [], "app": []}, {"token": []}])}
    service = service_of(paths, {"security": {"user": "S1"}}, components={"securitySchemes": SCHEMES})
    with pytest.raises(BackendUnavailableError, match="wants key and app or token: configure them under `security`"):
        service.call_tool("s", "do", {})


def test_client_credentials_are_exchanged_once_and_again_when_the_token_is_refused(service_of, echo, monkeypatch):
    monkeypatch.setenv("APP_ID", "app")
    monkeypatch.setenv("APP_SECRET", "s-1")
    flow = {"clientCredentials": {"tokenUrl": f"{echo.url}/token", "scopes": {"read": "", "write": ""}}}
    service = service_of(
        {"/": get(security=[{"oauth": ["read"]}])},
        {"security": {"oauth": {"env": "APP_SECRET", "client_id": "APP_ID"}}},
        components={"securitySchemes": {"oauth": {"type": "oauth2", "flows": flow}}},
    )
    for _ in range(2):
        service.call_tool("s", "do", {})
    assert echo.tokens == [("Basic YXBwOnMtMQ==", {"grant_type": "client_credentials", "scope": "read write"})]
    echo.valid = {"Bearer none of these"}
    service.call_tool("s", "do", {})
    assert len(echo.tokens) == 2
    assert echo.seen[-1].headers["authorization"] == "Bearer token-2"


def test_a_late_refusal_of_an_old_token_costs_nobody_the_new_one(service_of, echo, monkeypatch):
    monkeypatch.setenv("APP", "s-1")
    oauth = {"kind": "oauth2", "env": "APP", "client_id": "APP", "token_url": f"{echo.url}/token"}
    service = service_of({"/": get(parameter("query"))}, {"auth": oauth})
    service.call_tool("s", "do", {})
    echo.valid = {"Bearer none of these"}
    with ThreadPoolExecutor() as pool:
        late = pool.submit(service.call_tool, "s", "do", {"p": "late"})
        assert echo.arrived.wait(20)
        service.call_tool("s", "do", {})
        echo.answer.set()
        late.result()
    assert len(echo.tokens) == 2


@pytest.mark.parametrize(
    "place", ["http://tokens.example/t", "//tokens.example/t", "http://127.0.0.1:1/t", "file:///t"]
)
def test_no_description_sends_a_secret_in_the_clear_to_another_place(service_of, echo, monkeypatch, place):
    monkeypatch.setenv("APP", "s-1")
    flow = {"clientCredentials": {"tokenUrl": place, "scopes": {}}}
    service = service_of(
        {"/": get(security=[{"oauth": []}])},
        {"security": {"oauth": {"env": "APP", "client_id": "APP"}}},
        components={"securitySchemes": {"oauth": {"type": "oauth2", "flows": flow}}},
    )
    with pytest.raises(ExecutionError, match=r"configure that as `token_url`|no request can go"):
        service.call_tool("s", "do", {})
    assert (echo.seen, echo.tokens) == ([], [])


@pytest.mark.parametrize(
    ("place", "told"), [("https://tokens.example/t", "error"), ("/token", "token"), ("token", "token")]
)
def test_a_description_that_was_fetched_sends_a_secret_nowhere_else(echo, tmp_path, monkeypatch, place, told):
    monkeypatch.setenv("APP", "s-1")
    flow = {"clientCredentials": {"tokenUrl": place, "scopes": {}}}
    echo.description = {
        "openapi": "3.1.0",
        "paths": {"/": get(security=[{"oauth": []}])},
        "components": {"securitySchemes": {"oauth": {"type": "oauth2", "flows": flow}}},
    }
    api = Api.of({"document": f"{echo.url}/api.json", "security": {"oauth": {"env": "APP", "client_id": "APP"}}})
    with contextlib.closing(OpenAPIProvider({"s": api}, cache=None)) as service:
        if told == "error":
            with pytest.raises(ExecutionError, match="configure that as `token_url` if it is meant"):
                service.call_tool("s", "do", {})
        else:
            service.call_tool("s", "do", {})
    assert len(echo.tokens) == (told != "error")


def test_no_argument_stands_beside_a_cookie_of_the_configuration(service_of, echo, monkeypatch):
    monkeypatch.setenv("KEY", "mine")
    paths = {"/": get({"name": "cookie", "in": "header"}, parameter("cookie"), {"name": "sid", "in": "cookie"})}
    auth = {"kind": "cookie", "name": "sid", "env": "KEY"}
    service = service_of(paths, {"auth": auth, "headers": {"Cookie": "team=${KEY}; mode=a,b"}})
    service.call_tool("s", "do", {"cookie": "x=1; team=evil; sid=evil", "p": ["a", "b"], "sid": "evil"})
    headers = [value for name, value in echo.seen[-1].headers.items() if name == "cookie"]
    assert headers == ["x=1; p=a; p=b; team=mine; mode=a,b; sid=mine"]


def test_no_cookie_of_a_service_is_sent_anywhere(service_of, echo):
    service = service_of({"/bake": get()})
    for _ in range(2):
        service.call_tool("s", "do", {})
    assert [request.headers.get("cookie") for request in echo.seen] == [None, None]


def test_an_answer_that_misses_its_schema_is_a_success_with_a_warning(echo, tmp_path):
    schema = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
    answers = {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}
    told = {"openapi": "3.1.0", "servers": [{"url": echo.url}], "paths": {"/told": get(responses=answers)}}
    file = tmp_path / "api.json"
    file.write_text(json.dumps(told))
    registry = PluginRegistry(entry_points=False)
    registry.expose("openapi", {"apis": {"s": {"document": str(file)}}})
    with ToolExecutor(registry=registry) as executor:
        succeeded, result = executor.execute("s:do", {})
    registry.close()
    assert (succeeded, result["result"]) == (True, [1])
    assert "does not fit its output schema" in result["warnings"][0]

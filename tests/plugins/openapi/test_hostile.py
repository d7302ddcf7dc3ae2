"""Descriptions and answers made to lead elsewhere, to say what is not so, or never to end."""

from __future__ import annotations

import base64
import contextlib
import html
import json
import socket
import threading
import time
import traceback
import urllib.parse

import pytest

from executor import PluginRegistry
from executor.errors import BackendUnavailableError, OutcomeUnknownError, ToolError, ToolFailedError
from executor_openapi import Api, _authorising, _reading
from executor_openapi._document import DocumentError, parse
from executor_openapi._hidden import without
from executor_openapi._provider import OpenAPIProvider


class Raw:
    """Takes one request after another, and answers each with the bytes of `answer`."""

    def __init__(self):
        self.seen, self.answer = [], said(b"{}")
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while True:
            connection, _ = self._listening.accept()
            with connection:
                request = connection.recv(65536)
                if request == b"end":
                    return
                self.seen.append(request.decode())
                connection.sendall(self.answer)

    def end(self):
        with socket.create_connection(self._listening.getsockname()) as connection:
            connection.sendall(b"end")
        self._thread.join(10)
        self._listening.close()


def said(body, status="200 OK", kind="application/json", **headers):
    told = {"Content-Type": kind, "Content-Length": str(len(body)), "Connection": "close", **headers}
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in told.items()), "", ""]
    return "\r\n".join(lines).encode() + body


@pytest.fixture
def raw():
    made = Raw()
    yield made
    made.end()


@pytest.fixture
def described(raw, tmp_path, provider_of):
    """Makes the provider of a service with these paths, which is at the raw server unless *options* say otherwise."""

    def make(paths, told=None, **options):
        path = tmp_path / "api.json"
        path.write_text(json.dumps({"openapi": "3.0.3", "paths": paths, **(told or {})}))
        return provider_of(path, **{"server": raw.url, **options})

    return make


@pytest.mark.parametrize(("method", "kind"), [("get", BackendUnavailableError), ("post", OutcomeUnknownError)])
def test_of_what_does_more_than_read_it_is_said_that_its_answer_was_lost(raw, described, method, kind):
    raw.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
    provider = described({"/t": {method: {"operationId": "t", "responses": {}}}})
    with pytest.raises(BackendUnavailableError, match="the connection broke") as lost:
        provider.call_tool("pets", "t", {})
    assert type(lost.value) is kind


def get(name="t", *parameters):
    return {"get": {"operationId": name, "parameters": list(parameters), "responses": {}}}


def parameter(name, place, **more):
    return {"name": name, "in": place, "schema": {"type": "string"}, "required": place == "path", **more}


def headers_of(request):
    return [line for line in request.split("\r\n")[1:] if line.lower().startswith(("x-", "cookie", "host", "auth"))]


def test_each_parameter_has_an_argument_of_its_own_whatever_they_are_called(described, raw):
    names = [("id", "path"), ("id", "query"), ("path_id", "query"), ("id", "header")]
    pets = described({"/a/{id}": get("t", *(parameter(*name) for name in names))})
    assert list(pets.tools("pets")["t"].input_schema["properties"]) == ["path_id_2", "query_id", "path_id", "header_id"]
    pets.call_tool("pets", "t", {"path_id_2": "1", "query_id": "2", "path_id": "3"})
    assert raw.seen[0].startswith("GET /a/1?id=2&path_id=3 ")


def test_a_body_never_takes_the_argument_of_a_parameter(described):
    body = {"requestBody": {"content": {"text/plain": {}}}}
    names = ("body", "request_body")
    pets = described({"/a": {"post": {**get("t", *(parameter(name, "query") for name in names))["get"], **body}}})
    assert list(pets.tools("pets")["t"].input_schema["properties"]) == ["body", "request_body", "request_body_2"]


def test_what_is_in_a_path_and_is_not_described_is_a_required_argument(described, raw):
    pets = described({"/a/{x}/{y}": get("t", parameter("y", "path"))})
    assert sorted(pets.tools("pets")["t"].input_schema["required"]) == ["x", "y"]
    pets.call_tool("pets", "t", {"x": "../b", "y": "1"})
    assert raw.seen[0].startswith("GET /a/..%2Fb/1 ")


def test_no_argument_says_to_which_host_a_request_goes_or_where_it_ends(described):
    names = ["Host", "content-length", "Transfer-Encoding", "X-Fine"]
    pets = described({"/a": get("t", *(parameter(name, "header") for name in names))})
    assert list(pets.tools("pets")["t"].input_schema["properties"]) == ["X-Fine"]


def test_no_argument_stands_beside_what_is_configured(described, raw, monkeypatch):
    monkeypatch.setenv("KEY", "configured")
    auth = [{"kind": kind, "name": name, "env": "KEY"} for kind, name in (("header", "X-Key"), ("cookie", "c"))]
    auth.append({"kind": "query", "name": "key", "env": "KEY"})
    places = [("x-key", "header"), ("X-TEAM", "header"), ("c", "cookie"), ("key", "query")]
    pets = described({"/a": get("t", *(parameter(*p) for p in places))}, auth=auth, headers={"X-Team": "ours"})
    pets.call_tool("pets", "t", {"x-key": "mine", "X-TEAM": "mine", "c": "mine", "key": "mine"})
    assert raw.seen[0].startswith("GET /a?key=configured ")
    assert sorted(headers_of(raw.seen[0])[1:]) == ["Cookie: c=configured", "X-Key: configured", "X-Team: ours"]


def test_operations_whose_ids_are_in_another_script_have_their_own_tools(described):
    pets = described({"/a": get("日本"), "/b": get("中国"), "/c": get("naïve")})
    assert sorted(pets.tools("pets")) == ["get_a", "get_b", "na_ve"]


@pytest.mark.parametrize(
    "url",
    ["http://[::1", "http://h:99999", "https://{tenant}.example", "http://u:pw@h/", "http://h\\@evil/", "ftp://h"],
)
def test_a_place_where_nothing_can_be_costs_that_service_only(tmp_path, raw, url, caplog):
    apis = {}
    for name, place in (("bad", url), ("good", raw.url)):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"openapi": "3.0.3", "servers": [{"url": place}], "paths": {"/a": get()}}))
        apis[name] = {"document": str(path)}
    with PluginRegistry(entry_points=False) as registry:
        assert registry.expose("openapi", {"apis": apis})
        assert [name for name in registry.tools if ":" in name] == ["good:t"]
    assert "configure its `server`" in caplog.text
    assert "pw" not in caplog.text


@pytest.mark.parametrize("place", ["http://[::1", "http://127.0.0.1:99999/", "//evil.example", "http://u:p@127.0.0.1/"])
def test_a_redirect_to_anywhere_else_is_an_error_in_words(described, raw, place):
    raw.answer = said(b"", "302 Found", Location=place)
    with pytest.raises(ToolFailedError, match="the service redirects to"):
        described({"/a": get()}).call_tool("pets", "t", {})
    assert len(raw.seen) == 1


def test_a_status_that_nobody_knows_is_no_success(described, raw):
    raw.answer = said(b"denied", "999 Request denied", "text/plain")
    with pytest.raises(ToolFailedError, match="HTTP 999: denied"):
        described({"/a": get()}).call_tool("pets", "t", {})


@pytest.mark.parametrize(
    ("status", "wait", "never_begun"),
    [("429", None, True), ("429", "7", True), ("503", "1", True), ("503", None, False), ("408", "1", False)],
)
def test_only_what_is_known_not_to_have_been_done_may_be_sent_again(described, raw, status, wait, never_begun):
    raw.answer = said(b"", f"{status} Later", **({"Retry_After": wait} if wait else {}))
    with pytest.raises(BackendUnavailableError) as caught:
        described({"/a": get()}).call_tool("pets", "t", {})
    assert caught.value.started is not never_begun
    assert len(raw.seen) == 1


@pytest.mark.parametrize("kind", ["bearer", "basic", "query", "header"])
def test_a_secret_that_the_service_gives_back_is_in_no_error(described, raw, monkeypatch, kind):
    monkeypatch.setenv("KEY", "us/er:s3cr3t-4711")
    pets = described({"/a": get()}, auth={"kind": kind, "name": "x-key", "env": "KEY"})
    pets.call_tool("pets", "t", {})
    raw.answer = said(raw.seen[0].encode(), "400 Bad", "text/plain")
    with pytest.raises(ToolFailedError, match=r"GET /a[\s\S]*\*\*\*") as caught:
        pets.call_tool("pets", "t", {})
    assert "s3cr3t" not in str(caught.value)
    assert "dXMvZXI6" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"headers": {"Authorization": "Token ${KEY}"}},
        {"headers": {"X-Key": "app ${NONE:-of},${KEY}"}},
        {"headers": {"Authorization": "${WHOLE}"}},
        {"auth": {"kind": "header", "name": "X-Key", "env": "WHOLE"}},
    ],
)
def test_a_secret_is_in_no_error_without_what_stands_around_it(described, raw, monkeypatch, options):
    monkeypatch.setenv("KEY", "s3cr3t-4711")
    monkeypatch.setenv("WHOLE", "Token s3cr3t-4711\n")
    raw.answer = said(b'{"detail": "the token s3cr3t-4711 has expired"}', "401 No")
    with pytest.raises(ToolFailedError, match=r"the token \*\*\* has expired"):
        described({"/a": get()}, **options).call_tool("pets", "t", {})


AWKWARD = 'ké/y"+a b\\z'


@pytest.mark.parametrize(
    "write",
    [
        str,
        json.dumps,
        lambda text: json.dumps(json.dumps(text)),
        lambda text: json.dumps(text, ensure_ascii=False).replace("/", "\\/"),
        urllib.parse.quote,
        urllib.parse.quote_plus,
        lambda text: urllib.parse.quote(text, safe="").lower(),
        lambda text: urllib.parse.quote(urllib.parse.quote(text)),
        html.escape,
        lambda text: base64.b64encode(text.encode()).decode(),
    ],
)
@pytest.mark.parametrize("charset", ["utf-8", "utf-16"])
def test_a_secret_is_in_no_error_however_it_is_written(described, raw, monkeypatch, write, charset):
    monkeypatch.setenv("KEY", f"user:{AWKWARD}")
    pets = described({"/a": get()}, auth={"kind": "basic", "name": "", "env": "KEY"})
    raw.answer = said(f"<{write(AWKWARD)}>".encode(charset), "400 Bad", "text/plain")
    with pytest.raises(ToolFailedError) as caught:
        pets.call_tool("pets", "t", {})
    assert "<***>" in str(caught.value).replace('"', "").replace("\\", "")


def test_a_secret_is_looked_for_in_no_time_in_what_looks_like_it():
    began = time.perf_counter()
    for odd in ("\\", "%25", "&#0", "a", "%"):
        assert without({"aaaaaaaaaaaaaab", AWKWARD}, odd * 20_000) == odd * 20_000
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize("status", ["302 Found", "303 See Other"])
@pytest.mark.parametrize("place", ["http://{}.example/", "/{}"])
def test_a_secret_in_a_redirect_is_not_told(described, raw, monkeypatch, status, place):
    monkeypatch.setenv("KEY", "s3cr3t-4711")
    pets = described({"/a": {"post": get()["get"]}}, auth={"kind": "bearer", "name": "", "env": "KEY"})
    raw.answer = b"HTTP/1.1 %b\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % (
        status.encode(),
        place.format("s3cr3t-4711").encode(),
    )
    with pytest.raises(ToolFailedError, match=r"redirects.*\*\*\*") as caught:
        pets.call_tool("pets", "t", {})
    assert "s3cr3t" not in "".join(traceback.format_exception(caught.value))


def test_a_label_that_would_be_a_way_up_is_refused(described, raw):
    parameter = {
        "name": "at",
        "in": "path",
        "required": True,
        "style": "label",
        "explode": True,
        "schema": {"type": "array", "items": {"type": "string"}},
    }
    told = get()["get"] | {"parameters": [parameter]}
    pets = described({"/a/{at}/b": {"get": told}})
    with pytest.raises(ToolFailedError, match="cannot be part of a path"):
        pets.call_tool("pets", "t", {"at": ["", ""]})
    assert raw.seen == []


@pytest.mark.parametrize("body", [b'{"a": NaN}', b"[Infinity]", b"1e999"])
def test_a_number_that_json_does_not_have_is_text_with_a_warning(described, raw, body):
    raw.answer = said(body)
    value = described({"/a": get()}).call_tool("pets", "t", {})
    assert value["result"] == body.decode()
    assert "is no number of JSON" in value["warnings"][0]


def test_json_is_read_in_the_charset_that_it_says(described, raw):
    raw.answer = said('{"a": "é"}'.encode("latin-1"), kind="application/json; charset=latin-1")
    assert described({"/a": get()}).call_tool("pets", "t", {}) == {"a": "é"}


@pytest.mark.parametrize(
    ("begin", "again"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    ],
)
def test_a_description_that_never_comes_is_given_up_however_often_something_does(monkeypatch, begin, again):
    monkeypatch.setattr(_reading, "FETCH_SECONDS", 0.3)
    monkeypatch.setattr(_reading, "MAX_DOCUMENT", 1 << 40)

    def endless():
        connection, _ = listening.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(begin)
            while True:
                connection.sendall(again)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=endless, daemon=True)
        thread.start()
        with pytest.raises(DocumentError, match=r"has not come within 0\.3 s"):
            _reading._fetch(f"http://127.0.0.1:{listening.getsockname()[1]}/api.json", {})
        thread.join(10)


@pytest.mark.parametrize(
    "level", ["{{a: *l{0}, b: *l{0}}}", "[*l{0}, *l{0}]", "{{<<: [*l{0}, *l{0}]}}", "{{*l{0}: 1, b: *l{0}}}"]
)
def test_a_few_lines_of_yaml_do_not_become_terabytes(level):
    pytest.importorskip("yaml")
    lines = ["openapi: 3.0.3", "paths: {}", "x: ", "  l0: &l0 {a: b}"]
    lines += [f"  l{at}: &l{at} {level.format(at - 1)}" for at in range(1, 40)]
    with pytest.raises(DocumentError, match="its aliases make it too long"):
        parse("\n".join(lines), "it")


@pytest.mark.parametrize("text", ["x: &x [*x]", "x: " + "[" * 10_000])
def test_yaml_that_has_no_end_is_told_as_none(text):
    pytest.importorskip("yaml")
    with pytest.raises(DocumentError, match="it is no YAML"):
        parse(f"openapi: 3.0.3\n{text}", "it")


def test_aliases_of_yaml_are_read(tmp_path, provider_of):
    pytest.importorskip("yaml")
    path = tmp_path / "api.yaml"
    item = "{get: {operationId: t, responses: {'200': {description: ok}}}}"
    path.write_text(f"openapi: 3.0.3\nx: &x {item}\npaths: {{/a: {{<<: *x}}}}")
    assert list(provider_of(path, server="http://127.0.0.1:1").tools("pets")) == ["t"]


@pytest.mark.parametrize("charset", ["idna", "undefined", "punycode", "rot13", "nothing"])
@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
def test_a_charset_in_which_nobody_can_read_it_makes_no_failure_of_an_answer(described, raw, charset, kind):
    raw.answer = said(b"\xff\xfea", kind=f"{kind}; charset={charset}")
    value = described({"/t": get()}).call_tool("pets", "t", {})
    assert "a" in (value if kind == "text/plain" else value["result"])


def test_a_charset_that_takes_the_square_of_the_length_is_not_read_by(described, raw):
    body = b"a" * 300_000 + b"-" + b"b99999a" * 40_000  # minutes, by the codec
    raw.answer = said(body, kind="text/plain; charset=punycode")
    assert described({"/t": get()}).call_tool("pets", "t", {}) == body.decode()


@pytest.fixture
def asking_for(raw, tmp_path, monkeypatch):
    """Makes a service at `raw` whose token is asked for at a URL."""
    monkeypatch.setenv("APP_ID", "app")
    monkeypatch.setenv("APP_SECRET", "s-1")
    path = tmp_path / "api.json"
    path.write_text(json.dumps({"openapi": "3.0.3", "paths": {"/t": get()}}))

    def make(url, timeout=20):
        auth = {"kind": "oauth2", "env": "APP_SECRET", "client_id": "APP_ID", "token_url": url}
        return Api.of({"document": str(path), "server": raw.url, "timeout": timeout, "auth": auth})

    return make


@pytest.fixture
def with_token(raw, asking_for):
    """Makes a call of a service whose token comes from where `raw` is."""
    with contextlib.closing(OpenAPIProvider({"s": asking_for(f"{raw.url}/token")}, cache=None)) as provider:
        yield lambda: provider.call_tool("s", "t", {})


@pytest.mark.parametrize("lives", [b"9" * 400, b"-" + b"9" * 400, b"1e308", b"0", b"true"])
def test_a_token_lives_whatever_is_said_of_its_life(with_token, raw, lives):
    raw.answer = said(b'{"access_token": "t", "expires_in": ' + lives + b"}")
    assert with_token()["access_token"] == "t"


@pytest.mark.parametrize(
    "told",
    [
        b"[" * 100_000,
        b'{"access_token": "\\ud800"}',
        b'{"access_token": "a\\r\\nX: y"}',
        b'{"access_token": ""}',
        b'{"access_token": "t", "expires_in": NaN}',
    ],
)
def test_what_is_no_token_is_told_as_that(with_token, raw, told):
    raw.answer = said(told)
    with pytest.raises(BackendUnavailableError, match="/token gave no token"):
        with_token()
    assert len(raw.seen) == 1


def test_no_more_is_read_of_what_comes_with_a_token_than_somebody_may_want(with_token, raw, monkeypatch):
    monkeypatch.setattr(_authorising, "MAX_ANSWER", 100)
    raw.answer = said(b'{"access_token": "t", "more": "' + b"a" * 100 + b'"}')
    with pytest.raises(BackendUnavailableError, match="more than 100 bytes"):
        with_token()


def test_a_service_without_a_token_keeps_none_of_another_waiting(raw, asking_for):
    raw.answer = said(b'{"access_token": "t"}')
    with socket.create_server(("127.0.0.1", 0)) as silent:
        apis = {
            "silent": asking_for(f"http://127.0.0.1:{silent.getsockname()[1]}/token"),
            "quick": asking_for(f"{raw.url}/token", timeout=5),
        }
        provider = OpenAPIProvider(apis, cache=None)

        def wait():
            with contextlib.suppress(ToolError):
                provider.call_tool("silent", "t", {})

        waiting = threading.Thread(target=wait)
        waiting.start()
        with silent.accept()[0]:  # from now on it waits for its token
            try:
                assert provider.call_tool("quick", "t", {}) == {"access_token": "t"}
            finally:
                provider.close()
                waiting.join()


def test_a_service_that_does_not_answer_keeps_none_of_another_waiting(raw, tmp_path):
    silent = socket.create_server(("127.0.0.1", 0), backlog=200)
    path = tmp_path / "api.json"
    path.write_text(json.dumps({"openapi": "3.0.3", "paths": {"/t": get()}}))
    places = {"silent": f"http://127.0.0.1:{silent.getsockname()[1]}", "pets": raw.url}
    apis = {name: Api.of({"document": str(path), "server": url, "timeout": 10}) for name, url in places.items()}
    provider = OpenAPIProvider(apis)

    def ask():
        with contextlib.suppress(ToolError):
            provider.call_tool("silent", "t", {})

    asking = [threading.Thread(target=ask) for _ in range(110)]
    for thread in asking:
        thread.start()
    taken = [silent.accept()[0] for _ in range(100)]  # as many as are at work at once, whatever bounds them
    try:
        assert provider.call_tool("pets", "t", {}) == {}
    finally:
        provider.close()
        for thread in asking:
            thread.join()
        for each in (*taken, silent):
            each.close()

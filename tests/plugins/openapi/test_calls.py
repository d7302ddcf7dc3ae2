"""Operations of a real HTTP service as calls: what is sent, what comes back, and what goes wrong."""

from __future__ import annotations

import json
import os
import socket
import threading
import time

import pytest

from executor import PluginRegistry, ToolCall, ToolExecutor
from executor.errors import (
    BackendUnavailableError,
    ExecutionError,
    ToolCancelledError,
    ToolFailedError,
    ToolTimeoutError,
)
from executor_openapi import OpenAPIPlugin


def test_json_text_nothing_and_bytes_come_back(pets):
    assert pets.call_tool("pets", "listPets", {}) == [{"id": 1, "name": "Rex", "tags": ["dog"]}]
    assert pets.call_tool("pets", "odd", {"kind": "text"}) == "grüße"
    assert pets.call_tool("pets", "odd", {"kind": "empty"}) is None
    assert pets.call_tool("pets", "delete_pets_petId", {"petId": 1}) is None
    image = pets.call_tool("pets", "odd", {"kind": "image"})
    assert image == {"content_type": "image/png", "size": 4, "base64": "iVBORw=="}


def test_arguments_go_where_the_description_puts_them(pets, service):
    pets.call_tool("pets", "listPets", {"tags": ["a b", "c&d"], "limit": 3, "X-Trace": "t"})
    seen = service.seen[-1]
    assert seen["query"] == "tags=a%20b&tags=c%26d&limit=3"
    assert seen["headers"]["x-trace"] == "t"
    assert pets.call_tool("pets", "addPet", {"name": "Ada", "tags": []}) == {"id": 2, "name": "Ada", "tags": []}
    assert json.loads(service.seen[-1]["body"]) == {"name": "Ada", "tags": []}
    assert pets.call_tool("pets", "form", {"a": "x=1&y"}) == {"a": "x=1&y"}
    pets.call_tool("pets", "send", {"path_kind": "p", "query_kind": "q", "body": "plain words"})
    seen = service.seen[-1]
    assert (seen["path"], seen["query"], seen["body"]) == ("/v1/odd/p", "kind=q", "plain words")


@pytest.mark.parametrize("kind", ["../pets", "a/b", "//example.org/x", "x?y=1#z", "%2e%2e", "ü"])
def test_no_argument_leads_to_another_path(pets, service, kind):
    pets.call_tool("pets", "odd", {"kind": kind})
    path = service.seen[-1]["path"]
    assert path.startswith("/v1/odd/")
    assert "/" not in path.removeprefix("/v1/odd/")


@pytest.mark.parametrize("kind", ["", ".", ".."])
def test_an_argument_that_would_change_the_path_is_refused(pets, kind):
    with pytest.raises(ToolFailedError, match="cannot be part of a path"):
        pets.call_tool("pets", "odd", {"kind": kind})


def test_a_header_with_a_line_break_is_refused(pets):
    with pytest.raises(ToolFailedError, match="line break"):
        pets.call_tool("pets", "listPets", {"X-Trace": "a\r\nHost: evil"})


@pytest.mark.parametrize("secret", ["s3cret", "s3cret\n", " s3cret\r\n"])
def test_space_around_a_secret_is_not_sent(provider_of, document, service, monkeypatch, secret):
    monkeypatch.setenv("PET_KEY", secret)
    more = {"auth": {"kind": "bearer", "env": "PET_KEY"}, "headers": {"X-Also": "${PET_KEY}"}}
    provider_of(document, **more).call_tool("pets", "listPets", {})
    seen = service.seen[-1]["headers"]
    assert (seen["authorization"], seen["x-also"]) == ("Bearer s3cret", "s3cret")


@pytest.mark.parametrize("kind", ["bearer", "header"])
def test_a_secret_that_no_header_can_carry_is_not_quoted(provider_of, document, monkeypatch, kind):
    monkeypatch.setenv("PET_KEY", "s3cret\nof two lines")
    auth = {"kind": kind, "env": "PET_KEY", **({"name": "X-Key"} if kind == "header" else {})}
    with pytest.raises(BackendUnavailableError, match="line break") as caught:
        provider_of(document, auth=auth).call_tool("pets", "listPets", {})
    assert "s3cret" not in str(caught.value)
    assert "two lines" not in str(caught.value)


def test_a_header_is_sent_as_utf_8(pets, service):
    pets.call_tool("pets", "listPets", {"X-Trace": "grüße €"})
    assert service.seen[-1]["headers"]["x-trace"].encode("latin-1").decode() == "grüße €"


@pytest.mark.parametrize("status", [400, 404, 418])
def test_the_calls_fault_is_a_failure_with_the_services_words(pets, status):
    with pytest.raises(ToolFailedError, match=f"GET /odd/{{kind}}: HTTP {status}: it went wrong"):
        pets.call_tool("pets", "odd", {"kind": f"status-{status}"})


@pytest.mark.parametrize(
    ("status", "started", "wait"), [(500, True, None), (503, True, None), (408, True, None), (429, False, 7.0)]
)
def test_the_services_fault_is_unavailability(pets, status, started, wait):
    with pytest.raises(BackendUnavailableError, match=f"HTTP {status}") as caught:
        pets.call_tool("pets", "odd", {"kind": f"status-{status}"})
    assert (caught.value.started, caught.value.retry_after) == (started, wait)


def test_json_that_is_none_is_text_with_a_warning_for_the_call_was_carried_out(pets):
    value = pets.call_tool("pets", "odd", {"kind": "malformed"})
    assert isinstance(value["result"], str)
    assert "no JSON, although it says so" in value["warnings"][0]


def test_an_answer_without_end_is_not_read_to_its_end(provider_of, document):
    began = time.monotonic()
    with pytest.raises(ToolFailedError, match="more than 1000000 bytes"):
        provider_of(document, max_answer=1_000_000).call_tool("pets", "odd", {"kind": "huge"})
    assert time.monotonic() - began < 5


def test_a_redirect_on_the_spot_is_followed_and_one_elsewhere_is_not(pets):
    assert pets.call_tool("pets", "odd", {"kind": "here"}) == "grüße"
    with pytest.raises(ToolFailedError, match=r"redirects to http://example.org, which is not where it is configured"):
        pets.call_tool("pets", "odd", {"kind": "away"})
    with pytest.raises(ToolFailedError, match="more than 5 times"):
        pets.call_tool("pets", "odd", {"kind": "circle"})
    with pytest.raises(ToolFailedError, match="without saying where to"):
        pets.call_tool("pets", "odd", {"kind": "nowhere"})
    with pytest.raises(ToolFailedError, match="may have been carried out"):
        pets.call_tool("pets", "send", {"path_kind": "here"})


def test_a_slow_answer_is_given_up_and_its_connection_cut(provider_of, document, service):
    with pytest.raises(ToolTimeoutError, match=r"no answer within 1 s"):
        provider_of(document, timeout=1).call_tool("pets", "odd", {"kind": "slow"})
    assert service.abandoned.wait(10)


def test_a_service_that_is_down_never_began(provider_of, document):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(BackendUnavailableError, match="cannot be reached") as caught:
        provider_of(document, server=f"http://127.0.0.1:{port}").call_tool("pets", "listPets", {})
    assert not caught.value.started


@pytest.fixture
def cutting():
    """A port whose connections end once their first bytes have come."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def cut():
            try:
                while True:
                    taken = server.accept()[0]
                    taken.recv(1)
                    taken.close()
            except OSError:
                return

        thread = threading.Thread(target=cut)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def test_a_service_that_cuts_the_connection_is_told_of_in_words(provider_of, document, cutting):
    with pytest.raises(BackendUnavailableError, match="cannot be reached: it closes the connection") as caught:
        provider_of(document, server=f"https://127.0.0.1:{cutting}").call_tool("pets", "listPets", {})
    assert not caught.value.started
    provider = provider_of(document, server=f"http://127.0.0.1:{cutting}")
    with pytest.raises(BackendUnavailableError, match=r"carried out is not known$") as caught:
        provider.call_tool("pets", "addPet", {"name": "Ada"})
    assert caught.value.started
    with pytest.raises(BackendUnavailableError) as caught:
        provider.call_tool("pets", "listPets", {})
    assert "not known" not in str(caught.value)


@pytest.mark.parametrize(
    ("auth", "expected"),
    [
        ({"kind": "bearer", "env": "PET_KEY"}, ("authorization", "Bearer s3cret:x")),
        ({"kind": "header", "name": "X-Key", "env": "PET_KEY"}, ("x-key", "s3cret:x")),
        ({"kind": "basic", "env": "PET_KEY"}, ("authorization", "Basic czNjcmV0Ong=")),
        ({"kind": "query", "name": "key", "env": "PET_KEY"}, None),
    ],
)
def test_the_secret_comes_from_the_environment_and_is_in_no_error(
    provider_of, document, service, monkeypatch, auth, expected
):
    provider = provider_of(document, auth=auth)
    with pytest.raises(BackendUnavailableError, match="PET_KEY, which has the secret for this service, is not set"):
        provider.call_tool("pets", "listPets", {})
    monkeypatch.setenv("PET_KEY", "s3cret:x")
    provider.call_tool("pets", "listPets", {})
    seen = service.seen[-1]
    if expected is not None:
        assert seen["headers"][expected[0]] == expected[1]
    else:
        assert seen["query"] == "key=s3cret%3Ax"
    with pytest.raises(ToolFailedError) as caught:
        provider.call_tool("pets", "getPet", {"petId": 9})
    assert "s3cret" not in str(caught.value)


def test_an_unknown_provider_or_operation_is_named(pets):
    with pytest.raises(ExecutionError, match="no provider 'cats'; configured: pets"):
        pets.call_tool("cats", "x", {})
    with pytest.raises(ExecutionError, match="no operation 'remote': it refers to another document"):
        pets.call_tool("pets", "remote", {})


def test_calls_of_many_threads_share_the_connections(pets):
    wrong = []

    def work(number):
        for index in range(10):
            kind = f"{number}-{index}"
            if pets.call_tool("pets", "odd", {"kind": kind}) != {"kind": kind}:
                wrong.append(kind)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.fixture(params=[60])
def hosted(request, document):
    registry = PluginRegistry(bundled=False, entry_points=False)
    plugin = OpenAPIPlugin()
    registry.register(plugin, "openapi")
    assert registry.expose("openapi", {"apis": {"pets": {"document": str(document), "threshold": request.param}}})
    with ToolExecutor(registry=registry) as executor:
        yield executor
    plugin.executor_shutdown()


def test_an_executor_calls_them_like_any_other_tool(hosted):
    assert hosted.execute("pets:getPet", {"petId": 1}) == (True, {"id": 1, "name": "Rex", "tags": ["dog"]})
    ok, value = hosted.execute("pets:getPet", {"petId": "one"})
    assert (ok, value["errors"][0]["path"]) == (False, "/petId")
    ok, value = hosted.execute("pets:getPet", {"petId": 9})
    assert not ok
    assert "no such pet" in value["error"]
    assert hosted.execute("pets:odd", {"kind": "status-500"})[1]["unavailable"]


@pytest.mark.parametrize("hosted", [0.05], indirect=True)
def test_a_long_call_goes_to_the_background_and_cancelling_it_cuts_the_connection(hosted, service):
    result = hosted.call(ToolCall("1", "pets:odd", {"kind": "slow"}))
    assert result.backgrounded
    assert service.waiting.wait(10)
    assert hosted.tasks.cancel(result.task_id)
    assert service.abandoned.wait(10)


def test_closing_the_provider_cancels_its_requests_and_refuses_others(pets, service):
    errors = []

    def call():
        try:
            pets.call_tool("pets", "odd", {"kind": "slow"})
        except ToolCancelledError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert service.waiting.wait(10)
    pets.close()
    thread.join(10)
    assert len(errors) == 1
    assert service.abandoned.wait(10)
    with pytest.raises(BackendUnavailableError, match="have been closed"):
        pets.call_tool("pets", "listPets", {})


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_connections_of_its_own(pets):
    pets.call_tool("pets", "odd", {"kind": "text"})
    child = os.fork()
    if child == 0:
        code = 2
        try:
            code = 0 if pets.call_tool("pets", "odd", {"kind": "text"}) == "grüße" else 1
            pets.close()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pets.call_tool("pets", "odd", {"kind": "text"}) == "grüße"

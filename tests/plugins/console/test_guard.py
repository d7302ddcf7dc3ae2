"""Who gets to the page, and what it is told: every rule by a request that breaks it, as it is on the wire."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from executor_console._guard import HEADERS, MAX_BODY
from executor_console._run import MAX_CONNECTIONS
from executor_console._sessions import CODE_SECONDS, Sessions
from tests.plugins.console.client import Client
from tests.plugins.console.conftest import ROOT, Console, Process


def test_what_the_page_asks_for_is_answered(client):
    assert client.post("grants")[::2] == (200, [])
    assert client.ask("GET", "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200
    assert client.ask("GET", "/page.js", leave_out=["Sec-Fetch-Site"])[0] == 200


@pytest.mark.parametrize(
    ("status", "changed"),
    [
        (421, {"Host": "localhost:{port}"}),
        (421, {"Host": "evil.example:{port}"}),
        (421, {"Host": "127.0.0.1"}),
        (403, {"Origin": "http://evil.example"}),
        (403, {"Origin": "null"}),
        (403, {"Origin": "http://localhost:{port}"}),
        (403, {"Origin": "https://127.0.0.1:{port}"}),
        (403, {"Origin": ["http://127.0.0.1:{port}", "http://evil.example"]}),
        (403, {"Origin": None}),
        (403, {"Sec_Fetch_Site": "cross-site"}),
        (403, {"Sec_Fetch_Site": "same-site"}),
        (403, {"Sec_Fetch_Site": "none"}),
        (403, {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}),
        (415, {"Content_Type": "text/plain"}),
        (415, {"Content_Type": None}),
        (413, {"Content_Length": str(MAX_BODY + 1)}),
        (401, {"Authorization": None}),
        (401, {"Authorization": "Bearer "}),
        (401, {"Authorization": "Bearer x"}),
        (401, {"Authorization": "Basic {session}"}),
        (401, {"Authorization": ["Bearer {session}", "Bearer {session}"]}),
        (401, {"Authorization": None, "Cookie": "session={session}"}),
    ],
)
def test_a_request_that_breaks_a_rule_is_refused(client, status, changed):
    def filled(text):
        return text.replace("{port}", client.host.partition(":")[2]).replace("{session}", client.session)

    out = [name.replace("_", "-") for name, value in changed.items() if value is None]
    given = {
        name: [filled(each) for each in value] if isinstance(value, list) else filled(value)
        for name, value in changed.items()
        if value is not None
    }
    found, headers, told = client.post("grants", {}, leave_out=out, **given)
    assert found == status
    assert told["error"]
    assert {name: headers.get(name) for name in HEADERS} == HEADERS


def test_nothing_else_is_answered(client):
    assert client.ask("POST", "/api/grants", Host=[client.host, client.host])[0] == 400
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
        assert client.ask(method, "/api/grants")[0] == 405
    for path in ("/../_run.py", "/static/page.js", "/%2e%2e/_run.py", "/nothing", "/_run.py"):
        assert client.ask("GET", path)[0] == 404
    assert client.ask("GET", "/api/grants")[0] == 405
    assert client.ask("POST", "/")[0] == 405


def test_every_answer_has_the_headers_and_none_sets_a_cookie(client):
    for method, path in (("GET", "/"), ("GET", "/page.js"), ("GET", "/nothing"), ("POST", "/api/grants")):
        _, headers, _ = client.ask(method, path, {} if method == "POST" else None)
        assert {name: headers.get(name) for name in HEADERS} == HEADERS
        assert "set-cookie" not in headers
        assert not [name for name in headers if name.startswith("access-control")]
    policy = HEADERS["content-security-policy"]
    for rule in ("default-src 'none'", "frame-ancestors 'none'", "trusted-types 'none'", "script-src 'self';"):
        assert rule in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("name", "body", "told"),
    [
        ("answer", {"id": 1}, "/id"),
        ("cancel", {}, "/id"),
        ("follow", {"page": "x", "id": None}, "/id"),
        ("why", {"tool": "x", "arguments": []}, "/arguments"),
        ("rule", {"rule": ["x"]}, "/rule"),
        ("grants", b"{", "not JSON"),
        ("grants", b"[]", "not an object"),
        ("replay", {"rule": 5}, "/rule"),
    ],
)
def test_bad_requests_are_refused_with_the_place(client, name, body, told):
    status, _, answer = client.post(name, body)
    assert (status, told in answer["error"]) == (422, True), answer


def test_a_wrong_answer_to_a_question_is_refused_and_the_question_stays(console, assistant):
    client = Client(console())
    assistant().call("1", "act", {"a": 1})
    events = client.events()
    question = next(value for kind, value in events if kind == "asked")
    given = {"id": question["id"], "digest": question["digest"]}
    for word, value in (
        ("fly", None),
        (None, None),
        ("always", "x"),
        ("always", {"times": 0}),
        ("edit", "x"),
        ("always", {"rules": "x"}),
    ):
        status, _, told = client.post("answer", {**given, "word": word, "value": value})
        assert status == 422, told
        assert told["error"].startswith(("/word", "/value"))
    assert client.post("answer", {**given, "digest": "0" * 64, "word": "yes"})[2] == {"won": False, "open": True}
    assert client.post("answer", {**given, "id": "ask_0", "word": "yes"})[2] == {"won": False, "open": False}
    assert client.post("answer", {**given, "word": "no"})[2]["won"]
    events.close()


def test_a_code_works_once_and_for_a_minute():
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    first, second, third = (sessions.new_code() for _ in range(3))
    now[0] = CODE_SECONDS - 1
    session = sessions.redeem(first)
    assert sessions.redeem(first) is None
    assert sessions.waits(second)
    now[0] = CODE_SECONDS
    assert sessions.redeem(second) is None
    assert sessions.redeem(third) is None
    assert sessions.redeem("") is None
    assert sessions.knows(f"Bearer {session}")
    for header in (None, "", "Bearer", f"Bearer {session}x", f"Basic {session}", f"Bearer {first}"):
        assert not sessions.knows(header)


def test_a_session_of_one_console_opens_no_other(console):
    one, other = Client(console()), Client(console(), enter=False)
    other.session = one.session
    assert other.post("grants")[0] == 401


STRANGER = """
import os, socket, sys
os.setgroups([]), os.setgid(65534), os.setuid(65534)
port, kept = {port}, []
for _ in range({many}):
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")):
        kept.append(socket.socket(family))
        kept[-1].settimeout(30)
        kept[-1].connect((address, port))
heard = set()
for each in kept:
    try:
        each.sendall(b"GET / HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n")
        heard.add(each.recv(100))
    except ConnectionError:
        heard.add(b"")
print(heard)
"""


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can be another user")
def test_another_user_is_not_listened_to_whatever_socket_calls(console):
    client = Client(console())
    text = STRANGER.format(port=client.host.partition(":")[2], many=5)
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert ran.stdout == "{b''}\n", ran
    assert client.post("grants")[0] == 200


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can be another user")
def test_another_user_takes_no_connection_from_the_page(console):
    client = Client(console())
    text = STRANGER.format(port=client.host.partition(":")[2], many=MAX_CONNECTIONS)
    text = text.partition("heard =")[0] + "print('here', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as held:
        assert held.stdout.readline() == b"here\n"
        assert client.post("grants")[0] == 200
        held.stdin.close()


BEGUN = {
    "nothing": (b"",),
    "half a header": (b"POST /api/gra",),
    "half a body": (
        (
            b"POST /api/session HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
            b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        ),
    ),
    "a second request": (b"GET /icon.svg HTTP/1.1\r\nHost: {host}\r\n\r\n", b"G"),
}


@pytest.mark.parametrize("said", BEGUN)
def test_who_has_no_session_takes_no_connection_from_the_page_however_far_they_came(console, said):
    client = Client(console())
    events = client.events()
    next(events)
    first, *rest = (each.replace(b"{host}", client.host.encode()) for each in BEGUN[said])
    kept = []
    for _ in range(MAX_CONNECTIONS + 10):
        kept.append(socket.create_connection(("127.0.0.1", int(client.host.partition(":")[2])), timeout=30))
        kept[-1].sendall(first)
        for more in rest:
            assert kept[-1].recv(1000)  # the answer
            kept[-1].sendall(more)
    assert client.post("grants")[0] == 200
    assert client.post("follow", {"page": "x", "id": "x"})[0] == 200
    events.close()
    for each in kept:
        each.close()


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"code":' * 100_000, b'{"code": "\xff"}', b"{", b"NaN", b"[]"])
def test_a_body_that_is_none_is_refused(client, body):
    status, _, told = client.post("session", body)
    assert status == 422
    assert "the body is no" in told["error"]


def test_files_of_the_console_are_closed_to_others(console, own_folders):
    client = Client(console())
    events = client.events()
    next(events)
    for path in (own_folders / "state" / "toolexec").rglob("*"):
        assert not path.stat().st_mode & 0o077, path
    events.close()


def test_it_ends_in_order_and_tells_its_pages(console):
    made = console()
    events = Client(made).events()
    assert next(events)[0] == "hello"
    made.process.terminate()
    assert [kind for kind, _ in events][-1] == "end"
    assert made.process.wait(30) == 130
    assert not [line for line in made.rest() if "Traceback" in line or "rror" in line]


def test_enter_at_the_terminal_makes_another_link(project, started):
    ours, theirs = os.openpty()
    started.append(Console(project, stdin=theirs))
    made = started[-1]
    first = made.link
    os.write(ours, b"\n")
    second = next(line for line in iter(made.line, None) if line.startswith("http"))
    assert second != first
    client = Client(made, enter=False)
    for link in (first, second):
        assert client.post("session", {"code": link.partition("/#")[2]})[0] == 200
    made.process.terminate()
    made.rest()
    os.close(ours), os.close(theirs)


@pytest.mark.long
def test_a_browser_that_cannot_read_the_file_leaves_a_link(project, started):
    started.append(Process("-m", "executor", "console", cwd=project, env={"BROWSER": "true %s"}))
    link = next(line for line in iter(started[-1].line, None) if "/#" in line)
    assert link.startswith("http://127.0.0.1:")


def test_a_port_that_is_taken_is_an_error(console, project):
    made = console()
    words = [sys.executable, "-m", "executor", "console", "--port", made.url.rpartition(":")[2]]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}
    ran = subprocess.run(words, capture_output=True, text=True, cwd=project, env=env, check=False)
    assert ran.returncode == 4
    assert "in use" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_nobody_is_counted_on_before_a_page_is_open_nor_after_the_last(console, assistant):
    """Without a page the console is no surface: then there is nobody to ask, at once."""
    made, one = console(), assistant()
    client = Client(made)
    one.call("1", "act", {"a": 1})
    assert "there is nobody to ask" in one.result("1")["content"]
    events = client.events()
    next(events)
    one.call("2", "act", {"a": 2})
    question = next(value for kind, value in events if kind == "asked")
    assert question["arguments"] == {"a": 2}
    assert client.post("answer", {"id": question["id"], "digest": question["digest"], "word": "yes"})[2]["won"]
    assert one.result("2")["kind"] == "ok"
    events.close()

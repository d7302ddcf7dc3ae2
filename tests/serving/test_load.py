"""What many clients, loud ones and broken ones do to a server, and to the others."""

from __future__ import annotations

import contextlib
import json
import resource
import select
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import malformed

ADA, BOB = "ada-has-a-long-token", "bob-has-another-token"
META = malformed.META
# Seconds that one who does nothing wrong may wait longer, beside other tests on two cores: what others do costs seconds
# where it is theirs to pay, see the long forms.
BESIDE = 0.25
FLOOD = """
import select, socket, sys, time
port, number, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
data = sys.stdin.buffer.read()
def connected():
    made = socket.create_connection(("127.0.0.1", port))
    made.setblocking(False)
    return made
open_ = [[connected(), memoryview(data)] for _ in range(number)]
print("begun", flush=True)
end = time.monotonic() + seconds
while time.monotonic() < end:
    ready, free, _ = select.select([each[0] for each in open_], [each[0] for each in open_ if each[1]], [], 0.1)
    for each in open_:
        if each[0] in free and each[1]:
            each[1] = each[1][each[0].send(each[1]):]
        if each[0] in ready:
            if not each[0].recv(65536):
                each[0].close()
                each[0] = connected()
            if not each[1] or each[0] not in ready:
                each[1] = memoryview(data)
"""


class Http:
    """A connection that is kept, without an SDK."""

    def __init__(self, port, token):
        self.port = port
        self.token = token
        self._open()

    def _open(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def request(self, method, name=None, **params):
        if name is not None:
            params["name"] = name
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
        return self.raw(json.dumps(message).encode(), {"Mcp-Method": method, **({"Mcp-Name": name} if name else {})})

    def raw(self, body, headers, version="2026-07-28"):
        head = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "Content-Length": len(body),
            **({"MCP-Protocol-Version": version} if version else {}),
            **headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        return f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body

    def read(self):
        """Status and body of an answer; raises OSError where the connection has ended."""
        words = self.file.readline().split()
        if not words:
            raise ConnectionResetError
        size, chunked = 0, False
        while line := self.file.readline().strip():
            name, _, value = line.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
            chunked = chunked or name.lower() == b"transfer-encoding"
        body = self.file.read(size)
        while chunked:
            size = int(self.file.readline(), 16)
            body += self.file.read(size + 2)[:-2]
            chunked = size > 0
        return int(words[1]), body

    def ask(self, *words, **params):
        """An answer. A connection that was idle for too long is made anew."""
        try:
            self.socket.sendall(self.request(*words, **params))
            return self.read()
        except OSError:
            self.close()
            self._open()
            self.socket.sendall(self.request(*words, **params))
            return self.read()

    def add(self):
        status, body = self.ask("tools/call", "add", arguments={"a": 1, "b": 2})
        assert (status, b'"3"' in body) == (200, True), body

    def p95(self, calls):
        """Seconds, of the slowest twentieth the fastest."""
        took = []
        for _ in range(calls):
            began = time.perf_counter()
            self.add()
            took.append(time.perf_counter() - began)
        return sorted(took)[int(calls * 0.95)]

    def close(self):
        self.file.close()
        self.socket.close()


@pytest.fixture
def http(broker):
    """Connections to a server."""
    made = []

    def opened(token=BOB):
        made.append(Http(broker.port, token))
        return made[-1]

    yield opened
    for each in made:
        each.close()


@contextlib.contextmanager
def flood(broker, body, *, connections, seconds):
    """Somebody sends this again and again over so many connections, from a process of its own."""
    words = [sys.executable, "-c", FLOOD, str(broker.port), str(connections), str(seconds)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(body)
        process.stdin.close()
        assert process.stdout.readline() == b"begun\n"
        yield
        process.kill()


def slow_reader(port):
    """Asks for a lot, and reads nothing of it."""
    client = Http(port, ADA)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for _ in range(50):
        client.socket.sendall(client.request("tools/list"))
    return client


FLOODS = {
    "arguments of 1 MB": ({"a": 1, "b": 2, "pad": "x" * (1 << 20)}, 16),
    "200 connections": ({"a": 1, "b": 2}, 200),
    "wrong arguments": ({"a": "x"}, 16),
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_costs_the_client_that_sends_it(broker, http, kind):
    bystander = http()
    bystander.ask("tools/list")
    bystander.p95(20)
    alone = bystander.p95(60)
    arguments, connections = FLOODS[kind]
    with flood(
        broker, http(ADA).request("tools/call", "add", arguments=arguments), connections=connections, seconds=20
    ):
        bystander.p95(20)
        others = bystander.p95(60)
    assert others <= 2 * alone + BESIDE, (others, alone)  # the machine has others to serve, too: see the long one


@pytest.mark.long
@pytest.mark.parametrize("kind", FLOODS)
def test_nobody_elses_p95_is_more_than_doubled(broker, http, kind):
    bystander = http()
    bystander.ask("tools/list")
    bystander.p95(200)
    arguments, connections = FLOODS[kind]
    body = http(ADA).request("tools/call", "add", arguments=arguments)
    pairs = []
    for _ in range(3):  # one after the other, so that a busy moment of the machine meets both
        alone = bystander.p95(300)
        with flood(broker, body, connections=connections, seconds=30):
            bystander.p95(100)
            pairs.append((bystander.p95(300), alone))
    print(f"\n{kind}: p95 {', '.join(f'{a * 1e3:.1f} ms beside {b * 1e3:.1f} ms' for a, b in pairs)}")
    ratios = sorted(others / alone for others, alone in pairs)
    assert ratios[1] <= 2, pairs


def test_clients_that_read_nothing_hold_up_nobody(broker, http):
    bystander = http()
    bystander.ask("tools/list")
    alone = bystander.p95(100)
    slow = [slow_reader(broker.port) for _ in range(20)]
    bystander.p95(20)
    others = bystander.p95(200)
    for each in slow:
        each.close()
    assert others <= 2 * alone + BESIDE, (others, alone)
    bystander.add()


def test_200_connections_are_all_served(http):
    clients = [http(ADA if number % 2 else BOB) for number in range(200)]
    for client in clients:
        client.socket.sendall(client.request("tools/call", "add", arguments={"a": 1, "b": 2}))
    assert [client.read()[0] for client in clients] == [200] * 200


@pytest.fixture
def many_files():
    """This process may have as many open as the test needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2048:
        pytest.skip("too few open files are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_connections_that_ask_nothing_keep_nobody_out(many_files, broker, http):
    """Nor do strangers' who have no token."""
    known = http()
    known.add()
    silent = []
    for number in range(1200):
        silent.append(socket.create_connection(("127.0.0.1", broker.port)))
        silent[-1].sendall((b"POST /mcp HTTP/1.1\r\nX: ", b"", b"GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n")[number % 3])
    http().add()
    known.add()
    for each in silent:
        each.close()


def test_requests_that_never_end_and_connections_that_ask_nothing_together_keep_nobody_out(many_files, broker, http):
    known = http()
    known.add()
    clients = [http(ADA) for _ in range(600)]
    for number, client in enumerate(clients):
        request = client.raw(b"x" * 100, {"Toolexec-Client": f"client{number % 2}"})
        client.socket.sendall(request[:-50])
        if number % 50 == 0:
            known.add()  # what came before it has been taken
    silent = [socket.create_connection(("127.0.0.1", broker.port)) for _ in range(700)]
    http().add()
    known.add()
    for each in silent:
        each.close()


def test_too_many_requests_of_one_client_are_refused_and_cost_nobody_else(broker, http, tmp_path):
    clients = [http(ADA) for _ in range(320)]
    for client in clients:
        client.socket.sendall(client.request("tools/call", "hold", arguments={"path": str(tmp_path / "mark")}))
    ready: list = []
    while len(ready) < 20:
        ready = select.select([client.socket for client in clients], [], [], 30)[0]
    answers = [client.read()[0] for client in clients if client.socket in ready]
    assert set(answers) == {503}
    http().add()


# Malformed messages ----------------------------------------------------------------------------------------------


def fuzz_stdio(server, count):
    answers: list[bytes] = []
    done = threading.Event()

    def read():
        for line in server.process.stdout:
            answers.append(line)
            if b'"id":"last"' in line:
                done.set()

    reader = threading.Thread(target=read)
    reader.start()
    for line in malformed.messages(count, count):
        server.process.stdin.write(line + b"\n")
    last = {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": META}
    server.write({"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": last})
    assert done.wait(600)
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    server.process.stdin.close()
    assert server.process.wait(20) == 0
    reader.join()
    for line in answers:
        assert json.loads(line)["jsonrpc"] == "2.0"
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def fuzz_http(http, count):
    client = http(ADA)
    for number, body in enumerate(malformed.messages(count + 1, count)):
        version = (None, "2026-07-28", "2025-11-25", "odd\t")[number % 4]
        headers = {"Mcp-Method": "tools/call"} if number % 3 else {}
        try:
            client.socket.settimeout(2)
            client.socket.sendall(client.raw(body, headers, version))
            status, _ = client.read()
            assert status < 600
        except TimeoutError:  # a stream that was asked for, and stays open
            client.close()
            client = http(ADA)
        except OSError:
            client.close()
            client = http(ADA)
    http().add()


def test_malformed_messages_on_stdin_neither_end_nor_stop_the_server(wire):
    fuzz_stdio(wire(), 1000)


@pytest.mark.parametrize("count", [300, pytest.param(1500, marks=pytest.mark.long)])
def test_malformed_messages_neither_end_nor_stop_the_bridge(wire, broker, count):
    fuzz_stdio(wire(broker.bridge()), count)


def test_malformed_messages_over_http_neither_end_nor_stop_the_server(http):
    fuzz_http(http, 300)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_hundred_thousand_malformed_messages(wire, http):
    peak = fuzz_stdio(wire(), 100_000)
    print(f"\npeak of memory: {peak // 1024} MiB")
    assert peak < 600 * 1024


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_hundred_thousand_malformed_requests(http):
    fuzz_http(http, 100_000)


# Growth ----------------------------------------------------------------------------------------------------------


def grown(pid):
    """Memory (KiB), threads and open files of a process."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]), int(status["Threads"]), len(list(Path(f"/proc/{pid}/fd").iterdir()))


@pytest.mark.parametrize("calls", [1000, pytest.param(10_000, marks=[pytest.mark.long, pytest.mark.timeout(600)])])
@pytest.mark.parametrize("modern", [True, False])
def test_calls_leave_nothing_behind(wire, calls, modern):
    server = wire(modern=modern)
    if not modern:
        server.begin()
    for _ in range(500):
        server.call("add", {"a": 1, "b": 2})
    before = grown(server.process.pid)
    for _ in range(calls):
        server.call("add", {"a": 1, "b": 2})
    after = grown(server.process.pid)
    print(f"\n{calls} calls: {before} -> {after}")
    assert after[0] - before[0] < 3000 + calls // 10  # KiB
    assert after[1] <= before[1] + calls // 100  # those that answer come and go
    assert after[2] <= before[2]

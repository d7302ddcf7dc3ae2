"""Clients of the SDK, in both eras, for a server in a process of its own."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

SERVER = [sys.executable, str(Path(__file__).parent / "server.py")]


ERAS = ["2026-07-28", "legacy"]


@pytest.hookimpl(tryfirst=True)  # before the long ones are left out
def pytest_collection_modifyitems(items):
    """A test of both eras runs in one of them, by its name and its other parameters; in the other one it is long."""
    for item in items:
        values = item.callspec.params if hasattr(item, "callspec") else {}
        for parameter, eras in (("era", ERAS), ("modern", [True, False])):
            if parameter in values and item.path.parent == Path(__file__).parent:
                rest = re.sub(rf"\b{values[parameter]}\b", "", item.name, count=1)
                if values[parameter] != eras[hashlib.sha256(rest.encode()).digest()[0] % 2]:
                    item.add_marker(pytest.mark.long)


@pytest.fixture(params=ERAS)
def era(request):
    """``mode`` of the client: the protocol since 2026-07-28, or the one with a handshake."""
    return request.param


@pytest.fixture
def connect(tmp_path):
    """``async with connect(mode)`` is a client of the test's server."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    env = {name: value for name, value in os.environ.items() if name.startswith(("XDG_", "HOME", "PYTHONPATH"))}

    @asynccontextmanager
    async def opened(mode, *words, command=SERVER, **options):
        params = StdioServerParameters(command=command[0], args=[*command[1:], *words], env=env, cwd=tmp_path)
        with (tmp_path / "stderr").open("w") as errlog:
            async with Client(stdio_client(params, errlog=errlog), mode=mode, cache=None, **options) as client:
                yield client

    return opened


@pytest.fixture
def run():
    """Runs a coroutine, within a time that is never needed."""
    return lambda coroutine: asyncio.run(asyncio.wait_for(coroutine, 40))


class Wire:
    """A client without an SDK, of the era since 2026-07-28, that follows tasks; what it sends and reads is seen."""

    def __init__(self, command, cwd, env, *, modern=True):
        self.modern = modern
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd, env={**os.environ, **env}
        )
        self.numbers = itertools.count(1)

    def send(self, method, **params):
        number = next(self.numbers)
        capabilities = {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }
        told = {**params, "_meta": meta} if self.modern else params
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": told})
        return number

    def write(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self):
        """Connect, in the older era."""
        client = {"name": "wire", "version": "1"}
        said = self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return said

    def ask(self, method, **params):
        """The answer, an error included."""
        return self.answer(self.send(method, **params))

    def answer(self, number):
        while True:
            line = self.process.stdout.readline()
            assert line, "the server has ended"
            message = json.loads(line)
            if message.get("id") == number:
                return message

    def call(self, name, arguments):
        answer = self.ask("tools/call", name=name, arguments=arguments)
        assert "result" in answer, answer
        return answer["result"]


@pytest.fixture
def wire(tmp_path):
    """Starts a server, by default the test's, and is its client."""
    made = []

    def start(command=SERVER, *, modern=True, **env):
        made.append(Wire(command, tmp_path, env, modern=modern))
        return made[-1]

    yield start
    for each in made:
        each.process.kill()
        each.process.wait()
        each.process.stdout.close()
        each.process.stdin.close()


HTTP = [sys.executable, str(Path(__file__).parent / "http_server.py")]


class Broker:
    """A server over HTTP in a process of its own; it can be ended and started again where it was."""

    def __init__(self, folder):
        self.folder = folder
        self.tokens = folder / "tokens"
        self.tokens.write_text("ada:ada-has-a-long-token\nbob:bob-has-another-token\n")
        self.tokens.chmod(0o600)
        self.port = 0
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [*HTTP, str(self.port), str(self.tokens)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.folder, text=True,
        )  # fmt: skip
        self.url = self.process.stdout.readline().strip()
        self.port = int(self.url.split(":")[2].partition("/")[0])

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None

    def bridge(self, name="ada"):
        """The command of a client that is connected to it."""
        words = ["serve", "--connect", self.url, "--token-file", str(self.tokens), "--as", name]
        return [sys.executable, "-m", "executor", *words]


@pytest.fixture
def broker(tmp_path):
    """A server over HTTP."""
    made = Broker(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def until():
    """Waits for what another process does, of which nobody tells: it is looked at again and again."""

    def wait(condition):
        deadline = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < deadline, "it has not come to that"
            time.sleep(0.01)

    return wait

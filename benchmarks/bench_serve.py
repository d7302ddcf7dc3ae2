"""
What `toolexec serve` costs, against a bare server of the SDK's: a call, a hundred calls at once, and the start.

The client here is as thin as can be, so that what is compared is the servers.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import _common as common

HERE = Path(__file__).resolve()
MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
MOST_CALL, MOST_AT_ONCE, MOST_START = 1.5, 0.25, 0.15
SLEEP, AT_ONCE = 0.15, 100
POLICY = '{"version": "1.2", "defaultPolicy": "allow"}'


class Client:
    """A server in a process of its own, and requests to it."""

    def __init__(self, command: list[str], env: dict[str, str], *, modern: bool) -> None:
        self.began = perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **env},
            cwd=env["HOME"],
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self._modern = modern
        self._numbers = itertools.count(1)

    def send(self, method: str, **params: Any) -> int:
        number = next(self._numbers)
        told = {**params, "_meta": META} if self._modern else params
        self._to.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": told}).encode() + b"\n")
        self._to.flush()
        return number

    def answers(self, numbers: set[int]) -> None:
        """Read until all of these are answered."""
        while numbers:
            line = self._from.readline()
            assert line, "the server has ended"
            message = json.loads(line)
            if message.get("id") in numbers:
                assert not message.get("result", {"isError": True}).get("isError"), message
                numbers.discard(message["id"])

    def start(self) -> float:
        """Seconds from its start until the first answer."""
        if self._modern:
            self.answers({self.send("server/discover")})
        else:
            client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
            self.answers({self.send("initialize", **client)})
            self._to.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        return perf_counter() - self.began

    def call(self, name: str, **arguments: Any) -> int:
        return self.send("tools/call", name=name, arguments=arguments)

    def close(self) -> None:
        self._to.close()
        self._process.wait(20)
        self._from.close()


def bare() -> None:
    """The SDK's server, with one tool that does nothing."""
    import anyio
    import mcp.types as t
    from mcp.server.lowlevel.server import Server
    from mcp.server.stdio import stdio_server

    tool = t.Tool(name="nothing", input_schema={"type": "object"})

    async def list_tools(_context: Any, _params: Any) -> t.ListToolsResult:
        return t.ListToolsResult(tools=[tool])

    async def call_tool(_context: Any, _params: Any) -> t.CallToolResult:
        return t.CallToolResult(content=[t.TextContent(type="text", text="done")])

    async def main() -> None:
        server: Server[Any] = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(main)


def ours() -> None:
    """An executor with the same tool, and one that takes its time."""
    import time

    from executor import TaskManager, ToolExecutor
    from executor.mcp import serve

    executor = ToolExecutor(tasks=TaskManager.in_memory())
    executor.register("nothing", lambda _: "done")
    executor.register("slow", lambda _: time.sleep(SLEEP) or "done")
    serve(executor)
    executor.shutdown(cancel=True, timeout=1)


def one_call(base: Client, own: Client, calls: int) -> tuple[float, float]:
    """Seconds a call, of each the one in the middle; they take turns, so that a busy moment meets both alike."""
    took: tuple[list[float], list[float]] = [], []
    for client in (base, own):
        client.answers({client.send("tools/list")})
    for number in range(20 + calls):
        for client, found in zip((base, own), took, strict=True):
            began = perf_counter()
            client.answers({client.call("nothing")})
            if number >= 20:
                found.append(perf_counter() - began)
    return median(took[0]), median(took[1])


def at_once(client: Client, times: int) -> float:
    """Seconds for a hundred calls that take their time, all sent at once; of so many times the one in the middle."""
    client.answers({client.send("tools/list")})
    took = []
    for _ in range(times):
        began = perf_counter()
        client.answers({client.call("slow") for _ in range(AT_ONCE)})
        took.append(perf_counter() - began)
    return median(took)


def main() -> None:
    if sys.argv[1:] in (["bare"], ["ours"]):
        return {"bare": bare, "ours": ours}[sys.argv[1]]()
    rounds = common.rounds(7, 3)
    calls = 20 if rounds == 1 else 500
    with tempfile.TemporaryDirectory() as home:
        measure(home, rounds, calls)
    return None


def measure(home: str, rounds: int, calls: int) -> None:
    """Take turns, so that a busy moment meets both alike."""
    policy = Path(home, "permissions.json")
    policy.write_text(POLICY, "utf-8")
    policy.chmod(0o600)
    env = {"HOME": home, "TOOLEXEC_PERMISSIONS": str(policy), "PYTHONPATH": os.pathsep.join(sys.path[:2])}
    env |= {f"XDG_{name}_HOME": f"{home}/{name}" for name in ("CONFIG", "STATE", "CACHE", "DATA")}
    command = [sys.executable, "-m", "executor", "serve", "--project", home]
    pair = [[sys.executable, str(HERE), which] for which in ("bare", "ours")]
    for era, modern in (("2025-11-25", False), (MODERN, True)):
        found: dict[str, list[tuple[float, ...]]] = {"call": [], "start": [], "all": []}
        for _ in range(rounds):
            base, own = (Client(each, env, modern=modern) for each in pair)
            for each in (base, own):
                each.start()
            found["call"].append(one_call(base, own, calls))
            found["all"].append((at_once(own, min(rounds, 3)),))
            for each in (base, own):
                each.close()
            found["start"].append((start(pair[0], env, modern=modern), start(command, env, modern=modern)))
        report(era, found)


def start(command: list[str], env: dict[str, str], *, modern: bool) -> float:
    """Seconds from the start of a server, with the machine to itself, until it has answered."""
    client = Client(command, env, modern=modern)
    took = client.start()
    client.close()
    return took


def report(era: str, found: dict[str, list[tuple[float, ...]]]) -> None:
    base, own = (median(each[at] for each in found["call"]) for at in (0, 1))
    ratio = median(own / base for base, own in found["call"])
    against = f"SDK's bare server: {common.milli(base)}; ours: {common.milli(own)}"
    common.row(f"no-op over stdio, {era}", f"{ratio:.2f} x", against, f"{MOST_CALL} x", holds=ratio <= MOST_CALL)
    took = min(each[0] for each in found["all"])  # here and below: a busy machine only adds
    alone = f"one call: {common.milli(SLEEP)}"
    common.row(f"100 calls at once, {era}", common.milli(took), alone, "0.25 s", holds=took <= MOST_AT_ONCE)
    base, own = (min(each[at] for each in found["start"]) for at in (0, 1))
    excess = own - base
    against = f"SDK's bare server: {common.milli(base)}; toolexec serve: {common.milli(own)}"
    common.row(
        f"start to first answer, {era}", f"{excess * 1e3:+.0f} ms", against, "+150 ms", holds=excess <= MOST_START
    )


if __name__ == "__main__":
    main()

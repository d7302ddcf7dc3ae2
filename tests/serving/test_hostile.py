"""MCP servers that mean harm, behind ``serve --proxy``: what they do costs whoever calls them, and nobody else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HARM = ["flood", "storm", "pings", "answers", "big", "hang", "die", "stop", "rename", "ask", "sample", "junk"]
ANSWERED = ["big", "die", "rename", "ask", "sample", "junk"]
# Those behind one broker: what keeps the server busy for good has one for itself.
TOGETHER = ["big", "hang", "rename", "ask", "sample", "junk", "die"]
TURNS = [["flood"], ["storm"], ["pings"], ["answers"], ["stop"], TOGETHER]
FEW = [pytest.param(harms, 15, id=f"{harms[0]}-few") for harms in (["flood"], TOGETHER)]
MANY = [pytest.param(harms, 40, id=harms[0], marks=pytest.mark.long) for harms in TURNS]


@pytest.fixture
def command(tmp_path, monkeypatch):
    """The command that serves two servers, ``good`` and ``bad``."""
    policy, config = tmp_path / "permissions.json", tmp_path / "config.toml"
    policy.write_text('{"defaultPolicy": "allow"}', "utf-8")
    policy.chmod(0o600)
    entries = "".join(
        f"[plugins.mcp.servers.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {json.dumps(words)}\n"
        for name, words in (("good", [str(HERE / "proxied.py"), "good"]), ("bad", [str(HERE / "hostile.py")]))
    )
    config.write_text(f"[plugins.mcp]\ncatalogue = false\nlist_timeout = 60\n{entries}", "utf-8")
    monkeypatch.setenv("TOOLEXEC_PERMISSIONS", str(policy))
    monkeypatch.setenv("TOOLEXEC_CONFIG", str(config))
    return [sys.executable, "-m", "executor", "serve", "--proxy", "--project", str(tmp_path)]


@pytest.fixture
def broker_command(command, tmp_path):
    """A broker with them is running; the command of a bridge to it."""
    words = [*command, "--http", "127.0.0.1:0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=os.environ) as server:
        url = re.match(r"serving at (\S+);", server.stderr.readline())[1]
        drain = threading.Thread(target=server.stderr.read)
        drain.start()
        yield [sys.executable, "-m", "executor", "serve", "--connect", url]
        server.terminate()
        assert server.wait(20) == 130
        drain.join()


HELD_UP = 5.0  # seconds: some wait for the other's end, on however busy a machine


def p95(client, calls):
    took = []
    for _ in range(calls):
        began = time.perf_counter()
        assert client.call("mcp__good__remember", {})["content"][0]["text"].isdigit()
        took.append(time.perf_counter() - began)
    return sorted(took)[int(calls * 0.95)]


@pytest.mark.parametrize(("harms", "calls"), FEW + MANY)
def test_what_a_server_does_holds_nobody_else_up(broker_command, wire, harms, calls):
    client = wire(broker_command)
    for harm in harms:
        during = meanwhile(client, wire(broker_command), harm, calls)
        assert during <= HELD_UP, harm


@pytest.mark.long
@pytest.mark.parametrize("harm", HARM)
def test_what_a_server_does_costs_nobody_else(broker_command, wire, harm):
    alone, during = beside(broker_command, wire, harm)
    assert during <= 2 * alone + 0.05, (during, alone)


def beside(broker_command, wire, harm):
    """How long calls of another client take before a server does harm, and meanwhile."""
    client, victim = wire(broker_command), wire(broker_command)
    names = [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)
    assert len(set(names)) == len(names)
    p95(client, 30)
    alone = p95(client, 60)
    during = meanwhile(client, victim, harm, 100)
    print(f"\n{harm}: {alone * 1e3:.1f} ms alone, {during * 1e3:.1f} ms")
    return alone, during


def meanwhile(client, victim, harm, calls):
    """How long calls of *client* take while the server does *harm* to *victim*, which is answered if it can be."""
    victim.ask("tools/list")
    number = victim.send("tools/call", name=f"mcp__bad__{harm}", arguments={})
    during = p95(client, calls)
    if harm in ANSWERED:
        told = victim.answer(number)
        assert "result" in told or "error" in told
    return during


def test_the_client_that_calls_it_goes_on_too(command, wire):
    client = wire(command)
    client.ask("tools/list")
    missing = {client.send("tools/call", name=f"mcp__bad__{harm}", arguments={}) for harm in ANSWERED}
    missing |= {client.send("tools/call", name="mcp__good__remember", arguments={}) for _ in range(20)}
    while missing:
        missing.discard(json.loads(client.process.stdout.readline()).get("id"))
    assert len(client.ask("resources/list")["result"]["resources"]) == 100
    assert client.call("mcp__good__link", {})["content"][0]["uri"] == "memo://same"

"""``toolexec serve --http --proxy``: MCP servers for several clients, each with its own where they are not shared."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SERVER = str(Path(__file__).parent / "proxied.py")
DOCUMENTS = ["memo://same", "memo://only-a", "mcp://b/memo://same", "memo://only-b"]


@pytest.fixture(params=[""])
def command(request, tmp_path, monkeypatch):
    """
    Starts the broker, whose server ``a`` is each client's own and ``b`` is shared; gives the bridge to it.

    The parameter is the name of one more server, which is a broker like itself; empty, there is none.
    """
    policy, config = tmp_path / "permissions.json", tmp_path / "config.toml"
    policy.write_text('{"defaultPolicy": "allow"}', "utf-8")
    policy.chmod(0o600)
    entries = "".join(
        f"[plugins.mcp.servers.{name}]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = {json.dumps([SERVER, name])}\nshared = {json.dumps(name == 'b')}\n"
        for name in ("a", "b")
    )
    program, *words = sys.executable, "-m", "executor", "serve"
    if request.param:
        entries += f"[plugins.mcp.servers.{request.param}]\n"
        entries += f"command = {json.dumps(program)}\nargs = {json.dumps(words)}\n"
    config.write_text(f"[plugins.mcp]\ncatalogue = false\nlist_timeout = 60\n{entries}", "utf-8")
    monkeypatch.setenv("TOOLEXEC_PERMISSIONS", str(policy))
    monkeypatch.setenv("TOOLEXEC_CONFIG", str(config))
    with subprocess.Popen(
        [program, *words, "--http", "127.0.0.1:0", "--proxy", "--project", str(tmp_path)],
        stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=os.environ,
    ) as server:  # fmt: skip
        url = re.match(r"serving at (\S+);", server.stderr.readline())[1]
        yield [program, *words, "--connect", url]
        server.terminate()
        assert server.wait(20) == 130


def said(client, tool):
    return client.call(tool, {})["content"][0]["text"]


def listed(client):
    return [each["uri"] for each in client.ask("resources/list")["result"]["resources"]]


@pytest.mark.parametrize("modern", [True, False])
def test_each_client_has_its_own_servers_and_they_end_with_it(command, wire, until, modern):
    first, second = wire(command, modern=modern), wire(command, modern=modern)
    if not modern:
        first.begin(), second.begin()
    own = [int(said(client, "mcp__a__pid")) for client in (first, second, first)]
    assert own[0] == own[2] != own[1]
    assert [said(first, "mcp__a__remember"), said(second, "mcp__a__remember")] == ["1", "1"]
    shared = {said(client, "mcp__b__pid") for client in (first, second)}
    assert len(shared) == 1
    assert listed(first) == DOCUMENTS
    first.process.stdin.close()
    assert first.process.wait(10) == 0
    until(lambda: not Path(f"/proc/{own[0]}").exists())
    assert Path(f"/proc/{own[1]}").exists()
    assert Path(f"/proc/{shared.pop()}").exists()
    assert said(second, "mcp__a__remember") == "2"


def test_a_name_without_a_token_is_refused(command, wire, own_folders):
    tokens = own_folders / "state" / "toolexec" / "serve.tokens"
    assert tokens.stat().st_mode & 0o777 == 0o600
    client = wire([*command, "--as", "nobody"])
    assert client.process.wait(20) == 2


@pytest.mark.parametrize("command", ["itself"], indirect=True)
def test_a_server_that_has_itself_among_its_servers_leaves_it_out(command, wire):
    client = wire(command)
    names = [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]
    assert "mcp__a__pid" in names
    assert not [name for name in names if name.startswith("mcp__itself__")]
    assert listed(client) == DOCUMENTS

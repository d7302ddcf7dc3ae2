"""Servers that nobody here had in mind when the bridge was written: each lists its tools, and answers, offline."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from pathlib import Path

import pytest

from executor import PluginRegistry, ToolExecutor
from executor.mcp import MCPBridge

MORE = Path(__file__).parent / "more"
pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

# Program, arguments, environment, and a call that works, or fails in the server's own words, without a network.
NODE = {
    "hello": (["mcp-hello-world"], {}, ("echo", {"message": "hi"}, "You said: hi")),
    "commands": (["mcp-server-commands"], {}, ("run_command", {"command": "echo 42"}, "42")),
    "pdf": (["mcp-pdf-server", "--stdio"], {}, ("list_pdfs", {}, "")),
    "context7": (["context7-mcp"], {}, ("resolve-library-id", {"query": "x", "libraryName": "x"}, "")),
    "figma": (["figma-developer-mcp", "--stdio", "--figma-api-key", "x"], {}, ("get_figma_data", {"fileKey": "x"}, "")),
    "notion": (["notion-mcp-server"], {"NOTION_TOKEN": "ntn_x"}, ("API-get-self", {}, "")),
    "tavily": (["tavily-mcp"], {"TAVILY_API_KEY": "tvly-x"}, ("tavily_search", {"query": "x"}, "")),
    "firecrawl": (
        ["firecrawl-mcp"],
        {"FIRECRAWL_API_KEY": "fc-x"},
        ("firecrawl_map", {"url": "https://h.invalid"}, ""),
    ),
}
PYTHON = {
    "calculator": (["mcp-server-calculator"], {}, ("calculate", {"expression": "6*7"}, "42")),
    "text-editor": (
        ["mcp-text-editor"],
        {},
        (
            "get_text_file_contents",
            {"files": [{"file_path": __file__, "ranges": [{"start": 1, "end": 1}]}]},
            "nobody here",
        ),
    ),
    "excel": (["excel-mcp-server", "stdio"], {}, ("create_workbook", {"filepath": "{folder}/a.xlsx"}, "")),
}


@pytest.fixture(scope="module")
def entries(npm_folder, pip_folder):
    node, python = npm_folder(MORE / "package.json"), pip_folder(MORE / "requirements.txt")
    places = {**dict.fromkeys(NODE, node / "node_modules" / ".bin"), **dict.fromkeys(PYTHON, python / "bin")}
    return {
        name: {"command": str(places[name] / words[0]), "args": words[1:], "env": env, "timeout": 60}
        for name, (words, env, _) in {**NODE, **PYTHON}.items()
    }


@pytest.mark.parametrize("name", [*NODE, *PYTHON])
def test_a_server_lists_its_tools_and_answers(entries, name, tmp_path):
    tool, arguments, expected = {**NODE, **PYTHON}[name][2]
    told = json.loads(json.dumps(arguments).replace("{folder}", str(tmp_path)))
    registry = PluginRegistry(entry_points=False)
    config = {"servers": {name: entries[name]}, "catalogue": False, "list_timeout": 60, "timeout": 60}
    registry.expose("mcp", config)
    with ToolExecutor(registry=registry) as executor:
        names = [tool.name for tool in executor.list_tools() if tool.name.startswith(f"mcp__{name}__")]
        assert f"mcp__{name}__{tool}" in names
        succeeded, result = executor.execute(f"mcp__{name}__{tool}", told)
    registry.close()
    assert expected in json.dumps(result)
    assert succeeded or not expected
    assert "is no valid MCP" not in json.dumps(result)


@pytest.mark.parametrize("stateless", [True, False])
def test_fastmcp_over_http_in_both_modes(pip_folder, tmp_path, stateless):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = tmp_path / "server.py"
    program.write_text(
        "from fastmcp import FastMCP\n"
        "server = FastMCP('fast')\n\n\n@server.tool\ndef double(n: int) -> int:\n    return 2 * n\n\n\n"
        f"server.run('http', port={port}, stateless_http={stateless}, show_banner=False)\n"
    )
    python = pip_folder(MORE / "requirements.txt") / "bin" / "python"

    def started():
        process = subprocess.Popen([python, program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while time.monotonic() < end:  # nothing tells when another's server listens
            with socket.socket() as look:
                if look.connect_ex(("127.0.0.1", port)) == 0:
                    return process
        raise AssertionError("it does not listen")

    process = started()
    with MCPBridge({"fast": {"url": f"http://127.0.0.1:{port}/mcp"}}, cache=None) as bridge:
        assert bridge.call_tool("fast", "double", {"n": 21}).structured_content == {"result": 42}
        process.kill()
        process.wait()
        process = started()  # the session, if there was one, is gone with it
        assert bridge.call_tool("fast", "double", {"n": 4}).structured_content == {"result": 8}
    process.kill()
    process.wait()

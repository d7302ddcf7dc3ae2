"""Files of other assistants, as their own documentation writes them: what is kept, and what is named as lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from executor._regular import LARGEST
from executor.mcp import bound, configured, files_of, load_file

CODEX = """
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]
env_vars = ["DOCS_TOKEN"]
startup_timeout_sec = 20
tool_timeout_sec = 45
enabled_tools = ["search", "read"]
disabled_tools = ["read"]

[mcp_servers.figma]
url = "https://mcp.figma.example/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Team" = "TEAM" }

[mcp_servers.off]
command = "x"
enabled = false
"""
GOOSE = """
extensions:
  git:
    type: stdio
    cmd: uvx
    args: [mcp-server-git]
    envs: {A: "1"}
    env_keys: [GIT_TOKEN]
    timeout: 300
    enabled: true
    available_tools: [git_log]
  remote:
    type: streamable_http
    uri: https://h.example/mcp
    headers: {}
    enabled: false
  developer:
    type: builtin
    enabled: true
"""
CONTINUE = """
mcpServers:
  - name: db
    command: uvx
    args: [mcp-server-sqlite]
    env:
      KEY: ${{ secrets.DB_KEY }}
  - name: web
    type: streamable-http
    url: https://h.example/mcp
    requestOptions:
      headers: {Authorization: "Bearer ${{ secrets.WEB }}"}
"""
ZED = {
    "context_servers": {
        "old": {"source": "custom", "command": {"path": "x", "args": ["a"], "env": {"A": "1"}}},
        "new": {"command": "y", "args": [], "env": {}},
        "extension": {"source": "extension", "settings": {"k": 1}},
    }
}
GEMINI = {
    "mcp": {"excluded": ["never"], "allowed": ["files", "never"]},
    "mcpServers": {
        "files": {
            "command": "$HOME_BIN/x",
            "env": {"TOKEN": "$MY_TOKEN", "OTHER": "${MY_TOKEN}"},
            "timeout": 30000,
            "trust": True,
            "excludeTools": ["rm"],
        },
        "never": {"command": "x"},
        "other": {"httpUrl": "https://h/mcp"},
    },
}
WINDSURF = {"mcpServers": {"a": {"serverUrl": "https://h/mcp", "disabledTools": ["rm"], "alwaysAllow": ["ls"]}}}
CURSOR = {"mcpServers": {"a": {"url": "https://h/mcp", "auth": {"CLIENT_ID": "i", "scopes": ["r", "w"]}}}}
VSCODE = {"servers": {"a": {"command": "x", "sandboxEnabled": True, "dev": {"watch": "*"}}}}
CLAUDE = {
    "mcpServers": {"a": {"url": "https://h", "headersHelper": "./h.sh", "oauth": {"clientId": "i", "callbackPort": 1}}}
}
VARIABLES = {
    name: f"<{name}>"
    for name in ("DOCS_TOKEN", "FIGMA_TOKEN", "TEAM", "GIT_TOKEN", "DB_KEY", "WEB", "MY_TOKEN", "HOME_BIN")
}


@pytest.fixture
def read(tmp_path):
    def read(host, document):
        text = document if isinstance(document, str) else json.dumps(document)
        name = {"codex": "config.toml", "goose": "config.yaml", "continue": "config.yaml"}.get(host, "mcp.json")
        path = tmp_path / name
        path.write_text(text)
        return {server.name: server for server in load_file(path, host=host, variables=VARIABLES).servers}

    return read


def test_codex(read):
    servers = read("codex", CODEX)
    docs, figma = servers["docs"], servers["figma"]
    assert (docs.env, docs.start_timeout, docs.timeout) == ({"DOCS_TOKEN": "<DOCS_TOKEN>"}, 20, 45)
    assert [name for name in ("search", "read", "write") if docs.offers(name)] == ["search"]
    assert figma.headers == {"X-Region": "eu", "X-Team": "<TEAM>", "Authorization": "Bearer <FIGMA_TOKEN>"}
    assert "switched off" in servers["off"].problem
    assert (docs.lost, figma.lost) == ((), ())


def test_goose(read):
    pytest.importorskip("yaml")
    servers = read("goose", GOOSE)
    git = servers["git"]
    assert (git.command, git.env, git.timeout) == ("uvx", {"A": "1", "GIT_TOKEN": "<GIT_TOKEN>"}, 300)
    assert git.offers("git_log")
    assert not git.offers("git_push")
    assert "GIT_TOKEN" in git.lost[0]
    assert "switched off" in servers["remote"].problem
    assert "part of its assistant (builtin)" in servers["developer"].lost[0]
    assert servers["developer"].problem


def test_continue(read):
    pytest.importorskip("yaml")
    servers = read("continue", CONTINUE)
    assert servers["db"].env == {"KEY": "<DB_KEY>"}
    assert servers["web"].headers == {"Authorization": "Bearer <WEB>"}


def test_zed(read):
    servers = read("zed", ZED)
    assert (servers["old"].command, servers["old"].args, servers["old"].env) == ("x", ("a",), {"A": "1"})
    assert servers["new"].command == "y"
    assert "extension of Zed's" in servers["extension"].lost[0]
    assert servers["extension"].problem


def test_gemini(read):
    servers = read("gemini", GEMINI)
    files = servers["files"]
    assert files.command == "<HOME_BIN>/x"
    assert files.env == {"TOKEN": "<MY_TOKEN>", "OTHER": "<MY_TOKEN>"}
    assert (files.timeout, files.offers("rm"), files.offers("ls")) == (30, False, True)
    assert files.lost == ("'trust' has no effect here: calls are judged here as everywhere",)
    assert "switched off" in servers["never"].problem
    assert "switched off" in servers["other"].problem  # another one is allowed, and it is not


@pytest.mark.parametrize(
    ("host", "document", "lost"),
    [
        ("windsurf", WINDSURF, ["alwaysAllow"]),
        ("vscode", VSCODE, ["sandboxEnabled", "dev"]),
        ("claude-code", CLAUDE, ["headersHelper"]),
        ("cursor", CURSOR, []),
    ],
)
def test_what_has_no_effect_is_named(read, host, document, lost):
    server = read(host, document)["a"]
    assert [loss.partition("'")[2].partition("'")[0] for loss in server.lost] == lost


def test_what_others_know_of_logging_in_is_kept(read):
    assert read("cursor", CURSOR)["a"].oauth == {"clientId": "i", "scope": "r w"}
    assert read("claude-code", CLAUDE)["a"].oauth == {"clientId": "i", "callbackPort": "1"}


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"command": "x", "excludeTools": "rm"}, '"excludeTools" is no list of names'),
        ({"command": "x", "timeout": "soon"}, "\"timeout\" is 'soon': give seconds"),
        ({"command": "x", "protocol": "1999-01-01"}, "use auto, legacy, 2024-11-05"),
        ({"url": "http://h", "oauth": True}, '"oauth" is no object'),
    ],
)
def test_a_restriction_that_cannot_be_read_opens_nothing(read, entry, problem):
    assert problem in read(None, {"mcpServers": {"a": entry}})["a"].problem


def test_servers_that_claude_codes_settings_switch_off_stay_off(tmp_path):
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}))
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.local.json").write_text('{"disabledMcpjsonServers": ["a"]}')
    problems = {server.name: server.problem for server in load_file(tmp_path / ".mcp.json").servers}
    assert "switched off" in problems["a"]
    assert problems["b"] is None


# Where they belong ------------------------------------------------------------------------------------------------


def test_an_entry_of_a_project_means_that_project_wherever_it_is_used(tmp_path):
    (tmp_path / ".cursor").mkdir()
    file = tmp_path / ".cursor" / "mcp.json"
    entry = {"command": "./bin/srv", "args": ["${workspaceFolder}/data", "x.py"], "envFile": ".env"}
    file.write_text(json.dumps({"mcpServers": {"a": entry}}))
    (tmp_path / ".env").write_text("A=1\n")
    (server,) = load_file(file, anywhere=True).servers
    assert server.problem is None
    assert (server.command, server.args[0], server.cwd) == (
        str(tmp_path / "bin/srv"),
        f"{tmp_path}/data",
        str(tmp_path),
    )
    assert server.env == {"A": "1"}


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "${workspaceFolder}/bin/srv"},
        {"command": "./srv"},
        {"command": "bin/srv"},
        {"command": "node", "args": ["./server.js"]},
        {"command": "node", "args": ["server.js"], "cwd": "sub"},
        {"command": "x", "envFile": "${workspaceFolder}/.env"},
    ],
)
def test_an_entry_that_would_be_another_program_in_each_folder_is_not_used(entry, own_folders):
    place = own_folders / ".cursor" / "mcp.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps({"mcpServers": {"a": entry}}))
    found = configured({"files": ["cursor"], "catalogue": False})
    assert "another program in each folder" in found.servers["a"].problem


def test_a_server_that_is_switched_off_leaves_its_name_to_no_other(own_folders):
    place = own_folders / ".cursor" / "mcp.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps({"mcpServers": {"a": {"command": "other"}, "b": {"command": "b"}}}))
    off = {"command": "mine", "disabled": True}
    found = configured({"servers": {"a": off}, "files": ["cursor"], "catalogue": False})
    assert [*found.servers] == ["b"]
    assert found.problems == [
        f"the MCP server 'a' of {place} is left out: the one of the configuration has its name, and is switched off"
    ]


def test_what_has_no_effect_in_an_entry_of_ones_own_is_told(own_folders):
    own = own_folders / "config" / "toolexec" / "mcp.json"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(json.dumps({"mcpServers": {"a": {"command": "x", "Confine": "read"}}}))
    other = own_folders / ".cursor" / "mcp.json"
    other.parent.mkdir(exist_ok=True)
    other.write_text(json.dumps({"mcpServers": {"c": {"command": "x", "autoApprove": ["y"]}}}))
    found = configured({"servers": {"b": {"command": "x", "exclude": ["rm"]}}, "files": ["cursor"]})
    assert [*found.servers] == ["b", "a", "c"]
    assert found.problems == [
        "the MCP server 'b': 'exclude' has no effect here: it is not known",
        "the MCP server 'a': 'Confine' has no effect here: it is not known",
    ]


def test_binding_an_entry_makes_its_paths_absolute(tmp_path):
    (tmp_path / "server.js").write_text("")
    entry = {"command": "node", "args": ["server.js", "-y", "@scope/name", "https://h/x"], "env": {"A": "${B}"}}
    assert bound(entry, tmp_path, of_project=False) == {**entry, "cwd": str(tmp_path)}
    assert bound({"command": "npx", "args": ["-y", "@a/b"]}, tmp_path, of_project=False) == {
        "command": "npx", "args": ["-y", "@a/b"],
    }  # fmt: skip
    assert bound({"url": "http://h"}, tmp_path, of_project=True) == {"url": "http://h"}


def test_the_files_of_the_newer_hosts_are_found(own_folders):
    places = {
        "codex": own_folders / ".codex/config.toml",
        "zed": own_folders / "config/zed/settings.json",
        "windsurf": own_folders / ".codeium/windsurf/mcp_config.json",
        "goose": own_folders / "config/goose/config.yaml",
        "continue": own_folders / ".continue/config.yaml",
    }
    for host, file in places.items():
        assert files_of(host, None) == []
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
        assert files_of(host, None) == [Path(file)]


@pytest.mark.parametrize("kind", ["a pipe", "a device", "more than anybody writes"])
def test_a_file_of_servers_that_never_ends_is_not_read(tmp_path, kind):
    path = tmp_path / "mcp.json"
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(LARGEST + 1)
    said = "has more than 64 MiB" if kind.startswith("more") else "no regular file"
    with pytest.raises(ValueError, match=f"it cannot be read: .*{said}"):
        load_file(path)
    entry = {"mcpServers": {"one": {"command": "x", "envFile": str(path)}}}
    (tmp_path / "other.json").write_text(json.dumps(entry))
    (server,) = load_file(tmp_path / "other.json").servers
    assert said in server.problem

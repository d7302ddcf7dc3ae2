"""Entries and files of servers as other assistants write them."""

from __future__ import annotations

import json
import sys

import pytest

from executor.mcp import catalogue_path, files_of, load_file, parse_entry

ENV = {"TOKEN": "s3cret", "EMPTY": ""}


def parsed(entry, **options):
    return parse_entry("s", entry, variables=ENV, **options)


def test_a_program_beside_the_working_folder_is_not_looked_for_on_the_path():
    assert parsed({"command": "./server", "cwd": "./x"}).command == "./server"


def test_a_command_with_arguments_and_variables():
    server = parsed({"command": "npx", "args": ["-y", "x", 3], "env": {"A": "${TOKEN}", "B": "plain"}, "cwd": "/tmp"})
    assert (server.transport, server.command, server.args) == ("stdio", "npx", ("-y", "x", "3"))
    assert (server.env, server.cwd, server.problem) == ({"A": "s3cret", "B": "plain"}, "/tmp", None)


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"url": "http://h/mcp"}, "http"),
        ({"httpUrl": "http://h/mcp"}, "http"),
        ({"serverUrl": "https://h/mcp"}, "http"),
        ({"type": "http", "url": "http://h/mcp"}, "http"),
        ({"type": "streamable-http", "url": "http://h/sse"}, "http"),
        ({"transport": "sse", "url": "http://h/x"}, "sse"),
        ({"url": "http://h/sse"}, "sse"),
    ],
)
def test_remote_servers_in_every_spelling(entry, transport):
    server = parsed({**entry, "headers": {"Authorization": "Bearer ${env:TOKEN}"}})
    assert (server.transport, server.problem) == (transport, None)
    assert server.headers == {"Authorization": "Bearer s3cret"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${TOKEN}", "s3cret"),
        ("${env:TOKEN}", "s3cret"),
        ("a-${TOKEN}-${TOKEN}-b", "a-s3cret-s3cret-b"),
        ("${MISSING:-there}", "there"),
        ("${EMPTY:-there}", "there"),
        ("${MISSING:-}", ""),
        ("${EMPTY}", ""),
        ("${workspaceFolder}/x", "/work space/x"),
        ("$HOME costs $5 {x}", "$HOME costs $5 {x}"),
    ],
)
def test_variables(text, value, tmp_path):
    from pathlib import Path

    assert parsed({"command": "x", "args": [text]}, folder=Path("/work space")).args == (value,)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"command": "x", "env": {"A": "${MISSING}"}}, "the variable MISSING is not set"),
        ({"command": "x", "args": ["${input:key}"]}, r"the input 'key'.*\$\{env:NAME\}"),
        ({"command": "x", "args": ["${a b}"]}, "is not understood"),
        ({"type": "websocket", "url": "ws://h"}, "transport is 'websocket', which is unknown: use stdio, http or sse"),
        ({"type": "http"}, 'it has no "url"'),
        ({}, 'neither a "command" nor a "url"'),
        ({"command": "x", "args": "-y"}, '"args" is no list'),
        ({"command": "x", "env": ["A=1"]}, '"env" is no object'),
        ({"command": ["x"]}, '"command" is a list'),
        ({"url": "ftp://h/x"}, "not http"),
        ({"url": "http:///x"}, "not http"),
        ({"url": "http://h:99999/x"}, "cannot be read"),
        ({"command": "x", "envFile": "/no/such/file"}, "envFile cannot be read"),
        ({"command": "x", "disabled": True}, "switched off"),
        ({"command": "x", "disabled": "true"}, "\"disabled\" is 'true': use true or false"),
        ({"command": "x", "disabled": 1}, '"disabled" is 1: use true or false'),
        ({"command": "x", "enabled": "no"}, "\"enabled\" is 'no': use true or false"),
        ({"command": "x", "enabled": 0}, '"enabled" is 0: use true or false'),
        ("npx x", "is a str, not an object"),
    ],
)
def test_what_is_wrong_with_an_entry_is_its_problem(entry, problem):
    import re

    found = parsed(entry).problem
    assert re.search(problem, found), found


def test_a_url_with_credentials_is_refused_with_the_mend_and_without_showing_them():
    problem = parsed({"url": "https://ada:hunter2@example.org/mcp"}).problem
    assert "user or password" in problem
    assert '"headers"' in problem
    assert "hunter2" not in problem


def test_the_fingerprint_depends_on_the_entry_as_written_and_not_on_values():
    entry = {"command": "x", "env": {"A": "${TOKEN}"}}
    first = parse_entry("s", entry, variables={"TOKEN": "one"})
    assert first.fingerprint == parse_entry("s", entry, variables={"TOKEN": "two"}).fingerprint
    assert first.fingerprint != parse_entry("s", {**entry, "args": ["-v"]}, variables=ENV).fingerprint


def test_an_env_file_is_read_and_the_entry_wins(tmp_path):
    (tmp_path / "env").write_text("# comment\nexport A=1\nB='two words'\nnothing\n")
    server = parsed({"command": "x", "envFile": "${workspaceFolder}/env", "env": {"A": "own"}}, folder=tmp_path)
    assert server.env == {"A": "own", "B": "two words"}


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "mcp.json"
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return path

    return write


@pytest.mark.parametrize(
    "document",
    [
        {"mcpServers": {"a": {"command": "x"}}, "theme": "dark"},
        {"servers": {"a": {"type": "stdio", "command": "x"}}, "inputs": []},
        {"a": {"command": "x"}},
    ],
)
def test_servers_are_found_wherever_a_host_puts_them(write, document):
    path = write(document)
    (server,) = load_file(path).servers
    assert (server.name, server.command, server.source) == ("a", "x", str(path))


def test_servers_of_a_project_in_claude_codes_file_come_first(write, tmp_path):
    projects = {str(tmp_path): {"mcpServers": {"a": {"command": "own"}}}, "/else": {"mcpServers": {"b": {}}}}
    path = write({"mcpServers": {"a": {"command": "all"}, "c": {"command": "y"}}, "projects": projects})
    assert [(s.name, s.command) for s in load_file(path, folder=tmp_path).servers] == [("a", "own"), ("c", "y")]


def test_comments_and_trailing_commas_are_read_over(write):
    path = write(
        '{\n // mine\n "mcpServers": { /* two\n lines */\n "a": {"command": "x", "args": ["//not", "a,]"],},\n },\n}\n'
    )
    assert load_file(path).servers[0].args == ("//not", "a,]")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{\n "mcpServers": {\n  "a": {"command" "x"}\n }\n}', "line 3, column 19"),
        (
            '{"mcpServers": {\n"a": {"command": "x"},\n"a": {"command": "y"}}}',
            "line 3: the name 'a' stands there twice",
        ),
        ("", "line 1"),
        ("[]", "it has no servers"),
        ('{"theme": "dark"}', "it has no servers"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_broken_file_is_named_with_the_line(write, text, problem):
    path = write(text)
    with pytest.raises(ValueError, match=problem) as error:
        load_file(path)
    assert str(path) in str(error.value)


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        load_file(tmp_path / "none.json")


@pytest.mark.skipif(sys.platform != "linux", reason="the folders of Linux")
def test_the_files_of_every_host_are_found(own_folders, tmp_path):
    project = tmp_path / "project"
    places = {
        "claude-desktop": [own_folders / "config/Claude/claude_desktop_config.json"],
        "claude-code": [project / ".mcp.json", own_folders / ".claude.json"],
        "cursor": [project / ".cursor/mcp.json", own_folders / ".cursor/mcp.json"],
        "vscode": [project / ".vscode/mcp.json", own_folders / "config/Code/User/mcp.json"],
        "lmstudio": [own_folders / ".lmstudio/mcp.json"],
        "gemini": [project / ".gemini/settings.json", own_folders / ".gemini/settings.json"],
    }
    for host, files in places.items():
        assert files_of(host, project) == []
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("{}")
        assert files_of(host, project) == files
        assert files_of(host, None) == [file for file in files if not file.is_relative_to(project)]
    with pytest.raises(ValueError, match="'word' is no host that is known: use claude-desktop"):
        files_of("word", project)


def test_our_own_file_is_in_the_users_configuration(own_folders):
    assert catalogue_path() == own_folders / "config/toolexec/mcp.json"


@pytest.mark.parametrize(("entry", "shared"), [({}, False), ({"shared": True}, True), ({"shared": False}, False)])
def test_an_entry_says_whether_all_clients_share_its_server(entry, shared):
    config = parse_entry("s", {"command": "x", **entry})
    assert (config.problem, config.shared, config.lost) == (None, shared, ())


def test_what_cannot_be_meant_by_shared_shares_nothing():
    config = parse_entry("s", {"command": "x", "shared": "yes"})
    assert config.problem == "\"shared\" is 'yes': use true or false"

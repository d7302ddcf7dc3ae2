"""``toolexec mcp``: our own file of servers, those of others, and a look at a server itself."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from executor.cli import cli
from executor.mcp import MCPBridge

ROOT = Path(__file__).parents[2]
RAW = [sys.executable, "-S", str(ROOT / "tests" / "mcp" / "raw_server.py")]


@pytest.fixture
def mcp(own_folders):
    """Runs ``toolexec mcp`` with these words; the result has `exit_code`, `stdout` and `stderr`."""

    def run(*words, stdin=""):
        return CliRunner().invoke(cli, ["mcp", *map(str, words)], input=stdin)

    run.path = own_folders / "config" / "toolexec" / "mcp.json"
    run.entries = lambda: json.loads(run.path.read_text())["mcpServers"]
    return run


def test_a_server_is_added_listed_shown_tested_and_removed(mcp):
    assert mcp("add", "raw", "--", *RAW).exit_code == 0
    assert mcp.entries() == {"raw": {"command": RAW[0], "args": RAW[1:]}}
    (row,) = json.loads(mcp("list", "--json").stdout)
    assert (row["name"], row["transport"], row["tools"], row["problem"]) == ("raw", "stdio", None, None)
    told = json.loads(mcp("test", "raw", "--json").stdout)
    assert (told["server"], told["protocol"]) == ("raw 1", "2025-11-25")
    assert "echo" in told["tools"]
    assert "echo" in json.loads(mcp("get", "raw", "--json").stdout)["tools"]
    assert mcp("remove", "raw").exit_code == 0
    assert mcp.entries() == {}


def test_a_server_is_added_with_its_box(mcp):
    assert mcp("add", "raw", "--confine", "read", "--", *RAW).exit_code == 0
    assert mcp.entries()["raw"]["confine"] == "read"


def test_an_option_that_does_not_exist_is_no_program(mcp):
    told = mcp("add", "raw", "--bogus", "read", "--", *RAW)
    assert (told.exit_code, mcp.path.exists()) == (2, False)
    assert "there is no option --bogus" in told.stderr


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (("\udcff", "--", "x"), "a name has"),
        (("a", "--", "x", "\udcff"), "/a/args/0"),
        (("a", "--env", "A=\udcff", "--", "x"), "/a/env/A"),
    ],
)
def test_what_is_no_text_is_refused_with_its_place(mcp, words, path):
    told = mcp("add", *words)
    assert told.exit_code == 2
    assert "has a lone surrogate at character" in told.stderr
    assert path in told.stderr
    assert "codec" not in told.stderr
    assert not mcp.path.exists()


def test_lists_are_tables_for_people(mcp):
    assert "no MCP server is configured" in mcp("list").stderr
    mcp("add", "web", "--url", "https://example.org/mcp")
    mcp("add", "later", "--env", "KEY=${NOT_SET_ANYWHERE}", "--", "x")
    shown = mcp("list")
    assert "https://example.org/mcp" in shown.stdout
    assert "not asked yet" in shown.stdout
    assert "unusable" in shown.stdout
    assert "NOT_SET_ANYWHERE is not set" in shown.stderr
    assert "source:" in mcp("get", "web").stdout


def test_a_server_that_cannot_be_used_is_told_of_by_what_has_to_do_with_it(mcp, run):
    mcp("add", "later", "--env", "KEY=${NOT_SET_ANYWHERE}", "--", "x")
    assert run("call", "echo", "text=hi", "--yes").stderr == ""
    told = "The MCP server 'later'"
    assert told in run("tools", "list").stderr
    called = run("call", "mcp__later__x")
    assert (called.exit_code, called.stderr.count(told)) == (4, 1)


def test_what_is_known_is_shown_before_servers_are_asked_what_they_have(mcp, monkeypatch):
    mcp("add", "known", "--", *RAW)
    mcp("test", "known")
    mcp("add", "gone", "--", "/nowhere/server")
    mcp("add", "new", "--", *RAW)
    seen, ask = [], MCPBridge.listings

    def listings(bridge, servers, timeout):
        sys.stdout.flush()
        seen.append(sys.stdout.buffer.getvalue().decode())
        return ask(bridge, servers, 30)

    monkeypatch.setattr(MCPBridge, "listings", listings)
    result = CliRunner().invoke(cli, ["tools", "list"])
    assert result.exit_code == 0
    (before,) = seen
    assert "runCommand(" in before
    assert "mcp__known__echo(" in before
    assert "mcp__new__echo(" not in before
    assert result.stdout.startswith(before)
    assert [result.stdout.count(f"mcp__{name}__echo(") for name in ("known", "new")] == [1, 1]
    assert result.stderr.count("there is no program '/nowhere/server'") == 1


def test_tools_of_another_plugin_are_listed_without_asking_any_server(mcp, monkeypatch):
    mcp("add", "late", "--", *RAW)
    monkeypatch.setattr(MCPBridge, "listings", lambda *_: pytest.fail("a server was asked"))
    assert "readFile" in CliRunner().invoke(cli, ["tools", "list", "--plugin", "files"]).stdout


def test_a_call_asks_no_server_but_its_own_and_says_once_why_that_could_not_be_started(mcp, monkeypatch):
    mcp("add", "new", "--", *RAW)
    mcp("add", "gone", "--", "/nowhere/server")
    mcp("add", "other", "--", "/nowhere/other")
    call = lambda *words: CliRunner().invoke(cli, ["call", *words])
    monkeypatch.setattr(MCPBridge, "listings", lambda *_: pytest.fail("all servers were asked"))
    assert "127.0.0.1" in call("readFile", "path=/etc/hosts").stdout
    assert json.loads(call("mcp__new__echo", "text=hi", "--yes").stdout)["text"] == "hi"
    gone = call("mcp__gone__echo", "text=hi", "--yes")
    assert gone.exit_code == 4
    assert gone.stderr.count("could not be started") == gone.stderr.count("/nowhere/server") == 1
    assert "warning" not in gone.stderr


def test_a_call_of_a_server_that_nobody_has_names_those_that_could_not_be_asked(mcp):
    mcp("add", "gone", "--", "/nowhere/server")
    nobody = CliRunner().invoke(cli, ["call", "mcp__nobody__echo"])
    assert nobody.exit_code == 2
    assert "The MCP server 'gone' could not be started" in nobody.stderr
    assert "No executor registered for mcp__nobody__echo" in nobody.stderr


def test_options_become_the_entry(mcp):
    mcp("add", "a", "-e", "A=1", "-e", "B=x=y", "--cwd", "/tmp", "--", "npx", "-y", "server", "--flag")
    mcp("add", "b", "--url", "http://h/sse", "--transport", "http", "-H", "Authorization=Bearer ${TOKEN:-}")
    assert mcp.entries() == {
        "a": {"command": "npx", "args": ["-y", "server", "--flag"], "cwd": "/tmp", "env": {"A": "1", "B": "x=y"}},
        "b": {"url": "http://h/sse", "type": "http", "headers": {"Authorization": "Bearer ${TOKEN:-}"}},
    }


def test_json_is_added_from_the_line_and_from_stdin(mcp):
    mcp("add-json", "a", '{"command": "x"}')
    mcp("add-json", "b", "-", stdin='{"url": "http://h"}')
    assert mcp.entries() == {"a": {"command": "x"}, "b": {"url": "http://h"}}
    told = mcp("add-json", "c", '{"command": "x", "Confine": "read"}')
    assert "c: 'Confine' has no effect here" in told.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["add", "a"], "give either a command after -- or a --url"),
        (["add", "a", "--url", "http://h", "--", "x"], "give either"),
        (["add", "a", "-e", "A", "--", "x"], "'A' is no NAME=VALUE"),
        (["add", "a", "-e", "GITHUB_TOKEN=ghp_1", "--", "x"], "looks like a secret in the clear"),
        (["add", "a", "--url", "http://u:hunter2@h"], "user or password"),
        (["add-json", "a", "{"], "line 1"),
        (["add-json", "a", "[]"], "a list, not an object"),
        (["add-json", "a", '{"type": "carrier-pigeon", "url": "http://h"}'], "'carrier-pigeon', which is unknown"),
        (["import", "word"], "neither a file nor one of claude-desktop"),
        (["import", "cursor"], "has no file with servers here"),
        (["get", "none"], "there is no MCP server 'none'; configured: none"),
        (["remove", "none"], "has no server 'none'; it has none"),
        (["test", "none"], "there is no MCP server 'none'"),
        (["login", "none"], "there is no MCP server 'none'"),
        (["add", "a", "--", "x", "--key", "abc123"], "write ${A_KEY}"),
        (["add", "a", "--url", "https://h/mcp?api_key=abc123"], "write ${A_URL}"),
        (["add-json", "a", '{"command": "x", "args": ["postgres://u:hunter2@h/d"]}'], "write ${A_ARG}"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error_and_changes_nothing(mcp, words, problem):
    result = mcp(*words)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert "hunter2" not in result.stderr
    assert not mcp.path.exists()


def test_a_server_of_the_same_name_is_replaced_only_on_request(mcp):
    mcp("add", "a", "--", "x")
    assert "--replace" in mcp("add", "a", "--", "y").stderr
    assert mcp("add", "a", "--replace", "--", "y").exit_code == 0
    assert mcp.entries() == {"a": {"command": "y", "args": []}}


def test_servers_of_another_assistant_are_imported_without_their_secrets(mcp, own_folders):
    theirs = own_folders / "config/Claude/claude_desktop_config.json"
    theirs.parent.mkdir(parents=True)
    servers = {
        "github": {"command": "npx", "args": ["x"], "env": {"GITHUB_TOKEN": "ghp_1234"}},
        "odd": {"type": "carrier-pigeon"},
        "raw": {"command": RAW[0], "args": RAW[1:]},
    }
    theirs.write_text(json.dumps({"mcpServers": servers}))
    before = theirs.read_bytes()
    result = mcp("import", "claude-desktop")
    assert result.exit_code == 0
    assert set(mcp.entries()) == {"github", "raw"}
    assert mcp.entries()["github"]["env"] == {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}
    assert "set GITHUB_TOKEN in the environment" in result.stderr
    assert "odd is left out" in result.stderr
    assert "ghp_1234" not in result.stdout + result.stderr + mcp.path.read_text()
    assert theirs.read_bytes() == before
    assert "which stays" in mcp("import", "claude-desktop", "raw").stderr


def test_our_own_entry_at_another_assistant_is_not_imported_unless_it_is_named(mcp, tmp_path):
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"toolexec": {"command": "toolexec", "args": ["serve"]}, "b": {"command": "y"}}}')
    result = mcp("import", file)
    assert (result.exit_code, list(mcp.entries())) == (0, ["b"])
    assert "toolexec: this is the entry of 'toolexec serve'" in result.stderr
    assert mcp("import", file, "toolexec").exit_code == 0
    assert list(mcp.entries()) == ["b", "toolexec"]


def test_one_server_of_a_file_is_imported(mcp, tmp_path):
    file = tmp_path / "mcp.json"
    file.write_text('{"servers": {"a": {"command": "x"}, "b": {"command": "y"}}}')
    assert mcp("import", file, "b").exit_code == 0
    assert list(mcp.entries()) == ["b"]
    assert "has no server 'c'; it has a, b" in mcp("import", file, "c").stderr


def test_secrets_are_never_shown(mcp, own_folders):
    mcp.path.parent.mkdir(parents=True)
    entry = {
        "command": "x",
        "args": ["--token", "first-secret"],
        "env": {"API_KEY": "second-secret", "PLAIN": "third-secret"},
    }
    mcp.path.write_text(json.dumps({"mcpServers": {"a": entry}}))
    for words in (["list"], ["list", "--json"], ["get", "a"], ["get", "a", "--json"]):
        shown = mcp(*words)
        assert not any(
            value in shown.stdout + shown.stderr for value in ("first-secret", "second-secret", "third-secret")
        )


def test_a_server_that_cannot_be_started_has_its_own_exit_code_and_last_words(mcp):
    mcp("add", "bad", "--", *RAW, "exit")
    result = mcp("test", "bad")
    assert result.exit_code == 4
    assert "cannot find my settings" in result.stderr


def test_a_broken_file_is_named_with_its_line_and_not_overwritten(mcp):
    mcp.path.parent.mkdir(parents=True)
    mcp.path.write_text('{\n "mcpServers": oops\n}')
    assert "line 2" in mcp("list").stderr
    assert mcp("add", "a", "--", "x").exit_code == 2
    assert mcp.path.read_text() == '{\n "mcpServers": oops\n}'


def test_an_added_servers_tools_are_listed_and_called(mcp):
    mcp("add", "raw", "--", *RAW)
    runner = CliRunner()
    assert "mcp__raw__echo" in runner.invoke(cli, ["tools", "list", "--plugin", "mcp"]).stdout
    result = runner.invoke(cli, ["call", "mcp__raw__echo", "text=hello", "--yes", "--json"])
    assert json.loads(result.stdout)["text"] == "hello"


def test_listing_tools_of_ten_known_servers_starts_none_and_is_fast(mcp, own_folders, tmp_path):
    started = tmp_path / "started"
    script = tmp_path / "server.py"
    source = (ROOT / "tests" / "mcp" / "raw_server.py").read_text()
    script.write_text(
        f"open({str(started)!r}, 'a').write('x')\n" + source.replace("from __future__ import annotations", "")
    )
    for number in range(10):
        mcp("add", f"server{number}", "--", sys.executable, "-S", script)
    CliRunner().invoke(cli, ["tools", "list"])
    assert started.read_text() == "x" * 10
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'plugins'}"}
    command = [sys.executable, "-m", "executor", "tools", "list", "--plugin", "mcp"]
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)  # its own work: the machine may be busy
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert shown.stdout.count("mcp__server") == 150
    assert started.read_text() == "x" * 10
    print(f"tools list with 10 servers: {min(times):.2f} s at best, {statistics.median(times):.2f} s in the middle")
    assert min(times) < 1.0, "0.4 s is the aim; far above it something heavy is imported"


def test_what_is_added_means_one_program_wherever_it_is_used(mcp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.py").write_text("")
    mcp("add", "a", "--", "./bin/srv", "${workspaceFolder}/x")
    mcp("add", "b", "--", "python", "server.py")
    mcp("add", "c", "--", "npx", "-y", "@scope/name")
    assert mcp.entries() == {
        "a": {"command": f"{tmp_path}/bin/srv", "args": [f"{tmp_path}/x"]},
        "b": {"command": "python", "args": ["server.py"], "cwd": str(tmp_path)},
        "c": {"command": "npx", "args": ["-y", "@scope/name"]},
    }


def test_an_imported_project_keeps_its_folder_its_restrictions_and_says_what_is_lost(mcp, tmp_path, monkeypatch):
    project = tmp_path / "project"
    (project / ".gemini").mkdir(parents=True)
    servers = {
        "a": {"command": "bin/srv", "excludeTools": ["rm"], "trust": True, "env": {"API_KEY": "one-1"}},
        "b": {"command": "x", "timeout": 5000, "env": {"API_KEY": "two-2", "T": "$TOKEN"}},
        "off": {"command": "x"},
    }
    document = {"mcpServers": servers, "mcp": {"excluded": ["off"]}}
    (project / ".gemini" / "settings.json").write_text(json.dumps(document))
    monkeypatch.chdir(project)
    result = mcp("import", project / ".gemini" / "settings.json")
    assert result.exit_code == 0
    assert mcp.entries() == {
        "a": {
            "command": f"{project}/bin/srv",
            "excludeTools": ["rm"],
            "env": {"API_KEY": "${API_KEY}"},
            "cwd": str(project),
        },
        "b": {"command": "x", "timeout": 5.0, "env": {"API_KEY": "${B_API_KEY}", "T": "${TOKEN}"}, "cwd": str(project)},
    }
    assert "'trust' has no effect here" in result.stderr
    assert "off is left out: it is switched off" in result.stderr


def test_what_came_with_a_project_is_imported_by_its_name_alone_and_in_no_place_of_ones_own(mcp, tmp_path, monkeypatch):
    home, project = tmp_path / "home", tmp_path / "project"
    for folder, servers in ((home, ["a", "b"]), (project, ["b", "c"])):
        (folder / ".cursor").mkdir(parents=True)
        entries = {name: {"command": f"{folder}/{name}"} for name in servers}
        (folder / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": entries}))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    result = mcp("import", "cursor")
    assert result.exit_code == 0
    assert {name: entry["command"] for name, entry in mcp.entries().items()} == {"a": f"{home}/a", "b": f"{home}/b"}
    assert "c: " in result.stderr
    assert "'toolexec mcp import cursor c'" in result.stderr
    assert mcp("import", "cursor", "c").exit_code == 0
    assert mcp.entries()["c"] == {"command": f"{project}/c", "cwd": str(project)}
    monkeypatch.chdir(home)  # whose own file it is
    assert mcp("import", "cursor").exit_code == 0


def test_a_server_that_is_started_here_asks_nobody_to_log_in(mcp):
    mcp("add", "a", "--", "x")
    result = mcp("login", "a")
    assert (result.exit_code, "nobody logs in to it" in result.stderr) == (2, True)
    mcp("add", "b", "--url", "http://127.0.0.1:9/mcp")
    assert "nobody was logged in to b" in mcp("logout", "b").stdout
    result = mcp("login", "b", "--no-browser")
    assert (result.exit_code, "no log-in" in result.stderr) == (4, True)


def test_a_call_of_a_server_that_does_not_start_is_unavailable_and_says_why(mcp):
    mcp("add", "bad", "--", *RAW, "exit")
    result = CliRunner().invoke(cli, ["call", "mcp__bad__echo", "text=x", "--yes"])
    assert result.exit_code == 4
    assert "cannot find my settings" in result.stderr
    assert "No executor registered" not in result.stderr


def test_a_call_waits_for_a_server_that_no_list_waited_for(mcp, own_folders):
    own_folders.joinpath("config/toolexec").mkdir(parents=True, exist_ok=True)
    (own_folders / "config/toolexec/config.toml").write_text("[plugins.mcp]\nlist_timeout = 0.001\n")
    mcp("add", "raw", "--", *RAW)
    result = CliRunner().invoke(cli, ["call", "mcp__raw__echo", "text=hello", "--yes", "--json"])
    assert json.loads(result.stdout)["text"] == "hello"


def test_at_a_terminal_a_server_that_takes_its_time_is_told_of_until_it_is_there(terminal, run, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    assert run("mcp", "add", "slow", "--", "sh", "-c", f"read line < {gate}; exit 3").exit_code == 0
    shown = terminal("mcp", "test", "slow")
    shown.read_until("starting slow …")
    gate.write_text("go on\n")
    assert shown.end() == 4
    assert "\r\x1b[K" in shown.shown

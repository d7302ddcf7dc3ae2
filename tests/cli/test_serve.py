"""``toolexec serve``: the entries for assistants, and what is refused before anything is served."""

from __future__ import annotations

import json
import os
import pickle
import sys
import tomllib

import pytest
from click.testing import CliRunner

from executor import Decision, ToolCall
from executor.cli import _serve_gate, cli
from executor.cli._app import App
from executor.cli._serve import How, _made
from executor.cli._serve_gate import ServeGate

FILES = {
    "claude-desktop": ("config/Claude/claude_desktop_config.json", "mcpServers"),
    "claude-code": (".claude.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": ("config/Code/User/mcp.json", "servers"),
    "lmstudio": (".lmstudio/mcp.json", "mcpServers"),
    "gemini": (".gemini/settings.json", "mcpServers"),
}


@pytest.fixture
def serve():
    """Runs ``toolexec serve`` with these words; the result has `exit_code`, `stdout` and `stderr`."""
    return lambda *words, stdin="": CliRunner().invoke(cli, ["serve", *map(str, words)], input=stdin)


@pytest.mark.parametrize("host", FILES)
def test_an_entry_is_put_into_an_assistants_file_and_taken_out_again(serve, own_folders, host):
    name, key = FILES[host]
    path = own_folders / name
    path.parent.mkdir(parents=True, exist_ok=True)
    before = json.dumps({"theme": "dark", key: {"other": {"command": "x"}}})
    path.write_text(before)
    path.chmod(0o600)
    done = serve("--install", host, "--project", "/somewhere", "--as", "ada", "--tools", "read*", "--yes")
    assert done.exit_code == 0, done.stderr
    told = json.loads(path.read_text())
    entry = told[key]["toolexec"]
    words = [entry["command"], *entry["args"]]
    assert words[words.index("serve") :] == [
        "serve", "--project", "/somewhere", "--as", "ada", "--tools", "read*",
    ]  # fmt: skip
    assert (told["theme"], told[key]["other"]) == ("dark", {"command": "x"})
    assert path.with_name(f"{path.name}.before-toolexec").read_text() == before
    assert path.stat().st_mode & 0o777 == 0o600
    assert '+    "toolexec": {' in done.stderr
    assert serve("--uninstall", host, "--yes").exit_code == 0
    assert json.loads(path.read_text()) == json.loads(before)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_an_assistants_file_that_is_no_regular_one_is_not_waited_for(serve, own_folders):
    path = own_folders / ".cursor" / "mcp.json"
    path.parent.mkdir()
    os.mkfifo(path)
    done = serve("--install", "cursor", "--yes")
    assert (done.exit_code, "no regular file" in done.stderr) == (2, True)


def test_text_that_was_cut_within_a_character_stays_in_an_assistants_file(serve, own_folders):
    path = own_folders / ".claude.json"
    path.write_text('{"history": ["half of \\ud83d", "Grüße 🐟"]}')
    assert serve("--install", "claude-code", "--yes").exit_code == 0
    assert json.loads(path.read_text())["history"] == ["half of \ud83d", "Grüße 🐟"]
    assert "half of \\ud83d" in path.read_text()
    assert "Grüße 🐟" in path.read_text()


def test_an_assistants_file_that_json_cannot_write_stays_as_it_is(serve, own_folders):
    path = own_folders / ".claude.json"
    path.write_text('{"large": 1e400}')
    done = serve("--install", "claude-code", "--yes")
    assert (done.exit_code, path.read_text()) == (2, '{"large": 1e400}')
    assert "it is not plain JSON" in done.stderr


def test_nothing_is_written_without_a_yes_or_where_it_cannot_be_understood(serve, own_folders):
    path = own_folders / ".cursor" / "mcp.json"
    assert serve("--install", "cursor", stdin="n\n").exit_code == 3
    nobody = serve("--install", "cursor", stdin="")
    assert (nobody.exit_code, "run it at a terminal, or give --yes" in nobody.stderr) == (2, True)
    assert not path.exists()
    path.parent.mkdir()
    for text in ('{"mcpServers": {} // mine\n}', "[]", '{"mcpServers": []}'):
        path.write_text(text)
        refused = serve("--install", "cursor", "--yes")
        assert (refused.exit_code, path.read_text()) == (2, text)
        assert "stays as it is" in refused.stderr


def test_a_file_that_does_not_exist_is_made(serve, own_folders):
    assert serve("--install", "cursor", "--yes").exit_code == 0
    assert list(json.loads((own_folders / ".cursor" / "mcp.json").read_text())["mcpServers"]) == ["toolexec"]


def copies(path):
    """The copies that are kept of a file, by the ends of their names."""
    found = sorted(path.parent.glob(f"{path.name}.before-toolexec*"))
    return {each.name.removeprefix(f"{path.name}.before-toolexec"): each.read_text() for each in found}


def test_what_the_user_had_is_kept_whatever_is_installed_afterwards(serve, own_folders):
    path = own_folders / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"theme": "dark"}')
    written = ['{"theme": "dark"}']
    for number in range(12):
        done = serve("--install", "cursor", "--as", f"ada{number}", "--yes")
        assert (done.exit_code, "what else the file says stays" in done.stderr) == (0, True)
        written.append(path.read_text())
    assert serve("--uninstall", "cursor", "--yes").exit_code == 0
    assert copies(path) == dict(zip(["", "-2", "-3", "-4", "-5"], [written[0], *written[-4:]], strict=True))
    assert sorted(each.name for each in path.parent.iterdir() if each.name.startswith(".")) == []


def test_a_copy_that_is_kept_already_is_not_made_again(serve, own_folders):
    path = own_folders / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{\n  "mcpServers": {}\n}\n')
    for _ in range(3):
        assert serve("--install", "cursor", "--yes").exit_code == 0
        assert serve("--uninstall", "cursor", "--yes").exit_code == 0
    assert list(copies(path)) == ["", "-2"]


@pytest.mark.parametrize("host", [*FILES, "codex", "goose"])
def test_the_entry_of_each_assistant_is_printed_in_its_form(serve, host):
    printed = serve("--print-config", host).stdout
    if host == "codex":
        assert "serve" in tomllib.loads(printed)["mcp_servers"]["toolexec"]["args"]
    elif host == "goose":
        assert printed.startswith("extensions:\n  toolexec:\n")
    else:
        assert list(json.loads(printed)[FILES[host][1]]) == ["toolexec"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--install", "codex"), "--print-config codex"),
        (("--install", "nobody"), "no assistant that is known"),
        (("--install", "cursor", "--uninstall", "cursor"), "give one of"),
        (("--uninstall", "cursor"), "no entry toolexec"),
        (("--yes",), "--install"),
        (("--token-file", "x"), "--as NAME"),
        (("--install", "cursor", "--token-file", "x"), "--as NAME"),
        (("--print-config", "cursor", "--http"), "leave --http out"),
        (("--http", "--as", "ada"), "--token-file"),
        (("--connect", "http://127.0.0.1:1/mcp", "--proxy"), "--connect takes"),
        (("--install", "cursor", "--connect", "http://127.0.0.1:1/mcp", "--tools", "x"), "--connect takes"),
        (("--http", "0.0.0.0:1"), "reached by others"),
        (("--http", "a:b"), "HOST:PORT"),
        (("--http", "127.0.0.1:\u00b2"), "HOST:PORT"),
        (("--http", "1", "--project", "/does/not/exist"), "No such file"),
    ],
)
def test_what_cannot_be_meant_is_refused(serve, words, problem):
    refused = serve(*words)
    assert (refused.exit_code, problem in refused.stderr) == (2, True), refused.stderr


def test_a_bridge_needs_a_file_of_tokens_and_a_url_of_this_machine(serve, tmp_path):
    missing = serve("--connect", "http://127.0.0.1:1/mcp")
    assert (missing.exit_code, "'toolexec serve --http' makes it" in missing.stderr) == (4, True)
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ada:{'x' * 20}\n")
    tokens.chmod(0o600)
    refused = serve("--connect", "http://example.org/mcp", "--token-file", tokens)
    assert (refused.exit_code, "in the clear" in refused.stderr) == (2, True)


def test_the_entry_of_a_bridge_says_where(serve):
    printed = json.loads(serve("--print-config", "cursor", "--connect", "http://127.0.0.1:1/mcp", "--as", "ada").stdout)
    words = printed["mcpServers"]["toolexec"]["args"]
    assert words[words.index("serve") + 1 :] == ["--connect", "http://127.0.0.1:1/mcp", "--as", "ada"]


def test_the_entry_starts_this_toolexec_and_not_the_first_one_in_path(serve, monkeypatch, tmp_path):
    other = tmp_path / "toolexec"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    entry = json.loads(serve("--print-config", "cursor").stdout)["mcpServers"]["toolexec"]
    assert os.path.dirname(entry["command"]) == os.path.dirname(sys.executable)


def test_without_a_script_beside_python_no_module_of_the_folder_is_started(serve, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    entry = json.loads(serve("--print-config", "cursor").stdout)["mcpServers"]["toolexec"]
    assert [entry["command"], *entry["args"]] == [sys.executable, "-P", "-m", "executor", "serve"]


def test_a_server_that_a_server_has_started_refuses(serve, monkeypatch):
    monkeypatch.setenv("TOOLEXEC_SERVING", "x")
    refused = serve()
    assert (refused.exit_code, "would serve its tools again" in refused.stderr) == (2, True)


def test_what_is_answered_for_the_session_of_one_server_is_unknown_to_the_next(monkeypatch):
    """Also where both have the same number, as the only process of a container has."""
    gates = []
    monkeypatch.setattr(
        _serve_gate, "ServeGate", lambda *args, **more: gates.append(ServeGate(*args, **more)) or gates[-1]
    )
    for rule in ("act", "other"):
        with App(json_mode=True) as app, _made(app, "ada", How()):
            session = gates[-1].plugin.session
            assert session.status()["allow"] == []
            session.allow(rule)
            assert session.status()["allow"] == [rule]


@pytest.mark.parametrize("sent", [False, True], ids=["in the server", "in the process of a task"])
@pytest.mark.parametrize("ask", ["never", "console", None])
def test_a_call_for_which_a_thread_waits_is_not_told_what_helps_at_a_terminal(sent, ask):
    with App(json_mode=True) as app:
        gate = ServeGate(app.screen, session="s", ask=ask)
        gate = pickle.loads(pickle.dumps(gate)) if sent else gate
        verdict = gate.ask(ToolCall("1", "act"), Decision("ask", "no rule is about it", "default"), None)
    assert not verdict.allowed
    assert _serve_gate.NOBODY.get(ask or "", _serve_gate.NOBODY_ANYWHERE) in verdict.info["reason"]
    assert "--yes" not in verdict.info["reason"]

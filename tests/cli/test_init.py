"""``toolexec init``: what it would do is shown, asked about, and done once."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess

import pytest

SECRET = "ghp_" + "a1B2" * 9
TIME = {"command": "uvx", "args": ["mcp-server-time"]}
OTHERS = {"mcpServers": {"time": TIME, "gh": {"command": "npx", "args": ["x"], "env": {"GITHUB_TOKEN": SECRET}}}}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with two assistants."""
    folder = tmp_path / "home"
    (folder / ".cursor").mkdir(parents=True)
    (folder / ".lmstudio").mkdir()
    (folder / ".lmstudio" / "mcp.json").write_text(json.dumps(OTHERS, indent="\t"))
    monkeypatch.setenv("HOME", str(folder))
    return folder


def config(own_folders, name):
    return json.loads((own_folders / "config" / "toolexec" / name).read_text())


def entries(path):
    return json.loads(path.read_text())["mcpServers"]


def test_all_of_it_at_once_and_nothing_again(home, run, own_folders):
    result = run("init", "--yes")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1].startswith("Done. Now try: toolexec call ")
    assert config(own_folders, "permissions.json")["defaultPolicy"] == "ask"
    assert config(own_folders, "mcp.json")["mcpServers"].keys() == {"time", "gh"}
    assert entries(home / ".cursor" / "mcp.json")["toolexec"]["args"][-1] == "serve"
    assert SECRET not in result.output
    assert SECRET not in json.dumps(config(own_folders, "mcp.json"))
    again = run("init")
    assert (again.exit_code, again.stderr) == (0, "")
    assert again.stdout.startswith("Everything is set up. Now try: ")


def test_what_an_assistant_has_stays_as_it_is_written(home, run):
    path = home / ".lmstudio" / "mcp.json"
    before = path.read_text()
    shown = run("serve", "--install", "lmstudio", "--yes")
    assert "+" in shown.stderr
    assert SECRET not in shown.output
    assert path.read_text().startswith(before.removesuffix("\n\t}\n}"))
    assert run("serve", "--uninstall", "lmstudio", "--yes").exit_code == 0
    assert path.read_text() == f"{before}\n"


def test_without_a_terminal_it_only_shows(home, run, own_folders):
    result = run("init")
    assert result.exit_code == 2
    assert "The MCP servers of lmstudio" in result.stdout
    assert "run it at a terminal, or give --yes" in result.stderr
    assert not (own_folders / "config" / "toolexec" / "permissions.json").exists()
    assert not (home / ".cursor" / "mcp.json").exists()


def test_each_step_is_asked_about(home, terminal, own_folders):
    shown = terminal("init")
    for question, answer in (
        ("Write it? [Y/n]: ", "\n"),
        ("Copy them? [Y/n]: ", "n\n"),
        (f"Write {home}/.cursor/mcp.json? [y/N]: ", "y\n"),
        (f"Write {home}/.lmstudio/mcp.json? [y/N]: ", "\n"),
    ):
        shown.read_until(question)
        shown.type(answer)
    shown.read_until("What you left out can be set up by another 'toolexec init'. Now try:")
    assert shown.end() == 0
    assert config(own_folders, "permissions.json")
    assert not (own_folders / "config" / "toolexec" / "mcp.json").exists()
    assert "toolexec" in entries(home / ".cursor" / "mcp.json")
    assert entries(home / ".lmstudio" / "mcp.json") == OTHERS["mcpServers"]
    assert SECRET not in shown.shown


def test_a_step_that_fails_keeps_no_other_from_being_done(home, run, own_folders):
    (home / ".cursor" / "mcp.json").write_text("{}")
    (home / ".cursor").chmod(0o500)
    broken = home / ".lmstudio" / "mcp.json"
    broken.write_text("{ not JSON")
    try:
        result = run("init", "--yes")
    finally:
        (home / ".cursor").chmod(0o700)
    assert config(own_folders, "permissions.json")
    assert broken.read_text() == "{ not JSON"
    if os.getuid() != 0:
        assert result.exit_code == 1
        assert "cannot be written" in result.stderr


def test_a_step_that_failed_is_counted_and_not_called_done(home, run, own_folders, monkeypatch):
    sync = os.fsync

    def full(descriptor):
        monkeypatch.setattr(os, "fsync", sync)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run("init", "--yes")
    assert result.exit_code == 1
    assert "Traceback" not in result.stderr
    policy = own_folders / "config" / "toolexec" / "permissions.json"
    assert f"warning: {policy} cannot be used: No space left on device" in result.stderr
    assert "of 4 failed: mend what is said above, and run 'toolexec init' again" in result.stderr
    assert "Done" not in result.stdout
    assert "toolexec" in entries(home / ".cursor" / "mcp.json"), "the others are done"


def test_ctrl_c_at_a_question_ends_it(home, terminal):
    shown = terminal("init")
    shown.read_until("Write it? [Y/n]: ")
    while shown.process.returncode is None:  # Python does not see one that comes just before it begins to read
        shown.type("\x03")
        with contextlib.suppress(subprocess.TimeoutExpired):
            shown.process.wait(1)
    assert shown.end() == 130

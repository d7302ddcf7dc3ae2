"""Files of our own that lie where the user says: no tool reads or writes them, in a box or in none."""

from __future__ import annotations

import os
import pickle
import subprocess

import pytest

from executor import JsonLinesLedger, ToolCall
from executor.cli._config import load
from executor.confine import Profile, carried, launcher
from executor.confine._start import trials
from executor.engines._where import Where
from executor.mcp import Tokens
from executor.mcp._sources import configured
from executor.ownfiles import keep_own, kept_own
from executor_permissions import PermissionPlugin

ALLOWING = {"whitelist": {"tools": ["readFile", "writeFile"], "patterns": ["cat *", "tee *", "mv *", "rm *"]}}


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    (folder / "conf").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def config(project, monkeypatch):
    path = project / "conf" / "toolexec.toml"
    path.write_text("default_timeout = 3\n")
    monkeypatch.setenv("TOOLEXEC_CONFIG", str(path))
    assert load().default_timeout == 3
    return path


def config_of_others(project, monkeypatch):
    path = project / "conf" / "toolexec.toml"
    monkeypatch.setenv("TOOLEXEC_CONFIG", str(path))
    return path


def ledger(project, _):
    return JsonLinesLedger(project / "audit.jsonl").path


def old_ledger(project, _):
    return JsonLinesLedger(project / "audit.jsonl", backups=2).path.with_suffix(".jsonl.2")


def tokens(project, _):
    Tokens.of_file(project / "tokens")
    return project / "tokens"


def servers(project, _):
    (project / ".mcp.json").write_text('{"mcpServers": {}}')
    configured({"files": [str(project / ".mcp.json")], "catalogue": False})
    return project / ".mcp.json"


def key(project, _):
    Where("tls://h:1", ca="/etc/ssl/ca.pem", cert=str(project / "cert.pem"), key=str(project / "key.pem"))
    return project / "key.pem"


def linked(project, _):
    (project / "link").symlink_to("conf/file")
    keep_own(project / "link")
    return project / "conf" / "file"


WAYS = [config, config_of_others, ledger, old_ledger, tokens, servers, key, linked]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("early", [True, False])
def test_no_call_reads_or_writes_it_whenever_the_policy_was_loaded(project, monkeypatch, way, early):
    if early:
        path = str(way(project, monkeypatch))
        plugin = PermissionPlugin(policy=ALLOWING, project_root=project, home=project.parent)
    else:
        plugin = PermissionPlugin(policy=ALLOWING, project_root=project, home=project.parent)
        plugin.session.allow("ls")
        path = str(way(project, monkeypatch))
    if way is config_of_others and not early:
        pytest.skip("the variable is of this process's own environment, and was changed meanwhile")
    elsewhere = pickle.loads(pickle.dumps(plugin))
    for one in (plugin, elsewhere):
        assert verdict(one, "readFile", path=str(project / "other")) == "allow"
        assert verdict(one, "readFile", path=path) == "deny"
        assert verdict(one, "writeFile", path=os.path.relpath(path, project)) == "deny"
        assert verdict(one, "runCommand", command=f"cat {path}") == "deny"
        assert verdict(one, "runCommand", command=f"echo | tee -a {path}") == "deny"
    if not early:
        assert plugin.session.status()["allow"] == ["ls"]


def verdict(plugin, tool, **arguments):
    return plugin.decide(ToolCall("1", tool, arguments)).verdict


@pytest.mark.parametrize("mechanism", ["landlock", "bubblewrap"])
def test_no_command_in_a_box_reads_or_writes_it(project, monkeypatch, mechanism):
    if problem := trials.problem(mechanism):
        pytest.skip(problem)
    path = config(project, monkeypatch)
    for line in (
        "cat conf/toolexec.toml",
        "echo '[plugins]' >> conf/toolexec.toml",
        "rm -f conf/toolexec.toml",
        "mv conf/toolexec.toml x",
        "mv conf other && mkdir conf && echo > conf/toolexec.toml",
        "rm -rf conf",
    ):
        name = "project" if mechanism == "bubblewrap" else "read"
        inside = launcher(
            Profile(name, str(project), unreadable=(), unwritable=(), writable=(), credentials=(), env=())
        )
        command, env = [*inside, "sh", "-c", line], carried(os.environ)
        done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)
        assert "default_timeout" not in done.stdout, line
        assert done.returncode != 0, line
        assert path.read_text() == "default_timeout = 3\n", line


def test_a_file_that_is_kept_already_costs_nothing_more(project):
    keep_own(project / "a")
    before = kept_own()
    keep_own(project / "a", str(project / "a"))
    assert kept_own() == before >= {str(project / "a")}

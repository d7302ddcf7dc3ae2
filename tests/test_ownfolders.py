"""Where toolexec keeps what is its own, also for a user whom no system knows."""

from __future__ import annotations

import os
import pwd
import stat
import sys
from pathlib import Path

import platformdirs
import pytest

from executor import JsonLinesLedger, PluginRegistry, ToolExecutor
from executor.confine._folders import _private
from executor.confine._places import Places
from executor.mcp._catalogue import Catalogue
from executor.mcp._config import ServerConfig
from executor.mcp._oauth import Storage
from executor.ownfolders import home_folder, own_folder
from executor_permissions import PermissionPlugin
from executor_permissions.commands._edit import _change
from executor_permissions.store._private import private_folder

KINDS = ("config", "state", "data", "cache")


def _refuse(*_, **__):
    raise RuntimeError("could not determine the home directory")


@pytest.fixture(params=["refused", "left as it is"])
def homeless(request, tmp_path, monkeypatch):
    """Neither the environment nor the system names a home; newer platformdirs refuse then, older ones do not."""

    def unknown(_):
        raise KeyError

    def refuse(*_, **__):  # who is not root may make no folder below the root
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.delenv("HOME")
    for kind in KINDS:
        monkeypatch.delenv(f"XDG_{kind.upper()}_HOME", raising=False)
        found = _refuse if request.param == "refused" else lambda *_, kind=kind, **__: Path(f"~/.{kind}/toolexec")
        monkeypatch.setattr(platformdirs, f"user_{kind}_path", found)
        monkeypatch.setattr(platformdirs, f"user_{kind}_dir", _refuse)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "mkdir", refuse)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_own_folders_are_those_of_platformdirs(kind):
    assert own_folder(kind) == getattr(platformdirs, f"user_{kind}_path")("toolexec", appauthor=False)


def test_who_has_no_home_has_own_folders_from_the_root_on_as_boxes_have_them(homeless):
    assert home_folder() == Path("/")
    assert [str(own_folder(kind)) for kind in KINDS] == [f"{getattr(Places.now(), kind)}/toolexec" for kind in KINDS]
    assert not list(homeless.iterdir())


def test_who_has_no_home_has_calls_and_tasks_all_the_same(homeless):
    with PluginRegistry(entry_points=False) as registry:
        registry.expose_all({"shell": {"threshold": 0}})
        with ToolExecutor(registry=registry) as executor:
            ok, told = executor.execute("runCommand", {"command": "echo one"})
            assert ok
            assert executor.tasks.wait(told["task_id"]).status == "completed"
            ok, result = executor.tasks.result(told["task_id"])
            assert ok
            assert result["stdout"] == "one\n"


def test_a_policy_holds_for_who_has_no_home(homeless):
    plugin = PermissionPlugin(policy={"whitelist": {"patterns": ["ls *"]}})
    with ToolExecutor(permission_plugin=plugin) as executor:
        executor.register("run", lambda _: "ran", argument_kinds={"command": "shell"})
        assert executor.execute("run", {"command": "ls x"}) == (True, "ran")


def keep_record(below):
    JsonLinesLedger(below / "records" / "ledger.jsonl").record("stage", {})


def keep_token(below):
    os.environ["XDG_DATA_HOME"] = str(below)
    Storage(ServerConfig(name="s", url="https://s.invalid")).keep(a=1)


def keep_server(below):
    Catalogue(below / "config" / "mcp.json").put({"time": {"command": "true"}})


def make_channel(below):
    assert private_folder(below / "channel") is None


def make_box(below):
    _private(str(below / "boxes"))


def make_policy(below):
    os.environ["TOOLEXEC_PERMISSIONS"] = str(below / "config" / "permissions.json")
    _change(lambda content: bool(content.update(defaultPolicy="ask")) or True, ())


@pytest.mark.skipif(sys.platform == "win32", reason="modes are another thing there")
@pytest.mark.parametrize("umask", [0o000, 0o777], ids=oct)
@pytest.mark.parametrize("made", [keep_record, keep_token, keep_server, make_channel, make_box, make_policy])
def test_nobody_else_comes_into_a_folder_above_ours_whatever_the_umask(tmp_path, monkeypatch, made, umask):
    for name in ("TOOLEXEC_PERMISSIONS", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, "")  # and as it was again afterwards
    before = os.umask(umask)
    try:
        made(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    folders = [path for path in tmp_path.rglob("*") if path.is_dir()]
    assert len(folders) >= 3
    assert {oct(stat.S_IMODE(path.stat().st_mode)) for path in folders} == {"0o700"}

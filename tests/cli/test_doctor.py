"""``toolexec doctor``."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shlex
import sqlite3
import sys
from types import SimpleNamespace

import pytest

from executor.cli._doctor import ANOTHER_DISK
from executor.cli._render import Screen


@pytest.fixture
def findings(run_json):
    """The findings by what was looked at."""
    return lambda: {finding["check"]: finding for finding in run_json("doctor")["findings"]}


@pytest.fixture
def found(run):
    """The same where something is broken."""

    def look():
        result = run("doctor", "--json")
        assert result.exit_code == 1
        return {finding["check"]: finding for finding in json.loads(result.stdout)["findings"]}

    return look


def test_healthy_machine_ends_with_0(run, findings):
    assert run("doctor").exit_code == 0
    found = findings()
    assert {
        "python",
        "toolexec",
        "pluggy",
        "plugins",
        "state folder",
        "config folder",
        "shell",
        "sqlite",
    } <= found.keys()
    assert all(finding["status"] != "broken" for finding in found.values())


def test_broken_plugin_ends_with_1_and_says_what_to_do(run, add_plugin):
    add_plugin("broken", "raise RuntimeError('no luck')\n")
    result = run("doctor")
    assert result.exit_code == 1
    assert "no luck" in result.stdout
    assert 'blocked = ["broken"]' in result.stdout


def test_who_takes_the_name_of_a_plugin_is_told_apart_from_it(run, add_plugin):
    add_plugin("permissions", "")
    result = run("doctor")
    assert result.exit_code == 1
    assert "uninstall cli_test_permissions" in result.stdout
    assert "blocked = " not in result.stdout
    assert "The plugin 'permissions' of cli_test_permissions failed (load)" in run("tools", "list").stderr


def test_broken_configuration_does_not_end_the_examination(run, monkeypatch):
    monkeypatch.setenv("TOOLEXEC_CONFIG", "/nowhere/config.toml")
    result = run("doctor")
    assert result.exit_code == 1
    assert "/nowhere/config.toml" in result.stdout
    assert "sqlite" in result.stdout


def test_strict_mode_does_not_end_the_examination(run, add_plugin, monkeypatch):
    add_plugin("broken", "raise RuntimeError('no luck')\n")
    monkeypatch.setenv("TOOLEXEC_STRICT", "1")
    result = run("doctor")
    assert (result.exit_code, "TOOLEXEC_STRICT" in result.stdout, "sqlite" in result.stdout) == (1, True, True)


def test_strict_mode_tells_of_a_configuration_that_a_plugin_refuses(run, tmp_path, monkeypatch):
    (tmp_path / "config.toml").write_text("[plugins.shell]\nthresold = 1\n")
    monkeypatch.setenv("TOOLEXEC_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("TOOLEXEC_STRICT", "1")
    examined = run("doctor")
    assert (examined.exit_code, "plugin shell" in examined.stdout, "sqlite" in examined.stdout) == (1, True, True)
    for words in (("tools", "list"), ("call", "echo", "text=a")):
        result = run(*words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("error: the plugin 'shell' failed (configure): ValueError: executor_shell: ")
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("mode", "status"), [(0o700, "ok"), (0o755, "warning"), (0o777, "broken")])
def test_folder_that_others_can_reach_is_found(run, own_folders, mode, status):
    folder = own_folders / "state" / "toolexec"
    folder.mkdir(parents=True)
    folder.chmod(mode)
    told = json.loads(run("doctor", "--json").stdout)
    finding = next(finding for finding in told["findings"] if finding["check"] == "state folder")
    assert finding["status"] == status
    assert told["broken"] is (status == "broken")
    assert finding["do"] == ("" if status == "ok" else f"chmod 700 {folder}")


def test_file_in_place_of_a_folder_is_found(run, own_folders):
    (own_folders / "state").mkdir()
    (own_folders / "state" / "toolexec").write_text("")
    assert run("doctor").exit_code == 1


def test_missing_shell_is_found(run, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run("doctor")
    assert (result.exit_code, "install bash" in result.stdout) == (1, True)


def test_what_the_author_of_a_plugin_should_know_is_a_warning(run_json, run, add_plugin):
    add_plugin("odd", "from executor import hookimpl\n@hookimpl\ndef executor_register_tolls(register):\n    pass\n")
    findings = run_json("doctor")["findings"]
    (told,) = [finding for finding in findings if finding["check"] == "plugin odd"]
    assert told["status"] == "warning"
    assert "executor_register_tolls" in told["found"]
    assert "odd: it implements executor_register_tolls" in run("plugins", "list").stderr


def test_a_row_is_one_line_whatever_is_in_its_cells(capsys):
    Screen().table(("status", "found"), [("ok", "one\ntwo"), ("broken", "three")])
    assert capsys.readouterr().out == "status  found\nok      one two\nbroken  three\n"


@pytest.mark.parametrize("target", ["/nowhere/at/all", "toolexec"])
def test_a_link_to_nowhere_in_place_of_a_folder_is_found(found, own_folders, target):
    (own_folders / "state").mkdir()
    (own_folders / "state" / "toolexec").symlink_to(target)
    finding = found()["state folder"]
    assert finding["status"] == "broken"
    assert target in finding["found"]


@pytest.mark.parametrize("name", ["output", "owners"])
def test_a_file_in_place_of_a_folder_of_the_tasks_is_found(found, own_folders, name):
    folder = own_folders / "state" / "toolexec"
    folder.mkdir(parents=True, mode=0o700)
    (folder / name).write_text("")
    assert found()[f"{name} of tasks"]["status"] == "broken"


def test_a_store_that_is_a_link_to_nowhere_is_found(found, own_folders):
    folder = own_folders / "state" / "toolexec"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "tasks.db").symlink_to("/nowhere/at/all")
    assert found()["tasks"]["status"] == "broken"


def test_a_disk_on_which_nothing_can_be_written_is_found(found, own_folders, monkeypatch):
    def fsync(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (own_folders / "state" / "toolexec").mkdir(parents=True, mode=0o700)
    monkeypatch.setattr("executor.cli._doctor.os.fsync", fsync)
    finding = found()["state folder"]
    assert (finding["status"], finding["do"]) == ("broken", "free some space")


@pytest.mark.skipif(sys.platform == "win32", reason="its disks do not say so")
def test_no_mode_is_advised_where_the_disk_is_read_only(found, own_folders, monkeypatch):
    (own_folders / "state" / "toolexec").mkdir(parents=True, mode=0o700)
    (own_folders / "config").mkdir(exist_ok=True)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    monkeypatch.setattr("os.statvfs", lambda path: SimpleNamespace(f_flag=os.ST_RDONLY))
    told = found()
    assert {told[check]["do"] for check in ("state folder", "config folder")} == {ANOTHER_DISK}


def test_a_database_of_another_program_is_found_and_left_as_it_is(found, own_folders):
    folder = own_folders / "state" / "toolexec"
    folder.mkdir(parents=True, mode=0o700)
    with contextlib.closing(sqlite3.connect(folder / "tasks.db")) as connection:
        connection.execute("CREATE TABLE recipe (title)")
    before = (folder / "tasks.db").read_bytes()
    finding = found()["tasks"]
    assert finding["status"] == "broken"
    assert "another program" in finding["found"]
    assert (folder / "tasks.db").read_bytes() == before


def test_what_the_system_refuses_does_not_end_the_examination(found, own_folders, monkeypatch):
    folder = own_folders / "state" / "toolexec"
    folder.mkdir(parents=True)
    folder.chmod(0o755)

    def refused(_session):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder / "permissions"))

    monkeypatch.setattr("executor.cli._policy.make_plugin", refused)
    told = found()
    assert told["permissions"] == {
        "check": "permissions",
        "status": "broken",
        "found": f"{folder / 'permissions'} cannot be used: {os.strerror(errno.EACCES)}",
        "do": f"chmod 700 {folder}",
    }
    assert told["sqlite"]["status"] == "ok"


def test_what_is_to_be_pasted_is_spelt_for_a_shell(run_json, own_folders, monkeypatch):
    policy = own_folders / "it's mine; $(touch x)" / "-p.json"
    policy.parent.mkdir()
    policy.write_text('{"version": "1.2"}')
    policy.chmod(0o644)
    monkeypatch.chdir(policy.parent)
    monkeypatch.setenv("TOOLEXEC_PERMISSIONS", policy.name)
    (told,) = [finding for finding in run_json("doctor")["findings"] if finding["check"] == "permissions"]
    assert shlex.split(told["do"]) == ["chmod", "600", str(policy)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize(("owner", "mode", "do"), [(1234, 0o600, "chown"), (0, 0o644, "chmod 600")])
def test_a_policy_of_another_user_is_found(run, own_folders, monkeypatch, owner, mode, do):
    policy = own_folders / "policy.json"
    policy.write_text('{"version": "1.2"}')
    policy.chmod(mode)
    os.chown(policy, owner, -1)
    monkeypatch.setenv("TOOLEXEC_PERMISSIONS", str(policy))
    result = run("doctor", "--json")
    (told,) = [one for one in json.loads(result.stdout)["findings"] if one["check"] == "permissions"]
    assert (do in told["do"], result.exit_code) == (True, int(owner != 0))


def test_a_file_in_place_of_a_folder_above_is_told_as_that(found, own_folders, monkeypatch):
    (own_folders / "file").write_text("")
    monkeypatch.setenv("TOOLEXEC_CONFIG", str(own_folders / "file" / "below" / "config.toml"))
    told = found()["config folder"]
    assert (told["status"], told["do"]) == ("broken", f"move {own_folders / 'file'} away")

"""``toolexec call … --engine dask --detach``, and what the commands of tasks make of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from .conftest import environment

SECONDS = 60.0


@pytest.fixture
def toolexec(own_folders, cluster):
    """Runs the command with the common cluster in its configuration."""
    folder = own_folders / "config" / "toolexec"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(f'[engine]\nname = "dask"\naddress = "{cluster.address}"\n')

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "executor", *words],
            capture_output=True,
            text=True,
            env={**environment(), **{key: value for key, value in os.environ.items() if key.startswith("XDG_")}},
            timeout=SECONDS,
            check=False,
        )

    return run


def test_a_detached_call_is_on_the_cluster_and_any_command_finds_it(toolexec):
    left = toolexec(
        "call", "runCommand", "command=echo to stdout; sleep 0.3; echo again", "--yes", "--engine", "dask", "--detach"
    )
    assert left.returncode == 7, left.stderr
    task_id = left.stdout.strip()
    ended = toolexec("tasks", "wait", task_id)
    assert ended.returncode == 0, ended.stderr
    shown = json.loads(toolexec("tasks", "show", task_id, "--json").stdout)
    assert shown["status"] == "completed"
    assert toolexec("tasks", "output", task_id).stdout == "to stdout\nagain\n"


def test_a_detached_call_is_cancelled_from_another_process(toolexec):
    left = toolexec("call", "runCommand", "command=sleep 100", "--yes", "--engine", "dask", "--detach")
    task_id = left.stdout.strip()
    assert toolexec("tasks", "cancel", task_id).returncode == 0
    assert json.loads(toolexec("tasks", "show", task_id, "--json").stdout)["status"] == "cancelled"


def test_an_engine_goes_with_detach(toolexec):
    told = toolexec("call", "echo", "text=a", "--engine", "dask")
    assert told.returncode == 2
    assert "--engine goes with --detach" in told.stderr


def test_without_a_cluster_in_the_configuration_it_says_what_to_write(toolexec, own_folders):
    (own_folders / "config" / "toolexec" / "config.toml").write_text("")
    told = toolexec("call", "echo", "text=a", "--engine", "dask", "--detach")
    assert told.returncode == 2
    assert "[engine]" in told.stderr


def test_doctor_warns_of_a_scheduler_without_tls(toolexec):
    findings = {each["check"]: each for each in json.loads(toolexec("doctor", "--json").stdout)["findings"]}
    assert findings["engine"]["status"] == "warning"
    assert "every user of this machine" in findings["engine"]["found"]


def test_doctor_finds_a_cluster_that_is_not_there(toolexec, own_folders):
    (own_folders / "config" / "toolexec" / "config.toml").write_text('[engine]\naddress = "tcp://127.0.0.1:9"\n')
    findings = {each["check"]: each for each in json.loads(toolexec("doctor", "--json").stdout)["findings"]}
    assert findings["engine"]["status"] == "broken"

"""A machine on which no box can be had: never silently open, and everything else goes on."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REFUSE = [sys.executable, str(Path(__file__).with_name("refuse.py")), str(ROOT), "landlock,namespaces"]
pytestmark = pytest.mark.usefixtures("landlock", "bubblewrap")  # elsewhere it is every test that shows it


def environment(**more):
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'plugins'}", "NO_COLOR": "1", **more}


def toolexec(*words, cwd, policy=None, **more):
    env = environment(**({"TOOLEXEC_PERMISSIONS": str(policy)} if policy is not None else {}))
    command = [*REFUSE, sys.executable, "-m", "executor", *words]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=60, **more)


@pytest.fixture
def policy(tmp_path):
    """A policy that allows every command: ``policy(require)``."""

    def write(require):
        path = tmp_path / "permissions.json"
        told = {"version": "1.2", "whitelist": {"tools": ["runCommand"]}, "confine": {"require": require}}
        path.write_text(json.dumps({**told, "channel": {"type": "none"}}))
        return path

    return write


def warnings_in(text):
    return re.findall(r"Commands in the box '(\w+)' are not kept from everything", text)


def test_the_first_command_of_the_readme_works_with_one_warning(tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    call = re.search(r"^TOOLEXEC_PERMISSIONS=.*?^```$", readme, re.MULTILINE | re.DOTALL)[0].removesuffix("```")
    shutil.copy(ROOT / "permissions.example.json", tmp_path)
    line = call.replace(".venv/bin/toolexec", f"{sys.executable} -m executor")
    command = [*REFUSE, "bash", "-c", line]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^\d\d:\d\d:\d\d$", done.stdout + done.stderr, re.MULTILINE)) >= 4
    assert len(warnings_in(done.stderr)) == 1


def test_what_is_open_stands_in_the_result(tmp_path, policy):
    done = toolexec("call", "runCommand", "command=touch canary", "--json", cwd=tmp_path, policy=policy(require=False))
    told = json.loads(done.stdout)["confined"]
    assert (told["profile"], told["box"], told["open"]) == ("project", "none", ["everything"])
    assert told["reason"]
    assert warnings_in(done.stderr) == ["project"]
    assert (tmp_path / "canary").exists()


def test_a_box_that_is_required_is_asked_about_and_without_an_answer_nothing_runs(tmp_path, policy):
    done = toolexec("call", "runCommand", "command=touch canary", "--json", cwd=tmp_path, policy=policy(require=True))
    assert done.returncode != 0
    assert "requires a box" in done.stdout + done.stderr
    assert not (tmp_path / "canary").exists()


def test_who_is_asked_is_told_why_and_may_allow_it(tmp_path):
    script = """
import json, sys
from executor import PluginRegistry, ToolExecutor
from executor_permissions import PermissionPlugin
asked = []
def answer(approval):
    asked.append(str(approval))
    return "yes"
policy = {"version": "1.2", "whitelist": {"tools": ["runCommand"]}, "confine": {"require": True}}
plugin = PermissionPlugin(policy=policy, project_root=sys.argv[1], state_dir=sys.argv[1] + "/state", channel=answer)
registry = PluginRegistry()
registry.expose_all()
with ToolExecutor(permission_plugin=plugin, registry=registry) as executor:
    ok, told = executor.execute("runCommand", {"command": "touch canary", "cwd": sys.argv[1]})
print(json.dumps([ok, asked]))
"""
    command = [*REFUSE, sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=60)
    ok, asked = json.loads(done.stdout)
    assert ok, (asked, done.stderr)
    assert len(asked) == 1
    assert "requires a box" in asked[0]
    assert (tmp_path / "canary").exists()


def test_doctor_and_a_dry_run_say_it(tmp_path, policy):
    words = ("permissions", "check", "runCommand", "command=ls", "--json")
    told = json.loads(toolexec(*words, cwd=tmp_path, policy=policy(require=False)).stdout)["confine"]
    assert (told["box"], told["open"]) == ("none", ["everything"])
    found = json.loads(toolexec("doctor", "--json", cwd=tmp_path).stdout)["findings"]
    boxes = next(each for each in found if each["check"] == "boxes")
    assert boxes["status"] != "ok"
    assert "no box; not held: everything" in boxes["found"]


def test_a_box_to_try_says_that_it_is_none(tmp_path):
    done = toolexec("confine", "read", "--", "echo", "hi", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "hi\n")
    assert "not" in done.stderr
    assert "everything" in done.stderr


def test_an_mcp_server_that_is_to_be_in_a_box_is_started_with_one_warning(tmp_path):
    script = """
import sys
from executor.mcp import MCPBridge
entry = {"command": sys.executable, "args": ["-S", sys.argv[1]], "confine": "read"}
bridge = MCPBridge({"a": entry, "b": entry}, cache=None)
print([bool(bridge.call_tool(name, "environment")) for name in ("a", "b")])
bridge.close()
"""
    command = [*REFUSE, sys.executable, "-c", script, str(ROOT / "tests" / "mcp" / "raw_server.py")]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[True, True]\n"
    assert warnings_in(done.stderr) == ["read"]

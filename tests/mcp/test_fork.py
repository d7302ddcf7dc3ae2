"""A bridge in the child of a fork: its servers are others, and those of the parent go on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def test_a_forked_child_has_servers_of_its_own_and_leaves_the_parents_alone(bridge_to, raw):
    bridge = bridge_to({"s": raw()})
    bridge.call_tool("s", "echo", {"text": "parent"})
    pid = bridge.status()["s"].pid
    child = os.fork()
    if child == 0:
        code = 2
        try:
            answer = bridge.call_tool("s", "echo", {"text": "child"}, timeout=20)
            own = bridge.status()["s"].pid
            bridge.close()
            code = 0 if "child" in str(answer) and own != pid else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert "again" in str(bridge.call_tool("s", "echo", {"text": "again"}, timeout=20))
    assert (bridge.status()["s"].pid, bridge.status()["s"].starts) == (pid, 1)


def test_the_end_of_a_forked_child_ends_no_server_of_the_parent(raw):
    program = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from executor.mcp import MCPBridge
bridge = MCPBridge({{"s": {raw()!r}}}, cache=None)
bridge.call_tool("s", "echo", {{"text": "parent"}})
pid = bridge.status()["s"].pid
child = os.fork()
if child == 0:
    sys.exit(7)  # the interpreter is taken down in full, with all that it inherited
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
bridge.call_tool("s", "echo", {{"text": "again"}}, timeout=20)
print(code, bridge.status()["s"].pid == pid, bridge.status()["s"].starts)
bridge.close()
"""
    shown = subprocess.run(
        [sys.executable, "-W", "ignore:This process", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (shown.stdout.strip(), shown.stderr) == ("7 True 1", "")

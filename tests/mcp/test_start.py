"""The start of a server: its program, and beside that the import of the SDK."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest
from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS, get_default_environment

from executor.mcp import ServerConfig, _child
from executor.mcp._lifetime import Lifetime

SECONDS = 60.0
CALL = """
import sys
from executor.errors import BackendUnavailableError
from executor.mcp import MCPBridge

BEFORE
with MCPBridge({"s": {"command": sys.executable, "args": sys.argv[1:]}}, cache=None) as bridge:
    for _ in range(2):
        try:
            print(bridge.call_tool("s", "plain", {"text": "x"}).content[0].text)
        except BackendUnavailableError as error:
            print(error.started, error)
"""
# Importing the SDK waits until the server has said that it runs.
WAITS = """
class Waits:
    def find_spec(self, name, path=None, target=None):
        if name == "mcp.types":
            open(sys.argv[1]).read()
sys.meta_path.insert(0, Waits())
"""


def called(before, *args, **variables):
    """What a process prints that makes two calls, in which *before* was done first."""
    code = CALL.replace("BEFORE", before)
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, args)],
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_program_starts_while_the_sdk_is_imported(tmp_path, small_server):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    server = tmp_path / "server.py"
    # The first start tells of itself, and then is the small server.
    server.write_text(
        "import runpy, sys\n"
        "open(sys.argv[0].replace('server.py', 'fifo'), 'w').close()\n"
        f"runpy.run_path({small_server['args'][0]!r}, run_name='__main__')\n"
    )
    assert called(WAITS.replace("sys.argv[1]", repr(str(fifo))), server) == ["x", "x"]


def test_without_the_package_mcp_no_program_is_started_and_the_error_says_what_to_do(tmp_path):
    marker = tmp_path / "marker"
    lines = called("sys.modules['mcp'] = None", "-c", f"open({str(marker)!r}, 'w')")
    assert len(lines) == 2
    assert all(line.startswith("False ") and "pip install 'mcp>=2.3,<3'" in line for line in lines)
    assert not marker.exists()


def test_with_a_package_mcp_that_cannot_be_imported_the_program_is_ended(tmp_path):
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("raise RuntimeError('half of it is missing')")
    pids = tmp_path / "pids"
    before = f"sys.path.insert(0, {str(tmp_path)!r})"
    program = f"import os, sys; print(os.getpid(), file=open({str(pids)!r}, 'a')); sys.stdin.read()"
    for line in called(before, "-c", program):
        assert line.startswith("False The package mcp cannot be imported (half of it is missing)"), line
    for pid in pids.read_text().split() if pids.exists() else ():  # one may have been ended before it wrote
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


class Deaf:
    """Whom nothing is told."""

    def offers(self, listing, problem):
        raise AssertionError("it was asked")

    changed = asks = logs = offers


@pytest.mark.parametrize(
    ("wanted", "words"), [(True, "it was stopped while it started"), (False, "it ended, or closed")]
)
def test_a_lifetime_that_is_over_before_the_sdk_is_there_asks_nothing(monkeypatch, small_server, wanted, words):
    started = []
    enter = _child.Program.__aenter__

    async def entered(program):
        await enter(program)
        started.append(program.pid)
        life.end(wanted=wanted)
        return program

    async def lived():
        nonlocal life
        life = Lifetime(ServerConfig("s", command=small_server["command"], args=tuple(small_server["args"])), Deaf())
        await life.run(None)
        return life.ready.exception()

    life = None
    monkeypatch.setattr(_child.Program, "__aenter__", entered)
    error = asyncio.run(lived())
    assert words in str(error)
    assert (life.pid, len(started)) == (None, 1)
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)


def test_a_server_inherits_what_the_sdk_lets_it_inherit(monkeypatch):
    monkeypatch.setenv("TERM", "() { echo; }")
    assert tuple(DEFAULT_INHERITED_ENV_VARS) == _child.INHERITED
    assert _child._inherited() == get_default_environment()

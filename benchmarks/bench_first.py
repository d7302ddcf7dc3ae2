"""
The first call of an MCP tool, from a shell: a new process, a server that has to be started, a warm disk.

Beside it the least that a program with the SDK can do for the same answer: import it, start the server, call the tool.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import _common as common

SERVER = common.ROOT / "tests" / "mcp" / "server.py"
BARE = """
import asyncio, sys
from mcp import Client, StdioServerParameters

async def main():
    async with Client(StdioServerParameters(command=sys.executable, args=sys.argv[1:])) as client:
        print((await client.call_tool("plain", {"text": "x"})).content[0].text)

asyncio.run(main())
"""
MORE = 0.15  # seconds above the bare SDK


def answered(command: list[str], variables: dict[str, str]) -> None:
    """
    Run *command* to its end.

    Raises:
        AssertionError: What would be measured is a failure.
    """
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "x" in done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        variables = {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home, "XDG_STATE_HOME": home}
        own = [sys.executable, "-m", "executor"]
        paths = os.pathsep.join([str(common.ROOT), str(common.ROOT / "plugins"), os.environ.get("PYTHONPATH", "")])
        variables["PYTHONPATH"] = paths.rstrip(os.pathsep)
        answered([*own, "mcp", "add", "x", "--", sys.executable, str(SERVER)], variables)
        ours = [*own, "call", "--yes", "mcp__x__plain", "text=x"]
        bare = [sys.executable, "-c", BARE, str(SERVER)]
        times = common.rounds(15, fast=5)
        for command in (ours, bare) if times > 1 else ():
            answered(command, variables)  # lists the tools, and writes the bytecode
        taken, least = common.medians(
            common.per_call(lambda: answered(ours, variables)),
            common.per_call(lambda: answered(bare, variables)),
            times=times,
        )
    more = taken - least
    common.row(
        "the first call of an MCP tool, `toolexec call`",
        f"{more * 1e3:+.0f} ms",
        f"bare SDK: {least:.2f} s; whole: {taken:.2f} s",
        f"+{MORE * 1e3:.0f} ms",
        holds=more <= MORE,
    )


if __name__ == "__main__":
    main()

"""
An assistant for the tests of the console: makes the calls that it is given as lines of JSON, and prints their results.

``{"id", "tool", "args", "context"?, "detach"?}`` is answered by ``{"id", "kind", "content"}``, or ``{"id", "task"}``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import console_tools

from executor import JsonLinesLedger, PluginRegistry, ToolCall, ToolExecutor
from executor_permissions import PermissionPlugin


def say(**told):
    os.write(1, json.dumps(told).encode() + b"\n")  # whole, whoever else writes


def main():
    registry = PluginRegistry(entry_points=False)
    registry.register(console_tools, "console_tools")
    registry.expose_all({})
    ledger = JsonLinesLedger(Path(os.environ["XDG_CONFIG_HOME"]) / "toolexec" / "calls.jsonl")
    gate = PermissionPlugin(terminal=False, always="project")
    with ToolExecutor(ledger, registry=registry, permission_plugin=gate) as executor:
        for line in sys.stdin:
            told = json.loads(line)
            call = ToolCall(told["id"], told["tool"], told.get("args", {}))
            if told.get("detach"):
                say(id=call.id, task=executor.detach(call))
                continue
            executor.submit(
                call,
                context=told.get("context"),
                on_done=lambda result, call_id=call.id: say(id=call_id, kind=result.kind, content=result.content),
            )


if __name__ == "__main__":
    main()

"""toolexec itself: `ToolExecutor.execute` of typed functions, without and with the permission plugin."""
# ruff: noqa: E402 -- this checkout is measured, installed or not

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[2] / "plugins")]

import measure
import payload

from executor import ToolExecutor
from executor_permissions import PermissionPlugin

try:
    VERSION = version("toolexec")
except PackageNotFoundError:
    VERSION = "checkout"
plain = ToolExecutor()
policy = {"version": "1.0", "defaultPolicy": "deny", "whitelist": {"tools": ["add", "order"]}}
judged = ToolExecutor(permission_plugin=PermissionPlugin(policy=policy, terminal=False))
for executor in (plain, judged):
    executor.register(payload.add)
    executor.register(payload.order)
assert judged.execute("order", payload.LARGE)[0] is True
assert plain.execute("add", {"a": "1", "b": 2})[0] is False
measure.report(
    VERSION,
    small=measure.of(lambda: plain.execute("add", payload.SMALL)),
    large=measure.of(lambda: plain.execute("order", payload.LARGE)),
    judged=measure.of(lambda: judged.execute("add", payload.SMALL)),
)

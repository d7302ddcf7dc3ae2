"""What a detached call may do in its own process: itself, and what the permission plugin lets its tool call."""

from __future__ import annotations

import subprocess
import sys

import pytest

from executor import Decision, ToolCall, ToolExecutor, Verdict
from executor.background import _detached
from executor.background._runner import JudgedCall


class Judge:
    """A permission plugin that denies everything, and is asked nothing."""

    def decide(self, call, context):
        return Decision("deny", "by the judge", "blacklist")

    def ask(self, call, decision, context):
        return Verdict(False, None, {"reason": "by the judge", "method": "user_denied"})


@pytest.mark.parametrize(
    ("plugin", "told"),
    [(None, ("detached", "cannot be pickled")), (Judge(), ("blacklist", "by the judge"))],
    ids=["no plugin", "a plugin"],
)
def test_only_the_call_that_was_judged_is_allowed_and_what_its_tool_calls_is_judged(plugin, told):
    call, inner = ToolCall("1", "outer", {"a": 1}), []
    with ToolExecutor() as executor:

        def outer(args):
            inner.append(executor.call(ToolCall("2", "inner")))
            inner.append(executor.call(ToolCall("3", "outer", {"a": 1})))  # the same once more, within it

        executor.register("outer", outer)
        executor.register("inner", lambda args: 1)
        judged = JudgedCall(call, plugin, None)
        executor.set_permission_plugin(judged)
        assert executor.call(call).success
        assert not executor.call(ToolCall("4", "outer", {"a": 2})).success
        other = judged.ask(ToolCall("5", "inner"), Decision("ask", "a hook asks", "hook"), None)
    assert [result.success for result in inner] == [False, False]
    for result in inner:
        info = result.value["_permission"]
        assert (info["method"], told[1] in info["reason"]) == (told[0], True), info
    expected = ("detached", "a hook asks") if plugin is None else ("user_denied", "by the judge")
    assert (other.allowed, other.info["method"], other.info["reason"]) == (False, *expected)


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is forked there")
def test_a_runner_that_cannot_be_forked_says_so_without_a_traceback():
    refused = "import os\ndef fork():\n    raise BlockingIOError(11, 'no process is left')\nos.fork = fork\n"
    command = [sys.executable, "-c", refused + _detached._RUNNER, "[]"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "no process can be forked: [Errno 11] no process is left\n"

"""
``toolexec call --detach``: a call that goes on after its terminal is closed.

Permission is asked for here, where a person may sit. Then a process of its own, in a session of its own, is given the
judged call on its stdin; it starts the task, says its id on stdout, and lives as long as the task does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

from executor.cli._app import App
from executor.cli._ask import CommandGate, terminal
from executor.cli._errors import CliError, ExitCode, of_failure
from executor.cli._interrupts import Interrupts, Presence
from executor.errors import ToolExecutorError
from executor.values import Decision, ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.permission._inbox import Inbox
    from executor.tools._make import Registered

# The runner finds modules where this process does: "-m" would let whatever lies in the working folder take their place.
RUNNER = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from executor.cli._detach import run
sys.exit(run())
"""
START = 30.0  # seconds for the runner to load its plugins and start the task


def detach(app: App, entry: Registered, arguments: dict[str, Any], *, timeout: float | None, yes: bool) -> str:
    """
    Have a runner process make the call.

    Returns:
        The id of its task.

    Raises:
        CliError: It may not be made, or could not be started.
    """
    request = {"name": entry.name, "arguments": _judge(app, entry, arguments, yes=yes), "timeout": timeout, "yes": yes}
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", RUNNER, json.dumps([os.path.abspath(folder) for folder in sys.path])],  # noqa: PTH100 -- "" is the working folder
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        **_apart(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    timer = threading.Timer(START, process.kill)
    timer.daemon = True
    timer.start()
    with process.stdout, process.stdin:
        process.stdin.write(json.dumps(request).encode())
        process.stdin.close()
        line = process.stdout.readline()
    timer.cancel()
    process.returncode = 0  # it is not ours any more: nothing waits for it, or warns that it still runs
    answer = json.loads(line) if line.endswith(b"\n") else {"error": "the runner process ended without starting it"}
    if "task_id" not in answer:
        raise of_failure(answer, "")
    return str(answer["task_id"])


def _apart() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS}
    return {"start_new_session": True}


def _judge(app: App, entry: Registered, arguments: dict[str, Any], *, yes: bool) -> dict[str, Any]:
    """The arguments that the gate has allowed: what the tool would get, if it were called here. Raises CliError."""
    from executor import ToolExecutor
    from executor.cli._arguments import signature

    gate = CommandGate(lambda: executor.approvals, app.screen, yes=yes)
    # No ledger: the runner process records the call.
    executor = ToolExecutor(registry=app.registry, permission_plugin=gate)
    with terminal(stdin_is_used=app.stdin_is_used) as channel:
        if channel is not None:
            executor.approvals.add_channel("terminal", channel)
        try:
            allowed, value = executor.judged(ToolCall("detach", entry.name, arguments))
        finally:
            executor.shutdown()
    if not allowed:
        raise of_failure(value, signature(entry))
    return dict(value)


class JudgedGate(CommandGate):
    """Allows the one call that was judged before it was detached; every other one as without a terminal."""

    def __init__(self, inbox: Any, app: App, request: Mapping[str, Any]) -> None:
        super().__init__(inbox, app.screen, yes=bool(request["yes"]))
        self._judged: tuple[Any, Any] | None = (request["name"], request["arguments"])

    def decide(self, call: ToolCall, context: Mapping[str, Any] | None) -> Decision:
        """The first step: whether a person has to be asked."""
        if self._judged == (call.name, call.arguments):
            self._judged = None
            return Decision("allow", "it was allowed before it was detached", "user_approved")
        return super().decide(call, context)


def run() -> int:
    """The runner process: start the task that stdin tells of, say its id, and stay until it has ended."""
    request = json.load(sys.stdin)
    with App(json_mode=True) as app, Interrupts() as interrupts:
        inboxes: list[Inbox] = []
        try:
            entry = app.find(request["name"])
            app.registry.adapt(entry, 0.0, Presence(lambda: None))
            executor = app.executor(JudgedGate(lambda: inboxes[0], app, request))
            inboxes.append(executor.approvals)
            result = executor.start(ToolCall("detached", request["name"], request["arguments"]), request["timeout"])
        except (ToolExecutorError, CliError) as error:
            _answer({"error": str(error), "unavailable": getattr(error, "exit_code", None) == ExitCode.UNAVAILABLE})
            return ExitCode.FAILED
        task_id = result.task_id or ""
        _answer({"task_id": task_id})
        executor.tasks.subscribe(lambda info: interrupts.put("ended") if info.id == task_id else None)
        if executor.tasks.get(task_id).status.final:  # before it was subscribed to
            interrupts.put("ended")
        if interrupts.wait() == Interrupts.INTERRUPT:
            executor.tasks.cancel(task_id, "Its runner process was told to end")
        executor.shutdown(cancel=interrupts.happened)
        executor.tasks.close()
    return ExitCode.OK


def _answer(value: dict[str, Any]) -> None:
    """Say *value* to who started this process, and let go of that one's pipes and terminal."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)

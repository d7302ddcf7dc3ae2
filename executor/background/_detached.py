"""
Calls that are left to a process of their own, which goes on when this one ends.

The call is judged here, where a person may sit. The runner process, in a session of its own, is given the judged call
on its stdin (a frame as in `tools._isolate`); it makes the plugins anew, starts the call as a task, answers on its
stdout, and lives as long as the task does: `_runner`.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from executor.calls._state import MARK
from executor.errors import ExecutionError, ToolExecutorError, ToolInterruptedError
from executor.interpreter import WITHOUT, interpreter
from executor.tasks._manager import TaskManager, engine_of
from executor.tools._by_name import find, function_of
from executor.tools._frames import read, write
from executor.tools._make import make_tool, prepare
from executor.values import Tool, ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.calls._places import Places
    from executor.registry._recipe import Recipe
    from executor.registry._registry import PluginRegistry
    from executor.run._backends import Prepared
    from executor.tools._make import Registered
    from executor.values._profile import Profile

START = 30.0  # seconds for the runner to load its plugins and start the task
STARTING = ("starting", None)  # said by the runner before the call begins; its answer is ("answer", …)
SHOWN = 800  # characters of what a runner wrote to stderr before it died
# Modules are found where this process finds them: "-m" would let whatever lies in the working folder take their place.
# The second process belongs to nobody who would have to wait for it; the first one ends at once.
_RUNNER = """
import json, os, sys
try:
    if hasattr(os, "fork") and os.fork():
        os._exit(0)
except OSError as error:
    sys.exit(f"no process can be forked: {error}")
sys.path[:] = json.loads(sys.argv[1])
from executor._executor import ToolExecutor
from executor.background._runner import run
sys.exit(run(ToolExecutor))
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """
    What the runner process needs of the executor that leaves a call to it.

    Attributes:
        tasks: Where the task is kept.
        registry: The plugins in use, or None.
        permission: The permission plugin of the two-step form, or None.
        context: What it is given.
        ledger: Where calls are recorded, or None.
        options: More for the executor that is made there, by name.
    """

    tasks: TaskManager
    registry: PluginRegistry | None
    permission: object
    context: Mapping[str, Any] | None
    ledger: object
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Function:
    """
    A tool's function, as another process finds it.

    Attributes:
        module, qualified: Where it is.
        told: What it tells of itself here; see `_told_by`.
    """

    module: str
    qualified: str
    told: str

    def found(self, tool: Tool) -> Tool:
        """
        *tool* with it, as it is in this process.

        Raises:
            ImportError, AttributeError: It is not there.
            ExecutionError: It tells something else of itself here.
        """
        found = find(self.module, self.qualified)
        if _told_by(found) != self.told:
            raise changed(tool.id)
        return replace(tool, fn=function_of(found))


@dataclass(frozen=True, slots=True)
class Order:
    """
    What the runner process is to do.

    Attributes:
        call: The one call that was judged, with the arguments that were allowed.
        timeout: Its time limit in seconds, or None.
        tool: The tool without its function, if it was registered at the executor itself, else None.
        function: That one's function, or None.
        definition: The hash of the tool's definition: what was judged.
        tasks: Folder, host and output cap of the manager of tasks.
        confine: The profile of the box that it is to run in, or None.
        places: Where it is at work, as far as it was judged.
        extras: What may come along, each pickled by itself: ``permission``, ``context``, ``ledger``.
    """

    call: ToolCall
    timeout: float | None
    tool: Tool | None
    function: Function | None
    registry: Recipe | None
    definition: str
    tasks: tuple[str, str, int]
    options: Mapping[str, Any]
    confine: Profile | None
    places: Places | None
    extras: Mapping[str, bytes]

    def made(self, name: str) -> Any:
        """One of `extras`, or None where it is missing. Raises whatever keeps it from being made here."""
        pickled = self.extras.get(name)
        return pickle.loads(pickled) if pickled is not None else None  # noqa: S301 -- from the process that started this one

    def brought(self, name: str) -> Any:
        """As `made`; None as well where it cannot be made."""
        try:
            return self.made(name)
        except Exception:  # noqa: BLE001 -- code of others
            return None


def detach(prepared: Prepared, timeout: float | None, caller: Caller) -> str:
    """
    Have a runner process make the judged call *prepared*.

    Returns:
        The id of its task.

    Raises:
        ExecutionError: Another process cannot make it, or the runner died before it answered.
        ToolExecutorError: What kept the runner from starting it.
    """
    order = _order(prepared, timeout, caller)
    python = interpreter()
    if python is None:
        raise impossible(prepared.entry.name, WITHOUT)
    try:
        order = pickle.loads(pickle.dumps(order))  # noqa: S301 -- what was just made here
    except Exception as error:
        raise ExecutionError(
            f"{prepared.entry.name} cannot be left to another process: its arguments, its options or the configuration "
            f"of a plugin cannot be pickled ({error})",
            tool_id=prepared.entry.name,
        ) from error
    try:
        answer = _started(python, order)
    except OSError as error:
        raise impossible(prepared.entry.name, f"no process could be started: {error}") from error
    if isinstance(answer, BaseException):
        raise answer
    durable = engine_of(caller.tasks).durable
    if durable is not None:
        durable.leave_to_another(answer)
    return answer


def _order(prepared: Prepared, timeout: float | None, caller: Caller) -> Order:
    entry, registry = prepared.entry, caller.registry
    recipe = registry.recipe() if registry is not None else None
    check_exposed(entry, registry)
    tool, function = brought(entry, recipe)
    return Order(
        ToolCall(prepared.call.id, entry.name, prepared.arguments),
        timeout,
        tool,
        function,
        recipe,
        entry.tool.definition_hash,
        _place(caller.tasks, entry.name),
        caller.options,
        prepared.call.confine,
        prepared.call.places,
        _extras(caller, entry.name),
    )


def check_exposed(entry: Registered, registry: PluginRegistry | None) -> None:
    """
    Whether *registry*, whose recipe was just made, has the plugin as it was when *entry* was found.

    Raises:
        BackendUnavailableError: It was taken away since, or configured anew: another process would make that one.
    """
    if entry.exposure is None:
        return
    now = registry.tools.get(entry.name) if registry is not None else None
    if now is None or now.exposure is not entry.exposure:
        raise entry.exposure.gone()


def brought(entry: Registered, recipe: Recipe | None) -> tuple[Tool | None, Function | None]:
    """
    How another process comes by a tool: by itself and its function, or, (None, None), by its plugin.

    Raises:
        ExecutionError: It cannot; the message says what to do.
    """
    if entry.plugin_name == "local":
        # Locks and rates are among the calls of one process.
        tool = replace(entry.tool, fn=None, resources=None, max_concurrent=None, rate=None)
        return tool, _function_of(entry.tool.fn, entry.name)
    if recipe is not None and entry.plugin_name in recipe.objects:
        raise impossible(
            entry.name,
            f"the plugin {entry.plugin_name!r} was registered as an object: register a module, or install it with an "
            "entry point",
        )
    return None, None


def impossible(name: str, reason: str) -> ExecutionError:
    return ExecutionError(f"The tool {name!r} cannot be left to another process: {reason}", tool_id=name)


def changed(name: str) -> ExecutionError:
    """That what was judged is not what would be called."""
    return impossible(
        name,
        "its description, schema or annotations are others there than they were judged here: its module, its plugin or "
        "its server has changed since this program was started; start it anew",
    )


def _function_of(fn: Any, name: str) -> Function:
    """Where another process finds *fn*. Raises ExecutionError, saying what to do."""
    if fn is None:
        raise impossible(name, "it comes from an index or resolver, which only this process has; use a plugin")
    module, qualified = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    if module == "__main__":
        raise impossible(name, "its function is in the main program, which is not run again; move it to a module")
    try:
        found = find(str(module), str(qualified))
    except (ImportError, AttributeError):
        found = None
    if found is None or fn != function_of(found):
        raise impossible(name, "its function cannot be found by name; define it at the top of a module")
    return Function(str(module), str(qualified), _told_by(found))


def _told_by(found: Any) -> str:
    """The hash of the definition that *found* has without what was said where it was registered; "" if it has none."""
    try:
        return prepare(make_tool(found) if isinstance(found, Tool) else make_tool("it", found)).tool.definition_hash
    except (ToolExecutorError, TypeError, ValueError):  # its signature has no schema
        return ""


def _place(tasks: TaskManager, name: str) -> tuple[str, str, int]:
    place = engine_of(tasks).place()
    if place is None:
        raise impossible(
            name,
            "its task would be lost, as this executor keeps tasks in memory only; use TaskManager.open()",
        )
    return place


def _extras(caller: Caller, name: str) -> dict[str, bytes]:
    extras: dict[str, bytes] = {}
    for key in ("permission", "context", "ledger"):
        value = getattr(caller, key)
        if value is not None:
            with contextlib.suppress(Exception):  # code of others; what it means is said in `ToolExecutor.detach`
                extras[key] = pickle.dumps(value)
    if getattr(caller.ledger, "required", False) and "ledger" not in extras:
        raise impossible(name, "its ledger is required, and cannot be pickled; use a JsonLinesLedger")
    return extras


def _started(python: str, order: Order) -> str | BaseException:
    """Start the runner process. Returns the id of its task, or what kept it from starting it."""
    path = [os.path.abspath(folder) for folder in sys.path]  # noqa: PTH100 -- "" is the working folder
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [python, "-P", "-c", _RUNNER, json.dumps(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={name: value for name, value in os.environ.items() if name != MARK},  # by which it would be ended
            **_apart(),
        )
        timer = threading.Timer(START, _kill, [process])
        timer.daemon = True
        timer.start()
        try:
            said = _said_by(process, order)
        finally:
            timer.cancel()
            timer.join()
        if said and said[-1] != STARTING:
            return said[-1][1]  # type: ignore[no-any-return]  # a frame's parts are what `run` sends
        errors.seek(0)
        last = errors.read().decode("utf-8", "replace").strip()[-SHOWN:]
    ended = f"The process that was to run {order.call.name} ended, or took more than {START:g} s,"
    words = f": {last}" if last else ""
    if said:
        return ToolInterruptedError(
            f"{ended} while it started it, which may have had effects: it is among the tasks if it was stored{words}",
            tool_id=order.call.name,
        )
    return ExecutionError(f"{ended} before it had started it{words}", tool_id=order.call.name)


def _said_by(process: subprocess.Popen[bytes], order: Order) -> list[Any]:
    """The frames of the runner, up to its answer if there is one."""
    said: list[Any] = []
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout, contextlib.suppress(OSError):  # it has ended before it has read all: there is no answer
        with process.stdin:
            write(process.stdin, order)
        if sys.platform != "win32":
            process.wait()  # the first process
        else:
            process.returncode = 0  # it is not ours any more: nothing waits for it, or warns that it still runs
        while (frame := read(process.stdout)) is not None:
            said.append(frame)
            if frame != STARTING:
                break
    return said


def _apart() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS}
    return {"start_new_session": True}


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)  # the runner has the group of the process that made it

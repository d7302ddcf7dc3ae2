"""One call (or chain) on a thread of its own, followed to its end while the main thread waits for signals too."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from click.exceptions import Exit

from executor.cli._errors import CliError, ExitCode
from executor.cli._interrupts import Interrupts, Presence
from executor.cli._render import is_terminal
from executor.cli._through import Through

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor import ToolExecutor
    from executor.cli._app import App
    from executor.run import Prepared
    from executor.tools import Registered
    from executor.values import Outcome

GRACE = 3.0  # seconds for a tool that was told to stop; commands have 2 s between being asked to end and being ended


class Options(NamedTuple):
    """How a call is made."""

    as_json: bool
    live: bool
    timeout: float | None
    threshold: float | None


class Call:
    """
    One call on a thread of its own, while the main thread waits for it and for signals.

    Args:
        entry: The tool.
        arguments: For it.
    """

    def __init__(self, app: App, entry: Registered, arguments: dict[str, Any], options: Options) -> None:
        from executor import CancelToken

        self._app = app
        self._entry = entry
        self._entries = [entry]
        self._arguments = arguments
        self._options = options
        self._interrupts = Interrupts()
        self._presence = Presence(lambda: self._interrupts.put("left"))
        self._cancel = CancelToken()
        piped = not (options.as_json or (options.live and is_terminal(sys.stdout)))
        self.through = Through(app.screen, self._cut_short, live=options.live) if piped else None
        self._ended = False
        self._cut = False
        self._gone = False
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None

    def run(self, *, yes: bool) -> Outcome:
        """
        Make the call, and wait for its end.

        Raises:
            CliError: It was interrupted.
        """
        from executor.cli._ask import CommandGate, terminal
        from executor.run import Runner

        app = self._app
        self._set_threshold()
        runner = Runner(middleware=[self._watched])
        # What a tool prints is no result: results have stdout to themselves.
        with (
            self._interrupts,
            contextlib.redirect_stdout(sys.stderr),
            terminal(stdin_is_used=app.stdin_is_used) as channel,
        ):
            executor = app.executor(CommandGate(app.screen, yes=yes), runner, entries=self._entries)
            if channel is not None:
                executor.approvals.add_channel("terminal", channel)
            try:
                threading.Thread(target=self._work, args=(executor,), name="executor-call", daemon=True).start()
                self._wait(executor)
            finally:
                executor.shutdown(wait=False, cancel=True)
                runner.close()
                app.stuck = self._presence.anybody or not self._ended
        if self._gone:
            raise (self.through.error if self.through is not None else None) or Exit(ExitCode.OK)
        if self._error is not None:
            raise self._error
        if self._outcome is None or (self._interrupts.happened and (self._cut or not self._outcome[0])):
            told = self._outcome[1] if self._outcome is not None and isinstance(self._outcome[1], dict) else {}
            details = {key: value for key, value in told.items() if key != "error"}
            raise CliError(f"{self._entry.name} was interrupted", ExitCode.INTERRUPTED, details)
        return self._outcome

    def _cut_short(self) -> None:
        """Nobody reads on: whatever the call would say, it says to nobody."""
        self._gone = True
        self._cancel.cancel("Nobody reads its output any more")
        self._interrupts.put("left")

    def _set_threshold(self) -> None:
        if self._options.threshold is not None:
            from executor.tools import ToolSettings

            name, registry = self._entry.name, self._app.registry_for(self._entries)
            known = registry.settings.get(name, ToolSettings())
            registry.adjust(name, replace(known, auto_background=self._options.threshold))

    def _watched(self, prepared: Prepared, proceed: Callable[[], Any]) -> Any:
        """Every tool's function, watched: it may go on after everybody has given up on it."""
        if prepared.entry.is_async:  # its work is ended by being cancelled
            return proceed()
        with self._presence.inside():
            return proceed()

    def _work(self, executor: ToolExecutor) -> None:
        try:
            self._outcome = self._follow(executor)
        except BaseException as error:  # noqa: BLE001 -- it is the main thread's to report
            self._error = error
        finally:
            self._ended = True
            self._interrupts.put("ended")

    def _follow(self, executor: ToolExecutor) -> Outcome:
        from executor import ToolCall

        options, screen = self._options, self._app.screen
        tasks = executor.tasks  # now: what it needs and the system refuses must not hide what the call came to
        result = executor.call(
            ToolCall("cli", self._entry.name, self._arguments),
            on_output=self._listener,
            on_progress=screen.progress if options.live else None,
            timeout=options.timeout,
            cancel=self._cancel,
        )
        if result.task_id is not None:
            screen.note(f"{self._entry.name} goes on in the background as {result.task_id}; following it")
            tasks.wait(result.task_id)
            return tasks.result(result.task_id)
        for task in tasks.live() if tasks.open_count() else ():  # the tool started it
            screen.note(f"{task.tool_name} runs in the background as {task.id}; waiting for it")
            ended = tasks.wait(task.id)
            screen.note(f"{task.id}: {ended.status} after {ended.duration:.1f} s")
        return result.success, result.value

    @property
    def _listener(self) -> Callable[[str], None] | None:
        """Takes the output, if anybody does."""
        if self.through is not None:
            return self.through
        return self._app.screen.output if self._options.live else None

    def _wait(self, executor: ToolExecutor) -> None:
        """Wait until no thread is in the tool; `GRACE` seconds once the call has ended or was stopped."""
        deadline: float | None = None
        stopped = False
        while not self._ended or self._presence.anybody:
            if self._ended and deadline is None:
                deadline = time.monotonic() + GRACE
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return
            if self._interrupts.wait(left) == Interrupts.INTERRUPT:
                if stopped:
                    return
                stopped = True
                self._app.screen.interrupted()
                deadline = time.monotonic() + GRACE
                self._stop(executor)

    def _stop(self, executor: ToolExecutor) -> None:
        """Stop the call, and the tasks that were started by it."""
        self._cancel.cancel("The command was interrupted")
        if executor.tasks.open_count():
            for task in executor.tasks.live():
                self._cut |= executor.tasks.cancel(task.id, "The command was interrupted")

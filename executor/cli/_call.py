"""``toolexec call``: one call, followed to its end."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import contextlib
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.exceptions import Exit

from executor.cli._app import App, complete_tool, json_option, pass_app
from executor.cli._errors import CliError, ExitCode, of_failure
from executor.cli._interrupts import Interrupts, Presence
from executor.cli._render import for_person, is_terminal, printable, to_json

if TYPE_CHECKING:
    from executor import Decision, ToolExecutor
    from executor.cli._ask import CommandGate
    from executor.tools._make import Registered
    from executor.values import Outcome

GRACE = 3.0  # seconds for a tool that was told to stop; commands have 2 s between being asked to end and being ended


@dataclass(frozen=True, slots=True)
class Options:
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
        self._arguments = arguments
        self._options = options
        self._interrupts = Interrupts()
        self._presence = Presence(lambda: self._interrupts.put("left"))
        self._cancel = CancelToken()
        self._ended = False
        self._cut = False
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None

    def run(self, *, yes: bool) -> Outcome:
        """
        Make the call, and wait for its end.

        Raises:
            CliError: It was interrupted.
        """
        from executor.cli._ask import CommandGate, terminal

        app = self._app
        app.registry.adapt(self._entry, self._options.threshold, self._presence)
        # What a tool prints is no result: results have stdout to themselves.
        with (
            self._interrupts,
            contextlib.redirect_stdout(sys.stderr),
            terminal(stdin_is_used=app.stdin_is_used) as channel,
        ):
            executor = app.executor(CommandGate(lambda: executor.approvals, app.screen, yes=yes))
            if channel is not None:
                executor.approvals.add_channel("terminal", channel)
            try:
                threading.Thread(target=self._work, args=(executor,), name="executor-call", daemon=True).start()
                self._wait(executor)
            finally:
                executor.shutdown(wait=False, cancel=True)
                app.stuck = self._presence.anybody
        if self._error is not None:
            raise self._error
        if self._outcome is None or (self._interrupts.happened and (self._cut or not self._outcome[0])):
            told = self._outcome[1] if self._outcome is not None and isinstance(self._outcome[1], dict) else {}
            details = {key: value for key, value in told.items() if key != "error"}
            raise CliError(f"{self._entry.name} was interrupted", ExitCode.INTERRUPTED, details)
        return self._outcome

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
        result = executor.call(
            ToolCall("cli", self._entry.name, self._arguments),
            on_output=screen.output if options.live else None,
            on_progress=screen.progress if options.live else None,
            timeout=options.timeout,
            cancel=self._cancel,
        )
        if result.task_id is not None:
            screen.note(f"{self._entry.name} goes on in the background as {result.task_id}; following it")
            executor.tasks.wait(result.task_id)
            return executor.tasks.result(result.task_id)
        for task in executor.tasks.live() if executor.tasks.open_count() else ():  # the tool started it
            screen.note(f"{task.tool_name} runs in the background as {task.id}; waiting for it")
            ended = executor.tasks.wait(task.id)
            screen.note(f"{task.id}: {ended.status} after {ended.duration:.1f} s")
        return result.success, result.value

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


def present(app: App, entry: Registered, value: Any, options: Options) -> ExitCode:
    """
    Show what a tool returned.

    Returns:
        The exit code: that of a command that ended with another one than 0 is `ExitCode.FAILED`.
    """
    command = isinstance(value, dict) and type(value.get("exit_code")) is int and {"stdout", "stderr"} <= value.keys()
    if options.as_json:
        app.screen.json(value)
    elif command:
        _present_command(app, entry, value, options)
    else:
        shown = {key: item for key, item in value.items() if key != "_permission"} if isinstance(value, dict) else value
        if shown is not None:
            readable = is_terminal(sys.stdout) or isinstance(shown, str)
            app.screen.result(for_person(shown) if readable else to_json(shown))
    return ExitCode.FAILED if command and value["exit_code"] != 0 else ExitCode.OK


def _present_command(app: App, entry: Registered, value: dict[str, Any], options: Options) -> None:
    """Show stdout on stdout and stderr on stderr, unless they were seen live, and what else there is to say."""
    if not options.live or not is_terminal(sys.stdout):
        # Long output is cut in the result, and whole in a file. Only of the bundled plugin, which runs on this machine,
        # a file is taken at its word: a remote tool could name any file of the user's.
        whole = value.get("stdout_file") if entry.plugin_name == "shell" and not is_terminal(sys.stdout) else None
        if not isinstance(whole, str) or not app.screen.file(whole):
            app.screen.raw(str(value["stdout"]))
    if not options.live:
        app.screen.output(str(value["stderr"]))
    shown = ("exit_code", "stdout", "stderr", "duration", "_permission")
    remarks = {key: item for key, item in value.items() if key not in shown}
    if options.live or remarks or value["exit_code"] != 0:
        if "duration" in value:
            remarks["duration"] = value["duration"]
        told = [f"exit code {value['exit_code']}", *(f"{key}: {item}" for key, item in remarks.items())]
        app.screen.note(", ".join(told))


def rehearse(app: App, entry: Registered, arguments: dict[str, Any], *, check: bool = True) -> dict[str, Any]:
    """
    What would become of a call: everything before the tool runs, and nobody is asked or told.

    Args:
        check: Whether the arguments are compared with the tool's schema.

    Returns:
        ``{"tool", "arguments", "decision", "reason", "method", "parts"}``, and ``rule`` and ``where`` (``FILE:LINE``)
        if a rule decided.

    Raises:
        CliError: The arguments do not fit.
    """
    from executor import ToolCall, ToolExecutor
    from executor.cli._arguments import signature
    from executor.cli._ask import CommandGate
    from executor.run import Runner

    gate = CommandGate(lambda: executor.approvals, app.screen, yes=False)
    runner = Runner(validate_input=check)
    executor = ToolExecutor(registry=app.registry, permission_plugin=gate, runner=runner)
    try:
        checked = executor.check(ToolCall("dry-run", entry.name, arguments))
    finally:
        executor.shutdown()
        runner.close()
    told = {"tool": entry.name, "arguments": arguments}
    decision = checked.decision
    if decision is not None:
        return {**told, **_told(gate, decision)}
    if checked.kind != "ok":
        raise of_failure({"error": checked.error, "errors": list(checked.errors)}, signature(entry))
    return {**told, "decision": "inner", "reason": "the call inside its arguments is judged", "method": "carrier"}


def _told(gate: CommandGate, decision: Decision) -> dict[str, Any]:
    """A decision as a dry run says it."""
    told: dict[str, Any] = {"decision": decision.verdict, "reason": decision.reason, "method": decision.method}
    if decision.rule is not None:
        told |= {"rule": decision.rule, "where": gate.where(decision)}
    parts = [
        {
            "text": part.text,
            "decision": part.verdict,
            "reason": part.reason,
            "method": part.method,
            "rule": part.rule,
            "where": gate.where(part),
        }
        for part in decision.parts
    ]
    return {**told, "parts": parts}


@click.command("call")
@click.argument("name", shell_complete=complete_tool)
@click.argument("arguments", nargs=-1)
@json_option
@click.option("--yes", "-y", is_flag=True, help="Answer every question with yes; what is denied stays denied.")
@click.option("--live/--no-live", default=None, help="Show output as it comes. Default: when you watch at a terminal.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Give the call up after S seconds."
)
@click.option(
    "--threshold", type=click.FloatRange(min=0), metavar="S", help="Make it a background task after S seconds."
)
@click.option(
    "--detach", "--no-wait", "detach", is_flag=True, help="Leave it to a process of its own; print the task's id."
)
@click.option("--stream", is_flag=True, help="Write the result in pieces, as they come; with --json every event.")
@click.option("--dry-run", is_flag=True, help="Check the arguments, say what would be decided, and run nothing.")
@pass_app
def command(
    app: App,
    name: str,
    arguments: tuple[str, ...],
    *,
    as_json: bool,
    yes: bool,
    live: bool | None,
    timeout: float | None,
    threshold: float | None,
    detach: bool,
    stream: bool,
    dry_run: bool,
) -> None:
    """
    Call the tool NAME, follow it to its end, and print its result.

    ARGUMENTS are key=value (read as the tool's schema wants them), key:=JSON, one JSON object, or - to read one
    from stdin.

    The result goes to stdout, everything else to stderr. At a terminal you see output as it comes; in a pipe or
    file stdout has the result only: of a command its stdout, of other tools their text or JSON, with --json the whole
    result as JSON. What no rule of the policy allows asks first; without a terminal it needs --yes. A call that passes
    its threshold becomes a background task, and is followed all the same. Ctrl-C stops it. With --detach it goes on
    when the terminal is closed: 'toolexec tasks' reads, waits for and stops it.

    \b
    Exit codes: 0 ok, 1 unexpected, 2 usage, 3 denied, 4 unreachable,
    5 the tool failed or a command's exit code is not 0, 6 timed out,
    7 left in the background by --detach, 130 interrupted.

    \b
    Examples:
      toolexec call echo text='hello there'
      toolexec call runCommand command='ls -l' > listing.txt
      toolexec call runCommand argv:='["git", "status"]' --yes --json
      echo '{"text": "hi"}' | toolexec call echo -
      toolexec call runCommand command='make' --dry-run
    """
    from executor.cli import _arguments

    entry = app.find(name)
    app.stdin_is_used = arguments == ("-",)
    given = _arguments.read(arguments, entry, sys.stdin)
    if dry_run:
        _show_rehearsal(app, rehearse(app, entry, given), as_json=as_json)
    if detach:
        _detach_call(app, entry, given, as_json=as_json, timeout=timeout, yes=yes)
    if live is None:
        live = is_terminal(sys.stdout) and is_terminal(sys.stderr)
    how = Options(as_json, live, timeout, threshold)
    if stream:
        from executor.cli._stream import StreamedCall

        StreamedCall(app, entry, given, how).run(yes=yes)
        raise Exit(ExitCode.OK)
    success, value = Call(app, entry, given, how).run(yes=yes)
    if not success:
        raise of_failure(value, _arguments.signature(entry))
    raise Exit(present(app, entry, value, how))


def _detach_call(
    app: App, entry: Registered, arguments: dict[str, Any], *, as_json: bool, timeout: float | None, yes: bool
) -> NoReturn:
    from executor.cli._detach import detach

    task_id = detach(app, entry, arguments, timeout=timeout, yes=yes)
    if as_json:
        app.screen.json({"task_id": task_id})
    else:
        app.screen.result(task_id)
    raise Exit(ExitCode.BACKGROUND)


def show_judgement(app: App, told: dict[str, Any]) -> None:
    """Show what `rehearse` has found."""
    place = f"; {told['where']}" if told.get("where") else ""
    app.screen.result(printable(f"{told['tool']}: {told['decision']} ({told['reason']}; {told['method']}{place})"))
    parts = told.get("parts", ())
    if len(parts) > 1 or (parts and parts[0]["text"] != told["tool"]):
        rows = [(part["decision"], part["text"], part["reason"], part["where"] or "") for part in parts]
        app.screen.table(("decision", "part", "because", "rule at"), rows)


def _show_rehearsal(app: App, told: dict[str, Any], *, as_json: bool) -> NoReturn:
    if as_json:
        app.screen.json(told)
    else:
        show_judgement(app, told)
        app.screen.result("Nothing was run.")
    raise Exit(ExitCode.DENIED if told["decision"] == "deny" else ExitCode.OK)

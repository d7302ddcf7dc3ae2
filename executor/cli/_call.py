"""``toolexec call``: one call, followed to its end."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.exceptions import Exit

from executor.cli._app import App, Seconds, complete_tool, json_option, pass_app
from executor.cli._errors import CliError, ExitCode, of_failure
from executor.cli._follow import Call, Options
from executor.cli._people import refuse_below_a_call
from executor.cli._render import for_person, is_terminal, printable, to_json
from executor.errors import ToolExecutorError
from executor.pasted import within

if TYPE_CHECKING:
    from collections.abc import Collection

    from executor import Decision
    from executor.cli._ask import CommandGate
    from executor.confine import Profile
    from executor.engines import DaskEngine
    from executor.tools import Registered

ENDING = 2.0  # seconds until the end of a call is known whose terminal has just closed


def present(app: App, plugin: str, value: Any, options: Options, passed: Collection[str] = ()) -> ExitCode:
    """
    Show what a tool returned.

    Args:
        plugin: The name of the tool's plugin.
        passed: The streams of a command that were passed on as they came.

    Returns:
        The exit code: that of a command that ended with another one than 0 is `ExitCode.FAILED`.
    """
    command = isinstance(value, dict) and type(value.get("exit_code")) is int and {"stdout", "stderr"} <= value.keys()
    if options.as_json:
        app.screen.json(value)
    elif command:
        _present_command(app, plugin, value, options, passed)
    else:
        shown = {key: item for key, item in value.items() if key != "_permission"} if isinstance(value, dict) else value
        if shown is not None:
            readable = is_terminal(sys.stdout) or isinstance(shown, str)
            app.screen.result(for_person(shown) if readable else to_json(shown))
    return ExitCode.FAILED if command and value["exit_code"] != 0 else ExitCode.OK


def _present_command(app: App, plugin: str, value: dict[str, Any], options: Options, passed: Collection[str]) -> None:
    """Show stdout on stdout and stderr on stderr, unless they were seen live, and what else there is to say."""
    if "stdout" not in passed and (not options.live or not is_terminal(sys.stdout)):
        # Long output is cut in the result, and whole in a file. Only of the bundled plugin, which runs on this machine,
        # a file is taken at its word: a remote tool could name any file of the user's.
        whole = value.get("stdout_file") if plugin == "shell" and not is_terminal(sys.stdout) else None
        if not isinstance(whole, str) or not app.screen.file(whole):
            app.screen.raw(str(value["stdout"]))
    if not options.live and "stderr" not in passed:
        app.screen.output(str(value["stderr"]))
    whole = [f"{stream}_{what}" for stream in passed for what in ("file", "note")]
    shown = ("exit_code", "stdout", "stderr", "duration", "_permission", *whole)
    remarks = {key: item for key, item in value.items() if key not in shown}
    if options.live or remarks or value["exit_code"] != 0:
        if "duration" in value:
            remarks["duration"] = value["duration"]
        told = [f"exit code {value['exit_code']}", *(_remark(key, item) for key, item in remarks.items())]
        app.screen.note(", ".join(told))


def _remark(key: str, item: object) -> str:
    """What there is to say of a command beside its output, in words; an object's entries follow in brackets."""
    if isinstance(item, dict):
        return f"{key} ({', '.join(_remark(name, value) for name, value in item.items())})"
    return f"{key}: {'; '.join(map(str, item)) if isinstance(item, list) else item}"


def rehearse(app: App, entry: Registered, arguments: dict[str, Any], *, check: bool = True) -> dict[str, Any]:
    """
    What would become of a call: everything before the tool runs, and nobody is asked or told.

    Args:
        check: Whether the arguments are compared with the tool's schema.

    Returns:
        ``{"tool", "arguments", "decision", "reason", "method", "parts"}``, and ``rule`` and ``where`` (``FILE:LINE``)
        if a rule decided; ``would_allow`` if rules would.

    Raises:
        CliError: The arguments do not fit.
    """
    from executor import ToolCall, ToolExecutor
    from executor.cli._arguments import signature
    from executor.cli._ask import CommandGate
    from executor.run import Runner

    gate = CommandGate(app.screen, yes=False)
    runner = Runner(validate_input=check)
    executor = ToolExecutor(registry=app.registry_for([entry]), permission_plugin=gate, runner=runner)
    try:
        checked = executor.check(ToolCall("dry-run", entry.name, arguments))
    finally:
        executor.shutdown()
        runner.close()
    told = {"tool": entry.name, "arguments": arguments}
    decision = checked.decision
    if decision is None:  # the gate has an opinion on every call that fits
        raise of_failure({"error": checked.error, "errors": list(checked.errors)}, signature(entry))
    rules = gate.rules_that_allow(ToolCall("dry-run", entry.name, arguments), decision)
    return {**told, **_told(gate, decision), **({"would_allow": list(rules)} if rules else {})}


def _box(profile: Profile) -> dict[str, Any]:
    """The box that a call would run in, unless a person allows it."""
    from executor.confine import box_of
    from executor.errors import ConfinementError

    try:
        return box_of(profile).to_dict()
    except ConfinementError as error:
        return {"profile": profile.name, "box": "none", "reason": error.message}


def _told(gate: CommandGate, decision: Decision) -> dict[str, Any]:
    """A decision as a dry run says it."""
    told: dict[str, Any] = {"decision": decision.verdict, "reason": decision.reason, "method": decision.method}
    if decision.rule is not None:
        told |= {"rule": decision.rule, "where": gate.where(decision)}
    if decision.confine is not None:
        told["confine"] = _box(decision.confine)
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


class _CallCommand(click.Command):
    """Words that click cannot read are most likely a tool's arguments written as a shell would take them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it. Raises UsageError, which says what to write instead."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            text = f"{error.format_message().rstrip('.')}; what the tool is given is written key=value: command='ls -l'"
            raise click.UsageError(text, error.ctx) from error
        except click.MissingParameter as error:
            text = f"{error.format_message().rstrip('.')}: 'toolexec tools list' shows the tools that there are"
            raise click.UsageError(text, error.ctx) from error


@click.command("call", cls=_CallCommand)
@click.argument("name", shell_complete=complete_tool)
@click.argument("arguments", nargs=-1)
@json_option
@click.option("--yes", "-y", is_flag=True, help="Answer questions with yes; what a rule forbids, or may, stays so.")
@click.option("--live/--no-live", default=None, help="Show output as it comes. Default: when you watch at a terminal.")
@click.option("--timeout", type=Seconds(min=0, min_open=True), metavar="S", help="Give the call up after S seconds.")
@click.option("--threshold", type=Seconds(min=0), metavar="S", help="Make it a background task after S seconds.")
@click.option(
    "--detach", "--no-wait", "detach", is_flag=True, help="Leave it to a process of its own; print the task's id."
)
@click.option(
    "--engine",
    type=click.Choice(["dask"]),
    help="With --detach: leave it to the cluster that the configuration names.",
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
    engine: str | None,
    stream: bool,
    dry_run: bool,
) -> None:
    """
    Call the tool NAME, follow it to its end, and print its result.

    ARGUMENTS are key=value (read as the tool's schema wants them), key:=JSON, one JSON object, or - to read one
    from stdin.

    The result goes to stdout, everything else to stderr. At a terminal you see output as it comes; in a pipe or file
    stdout has the result only: of a command its stdout, of other tools text or JSON, with --json all of it. What no
    rule of the policy allows asks first; without a terminal it needs --yes. A call past its threshold becomes a task,
    and is followed all the same. Ctrl-C stops it. With --detach it goes on without a terminal: see 'toolexec tasks'.

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
      toolexec call runCommand command='make' --engine dask --detach
    """
    from executor.cli._arguments import read_arguments

    if yes:
        refuse_below_a_call()
    entry = app.find(name)
    app.stdin_is_used = arguments == ("-",)
    given = read_arguments(arguments, entry, sys.stdin)
    if dry_run:
        _show_rehearsal(app, rehearse(app, entry, given), as_json=as_json)
    if engine is not None and not detach:
        raise click.UsageError("--engine goes with --detach: a call on a cluster is a task")
    if detach:
        cluster = app.engine() if engine is not None else None
        _detach_call(app, entry, given, as_json=as_json, timeout=timeout, yes=yes, engine=cluster)
    watched = is_terminal(sys.stdout) and is_terminal(sys.stderr)
    how = Options(as_json, watched if live is None else live, timeout, threshold)
    here = watched and is_terminal(sys.stdin) and not as_json and sys.platform != "win32"
    if here and entry.plugin_name == "shell" and given.get("terminal") is True:
        _sit_before(app, entry, given, how, yes=yes)
    _follow_call(app, entry, given, how, yes=yes, stream=stream)


def _follow_call(
    app: App, entry: Registered, arguments: dict[str, Any], how: Options, *, yes: bool, stream: bool
) -> NoReturn:
    if stream:
        from executor.cli._stream import StreamedCall  # with the stream's values 4 ms

        streamed = StreamedCall(app, entry, arguments, how)
        _, value = streamed.run(yes=yes)
        passed = streamed.through.streams if streamed.through is not None else ()
        raise Exit(present(app, entry.plugin_name, value, how, passed) if passed else ExitCode.OK)
    from executor.cli._arguments import signature

    call = Call(app, entry, arguments, how)
    success, value = call.run(yes=yes)
    if not success:
        raise of_failure(value, signature(entry))
    raise Exit(present(app, entry.plugin_name, value, how, call.through.streams if call.through is not None else ()))


def _sit_before(app: App, entry: Registered, arguments: dict[str, Any], how: Options, *, yes: bool) -> NoReturn:
    """Make a call whose command asks at a terminal of its own, with this one before that: what is typed is for it."""
    from executor.cli._arguments import signature
    from executor.cli._attach import attach
    from executor.tasks import TaskManager

    task_id = _detached(app, entry, arguments, timeout=how.timeout, yes=yes)
    tasks, seen = TaskManager.open(), True
    try:
        if attach(tasks, task_id):
            app.screen.note(
                f"{task_id} goes on without you; {within('toolexec tasks attach', task_id)} comes back to it"
            )
            raise Exit(ExitCode.BACKGROUND)
    except ToolExecutorError:
        if not tasks.wait(task_id, ENDING).status.final:
            raise
        seen = False  # it was quicker than this
    tasks.wait(task_id)
    success, value = tasks.result(task_id)
    if not success:
        raise of_failure(value, signature(entry))
    raise Exit(present(app, entry.plugin_name, value, how._replace(live=seen)))


def _detach_call(
    app: App,
    entry: Registered,
    arguments: dict[str, Any],
    *,
    as_json: bool,
    timeout: float | None,
    yes: bool,
    engine: DaskEngine | None,
) -> NoReturn:
    task_id = _detached(app, entry, arguments, timeout=timeout, yes=yes, engine=engine)
    try:
        if as_json:
            app.screen.json({"task_id": task_id})
        else:
            app.screen.result(task_id)
    except CliError as error:  # the disk is full, say: nobody would know what was started
        told = f"{error.message}; the call goes on as {task_id}"
        raise CliError(told, ExitCode.UNEXPECTED, {"task_id": task_id}) from error
    if not as_json and is_terminal(sys.stdout):
        app.screen.note(f"it goes on by itself; to follow it: toolexec tasks output -f {task_id}")
    raise Exit(ExitCode.BACKGROUND)


def _detached(
    app: App,
    entry: Registered,
    arguments: dict[str, Any],
    *,
    timeout: float | None,
    yes: bool,
    engine: DaskEngine | None = None,
) -> str:
    """The task of a call that was left to a process of its own, or to a cluster, once it was judged."""
    from executor import ToolCall
    from executor.cli._ask import CommandGate, terminal
    from executor.cli._tasks import open_tasks

    executor = app.executor(CommandGate(app.screen, yes=yes), entries=[entry], engine=engine, tasks=open_tasks())
    with terminal(stdin_is_used=app.stdin_is_used) as channel:
        if channel is not None:
            executor.approvals.add_channel("terminal", channel)
        try:
            return executor.detach(ToolCall("detached", entry.name, arguments), timeout=timeout)
        finally:
            executor.shutdown()
            if engine is not None:
                engine.close()


def show_judgement(app: App, told: dict[str, Any]) -> None:
    """Show what `rehearse` has found."""
    place = f"; {told['where']}" if told.get("where") else ""
    app.screen.result(printable(f"{told['tool']}: {told['decision']} ({told['reason']}; {told['method']}{place})"))
    parts = told.get("parts", ())
    if len(parts) > 1 or (parts and parts[0]["text"] != told["tool"]):
        rows = [(part["decision"], part["text"], part["reason"], part["where"] or "") for part in parts]
        rows = list(dict.fromkeys(rows))  # what a loop runs is judged for each of its rounds
        app.screen.table(("decision", "part", "because", "rule at"), rows, whole=("rule at",))
    if "confine" in told:
        box = told["confine"]
        held = f" (not held: {', '.join(box['open'])})" if "open" in box else ""
        app.screen.result(printable(f"box: {box['profile']}: {box['box']}{held}"))


def _show_rehearsal(app: App, told: dict[str, Any], *, as_json: bool) -> NoReturn:
    if as_json:
        app.screen.json(told)
    else:
        show_judgement(app, told)
        app.screen.result("Nothing was run.")
    raise Exit(ExitCode.DENIED if told["decision"] == "deny" else ExitCode.OK)

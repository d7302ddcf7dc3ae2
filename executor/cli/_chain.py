"""``toolexec chain``: the steps of a file, one after the other, each judged like a call of its own."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from executor.cli._app import App, Seconds, json_option, pass_app
from executor.cli._call import rehearse
from executor.cli._errors import CliError, ExitCode, of_library
from executor.cli._follow import Call, Options
from executor.cli._people import refuse_below_a_call
from executor.cli._render import for_person, is_terminal, to_json
from executor.errors import ChainError, InvalidArgumentsError, ToolExecutorError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor import ToolExecutor
    from executor.run import ChainStep, ProgressEvent, StepResult
    from executor.tools import Registered
    from executor.values import Outcome


class ChainCall(Call):
    """
    One chain, followed like one call.

    Args:
        entries: The tools of its steps.
        steps: As they stand in the file.
    """

    def __init__(self, app: App, entries: list[Registered], steps: list[Any], options: Options) -> None:
        super().__init__(app, entries[0], {}, options)
        self._entries = entries
        self._steps = steps

    def _follow(self, executor: ToolExecutor) -> Outcome:
        options, screen = self._options, self._app.screen
        try:
            result = executor.execute_chain(
                self._steps,
                on_output=screen.output if options.live else None,
                on_progress=(lambda event: screen.progress(event.progress, event.total, event.message))
                if options.live
                else None,
                timeout=options.timeout,
                cancel=self._cancel,
            )
        except ChainError as error:
            raise _of_chain(error, ExitCode.FAILED) from error
        value = result.final.structured if result.final is not None else None
        return True, {"final": value, "steps": [_record(step) for step in result.steps]} if options.as_json else value

    def _show_progress(self, event: ProgressEvent) -> None:
        self._app.screen.progress(event.progress, event.total, event.message)


def _of_chain(error: ChainError, otherwise: ExitCode) -> CliError:
    """The error of a step, with the exit code that its cause would have by itself, or else *otherwise*."""
    cause = error.__cause__
    told = of_library(cause) if isinstance(cause, ToolExecutorError) else None
    steps = [_record(step) for step in error.steps]
    details = {**(told.details if told is not None else {}), "index": error.index, "steps": steps}
    code = ExitCode(told.exit_code) if told is not None else otherwise
    return CliError(error.message, code, details)


def _record(step: StepResult) -> dict[str, Any]:
    """A step for a program to read: what `StepResult.to_dict` has, without the whole definition of its tool."""
    told = {key: value for key, value in step.to_dict().items() if key != "result"}
    if step.result is not None:
        told["value"] = step.value
    if step.error is not None:
        told["error"] = str(step.error)
    return told


def read(name: str) -> tuple[list[Any], float | None]:
    """
    The steps in a file, and the time limit for all of them.

    Raises:
        CliError: It cannot be read, or is neither.
    """
    from executor.jsontext import parse

    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        value = _toml(text) if name.endswith(".toml") else parse(text)
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"{name}: it cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except (InvalidArgumentsError, ValueError) as error:
        reason = error.errors[0]["message"] if isinstance(error, InvalidArgumentsError) else str(error)
        raise CliError(f"{name}: {reason}") from error
    if isinstance(value, list):
        value = {"steps": value}
    if not isinstance(value, dict):
        value = {}
    unknown = sorted(set(value) - {"steps", "timeout"})
    if unknown:
        raise CliError(f"{name}: unknown key {unknown[0]!r}: use steps, timeout")
    if not isinstance(value.get("steps"), list):
        raise CliError(f'{name}: there are no "steps": give a list of them')
    return value["steps"], value.get("timeout")


def _toml(text: str) -> Any:
    import tomllib

    return tomllib.loads(text)


def _rehearse(app: App, step: ChainStep, entry: Registered) -> dict[str, Any]:
    """What would become of a step; arguments that an earlier step makes are not there to be checked."""
    arguments = {} if step.args is None else _as_written(step.args)
    later = step.use_previous or arguments != (step.args or {})  # references are written in words of JSON
    told = rehearse(app, entry, arguments, check=not later)
    return {**told, "arguments_checked": not later}


def _as_written(value: Mapping[str, Any]) -> dict[str, Any]:
    from executor.run import ChainStep

    written = ChainStep("x", value).to_dict().get("args", {})
    assert isinstance(written, dict)
    return written


@click.command("chain")
@click.argument("file", type=click.Path(allow_dash=True))
@json_option
@click.option("--yes", "-y", is_flag=True, help="Answer questions with yes; what a rule forbids, or may, stays so.")
@click.option("--live/--no-live", default=None, help="Show output as it comes. Default: when you watch at a terminal.")
@click.option("--timeout", type=Seconds(min=0, min_open=True), metavar="S", help="Give the chain up after S seconds.")
@click.option("--dry-run", is_flag=True, help="Check every step, say what would be decided, and run nothing.")
@pass_app
def command(
    app: App, file: str, *, as_json: bool, yes: bool, live: bool | None, timeout: float | None, dry_run: bool
) -> None:
    """
    Run the steps in FILE one after the other, and print the last result.

    FILE is JSON or TOML (.toml), or - for JSON on stdin: a list of steps, or an object with steps and timeout. A step
    has toolId, args, usePrevious, name, when, onError, timeout, retry; {"parallel": [steps], "maxConcurrency": n} runs
    side by side; {"$step": "name.path"} in arguments stands for an earlier step's value.

    Every step is asked for like a call of its own. The first one that fails ends the chain, with its exit code.

    \b
    Examples:
      toolexec chain steps.json --dry-run
      toolexec chain steps.toml --yes
      echo '[{"toolId": "echo", "args": {"text": "hi"}}]' | toolexec chain -
    """
    from executor.run import check_chain

    if yes:
        refuse_below_a_call()
    app.stdin_is_used = file == "-"
    steps, limit = read(file)
    try:
        flat = check_chain(steps)
    except ChainError as error:
        raise _of_chain(error, ExitCode.USAGE) from error
    entries = [app.find(step.tool_id) for step in flat]
    if dry_run:
        _show(app, [_rehearse(app, step, entry) for step, entry in zip(flat, entries, strict=True)], as_json=as_json)
    if not entries:
        raise Exit(ExitCode.OK)
    if live is None:
        live = is_terminal(sys.stdout) and is_terminal(sys.stderr)
    how = Options(as_json, live, timeout if timeout is not None else limit, None)
    _, value = ChainCall(app, entries, steps, how).run(yes=yes)
    if as_json:
        app.screen.json(value)
    elif value is not None:
        readable = is_terminal(sys.stdout) or isinstance(value, str)
        app.screen.result(for_person(value) if readable else to_json(value))


def _show(app: App, told: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print what would become of every step, and end the command."""
    if as_json:
        app.screen.json({"steps": told})
    else:
        for place, step in enumerate(told):
            later = "" if step["arguments_checked"] else "; its arguments are checked when it runs"
            app.screen.result(f"{place} {step['tool']}: {step['decision']} ({step['reason']}; {step['method']}){later}")
        app.screen.result("Nothing was run.")
    raise Exit(ExitCode.DENIED if any(step["decision"] == "deny" for step in told) else ExitCode.OK)

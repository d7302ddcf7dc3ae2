"""``toolexec approvals``: the questions that wait for a person, of all processes of this user, and their answers."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import json
import queue
import sys
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from executor.cli._app import App, Seconds, json_option, pass_app
from executor.cli._errors import CliError
from executor.cli._help import Group
from executor.cli._people import for_people

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from executor.approval import Approval, Surface

END = "end"  # what wakes a watch whose time, or whose reader's, is over


@click.group("approvals", cls=Group)
def group() -> None:
    """
    Show the questions that wait for a person, and answer them.

    They are those of all your processes: assistants, servers, other terminals, tasks in the background. The first
    answer wins, wherever it is given. The id of a question may be cut short, as long as it is the only one so.

    \b
    Examples:
      toolexec approvals list
      toolexec approvals answer ask_4f yes
      toolexec approvals watch
    """


@contextmanager
def _looking() -> Iterator[Surface]:
    """A surface that only looks: nobody takes it for a person who stays."""
    from executor.approval import Surface

    with Surface("terminal", stays=False) as surface:
        yield surface


def find(surface: Surface, approval_id: str) -> Approval:
    """The open question of this id, or the only one whose id begins so. Raises CliError."""
    pending = surface.pending()
    near = [one for one in pending if one.id == approval_id] or [
        one for one in pending if approval_id and one.id.startswith(approval_id)
    ]
    if len(near) == 1:
        return near[0]
    if near:
        raise CliError(f"{len(near)} questions have an id that begins with {approval_id!r}: give more of it")
    raise CliError(f"no question {approval_id!r} is open: 'toolexec approvals list' shows those that are")


def told(approval: Approval) -> dict[str, Any]:
    """A question in the shape that ``--json`` writes."""
    return {
        "id": approval.id,
        "tool": approval.tool,
        "arguments": approval.arguments,
        "reason": approval.reason,
        "parts": list(approval.parts),
        "text": approval.text,
        "offered_rule": approval.offered_rule,
        "options": list(approval.options),
        "deadline": approval.deadline,
        "digest": approval.digest,
        "details": dict(approval.details),
        "origin": approval.origin,
        "secret": approval.secret,
    }


def _left(approval: Approval) -> str:
    return "" if approval.deadline is None else f"{max(0.0, approval.deadline - time.time()):.0f} s"


def _asker(approval: Approval) -> str:
    """For whom a question is asked, where that is told apart, and by which process."""
    who = (f"{label} {approval.details[label]}" for label in ("agent", "client") if approval.details.get(label))
    return ", ".join([*who, approval.origin])


def _full(approval: Approval) -> str:
    from executor.approval import question_text, visible

    text = approval.text or question_text(approval.tool, approval.arguments, approval.reason)
    lines = [text, f"asked by: {visible(approval.origin)}"]
    if approval.deadline is not None:
        lines.append(f"taken for a no in {_left(approval)}")
    return "\n".join([*lines, f"answers: {visible(', '.join(approval.options))}"])


@group.command("list")
@json_option
@pass_app
@for_people
def list_command(app: App, *, as_json: bool) -> None:
    """
    List the questions that wait.

    \b
    Example:
      toolexec approvals list --json
    """
    with _looking() as surface:
        pending = surface.pending()
    if as_json:
        app.screen.json([told(approval) for approval in pending])
    elif not pending:
        app.screen.note("no question waits for an answer")
    else:
        from executor.approval import visible

        rows = [(one.id, visible(one.tool), visible(one.reason), _left(one), visible(_asker(one))) for one in pending]
        app.screen.table(("QUESTION", "TOOL", "WHY", "LEFT", "ASKED BY"), rows)


@group.command("show")
@click.argument("approval_id", metavar="ID")
@json_option
@pass_app
@for_people
def show_command(app: App, approval_id: str, *, as_json: bool) -> None:
    """
    Show a question as a person is asked it.

    \b
    Example:
      toolexec approvals show ask_4f
    """
    with _looking() as surface:
        approval = find(surface, approval_id)
    if as_json:
        app.screen.json(told(approval))
    else:
        app.screen.result(_full(approval))


@group.command("answer")
@click.argument("approval_id", metavar="ID")
@click.argument("words", nargs=-1, metavar="ANSWER...")
@click.option("--digest", metavar="DIGEST", help="Only if the question is still this one ('show --json' says it).")
@json_option
@pass_app
@for_people
def answer_command(app: App, approval_id: str, words: tuple[str, ...], *, digest: str | None, as_json: bool) -> None:
    """
    Answer a question: yes, no, once, always, never … ('show' lists what can be said).

    A secret is typed here, unseen, and not given on the command line, where others could read it.

    'yes: TEXT' and 'no: TEXT' tell the model something with it; 'always' may say how far it reaches; 'edit' takes the
    arguments to run instead, as JSON. A second answer to the same question changes nothing.

    \b
    Examples:
      toolexec approvals answer ask_4f yes
      toolexec approvals answer ask_4f always project for 8h
      toolexec approvals answer ask_4f no: use git mv
      toolexec approvals answer ask_4f edit '{"command": "ls -l"}'
    """
    with _looking() as surface:
        approval = find(surface, approval_id)
        said = _secret(words) if approval.secret else _said(words)
        word = said[0] if isinstance(said, tuple) else said.word
        if word not in approval.options and word != "no":
            raise CliError(f"{word!r} is no answer to it: say one of {', '.join(approval.options)}")
        won = surface.answer(approval.id, said, digest=digest)
        waits = approval.id in [one.id for one in surface.pending()]
    if not won and waits and digest in (None, approval.digest):
        raise CliError(
            f"{approval.id} still waits, and was not answered: {approval.origin} does not reply, or cannot act upon it"
        )
    if not won:
        raise CliError(f"{approval.id} is not open any more, or is about something else now: it was not answered")
    if as_json:
        app.screen.json({"id": approval.id, "answered": True})
    else:
        app.screen.result(f"{approval.id} was answered: {word}")


def _secret(words: tuple[str, ...]) -> Any:
    """The secret that is typed now, or a no. Raises CliError."""
    from executor.approval import Answer

    if not words:
        return Answer("comment", click.prompt("the secret", hide_input=True, err=True))
    if words in (("no",), ("n",)):
        return Answer("no")
    raise CliError("it asks for a secret: give no answer on the command line, and type it when you are asked")


def _said(words: tuple[str, ...]) -> Any:
    """The answer that was given. Raises CliError."""
    from executor.approval import read_answer

    if not words:
        raise CliError("no answer was given: see 'toolexec approvals answer --help'")
    if words[0].lower() in ("edit", "e"):
        try:
            arguments = json.loads(" ".join(words[1:]))
        except ValueError as error:
            raise CliError(f"'edit' takes the arguments to run instead, as a JSON object ({error})") from error
        if not isinstance(arguments, dict):
            raise CliError("'edit' takes the arguments to run instead, as a JSON object")
        return ("edit", arguments)
    said = read_answer(" ".join(words))
    if said is None:
        raise CliError(f"{' '.join(words)!r} is not understood as an answer: see 'toolexec approvals answer --help'")
    return said


@group.command("watch")
@json_option
@click.option("--timeout", type=Seconds(min=0, min_open=True), metavar="S", help="End after S seconds.")
@pass_app
@for_people
def watch_command(app: App, *, as_json: bool, timeout: float | None) -> None:
    """
    Show questions as they come, and answer them here, until Ctrl-C.

    With --json, or without a terminal, each is a line of JSON: {"event": "asked" or "closed", "question": …}; they are
    answered by 'toolexec approvals answer'. As long as it runs, there is somebody to ask.

    \b
    Example:
      toolexec approvals watch
    """
    import threading

    from executor.approval import Surface
    from executor.cli._ask import terminal

    events: queue.SimpleQueue[tuple[str, Approval | None]] = queue.SimpleQueue()
    timer = threading.Timer(timeout, events.put, ((END, None),)) if timeout is not None else None
    surface = Surface("terminal", lambda event, approval: events.put((event, approval)))
    with terminal(stdin_is_used=app.stdin_is_used) as channel, surface:
        if timer is not None:
            timer.daemon = True
            timer.start()
        if channel is None or as_json:
            _when_unread(partial(events.put, (END, None)))
        else:
            app.screen.note("questions of all your processes come here; Ctrl-C ends it")
        try:
            while (event := events.get())[1] is not None:
                if not _show(app, surface, None if as_json else channel, *event):
                    return  # nobody would answer what comes
        finally:
            if timer is not None:
                timer.cancel()


def _when_unread(fn: Callable[[], object]) -> None:
    """Call *fn* once nobody can read stdout any more: who would answer what is written there has gone."""
    import select
    import threading

    if sys.stdout is None or not hasattr(select, "poll"):
        return
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # it is no file of the system's
        return

    def wait() -> None:
        end = select.poll()
        end.register(descriptor, 0)  # that, and errors, is always told
        end.poll()
        fn()

    threading.Thread(target=wait, name="executor-approvals-reader", daemon=True).start()


def _show(app: App, surface: Surface, channel: Any, event: str, approval: Approval | None) -> bool:
    """Returns whether anybody is there for the next one."""
    assert approval is not None, "the end is not shown"
    if channel is None:
        return app.screen.raw(json.dumps({"event": event, "question": told(approval)}) + "\n")
    if event == "asked":
        channel.ask(approval, partial(surface.answer, approval.id, digest=approval.digest))
    else:
        channel.withdraw(approval.id)
    return True

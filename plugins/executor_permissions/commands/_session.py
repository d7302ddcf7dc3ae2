"""``toolexec permissions session``: what holds at this terminal until it is closed."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from executor.cli import App, CliError, Group, for_people, json_option, pass_app, terminal_session
from executor_permissions._plugin import PermissionPlugin

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor_permissions._session import DefaultVerdict, Session


@click.group("session", cls=Group)
def session_group() -> None:
    """
    Allow, forbid and skip questions for this terminal's session; no policy file is changed.

    \b
    Examples:
      toolexec permissions session allow 'git status *'
      toolexec permissions session suspend
      toolexec permissions session status
    """


def _plugin() -> PermissionPlugin:
    """The plugin, in this terminal's session. Raises CliError, PermissionConfigError."""
    session = terminal_session()
    if not session:
        raise CliError("what session this terminal has cannot be told here: add rules with 'toolexec permissions add'")
    return PermissionPlugin(terminal=False, session_id=session)


def _session() -> Session:
    """This terminal's session. Raises as `_plugin`."""
    return _plugin().session


def _change(app: App, change: Callable[[Session], None]) -> None:
    """Change the rules of this terminal's session, and say what is odd about them."""
    plugin = _plugin()
    before = plugin.policy
    change(plugin.session)
    _show(app, plugin.session.status())
    for problem in plugin.policy.problems if plugin.policy is not None else ():
        if before is None or problem not in before.problems:
            app.screen.warning(problem)


def _show(app: App, status: Any) -> None:
    rows = [(name, rule) for name in ("allow", "deny") for rule in status[name]]
    rows += [
        (f"answered {'always' if grant['verdict'] == 'allow' else 'never'}", grant["rule"])
        for grant in status["grants"]
    ]
    app.screen.result(
        f"what no rule is about: {status['effective_default']}\n"
        f"questions are {'skipped: ' + str(status['suspension_scope']) if status['is_suspended'] else 'asked'}"
    )
    if rows:
        app.screen.table(("session", "rule"), rows)


@session_group.command("status")
@json_option
@pass_app
def status_command(app: App, *, as_json: bool) -> None:
    """
    Show what holds for this session.

    \b
    Example:
      toolexec permissions session status --json
    """
    status = _session().status()
    if as_json:
        app.screen.json(status)
    else:
        _show(app, status)


@session_group.command("allow")
@click.argument("rule")
@pass_app
@for_people
def allow_command(app: App, rule: str) -> None:
    """
    Let run what RULE covers: a tool, a pattern for commands, or tool(argument=value).

    What the policy forbids, or asks about every time, stays so.

    \b
    Example:
      toolexec permissions session allow 'npm test *'
    """
    _change(app, lambda session: session.allow(rule))


@session_group.command("deny")
@click.argument("rule")
@pass_app
@for_people
def deny_command(app: App, rule: str) -> None:
    """
    Forbid what RULE is about.

    \b
    Example:
      toolexec permissions session deny 'git push *'
    """
    _change(app, lambda session: session.deny(rule))


@session_group.command("default")
@click.argument("verdict", type=click.Choice(["allow", "ask", "deny", "policy"]))
@pass_app
@for_people
def default_command(app: App, verdict: DefaultVerdict) -> None:
    """
    Say what becomes of calls that no rule is about; 'policy' is what the policy says.

    \b
    Example:
      toolexec permissions session default deny
    """
    session = _session()
    session.default(None if str(verdict) == "policy" else verdict)
    _show(app, session.status())


@session_group.command("suspend")
@pass_app
@for_people
def suspend_command(app: App) -> None:
    """
    Skip questions until 'resume', or until the terminal is closed. What is forbidden, or may be, is not skipped.

    \b
    Example:
      toolexec permissions session suspend
    """
    session = _session()
    session.suspend("all")
    _show(app, session.status())


@session_group.command("resume")
@pass_app
@for_people
def resume_command(app: App) -> None:
    """
    Ask again.

    \b
    Example:
      toolexec permissions session resume
    """
    session = _session()
    session.resume()
    _show(app, session.status())


@session_group.command("clear")
@pass_app
@for_people
def clear_command(app: App) -> None:
    """
    Take away the rules, the default and the answers of this session; 'resume' asks again.

    \b
    Example:
      toolexec permissions session clear
    """
    session = _session()
    session.clear()
    _show(app, session.status())

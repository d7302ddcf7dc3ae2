"""``toolexec permissions explain``: why a call is allowed, asked about or forbidden, and what would change that."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from executor.cli import App, complete_tool, json_option, pass_app, read_arguments, rehearse, terminal_session
from executor.ownfolders import home_folder
from executor.pasted import operand
from executor_permissions._plugin import PermissionPlugin
from executor_permissions.ask._caller import info_of
from executor_permissions.ask._offer import as_patterns, rules_for
from executor_permissions.commands import _covers
from executor_permissions.commands._edit import can_be_removed
from executor_permissions.commands._reading import read_as
from executor_permissions.judge.rules._rules import OWN_FILES
from executor_permissions.store._load import Policy, key_of
from executor_permissions.store._problems import DOES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor_permissions.judge.rules._scene import CallInfo

_CLEAR = "toolexec permissions session clear"


@click.command("explain")
@click.argument("what", shell_complete=complete_tool)
@click.argument("arguments", nargs=-1)
@json_option
@pass_app
def explain_command(app: App, what: str, arguments: tuple[str, ...], *, as_json: bool) -> None:
    """
    Say why a call is allowed, asked about or forbidden, part by part, and which rule would change that.

    WHAT is a tool, with its ARGUMENTS; or a rule, to be told how it is read and what it covers. Nothing is run.

    \b
    Examples:
      toolexec permissions explain runCommand command='git status && npm publish'
      toolexec permissions explain 'git *'
    """
    if arguments or what in app.registry.tools:
        _explain_call(app, what, arguments, as_json=as_json)
    else:
        _explain_rule(app, what, as_json=as_json)


def _explain_call(app: App, name: str, arguments: tuple[str, ...], *, as_json: bool) -> None:
    entry = app.find(name)
    told = rehearse(app, entry, read_arguments(arguments, entry, sys.stdin))
    if not told.get("parts"):
        told["parts"] = [{**told, "text": name, "rule": told.get("rule"), "where": told.get("where")}]
    policy = PermissionPlugin(terminal=False, session_id=terminal_session()).policy
    assert policy is not None, "it has just been loaded"
    helps = partial(lets_run, policy, name, told["arguments"], info_of(name, None, entry.tool))
    rules = tuple(told.get("would_allow", ()))
    for part in told["parts"]:
        whole = len(told["parts"]) == 1
        part["mend"] = mend(part, rules if whole else tuple(r for r in rules if helps(part["text"], (r,))), helps)
    if as_json:
        app.screen.json(told)
        return
    app.screen.heading(f"{name}: {told['decision']} ({told['reason']})")
    for text in dict.fromkeys(map(_said, told["parts"])):  # what a loop runs is judged for each of its rounds
        app.screen.result(text)


def _said(part: Mapping[str, Any]) -> str:
    place = f" ({part['where']})" if part.get("where") else ""
    mended = f"\n  {part['mend']}" if part["mend"] else ""
    return f"{part['decision']}: {part['text']}\n  {part['reason']}{place}{mended}"


def lets_run(
    policy: Policy, tool: str, arguments: Mapping[str, Any], info: CallInfo, text: str, rules: tuple[str, ...]
) -> bool:
    """Whether *rules*, put in the whitelist, would let the part *text* of a call run."""
    decision = policy.varied(allow=rules).decide(tool, dict(arguments), info)
    verdicts = [part.verdict for part in decision.parts if part.text == text]
    return bool(verdicts) and all(verdict == "allow" for verdict in verdicts)


def mend(
    part: Mapping[str, Any], would_allow: tuple[str, ...], helps: Callable[[str, tuple[str, ...]], bool]
) -> str | None:
    """What the person can do about a part that is not allowed; *helps*: see `lets_run`."""
    if part["decision"] == "allow":
        return None
    lists = {"blacklist": "--deny ", "ask_rule": "--ask "}
    if part["method"] in lists and part["rule"] is not None:
        if not part.get("where"):  # it stands in no file
            return f"to change that: {_CLEAR}" if part["rule"] != OWN_FILES else None
        if not can_be_removed(part["rule"], part["where"]):
            return f"to change that: take it out of {part['where']}"
        return f"to change that: toolexec permissions remove {lists[part['method']]}{operand(part['rule'])}"
    if part["method"] != "default":
        return None
    rules = would_allow or as_patterns((rules_for(part["text"], str(home_folder())) or ())[:1])
    if not rules or not (would_allow or helps(part["text"], rules)):
        return None
    return f"to allow it: {'; '.join(f'toolexec permissions add {operand(rule)}' for rule in rules)}"


def _explain_rule(app: App, rule: str, *, as_json: bool) -> None:
    key = key_of(rule)
    alone = Policy.from_dict({"whitelist": {key: [rule]}})
    told = {name: _dead(name, key, rule) or read_as(name, key, rule) for name in ("whitelist", "ask", "blacklist")}
    covers = _covers.told(Policy.from_dict({}), alone)
    if as_json:
        app.screen.json({"rule": rule, "read_as": told, "covers": covers, "problems": list(alone.problems)})
        return
    for name, text in told.items():
        app.screen.result(f"in the {name}: it {text}")
    for text in (covers, *alone.problems):
        if text and not text.endswith(told["whitelist"]):
            app.screen.warning(text)


def _dead(list_name: str, key: str, rule: str) -> str | None:
    """Why *rule* would match nothing in that list: ``allows nothing: …``; None if it can match."""
    problems = Policy.from_dict({list_name: {key: [rule]}}).problems
    found = (text.partition(f"{rule!r} ")[2] for text in problems)
    return next((text for text in found if text.startswith(f"{DOES[list_name]} nothing: ")), None)

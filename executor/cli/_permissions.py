"""``toolexec permissions``: the policy, what it decides, and what people have answered."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.exceptions import Exit

from executor.cli._app import App, complete_tool, json_option, pass_app
from executor.cli._errors import CliError, ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from executor.cli._policy_edit import ListName

C = TypeVar("C", bound="Callable[..., Any]")
_ASKED = frozenset(  # methods by which a call that the policy asks about came to its end
    {"user_approved", "user_denied", "user_comment", "turn_suspension", "idle_suspension", "allow_all"}
    | {"timeout", "no_channel", "yes_option"}
)


@click.group("permissions")
def group() -> None:
    """
    Look at the permission policy, try it, and change it.

    \b
    Examples:
      toolexec permissions show
      toolexec permissions check runCommand command='git status && ls'
      toolexec permissions add 'git status *'
    """


def _plugin() -> Any:
    """The permission plugin. Raises CliError without one, and PermissionConfigError if the policy does not load."""
    from executor.cli._policy import PLUGIN, make_plugin

    plugin = make_plugin()
    if plugin is None:
        raise CliError(f"{PLUGIN} cannot be imported: install the package as a whole", ExitCode.UNAVAILABLE)
    return plugin


def _part(module: str) -> Any:
    from executor.cli._policy import PLUGIN, plugin_part

    try:
        return plugin_part(module)
    except ImportError as error:
        raise CliError(f"{PLUGIN} cannot be imported: {error}", ExitCode.UNAVAILABLE) from error


@group.command("show")
@json_option
@pass_app
def show_command(app: App, *, as_json: bool) -> None:
    """
    Show the policy in force: its files, its rules and where each stands, what is odd about it.

    \b
    Example:
      toolexec permissions show --json
    """
    from executor.cli._policy import policy_file, project_file
    from executor.cli._policy_edit import rules

    policy = _plugin().policy
    path, exists = policy_file()
    own = project_file(policy.places.project)
    found = rules(policy)
    if as_json:
        told = {"path": str(path), "exists": exists, "project": policy.places.project, "default": policy.default}
        told |= {"project_file": str(own) if own.exists() else None, "channel": policy.channel.get("type", "console")}
        app.screen.json({**told, "rules": [asdict(rule) for rule in found], "problems": list(policy.problems)})
        return
    app.screen.heading(f"{path}{'' if exists else ' (there is none)'}")
    app.screen.result(f"project: {policy.places.project}\nwhat no rule is about: {policy.default}")
    rows = [(rule.list if rule.in_force else f"({rule.list})", rule.key, rule.rule, rule.where) for rule in found]
    if rows:
        app.screen.table(("list", "of", "rule", "at"), rows)
    for problem in policy.problems:
        app.screen.warning(problem)


@group.command("check")
@click.argument("name", shell_complete=complete_tool)
@click.argument("arguments", nargs=-1)
@json_option
@pass_app
def check_command(app: App, name: str, arguments: tuple[str, ...], *, as_json: bool) -> None:
    """
    Say what would be decided about a call, by which rule, part by part. Nothing is run, and nobody is asked.

    The exit code is 3 for what is denied, and 0 for what is allowed or asked about.

    \b
    Example:
      toolexec permissions check runCommand command='git status && curl example.com | sh'
    """
    from executor.cli import _arguments
    from executor.cli._call import rehearse, show_judgement

    entry = app.find(name)
    told = rehearse(app, entry, _arguments.read(arguments, entry, sys.stdin))
    if as_json:
        app.screen.json(told)
    else:
        show_judgement(app, told)
    raise Exit(ExitCode.DENIED if told["decision"] == "deny" else ExitCode.OK)


@group.command("test")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@json_option
@pass_app
def test_command(app: App, file: Path | None, *, as_json: bool) -> None:
    """
    Run the tests in a policy file, by default the one in use; the exit code is 5 if one fails.

    \b
    Example:
      toolexec permissions test permissions.json
    """
    from executor.cli._policy import policy_file

    path = file or policy_file()[0]
    results = list(_run_tests(path))
    failed = sum(result["got"] != result["expect"] for result in results)
    if as_json:
        app.screen.json({"path": str(path), "passed": len(results) - failed, "failed": failed, "tests": results})
    else:
        for result in results:
            if result["got"] != result["expect"]:
                text = f"{path}:{result['line']}: {result['tool']} {json.dumps(result['args'], ensure_ascii=False)}"
                app.screen.result(f"{text}: {result['got']} ({result['reason']}), not {result['expect']}")
        app.screen.result(f"{path}: {len(results) - failed} passed, {failed} failed")
    raise Exit(ExitCode.FAILED if failed else ExitCode.OK)


def _run_tests(path: Path) -> Iterator[dict[str, Any]]:
    load, marks = _part("store._load"), _part("judge._rules").Placeholders
    source = load.read_source(path)
    tests = source.value.get("tests", ())
    source.value = {key: item for key, item in source.value.items() if key != "tests"}
    policy = load.build([source])
    places = marks(policy.places.project, policy.places.home)
    for i, test in enumerate(tests):
        args = load._expanded(test.get("args", {}), places)  # noqa: SLF001 -- as the plugin runs them when it loads
        decision = policy.decide(test["tool"], args)
        told = {"tool": test["tool"], "args": test.get("args", {}), "expect": test["expect"]}
        line = source.lines.line(("tests", i))
        yield {**told, "got": decision.verdict, "reason": decision.reason, "rule": decision.rule, "line": line}


@group.command("trust")
@click.argument("folder", required=False, type=click.Path(path_type=Path, exists=True, file_okay=False))
@pass_app
def trust_command(app: App, folder: Path | None) -> None:
    """
    Let the policy file of a project allow things, as long as it stays as it is now.

    \b
    Example:
      toolexec permissions trust .
    """
    from executor.cli._policy import project_file

    root = folder.resolve() if folder is not None else _part("store._load").find_project()
    plugin = _part("").PermissionPlugin(project_root=root)
    path = project_file(root)
    if not plugin.trust_project():
        raise CliError(f"{path}: there is no such file: a project without one needs no trust")
    app.screen.result(f"what {path} allows now holds, until the file changes")


@group.command("untrust")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@pass_app
def untrust_command(app: App, folder: Path | None) -> None:
    """
    Take trust from a project: what its policy file allows holds no longer.

    \b
    Example:
      toolexec permissions untrust .
    """
    load = _part("store._load")
    root = folder.resolve() if folder is not None else load.find_project()
    if not _part("store._trust").Trust(load.default_state_dir()).forget(root):
        raise CliError(f"{root} was not trusted")
    app.screen.result(f"{root} is no longer trusted")


def _list_options(command: C) -> C:
    ask = click.option("--ask", "list_name", flag_value="ask", help="The list of what is asked about every time.")
    deny = click.option("--deny", "list_name", flag_value="blacklist", help="The list of what is forbidden.")
    allow = click.option("--allow", "list_name", flag_value="whitelist", default="whitelist", help="The default.")
    return ask(deny(allow(command)))


@group.command("add")
@click.argument("rule")
@_list_options
@pass_app
def add_command(app: App, rule: str, list_name: ListName) -> None:
    """
    Add a rule to your policy file: the name of a tool, a pattern for commands, or tool(argument=value).

    Without --ask or --deny it goes to the whitelist. A file that does not load, or would not any more, stays as it is.

    \b
    Examples:
      toolexec permissions add 'git status *'
      toolexec permissions add --deny 'sudo *'
      toolexec permissions add 'mcp__github__*'
    """
    from executor.cli._policy import policy_file
    from executor.cli._policy_edit import add_rule

    before = set(_plugin().policy.problems)
    first = not policy_file()[0].exists()
    is_tool = rule.startswith("mcp__") or rule in app.registry.tools
    path, added = add_rule(rule, list_name, "tools" if is_tool and "(" not in rule else "patterns")
    app.screen.result(f"{path}: {list_name}: {rule}{'' if added else ' (it was there already)'}")
    if first:
        app.screen.note("from now on this file decides: tools that only read need a rule as well")
    for problem in _plugin().policy.problems:
        if problem not in before:
            app.screen.warning(problem)


@group.command("remove")
@click.argument("rule")
@_list_options
@pass_app
def remove_command(app: App, rule: str, list_name: ListName) -> None:
    """
    Take a rule out of your policy file: from the whitelist, or the list that is named.

    \b
    Example:
      toolexec permissions remove --deny 'sudo *'
    """
    from executor.cli._policy_edit import remove_rule

    _part("")
    path = remove_rule(rule, list_name)
    app.screen.result(f"{path}: {list_name}: {rule} was removed")


@group.group("grants")
def grants_group() -> None:
    """
    Look after what was answered with 'always' or 'never' for a project or for good.

    \b
    Examples:
      toolexec permissions grants list
      toolexec permissions grants revoke grant_0a1b2c3d4e5f
    """


def _book() -> Any:
    load, rules = _part("store._load"), _part("judge._rules")
    places = rules.Placeholders(str(load.find_project()), str(Path.home()))
    return _part("store._grants").GrantBook(load.default_state_dir(), places)


@grants_group.command("list")
@json_option
@pass_app
def grants_list_command(app: App, *, as_json: bool) -> None:
    """
    List the lasting grants.

    \b
    Example:
      toolexec permissions grants list --json
    """
    grants = _book().all()
    if as_json:
        app.screen.json([grant.to_dict() for grant in grants])
        return
    rows = [
        (grant.id, grant.verdict, grant.tool, grant.rule, grant.project if grant.scope == "project" else grant.scope,
         "" if grant.expires is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(grant.expires)),
         "" if grant.uses_left is None else str(grant.uses_left))
        for grant in grants
    ]  # fmt: skip
    app.screen.table(("grant", "verdict", "tool", "rule", "for", "until", "uses left"), rows)


@grants_group.command("revoke")
@click.argument("grant_id")
@pass_app
def grants_revoke_command(app: App, grant_id: str) -> None:
    """
    End a grant.

    \b
    Example:
      toolexec permissions grants revoke grant_0a1b2c3d4e5f
    """
    if not _book().revoke(grant_id):
        raise CliError(f"there is no grant {grant_id!r}: see 'toolexec permissions grants list'")
    app.screen.result(f"{grant_id} was revoked")


@group.command("log")
@json_option
@click.option("--last", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="The newest N.")
@pass_app
def log_command(app: App, *, as_json: bool, last: int) -> None:
    """
    Show what was decided about calls, from the ledger that the configuration names.

    \b
    Example:
      toolexec permissions log --last 10
    """
    config = app.config
    if config.ledger is None:
        raise CliError(f'no ledger is kept: write ledger = "calls.jsonl" in {config.path}')
    wanted = ("permission-check", "permission-error")
    records = [record for record in _records(app, config.ledger) if record.get("stage") in wanted][-last:]
    if as_json:
        app.screen.json(records)
        return
    rows = [
        (_when(record.get("ts")), "allowed" if record.get("allowed") else "denied",
         str(record.get("tool")), json.dumps(record.get("args"), ensure_ascii=False)[:120],
         str(record.get("method", "error")))
        for record in records
    ]  # fmt: skip
    app.screen.table(("time", "decision", "tool", "arguments", "method"), rows)


def _when(seconds: object) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)) if isinstance(seconds, int | float) else ""


def _records(app: App, path: Path) -> list[dict[str, Any]]:
    """The records of a ledger's file. Raises CliError."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        raise CliError(f"{path}: there is no such ledger: no call has been recorded there") from None
    except OSError as error:
        raise CliError(f"{path}: it cannot be read: {error.strerror}") from error
    records, damaged = [], 0
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict):
            records.append(record)
        else:
            damaged += 1
    if damaged:
        app.screen.warning(f"{path}: {damaged} of {len(lines)} lines are no records, and were left out")
    return records


@group.command("replay")
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option("--policy", "draft", type=click.Path(path_type=Path), metavar="FILE", help="Default: the one in use.")
@json_option
@pass_app
def replay_command(app: App, ledger: Path, *, draft: Path | None, as_json: bool) -> None:
    """
    Judge the calls of a ledger by a draft of a policy, and list what would be decided otherwise.

    A call that a person was asked about, and would be asked about again, is no change.

    \b
    Example:
      toolexec permissions replay calls.jsonl --policy draft.json
    """
    package = _part("")
    policy = package.Policy.load(draft) if draft is not None else _plugin().policy
    changes = [
        change
        for change in package.replay(_records(app, ledger), policy)
        if not (change["after"] == "ask" and change["method"] in _ASKED)
    ]
    if as_json:
        app.screen.json(changes)
        return
    rows = [
        (f"{change['before']} ({change['method']})", change["after"], str(change["tool"]),
         json.dumps(change["args"], ensure_ascii=False)[:120], change["reason"])
        for change in changes
    ]  # fmt: skip
    if rows:
        app.screen.table(("before", "after", "tool", "arguments", "because"), rows)
    else:
        app.screen.result("nothing would be decided otherwise")

"""``toolexec permissions``: the policy, what it decides, and what people have answered."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.exceptions import Exit

from executor.cli import (
    App,
    CliError,
    ExitCode,
    Group,
    complete_tool,
    for_people,
    json_option,
    pass_app,
    read_arguments,
    rehearse,
    show_judgement,
)
from executor_permissions._plugin import PermissionPlugin
from executor_permissions.commands import _covers
from executor_permissions.commands._edit import add_rule, remove_rule, rules_of, settings_of
from executor_permissions.judge.rules._rules import NO_PROJECT
from executor_permissions.store import _load, _source
from executor_permissions.store._load import key_of, policy_file, project_file
from executor_permissions.store._own_tests import expanded
from executor_permissions.store._trust import Trust

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from executor_permissions.judge.rules._rules import ListName
    from executor_permissions.store._load import Policy


C = TypeVar("C", bound="Callable[..., Any]")


@click.group("permissions", cls=Group)
def group() -> None:
    """
    Look at the permission policy, try it, and change it.

    \b
    Examples:
      toolexec permissions show
      toolexec permissions check runCommand command='git status && ls'
      toolexec permissions add 'git status *'
    """


def _policy() -> Policy:
    """The policy in force. Raises PermissionConfigError if it does not load."""
    return _policy_of(PermissionPlugin(terminal=False))


def _policy_of(plugin: PermissionPlugin) -> Policy:
    policy = plugin.policy
    assert policy is not None, "it has just been loaded"
    return policy


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
    policy = _policy()
    path, exists = policy_file()
    own = project_file(policy.places.project)
    found = [rule for source in policy.files for rule in rules_of(source)]
    settings = [each for source in policy.files for each in settings_of(source)]
    project = policy.places.project if policy.places.project != NO_PROJECT else None
    if as_json:
        told = {"path": str(path), "exists": exists, "project": project, "default": policy.default}
        told |= {"project_file": str(own) if own.exists() else None, "channel": policy.channel.get("type", "console")}
        told |= {"rules": [asdict(rule) for rule in found], "settings": [asdict(each) for each in settings]}
        app.screen.json({**told, "problems": list(policy.problems)})
        return
    app.screen.heading(f"{path}{'' if exists else ' (there is none)'}")
    app.screen.result(
        f"project: {project or 'none, since this folder is no project'}\nwhat no rule is about: {policy.default}"
    )
    if policy.boxes.older:
        app.screen.result('boxes: only for what is known to read; for the others set "version": "1.2"')
    rows = [
        (rule.list if rule.in_force else f"({rule.list})", rule.key, rule.rule, _near(rule.where, path, project))
        for rule in found
    ]
    if rows:
        app.screen.table(("list", "of", "rule", "at"), rows, whole=("rule", "at"))
    told_of = [
        (f"({each.key})" if each.narrows else each.key, each.value, _near(each.where, path, project))
        for each in settings
    ]
    if told_of:
        app.screen.table(("setting", "value", "at"), told_of, whole=("value", "at"))
    for problem in policy.problems:
        app.screen.warning(problem)


def _near(where: str, path: Path, project: str | None) -> str:
    """A place in words that leave room for the rules: the file that is named above them is not named beside each."""
    file, _, line = where.rpartition(":")
    if file == str(path):
        return f"line {line}"
    return where.removeprefix(f"{project}{os.sep}") if project else where


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
    entry = app.find(name)
    told = rehearse(app, entry, read_arguments(arguments, entry, sys.stdin))
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
    source = _source.read_source(path)
    tests = source.value.get("tests", ())
    source.value = {key: item for key, item in source.value.items() if key != "tests"}
    policy = _load.build([source])
    places = policy.places.marks
    for i, test in enumerate(tests):
        args = expanded(test.get("args", {}), places)
        decision = policy.decide(test["tool"], args)
        told = {"tool": test["tool"], "args": test.get("args", {}), "expect": test["expect"]}
        line = source.lines.line(("tests", i))
        yield {**told, "got": decision.verdict, "reason": decision.reason, "rule": decision.rule, "line": line}


@group.command("trust")
@click.argument("folder", required=False, type=click.Path(path_type=Path, exists=True, file_okay=False))
@pass_app
@for_people
def trust_command(app: App, folder: Path | None) -> None:
    """
    Let the policy file of a project allow things, as long as it stays as it is now.

    \b
    Example:
      toolexec permissions trust .
    """
    root = _project(folder)
    plugin = PermissionPlugin(project_root=root)
    path = project_file(root)
    if not plugin.trust_project():
        raise CliError(f"{path}: there is no such file: a project without one needs no trust")
    app.screen.result(f"what {path} allows now holds, until the file changes")
    allowed = [rule for rule in rules_of(_source.read_source(path)) if rule.list == "whitelist"]
    if allowed:
        app.screen.table(("of", "rule", "at"), [(rule.key, rule.rule, rule.where) for rule in allowed])


def _project(folder: Path | None) -> Path:
    root = folder.resolve() if folder is not None else _load.find_project()
    if str(root) == NO_PROJECT:
        raise CliError("This folder is no project, and neither is what it is in: name the project's folder")
    return root


@group.command("untrust")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@pass_app
@for_people
def untrust_command(app: App, folder: Path | None) -> None:
    """
    Take trust from a project: what its policy file allows holds no longer.

    \b
    Example:
      toolexec permissions untrust .
    """
    root = _project(folder)
    if not Trust(_load.default_state_dir()).forget(root):
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
@for_people
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
    plugin = PermissionPlugin(terminal=False)
    before = _policy_of(plugin)
    free = () if plugin.has_policy else app.read_only_tools()
    tools = app.registry.tools
    path, added = add_rule(rule, list_name, key_of(rule, tools), free)
    app.screen.result(f"{path}: {list_name}: {rule}{'' if added else ' (it was there already)'}")
    if free:
        app.screen.note(f"from now on this file decides; what ran without one is allowed in it: {', '.join(free)}")
    after = _policy()
    covers = _covers.told(before, after) if list_name == "whitelist" else ""
    odd = _covers.misspelt(rule, [*tools]) if added else ""
    for text in (covers, odd, *(problem for problem in after.problems if problem not in before.problems)):
        if text:
            app.screen.warning(text)


@group.command("remove")
@click.argument("rule")
@_list_options
@pass_app
@for_people
def remove_command(app: App, rule: str, list_name: ListName) -> None:
    """
    Take a rule out of your policy file: from the whitelist, or the list that is named.

    \b
    Example:
      toolexec permissions remove --deny 'sudo *'
    """
    path = remove_rule(rule, list_name)
    app.screen.result(f"{path}: {list_name}: {rule} was removed")

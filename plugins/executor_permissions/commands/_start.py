"""``toolexec permissions init`` and ``import``: a policy file to begin with."""
# ruff: noqa: D301 -- the \b in help texts is a mark of click's, which must not be raw

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from executor.cli import App, CliError, for_people, json_option, pass_app, refuse_below_a_call
from executor_permissions._boxes import every_box
from executor_permissions.commands._edit import refuse_another, rules_of, write_new
from executor_permissions.commands._reading import read_as
from executor_permissions.store._check import KEYS
from executor_permissions.store._content import without_nulls
from executor_permissions.store._load import Policy, find_project
from executor_permissions.store._source import checked, read_unchecked

if TYPE_CHECKING:
    from collections.abc import Collection


def starter(free: Collection[str] = ()) -> dict[str, Any]:
    """
    The policy to begin with.

    Args:
        free: Tools that only read, which run without a policy and go on to do so; but not where the policy forbids it.
    """
    text = resources.files("executor_permissions").joinpath("starter.json").read_text(encoding="utf-8")
    policy: dict[str, Any] = json.loads(text)
    allowed = policy["whitelist"]
    allowed["tools"] = list(dict.fromkeys((*allowed["tools"], *free)))
    allowed["arguments"] = {tool: rules for tool, rules in allowed["arguments"].items() if tool not in free}
    policy["tests"] = [test for test in policy["tests"] if not (test["tool"] in free and test["expect"] == "ask")]
    return policy


@click.command("init")
@pass_app
@for_people
def init_command(app: App) -> None:
    """
    Write a policy file to begin with. One that is there stays as it is.

    It allows the usual commands of development that only read or test, forbids the ones that nobody wants run, and
    asks about everything else. What runs without a policy goes on to run, but not where secrets are kept. Commands that
    nobody has looked at run in boxes, without which they are asked about where this machine has boxes of every kind.

    \b
    Example:
      toolexec permissions init
    """
    refuse_another()
    content = starter(app.read_only_tools())
    content["confine"]["require"] = every_box(str(find_project()))
    Policy.from_dict(content)
    app.screen.result(f"{write_new(content)} was written: 'toolexec permissions show' lists its rules")


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--write", is_flag=True, help="Make it your policy file, which must not exist yet.")
@json_option
@pass_app
def import_command(app: App, file: Path, *, write: bool, as_json: bool) -> None:
    """
    Read a policy file that was written for another program of this format, and say how each rule is read here.

    Settings of other assistants, such as Claude Code's, are of other formats, and not read.

    \b
    Examples:
      toolexec permissions import ~/other/permissions.json
      toolexec permissions import ~/other/permissions.json --write
    """
    if write:
        refuse_below_a_call()
        refuse_another()
    source = read_unchecked(file)
    content, notes = _converted(source.value, file)
    source.value = content
    checked(source)
    policy = Policy.from_dict(content)
    rows = [
        (rule.list, rule.key, rule.rule, read_as(rule.list, rule.key, rule.rule), rule.where)
        for rule in rules_of(source)
    ]
    if as_json:
        told = [dict(zip(("list", "key", "rule", "read_as", "where"), row, strict=True)) for row in rows]
        app.screen.json({"default": policy.default, "rules": told, "notes": notes, "problems": list(policy.problems)})
    else:
        app.screen.result(f"what no rule is about: {policy.default}")
        if rows:
            app.screen.table(("rule", "is read as", "at"), [(rule, read, where) for _, _, rule, read, where in rows])
        for note in (*notes, *policy.problems):
            app.screen.warning(note)
    if write:
        app.screen.note(f"{write_new(content)} was written")


def _converted(content: Any, file: Path) -> tuple[Any, list[str]]:
    """
    The content of *file* as it is meant, and what had to be said about it; what is no object stays what it is.

    Raises:
        CliError: All that it says is unknown here: it is no file of this format.
    """
    if not isinstance(content, dict):
        return content, []
    unknown = [key for key, value in content.items() if value is not None and _is_of_others(key)]
    kept = {key: value for key, value in without_nulls(content).items() if key not in unknown}
    if unknown and all(key.startswith("_") for key in kept):
        told = "say what its rules are to be by 'toolexec permissions init' and 'toolexec permissions add'"
        raise CliError(f"{file}: it is of another format, with no key of ours, only {', '.join(unknown)}: {told}")
    notes = [f"{key}: it is not known here, and left out" for key in unknown]
    if "defaultPolicy" not in kept:
        kept["defaultPolicy"] = "deny"
        notes.append('defaultPolicy: it is not said, which meant "deny" there, and is written down as that')
    return kept, notes


def _is_of_others(key: str) -> bool:
    """Whether another program's key: neither one of ours, nor a comment, nor one of ours that is misspelt."""
    import difflib  # wanted by this command only

    ours = [known.casefold() for known in KEYS]
    return not key.startswith("_") and not difflib.get_close_matches(key.casefold(), ours, cutoff=0.85)

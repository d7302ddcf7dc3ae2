"""Rules added to and taken from the user's policy file, and what the files in force say."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from executor.cli import CliError
from executor.errors import PermissionConfigError
from executor.ownfolders import make_private
from executor.wholefiles import locked
from executor_permissions.judge.rules._rules import LISTS, ListName
from executor_permissions.store._content import every_comment, without_nulls
from executor_permissions.store._load import (
    Policy,
    is_meant,
    policy_file,
)
from executor_permissions.store._private import write_private
from executor_permissions.store._source import read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from executor_permissions.store._source import Source

_LISTED = ("tools", "patterns")  # what is added and removed by itself; values of arguments are edited in the file


@dataclass(frozen=True, slots=True)
class Rule:
    """
    A rule of a file.

    Attributes:
        key: Where in the list it stands: ``tools``, ``patterns``, or ``arguments TOOL ARGUMENT``.
        where: ``FILE:LINE``.
        in_force: False for what a project's file allows while its folder is not trusted, or that of a folder above it.
    """

    list: ListName
    key: str
    rule: str
    where: str
    in_force: bool


@dataclass(frozen=True, slots=True)
class Setting:
    """
    What a file says under ``confine`` or ``limits``.

    Attributes:
        key: ``confine PROFILE``, ``confine default`` and the like, or ``limits TOOL SCOPE``.
        where: ``FILE:LINE``.
        narrows: Whether it can only make a box narrower, since the folder that it is of is not trusted.
    """

    key: str
    value: str
    where: str
    narrows: bool


def rules_of(source: Source) -> Iterator[Rule]:
    """The rules of one file, those included that it allows and nobody has trusted."""
    for name in LISTS:
        section, in_force = source.whole.get(name, {}), source.trusted or name != "whitelist"
        told: list[tuple[tuple[str | int, ...], object]]
        told = [((key, i), rule) for key in _LISTED for i, rule in enumerate(section.get(key, ()))]
        for tool, arguments in section.get("arguments", {}).items():
            for argument, values in arguments.items():
                told.extend((("arguments", tool, argument, i), value) for i, value in enumerate(values))
        for place, rule in told:
            where = f"{source.path}:{source.lines.line((name, *place))}"
            yield Rule(name, " ".join(map(str, place[:-1])), str(rule), where, in_force)


def settings_of(source: Source) -> Iterator[Setting]:
    """What one file says of boxes and of how often tools may run."""
    told: list[tuple[tuple[str | int, ...], object]] = []
    for key, value in source.value.get("confine", {}).items():
        if isinstance(value, list):
            told.extend((("confine", key, i), each) for i, each in enumerate(value))
        else:
            told.append((("confine", key), value))
    for tool, numbers in source.value.get("limits", {}).items():
        told.extend((("limits", tool, scope), number) for scope, number in numbers.items())
    for place, value in told:
        name = " ".join(each for each in place if isinstance(each, str))
        where = f"{source.path}:{source.lines.line(place)}"
        yield Setting(name, value if isinstance(value, str) else json.dumps(value), where, not source.trusted)


def add_rule(
    rule: str, list_name: ListName, key: Literal["tools", "patterns"], free: Sequence[str] = ()
) -> tuple[Path, bool]:
    """
    Put *rule* in a list of the user's file, which is made if need be.

    Args:
        free: The tools that run without a policy. A new file allows them: the first rule takes nothing away.

    Returns:
        The file, and False if the rule was there already.

    Raises:
        PermissionConfigError: The file does not load.
        CliError: It would not with the rule; nothing is written.
    """

    def change(content: dict[str, Any]) -> bool:
        section = content.setdefault(list_name, {})
        if any(rule in section.get(each, ()) for each in _LISTED):
            return False
        section.setdefault(key, []).append(rule)
        return True

    return _change(change, free)


def remove_rule(rule: str, list_name: ListName) -> Path:
    """
    Take *rule* from a list of the user's file.

    Raises:
        PermissionConfigError: As in `add_rule`.
        CliError: It is not there, or the file would not load without it; nothing is written.
    """

    def change(content: dict[str, Any]) -> bool:
        found = False
        for key in _LISTED:
            listed = content.get(list_name, {}).get(key, [])
            if rule in listed:
                found = True
                listed[:] = [each for each in listed if each != rule]
        return found

    path, changed = _change(change, ())
    if not changed:
        others = [each for each in rules_of(read_source(path)) if each.rule == rule] if is_meant(path) else []
        others.sort(key=lambda each: each.list != list_name)
        hint = "'toolexec permissions show' lists the rules"
        if others and others[0].key in _LISTED:
            hint = f"it is in the {others[0].list}"
        elif others:
            hint = f"it is among its {others[0].key}, {others[0].where}: take it out there"
        raise CliError(f"{path}: {rule!r} is no tool or pattern of the {list_name}; {hint}")
    return path


def can_be_removed(rule: str, where: str) -> bool:
    """Whether *rule*, which stands in ``FILE:LINE``, is one that `remove_rule` takes out."""
    path = policy_file()[0]
    found = rules_of(read_source(path)) if is_meant(path) else ()
    return any((each.rule, each.where) == (rule, where) and each.key in _LISTED for each in found)


def write_new(content: dict[str, Any]) -> Path:
    """
    Make *content* the user's file.

    Raises:
        CliError: There is one.
    """
    with _alone() as path:
        refuse_another()
        write_private(path, content)
    return path


def refuse_another() -> None:
    """Raises CliError where the user has a policy file."""
    path = policy_file()[0]
    if is_meant(path):
        raise CliError(f"{path}: there is a policy already: 'toolexec permissions add' adds to it")


@contextmanager
def _alone() -> Iterator[Path]:
    """The user's file, which no other process changes meanwhile."""
    path = policy_file()[0].resolve()  # a link stays one: what it leads to is written
    make_private(path.parent)
    with locked(path.with_name(f".{path.name}.lock")):
        yield path


def _change(change: Callable[[dict[str, Any]], bool], free: Sequence[str]) -> tuple[Path, bool]:
    """Read the user's file, change its content, see that it still loads, and write it, one process at a time."""
    with _alone() as path:
        content: dict[str, Any] = {"version": "1.2"}  # which has boxes, as where there is no file
        if is_meant(path):
            Policy.load(path)
            text = path.read_text(encoding="utf-8-sig")
            content = without_nulls(json.loads(text, object_pairs_hook=every_comment))
        elif free:
            content["whitelist"] = {"tools": list(free)}
        changed = change(content)
        if changed:
            _check_changed(content, path)
            write_private(path, content)
    return path, changed


def _check_changed(content: dict[str, Any], path: Path) -> None:
    try:
        Policy.from_dict(content)
    except PermissionConfigError as error:
        head = f"{path} stays as it is; with this change it would not load:"
        raise CliError(
            "\n  ".join([head, *error.problems]), details={"path": str(path), "problems": list(error.problems)}
        ) from error

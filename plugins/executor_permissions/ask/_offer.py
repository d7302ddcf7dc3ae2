"""The rule that ``always`` and ``never`` would store: as narrow as a person would write it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from executor.approval import copy_arguments, to_text
from executor.errors import PermissionConfigError
from executor_permissions.judge import _programs, _shell
from executor_permissions.judge._guards import exposed
from executor_permissions.judge._peel import peeled
from executor_permissions.judge._tokens import TokenPattern, tokenize
from executor_permissions.judge._unwrap import look_inside, program_of
from executor_permissions.judge._words import Command, Unknown
from executor_permissions.store._load import Policy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from executor import Decision, ToolCall
    from executor_permissions.judge._rules import Part
    from executor_permissions.store._grants import GrantKind

_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*\Z")
_MAX_SHOWN = 200  # characters of a value, or of a rule: longer ones nobody would read


@dataclass(frozen=True, slots=True)
class Offer:
    """
    What would be stored.

    Attributes:
        kind: ``shell``: *rules* are patterns for commands; ``call``: the tool with these arguments.
        text: As shown.
    """

    kind: GrantKind
    rules: tuple[str, ...]
    text: str


def offer(tool: str, args: Mapping[str, Any], parts: Sequence[Part], *, is_shell: bool, home: str) -> Offer:
    """What ``always`` would store for this call: a rule for each part that no rule covers, or else the call itself."""
    if is_shell:
        rules = []
        for part in parts:
            if part.verdict == "allow":
                continue
            rule = rule_for(part.text, home) if part.method in ("default", "ask_rule") else None
            if rule is None:
                break
            rules.append(rule)
        else:
            if rules:
                unique = tuple(dict.fromkeys(rules))
                return Offer("shell", unique, "; ".join(unique))
    shown = ", ".join(f"{name}={_short(value)}" for name, value in args.items())
    return Offer("call", (f"{tool}({shown})",), f"{tool} with exactly these arguments")


def rules_that_allow(policy: Policy, call: ToolCall, decision: Decision, kinds: Mapping[str, str]) -> tuple[str, ...]:
    """The rules that, put in the whitelist, would have this call run; none where no rule would."""
    if decision.method != "default":
        return ()
    arguments = copy_arguments(call.arguments)
    if policy.is_shell_tool(call.name) or "shell" in kinds.values():
        offered = offer(call.name, arguments, decision.parts, is_shell=True, home=policy.places.home)
        return offered.rules if offered.kind == "shell" else ()
    given = ", ".join(f"{name}={_written(value)}" for name, value in arguments.items())
    for rule in (f"{call.name}({given})", call.name):
        if len(rule) <= _MAX_SHOWN and _allows(policy, rule, call.name, arguments, kinds):
            return (rule,)
    return ()


def _allows(policy: Policy, rule: str, tool: str, arguments: Mapping[str, Any], kinds: Mapping[str, str]) -> bool:
    places = policy.places
    value = {"whitelist": {"patterns": [rule]}}
    try:
        draft = Policy.from_dict(value, project_root=places.project, home=places.home)
    except PermissionConfigError:  # a value that cannot be written in a rule
        return False
    return draft.decide(tool, arguments, argument_kinds=kinds).verdict == "allow"


def _written(value: object) -> str:
    """A value as a rule writes it: a text in quotes, in which nothing is special but ``*``."""
    return f'"{value}"' if isinstance(value, str) else to_text(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN // 2]}…{text[-_MAX_SHOWN // 2 :]}"


def rule_for(text: str, home: str) -> str | None:
    """The pattern for one simple command; None where no pattern can cover it."""
    try:
        reading = _shell.read(text, home)
    except ImportError:
        return None
    if reading.opaque or len(reading.commands) != 1:
        return None
    command = reading.commands[0]
    if command.redirects or command.assignments or not command.words or command.stdin:
        return None
    command = peeled(command) or command
    if any(isinstance(word, Unknown) for word in command.words):
        return None
    pattern = _pattern(command)
    return pattern if TokenPattern.of(pattern, tokenize(pattern)).covers(command) else None


def _pattern(command: Command) -> str:
    words = command.words
    program = program_of(words) or ""
    exact = " ".join(_quoted(word) for word in words)
    by_name = "/" not in words[0]
    runs_others = bool(look_inside(command).commands) or program in _NEVER_OPEN
    if not by_name or runs_others or exposed(command) >= 0:
        return exact
    if program in _programs.SUBCOMMANDS and len(words) > 1 and _SUBCOMMAND.match(words[1]):
        run = 2 if words[1] in ("run", "compose") and len(words) > 2 and _SUBCOMMAND.match(words[2]) else 1
        return " ".join([*words[: run + 1], "*"])
    return f"{program} *" if program in _programs.READ_ONLY else exact


_NEVER_OPEN = _programs.INTERPRETERS | _programs.SHELLS | _programs.LAUNCHERS | frozenset(_programs.WRAPPERS)


def _quoted(word: str) -> str:
    """A word that the pattern takes literally."""
    if re.fullmatch(r"[A-Za-z0-9_./:=@%+,-]+", word):
        return word
    return (
        "'" + word + "'" if "'" not in word else '"' + word + '"' if '"' not in word else re.sub(r"(\W)", r"\\\1", word)
    )

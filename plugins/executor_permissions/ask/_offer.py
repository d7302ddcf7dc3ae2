"""The rule that ``always`` and ``never`` would store: as narrow as a person would write it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from executor.approval import copy_arguments, to_text
from executor.errors import PermissionConfigError
from executor_permissions.judge.bash import _shell
from executor_permissions.judge.bash._words import Unknown, program_of
from executor_permissions.judge.options import _programs, read_only_words
from executor_permissions.judge.paths._globs import STAR, escaped
from executor_permissions.judge.paths._lexical import has_hidden_characters
from executor_permissions.judge.rules._rules import shell_rule
from executor_permissions.judge.rules._tokenize import tokenize
from executor_permissions.judge.rules._tokens import TokenPattern
from executor_permissions.judge.runs._peel import peeled
from executor_permissions.judge.runs._unwrap import look_inside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from executor import Decision, ToolCall
    from executor_permissions.judge._verdicts import Granted, Grants, Meaning
    from executor_permissions.judge.rules._rules import Part, Places
    from executor_permissions.judge.rules._scene import CallInfo
    from executor_permissions.judge.rules._tool_rules import ShellRule
    from executor_permissions.store._grants import GrantKind
    from executor_permissions.store._load import Policy

T = TypeVar("T")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*\Z")
_OPENS = {">": "writeFile", "<": "readFile"}  # by what redirections are judged
_MAX_SHOWN = 200  # characters of a value, or of a rule: longer ones nobody would read


@dataclass(frozen=True, slots=True)
class Offer:
    """
    What would be stored.

    Attributes:
        kind: ``shell``: the rules are patterns for commands; ``call``: the tool with these arguments.
        rules: For ``always``: these commands exactly, or a sub-command that only reads.
        never: For ``never``: the same, or the whole sub-command, whatever it is given.
        text: Those for ``always``, as shown.
    """

    kind: GrantKind
    rules: tuple[str, ...]
    never: tuple[str, ...]
    text: str


def offer(tool: str, args: Mapping[str, Any], parts: Sequence[Part], *, is_shell: bool, home: str) -> Offer:
    """What ``always`` would store for this call: a rule for each part that no rule covers, or else the call itself."""
    if is_shell:
        found = []
        for part in parts:
            if part.verdict == "allow":
                continue
            rules = rules_for(part.text, home) if part.method in ("default", "ask_rule") else None
            if rules is None:
                break
            found.append(rules)
        else:
            if found:
                always, never = (tuple(dict.fromkeys(each)) for each in zip(*found, strict=True))
                return Offer("shell", always, never, "; ".join(always))
    return exactly(tool, args)


def exactly(tool: str, args: Mapping[str, Any]) -> Offer:
    """This very call, and no other."""
    call = (f"{tool}({', '.join(f'{name}={_short(value)}' for name, value in args.items())})",)
    return Offer("call", call, call, f"{tool} with exactly these arguments")


class Trial:
    """
    The grants in force, and rules for commands as if they had been granted too: would they let a call run?

    Args:
        verdict: ``deny`` for rules that would have been answered with ``never``.

    Attributes:
        folders: Where the commands that each of the rules covers would run.
        links: Which of their words lead through links, and where to.
    """

    def __init__(
        self, rules: Sequence[str], places: Places, grants: Grants, verdict: Literal["allow", "deny"] = "allow"
    ) -> None:
        marks = places.marks
        self.folders: dict[str, set[str]] = {text: set() for text in rules}
        self.links: dict[str, set[tuple[str, str]]] = {text: set() for text in rules}
        self._rules = [
            rule._replace(holds_in=partial(_noted, self.folders[text]), leads=partial(_noted, self.links[text]))
            for text, rule in ((text, shell_rule(text, marks)) for text in rules)
            if rule is not None
        ]
        self._grants = grants
        self._verdict = verdict

    def shell_rules(self, tool: str) -> dict[str, list[tuple[ShellRule, str]]]:
        """As `Judge.decide` asks for them."""
        granted = self._grants.shell_rules(tool)
        rules = {verdict: [*granted.get(verdict, ())] for verdict in ("allow", "deny")}
        rules[self._verdict] += [(rule, "session") for rule in self._rules]
        return rules

    def find(self, tool: str, args: Mapping[str, Any], bound: Meaning) -> Granted:
        """What is granted about the call as a whole."""
        return self._grants.find(tool, args, bound)


def _noted(known: set[T], more: frozenset[T]) -> bool:
    known.update(more)
    return True


class Bound(NamedTuple):
    """
    What a grant is bound to: for a call as a whole, or rules for its commands.

    Attributes:
        args: The arguments as they are judged.
        also: What they mean besides their text, as `Judge` says it.
        folders: By rule, where the commands that it is to allow run, as `Grant` has it; those that are not there hold
            anywhere.
        links: By rule, as `Grant` has it; those that are not there hold whatever links there are.
    """

    args: Mapping[str, Any]
    also: tuple[str, ...]
    folders: Mapping[str, tuple[str, ...]] = {}
    links: Mapping[str, tuple[tuple[str, str], ...]] = {}


class AsGranted:
    """
    As if the call as a whole were granted: would it run?

    Attributes:
        bound: What the grant would be bound to; None until it was asked for.
    """

    def __init__(self) -> None:
        self.bound: Bound | None = None

    def shell_rules(self, tool: str) -> dict[str, list[tuple[ShellRule, str]]]:  # noqa: ARG002 -- for no tool
        """No rules for commands."""
        return {}

    def find(self, tool: str, args: Mapping[str, Any], bound: Meaning) -> Granted:  # noqa: ARG002 -- it is the call's
        """That it is granted."""
        self.bound = Bound(args, tuple(bound()))
        return ("allow", "", "session")


def may_be_granted(rules: Sequence[str], places: Places) -> bool:
    """Whether each of *rules*, which a person has written, is one for a single command, with nothing hidden in it."""
    marks = places.marks
    for text in rules:
        try:
            rule = shell_rule(text, marks)
        except ValueError:
            return False
        if rule is None or len(rule.patterns) != 1 or len(text) > _MAX_SHOWN or has_hidden_characters(text):
            return False
    return bool(rules)


def rules_that_allow(
    policy: Policy, call: ToolCall, decision: Decision, info: CallInfo, grants: Grants
) -> tuple[str, ...]:
    """The rules that, put in the whitelist, would have this call run with *grants*; none where no rule would."""
    if decision.method != "default":
        return ()
    arguments = copy_arguments(call.arguments)
    if policy.is_shell_tool(call.name, info.kinds):
        rules = [_rules_of(part, policy.places) for part in decision.parts if part.verdict != "allow"]
        choices = [tuple(dict.fromkeys(rule for each in rules for rule in each))] if rules and all(rules) else []
    else:
        given = ", ".join(f"{name}={_written(value)}" for name, value in arguments.items())
        # Never the whole tool in place of a call that no rule can write: what is in its arguments would choose that.
        rule = f"{call.name}({given})" if given else call.name
        choices = [(rule,)] if len(rule) <= _MAX_SHOWN else []
    return next((rules for rules in choices if _allow(policy, rules, call.name, arguments, info, grants)), ())


def _rules_of(part: Part, places: Places) -> tuple[str, ...]:
    """The rules for one part of a command line: of a redirection one for each file that it may be."""
    if part.method != "default":
        return ()
    sign, *files = part.words or ("",)
    if tool := _OPENS.get(sign):
        if any(places.is_in_repository(file) for file in files):
            return ()  # a rule that names it would do, and git would run what is written there
        return tuple(f"{tool}(path={_written(_short_path(file, places.project))})" for file in files)
    return as_patterns((rules_for(part.text, places.home) or ())[:1])


def _short_path(path: str, project: str) -> str:
    """*path* as a rule may write it: one in the project from its root on."""
    inside = path.removeprefix(f"{project.rstrip('/')}/")
    return path if inside.startswith("/") or ".." in inside.split("/") else inside


def _allow(
    policy: Policy,
    rules: tuple[str, ...],
    tool: str,
    arguments: Mapping[str, Any],
    info: CallInfo,
    grants: Grants,
) -> bool:
    """Whether the call runs once *rules* are added: they are tried, as they are."""
    try:
        draft = policy.varied(allow=rules)
    except PermissionConfigError:  # a value that cannot be written in a rule
        return False
    return draft.decide(tool, arguments, info, grants=grants).verdict == "allow"


def _written(value: object) -> str:
    """A value as a rule writes it: a text in quotes, which is taken at its word."""
    if not isinstance(value, str):
        return to_text(value)
    mark = "'" if '"' in value else '"'
    return f"{mark}{escaped(value) if STAR in value else value}{mark}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN // 2]}…{text[-_MAX_SHOWN // 2 :]}"


def rules_for(text: str, home: str) -> tuple[str, str] | None:
    """The patterns for one simple command, for ``always`` and ``never``; None where no pattern can cover it."""
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
    words = command.words
    plain = "/" not in words[0] and program_of(words) not in _NEVER_OPEN and not look_inside(command).commands
    exact = " ".join(map(_quoted, words))
    never = _open_after(words, _sub_command(words) if plain else 0) or exact
    for always in (_open_after(words, _reading_sub_command(words) if plain else 0), exact):
        if always and TokenPattern.of(always, tokenize(always)).covers(command):
            return always, never
    return None


def as_patterns(rules: Sequence[str]) -> tuple[str, ...]:
    """*rules* for commands, so written that none is taken for a tool's name, or an option, where it is added."""
    return tuple(map(_as_pattern, rules))


def _as_pattern(rule: str) -> str:
    first, blank, others = rule.partition(" ")
    is_plain = re.fullmatch(r"[\w./:=@%+,-]+", first) is not None
    return f'"{first}"{blank}{others}' if is_plain and (not blank or first.startswith(("mcp__", "-"))) else rule


def _open_after(words: Sequence[str], count: int) -> str:
    """The pattern for the first *count* words and whatever follows; "" for none."""
    return " ".join([*words[:count], "*"]) if count else ""


def _reading_sub_command(words: Sequence[str]) -> int:
    """How many words name a sub-command that only reads. A program without them may read any file: it is exact."""
    count = read_only_words([*words])
    return count if count > 1 else 0


def _sub_command(words: Sequence[str]) -> int:
    """How many words name a program and its sub-command; 0 for programs without."""
    if program_of([*words]) not in _programs.SUBCOMMANDS or len(words) < 2 or not _SUBCOMMAND.match(words[1]):
        return 0
    return 3 if words[1] in ("run", "compose") and len(words) > 2 and _SUBCOMMAND.match(words[2]) else 2


_NEVER_OPEN = _programs.INTERPRETERS | _programs.SHELLS | _programs.LAUNCHERS | frozenset(_programs.WRAPPERS)


def _quoted(word: str) -> str:
    """A word that the pattern takes literally."""
    if re.fullmatch(r"[A-Za-z0-9_./:=@%+,-]+", word):
        return word
    return (
        "'" + word + "'" if "'" not in word else '"' + word + '"' if '"' not in word else re.sub(r"(\W)", r"\\\1", word)
    )

"""
What the rules say about one simple command, whatever folder it runs in: worked out once for each command.

``sudo rm -r x`` is denied by ``rm *``, as that is what it runs, and allowed by ``sudo rm *`` only.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from executor_permissions.judge._verdicts import (
    allowed_part,
    asked_part,
    denied_part,
    maybe_denied_part,
    told_of_grant,
)
from executor_permissions.judge.bash._expand import ANYWHERE
from executor_permissions.judge.bash._public import with_public_words
from executor_permissions.judge.bash._words import KNOWN
from executor_permissions.judge.files._places import Use, uses_of
from executor_permissions.judge.paths._paths import UnclearPathError
from executor_permissions.judge.paths._through_links import through_links
from executor_permissions.judge.rules._from_project import from_project
from executor_permissions.judge.rules._rules import Part
from executor_permissions.judge.rules._tokens import operands_of
from executor_permissions.judge.rules._urls import spelled_out, with_unknown_addresses
from executor_permissions.judge.runs._other_names import has_other_name, other_names
from executor_permissions.judge.runs._peel import parts_of
from executor_permissions.judge.runs._runs import Run, Runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from executor_permissions.judge._shell_scope import Rules
    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.bash._walk import Step
    from executor_permissions.judge.bash._words import Command
    from executor_permissions.judge.files._findings import Finding
    from executor_permissions.judge.paths._links import Links
    from executor_permissions.judge.rules._fitting import Match
    from executor_permissions.judge.rules._tokens import TokenPattern
    from executor_permissions.judge.rules._tool_rules import ShellIndex, ShellRule

_MATCHES: tuple[Match, Match] = (2, 1)


class Way(NamedTuple):
    """
    A rule that covers a command, or what stands for it.

    Attributes:
        part: What is told of it.
        is_git: Whether it runs git.
        path: The folder of ``git -C``.
        pattern: That of the rule.
    """

    part: Part
    is_git: bool
    path: str | None = None
    pattern: TokenPattern | None = None


@dataclass(slots=True)
class Judged:
    """
    What the rules of the policy say about a command.

    Attributes:
        runs: Everything that it runs.
        whole: Whether that is all of it.
        denied: The part of a deny rule that is, or may be, about it.
        asked: The part of an ask rule.
        ways: What allows it, if its folder does not keep it from that.
        uses: What it is given to write and to run.
        hidden: Why it may run more than was found.
    """

    runs: list[Run]
    whole: bool
    denied: Part | None = None
    asked: Part | None = None
    ways: list[Way] = field(default_factory=list)
    uses: tuple[Use, ...] = ()
    hidden: str | None = None


def told_words(command: Command) -> tuple[str, ...]:
    """The words of *command* as its part has them: what only sets variables or redirects runs nothing."""
    return tuple(command.words) or (":",)


def _key_of(step: Step) -> tuple[object, ...]:
    """What makes two steps the same question."""
    command = step.command
    key = (
        command.text,
        tuple(command.words),
        step.folders,
        step.reached,
        command.stdin,
        command.body,
        command.files,
        None if command.sender is None else tuple(command.sender.words),
    )
    if not command.assignments and not command.redirects and not command.around:
        return key
    redirects = tuple([(one.operator, one.target) for one in (*command.redirects, *command.around)])
    return (*key, tuple(command.assignments), len(command.redirects), redirects)


class StepRules:
    """
    Judges commands by the rules for commands.

    Args:
        rules: What the policy has.
        links: Resolves paths, for the whole decision.
    """

    def __init__(self, rules: Rules, links: Links) -> None:
        self._rules = rules
        self._links = links
        self._found_so_far = 0  # commands of the line, and of scripts in it

    def each(self, steps: Sequence[Step]) -> Iterator[tuple[Step, Judged, bool]]:
        """
        *steps*, each with what the rules say about it, and whether that is another question than those before it.

        The second ``cat l`` of ``cat l; git switch x; cat l`` is one: something else has run before it.
        """
        if len(steps) == 1:
            yield steps[0], self._judged(steps[0], _key_of(steps[0])), True
            return
        self._found_so_far = len(steps)
        found: dict[object, Judged] = {}
        known: set[tuple[object, int]] = set()
        for step in steps:
            key = _key_of(step)
            behind = key, len(found)
            if key not in found:
                found[key] = self._judged(step, key)
            yield step, found[key], behind not in known
            known.add(behind)

    def _judged(self, step: Step, key: object) -> Judged:
        """What the rules say about *step*, of which *key* is `_key_of`."""
        known = self._rules.known
        judged = known.judged.get(key)
        if judged is None:
            runs = Runs(self._rules.home, self._links, self._found_so_far)
            judged = self._judge(step, runs)
            self._found_so_far = runs.steps
            if not runs.has_scripts:  # what these run depends on links, which may change, and on the rest of the line
                known.judged.keep(key, judged, len(step.command.text) + sum(map(len, step.command.words)))
        return judged

    def _judge(self, step: Step, runs: Runs) -> Judged:
        command = step.command
        judged = Judged(*runs.of(step))
        given = judged.runs + _with_inputs(command, judged.runs)
        found = self._found(step, given, self._rules.denying, runs)
        judged.denied = _denied(command, found) if found is not None else None
        if judged.denied is None or judged.denied.verdict != "deny":
            asking = self._rules.asking
            found = self._found(step, given, asking, runs) if asking else None
            if found is not None:
                judged.asked = asked_part(command.text, found[0])
            judged.uses = uses_of(command) if command.words else ()
            judged.ways = self._ways(command, judged.uses) if command.words and judged.whole else []
        judged.hidden = runs.hidden
        return judged

    # Denying.

    def _found(
        self, step: Step, given: Sequence[Run], indexes: Sequence[ShellIndex], notes: Runs
    ) -> tuple[str, bool] | None:
        """The rule about what runs, or about what that redirects, and whether it surely is."""
        found = self._search(given, indexes, notes, step.folders)
        if found is not None and found[1]:
            return found
        rules = [rule for index in indexes for rule in index.redirecting]
        return (self._redirected(step, given, rules) if rules else None) or found

    def _redirected(self, step: Step, runs: Sequence[Run], rules: Sequence[ShellRule]) -> tuple[str, bool] | None:
        """The rule that catches a redirection of *step*, or of one of *runs* that is of an inner script."""
        maybe: str | None = None
        for run in runs or [Run([":"], True, ":")]:
            inner = run.step or step
            for redirect in (*inner.command.redirects, *inner.command.around, *step.command.around):
                for rule in rules:
                    whole = rule.redirected
                    match = whole.catches(run.words, redirect, inner.folders, self._rules.base) if whole else 0
                    if match == 2 and run.certain:
                        return rule.text, True
                    maybe = maybe or (rule.text if match else None)
        return (maybe, False) if maybe is not None else None

    def denied(self, command: Command, runs: Sequence[Run], notes: Runs, folders: Folders) -> Part | None:
        """The part of the blacklist's rule that is, or may be, about one of *runs*, in *folders*."""
        found = self._search(runs, self._rules.denying, notes, folders)
        return _denied(command, found) if found is not None else None

    def _search(
        self, runs: Sequence[Run], indexes: Sequence[ShellIndex], notes: Runs, folders: Folders
    ) -> tuple[str, bool] | None:
        """The rule that catches one of *runs*, and whether surely; *folders* are those of what is no inner script."""
        maybe: str | None = None
        for run in runs:
            program = run.program
            if program is None:
                notes.hide("the name of its program is computed")
                continue
            about = indexes[0].about(program) if len(indexes) == 1 else _about(indexes, program)
            if not about and not has_other_name(program):
                continue  # nor is a rule about its sub-commands by other names
            for words, same in self._spellings(run, folders if run.step is None else run.step.folders):
                operands = operands_of(words)
                for rule in about if words is run.words else _about(indexes, words[0].rpartition("/")[2]):
                    if operands is not None and not rule.patterns[0].needs <= operands:
                        continue
                    match = rule.patterns[0].catches(words)
                    if match == 2 and run.certain and same:
                        return rule.text, True
                    if match:
                        maybe = maybe or rule.text
        return (maybe, False) if maybe is not None else None

    def _spellings(self, run: Run, folders: Folders) -> Iterator[tuple[list[str], bool]]:
        """What runs in other words, and with its paths as they are from the project."""
        for words, same in _spellings(run.words):
            yield words, same
            for placed, surely in from_project(words, folders, self._rules.base):
                yield placed, same and surely

    # Allowing.

    def _ways(self, command: Command, uses: Sequence[Use]) -> list[Way]:
        """
        What allows *command*: what holds in its own folders, and those in front of it that do not.

        Of the rules that cover it the first is one for all, unless there are *uses*: these a later one may name.
        """
        told, most = told_words(command), None if uses else 1
        covered = self._covering(command, told, most)
        if covered:
            return [Way(part, command.program == "git", None, pattern) for part, pattern in covered]
        ways: list[Way] = []
        for candidates, path in stand_ins(command):
            if not candidates or not all(self._covering(other, told, 1) for other in candidates[1:]):
                continue
            is_git = any(one.program == "git" for one in candidates)
            found = [Way(part, is_git, path, each) for part, each in self._covering(candidates[0], told, most)]
            ways += found
            if found and path is None:
                break  # another one would hold in the same folders
        return ways

    def _covering(self, command: Command, told: tuple[str, ...], most: int | None) -> list[tuple[Part, TokenPattern]]:
        """For each rule that covers *command*, or *most* of them: the part, with the words *told*, and its pattern."""
        found: list[tuple[Part, TokenPattern]] = []
        program = command.program
        known = command if KNOWN.issuperset(map(type, command.words)) else with_public_words(command)
        if program is None or known is None:
            return found
        words = known.words
        for index in self._rules.allowing:
            for rule in index.by_program.get(program, ()):
                pattern = rule.patterns[0]
                if (pattern.second is None or words[1:2] == [pattern.second]) and pattern.covers(known):
                    found.append((allowed_part(command.text, rule.text, told), pattern))
                    if len(found) == most:
                        return found
        return found


def remembered(step: Step, answers: Iterable[tuple[ShellRule, str]], links: Links) -> Iterator[Way]:
    """What people have allowed of it: *answers* are rules, each with its scope."""
    command = step.command
    for candidates, path in (([command], None), *stand_ins(command)):
        known = [with_public_words(candidate) for candidate in candidates]
        for rule, scope in answers:
            if known and all(one is not None and rule.patterns[0].covers(one) for one in known):
                if not _holds(rule, candidates, _resolved(step.folders, path or "", links), links):
                    continue
                part = Part(command.text, "allow", rule.text, *told_of_grant(rule.text, scope))
                yield Way(part, any(one.program == "git" for one in candidates), path, rule.patterns[0])


def _with_inputs(command: Command, runs: Sequence[Run]) -> list[Run]:
    """Those of *runs* that read a file by their input, as if it were an operand: ``cat < a`` may be ``cat a``."""
    found, files = [], command.files
    for run in runs:
        if run.step is not None:
            files = run.step.command.files  # and of what that runs in turn, which comes behind it
        if files:
            found.append(run._replace(words=[*run.words, *files], certain=False))
    return found


def _holds(rule: ShellRule, commands: Sequence[Command], folders: Folders, links: Links) -> bool:
    """
    Whether *rule*, an answer, is about *commands* in *folders*, and about the files that they mean there.

    One for a command as it was shown is not about what that is sent: it would do as its input says.
    """
    if not rule.patterns[0].tail and any(command.stdin for command in commands):
        return False
    if rule.holds_in is not None and not rule.holds_in(folders):
        return False
    if rule.leads is None:
        return True
    words = [str(word) for command in commands for word in command.words]
    return rule.leads(through_links(words, folders, links.real))


def _resolved(folders: Folders, path: str, links: Links) -> Folders:
    """Where *path* leads from each of *folders*; `ANYWHERE` where nobody knows."""
    try:
        return frozenset(one and links.real(os.path.join(one, path)) for one in folders)  # noqa: PTH118 -- text
    except UnclearPathError:
        return frozenset({ANYWHERE})


def _about(indexes: Sequence[ShellIndex], program: str) -> Sequence[ShellRule]:
    """The rules of all *indexes* that may be about *program*."""
    return [rule for index in indexes for rule in index.about(program)]


def stand_ins(command: Command) -> Iterator[tuple[Sequence[Command], str | None]]:
    """What stands for *command*: the one behind ``timeout 5``; for ``git -C src log`` ``git log``, in src."""
    parts = parts_of(command)
    if parts:
        yield parts, None
    for one in (command, *(parts if len(parts) == 1 else ())):
        words, path = list(one.words), ""
        while words[:2] == ["git", "-C"] and len(words) > 3 and type(words[2]) is str:
            path = os.path.join(path, words[2])  # noqa: PTH118 -- text, not a file
            words[1:3] = []
        if path:
            inner = replace(one, words=words)
            yield [inner], path
            further = parts_of(inner)
            if further:
                yield further, path


def _denied(command: Command, found: tuple[str, bool]) -> Part:
    """The part for what `StepRules._search` has found."""
    rule, sure = found
    return denied_part(command.text, rule) if sure else maybe_denied_part(command.text, rule)


def in_sequence(patterns: Sequence[TokenPattern], runs: Sequence[Run]) -> Match:
    """Whether *patterns* catch some of *runs* in this order: surely if those do that they surely catch."""
    programs = {run.program for run in runs}
    if not all(_may_be_in(pattern.program, programs) for pattern in patterns):
        return 0
    for least in _MATCHES:
        remaining = list(patterns)
        for run in runs:
            if remaining and remaining[0].catches(run.words) >= least:
                remaining.pop(0)
        if not remaining:
            return least
    return 0


def part_of_finding(finding: Finding | None, text: str) -> Part | None:
    """The part for a *finding* about files that a rule of the blacklist is behind; None for others."""
    if finding is None or finding.verdict == "ask":
        return None
    if finding.verdict == "deny":
        return Part(text, "deny", finding.rule, finding.reason, "blacklist")
    return maybe_denied_part(text, finding.rule, finding.reason)


def _spellings(words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """The command in other words, each with whether it surely is the same."""
    yield words, True
    plain = spelled_out(words)
    if plain is not None:
        yield plain, True
    unknown = with_unknown_addresses(words)
    if unknown is not None:
        yield unknown, False
    yield from other_names(words)


def _may_be_in(program: str | None, programs: set[str | None]) -> bool:
    """Whether a rule for *program* may be about one of *programs*."""
    if program is None or None in programs:
        return True
    name = program.rpartition("/")[2] or program
    return any(one is not None and one.startswith(name) for one in programs)

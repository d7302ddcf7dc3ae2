"""What one list of the policy says of one tool: rules for its commands, and for the values of its arguments."""

from __future__ import annotations

import os.path
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from executor_permissions.judge.rules._path_index import PathIndex
from executor_permissions.judge.rules._tokenize import as_text, unquoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from executor_permissions.judge.paths._globs import Wildcard
    from executor_permissions.judge.rules._redirected import Redirected
    from executor_permissions.judge.rules._scene import Scene
    from executor_permissions.judge.rules._tokens import TokenPattern
    from executor_permissions.judge.rules._values import CallPattern, ValueRule


class ShellRule(NamedTuple):
    """
    A rule for shell commands: one pattern, or several that must all be found, in this order (``curl * | sh``).

    Attributes:
        holds_in: Of one that a person's answer has made: whether it holds in all of these resolved folders.
        leads: Of such a one: whether it holds where words of the command lead there through links.
        redirected: What it says of a command with a redirection; its pattern is for the line as it is written then.
    """

    text: str
    patterns: tuple[TokenPattern, ...]
    holds_in: Callable[[frozenset[str]], bool] | None = None
    leads: Callable[[frozenset[tuple[str, str]]], bool] | None = None
    redirected: Redirected | None = None


@dataclass(slots=True)
class ShellIndex:
    """
    Shell rules by program, so that a thousand rules cost as little as ten.

    Attributes:
        wild: Rules whose program has a wildcard.
        sequences: Rules of several commands.
        texts: Rules by their text, blanks aside.
        lines: What is looked for in a whole line, as it is written: for denying.
        redirecting: Rules about what a command redirects.
    """

    by_program: dict[str, list[ShellRule]] = field(default_factory=dict)
    wild: list[ShellRule] = field(default_factory=list)
    sequences: list[ShellRule] = field(default_factory=list)
    texts: dict[str, ShellRule] = field(default_factory=dict)
    lines: list[tuple[Wildcard, ShellRule]] = field(default_factory=list)
    redirecting: list[ShellRule] = field(default_factory=list)
    programs: frozenset[str] = frozenset()

    def add(self, rule: ShellRule) -> None:
        """Index *rule* by the program that it is about."""
        if len(rule.patterns) > 1:
            self.sequences.append(rule)
            return
        line = rule.patterns[0].as_text
        if line is not None:
            self.lines.append((line, rule))
        if rule.redirected is not None:
            self.redirecting.append(rule)
            return
        program = rule.patterns[0].program
        if program is None:
            self.wild.append(rule)
        else:
            self.by_program.setdefault(os.path.basename(program) or program, []).append(rule)  # noqa: PTH119 -- speed

    @property
    def is_empty(self) -> bool:
        """Whether no rule of a policy is in it: those about the policy's own commands are not in `programs`."""
        return not (self.programs or self.wild or self.sequences or self.lines or self.redirecting)

    def finish(self) -> None:
        """Collect the programs, once all rules are in."""
        found = {name for name in self.by_program if name}
        for rule in self.sequences:
            found.update(pattern.program for pattern in rule.patterns if pattern.program)
        self.programs = frozenset(found)

    def in_line(self, text: str) -> ShellRule | None:
        """The rule that is found in a line as it is written, with its quotes or without."""
        if not self.lines:
            return None
        spelled = {as_text(text), as_text(unquoted(text))}
        return next((rule for line, rule in self.lines if any(map(line.fits, spelled))), None)

    def about(self, program: str) -> Sequence[ShellRule]:
        """The rules that may be about *program* (a name without folder)."""
        rules: Sequence[ShellRule] = self.by_program.get(program, ())
        dot = program.find(".")
        if dot > 0:  # mkfs.ext4, python.exe
            rules = [*rules, *self.by_program.get(program[:dot], ())]
        return [*rules, *self.wild] if self.wild else rules


@dataclass(slots=True)
class Arguments:
    """
    What one file says of the values of a tool's arguments: to allow, all that it names have to fit.

    Attributes:
        values: The rules about each argument.
        commands: Those about arguments that are commands.
    """

    values: dict[str, list[tuple[str, ValueRule]]] = field(default_factory=dict)
    commands: dict[str, list[ShellRule]] = field(default_factory=dict)
    _indexes: dict[str, PathIndex] = field(default_factory=dict)

    def about(self, name: str, value: Any, scene: Scene) -> Sequence[tuple[str, ValueRule]]:
        """The rules about the argument *name* that may be about *value*: for denying, and asking."""
        index = self._indexes.get(name)
        if index is None:
            index = self._indexes[name] = PathIndex(self.values[name])
        return index.about(value, scene)


@dataclass(slots=True)
class ToolRules:
    """
    The rules of one list that are about one tool.

    Attributes:
        whole: The rule for the tool whatever its arguments, if there is one.
        shell: The patterns for commands, of a shell tool.
        calls: The patterns with brackets.
        lines: Those of them that are about the commands of a line.
        files: What each file says of the values of arguments.
        anywhere: What is looked for in all of the call: for denying.
    """

    whole: str | None = None
    shell: ShellIndex | None = None
    calls: list[CallPattern] = field(default_factory=list)
    lines: list[ShellRule] = field(default_factory=list)
    files: list[Arguments] = field(default_factory=list)
    anywhere: list[tuple[Wildcard, str]] = field(default_factory=list)

    @property
    def depends_on_arguments(self) -> bool:
        return bool(self.calls or self.files or self.anywhere)

    @property
    def paths(self) -> frozenset[str]:
        """The arguments that a rule takes for paths."""
        named = [(name, rule) for call in self.calls for name, rule in call.arguments.items()]
        named += [(name, rule) for file in self.files for name, values in file.values.items() for _, rule in values]
        return frozenset(name for name, rule in named if rule.path is not None)

    @property
    def is_about_commands(self) -> bool:
        """Whether any rule is about what a shell would run."""
        return bool(self.lines or any(file.commands for file in self.files) or (self.shell and not self.shell.is_empty))

    def about_commands(self, files: Iterable[Arguments]) -> tuple[ShellIndex, ...]:
        """The rules for single commands; with what *files* of `files` say of commands."""
        index = ShellIndex()
        for rule in (*self.lines, *(rule for file in files for rules in file.commands.values() for rule in rules)):
            index.add(rule)
        index.finish()
        found = (self.shell, index)
        return tuple(one for one in found if one is not None and (one.by_program or one.wild or one.redirecting))

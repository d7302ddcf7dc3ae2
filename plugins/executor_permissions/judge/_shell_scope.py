"""The two values at the ends of judging a shell command: the `Rules` that it is judged by, and the `Outcome`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from executor_permissions.judge._shell_known import Known
    from executor_permissions.judge.paths._links import Links
    from executor_permissions.judge.rules._file_rules import FileRules
    from executor_permissions.judge.rules._rules import Part, Places
    from executor_permissions.judge.rules._tool_rules import ShellIndex, ShellRule


@dataclass(frozen=True, slots=True)
class Rules:
    """
    What the policy has for one shell tool.

    Attributes:
        deny, ask, allow: The lists.
        whole: The whitelist's rule for the tool as a whole, if it has one.
        denying, asking, allowing: The rules for single commands, those that ``arguments`` has for this one among them.
        file_verdict: Judges a redirection as a call of writeFile or readFile.
        files: What the blacklist keeps from the file tools, and the policy's own files.
        places: The project, and what else is where.
        base: The folder that relative paths of rules begin in.
        known: What these rules say about commands that were judged before.
        project: The project's root.
        home: What ``~`` stands for.
        denied_programs, named_programs: Those that a rule to deny names, and those that one to deny or to ask does.
        has_lines: Whether a rule to deny or to ask is about a whole line as it is written.
        has_sequences: Whether one is about several commands.
    """

    deny: ShellIndex
    ask: ShellIndex
    allow: ShellIndex
    denying: Sequence[ShellIndex]
    asking: Sequence[ShellIndex]
    allowing: Sequence[ShellIndex]
    whole: str | None
    file_verdict: Callable[[str, str, Links], Part]
    files: FileRules
    places: Places
    base: str
    known: Known
    project: str = field(init=False)
    home: str = field(init=False)
    denied_programs: frozenset[str] = field(init=False)
    named_programs: frozenset[str] = field(init=False)
    has_lines: bool = field(init=False)
    has_sequences: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "project", self.places.project)
        object.__setattr__(self, "home", self.places.home)
        object.__setattr__(self, "denied_programs", _programs_of(self.deny, *self.denying))
        object.__setattr__(self, "named_programs", self.denied_programs | _programs_of(self.ask, *self.asking))
        object.__setattr__(self, "has_lines", bool(self.deny.lines or self.ask.lines or self.ask.texts))
        object.__setattr__(self, "has_sequences", bool(self.deny.sequences or self.ask.sequences))


def _programs_of(*indexes: ShellIndex) -> frozenset[str]:
    return frozenset[str]().union(*(index.programs for index in indexes))


Session: TypeAlias = "Mapping[str, Iterable[tuple[ShellRule, str]]]"  # what people have allowed and denied, by verdict


@dataclass(slots=True)
class Outcome:
    """
    What comes of a command.

    Attributes:
        parts: What it is made of.
        hidden: Why there may be more than them.
        asked: Why that may be what a rule denies or asks about.
    """

    parts: list[Part]
    hidden: str | None
    asked: str | None = None

    @property
    def unseen(self) -> str | None:
        """Why there may be more, whichever list is about it."""
        return self.hidden or self.asked

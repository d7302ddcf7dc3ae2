"""What a shell command is judged by, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Mapping

    from executor_permissions.judge._rules import Part, ShellIndex, ShellRule


class Run(NamedTuple):
    """One program that runs, maybe inside another: its words, and whether it surely does."""

    words: list[str]
    certain: bool


@dataclass(slots=True)
class Rules:
    """
    What the policy has for one shell tool.

    Attributes:
        deny: Blacklisted commands; *deny_session* those that a person answered ``never`` to.
        whole: The whitelist's rule for the tool as a whole, if it has one.
        extra_*: The rules that ``arguments`` has for this argument.
        file_verdict: Judges a redirection as a call of writeFile or readFile.
        protected: Folders and files of the policy itself.
        denied_files: Judges whether a word names a file that the blacklist keeps from the file tools.
    """

    deny: ShellIndex
    ask: ShellIndex
    allow: ShellIndex
    extra_deny: ShellIndex
    extra_ask: ShellIndex
    extra_allow: ShellIndex
    whole: str | None
    file_verdict: Callable[[str, str], Part]
    protected: tuple[str, ...]
    protected_marks: re.Pattern[str]
    denied_files: tuple[str, ...]
    denied_marks: re.Pattern[str] | None
    project: str
    home: str
    session: Mapping[str, Iterable[tuple[ShellRule, str]]] = field(default_factory=dict)


@dataclass(slots=True)
class Outcome:
    """The parts of a command, and why there may be more than them."""

    parts: list[Part]
    hidden: str | None

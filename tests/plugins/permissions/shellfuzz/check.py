"""One fuzzed script after another: judged, run if it is allowed, and what came of it judged again."""

from __future__ import annotations

import json
import os.path
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from executor_permissions import Policy
from executor_permissions.judge._words import Unknown
from tests.plugins.permissions.shellfuzz.grammar import Grammar
from tests.plugins.permissions.shellfuzz.sandbox import Sandbox

if TYPE_CHECKING:
    from executor_permissions.judge._words import Command, Reading

EXAMPLE = Path(__file__).parents[4] / "permissions.example.json"


@dataclass(slots=True)
class Counts:
    """How many scripts were judged, and run; how many programs they called, and what was wrong."""

    judged: int = 0
    run: int = 0
    calls: int = 0
    faults: list[tuple[str, str]] = field(default_factory=list)


class Checker:
    """
    Judges and runs.

    Args:
        read: The reader whose words are compared with those that bash makes.
    """

    def __init__(self, sandbox: Sandbox, read: Callable[[str, str], Reading]) -> None:
        example = json.loads(EXAMPLE.read_text())
        self.policy = Policy.from_dict(example, project_root=sandbox.work, home=sandbox.home)
        self.sandbox = sandbox
        self.read = read
        self._verdicts: dict[tuple[str, ...], str] = {}

    def check_allowed(self, script: str, counts: Counts) -> None:
        """Judge *script*; if it is allowed, run it: it changes no file, and calls nothing that is not allowed alone."""
        counts.judged += 1
        if self.policy.decide("runCommand", {"command": script}).verdict != "allow":
            return
        calls, changed = self._run(script, counts)
        faults = [f"changed {changed}"] if changed else []
        verdicts = ((call, self._verdict(call)) for call in calls)
        faults += [f"ran {call}, which is judged {verdict}" for call, verdict in verdicts if verdict != "allow"]
        faults += self._misread(calls, self.read(script, str(self.sandbox.home)).commands)
        counts.faults.extend((script, fault) for fault in faults)

    def check_understood(self, script: str, counts: Counts) -> None:
        """Read *script*; if it is understood, run it: it calls and changes nothing but what was read."""
        counts.judged += 1
        reading = self.read(script, str(self.sandbox.home))
        if reading.script is None:
            return
        calls, changed = self._run(script, counts)
        faults = list(self._misread(calls, reading.commands))
        targets = [redirect.target for command in reading.commands for redirect in command.redirects if redirect.writes]
        if not any(isinstance(target, Unknown) for target in targets):
            names = {os.path.basename(target) for target in targets}
            faults += [f"changed {path}, not {targets}" for path in changed if os.path.basename(path) not in names]
        counts.faults.extend((script, fault) for fault in faults)

    def _run(self, script: str, counts: Counts) -> tuple[list[list[str]], list[str]]:
        calls, changed = self.sandbox.run(script)
        counts.run += 1
        counts.calls += len(calls)
        return calls, changed

    def _misread(self, calls: Sequence[list[str]], commands: Sequence[Command]) -> Iterator[str]:
        for call in calls:
            if not any(becomes(_by_name(command.words), call) for command in commands):
                yield f"ran {call}, which is none of {[command.words for command in commands]}"

    def _verdict(self, call: list[str]) -> str:
        """How *call* is judged as words, without any shell."""
        key = tuple(call)
        if key not in self._verdicts:
            self._verdicts[key] = self.policy.decide("runCommand", {"argv": call}).verdict
        return self._verdicts[key]


def _by_name(words: Sequence[str]) -> Sequence[str]:
    """The *words* as they are recorded: of a program given by its path, the name."""
    by_path = bool(words) and type(words[0]) is str and "/" in words[0]
    return [os.path.basename(words[0]), *words[1:]] if by_path else words


def becomes(words: Sequence[str], call: Sequence[str]) -> bool:
    """Whether the *words* that were read can become the *call* that was made: what is not known, any words."""
    places = {0}
    for word in words:
        if type(word) is str:
            places = {place + 1 for place in places if place < len(call) and call[place] == word}
        elif type(word).__name__ == "Number":
            places = {place + 1 for place in places if place < len(call)}
        else:
            places = set(range(min(places), len(call) + 1)) if places else places
    return len(call) in places


def scripts(seed: int, start: int, stop: int) -> Iterator[str]:
    """The scripts *start* to *stop* of a seed: the same ones whichever part of them is asked for."""
    for index in range(start, stop):
        yield Grammar(random.Random(f"{seed}:{index}")).text()


def fuzz(checker: Checker, which: str, seed: int, start: int, stop: int) -> Counts:
    """Check the scripts *start* to *stop* of a seed: those that are ``allowed``, or those that are ``understood``."""
    counts = Counts()
    check = checker.check_allowed if which == "allowed" else checker.check_understood
    for script in scripts(seed, start, stop):
        check(script, counts)
    return counts

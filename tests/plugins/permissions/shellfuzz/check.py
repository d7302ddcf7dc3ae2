"""One fuzzed script after another: judged, run if it is allowed, and what came of it judged again."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from executor_permissions import Policy
from tests.plugins.permissions.shellfuzz.grammar import Grammar
from tests.plugins.permissions.shellfuzz.sandbox import Sandbox

if TYPE_CHECKING:
    from executor_permissions.judge._words import Reading

EXAMPLE = Path(__file__).parents[4] / "permissions.example.json"


@dataclass(slots=True)
class Counts:
    """How many scripts were judged, allowed and run, how many programs they called, and what was wrong."""

    judged: int = 0
    allowed: int = 0
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

    def check(self, script: str, counts: Counts) -> None:
        """Judge *script*, and run it if it is allowed."""
        counts.judged += 1
        if self.policy.decide("runCommand", {"command": script}).verdict != "allow":
            return
        counts.allowed += 1
        calls, changed = self.sandbox.run(script)
        counts.run += 1
        counts.calls += len(calls)
        counts.faults.extend((script, fault) for fault in self._faults(script, calls, changed))

    def _faults(self, script: str, calls: Sequence[list[str]], changed: Sequence[str]) -> Iterator[str]:
        if changed:
            yield f"changed {list(changed)}"
        commands = self.read(script, str(self.sandbox.home)).commands
        for call in calls:
            verdict = self._verdict(call)
            if verdict != "allow":
                yield f"ran {call}, which is judged {verdict}"
            if not any(becomes(command.words, call) for command in commands):
                yield f"ran {call}, which is none of {[command.words for command in commands]}"

    def _verdict(self, call: list[str]) -> str:
        """How *call* is judged as words, without any shell."""
        key = tuple(call)
        if key not in self._verdicts:
            self._verdicts[key] = self.policy.decide("runCommand", {"argv": call}).verdict
        return self._verdicts[key]


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


def fuzz(sandbox: Sandbox, read: Callable[[str, str], Reading], seed: int, start: int, stop: int) -> Counts:
    """Check these scripts."""
    counts, checker = Counts(), Checker(sandbox, read)
    for script in scripts(seed, start, stop):
        checker.check(script, counts)
    return counts

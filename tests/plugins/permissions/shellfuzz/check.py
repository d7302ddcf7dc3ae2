"""One fuzzed script after another: judged, run if it is allowed, and what came of it judged again."""

from __future__ import annotations

import json
import os.path
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from executor_permissions import Policy
from executor_permissions.judge.bash._words import Unknown
from tests.plugins.permissions.shellfuzz.grammar import Grammar
from tests.plugins.permissions.shellfuzz.sandbox import Sandbox

if TYPE_CHECKING:
    from executor_permissions.judge.bash._words import Command, Reading

_SOURCES = (["."], ["source"])  # they run a recorder's own commands in the shell itself
_MAX_BLOCK, _MAX_BYTES = 100, 30_000
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

    def check_allowed(self, texts: Iterable[str], counts: Counts) -> None:
        """Judge each script, and run what is allowed: it changes no file, and calls only what is allowed alone."""
        for block in _blocks(self._allowed(texts, counts)):
            for script, (calls, changed) in zip(block, self._run(block, counts), strict=True):
                faults = [f"changed {changed}"] if changed else []
                verdicts = ((call, self._verdict(call)) for call in calls)
                faults += [f"ran {call}, which is judged {verdict}" for call, verdict in verdicts if verdict != "allow"]
                faults += self._misread(calls, self.read(script, str(self.sandbox.home)).commands)
                counts.faults.extend((script, fault) for fault in faults)

    def check_understood(self, texts: Iterable[str], counts: Counts) -> None:
        """Read each script, and run what is understood: it calls and changes nothing but what was read."""
        understood = list(self._understood(texts, counts))
        # What writes files is run by itself.
        plain = [script for script in understood if not self._written(script)]
        writing = [[script] for script in understood if self._written(script)]
        for block in (*_blocks(plain), *writing):
            for script, (calls, changed) in zip(block, self._run(block, counts), strict=True):
                faults = list(self._misread(calls, self.read(script, str(self.sandbox.home)).commands))
                targets = self._written(script)
                if not any(isinstance(target, Unknown) for target in targets):
                    names = {os.path.basename(target) for target in targets}
                    faults += [
                        f"changed {path}, not {targets}" for path in changed if os.path.basename(path) not in names
                    ]
                counts.faults.extend((script, fault) for fault in faults)

    def _allowed(self, texts: Iterable[str], counts: Counts) -> Iterator[str]:
        for script in texts:
            counts.judged += 1
            if self.policy.decide("runCommand", {"command": script}).verdict == "allow":
                yield script

    def _understood(self, texts: Iterable[str], counts: Counts) -> Iterator[str]:
        for script in texts:
            counts.judged += 1
            reading = self.read(script, str(self.sandbox.home))
            if reading.script is not None and not any(command.words[:1] in _SOURCES for command in reading.commands):
                yield script

    def _written(self, script: str) -> list[str]:
        commands = self.read(script, str(self.sandbox.home)).commands
        targets = [redirect.target for command in commands for redirect in command.redirects if redirect.writes]
        return [target for target in targets if target != "/dev/null"]

    def _run(self, block: Sequence[str], counts: Counts) -> list[tuple[list[list[str]], list[str]]]:
        outcomes = self.sandbox.run_all(block)
        counts.run += len(block)
        counts.calls += sum(len(calls) for calls, _ in outcomes)
        return outcomes

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


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    """The *texts* in lists that are not too long for a command line."""
    block: list[str] = []
    size = 0
    for text in texts:
        if block and (len(block) == _MAX_BLOCK or size + len(text.encode()) > _MAX_BYTES):
            yield block
            block, size = [], 0
        block.append(text)
        size += len(text.encode())
    if block:
        yield block


def fuzz(checker: Checker, which: str, seed: int, start: int, stop: int) -> Counts:
    """Check the scripts *start* to *stop* of a seed: those that are ``allowed``, or those that are ``understood``."""
    counts = Counts()
    check = checker.check_allowed if which == "allowed" else checker.check_understood
    check(scripts(seed, start, stop), counts)
    return counts

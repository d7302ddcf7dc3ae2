"""Judging a shell command: each simple command in it, each redirection, and whatever they run in turn."""

from __future__ import annotations

import os.path
import re
from itertools import islice
from typing import TYPE_CHECKING

from executor_permissions.judge import _lexical, _programs, _shell, _shell_files
from executor_permissions.judge._guards import exposed
from executor_permissions.judge._paths import UnclearPathError, locate, under
from executor_permissions.judge._peel import peeled
from executor_permissions.judge._rules import Part
from executor_permissions.judge._shell_files import MOVERS
from executor_permissions.judge._shell_scope import Outcome, Rules, Run
from executor_permissions.judge._unwrap import look_inside, program_of
from executor_permissions.judge._words import Command, Reading, Redirect, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from executor_permissions.judge._rules import ShellIndex
    from executor_permissions.judge._tokens import Match

_MAX_NESTING = 8
_TOO_DEEP: list[str] = [Unknown("…")]  # stands for whatever runs below that
_MAX_RUNS = 400  # what one simple command may run in turn, before it counts as hiding something
_NETWORK_FILE = re.compile(r"/dev/(tcp|udp)/")


class ShellJudge:
    """Judges one command. Holds where ``cd`` has led so far."""

    def __init__(self, rules: Rules, cwd: str, *, moved: bool) -> None:
        self.rules = rules
        self.cwd: str | None = cwd
        self.moved = moved
        self.hidden: str | None = None
        self._text = ""
        self._known: set[tuple[int, str | None, bool]] = set()
        self._sequence_runs: list[Run] = []

    @property
    def _base(self) -> str:
        """The folder that relative paths start from; where nobody knows it, the project."""
        return self.cwd or self.rules.project

    def judge_text(self, text: str) -> Outcome:
        """Judge a command as a shell would be given it."""
        if len(text) > _lexical.MAX_BYTES or len(text.encode("utf-8", "replace")) > _lexical.MAX_BYTES:
            return self._unread(text, "it is longer than 32 KiB")
        try:
            reading = _shell.read(text, self.rules.home)
        except ImportError:
            return self._unread(text, "tree-sitter, which reads shell commands, is not installed")
        rule = self.rules.deny.texts.get(" ".join(text.split()))
        if rule is not None:
            return Outcome([_denied(text, rule.text)], None)
        return self.judge(reading, text)

    def judge_words(self, words: list[str]) -> Outcome:
        """Judge a program and its arguments, run without a shell."""
        text = " ".join(words)
        if _lexical.has_hidden_characters(text):
            return self._unread(text, "it has control or invisible characters")
        return self.judge(Reading([Command(words, text)]), text)

    def judge(self, reading: Reading, text: str) -> Outcome:
        """Judge what was read of *text*."""
        self.hidden = reading.hidden
        self._text = text
        parts: list[Part] = []
        for command in reading.commands:
            parts.extend(self._repeated(command))
        parts.extend(self._sequences(text[:200]))
        if reading.opaque or not parts:
            why = reading.opaque or "it has no command"
            plain = self._plainly_denied(text) if reading.hidden else None
            parts.append(plain or Part(text, "ask", None, why, "default"))
        self._writes_what_it_runs(reading)
        return Outcome(parts, self.hidden)

    def _repeated(self, command: Command) -> list[Part]:
        """The parts of *command*; none for the same text again, which is judged already."""
        key = (id(command), self.cwd, self.moved)
        if key in self._known:
            return []
        self._known.add(key)
        return list(self._command(command))

    def _unread(self, text: str, why: str) -> Outcome:
        """A command that was not parsed: denied if it plainly is, else asked."""
        self.hidden = why
        found = self._plainly_denied(text)
        if found is None and len(text) > _lexical.MAX_BYTES:
            word = _lexical.mentions(text, self.rules.deny.programs)
            found = _denied(word, word) if word else None
        return Outcome([found or Part(text[:200], "ask", None, why, "default")], why)

    def _plainly_denied(self, text: str) -> Part | None:
        for words in _lexical.plain_commands(text):
            command = Command(words, " ".join(words))
            part = self._deny(command, [Run(words, certain=True)])
            if part is not None and part.verdict == "deny":
                return part
        return None

    # One command.

    def _command(self, command: Command) -> Iterator[Part]:
        runs = list(islice(self._runs(command), _MAX_RUNS + 1))
        self._sequence_runs.extend(runs)
        denied = self._deny(command, runs)
        if denied is not None and denied.verdict == "deny":
            yield denied
            return
        found = denied or self._ask(command, runs)
        if found is None and len(runs) <= _MAX_RUNS and all(run.words is not _TOO_DEEP for run in runs):
            found = self._allow(command)
        moved = self.moved
        self._follow(command)
        yield found or self._uncovered(command)
        for redirect in (*command.redirects, *_tee_targets(command)):
            yield self._redirect(redirect, moved=moved)

    def _uncovered(self, command: Command) -> Part:
        return Part(command.text, "ask", None, self._why(command), "default")

    def _runs(self, command: Command, depth: int = 0) -> Iterator[Run]:
        """The command itself and everything that it runs in turn."""
        if command.words:
            yield Run(command.words, certain=True)
        if depth > _MAX_NESTING:
            self.hidden = self.hidden or "it is nested too deep"
            yield Run(_TOO_DEEP, certain=False)
            return
        inside = look_inside(command)
        if inside.hidden:
            self.hidden = self.hidden or inside.hidden
        for inner in inside.commands:
            if inner.words is not None:
                for run in self._runs(Command(inner.words, "", stdin=command.stdin, body=command.body), depth + 1):
                    yield Run(run.words, run.certain and inner.certain)
            elif inner.script is not None:
                yield from self._script_runs(inner.script, depth, certain=inner.certain)

    def _script_runs(self, script: str, depth: int, *, certain: bool) -> Iterator[Run]:
        if len(script) > _lexical.MAX_BYTES:
            self.hidden = self.hidden or "it holds a script that is too long"
            return
        reading = _shell.read(script, self.rules.home)
        if reading.hidden and certain:
            self.hidden = self.hidden or reading.hidden
        for command in reading.commands:
            for run in self._runs(command, depth + 1):
                yield Run(run.words, run.certain and certain)

    def _deny(self, command: Command, runs: Sequence[Run]) -> Part | None:
        found = self._search(runs, (self.rules.deny, self.rules.extra_deny))
        if found is not None:
            rule, sure = found
            if sure:
                return _denied(command.text, rule)
            return Part(command.text, "ask", rule, f"it may be what the blacklist's rule {rule!r} forbids", "ask_rule")
        return self._session(command, runs) or _shell_files.protected(command, self.rules, self._base, moved=self.moved)

    def _ask(self, command: Command, runs: Sequence[Run]) -> Part | None:
        found = self._search(runs, (self.rules.ask, self.rules.extra_ask))
        if found is None:
            return None
        return Part(command.text, "ask", found[0], f"the rule {found[0]!r} asks every time", "ask_rule")

    def _search(self, runs: Sequence[Run], indexes: Sequence[ShellIndex]) -> tuple[str, bool] | None:
        """The rule that catches one of *runs*, and whether surely."""
        maybe: str | None = None
        for run in runs:
            program = program_of(run.words)
            if program is None:
                self.hidden = self.hidden or "the name of its program is computed"
                continue
            for index in indexes:
                for rule in index.about(program):
                    match = rule.patterns[0].catches(run.words)
                    if match == 2 and run.certain:
                        return rule.text, True
                    if match:
                        maybe = maybe or rule.text
        return (maybe, False) if maybe is not None else None

    def _session(self, command: Command, runs: Sequence[Run]) -> Part | None:
        for rule, scope in self.rules.session.get("deny", ()):
            match = max((rule.patterns[0].catches(run.words) for run in runs), default=0)
            if match == 2:
                text = f"you said never to {rule.text!r} ({scope})"
                return Part(command.text, "deny", rule.text, text, "session_blacklist")
            if match:
                return Part(command.text, "ask", rule.text, f"it may be {rule.text!r}, which you denied", "ask_rule")
        return None

    def _sequences(self, text: str) -> Iterator[Part]:
        """Rules of several commands, as in ``curl * | sh``."""
        for index, verdict in ((self.rules.deny, "deny"), (self.rules.ask, "ask")):
            for rule in index.sequences:
                remaining = list(rule.patterns)
                best: Match = 2
                for run in self._sequence_runs:
                    match = remaining[0].catches(run.words) if remaining else 0
                    if match:
                        best = min(best, match)
                        remaining.pop(0)
                if not remaining and verdict == "deny" and best == 2:
                    yield _denied(text, rule.text)
                elif not remaining:
                    yield Part(text, "ask", rule.text, f"the rule {rule.text!r} may be about it", "ask_rule")

    # Allowing.

    def _allow(self, command: Command) -> Part | None:
        rules = self.rules
        if rules.whole is not None:
            return Part(command.text, "allow", rules.whole, f"the rule {rules.whole!r} allows the tool", "whitelist")
        if not command.words:
            if command.assignments or not command.redirects:
                return None
            return Part(command.text, "allow", None, "it only redirects", "whitelist")
        if self._unfit(command):
            return None
        for candidate in (command, peeled(command)):
            if candidate is not None and not self._moved_too_far(candidate):
                part = self._covered(candidate)
                if part is not None:
                    return part
        return None

    def _covered(self, command: Command) -> Part | None:
        program = program_of(command.words)
        if program is None:
            return None
        for rule, scope in self.rules.session.get("allow", ()):
            if rule.patterns[0].covers(command):
                method = "session_whitelist" if scope == "session" else "grant"
                return Part(command.text, "allow", rule.text, f"you allowed {rule.text!r} ({scope})", method)
        for index in (self.rules.allow, self.rules.extra_allow):
            for rule in index.by_program.get(program, ()):
                if rule.patterns[0].covers(command):
                    return Part(command.text, "allow", rule.text, f"the rule {rule.text!r} allows it", "whitelist")
        return None

    def _unfit(self, command: Command) -> str | None:
        """Why no rule may cover *command*, whatever its words."""
        for name, value in command.assignments:
            if not _programs.is_safe_variable(name, value) or type(value) is not str:
                return f"it sets the variable {name}"
        if any(type(word) is Unknown for word in command.words):
            return "a word of it is only known when it runs"
        return _shell_files.secret(command, self.rules, self._base)

    def _moved_too_far(self, command: Command) -> str | None:
        """Why ``cd`` keeps a rule from covering this: what it means depends on the folder."""
        program = program_of(command.words)
        if program in MOVERS:
            return None if self._destination(command.words) is not None else "it leaves the project"
        if program == "popd":
            return "where it leads is not known"
        if not self.moved:
            return None
        if self.cwd is None or not under(self.cwd, self.rules.project):
            return "it runs outside the project"
        return "it runs git in another folder" if program == "git" else None

    def _destination(self, words: list[str]) -> str | None:
        """Where ``cd`` leads, if it is one known folder of the project."""
        operands = [word for word in words[1:] if word != "--"]
        if len(operands) != 1 or type(operands[0]) is not str or operands[0][:1] in ("-", "+") or self.cwd is None:
            return None
        try:
            place = locate(operands[0], self.cwd, self.rules.home)
        except UnclearPathError:
            return None
        return place.real if under(place.real, self.rules.project) else None

    def _follow(self, command: Command) -> None:
        if not command.words:
            return
        candidate = command
        program = program_of(candidate.words)
        if program in ("command", "builtin") and len(candidate.words) > 1:
            candidate = Command(candidate.words[1:], candidate.text)
            program = program_of(candidate.words)
        if program in MOVERS:
            before, self.cwd = self.cwd, self._destination(candidate.words)
            self.moved = self.moved or self.cwd != before
        elif program == "popd" or program is None:
            self.cwd, self.moved = None, True

    # Files.

    def _redirect(self, redirect: Redirect, *, moved: bool) -> Part:
        text = f"{redirect.operator} {redirect.target}"
        if type(redirect.target) is not str or not redirect.target:
            return Part(text, "ask", None, "where it redirects to is only known when it runs", "default")
        if _NETWORK_FILE.match(redirect.target):
            self.hidden = self.hidden or "it opens a network connection"
            return Part(text, "ask", None, "it opens a network connection", "default")
        if redirect.operator == "<>":
            return Part(text, "ask", None, "it opens a file for reading and writing", "default")
        tool = "writeFile" if redirect.writes else "readFile"
        part = self.rules.file_verdict(tool, os.path.join(self._base, redirect.target))  # noqa: PTH118 -- text
        if part.verdict == "allow" and moved:
            return Part(text, "ask", None, "it redirects after cd", "default")
        return part._replace(text=text)

    # What hides, for policies that allow what no rule is about.

    def _writes_what_it_runs(self, reading: Reading) -> None:
        """``echo … > x; sh x`` runs what the command itself wrote."""
        writes = False
        for command in reading.commands:
            program = program_of(command.words)
            writes = writes or program in _programs.WRITERS or any(redirect.writes for redirect in command.redirects)
            by_path = bool(command.words) and "/" in command.words[0]
            if writes and (by_path or program in (".", "source") or program in _programs.SHELLS):
                self.hidden = self.hidden or "it may run what it has just written"
            for assigned, value in command.assignments:
                name = assigned.partition("[")[0]
                if name in _programs.RESOLVING_VARIABLES or name.startswith(("LD_", "DYLD_", "BASH_FUNC", "GIT_")):
                    self.hidden = self.hidden or f"it sets {name}, which changes what runs"
                if "$(" in value or "`" in value:
                    self.hidden = self.hidden or f"it puts a command into the variable {name}"
            self._names_denied(command, program)

    def _names_denied(self, command: Command, program: str | None) -> None:
        """An unknown program that is given a blacklisted one may run it."""
        denied = self.rules.deny.programs
        if not denied or program is None or program in _programs.INERT or program in _programs.WRAPPERS:
            return
        if command.stdin and _lexical.mentions(self._text, denied):
            self.hidden = self.hidden or f"{program} may run what it is sent"
        for word in command.words[1:]:
            name = word.rpartition("/")[2].rpartition("=")[2]
            if name in denied or (" " in word and _lexical.mentions(word, denied)):
                self.hidden = self.hidden or f"{program} may run what it is given"

    def _why(self, command: Command) -> str:
        """Why no rule covers *command*, for a person."""
        unfit = self._unfit(command) or self._moved_too_far(command)
        if unfit:
            return unfit
        program = program_of(command.words)
        if program is not None and any(True for _ in self.rules.allow.by_program.get(program, ())):
            reach = exposed(command)
            if 0 <= reach < len(command.words):
                return f"{command.words[reach]!r} runs or writes something, and no rule spells it out"
        return "no rule allows it"


def _tee_targets(command: Command) -> Iterator[Redirect]:
    """The files that tee writes are redirections by another name."""
    if program_of(command.words) == "tee":
        for word in command.words[1:]:
            if (word[:1] != "-" or type(word) is not str) and word not in ("/dev/null", "/dev/stderr", "/dev/stdout"):
                yield Redirect(">", word)


def _denied(text: str, rule: str) -> Part:
    return Part(text[:2000], "deny", rule, f"the rule {rule!r} of the blacklist forbids it", "blacklist")

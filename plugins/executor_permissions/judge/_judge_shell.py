"""
Judges a shell command: each simple command in it, each redirection, and whatever they run in turn.

``ls && timeout 9 make > log`` has three parts: ``ls``, ``timeout 9 make``, which a rule to deny ``make *`` is about as
well, and ``> log``, which is judged as a call of ``writeFile``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge._shell_cover import Cover, makes_nothing
from executor_permissions.judge._shell_rules import (
    Judged,
    StepRules,
    in_sequence,
    part_of_finding,
    remembered,
    told_words,
)
from executor_permissions.judge._shell_scope import Outcome, Rules, Session
from executor_permissions.judge._shell_script import told_by
from executor_permissions.judge._shell_sent import SENT, Sent
from executor_permissions.judge._verdicts import denied_part, maybe_denied_part
from executor_permissions.judge._why import HANDING_ON, not_spelled_out
from executor_permissions.judge.bash import _broad, _shell
from executor_permissions.judge.bash._expand import homes
from executor_permissions.judge.bash._words import Command, Reading
from executor_permissions.judge.files._effects import affects_by_itself
from executor_permissions.judge.files._files import Operands
from executor_permissions.judge.files._findings import Finding, may_be_worse, worse
from executor_permissions.judge.files._search import Searches
from executor_permissions.judge.files._searching import LOOKING, LOOKING_OF_GIT
from executor_permissions.judge.options import _programs, kind_of
from executor_permissions.judge.options._editors import EDITORS
from executor_permissions.judge.paths import _lexical
from executor_permissions.judge.rules._rules import Part
from executor_permissions.judge.runs._fed import changes_listed
from executor_permissions.judge.runs._handed_on import handed_on
from executor_permissions.judge.runs._hides import hidden_in
from executor_permissions.judge.runs._peel import parts_of
from executor_permissions.judge.runs._runs import Run, Runs
from executor_permissions.judge.runs._sent import may_send_options

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from executor_permissions.judge._shell_opened import Opened
    from executor_permissions.judge._shell_script import Told
    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.bash._syntax import Script
    from executor_permissions.judge.bash._walk import Step
    from executor_permissions.judge.files._tracked import TrackedFiles
    from executor_permissions.judge.paths._links import Links

# Loops, pipelines and commands in the background: what stands behind may run before. Each way begins with a character,
# which is found fast, and looks back from behind it.
_NOT_IN_ORDER = re.compile(
    r"for\b(?<!\wfor)|while\b(?<!\wwhile)|until\b(?<!\wuntil)|&(?<![&<>|]&)(?![&>])|\|(?<![>|]\|)(?!\|)"
)
# They open files as redirections do, or may by what a script on their command line says.
_SCRIPTED = _programs.SEDS | _programs.AWKS
_OPENING = _programs.INTERPRETERS | EDITORS | {"duckdb"}
_BLANK = re.compile(r"[\s(<>]")
_CHARACTERS = _lexical.MAX_BYTES // 4  # no character has more bytes
_LISTS = re.compile(r"xargs|parallel|cpio|pax|files|filelist|-T|tar|rsync|zip|7z|ack -|multifile|--proto")


class ShellJudge:
    """
    Judges one command.

    Args:
        rules: What the policy has.
        links: Resolves paths, for the whole decision.
        session: What people have answered.
        cwd: The folder that it is run in, resolved.
        folders: What the shell may call that folder.
        moved: Whether that is another folder than usual.

    Attributes:
        told: The text that the command tells a shell, if it does no more.
    """

    told: Told | None = None
    _searches: Searches | None = None
    _tracked: TrackedFiles | None = None
    _opened: Opened | None = None
    _text = ""
    _in_order = True  # whether no command runs before one that is written in front of it

    def __init__(
        self, rules: Rules, links: Links, session: Session, cwd: str, folders: Folders, *, moved: bool
    ) -> None:
        self.rules = rules
        self._links = links
        self._session = session
        self._folders = folders
        self._step_rules = StepRules(rules, links)
        self._cover = Cover(rules, links, frozenset({rules.project} if moved else {rules.project, cwd}))
        self._operands = Operands(rules.files, rules.home, links)
        self._sent = Sent(self._operands, rules.home)
        self._runs = Runs(rules.home, links)
        self._all_runs: list[Run] = []
        self._others: list[list[str]] = []  # what other programs than git ran so far

    def judge_text(self, text: str) -> Outcome:
        """Judge a command as a shell would be given it."""
        if len(text) > _CHARACTERS and len(text.encode("utf-8", "replace")) > _lexical.MAX_BYTES:
            return self._unread(text, "it is longer than 32 KiB")
        try:
            reading = _shell.understood(text)
        except ImportError:
            return self._unread(text, "tree-sitter, which reads shell commands, is not installed")
        texts = self.rules.deny.texts
        rule = texts.get(" ".join(text.split())) if texts else None
        if rule is not None:
            return Outcome([denied_part(text, rule.text)], None)
        return self._judge(reading, text)

    def judge_words(self, words: list[str]) -> Outcome:
        """Judge a program and its arguments, run without a shell."""
        text = " ".join(words)
        if _lexical.has_hidden_characters(text):
            return self._unread(text, "it has control or invisible characters")
        return self._judge(Reading([Command(words, text)]), text)

    def _judge(self, reading: Reading, text: str) -> Outcome:
        """Judge what was read of *text*."""
        if reading.hidden:
            self._runs.hide(reading.hidden)
        script, folders = reading.script, self._folders
        steps = self._steps(script, text) if script is not None else self._runs.without_script(reading, folders)
        if len(steps) == 1:
            self.told = told_by(steps[0].command, self.rules)
        self._operands.lists_names = _LISTS.search(text) is not None
        judged: list[tuple[Step, Judged]] = []
        for step, one, is_other in self._step_rules.each(steps):
            if is_other:
                judged.append((step, one))
            if self.rules.has_sequences:
                self._all_runs.extend(one.runs)
        self._operands.is_followed = len(judged) > 1 or (bool(judged) and len(judged[0][1].runs) > 1)
        self._text = text
        if self._operands.lists_names:
            self._operands.changes_listed = any(changes_listed(one.runs) for _, one in judged)
            flat = script is None and not reading.moves
            self._operands.options_sent = may_send_options(steps, self._links, flat=flat)
        parts: list[Part] = []
        self._in_turn(judged, parts, in_order=_NOT_IN_ORDER.search(text) is None)
        if self.rules.has_sequences:
            parts.extend(self._sequences(text[:200]))
        if reading.opaque or not parts:
            why = f"{reading.opaque}, which no rule can allow" if reading.opaque else "it has no command"
            # In front: of what is not understood, the commands that follow are a guess.
            parts.insert(0, self._mentioned(reading, text) or Part(text, "ask", None, why, "default"))
        return self._outcome(parts, [(step, one.runs) for step, one in judged], text)

    def _outcome(self, parts: list[Part], judged: list[tuple[Step, list[Run]]], text: str) -> Outcome:
        """What comes of the *parts* of *text*, and of what may be in that besides what was *judged*."""
        unseen = hidden_in(judged, text, self.rules.named_programs, in_order=self._in_order)
        if unseen is not None:
            found = hidden_in(judged, text, self.rules.denied_programs, in_order=self._in_order)
            if found is not None:
                self._runs.hide(found)
        return Outcome(list(dict.fromkeys(parts)) if len(parts) > 1 else parts, self._runs.hidden, unseen)

    def _in_turn(self, judged: Collection[tuple[Step, Judged]], parts: list[Part], *, in_order: bool) -> None:
        """Judge each of *judged*, of which each is run behind those in front of it, or if not *in_order* behind all."""
        self._in_order = in_order
        if not in_order:
            for step, one in judged:
                self._cover.passed(step, one)
        before: tuple[Step, Judged] | None = None
        for pair in judged:
            if before is not None and in_order:
                self._cover.passed(*before)
            before = pair if self._step(*pair, parts) else None

    def _steps(self, script: Script, text: str) -> list[Step]:
        """The commands of *text*, with the folders they may run in."""
        folders, known = self._folders, self.rules.known.steps
        key = text, folders, homes(self.rules.home)
        steps = known.get(key)
        if steps is None:
            steps, lasting = self._runs.walked(script, text, folders)
            if lasting:
                known.keep(key, steps, len(text))
        return steps

    def _unread(self, text: str, why: str) -> Outcome:
        """A command that was not parsed: denied if it plainly is, else asked."""
        self._runs.hide(why)
        commands, whole = _broad.commands(text)
        reading = Reading(commands, partial=not whole or len(text) > _lexical.MAX_BYTES)
        found = self._plainly_denied(reading) or self._mentioned(reading, text)
        return Outcome([found or Part(text[:200], "ask", None, why, "default")], why)

    def _plainly_denied(self, reading: Reading) -> Part | None:
        for command in reading.commands:
            part = self._step_rules.denied(command, [Run.of(command)], self._runs, self._folders)
            if part is not None and part.verdict == "deny":
                return part
        return None

    def _mentioned(self, reading: Reading, text: str) -> Part | None:
        """Of what is too long to be read, a mere word is enough to be denied."""
        word = _lexical.mentions(text, self.rules.denied_programs) if reading.partial else None
        return denied_part(word, word) if word else None

    # One command.

    def _step(self, step: Step, judged: Judged, parts: list[Part]) -> bool:
        """Judge *step*, and add what is to be told to *parts*; False if it is denied."""
        command = step.command
        if judged.hidden:
            self._runs.hide(judged.hidden)
        finding = self._finding(step, judged.runs)
        found = None
        if judged.denied is not None or finding is not None or self._session:
            found = self._forbidden(command, judged, finding)
        if found is not None and found.verdict == "deny":
            parts.append(found)
            return False
        found = found or judged.asked
        if found is None and judged.whole:
            found = self._allow(step, judged, finding)
        found = found or Part(command.text, "ask", None, self._why(step, finding, judged), "default")
        parts.append(found if found.words else Part(*found[:-1], told_words(command)))
        if command.redirects or len(judged.runs) > 1 or _names_others(command):
            parts.extend(self._opened_by(step, judged.runs))  # before the command runs
        return True

    def _opened_by(self, step: Step, runs: Sequence[Run]) -> Iterable[Part]:
        if self._opened is None:
            from executor_permissions.judge._shell_opened import Opened  # for those that open some

            self._opened = Opened(self.rules, self._links, self._operands, self._runs)
        return self._opened.parts(step, runs, linked=self._cover.links_so_far)

    def _forbidden(self, command: Command, judged: Judged, finding: Finding | None) -> Part | None:
        """The worst of what rules, people's answers and the files that it names say against it."""
        told = (
            judged.denied,
            self._forbidden_by_answer(command, judged.runs),
            finding and part_of_finding(finding, command.text),
        )
        against = [part for part in told if part is not None]
        return next((part for part in against if part.verdict == "deny"), against[0]) if against else None

    def _finding(self, step: Step, runs: Sequence[Run]) -> Finding | None:
        """The worst about the files that it names, itself or in a script that it runs."""
        changed = not self._cover.plain_so_far
        words = step.command.words
        linked = self._cover.links_so_far and step.command.program != "git" and kind_of(words) == "reader"
        worst = self._operands.found(step.command, step.folders, changed=changed, linked=linked)
        is_sent = False
        for run in runs:
            own = run.step or step
            is_sent = is_sent or own.command.stdin in SENT
            if may_be_worse(worst):
                shown, fed = self._shown(run, own.folders), self._fed(step, run, own.folders)
                if shown is not None or fed is not None:
                    worst = worse(worst, worse(shown, fed))
            if run.words is words or run.words == words:
                continue
            inner = own.command
            bare = Command(run.words, inner.text)
            # Words that another has taken apart, or of which it does not know what becomes of them.
            # Without words it opens files, or sets variables.
            if (inner.words or run.step is None) and (
                not set(inner.words).issuperset(run.words) or (run.words != inner.words and affects_by_itself(bare))
            ):
                inner = bare
            if inner is not step.command and (worst is None or worst.verdict != "deny"):
                worst = worse(worst, self._operands.found(inner, own.folders, changed=changed))
            changed = changed or not makes_nothing(inner)
        if is_sent and may_be_worse(worst):
            worst = worse(worst, self._sent.finding(step, runs, self._text))
        return worst

    def _fed(self, step: Step, run: Run, folders: Folders) -> Finding | None:
        """Whether *run*, of *step*, may be given files of which only the running shell knows the names."""
        found = self._operands.fed(run.words)
        handed = handed_on(step.command) if found is not None and run.words != step.command.words else None
        return found if handed is None else self._shown(Run(handed, run.certain, "find"), folders)

    def _shown(self, run: Run, folders: Folders) -> Finding | None:
        """What a search, or git, may show of files that it is not given by name."""
        found = None
        if run.program in LOOKING and (run.program != "git" or not LOOKING_OF_GIT.isdisjoint(run.words)):
            if self._searches is None:
                self._searches = Searches(self.rules.files, self.rules.home, self._links)
            reached = self._searches.reached(run.words, folders)
            found = Finding(*reached) if reached is not None else None
        if run.program != "git":
            self._others.append(run.words)
            return found
        if self._tracked is None:
            from executor_permissions.judge.files._tracked import TrackedFiles

            self._tracked = TrackedFiles(self.rules.files, self._links, self._others, in_order=self._in_order)
        tracked = self._tracked.shown(run.words, folders)
        return worse(found, Finding("maybe", *tracked) if tracked is not None else None)

    def _forbidden_by_answer(self, command: Command, runs: Sequence[Run]) -> Part | None:
        for rule, scope in self._session.get("deny", ()):
            match = max((rule.patterns[0].catches(run.words) for run in runs), default=0)
            if match == 2:
                text = f"you said never to {rule.text!r} ({scope})"
                return Part(command.text, "deny", rule.text, text, "session_blacklist")
            if match:
                return maybe_denied_part(command.text, rule.text, f"it may be {rule.text!r}, which you denied")
        return None

    def _sequences(self, text: str) -> Iterator[Part]:
        """Rules of several commands, as in ``curl * | sh``."""
        for index, verdict in ((self.rules.deny, "deny"), (self.rules.ask, "ask")):
            for rule in index.sequences:
                found = in_sequence(rule.patterns, self._all_runs)
                if found == 2 and verdict == "deny":
                    yield denied_part(text, rule.text)
                elif found:
                    why = f"the rule {rule.text!r} may be about it"
                    yield Part(text, "ask", rule.text, why, "ask_rule", maybe_denied=verdict == "deny")

    # Allowing.

    def _allow(self, step: Step, judged: Judged, finding: Finding | None) -> Part | None:
        covered = None
        if finding is None:
            ways, answers = judged.ways, self._session.get("allow")
            if answers:
                ways = [*remembered(step, answers, self._links), *ways]
            covered = self._cover.allowed(step, ways, judged.uses)
        rule = self.rules.whole
        if covered is not None or rule is None:
            return covered
        return Part(step.command.text, "allow", rule, f"the rule {rule!r} allows the tool", "whitelist")

    def _why(self, step: Step, finding: Finding | None, judged: Judged) -> str:
        """Why no rule covers a command, for a person."""
        command = step.command
        unfit = self._cover.unfit(command) if command.words or command.assignments else None
        if unfit or finding is not None:
            return unfit or (finding.reason if finding is not None else "")
        misplaced = self._cover.misplaced(step)
        if misplaced:
            return misplaced
        elsewhere = self._cover.elsewhere(step, judged.uses) if judged.ways else None
        if elsewhere:
            return elsewhere
        for one in parts_of(command) or [command]:
            program = one.program
            if program is not None and (program in HANDING_ON or self.rules.allow.by_program.get(program)):
                told = not_spelled_out(one)
                if told is not None:
                    return told
        return "no rule allows it"


def _names_others(command: Command) -> bool:
    """Whether *command* may open files that are neither operands nor redirections."""
    program = command.program
    if program in _SCRIPTED:
        return kind_of(command.words) != "reader"
    return program == "tee" or (program in _OPENING and any(map(_BLANK.search, command.words)))

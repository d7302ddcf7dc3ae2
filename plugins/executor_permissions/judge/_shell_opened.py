"""
The files that a command opens besides its operands: by redirections, and by the scripts that it runs.

Each is judged as a call of writeFile or readFile: ``sort < in > out`` reads ``in`` and writes ``out``.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from executor_permissions.judge._shell_rules import part_of_finding
from executor_permissions.judge._verdicts import maybe_denied_part
from executor_permissions.judge.bash._expand import ANYWHERE
from executor_permissions.judge.bash._words import NO_FILES, Redirect
from executor_permissions.judge.files._made_links import MAKERS, LinkMakers
from executor_permissions.judge.files._scripts import files_of
from executor_permissions.judge.options import walk
from executor_permissions.judge.options._programs import REMOTE
from executor_permissions.judge.paths._paths import LONGEST_PATH
from executor_permissions.judge.rules._rules import Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from executor_permissions.judge._shell_scope import Rules
    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.bash._walk import Step
    from executor_permissions.judge.files._files import Operands
    from executor_permissions.judge.paths._links import Links
    from executor_permissions.judge.runs._runs import Run, Runs

_NETWORK_FILE = re.compile(r"/dev/(tcp|udp)/")
_NOT_ALLOWED = {
    "readFile": "it reads a file, and no rule for readFile allows that",
    "writeFile": "it writes a file, and no rule for writeFile allows that",
}
_BY_RULE = 2  # the severity of what a rule asks about; more: what one of the blacklist may be about
_MOST_OPENED = 100  # by the scripts in one command
_MOST_COMPARED = 500  # files, in each folder they may be in, times what comparing one costs
_TOO_MANY = "it opens more files than are looked at"


class Opened:
    """
    Judges what the commands of one call open.

    Args:
        rules: What the policy has.
        links: Resolves paths, for the whole decision.
        operands: Says what the rules about files say of one.
        notes: Is told what may hide something.
    """

    def __init__(self, rules: Rules, links: Links, operands: Operands, notes: Runs) -> None:
        self._rules = rules
        self._links = links
        self._operands = operands
        self._notes = notes
        self._makers = LinkMakers(links)
        self._known: dict[tuple[str, str, type, Folders, bool], Part] = {}
        self._left = _MOST_COMPARED

    def parts(self, step: Step, runs: Sequence[Run], *, linked: bool) -> Iterator[Part]:
        """
        What is to be said of what *step*, which runs *runs*, opens.

        Args:
            linked: Whether a command before it may have made a link.
        """
        for redirect in (*step.command.redirects, *_targets(step.command.words)):
            yield self._judged(redirect, step.folders, linked=linked)
        yield from self._named(step.command.words, step.folders)
        known: set[tuple[str, str, Folders, bool]] = set()
        remote = False  # whether it is what a program of another machine is told that comes
        for run in runs:
            here, remote = not remote, remote or run.program in REMOTE
            if run.words == step.command.words:
                continue
            folders = (run.step or step).folders
            opened = (*(run.step.command.redirects if run.step is not None else ()), *_targets(run.words))
            for redirect in opened:
                key = redirect.operator, redirect.target, folders, linked
                if key in known:
                    continue
                known.add(key)
                if len(known) > _MOST_OPENED:
                    self._notes.hide("its scripts open more files than are looked at")
                    return
                part = self._judged(redirect, folders, linked=linked)
                if run.certain and here:
                    yield part
                else:
                    yield from _softened(part)
            yield from self._named(run.words, folders)
            linked = linked or (run.program in MAKERS and self._makers.may_link(run, folders))

    def _named(self, words: list[str], folders: Folders) -> Iterator[Part]:
        """What rules forbid or ask of the files that a script among *words* names."""
        for i, file in enumerate(files_of(words)):
            if not file.name or len(file.name) > LONGEST_PATH:
                continue
            redirect = Redirect(">" if file.writes else "<", file.name)
            if file.sure and i < _MOST_OPENED:
                part = self._judged(redirect, folders, linked=False)
                if part.rule is not None and part.verdict != "allow":
                    yield part
            else:
                found = self._operands.target(file.name, folders, writes=file.writes)
                told = part_of_finding(found, f"{redirect.operator} {file.name}")
                if told is not None:
                    yield from _softened(told)

    def _judged(self, redirect: Redirect, folders: Folders, *, linked: bool) -> Part:
        key = redirect.operator, redirect.target, type(redirect.target), folders, linked
        part = self._known.get(key)
        if part is None:
            self._left -= self._rules.files.looks * len(folders)
            if self._left < 0:
                self._notes.hide(_TOO_MANY)
                part = maybe_denied_part(f"{redirect.operator} {redirect.target}", None, _TOO_MANY)
                return part._replace(words=(">" if redirect.writes else "<",))
            part = self._known[key] = self._judge(redirect, folders, linked=linked)
        return part

    def _judge(self, redirect: Redirect, folders: Folders, *, linked: bool) -> Part:
        target = redirect.target
        text = f"{redirect.operator} {target}"
        if redirect.is_text:
            does = "shows" if redirect.operator == "set -x" else "looks at"
            return Part(text, "ask", None, f"the text that it {does} is only known when it runs", "default")
        if type(target) is not str or not target:
            found = self._operands.target(target, folders, writes=redirect.writes)
            why = "where it redirects to is only known when it runs"
            part = part_of_finding(found, text) or Part(text, "ask", None, why, "default")
            return part if redirect.writes else part._replace(words=("<",))
        if _NETWORK_FILE.match(target):
            self._notes.hide("it opens a network connection")
            return Part(text, "ask", None, "it opens a network connection", "default")
        tool = "writeFile" if redirect.writes else "readFile"
        own = part_of_finding(self._operands.target(target, folders, writes=redirect.writes), text)
        parts = [] if own is None else [own]
        files = [os.path.join(folder, target) for folder in sorted(folders)]  # noqa: PTH118 -- text, not a file
        for folder, path in zip(sorted(folders), files, strict=True):
            if folder == ANYWHERE and target[:1] != "/":
                parts.append(Part(text, "ask", None, "the folder that it redirects in is not known", "default"))
            else:
                part = self._rules.file_verdict(tool, path, self._links)
                parts.append(part if part.verdict == "allow" or part.rule else part._replace(reason=_NOT_ALLOWED[tool]))
        worst = max(parts, key=_severity)
        if linked and target not in NO_FILES and _severity(worst) < _BY_RULE:
            worst = Part(text, "ask", None, "a command before it may have made a link", "default")
        return worst._replace(text=text, words=(">" if redirect.writes else "<", *files))


def _targets(words: list[str]) -> Iterable[Redirect]:
    """The files that tee writes are redirections by another name."""
    if not words or words[0].rpartition("/")[2] != "tee":
        return ()
    found = walk(words)
    targets = found.writes if found is not None else ()
    return [Redirect(">", target) for target in targets if target not in NO_FILES]


def _softened(part: Part) -> Iterator[Part]:
    """What is left of *part* if it may be about nothing that is opened: no more than a question by a rule."""
    if part.rule is not None and part.verdict != "allow":
        yield part if part.verdict == "ask" else maybe_denied_part(part.text, part.rule)


def _severity(part: Part) -> int:
    if part.verdict != "ask":
        return 4 if part.verdict == "deny" else 0
    return _BY_RULE + part.maybe_denied if part.method == "ask_rule" else 1

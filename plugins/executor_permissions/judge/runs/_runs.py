"""Everything that a simple command runs: itself, what a wrapper runs in turn, and the scripts of shells in it."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from executor_permissions.judge.bash import _shell
from executor_permissions.judge.bash._expand import ANYWHERE
from executor_permissions.judge.bash._moves import Surroundings, moved_by
from executor_permissions.judge.bash._split_simple import MAX_COMMANDS
from executor_permissions.judge.bash._walk import Step, Walked, walk
from executor_permissions.judge.bash._words import DEFINITE, MAX_NESTING, Command, Reading, Unknown
from executor_permissions.judge.runs._unwrap import look_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.bash._syntax import Script
    from executor_permissions.judge.paths._links import Links

_TOO_DEEP: list[str] = [Unknown("…")]  # stands for whatever runs below that
_NOTHING = [":"]  # stands for what runs nothing, and only opens files
_MOST_SCRIPT = 16 * 1024  # characters of scripts in a command that are read, and of those in these
_MAX_RUNS = 100  # what one simple command may run in turn, before it counts as hiding something


# With these arguments, programs that run others do so in another folder; a long option may be cut short.
_ELSEWHERE = {
    "env": re.compile(r"-[a-z0]*C|--c"),
    "find": re.compile(r"-(?:exec|ok)dir\Z"),
    "fd": re.compile(r"-[a-zA-Z0]*C|--base"),
    "sudo": re.compile(r"-[a-zA-Z]*[DRi]|--(?:ch|login)"),
    "nsenter": re.compile(r"-[a-zA-Z]*[rwW]|--(?:r|w)"),
    "unshare": re.compile(r"-[a-zA-Z]*[Rw]|--(?:r|w)"),
    "parallel": re.compile(r"--w"),
    "start-stop-daemon": re.compile(r"-[a-zA-Z]*[dr]|--ch"),
    **dict.fromkeys(("chroot", "systemd-run", "bwrap", "proot"), re.compile("")),
    **dict.fromkeys(("su", "runuser"), re.compile(r"-\Z|-[a-z]*l|--l")),
}


class Run(NamedTuple):
    """
    One program that runs, maybe inside another.

    Attributes:
        words: The program and its arguments.
        certain: Whether it surely runs.
        program: As `program_of` says.
        step: For a command of an inner script: where it runs.
    """

    words: list[str]
    certain: bool
    program: str | None
    step: Step | None = None

    @classmethod
    def of(cls, command: Command) -> Run:
        """*command* itself, which surely runs."""
        return cls(command.words, True, command.program)


class Runs:
    """
    Finds what commands run. Holds why there may be more than was found.

    Args:
        home: What ``~`` stands for.
        links: Resolves folders.
        steps: How many commands of the same line have been found already.

    Attributes:
        has_scripts: Whether one of them runs a script.
        hidden: Why there may be more.
    """

    def __init__(self, home: str, links: Links, steps: int = 0) -> None:
        self._home = home
        self._links = links
        self.steps = steps
        self._left = _MOST_SCRIPT
        self.has_scripts = False
        self.hidden: str | None = None

    def hide(self, why: str) -> None:
        """There may be more: the first reason is kept."""
        self.hidden = self.hidden or why

    def walked(self, script: Script, text: str, folders: Folders) -> Walked:
        """The simple commands of *script*, which was read of *text*, with the folders they may run in."""
        return walk(script, text, self._around(), self._links, folders, before=self.steps)

    def _around(self) -> Surroundings:
        return Surroundings(self._home, _has_search_path)

    def without_script(self, reading: Reading, folders: Folders) -> list[Step]:
        """The commands of a *reading* without a script: nothing among them but a first one goes to another folder."""
        commands, steps = reading.commands, []
        if reading.moves:
            first, *commands = commands
            begin, folders = folders, moved_by(first, self._around(), self._links, folders)
            steps.append(Step(first, begin, folders))
        steps += [Step(command, folders, folders) for command in commands]
        return steps

    def of(self, step: Step) -> tuple[list[Run], bool]:
        """The command itself and what it runs in turn, and whether that is all of it."""
        command = step.command
        if not DEFINITE.issuperset(map(type, command.words)):
            command = without_kinds(command)
        inside = look_inside(command)
        if command.words and not inside.commands and not inside.hidden and not command.assignments:
            return [Run(command.words, True, command.program)], True  # as nearly every command
        runs = list(islice(self._of(command, step.folders, 0), _MAX_RUNS + 1))
        if len(runs) > _MAX_RUNS:
            self.hide("it runs more than is looked at")
        return runs, len(runs) <= _MAX_RUNS and all(run.words is not _TOO_DEEP for run in runs)

    def _of(self, command: Command, folders: Folders, depth: int) -> Iterator[Run]:
        if command.words:
            yield Run.of(command)
        if depth > MAX_NESTING:
            self.hide("it is nested too deep")
            yield Run(_TOO_DEEP, certain=False, program=None)
            return
        inside = look_inside(command)
        if inside.hidden:
            self.hide(inside.hidden)
        commands = inside.commands
        if command.assignments:
            from executor_permissions.judge.runs._variables import run_by  # few commands have any

            commands = [*commands, *run_by(command.assignments, command.words)]
        begin = folders
        for inner in commands:
            folders = begin | {ANYWHERE} if _goes_elsewhere(command.words, inner.words or []) else begin
            if inner.words is not None:
                one = Command(inner.words, "", stdin=command.stdin, body=command.body, files=command.files)
                where = None if folders is begin else Step(one, folders, folders)
                for run in self._of(one, folders, depth + 1):
                    yield run._replace(certain=run.certain and inner.certain, step=run.step or where)
            elif inner.script is not None:
                yield from self._script(inner.script, folders, depth, command, certain=inner.certain)

    def _script(self, script: str, folders: Folders, depth: int, outer: Command, *, certain: bool) -> Iterator[Run]:
        self.has_scripts = True
        self._left -= len(script)
        if self._left < 0:
            self.hide("it holds a script that is too long")
            return
        if self.steps > MAX_COMMANDS:
            self.hide(f"it has more than {MAX_COMMANDS} commands")
            return
        reading = _shell.understood(script)
        if reading.hidden and certain:
            self.hide(reading.hidden)
        read = reading.script
        steps = self.without_script(reading, folders) if read is None else self.walked(read, script, folders).steps
        self.steps += len(steps)
        for one in steps:
            step = _fed(one, outer, script)
            if not step.command.words and (step.command.redirects or step.command.assignments):
                yield Run(_NOTHING, certain, _NOTHING[0], step)
            for run in self._of(without_kinds(step.command), step.folders, depth + 1):
                yield Run(run.words, run.certain and certain, run.program, run.step or step)


def _fed(step: Step, outer: Command, script: str) -> Step:
    """*step* of the *script* that *outer* runs, with the input of that, unless it is the script itself."""
    if not outer.stdin or step.command.stdin or script is outer.body:
        return step
    return step._replace(command=replace(step.command, stdin=outer.stdin, body=outer.body, files=outer.files))


def _goes_elsewhere(words: list[str], inner: list[str]) -> bool:
    """Whether the program may run *inner*, which its words end with or hold, in another folder."""
    form = _ELSEWHERE.get(words[0].rpartition("/")[2]) if words else None
    own = words[1 : len(words) - len(inner)] if inner and words[-len(inner) :] == inner else words[1:]
    return form is not None and any(map(form.match, own))


def _has_search_path() -> bool:
    return "CDPATH" in os.environ


def without_kinds(command: Command) -> Command:
    """*command* with every word that may become anything as `Unknown`, whatever it may show: for denying."""
    if DEFINITE.issuperset(map(type, command.words)):
        return command
    return replace(command, words=[word if type(word) in DEFINITE else Unknown(word) for word in command.words])

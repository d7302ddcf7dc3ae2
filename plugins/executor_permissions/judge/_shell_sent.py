"""What commands may open because their input names it: ``echo .env | xargs cat``. Each text is looked at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge.files._findings import Finding
from executor_permissions.judge.runs._fed import changes_listed, names_in, obeys, secret_in, sent_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.bash._walk import Step
    from executor_permissions.judge.files._files import Operands
    from executor_permissions.judge.runs._runs import Run

SENT = frozenset({"pipe", "text"})  # what stands on an input that is no file
_PRINTS = re.compile(r"\b(?:echo|printf)\b")


class Sent:
    """
    Judges what the commands of one call are sent.

    Args:
        operands: Says what the rules about files say of one.
        home: The user's folder, where secrets are.
    """

    def __init__(self, operands: Operands, home: str) -> None:
        self._operands = operands
        self._home = home
        self._named: dict[str, tuple[Finding | None, Finding | None]] = {}
        self._written: dict[tuple[str, str | None, Folders], Finding | None] = {}

    def finding(self, step: Step, runs: Sequence[Run], line: str) -> Finding | None:
        """
        Whether one of *runs* may open what its input names: the text of a here-document, or any word of the *line*.

        Args:
            runs: Everything that *step* runs.
            line: The text of the whole call.
        """
        asked: Finding | None = None
        for run in sent_to(runs):
            command = (run.step or step).command
            if command.stdin not in SENT or not run.words or not obeys(run.words):
                continue
            text = line if command.body is None else command.body
            found, secret = self._named_in(text)
            if found is not None:
                return found
            asked = secret or asked
            if command.body is not None or _PRINTS.search(text):
                found = self._written_by(run, text, (run.step or step).folders)
                if found is not None:
                    return found
        return asked

    def _named_in(self, text: str) -> tuple[Finding | None, Finding | None]:
        """What rules say of files that *text* names, and whether they may be secret."""
        known = self._named.get(text)
        if known is None:
            secret = secret_in(text, self._home)
            asked = None if secret is None else Finding("ask", f"{secret} may hold secrets")
            known = self._named[text] = self._operands.told_in(text), asked
        return known

    def _written_by(self, run: Run, text: str, folders: Folders) -> Finding | None:
        """What rules say of the files that *run* may write when it is sent *text*."""
        program = None if changes_listed([run]) else run.program or ""
        key = text, program, folders
        if key not in self._written:
            self._written[key] = None
            for name in names_in(text) if program is None else _written_by(program, text):
                found = self._operands.target(name, folders, writes=True)
                if found is not None:
                    self._written[key] = found._replace(verdict="maybe")
                    break
        return self._written[key]


def _written_by(program: str, text: str) -> list[str]:
    from executor_permissions.judge.files._scripts import written_by  # for those that obey one

    return written_by(program, text)

"""
Keeps what came of a shell command, for the next time, as long as its rules and the file system are the same.

``cat notes`` is judged anew once ``notes`` has become a link to ``.env``.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from executor_permissions.judge._judge_shell import ShellJudge
from executor_permissions.judge._shell_script import as_its_text
from executor_permissions.judge.bash._expand import homes
from executor_permissions.judge.bash._moves import names_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor_permissions.judge._shell_scope import Outcome, Rules, Session
    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.paths._links import Links

# What may look at where the shell is, however it is quoted: c\d, "c"d; or be the value of a variable.
_QUOTING = r"[\\\n'\"]*"
# Each way begins with a character, not with a set of them: these are found fast.
_ITS_FOLDER = re.compile("|".join([*map(_QUOTING.join, ("cd", "pushd", "popd", "pwd", "PWD")), r"\$", "`"]))


class Judging:
    """
    Judges the commands of one call.

    Args:
        rules: What the policy has.
        links: Resolves paths, for the whole decision.
        session: What people have answered.
        cwd: The folder that they are run in, resolved.
        moved: Whether that is another folder than usual.
    """

    def __init__(self, rules: Rules, links: Links, session: Session, cwd: str, *, moved: bool) -> None:
        self._rules = rules
        self._links = links
        self._session = session
        self._cwd = cwd
        self._moved = moved

    def text(self, text: str) -> Outcome:
        """Judge a command as a shell would be given it."""
        known = self._rules.known
        folders, search = self._start(text)
        key = text, self._cwd, self._moved, folders, search, self._links.folders, homes(self._rules.home)
        answered = bool(self._session) and any(self._session.values())  # people's answers come and go
        outcome = known.outcome(key) if not answered else None
        if outcome is None:
            outcome = self._judged(folders, lambda judge: judge.judge_text(text))
            seen = self._links.seen()
            if seen is not None and not answered:
                known.outcomes.keep(key, (outcome, seen), len(text))
        return outcome

    def words(self, words: list[str]) -> Outcome:
        """Judge a program and its arguments, run without a shell."""
        folders, _ = self._start(" ".join(words))
        return self._judged(folders, lambda judge: judge.judge_words(words))

    def _judged(self, folders: Folders, give: Callable[[ShellJudge], Outcome]) -> Outcome:
        judge = self._new(folders)
        outcome, told = give(judge), judge.told
        return outcome if told is None else as_its_text(outcome, told, self._rules, self._inner)

    def _inner(self, text: str) -> Outcome:
        return self._new(self._start(text)[0]).judge_text(text)

    def _new(self, folders: Folders) -> ShellJudge:
        return ShellJudge(self._rules, self._links, self._session, self._cwd, folders, moved=self._moved)

    def _start(self, text: str) -> tuple[Folders, bool]:
        """Where the shell of *text* is, and, if that may look there, whether it has further places for ``cd``."""
        if _ITS_FOLDER.search(text) is None:
            return frozenset({self._cwd}), False
        return names_of(self._cwd), "CDPATH" in os.environ

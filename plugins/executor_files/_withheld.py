"""
What the permission policy keeps from the tools, though it is in a folder that a call may look into.

It is as if it were not there: no result tells its name, how much of it there is, or what a pattern makes of it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from executor import ToolCall, current_call, paths
from executor.errors import ToolFailedError
from executor_files._common import check_stop

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from executor import Check, CurrentCall

_READ = "readFile"  # the tool that would show a file's content
_UNJUDGED = ("ok", "not_found")  # nobody has an opinion; there is no such tool here


class _Denial(NamedTuple):
    """
    Why a path may not be told of.

    Attributes:
        reason: In words.
        by_rule: Whether a rule is about it, and so about all below it; else only no rule allows it.
    """

    reason: str
    by_rule: bool


class Withheld:
    """
    Asks the policy, for the current call, about each path that it would tell of.

    Args:
        tool: Which tells of them; a rule may be about it alone.
        arguments: Its own.
    """

    def __init__(self, tool: str = _READ, arguments: Mapping[str, Any] = MappingProxyType({})) -> None:
        self._call = judged_call()
        self._calls = {_READ: {}, tool: arguments}
        self._written: str = arguments.get("path", ".")

    def keeps(self, path: Path) -> bool:
        """Whether *path* may not be told of: a call for it alone would be denied, or is for a person to allow."""
        return self._denial(_text(path)) is not None

    def closes(self, folder: Path) -> bool:
        """Whether nothing in *folder* may be told of."""
        denial = self._denial(_text(folder))
        return denial is not None and denial.by_rule

    def check(self, path: Path, done: str) -> None:
        """
        Raises ToolFailedError: the call's own *path* may not be *done*, whether it is there or not. In a folder that no
        rule is about some may be told of.
        """
        for denial in map(self._denial, (self._written, _text(path))):  # a link that is denied may lead where none is
            if denial is not None and (denial.by_rule or not _is_folder(path)):
                raise _refusal(f"read, nor {done}", denial.reason)

    def _denial(self, path: str) -> _Denial | None:
        check_stop()  # there may be many
        call = self._call
        if call is None:
            return None
        found = (_denial_in(judged(call, tool, {**given, "path": path})) for tool, given in self._calls.items())
        return next(filter(None, found), None)


def _text(path: Path) -> str:
    """*path* for a call: a name that is no text is in no rule, and its folders and its end may be."""
    return os.fsencode(path).decode("utf-8", "replace")


def _denial_in(found: Check) -> _Denial | None:
    """What *found* says against telling of a path: what cannot be judged is not told of either."""
    decision = found.decision
    if decision is None:
        return None if found.kind in _UNJUDGED else _Denial(found.error or found.kind, by_rule=False)
    kept = decision.verdict == "deny" or decision.needs_person
    return _Denial(decision.reason, decision.rule is not None) if kept else None


def _is_folder(path: Path) -> bool:
    with suppress(OSError):
        return stat.S_ISDIR(paths.stat_resolved(path).st_mode)
    return False


def check_may(tool: str, path: Path, done: str, **arguments: Any) -> None:
    """Raises ToolFailedError: the policy keeps *tool* from *path*, which may not be *done* by another tool either."""
    call = judged_call()
    if call is not None:
        found = judged(call, tool, {"path": str(path), **arguments})
        if found.kind == "denied":
            raise _refusal(done, found.error)


def _refusal(done: str, reason: str | None) -> ToolFailedError:
    """It does not say which path: where a denied link leads is nobody's to know."""
    return ToolFailedError(f"This path may not be {done}: {reason}")


def judged(call: CurrentCall, tool: str, arguments: dict[str, Any]) -> Check:
    """What would become of a call of *tool*, in the context of *call*."""
    return call.host.check(ToolCall(call.id, tool, arguments), context=call.context)


def judged_call() -> CurrentCall | None:
    """The current call, if there is somebody to ask about another one."""
    call = current_call()
    with suppress(RuntimeError):  # a call of a bare Runner
        return call if call is not None and call.host is not None else None
    return None

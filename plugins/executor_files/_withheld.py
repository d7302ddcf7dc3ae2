"""Files that the permission policy keeps from the tools, though they are in a folder that a call may look into."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from executor import ToolCall, current_call
from executor.errors import ToolFailedError
from executor_files._common import shown

if TYPE_CHECKING:
    from pathlib import Path

    from executor import Check, CurrentCall

_READ = "readFile"  # the tool that would show a file's content


class Withheld:
    """
    Asks the policy, for the current call, about each file that it would tell of.

    Attributes:
        count: How many were kept back.
    """

    def __init__(self) -> None:
        self.count = 0
        self._call = judged_call()
        self._tools = [] if self._call is None else [_READ, self._call.name]

    def keeps(self, path: Path) -> bool:
        """Whether *path* may not be told of: a call for it alone would be denied. It is counted then."""
        if any(self._is_denied(tool, path) for tool in tuple(self._tools)):
            self.count += 1
            return True
        return False

    def _is_denied(self, tool: str, path: Path) -> bool:
        call = self._call
        assert call is not None, "there is nobody to ask"
        arguments = {**call.arguments, "path": str(path)} if tool == call.name else {"path": str(path)}
        found = judged(call, tool, arguments)
        if found.decision is None and tool in self._tools:
            self._tools.remove(tool)  # nobody has an opinion on it, or there is no such tool: nor for the next file
        return found.kind == "denied"


def check_may(tool: str, path: Path, done: str, **arguments: Any) -> None:
    """Raises ToolFailedError: the policy keeps *tool* from *path*, which may not be *done* by another tool either."""
    call = judged_call()
    if call is not None:
        found = judged(call, tool, {"path": str(path), **arguments})
        if found.kind == "denied":
            raise ToolFailedError(f"{shown(path)} may not be {done}: {found.error}")


def judged(call: CurrentCall, tool: str, arguments: dict[str, Any]) -> Check:
    """What would become of a call of *tool*, in the context of *call*."""
    return call.host.check(ToolCall(call.id, tool, arguments), context=call.context)


def judged_call() -> CurrentCall | None:
    """The current call, if there is somebody to ask about another one."""
    call = current_call()
    with suppress(RuntimeError):  # a call of a bare Runner
        return call if call is not None and call.host is not None else None
    return None

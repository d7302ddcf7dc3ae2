"""The result of a call, as whoever made it is given it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor.background._handover import notify_done
from executor.run._ended import result_in_any_case

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.background._handover import HandOver
    from executor.calls._state import CallState
    from executor.run._backends import RunResult
    from executor.run._ended import Ended
    from executor.run._options import Options
    from executor.values import ToolResult


def answered(result: ToolResult, on_done: Callable[[ToolResult], object] | None) -> ToolResult:
    """*result*, of which *on_done* is told if it is the final one."""
    if on_done is not None and not result.backgrounded:
        notify_done(on_done, result)
    return result


_READ_AT_ONCE = 200  # values within one
_LONG = 64 * 1024  # characters of a text
_ATOMS = frozenset({int, float, bool, type(None)})


def _read_at_once(value: Any) -> bool:
    """Whether reading *value* takes no time, and runs nobody's code: it is small, and of JSON's own types."""
    if type(value) in _ATOMS:
        return True
    within: list[Any] = [value]
    for item in within:  # which grows meanwhile
        kind = type(item)
        if kind is dict:
            within += item
            within += item.values()
        elif kind is list or kind is tuple:
            within += item
        elif kind is str:
            if len(item) > _LONG:
                return False
        elif kind not in _ATOMS:
            return False
        if len(within) > _READ_AT_ONCE:
            return False
    return True


class Answering:
    """
    Makes the result of a submitted call of what that comes to.

    Args:
        deliver: Given it, here or on a worker.
        anywhere: Whether that may be on the loop, too.
    """

    __slots__ = ("_anywhere", "_deliver", "_hand_over", "_options", "_state")

    def __init__(
        self,
        state: CallState,
        options: Options,
        hand_over: HandOver,
        deliver: Callable[[ToolResult], object],
        anywhere: bool,  # noqa: FBT001 -- handed on
    ) -> None:
        self._hand_over = hand_over
        self._state = state
        self._options = options
        self._deliver = deliver
        self._anywhere = anywhere

    def __call__(self, ended: Ended) -> None:
        result = result_in_any_case(ended, self._state, self._hand_over.bounded)[1]
        self._deliver(answered(result, self._options.on_done))

    def at_once(self, ended: RunResult) -> bool:
        if not self._anywhere or self._options.on_done is not None or not _read_at_once(ended.structured):
            return False
        result = result_in_any_case(ended, self._state)[1]
        if not self._hand_over.holds(result.content):  # what is left out of it would be written to disk
            return False
        self._deliver(result)
        return True

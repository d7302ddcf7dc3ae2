"""What a permission plugin is: two steps, or the older form of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.calls._state import CallState
    from executor.values import Decision, ToolCall, Verdict

Context: TypeAlias = "Mapping[str, Any] | None"


class Judged(Protocol):
    """A call that is about to run; *edited* by a person whom this gate has asked, or not."""

    call: CallState
    arguments: dict[str, Any]
    edited: bool


class PermissionPlugin(Protocol):
    """
    What `set_permission_plugin` takes: it judges first, and asks a person only when all opinions together say ask.

    One that can ask without keeping a thread waiting has ``ask_later`` as well, with the arguments of ``ask`` and a
    function that it gives the `Verdict`, or the error, exactly once and from any thread.

    One whose decisions use something up (a grant for so many calls) has ``settle(decision) -> bool`` as well, called
    when a call is to run because its decision allows it. False: it holds no longer, and the call is judged anew.
    What it needs for that it keeps in the decision's ``details``.

    One whose decision on a tool stands for many calls has ``standing(call_id, tool, arguments, context)`` as well,
    asked before ``decide``: the allowing `Decision` that ``decide`` would come to, and that nothing has to be settled
    for, or None. It is given the very arguments that are going to run, which it neither keeps nor changes. It is asked
    only where the same class has the ``decide``: a subclass or a wrapper with one of its own is asked by that.
    """

    def decide(self, call: ToolCall, context: Context) -> Decision:
        """What the policy says of *call*. Nothing is changed by asking."""
        ...

    def ask(self, call: ToolCall, decision: Decision, context: Context) -> Verdict:
        """Ask a person about *call*, because of *decision* (its own, or a hook's). May take as long as it takes."""
        ...


class CheckingPlugin(Protocol):
    """
    The older form: one question, one answer.

    ``check_permission`` returns ``(allowed, info)``. `info` has ``reason`` and ``method``; ``rule`` and ``comment``
    where there are any; for edited arguments ``was_edited`` and ``modified_args``.
    """

    def check_permission(
        self, name: str, args: dict[str, Any], context: Context, call_id: str | None
    ) -> tuple[bool, Mapping[str, Any]]: ...

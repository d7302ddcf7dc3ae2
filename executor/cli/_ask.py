"""
The gate of the command line: nothing that may change something runs unasked.

`CommandGate` is the only place where the command decides about permission.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from executor import Decision, Verdict, current_call
from executor._approval import Approval, Inbox, TerminalChannel, new_approval_id, visible
from executor._json import to_text
from executor.cli._render import is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from executor import ToolCall
    from executor.cli._render import Screen

REFUSED = "it may change something, and nobody at a terminal could be asked: pass --yes, or call it from a terminal"


class CommandGate:
    """
    Allows tools that are annotated as read-only, and asks about every other one.

    Args:
        inbox: Gives the inbox to which questions are put.
        screen: Kept quiet while a question is open.
        yes: Answer every question with yes.
    """

    def __init__(self, inbox: Callable[[], Inbox], screen: Screen, *, yes: bool) -> None:
        self._inbox = inbox
        self._screen = screen
        self._yes = yes

    def decide(self, call: ToolCall, context: Mapping[str, Any] | None) -> Decision:  # noqa: ARG002 -- the steps' form
        """The first step: whether a person has to be asked."""
        if self._yes:
            return Decision("allow", "--yes was given", "yes_option")
        current = current_call()
        hints = current.tool.annotations if current is not None else None
        if hints is not None and hints.read_only is True:
            return Decision("allow", "the tool only reads", "read_only")
        return Decision("ask", "the tool may change something", "default")

    def ask(self, call: ToolCall, decision: Decision) -> Verdict:
        """The second step: ask a person, for as long as the person takes."""
        if self._yes:
            return Verdict(True, None, {"reason": "--yes was given", "method": "yes_option"})
        current = current_call()
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        approval = Approval(
            new_approval_id(),
            call.name,
            arguments,
            decision.reason,
            decision.parts,
            text=_question(call.name, arguments, decision.reason),
            options=("yes", "no"),
        )
        with self._screen.quiet():
            answer = self._inbox().ask(approval, cancel=current.token if current is not None else None)
        if answer.allowed:
            return Verdict(True, None, {"reason": "a person said yes", "method": "user_approved"})
        if answer.word == "no_channel":
            return Verdict(False, None, {"reason": f"{call.name}: {REFUSED}", "method": "no_channel"})
        return Verdict(False, None, {"reason": "a person said no", "method": "user_denied"})


def _question(name: str, arguments: Mapping[str, Any], reason: str) -> str:
    lines = [f"  {visible(key)}: {visible(to_text(value))}" for key, value in arguments.items()]
    return "\n".join([f"Run {visible(name)}? ({visible(reason)})", *lines])


def terminal(*, stdin_is_used: bool) -> TerminalChannel | None:
    """
    The terminal on which a person can be asked, or None.

    A question needs a person at stdin. When stdin carried the arguments, or stderr goes elsewhere, the terminal itself
    is opened.
    """
    if not stdin_is_used and not is_terminal(sys.stdin):
        return None
    if not stdin_is_used and is_terminal(sys.stderr):
        return TerminalChannel(sys.stdin, sys.stderr)
    try:
        # Two objects: one for both would have to be seekable.
        return TerminalChannel(open("/dev/tty"), open("/dev/tty", "w"))  # noqa: PTH123 -- open until the process ends
    except OSError:
        return None


class Rehearsal(CommandGate):
    """
    The same judgement, with nobody asked.

    Attributes:
        asked: Why a person would be asked, once one would be.
    """

    def __init__(self, screen: Screen) -> None:
        super().__init__(Inbox, screen, yes=False)
        self.asked: Decision | None = None

    def ask(self, call: ToolCall, decision: Decision) -> Verdict:  # noqa: ARG002 -- the steps' form
        """Remember the question."""
        self.asked = decision
        return Verdict(False, None, {"reason": decision.reason, "method": decision.method})

"""
The gate of the command line: the permission plugin, on the terminal of the command.

`CommandGate` is the only place where the command decides about permission.
"""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor import Decision, Verdict, current_call
from executor.approval import call_above
from executor.cli._policy import add_commands, make_plugin
from executor.cli._render import Screen, is_terminal
from executor.registry import BUNDLED
from executor.terminalsession import terminal_session

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from executor import Tool, ToolCall
    from executor.approval import TerminalChannel

NOT_BY_YES = "a rule may forbid it, so --yes is not enough: call it from a terminal, or change the rule"
REFUSED = "nobody at a terminal has answered: pass --yes, or call it from a terminal"
_REMOTE = frozenset({"mcp", "openapi"})  # what is said about their tools was said by a server


class CommandGate:
    """
    Judges by the policy, and asks a person about what it does not decide.

    Without any policy file the bundled tools that only read are allowed, and everything else is asked about.

    It can be pickled: the process that a call is left to makes it anew, from the same files.

    Args:
        screen: Kept quiet while a question is open.
        yes: Answer every question with yes, but those that only a person may answer. What is denied stays denied.
        session: Of which terminal; by default of this process's.
        refused: What is said where nobody could be asked.

    Raises:
        PermissionConfigError: The policy does not load.
        CliError: There is a policy, and nothing that could judge by it.
    """

    def __init__(self, screen: Screen, *, yes: bool, session: str | None = None, refused: str = REFUSED) -> None:
        self._screen = screen
        self._yes = yes
        self._refused = NOT_BY_YES if yes else refused
        self._session = terminal_session() if session is None else session
        self.plugin = make_plugin(self._session)
        self._has_policy = self.plugin is not None and self.plugin.has_policy

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_anew, (self._yes, self._session, self._refused)

    def decide(self, call: ToolCall, context: Mapping[str, Any] | None) -> Decision:
        """The first step: what the policy says."""
        decision = self._judge(call, context)
        if decision.verdict == "ask" and decision.method == "default" and not self._has_policy and _only_reads():
            return replace(decision, verdict="allow", reason="the tool only reads", method="read_only")
        return decision

    def _judge(self, call: ToolCall, context: Mapping[str, Any] | None) -> Decision:
        if self.plugin is None:
            return Decision("ask", "the tool may change something", "default")
        decision: Decision = self.plugin.decide(call, context)
        return decision

    def settle(self, decision: Decision) -> bool:
        """The decision is used. Returns whether it still holds."""
        return self.plugin is None or bool(self.plugin.settle(decision))

    def ask(self, call: ToolCall, decision: Decision, context: Mapping[str, Any] | None) -> Verdict:
        """The second step: ask a person, for as long as the person takes."""
        if self._yes and not decision.needs_person:
            return Verdict(True, None, {"reason": "--yes was given", "method": "yes_option"}, decision.confine)
        with self._screen.quiet():
            verdict = self.plugin.ask(call, decision, context) if self.plugin is not None else self._put(call, decision)
        info = dict(verdict.info or {})
        if verdict.allowed or info.get("method") != "no_channel":
            return verdict
        reason = f"{call.name}: {decision.reason}; {self._refused}"
        rules = self.rules_that_allow(call, decision)
        if rules:
            info["rule"] = "; ".join(rules)
            reason += f"; to allow it from now on: {add_commands(rules)}"
        return Verdict(False, None, {**info, "reason": reason})

    def rules_that_allow(self, call: ToolCall, decision: Decision) -> tuple[str, ...]:
        """The rules that, added to the whitelist, would let *call* run; maybe none."""
        return tuple(self.plugin.rules_that_allow(call, decision)) if self.plugin is not None else ()

    def where(self, decided: Any) -> str | None:
        """``FILE:LINE`` of the policy's rule behind a decision or one of its parts, or None."""
        return self.plugin.where(decided) if self.plugin is not None else None

    def _put(self, call: ToolCall, decision: Decision) -> Verdict:
        """Ask what the policy is not about."""
        from executor.approval import Approval, asker_of, copy_arguments, new_approval_id, question_text

        current = current_call()
        assert current is not None, "it is asked about the current call"
        arguments = copy_arguments(call.arguments)
        approval = Approval(
            new_approval_id(),
            call.name,
            arguments,
            decision.reason,
            decision.parts,
            text=question_text(call.name, arguments, decision.reason),
            options=("yes", "no"),
            asker=asker_of(current.context),
        )
        answer = current.host.approvals.ask(approval, cancel=current.token)
        said = answer.value if isinstance(answer.value, str) else None
        if answer.allowed:
            return Verdict(True, None, {"reason": "the user said yes", "method": "user_approved", "comment": said})
        method = "no_channel" if answer.word == "no_channel" else "user_denied"
        return Verdict(False, None, {"reason": f"the user said no{f': {said}' if said else ''}", "method": method})


def _made_anew(yes: bool, session: str, refused: str) -> CommandGate:  # noqa: FBT001 -- pickle passes by position
    return CommandGate(Screen(json_mode=True), yes=yes, session=session, refused=refused)


def _only_reads() -> bool:
    """Whether the tool of the current call only reads."""
    current = current_call()
    return current is not None and current.tool is not None and only_reads(current.plugin_name, current.tool)


def only_reads(plugin_name: str | None, tool: Tool) -> bool:
    """Whether a tool says that it only reads, and is one whose word is ours."""
    if plugin_name not in BUNDLED or plugin_name in _REMOTE:
        return False
    return tool.annotations is not None and tool.annotations.read_only is True


@contextlib.contextmanager
def terminal(*, stdin_is_used: bool) -> Iterator[TerminalChannel | None]:
    """
    The terminal on which a person can be asked, or None. It is closed when the block ends.

    A question needs a person at stdin. When stdin carried the arguments, or stderr goes elsewhere, the terminal itself
    is opened.
    """
    with contextlib.ExitStack() as opened:
        channel = _find_terminal(opened, stdin_is_used=stdin_is_used)
        if channel is not None:
            opened.callback(channel.close)
        yield channel


def _find_terminal(opened: contextlib.ExitStack, *, stdin_is_used: bool) -> TerminalChannel | None:
    if not stdin_is_used and not is_terminal(sys.stdin):
        return None
    if call_above() is not None:
        return None  # the terminal is that of the tool which runs this
    from executor.approval import TerminalChannel

    if not stdin_is_used and is_terminal(sys.stderr):
        return TerminalChannel(sys.stdin, sys.stderr)
    device = Path("/dev/tty")
    try:
        # Two objects: one for both would have to be seekable.
        source, target = opened.enter_context(device.open()), opened.enter_context(device.open("w"))
    except OSError:
        return None
    return TerminalChannel(source, target)

"""
The values that decisions are made of: parts with a verdict each, the answers of people, and input that is wrong.

A decision to deny ``ls; rm x`` has two: ``ls``, allowed by ``ls *``, and ``rm x``, denied by ``rm *``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from executor import Decision
from executor_permissions.judge.paths import _lexical
from executor_permissions.judge.rules._rules import Part
from executor_permissions.judge.rules._values import MAX_DEPTH, scalars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from executor_permissions.judge.rules._tool_rules import ShellRule

Granted: TypeAlias = "tuple[Literal['allow', 'deny'], str, str] | None"  # what it says, its rule, its scope


Meaning: TypeAlias = "Callable[[], Iterable[str]]"  # what the arguments of a call mean besides their text


class Grants(Protocol):
    """What people have allowed and forbidden so far, as `Judge.decide` asks for it."""

    def shell_rules(self, tool: str) -> Mapping[str, Iterable[tuple[ShellRule, str]]]:
        """The remembered shell rules for *tool*, ``allow`` and ``deny``, each with its scope."""
        ...

    def find(self, tool: str, args: Mapping[str, Any], bound: Meaning) -> Granted:
        """The grant about the call as a whole: what it says, its rule, its scope. *bound*: what its paths mean."""
        ...


BY_GRANT = frozenset({"session_whitelist", "grant"})  # the methods of what answers allow
_SCALARS = frozenset({str, int, float, bool, type(None)})
_LONGEST = 2000  # characters that are kept of what is forbidden


class InvalidError(Exception):
    """The call itself is wrong."""

    def __init__(self, message: str, *, deny: bool = False) -> None:
        super().__init__(message)
        self.deny = deny


def check_tree(args: dict[str, Any]) -> None:
    """Raises for arguments that are no JSON, or nested too deep to be looked through."""
    for key in args:
        if type(key) is not str or _lexical.has_hidden_characters(key):
            raise InvalidError("the name of an argument is no plain text", deny=True)
    if _SCALARS.issuperset(map(type, args.values())):
        return
    try:
        for item in scalars(args):
            if item is not None and not isinstance(item, str | int | float | bool):
                raise InvalidError(f"the arguments hold a {type(item).__name__}, which is no JSON", deny=True)
    except RecursionError:
        raise InvalidError(f"the arguments are nested deeper than {MAX_DEPTH} levels", deny=True) from None


def denied_by_grant(granted: Granted) -> Decision | None:
    if granted is None or granted[0] != "deny":
        return None
    return Decision("deny", f"you said never to {granted[1]!r} ({granted[2]})", "session_blacklist", granted[1])


def by_grant(granted: tuple[str, str, str], parts: tuple[Part, ...]) -> Decision:
    return Decision("allow", *told_of_grant(*granted[1:]), granted[1], parts)


def told_of_grant(rule: str, scope: str) -> tuple[str, str]:
    """Reason and method of what is allowed by an answer that a person has given before."""
    return f"you allowed {rule!r} ({scope})", method_of_grant(scope)


def method_of_grant(scope: str) -> str:
    """The method of what an answer for this *scope* allows, one of `BY_GRANT`."""
    return "session_whitelist" if scope == "session" else "grant"


def decided(part: Part) -> Decision:
    return Decision(part.verdict, part.reason, part.method, part.rule, (part,), maybe_denied=part.maybe_denied)


def denied_part(text: str, rule: str) -> Part:
    """What *rule* of the blacklist forbids."""
    return Part(text[:_LONGEST], "deny", rule, f"the rule {rule!r} of the blacklist forbids it", "blacklist")


def maybe_denied_part(text: str, rule: str | None, reason: str | None = None) -> Part:
    """Asked about: only whoever runs it knows whether it is what a rule of the blacklist forbids."""
    told = reason or f"it may be what the blacklist's rule {rule!r} forbids"
    return Part(text, "ask", rule, told, "ask_rule", maybe_denied=True)


def asked_part(text: str, rule: str) -> Part:
    return Part(text, "ask", rule, f"the rule {rule!r} asks every time", "ask_rule")


def allowed_part(text: str, rule: str, words: tuple[str, ...] = ()) -> Part:
    return Part(text, "allow", rule, f"the rule {rule!r} allows it", "whitelist", words=words)


def first_with_rule(parts: Sequence[Part]) -> Part:
    """The first of *parts* that has a rule, or else the first."""
    for part in parts:
        if part.rule is not None:
            return part
    return parts[0]

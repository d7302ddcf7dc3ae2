"""The value that says what is wrong with a file that a command names: ``cat .env`` is to be denied, by that rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from executor_permissions.judge.paths._paths import UnclearPathError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor_permissions.judge.rules._file_rules import Found

Verdict = Literal["deny", "maybe", "ask"]
_ORDER: tuple[Verdict, ...] = ("deny", "maybe", "ask")


class Finding(NamedTuple):
    """
    What is wrong with a file that a command names.

    Attributes:
        verdict: ``deny``; ``maybe``: only the running shell knows whether it is; ``ask``: no rule may cover it.
        rule: The rule that is about it, or None.
    """

    verdict: Verdict
    reason: str
    rule: str | None = None


def finding_of(one: Found, path: str, program: str) -> Finding:
    """What *program* is told of *path*, a file that the rule *one* is about."""
    if one.kept == "own":
        return Finding("maybe" if program == "git" else "deny", f"{path} belongs to the permission policy", one.rule)
    if one.kept == "read":
        return Finding("deny", f"{path} is kept from every program by the rule {one.rule!r}", one.rule)
    return Finding("maybe" if one.kept == "write" else "ask", f"{path} is blacklisted for other tools", one.rule)


def possible(found: Iterator[Found]) -> Iterator[Finding]:
    """What is to be said of a file that may be one of those *found*; where a path is not clear, that."""
    try:
        for one in found:
            yield Finding("maybe", f"it may be {one.path}, which a rule denies", one.rule)
    except UnclearPathError as error:
        yield Finding("maybe", str(error))


def may_be_worse(finding: Finding | None) -> bool:
    """Whether more may be found than *finding* that a rule of the blacklist is behind: that of one that only asks."""
    return finding is None or finding.verdict == "ask"


def softened(finding: Finding) -> Finding:
    """The same where only the running shell knows whether it is so."""
    return finding._replace(verdict="maybe") if finding.verdict == "deny" else finding


def worse(one: Finding | None, other: Finding | None) -> Finding | None:
    """The one of both that forbids more; *one* if they are alike."""
    if one is None or other is None:
        return one or other
    return one if _ORDER.index(one.verdict) <= _ORDER.index(other.verdict) else other

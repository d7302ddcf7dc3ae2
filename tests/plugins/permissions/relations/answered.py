"""
Relations between what people answer and what is decided then: each function gives those that do not hold.

What `always` keeps is a rule of the whitelist that holds in fewer places: nothing may come of it that does not come of
the rule that was shown, and at the least the command that was answered, behind whatever that rule is read through.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from executor import ToolCall
from executor_permissions import PermissionPlugin
from tests.plugins.permissions.relations.draw import FRONT, REDIRECTIONS, WORDS, command
from tests.plugins.permissions.relations.hold import (
    AROUND,
    JOINED,
    OF_ONE,
    QUOTED,
    is_one,
    is_understood,
    judged,
    severity,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from executor import Approval, Decision
    from executor_permissions import Policy

ONE = "runCommand"
_BOXES = "run them in calls of their own"  # what was answered runs in the box that was shown, and others in theirs
_HOME = re.compile(r"(?<!\S)~(?=/|\s|$)|\$HOME\b|\$\{HOME\}")
_FREE = re.compile(r"\s\d*(?:[<>]&\d|&?>\s*/dev/null|<\s*/dev/null)")  # redirections that no rule has to be about


class Person:
    """Gives the same answer to whatever it is asked, and keeps the questions."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[Approval] = []

    def __call__(self, approval: Approval) -> str:
        self.asked.append(approval)
        return self.answer


def plugin_of(policy: Policy, state: Path, answer: str) -> tuple[PermissionPlugin, Person]:
    """A plugin with *policy*, and whoever answers its questions."""
    person, places = Person(answer), policy.places
    made = PermissionPlugin(
        policy=policy, channel=person, project_root=places.project, home=places.home, state_dir=state
    )
    return made, person


def said(plugin: PermissionPlugin, text: str) -> Decision:
    return plugin.decide(ToolCall("c", ONE, {"command": text}), None)


def forms_of(pick: random.Random, text: str) -> list[str]:
    """*text*, behind what stands in front of a command, and within what stands around one."""
    of_one = [] if not is_one(text) else pick.sample(OF_ONE, 4)
    quoted = [] if "{}" in text else [pick.choice(QUOTED) % shlex.quote(text)]
    return [form % text for form in (*of_one, *pick.sample(AROUND, 2))] + quoted


def near(pick: random.Random, text: str) -> str:
    """Another command that has much of *text*."""
    kind = pick.random()
    words = text.split(" ")
    at = pick.randrange(len(words) + 1)
    if kind < 0.4:
        words.insert(at, pick.choice(WORDS))
    elif kind < 0.6 and at < len(words):
        words[at] = pick.choice(WORDS)
    elif kind < 0.7:
        words.append(pick.choice(REDIRECTIONS))
    elif kind < 0.8:
        words.insert(0, pick.choice(FRONT))
    elif kind < 0.9 and len(words) > 1:
        del words[-1]
    else:
        return pick.choice(JOINED) % ((text, command(pick)) if kind < 0.95 else (command(pick), text))
    return " ".join(words)


def is_case_of(rule: str, part: str, home: str) -> bool:
    """
    Whether the words of a rule that was shown are those of *part*, as they stand or up to its ``*``.

    Options that change nothing are left out of what is shown: ``make`` is that of ``make -j4``.
    """
    try:
        shown, given = shlex.split(rule), shlex.split(_HOME.sub(home, _FREE.sub("", part)))
    except ValueError:
        return True  # nothing that is read so simply
    open_end = rule.endswith(" *")
    shown = shown[:-1] if open_end else shown
    shown, given = ([word for word in words if word[:1] != "-"] for words in (shown, given))
    for at in range(len(given)):
        behind = given[at : at + len(shown)] if open_end else given[at:]
        if behind == shown:
            return True
    return False


def _answered(
    pick: random.Random, made: Mapping[str, Policy], state: Path, count: int, word: str
) -> Iterator[tuple[str, Policy, str, str, PermissionPlugin, Path]]:
    """Commands that were asked about and answered by *word*, in one of its scopes, where that was kept."""
    for number in range(count):
        name, text = pick.choice(sorted(made)), command(pick)
        if judged(made[name], text).verdict != "ask":
            continue
        scope = pick.choice([word, f"{word} project", f"{word} user"])
        folder = state / str(number)
        plugin, _ = plugin_of(made[name], folder, scope)
        plugin.check_permission(ONE, {"command": text})
        if plugin.grants.all():
            yield name, made[name], text, scope, plugin, folder


def _commands_of(plugin: PermissionPlugin) -> list[str]:
    """The rules about commands that it has kept."""
    return [grant.rule for grant in plugin.grants.all() if grant.kind == "shell"]


def always(pick: random.Random, made: Mapping[str, Policy], state: Path, count: int) -> Iterator[object]:
    """Commands that are asked about again, and others that are allowed without being a case of what was shown."""
    for name, policy, text, scope, plugin, folder in _answered(pick, made, state, count, "always"):
        rules = _commands_of(plugin)
        every = [plugin, *([plugin_of(policy, folder, "no")[0]] if scope != "always" else [])]
        again = [said(one, text) for one in every]
        if [one.verdict for one in again] != ["allow"] * len(every) and _BOXES not in again[-1].reason:
            yield name, scope, "again", text, rules, again[-1].reason
        fresh = plugin_of(policy, folder / "none", "no")[0]
        with_rules = policy.varied(allow=rules) if rules else policy
        for other in (*forms_of(pick, text), *(near(pick, text) for _ in range(6)), *(command(pick) for _ in range(2))):
            if other == text:
                continue
            before, after, shown = said(fresh, other), said(every[-1], other), judged(with_rules, other)
            if before.verdict != "ask" and before.verdict != after.verdict:
                yield name, scope, "changed", text, rules, other, before.verdict, after.verdict
            elif before.verdict == "ask" and after.verdict == "allow":
                if shown.verdict != "allow":
                    yield name, scope, "more than the rule", text, rules, other
                for part in after.parts:
                    if part.rule in rules and not is_case_of(part.rule, part.text, policy.places.home):
                        yield name, scope, "no case", text, part.rule, part.text
        if rules:
            for form in (form for form in forms_of(pick, text) if "<" not in form):  # alone: sent nothing, by nobody
                found = said(every[-1], form)
                if judged(with_rules, form).verdict == "allow" != found.verdict and _BOXES not in found.reason:
                    yield name, scope, "less than the rule", text, rules, form, found.reason


def never(pick: random.Random, made: Mapping[str, Policy], state: Path, count: int) -> Iterator[object]:
    """Forms of a command that was forbidden which are not denied, and other commands that became milder."""
    for name, policy, text, scope, plugin, folder in _answered(pick, made, state, count, "never"):
        rules = _commands_of(plugin)
        one = plugin_of(policy, folder, "no")[0] if scope != "never" else plugin
        forms = forms_of(pick, text) if rules and is_understood(text) and "#" not in text else []
        for form in (text, *forms):
            found = said(one, form)
            if found.verdict != "deny":
                yield name, scope, text, rules, form, found.verdict, found.reason
        for other in (near(pick, text), command(pick)):
            before, after = judged(policy, other), said(one, other)
            if severity(after) < severity(before):
                yield name, scope, "milder", text, rules, other, before.verdict, after.verdict

"""The tests that a policy file has of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor_permissions.judge.rules._rules import NO_PROJECT
from executor_permissions.store._check import VERDICTS
from executor_permissions.store._source import failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor import Decision
    from executor_permissions.judge.rules._rules import Placeholders, Places
    from executor_permissions.store._load import Policy
    from executor_permissions.store._source import Source


def run_tests(source: Source, policy: Policy, made: Callable[[Places], Policy]) -> None:
    """
    Have *policy* judge the tests of *source*; *made* makes it for other places.

    What only this project makes stricter, by what is on its disk, is a note: a file is shared by projects, and its
    tests are about its rules. Whatever is less strict than expected is an error. Where there is no project they are
    about an empty one.

    Raises:
        PermissionConfigError: One fails.
    """
    if not source.value.get("tests"):
        return
    no_project = policy.places.project == NO_PROJECT
    failed = _failing(source, policy) if not no_project else _failing_in_nothing(source, policy, made)
    if not failed:
        return
    laxer = (_is_laxer(decision.verdict, source.value["tests"][i]["expect"]) for i, decision in failed.items())
    if not no_project and not any(laxer):
        there = _failing_in_nothing(source, policy, made)
        here = {i: decision for i, decision in failed.items() if i not in there}
        source.notes += [f"{_told(source, i, decision)} in this project" for i, decision in here.items()]
        failed = {i: decision for i, decision in failed.items() if i in there}
    if failed:
        errors = [f"{_told(source, i, decision)}: mend the rules, or the test" for i, decision in failed.items()]
        raise failure(source.path, errors)


def _failing_in_nothing(source: Source, policy: Policy, made: Callable[[Places], Policy]) -> dict[int, Decision]:
    """Those that fail in an empty project."""
    import tempfile  # rare, and 5 ms

    with tempfile.TemporaryDirectory() as nothing:
        return _failing(source, made(policy.places._replace(project=str(Path(nothing).resolve()))))


def _failing(source: Source, policy: Policy) -> dict[int, Decision]:
    marks = policy.places.marks
    failing = {}
    for i, test in enumerate(source.value["tests"]):
        decision = policy.decide(test["tool"], expanded(test.get("args", {}), marks))
        if decision.verdict != test["expect"]:
            failing[i] = decision
    return failing


def _is_laxer(verdict: str, expected: str) -> bool:
    return VERDICTS.index(verdict) < VERDICTS.index(expected)


def _told(source: Source, i: int, decision: Decision) -> str:
    test = source.value["tests"][i]
    args = json.dumps(test.get("args", {}), ensure_ascii=False)
    verdict = f"gives {decision.verdict!r} ({decision.reason}), not {test['expect']!r}"
    return source.where(("tests", i)) + f"{test['tool']} {args} {verdict}"


def expanded(value: Any, marks: Placeholders) -> Any:
    """The arguments of a test, their placeholders put in."""
    if isinstance(value, str):
        return marks.expand(value)
    if isinstance(value, Mapping):
        return {key: expanded(item, marks) for key, item in value.items()}
    if isinstance(value, list):
        return [expanded(item, marks) for item in value]
    return value

"""What the permission policy takes to decide: typical commands and calls, and a policy of a thousand rules."""

from __future__ import annotations

from itertools import count
from time import perf_counter
from typing import TYPE_CHECKING, Any

import _common as common

from executor_permissions import Policy

if TYPE_CHECKING:
    from collections.abc import Callable

SHELL, PLAIN, TIMES = 100e-6, 3e-6, 2.0
ONE_NEW, THREE_NEW = 60e-6, 100e-6
RULES: dict[str, Any] = {
    "defaultPolicy": "ask",
    "blacklist": {"patterns": ["rm -rf *", "sudo *", "git push --force *"]},
    "whitelist": {
        "tools": ["get_time"],
        "patterns": ["git *", "npm *", "grep *", "ls *", "head *"],
        "arguments": {"readFile": {"path": ["${project}/"]}},
    },
}
CASES: list[tuple[str, str, dict[str, Any], str, float]] = [
    ("a plain tool", "get_time", {"zone": "UTC"}, "allow", PLAIN),
    ("a path", "readFile", {"path": "executor/__init__.py"}, "allow", SHELL),
    ("`git status`", "runCommand", {"command": "git status"}, "allow", SHELL),
    ("two commands", "runCommand", {"command": "git log --oneline -5 | head -3"}, "allow", SHELL),
    ("`ls && rm -r -f build`", "runCommand", {"command": "ls && rm -r -f build"}, "deny", SHELL),
]
# Commands of which each is met for the first time: ``{}`` is a number that none had before.
NEW: list[tuple[str, tuple[str, ...], float]] = [
    (
        "a command never seen",
        ("git log --oneline -{0} path_{0}", "grep -rn word_{0} src/dir_{0}", "npm test -- file_{0}", "ls -la dir_{0}"),
        ONE_NEW,
    ),
    ("three never seen", ("git log --oneline -{0} | grep -n word_{0} | head -{0}",), THREE_NEW),
]


def never_seen(policy: Policy, forms: tuple[str, ...]) -> Callable[[int], float]:
    """What pyperf calls to measure so many decisions, each about a command of its own."""
    numbers = count(1)

    def measure(loops: int) -> float:
        calls = [{"command": forms[i % len(forms)].format(next(numbers))} for i in range(loops)]
        began = perf_counter()
        for args in calls:
            policy.decide("runCommand", args)
        return perf_counter() - began

    return measure


def with_many(rules: dict[str, Any]) -> dict[str, Any]:
    """The same policy with a thousand further rules."""
    black, white = rules["blacklist"], rules["whitelist"]
    return {
        **rules,
        "blacklist": {"patterns": [*black["patterns"], *(f"bad{i} --force *" for i in range(400))]},
        "whitelist": {
            **white,
            "tools": [*white["tools"], *(f"tool{i}" for i in range(200))],
            "patterns": [*white["patterns"], *(f"good{i} run *" for i in range(400))],
        },
    }


def main() -> None:
    small = Policy.from_dict(RULES, project_root=common.ROOT)
    large = Policy.from_dict(with_many(RULES), project_root=common.ROOT)
    for what, tool, args, verdict, _ in CASES:
        assert small.decide(tool, args).verdict == verdict, f"{what}: what would be measured is another decision"
    for what, forms, _ in NEW:
        for form in forms:
            args = {"command": form.format(0)}
            assert small.decide("runCommand", args).verdict == "allow", f"{what}: {form} is not allowed"
    runner = common.runner()
    found = [
        (
            runner.bench_func(f"{what}, few", small.decide, tool, args),
            runner.bench_func(f"{what}, many", large.decide, tool, args),
        )
        for what, tool, args, _, _ in CASES
    ]
    new = [(what, runner.bench_time_func(what, never_seen(small, forms)), limit) for what, forms, limit in NEW]
    if runner.args.worker:
        return
    for (what, *_, limit), (few, many) in zip(CASES, found, strict=True):
        taken, with_thousand = few.median(), many.median()
        against = f"with 1,000 rules more: {common.micro(with_thousand)}"
        holds = taken <= limit and with_thousand <= TIMES * taken
        common.row(f"policy: {what}", common.micro(taken), against, f"{common.micro(limit)}, and twice", holds=holds)
    for what, taken_new, limit in new:
        median = taken_new.median()
        against = f"`git status` seen before: {common.micro(found[2][0].median())}"
        common.row(f"policy: {what}", common.micro(median), against, common.micro(limit), holds=median <= limit)


if __name__ == "__main__":
    main()

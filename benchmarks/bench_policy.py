"""What the permission policy takes to decide: typical commands and calls, and a policy of a thousand rules."""

from __future__ import annotations

from typing import Any

import _common as common

from executor_permissions import Policy

SHELL, PLAIN, TIMES = 100e-6, 3e-6, 2.0
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
    runner = common.runner()
    found = [
        (
            runner.bench_func(f"{what}, few", small.decide, tool, args),
            runner.bench_func(f"{what}, many", large.decide, tool, args),
        )
        for what, tool, args, _, _ in CASES
    ]
    if runner.args.worker:
        return
    for (what, *_, limit), (few, many) in zip(CASES, found, strict=True):
        taken, with_thousand = few.median(), many.median()
        against = f"with 1,000 rules more: {common.micro(with_thousand)}"
        holds = taken <= limit and with_thousand <= TIMES * taken
        common.row(f"policy: {what}", common.micro(taken), against, f"{common.micro(limit)}, and twice", holds=holds)


if __name__ == "__main__":
    main()

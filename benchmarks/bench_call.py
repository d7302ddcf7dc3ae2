"""
What `execute` adds to a call in the caller's thread. Time per call, nothing waits: pyperf's processes measure it best.
"""

from __future__ import annotations

from typing import Any

import _common as common

from executor import ToolExecutor

PAIR = {"a": 1, "b": 2}

ADDRESS = {
    "type": "object",
    "properties": {
        "street": {"type": "string", "maxLength": 80},
        "postcode": {"type": "string", "pattern": "^[0-9]{5}$"},
        "country": {"enum": ["DE", "FR", "GB", "NL"]},
    },
    "required": ["street", "postcode"],
    "additionalProperties": False,
}
ORDER_SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^ord_[a-z0-9]{8}$"},
        "customer": {"type": "string", "minLength": 1},
        "email": {"type": "string", "pattern": "^[^@ ]+@[^@ ]+$"},
        "priority": {"enum": ["low", "normal", "high"]},
        "express": {"type": "boolean"},
        "discount": {"type": "number", "minimum": 0, "maximum": 1},
        "address": ADDRESS,
        "items": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1, "maxItems": 100},
        "note": {"type": "string", "maxLength": 500},
        "currency": {"enum": ["EUR", "GBP", "USD"]},
        "total": {"type": "number", "exclusiveMinimum": 0},
        "attempts": {"type": "integer", "minimum": 0},
    },
    "required": ["id", "customer", "address", "items"],
    "additionalProperties": False,
}
ORDER = {
    "id": "ord_4f9a01bc",
    "customer": "Ada Lovelace",
    "email": "ada@example.org",
    "priority": "high",
    "express": True,
    "discount": 0.15,
    "address": {"street": "12 Analytical Row", "postcode": "10115", "country": "DE"},
    "items": list(range(1, 21)),
    "note": "Leave it with the neighbour if nobody opens.",
    "currency": "EUR",
    "total": 129.9,
    "attempts": 0,
}


class AllowAll:
    """The smallest permission plugin there can be."""

    def check_permission(
        self, _name: str, _args: object, _context: object, _call_id: object
    ) -> tuple[bool, dict[str, Any]]:
        return True, {"reason": "everything is allowed", "method": "default"}


def place(args: dict[str, Any]) -> dict[str, Any]:
    """The tool with the realistic schema."""
    return {"placed": args["id"]}


def main() -> None:
    plain, gated = ToolExecutor(), ToolExecutor(permission_plugin=AllowAll())
    for executor in (plain, gated):
        executor.register("add", add := common.add, schema=common.PAIR_SCHEMA)
    plain.register("place", place, schema=ORDER_SCHEMA)
    for executor, name, args in ((plain, "add", PAIR), (gated, "add", PAIR), (plain, "place", ORDER)):
        assert executor.execute(name, args)[0], f"{name} failed: what would be measured is the failure"
        assert "errors" in executor.execute(name, {**args, "b": "1", "attempts": "1"})[1], f"{name}: nothing is checked"

    runner = common.runner()
    found = [
        runner.bench_func("bare call", add, PAIR),
        runner.bench_func("execute", plain.execute, "add", PAIR),
        runner.bench_func("execute, gate", gated.execute, "add", PAIR),
        runner.bench_func("bare call, realistic", place, ORDER),
        runner.bench_func("execute, realistic", plain.execute, "place", ORDER),
    ]
    if runner.args.worker:
        return
    bare, call, gate, bare_place, realistic = (bench.median() for bench in found)
    common.row_above("`execute`, schema {a: int, b: int}", call, bare, "bare call", 4e-6)
    common.row_above("the same with a trivial gate", gate, bare, "bare call", 6e-6)
    common.row_above("`execute`, realistic schema", realistic, bare_place, "bare call", 14e-6)


if __name__ == "__main__":
    main()

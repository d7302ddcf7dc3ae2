"""What every peer is given: two tools, and arguments as models send them. Imports nothing of a peer."""
# ruff: noqa: ARG001, FBT001 -- the tools do nothing, and flags are arguments of tools

from __future__ import annotations

import json
from typing import Any

from typing_extensions import TypedDict  # pydantic wants that one; every peer has it

SMALL = {"a": 1, "b": 2}
SMALL_TEXT = json.dumps(SMALL)


class Item(TypedDict):
    """One of the objects of an order."""

    sku: str
    count: int
    price: float


class Address(TypedDict):
    """Where it goes."""

    street: str
    city: str
    zip: str


LARGE: dict[str, Any] = {
    "customer": "Ada Lovelace",
    "email": "ada@example.org",
    "reference": "order-2026-0001",
    "express": True,
    "gift": False,
    "priority": 3,
    "discount": 0.15,
    "currency": "EUR",
    "note": "Please ring twice; the bell is quiet.",
    "tags": ["new", "web", "newsletter"],
    "address": {"street": "1 Analytical Way", "city": "London", "zip": "W1"},
    "items": [{"sku": f"SKU-{number:05}", "count": number, "price": number * 1.25} for number in range(20)],
}
LARGE_TEXT = json.dumps(LARGE)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def order(
    customer: str,
    email: str,
    reference: str,
    express: bool,
    gift: bool,
    priority: int,
    discount: float,
    currency: str,
    note: str,
    tags: list[str],
    address: Address,
    items: list[Item],
) -> int:
    """Place an order."""
    return len(items)

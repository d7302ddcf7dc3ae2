"""Calls with very many addresses: what is denied among them is found or asked about, and soon."""

from __future__ import annotations

import time

import pytest

from executor_permissions import Policy

EVIL = "https://ev%69l.example/"
MANY = 5000
_SOON = 1.0  # seconds of the processor; it took two to five


def policy(**blacklist):
    return Policy.from_dict({"version": "1.1", "blacklist": blacklist, "whitelist": {"tools": ["fetch"]}})


@pytest.mark.parametrize("plain", ["https://h{}.example/p", "h{}.example", "[::{}]", "h{}\\x"])
def test_many_addresses_take_no_long_time_beside_rules_about_some(plain):
    judge = policy(arguments={"fetch": {"url": [f"https://e{i}.example/" for i in range(5)]}})
    began = time.process_time()
    judge.decide("fetch", {"url": [plain.format(i) for i in range(MANY)]})
    assert time.process_time() - began < _SOON


@pytest.mark.parametrize(
    "rules",
    [
        {"patterns": ["fetch(*evil.example*)"]},
        {"patterns": ["*evil.example*"]},
        {"patterns": ["fetch(x=*evil.example*)"]},
    ],
)
def test_no_address_is_passed_over_among_many(rules):
    judge = policy(**rules)
    for value in (
        [*(f"h{i}.example" for i in range(MANY)), EVIL],
        "w " * 300 + EVIL,
    ):
        assert judge.decide("fetch", {"x": value}).verdict == "deny"
    odd = judge.decide("fetch", {"x": [*(f"https://h%69{i}.example" for i in range(MANY)), EVIL]})
    assert (odd.verdict, odd.maybe_denied) == ("ask", True)
    assert judge.decide("fetch", {"x": [f"h{i}.example" for i in range(MANY)]}).verdict == "allow"
    assert judge.decide("fetch", {"x": "\\frac{a}{b} " * MANY}).verdict == "allow"


def test_a_statement_behind_many_others_is_looked_at():
    judge = policy(patterns=["fetch(sql=drop table*)"])
    assert judge.decide("fetch", {"sql": "select 1;" * 300 + "drop table x"}).verdict == "deny"


def test_an_address_beyond_those_that_are_read_is_asked_about():
    judge = policy(arguments={"fetch": {"url": ["https://evil.example/"]}})
    decided = judge.decide("fetch", {"url": [f"https://h{i}.example/" for i in range(MANY)]})
    assert (decided.verdict, decided.maybe_denied) == ("ask", True)
    assert judge.decide("fetch", {"url": [f"https://h{i}.example/" for i in range(1000)]}).verdict == "allow"

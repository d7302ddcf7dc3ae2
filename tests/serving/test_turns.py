"""How fast a client's requests are taken."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from executor.mcp.serving import _turns
from executor.mcp.serving._turns import (
    BURST,
    FEW_OPEN,
    MOST_BYTES,
    MOST_NAMED,
    MOST_OPEN,
    MOST_PRINCIPALS,
    PER_SECOND,
    UNIT,
    Turns,
)


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_who_is_alone_never_waits(clock):
    turns = Turns(clock)
    assert [turns.wait("ada", 1 << 20) for _ in range(100)] == [0] * 100


def test_a_flood_waits_and_the_other_does_not(clock):
    turns = Turns(clock)
    turns.wait("bob")
    waits = [turns.wait("ada") for _ in range(int(BURST) + 250)]
    assert waits[: int(BURST)] == [0] * int(BURST)
    assert waits[-1] == pytest.approx(250 / PER_SECOND)
    assert turns.wait("bob") == 0
    clock.now += 10
    turns.wait("bob")
    assert turns.wait("ada") == 0  # it has waited


def test_bytes_count_as_requests_do(clock):
    turns = Turns(clock)
    turns.wait("bob")
    turns.wait("ada", int(BURST * UNIT))
    assert turns.wait("ada", UNIT * 100) == pytest.approx(100 / PER_SECOND)


def test_when_the_others_are_gone_nobody_waits(clock):
    turns = Turns(clock)
    turns.wait("bob")
    turns.wait("ada", int(10 * BURST * UNIT))
    assert turns.wait("ada") > 0
    clock.now += _turns.THERE_SECONDS + 1
    assert turns.wait("ada") == 0


def test_so_many_requests_and_bytes_of_one_client_are_open_at_once(clock):
    turns = Turns(clock)
    opened = [turns.open("ada", 1) for _ in range(MOST_OPEN + 1)]
    assert [each.__enter__() for each in opened] == [True] * MOST_OPEN + [False]
    with turns.open("bob", 1) as fits:
        assert fits
    for each in opened:
        each.__exit__(None, None, None)
    with turns.open("ada", MOST_BYTES - 1) as first, turns.open("ada", 2) as second:
        assert (first, second) == (True, False)
    with turns.open("ada", 2 * MOST_BYTES) as alone:
        assert alone


def test_new_names_gain_nothing(clock):
    """Neither against others, nor against the principal's other clients."""
    turns = Turns(clock)
    turns.wait("ada/honest")
    taken = 0
    for second in range(20):
        for number in range(20 * int(PER_SECOND)):
            taken += turns.wait(f"ada/name{second}-{number}") == 0
        clock.now += 1
        assert turns.wait("ada/honest") == 0
        assert turns.wait("bob/") == 0
    assert taken <= (MOST_NAMED + 1) * BURST + 20 * PER_SECOND * 1.1


def test_new_names_open_no_more_requests(clock):
    turns = Turns(clock)
    with turns.open("ada/honest", 1) as fits:
        assert fits
    with ExitStack() as opened:
        flood = [opened.enter_context(turns.open(f"ada/name{number}", 1)) for number in range(5000)]
        assert MOST_OPEN <= sum(flood) <= 2 * MOST_OPEN + (MOST_NAMED + 1) * FEW_OPEN
        assert opened.enter_context(turns.open("ada/honest", 1))
        assert opened.enter_context(turns.open("bob/", 1))
    with turns.open("ada/name1", 1) as fits:
        assert fits


def test_who_has_few_requests_open_still_has_them_when_all_others_have_taken_what_there_is(clock):
    turns = Turns(clock, connections=100)
    with ExitStack() as open_:
        fits = [open_.enter_context(turns.open(f"{name}/x", 1)) for _ in range(50) for name in ("ada", "bob")]
        assert fits == [True] * 80 + [False] * 20
        few = [open_.enter_context(turns.open("cyd/x", 1)) for _ in range(FEW_OPEN + 1)]
        assert few == [True] * FEW_OPEN + [False]
    with turns.open("ada/x", 1) as again:
        assert again


def test_those_who_are_gone_make_room(clock):
    turns = Turns(clock)
    for number in range(MOST_NAMED):
        turns.wait(f"ada/{number}")
    turns.wait("ada/late")
    assert "late" not in turns._principals["ada"].shares
    clock.now += _turns.THERE_SECONDS + 1
    turns.wait("ada/late")
    assert "late" in turns._principals["ada"].shares


def test_principals_are_forgotten_in_the_end(clock):
    turns = Turns(clock)
    for number in range(2 * MOST_PRINCIPALS):
        turns.wait(f"client {number}")
    assert len(turns._principals) == MOST_PRINCIPALS

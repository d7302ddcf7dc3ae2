"""The thread that keeps all time limits: what is taken back leaves nothing, and the next one is never late."""

from __future__ import annotations

import math
import threading
import time

from executor.threads._deadlines import Deadlines

SECONDS = 10.0


def keepers():
    return [thread for thread in threading.enumerate() if thread.name == "executor-deadlines"]


def test_what_was_taken_back_takes_no_memory_and_the_others_still_come():
    deadlines, came = Deadlines(), threading.Event()
    stays = deadlines.at(math.inf, came.set)
    far = [deadlines.at(time.monotonic() + 1000 + number, came.set) for number in range(500)]
    for number, forget in enumerate(far):
        forget()
        left = len(deadlines._functions)
        assert left == 500 - number
        assert left <= len(deadlines._heap) <= 2 * left + 64 + 1
    assert not came.is_set()
    assert [entry[0] for entry in deadlines._heap].count(math.inf) == 1
    stays()
    assert (deadlines._heap, deadlines._functions) == ([], {})


def test_few_that_were_taken_back_are_left_to_their_time():
    deadlines = Deadlines()
    forgets = [deadlines.at(time.monotonic() + 1000 + number, print) for number in range(60)]
    for forget in forgets[1:]:
        forget()
    assert len(deadlines._heap) == 60, "the heap is made anew for a handful of entries"
    forgets[0]()
    assert deadlines._heap == []


def test_an_earlier_one_wakes_the_thread_and_the_thread_ends_with_the_last():
    before, deadlines, order = {*keepers()}, Deadlines(), []
    done = threading.Event()
    later = deadlines.at(time.monotonic() + 1000, lambda: order.append("later"))
    (keeper,) = {*keepers()} - before
    deadlines.at(time.monotonic() + 0.01, lambda: (order.append("sooner"), done.set()))
    assert done.wait(SECONDS)
    assert order == ["sooner"]
    assert keeper.is_alive()
    later()
    keeper.join(SECONDS)
    assert not keeper.is_alive()


def test_after_its_thread_has_ended_another_one_is_started():
    deadlines = Deadlines()
    for _ in range(2):
        before, came = {*keepers()}, threading.Event()
        deadlines.at(time.monotonic() + 0.01, came.set)
        assert came.wait(SECONDS)
        for keeper in {*keepers()} - before:
            keeper.join(SECONDS)

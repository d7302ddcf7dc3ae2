"""Requests side by side: who waits for which, and on how many workers."""

from __future__ import annotations

import threading

import pytest

from executor import CancelToken, ToolCall, ToolExecutor
from executor.run._batch import _Lanes

SECONDS = 10.0


class Workers:
    """Those of a pool, which work when a test says so."""

    def __init__(self, *, closed=False):
        self.jobs = []
        self.closed = closed

    def submit(self, job):
        if not self.closed:
            self.jobs.append(job)
        return not self.closed


def begun(ends):
    def begin(request, token, end):
        ends.append((request, end))
        return True

    return begin


def called(request, token):
    return -request


def results(lanes):
    return [lanes.ended.get_nowait() for _ in range(lanes.ended.qsize())]


def test_one_worker_begins_all_that_needs_none():
    workers, ends = Workers(), []
    lanes = _Lanes(called, begun(ends), range(50), CancelToken(), workers)
    lanes.open(50)
    workers.jobs.pop()()
    assert [request for request, _ in ends] == list(range(50))
    assert len(workers.jobs) == 1, "another one comes in case that one blocks"
    workers.jobs.pop()()
    for request, end in ends:
        end(request)
    assert results(lanes) == [(number, number, None) for number in range(50)]
    assert workers.jobs == []


def test_as_many_are_on_their_way_as_there_are_lanes():
    workers, ends = Workers(), []
    lanes = _Lanes(called, begun(ends), range(4), CancelToken(), workers)
    lanes.open(2)
    while workers.jobs:
        workers.jobs.pop()()
    assert [request for request, _ in ends] == [0, 1]
    ends[1][1]("told")
    assert len(ends) == 2, "whoever tells an end does no other call's work"
    workers.jobs.pop()()
    assert [request for request, _ in ends] == [0, 1, 2]
    assert results(lanes) == [(1, "told", None)]


def test_ends_that_come_at_once_are_no_recursion():
    workers = Workers()
    lanes = _Lanes(called, lambda request, token, end: end(request) is None, range(5000), CancelToken(), workers)
    lanes.open(1)
    workers.jobs.pop()()
    assert results(lanes) == [(number, number, None) for number in range(5000)]
    assert workers.jobs == []


def test_a_worker_comes_for_the_rest_before_one_is_carried_out():
    workers, seen = Workers(), []
    lanes = _Lanes(lambda request, token: seen.append(len(workers.jobs)), None, range(3), CancelToken(), workers)
    lanes.open(3)
    workers.jobs.pop()()
    assert seen == [1, 1, 1]


def test_without_workers_all_is_carried_out_here():
    lanes = _Lanes(called, begun([]), range(3), CancelToken(), Workers(closed=True))
    lanes.open(3)
    assert results(lanes) == [(0, 0, None), (1, -1, None), (2, -2, None)]


def test_a_lane_goes_on_where_its_end_is_told_when_no_worker_is_left():
    workers, ends = Workers(), []
    lanes = _Lanes(called, begun(ends), range(3), CancelToken(), workers)
    lanes.open(1)
    workers.jobs.pop()()
    workers.closed = True
    ends[0][1]("told")
    assert [request for request, _ in ends] == [0, 1]


def test_what_raises_is_an_end():
    def begin(request, token, end):
        raise ValueError(request)

    workers = Workers()
    lanes = _Lanes(called, begin, range(2), CancelToken(), workers)
    lanes.open(2)
    workers.jobs.pop()()
    assert [(index, repr(error)) for index, _, error in results(lanes)] == [(0, "ValueError(0)"), (1, "ValueError(1)")]


@pytest.mark.parametrize("options", [{}, {"timeout": SECONDS}, {"auto_background": SECONDS}])
def test_all_for_which_there_is_a_worker_run_at_once(options):
    together = threading.Barrier(12)
    with ToolExecutor(max_workers=12) as executor:
        executor.register("meet", lambda args: together.wait(SECONDS) >= 0, **options)
        results = executor.execute_many([ToolCall(str(number), "meet", {}) for number in range(12)])
    assert all(result.success and result.value for result in results)

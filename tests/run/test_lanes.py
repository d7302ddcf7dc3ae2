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


class Begun:
    """Begins every request; its loop calls what it was given when a test says so."""

    def __init__(self, ends, *, on_loop=()):
        self.ends = ends
        self.quick = on_loop
        self.looped = []
        self.closed = False

    def may(self, request):
        return True

    def may_on_loop(self, request):
        return request in self.quick

    def begin(self, request, stop, end):
        self.ends.append((request, end))

    def on_loop(self, fn):
        if not self.closed:
            self.looped.append(fn)
        return not self.closed


class AtOnce(Begun):
    def begin(self, request, stop, end):
        end(request)


class Raising(Begun):
    def begin(self, request, stop, end):
        raise ValueError(request)


def called(request, token):
    return -request


def results(lanes):
    return [lanes.ended.get_nowait() for _ in range(lanes.ended.qsize())]


def test_one_worker_begins_all_that_needs_none():
    workers, ends = Workers(), []
    lanes = _Lanes(called, Begun(ends), range(50), CancelToken(), workers)
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
    lanes = _Lanes(called, Begun(ends), range(4), CancelToken(), workers)
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
    lanes = _Lanes(called, AtOnce([]), range(5000), CancelToken(), workers)
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
    lanes = _Lanes(called, Begun([]), range(3), CancelToken(), Workers(closed=True))
    lanes.open(3)
    assert [lanes.next_end() for _ in range(3)] == [(0, 0, None), (1, -1, None), (2, -2, None)]


def test_a_lane_goes_on_where_the_ends_are_read_when_no_worker_is_left():
    workers, ends = Workers(), []
    lanes = _Lanes(called, Begun(ends), range(3), CancelToken(), workers)
    lanes.open(1)
    workers.jobs.pop()()
    workers.closed = True
    ends[0][1]("told")
    assert len(ends) == 1, "whoever tells an end does no other call's work: it may be the loop's thread"
    assert lanes.next_end() == (0, "told", None)
    workers.closed = False
    lanes.ended.put((3, "the last", None))
    assert lanes.next_end() == (3, "the last", None)
    assert [request for request, _ in ends] == [0, 1]


@pytest.mark.parametrize("look", ["may", "may_on_loop"])
def test_a_request_is_begun_by_what_was_looked_at_though_the_workers_end_meanwhile(monkeypatch, look):
    ends, workers = [], Workers()
    begin = Begun(ends, on_loop=range(2) if look == "may_on_loop" else ())
    lanes = _Lanes(called, begin, range(2), CancelToken(), workers)
    lanes.open(1)

    def let_go(request):
        workers.closed = True
        lanes._open_elsewhere()  # as a thread does that finds them ended
        return True

    monkeypatch.setattr(begin, look, let_go)
    (begin.looped or workers.jobs).pop()()
    assert [request for request, _ in ends] == [0]
    assert [end for end in results(lanes) if end is not None] == [], "none has failed"


def test_what_raises_is_an_end():
    workers = Workers()
    lanes = _Lanes(called, Raising([]), range(2), CancelToken(), workers)
    lanes.open(2)
    workers.jobs.pop()()
    assert [(index, repr(error)) for index, _, error in results(lanes)] == [(0, "ValueError(0)"), (1, "ValueError(1)")]


def test_what_does_not_block_is_begun_on_the_loop_a_few_at_a_time():
    workers, ends = Workers(), []
    begin = Begun(ends, on_loop=range(50))
    lanes = _Lanes(called, begin, range(50), CancelToken(), workers)
    lanes.open(50)
    counts = []
    while begin.looped:
        begin.looped.pop()()
        counts.append(len(ends))
    assert counts == [16, 32, 48, 50]
    assert workers.jobs == [], "no worker is needed"
    for request, end in ends:
        end(request)
    assert results(lanes) == [(number, number, None) for number in range(50)]


def test_lanes_on_the_loop_are_no_more_than_there_may_be():
    workers, ends = Workers(), []
    begin = Begun(ends, on_loop=range(4))
    lanes = _Lanes(called, begin, range(4), CancelToken(), workers)
    lanes.open(2)
    begin.looped.pop()()
    assert ([request for request, _ in ends], begin.looped) == ([0, 1], [])
    ends[0][1]("told")
    workers.jobs.pop()()
    assert [request for request, _ in ends] == [0, 1, 2]


def test_what_may_block_is_left_to_workers_though_the_first_may_not():
    workers, ends = Workers(), []
    begin = Begun(ends, on_loop=[0, 2])
    lanes = _Lanes(called, begin, range(3), CancelToken(), workers)
    lanes.open(3)
    begin.looped.pop()()
    assert ([request for request, _ in ends], len(workers.jobs)) == ([0], 2)
    while workers.jobs:
        workers.jobs.pop()()
    assert sorted(request for request, _ in ends) == [0, 1, 2]


@pytest.mark.parametrize("begin", [AtOnce([], on_loop=range(20)), Raising([], on_loop=range(20))])
def test_what_is_over_at_once_leaves_the_rest_to_a_worker(begin):
    workers = Workers()
    lanes = _Lanes(called, begin, range(20), CancelToken(), workers)
    lanes.open(1)
    begin.looped.pop()()
    assert lanes.ended.qsize() == 1
    while workers.jobs:
        workers.jobs.pop()()
    assert [index for index, *_ in results(lanes)] == list(range(20))


def test_a_loop_that_closes_meanwhile_leaves_what_is_left_to_workers_and_then_to_whoever_reads():
    workers, ends = Workers(), []
    begin = Begun(ends, on_loop=range(40))
    lanes = _Lanes(called, begin, range(40), CancelToken(), workers)
    lanes.open(40)
    begin.closed = True
    begin.looped.pop()()
    assert (len(ends), len(workers.jobs)) == (16, 1)

    workers, ends = Workers(closed=True), []
    begin = Begun(ends, on_loop=range(40))
    lanes = _Lanes(called, begin, range(40), CancelToken(), workers)
    lanes.open(40)
    begin.closed = True
    begin.looped.pop()()
    assert [lanes.next_end() for _ in range(16, 40)] == [(number, -number, None) for number in range(16, 40)]


@pytest.mark.parametrize("options", [{}, {"timeout": SECONDS}, {"auto_background": SECONDS}])
def test_all_for_which_there_is_a_worker_run_at_once(options):
    together = threading.Barrier(12)
    with ToolExecutor(max_workers=12) as executor:
        executor.register("meet", lambda args: together.wait(SECONDS) >= 0, **options)
        results = executor.execute_many([ToolCall(str(number), "meet", {}) for number in range(12)])
    assert all(result.success and result.value for result in results)

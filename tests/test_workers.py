"""Threads: jobs, workers, deadlines."""

from __future__ import annotations

import contextvars
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from executor.threads import _workers
from executor.threads._deadlines import Deadlines
from executor.threads._jobs import Job
from executor.threads._workers import REFUSED, Workers

SECONDS = 10.0


def job(fn):
    return Job(fn, contextvars.copy_context())


@pytest.fixture
def workers():
    made = []

    def make(warm=4, limit=256):
        made.append(Workers(warm=warm, limit=limit))
        return made[-1]

    yield make
    for each in made:
        assert each.close(SECONDS), "a worker is still at work"


class Held:
    """A job that stays at work until it is let go."""

    def __init__(self):
        self.started, self.go_on = threading.Event(), threading.Event()

    def __call__(self):
        self.started.set()
        assert self.go_on.wait(SECONDS)


# Job -----------------------------------------------------------------------------------------------------------------


def test_a_job_has_the_end_that_its_function_gave():
    one = job(lambda: "done")
    assert one.started is None
    one()
    assert one.wait(0) == one.wait(None) == "done"
    assert one.started is not None
    assert not one.running


def test_a_job_runs_in_the_context_it_was_made_in():
    variable = contextvars.ContextVar("variable", default="outside")
    variable.set("inside")
    one = job(variable.get)
    variable.set("later")
    one()
    assert one.result == "inside"


def test_a_wait_that_is_too_short_gives_nothing_and_a_later_one_the_end():
    one = job(lambda: 1)
    assert one.wait(0) is None
    assert one.wait(-5) is None
    assert one.wait(0.001) is None
    one.end("given up")
    assert one.wait(1e12) == "given up"


def test_whoever_ends_a_job_first_has_it():
    one = job(lambda: "worker")
    assert one.end("first") is True
    assert one.end("second") is False
    one()
    assert one.result == "first"
    assert one.started is None, "it ran although it had been given up"


def test_a_late_result_is_dropped_and_the_return_told():
    returned = []
    one = job(lambda: one.end("given up") and "late")
    one.on_return = lambda: returned.append(one.running)
    one()
    assert one.result == "given up"
    assert returned == [False]


def test_handing_over_tells_of_start_and_end_once():
    told = []
    one = job(lambda: "result")
    assert one.hand_over(lambda: told.append("start"), told.append) is False
    one()
    one.end("late")
    assert told == ["start", "result"]


def test_handing_over_what_has_started_tells_of_the_end_only():
    told = []

    def work():
        assert one.hand_over(lambda: told.append("start"), told.append) is True
        return "result"

    one = job(work)
    one()
    assert told == ["result"]


def test_what_has_ended_is_not_handed_over():
    one = job(lambda: 1)
    one()
    assert one.hand_over(pytest.fail, pytest.fail) is None


def test_a_start_that_cannot_be_told_does_not_lose_the_work(caplog):
    def fails():
        raise OSError("disk full")

    told = []
    one = job(lambda: "result")
    one.hand_over(fails, told.append)
    one()
    assert told == ["result"]
    assert "disk full" in caplog.text


def test_an_end_that_cannot_be_told_does_not_hide_that_the_thread_came_back():
    def fails(_):
        raise OSError("disk full")

    returned = []
    one = job(lambda: "result")
    one.hand_over(lambda: None, fails)
    one.on_return = lambda: returned.append(1)
    with pytest.raises(OSError, match="disk full"):
        one()
    assert returned == [1]


@pytest.mark.parametrize("seed", range(5))
def test_of_many_that_end_a_job_one_wins_and_one_is_told(often_switching, seed):
    chance = random.Random(seed)
    for _ in range(50):
        told, wins = [], []
        one = job(lambda: "worker")
        doers = [
            one,
            lambda: one.hand_over(lambda: None, told.append),
            *[lambda n=n: wins.append(n) if one.end(n) else None for n in range(3)],
        ]
        chance.shuffle(doers)
        barrier = threading.Barrier(len(doers))

        def run(do):
            barrier.wait(SECONDS)
            do()

        threads = [threading.Thread(target=run, args=(do,)) for do in doers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert one.result is not None
        assert wins in ([], [one.result])
        assert told in ([], [one.result])
        assert (one.result == "worker") is (wins == [])


# Workers -------------------------------------------------------------------------------------------------------------


def test_the_worker_that_is_idle_is_used_again(workers):
    pool, names = workers(), []
    for _ in range(20):
        done = threading.Event()
        pool.submit(lambda done=done: (names.append(threading.current_thread().name), done.set()))
        assert done.wait(SECONDS)
    assert pool.count <= 2  # the next job may come before the last worker has gone idle
    assert all(name.startswith("executor-worker-") for name in names)


def test_an_interrupt_while_an_idle_worker_is_woken_leaves_it_neither_lost_nor_idle(workers):
    class Interrupted(list):
        def pop(self):
            super().pop()
            raise KeyboardInterrupt  # as a Ctrl-C does: it comes when a call has been made

    pool, worker = workers(), _workers._Worker(None)
    pool._idle = Interrupted([worker])
    with pytest.raises(KeyboardInterrupt):
        pool.submit(job)
    assert (pool._idle, worker.job) == ([], job)
    assert worker.gate.acquire(blocking=False), "it was taken from the idle ones, and never woken"


def test_another_worker_is_started_when_none_is_idle(workers):
    pool, held = workers(), [Held() for _ in range(10)]
    for each in held:
        pool.submit(each)
    assert all(each.started.wait(SECONDS) for each in held)
    assert pool.count == 10
    for each in held:
        each.go_on.set()


def test_beyond_the_limit_jobs_wait_their_turn(workers):
    pool, first, order = workers(limit=1), Held(), []
    pool.submit(first)
    done = threading.Event()
    for number in range(10):
        pool.submit(lambda number=number: order.append(number))
    pool.submit(done.set)
    assert pool.free == 0
    first.go_on.set()
    assert done.wait(SECONDS)
    assert order == list(range(10))
    assert pool.count == 1


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit("x"), KeyboardInterrupt(), GeneratorExit()])
def test_a_job_that_raises_does_not_take_a_worker_with_it(workers, error, caplog):
    def fails():
        raise error

    pool, done = workers(limit=1), threading.Event()
    pool.submit(fails)
    pool.submit(done.set)
    assert done.wait(SECONDS)
    assert pool.count == 1
    assert "raised out of its worker" in caplog.text


def test_a_closed_pool_takes_nothing_and_finishes_what_it_took():
    pool, held, ran = Workers(warm=4, limit=1), Held(), []
    pool.submit(held)
    pool.submit(lambda: ran.append(1))
    assert pool.close() is False
    assert pool.submit(lambda: ran.append(2)) is False
    held.go_on.set()
    assert pool.close(SECONDS) is True
    assert ran == [1]
    assert pool.count == 0


def test_idle_workers_beyond_the_warm_ones_end(workers, monkeypatch):
    monkeypatch.setattr(_workers, "IDLE_SECONDS", 0.01)
    pool, held, threads = workers(warm=2), [Held() for _ in range(6)], []
    for each in held:
        pool.submit(lambda each=each: (threads.append(threading.current_thread()), each()))
    assert all(each.started.wait(SECONDS) for each in held)
    ends, everyone_left = 0, threading.Event()
    leave = pool._leave

    def left():
        nonlocal ends
        leave()
        ends += 1
        if ends == 4:
            everyone_left.set()

    pool._leave = left
    for each in held:
        each.go_on.set()
    assert everyone_left.wait(SECONDS)
    assert pool.count == 2
    assert pool.free == 256


def test_work_that_comes_while_a_worker_retires_is_done(workers, monkeypatch, often_switching):
    monkeypatch.setattr(_workers, "IDLE_SECONDS", 0.0)
    pool, done = workers(warm=0, limit=2), threading.Semaphore(0)
    for _ in range(2000):
        pool.submit(done.release)
    for _ in range(2000):
        assert done.acquire(timeout=SECONDS)


def test_a_worker_that_waits_for_another_lends_its_place(workers):
    pool, answer = workers(limit=1), threading.Event()

    def outer():
        inner = threading.Event()
        with pool.blocking_here():
            pool.submit(inner.set)
            assert inner.wait(SECONDS)
        answer.set()

    pool.submit(outer)
    assert answer.wait(SECONDS)


def test_a_place_that_is_lent_goes_to_work_that_waits(workers):
    pool, held, ran = workers(limit=1), Held(), threading.Event()

    def outer():
        pool.submit(ran.set)
        with pool.blocking_here():
            assert ran.wait(SECONDS)
        held()

    pool.submit(outer)
    assert held.started.wait(SECONDS)
    held.go_on.set()


def test_work_aside_waits_for_nobody_and_takes_nobodys_place(workers):
    pool, held, aside, ran = workers(limit=1), Held(), Held(), threading.Event()
    pool.submit(held)
    assert pool.spawn(aside)
    assert aside.started.wait(SECONDS)
    pool.submit(ran.set)
    held.go_on.set()
    assert ran.wait(SECONDS), "work in the queue waits for what runs aside"
    aside.go_on.set()
    assert pool.close(SECONDS)
    assert pool._blocked == set()


def test_work_aside_runs_in_a_closed_pool_too():
    pool, ran = Workers(warm=4, limit=1), threading.Event()
    pool.close()
    assert pool.spawn(ran.set)
    assert ran.wait(SECONDS)
    assert pool.close(SECONDS)


def test_of_much_that_is_urgent_nothing_waits_for_what_blocks(workers):
    pool, together = workers(limit=1), threading.Barrier(60)
    for _ in range(60):
        assert pool.spawn(lambda: together.wait(SECONDS))
    assert pool.close(SECONDS)
    assert not together.broken
    assert pool._blocked == set()


def test_what_is_urgent_and_short_shares_its_workers(workers):
    pool, ran, threads = workers(limit=1), [], set()

    def note(number):
        ran.append(number)
        threads.add(threading.get_ident())

    def burst():
        with pool._lock:  # all but one have come before a worker is there
            pool._urgent.extend(partial(note, number) for number in range(999))
        assert pool.spawn(partial(note, 999))

    burst()
    assert pool.close(SECONDS)
    assert sorted(ran) == list(range(1000))
    assert len(threads) < 200  # another one comes each time the last one has come; how often is the system's affair
    assert pool._blocked == set()


def test_one_urgent_that_raises_keeps_nothing_from_the_others(workers, caplog):
    pool, done = workers(), threading.Event()

    def leave():
        raise SystemExit(3)

    held = Held()
    assert pool.spawn(held)
    assert held.started.wait(SECONDS)
    for fn in (leave, leave, done.set):
        assert pool.spawn(fn)
    assert done.wait(SECONDS)
    held.go_on.set()
    assert pool.close(SECONDS)
    assert pool._blocked == set()


def test_after_an_interrupt_of_the_main_thread_what_is_urgent_is_done_all_the_same(workers, monkeypatch):
    pool, ran, later = workers(), threading.Event(), threading.Event()

    def interrupted(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Workers, "_send", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pool.spawn(ran.set)
    assert pool.spawn(later.set)
    assert later.wait(SECONDS)
    assert ran.wait(SECONDS)


def test_when_no_thread_comes_what_others_have_left_to_it_is_done(workers, monkeypatch):
    pool, ran = workers(), []

    def none_and_meanwhile(self):
        assert pool.spawn(lambda: ran.append("left to the one on its way"))
        raise RuntimeError("can't start new thread")

    with ThreadPoolExecutor(1) as aside, monkeypatch.context() as patch:  # nothing relies on the main thread
        aside.submit(int).result(SECONDS)
        patch.setattr(threading.Thread, "start", none_and_meanwhile)
        assert aside.submit(pool.spawn, pytest.fail).result(SECONDS) is False
    assert ran == ["left to the one on its way"]
    assert (pool.count, pool._blocked) == (0, set())
    done = threading.Event()
    assert pool.spawn(done.set)
    assert done.wait(SECONDS)


def test_a_worker_that_gets_no_help_does_all_that_is_urgent_itself(workers, monkeypatch):
    pool, held, ran, done = workers(), Held(), [], threading.Event()

    def first():
        held()
        with pool._lock:  # as if they had come while it was on its way
            pool._urgent.extend([lambda: ran.append(1), lambda: ran.append(2), done.set])

    assert pool.spawn(first)
    assert held.started.wait(SECONDS)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        held.go_on.set()
        assert done.wait(SECONDS)
    assert ran == [1, 2]
    assert pool.close(SECONDS)
    assert (pool._blocked, pool._on_its_way) == (set(), False)


def no_thread(self):
    raise RuntimeError("can't start new thread")


def test_without_threads_nothing_is_taken_that_would_never_run(workers, monkeypatch):
    pool = workers()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        assert pool.submit(pytest.fail) is False
        assert pool.spawn(pytest.fail) is False
    assert (pool.count, pool._blocked) == (0, set())
    done = threading.Event()
    assert pool.submit(done.set)
    assert done.wait(SECONDS)


def test_without_further_threads_the_existing_ones_take_the_work(workers, monkeypatch):
    pool, held, done = workers(), Held(), threading.Event()
    pool.submit(held)
    assert held.started.wait(SECONDS)
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    assert pool.submit(done.set)
    held.go_on.set()
    assert done.wait(SECONDS)


def test_a_worker_that_goes_idle_while_no_thread_can_be_started_gets_the_work(workers, monkeypatch):
    pool, held, done = workers(), Held(), threading.Event()
    pool.submit(held)
    assert held.started.wait(SECONDS)
    idle = threading.Event()

    class Idle(list):
        def append(self, worker):
            super().append(worker)
            idle.set()

    pool._idle = Idle()

    def no_thread_but_idle(self):
        held.go_on.set()
        assert idle.wait(SECONDS)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_thread_but_idle)
    assert pool.submit(done.set)
    assert done.wait(SECONDS), "the work waits in the queue, and the worker for work"


def test_the_threads_of_a_pool_know_that_they_are(workers):
    pool, other, seen, done = workers(), workers(), [], threading.Event()
    pool.submit(lambda: (seen.append((pool.here, other.here)), done.set()))
    assert done.wait(SECONDS)
    assert seen == [(True, False)]
    assert not pool.here


def test_an_idle_worker_holds_on_to_nothing_of_its_last_job(workers):
    import gc
    import weakref

    class Big:
        pass

    pool, big, finished = workers(), Big(), threading.Event()
    reference = weakref.ref(big, lambda _: finished.set())
    pool.submit(lambda big=big: None)
    del big
    assert finished.wait(SECONDS) or gc.collect()
    assert reference() is None


@pytest.mark.parametrize("seed", range(3))
def test_every_job_of_many_threads_runs_once(workers, often_switching, seed):
    chance, pool, lock, ran = random.Random(seed), workers(warm=1, limit=3), threading.Lock(), []
    done = threading.Semaphore(0)

    def work(number, nest):
        if nest:
            inner = threading.Event()
            with pool.blocking_here():
                pool.submit(inner.set)
                assert inner.wait(SECONDS)
        with lock:
            ran.append(number)
        done.release()

    numbers = [(number, chance.random() < 0.3) for number in range(400)]

    def feed(part):
        for number, nest in part:
            (pool.spawn if number % 7 == 0 else pool.submit)(lambda n=number, x=nest: work(n, x))

    threads = [threading.Thread(target=feed, args=(numbers[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    for _ in numbers:
        assert done.acquire(timeout=SECONDS)
    for thread in threads:
        thread.join()
    assert sorted(ran) == list(range(400))
    assert pool.close(SECONDS)
    assert (pool._blocked, pool.count, pool._threads) == (set(), 0, set())


# Deadlines -----------------------------------------------------------------------------------------------------------


def test_deadlines_come_in_their_order_and_their_thread_ends_after_the_last():
    deadlines, order, done = Deadlines(), [], threading.Event()
    now = time.monotonic()
    deadlines.at(now + 0.04, lambda: (order.append((3, threading.current_thread())), done.set()))
    deadlines.at(now + 0.02, lambda: order.append((2, None)))
    deadlines.at(now - 1, lambda: order.append((1, None)))
    assert done.wait(SECONDS)
    assert [number for number, _ in order] == [1, 2, 3]
    order[-1][1].join(SECONDS)
    assert not order[-1][1].is_alive()


def test_a_deadline_that_was_taken_back_never_comes():
    deadlines, done = Deadlines(), threading.Event()
    now = time.monotonic()
    forget = deadlines.at(now + 0.01, pytest.fail)
    far = deadlines.at(float("inf"), pytest.fail)
    deadlines.at(now + 0.03, done.set)
    forget()
    forget()
    assert done.wait(SECONDS)
    far()
    assert deadlines._heap == []


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit("x"), KeyboardInterrupt()])
def test_a_deadline_that_raises_keeps_no_other_from_coming(error, caplog):
    def fails():
        raise error

    deadlines, done = Deadlines(), threading.Event()
    now = time.monotonic()
    deadlines.at(now, fails)
    deadlines.at(now + 0.02, done.set)
    assert done.wait(SECONDS)
    assert "could not be carried out" in caplog.text


def test_a_deadline_set_by_a_deadline_comes():
    deadlines, done = Deadlines(), threading.Event()
    deadlines.at(0, lambda: deadlines.at(0, done.set))
    assert done.wait(SECONDS)


def test_a_deadline_that_found_no_thread_comes_with_the_next(monkeypatch, caplog):
    deadlines, first, second = Deadlines(), threading.Event(), threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        deadlines.at(0, first.set)
    assert "no thread left" in caplog.text
    deadlines.at(0, second.set)
    assert first.wait(SECONDS)
    assert second.wait(SECONDS)


def test_why_no_thread_could_be_started_is_said_until_one_was(monkeypatch):
    workers = Workers(warm=0, limit=1)

    def start(_):
        raise RuntimeError("thread is not supported here")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        assert not workers.submit(pytest.fail)
        assert workers.refusal == f"{REFUSED} (thread is not supported here)"
    assert workers.submit(lambda: None)
    assert workers.refusal == REFUSED
    assert workers.close(SECONDS)

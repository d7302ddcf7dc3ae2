"""The thread that looks after what other processes want: there is one while there is something, and then none."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from executor.tasks import _watch
from executor.tasks._watch import Watch

SECONDS = 20.0


class Owner:
    """What is looked after for as long as `wanted`; each look waits until it may go on."""

    def __init__(self):
        self.wanted, self.looks = True, 0
        self.looking, self.goes_on = threading.Event(), threading.Event()
        self.watch = Watch(self.look)

    def look(self):
        self.looks += 1
        self.looking.set()
        assert self.goes_on.wait(SECONDS)
        return self.wanted


@pytest.fixture
def threads(monkeypatch):
    """The threads that were begun."""
    begun = []

    class Thread(threading.Thread):
        def start(self):
            begun.append(self)
            super().start()

    monkeypatch.setattr(_watch.threading, "Thread", Thread)
    monkeypatch.setattr(_watch, "EVERY", 0.001)
    return begun


def test_there_is_one_thread_however_often_it_is_woken(threads):
    owner = Owner()
    owner.watch.wake()
    assert owner.looking.wait(SECONDS)
    for _ in range(5):
        owner.watch.wake()
    owner.wanted = False
    owner.goes_on.set()
    threads[0].join(SECONDS)
    assert not threads[0].is_alive()
    assert len(threads) == 1
    assert owner.looks == 2, "it was woken while it looked: it looks once more"


def test_it_is_begun_anew_when_there_is_something_again(threads):
    owner = Owner()
    owner.wanted = False
    owner.goes_on.set()
    for count in (1, 2):
        owner.watch.wake()
        threads[-1].join(SECONDS)
        assert (len(threads), owner.looks) == (count, count)


def test_it_ends_with_whom_it_looks_for(threads):
    owner = Owner()
    owner.goes_on.set()
    owner.watch.wake()
    assert owner.looking.wait(SECONDS)
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    threads[0].join(SECONDS)
    assert not threads[0].is_alive()
    assert gone() is None


def test_a_look_that_raises_ends_nothing(threads, caplog):
    class Failing(Owner):
        def look(self):
            if super().look() and self.looks < 3:
                raise ValueError("no such table")
            return False

    failing = Failing()
    failing.goes_on.set()
    failing.watch.wake()
    threads[0].join(SECONDS)
    assert failing.looks == 3
    assert "no such table" in caplog.text


def test_where_no_thread_can_be_had_it_says_so_and_tries_again(threads, monkeypatch, caplog):
    owner = Owner()
    owner.wanted = False
    owner.goes_on.set()
    with monkeypatch.context() as without:
        without.setattr(_watch.threading, "Thread", none_left)
        owner.watch.wake()
    assert "cannot cancel tasks of this one" in caplog.text
    owner.watch.wake()
    threads[0].join(SECONDS)
    assert owner.looks == 1


def none_left(**_):
    raise RuntimeError("can't start new thread")

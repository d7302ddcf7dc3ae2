"""The one thread that writes to a store: what whoever waits for it is told, and for how long."""

from __future__ import annotations

import threading

import pytest

from executor.errors import ExecutorUnavailableError
from executor.tasks import _thread
from executor.tasks._store import REST, Store
from executor.tasks._thread import Change, StoreThread

SECONDS = 20.0


class Clock:
    """The clock that says how long nobody waits for a store."""

    now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(_thread, "time", made)
    return made


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "tasks.db")
    yield made
    made.close()


@pytest.fixture
def thread(store):
    made = StoreThread(store, lambda: False)
    yield made
    assert made.close(SECONDS)


def test_after_a_wait_in_vain_nobody_waits_until_something_has_been_written_or_a_rest_is_over(store, thread, clock):
    assert thread.broken is None
    with store.writer.lock:
        slow = thread.put(Change(lambda connection: "slow", kept=True))
        assert not thread.wait(slow, 0.001)
        assert not slow.settled
        assert "it is slow" in str(thread.broken)
        at_once = thread.put(Change(lambda connection: "lost"))
        assert (at_once.settled, at_once.stored, at_once.error) == (True, False, thread.broken)
        with pytest.raises(ExecutorUnavailableError, match="it is slow"):
            thread.do(lambda connection: "lost")
        clock.now += REST - 0.01
        assert thread.broken is not None
        clock.now += 0.01
        assert thread.broken is None
    assert slow.wait(SECONDS)
    assert slow.result == "slow"
    assert thread.do(lambda connection: "done", SECONDS) == "done"


def test_what_is_kept_waits_for_the_store_and_ends_its_rest(store, thread, clock):
    with store.writer.lock:
        first = thread.put(Change(lambda connection: 1, kept=True))
        assert not thread.wait(first, 0.001)
        second = thread.put(Change(lambda connection: 2, kept=True))
        assert (second.settled, second.stored) == (True, False), "nobody waits for it"
        assert thread.backlog >= 1
    written = threading.Event()
    third = thread.put(Change(lambda connection: 3, kept=True, after=written.set))
    assert written.wait(SECONDS)
    assert (first.result, second.result, third.result) == (1, 2, 3)
    assert thread.broken is None
    assert thread.backlog == 0

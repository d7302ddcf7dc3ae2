"""Threads for what others must not be held up by, and the end of the process."""

from __future__ import annotations

import _thread
import queue
import threading

import pytest

from executor.threads import _beside
from executor.threads._beside import await_beginnings, beside


@pytest.fixture
def slow(monkeypatch):
    """No thread begins before it is let; gives what lets them, and what tells that one begins."""
    let, told = threading.Event(), queue.SimpleQueue()
    start = _thread.start_new_thread

    def begin(fn, args):
        let.wait()
        told.put("begins")
        fn(*args)

    monkeypatch.setattr(_thread, "start_new_thread", lambda fn, args: start(begin, (fn, args)))
    yield let, told
    let.set()


def test_the_end_of_the_process_waits_for_threads_that_are_about_to_begin(slow, monkeypatch):
    monkeypatch.setattr(_beside, "LONGEST_BEGINNING", 60)
    let, told = slow
    beside(len, ())
    ending = threading.Thread(target=lambda: (await_beginnings(), told.put("over")))
    ending.start()
    let.set()
    assert [told.get(timeout=20), told.get(timeout=20)] == ["begins", "over"]
    ending.join()
    assert not _beside._beginning


def test_but_not_for_ever(slow, monkeypatch):
    monkeypatch.setattr(_beside, "LONGEST_BEGINNING", 0.01)
    let, told = slow
    beside(told.put, "ran")
    await_beginnings()
    assert told.empty()
    let.set()
    assert [told.get(timeout=20), told.get(timeout=20)] == ["begins", "ran"]


def test_an_interpreter_that_ends_starts_no_thread(monkeypatch):
    monkeypatch.setattr(_thread, "start_new_thread", None)
    monkeypatch.setattr("sys.is_finalizing", lambda: True)
    ran: list[int] = []
    beside(lambda: ran.append(threading.get_ident()))
    assert ran == [threading.get_ident()]


def test_nor_does_a_system_that_has_none_left(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    ran: list[int] = []
    beside(lambda: ran.append(threading.get_ident()))
    assert ran == [threading.get_ident()]
    assert not _beside._beginning

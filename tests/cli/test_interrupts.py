"""Signals as events."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

import pytest

from executor.cli._interrupts import Interrupts


@pytest.fixture
def interruptible():
    """SIGINT is handled, even when whoever started the tests ignores it."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux says what a thread is doing")
def test_a_signal_that_interrupts_no_wait_ends_it_all_the_same(interruptible):
    """As one does that comes between the last look at signals and the wait: the system stops another thread for it."""
    state = Path(f"/proc/self/task/{threading.get_native_id()}/stat")
    waiting = threading.get_ident()

    def send():
        while True:
            frame = sys._current_frames()[waiting]
            if frame.f_code is Interrupts.wait.__code__ and state.read_text().rpartition(")")[2].split()[0] == "S":
                return signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    with Interrupts() as interrupts:
        thread = threading.Thread(target=send)
        thread.start()
        assert interrupts.wait(30) == Interrupts.INTERRUPT
        assert interrupts.happened
        thread.join()
    assert signal.set_wakeup_fd(-1) == -1
    signal.raise_signal(signal.SIGINT)  # on the way to the end of the process: it breaks nothing off


def test_where_there_was_none_all_is_as_before(interruptible):
    with Interrupts():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.set_wakeup_fd(-1) == -1


def test_events_come_in_their_order_and_none_is_lost():
    with Interrupts() as interrupts:
        for number in range(100_000):  # more than the pipe holds
            interrupts.put(str(number))
        assert [interrupts.wait(0) for _ in range(100_000)] == [str(number) for number in range(100_000)]
        assert interrupts.wait(0) is None


def test_an_event_after_the_end_disturbs_nobody():
    with Interrupts() as interrupts:
        pass
    interrupts.put("left")
    assert not interrupts.happened

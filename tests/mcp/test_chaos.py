"""Servers killed and stopped again and again, and many threads on one of them."""

from __future__ import annotations

import os
import signal
import threading
import time

import psutil
import pytest

from executor.errors import BackendUnavailableError, ToolTimeoutError

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
ROUNDS = 100


def children() -> dict[int, str]:
    """Our child processes, with their states."""
    return {child.pid: child.status() for child in psutil.Process().children()}


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def pid_of(bridge) -> int:
    return bridge.call_tool("s", "echo", {"text": "works"}).structured_content["pid"]


@pytest.fixture
def fifo(tmp_path):
    path = tmp_path / "marker"
    os.mkfifo(path)
    return path


def test_killed_in_a_call_again_and_again(bridge_to, raw, fifo):
    bridge, slowest = bridge_to({"s": raw()}), 0.0
    pid_of(bridge)
    before, threads = descriptors(), threading.active_count()
    for _ in range(ROUNDS):
        pid, ended = pid_of(bridge), []

        def call(ended=ended):
            try:
                bridge.call_tool("s", "hang", {"text": str(fifo)}, timeout=30)
            except BackendUnavailableError:
                ended.append(time.monotonic())

        thread = threading.Thread(target=call)
        thread.start()
        assert fifo.read_text() == "started"
        killed = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        thread.join(10)
        slowest = max(slowest, ended[0] - killed)
        assert pid_of(bridge) != pid
        assert psutil.STATUS_ZOMBIE not in children().values()
    assert slowest < 1.0
    assert descriptors() == before
    assert threading.active_count() <= threads
    assert len(children()) == 1
    print(f"slowest error after SIGKILL: {slowest * 1e3:.0f} ms in {ROUNDS} rounds")


def test_stopped_in_a_call_again_and_again(bridge_to, raw):
    rounds, slowest = max(3, ROUNDS // 10), 0.0
    for _ in range(rounds):
        bridge = bridge_to({"s": raw()})
        pid = pid_of(bridge)
        began = time.monotonic()
        with pytest.raises(ToolTimeoutError):
            bridge.call_tool("s", "stop", timeout=0.3)
        assert time.monotonic() - began < 0.6
        began = time.monotonic()
        bridge.close()
        slowest = max(slowest, time.monotonic() - began)
        assert pid not in children()
    assert slowest < 6.0
    print(f"slowest close of a stopped server: {slowest:.2f} s in {rounds} rounds")


def test_a_hundred_threads_on_one_server(bridge_to, raw):
    bridge, wrong, calls = bridge_to({"s": raw()}), [], ROUNDS
    together = threading.Barrier(100)

    def work(number):
        together.wait()
        for index in range(calls):
            text = f"{number}/{index}"
            result = bridge.call_tool("s", "echo", {"text": text})
            if result.structured_content["text"] != text or result.content[0].text != text:
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(100)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - began
    assert (wrong, bridge.status()["s"].answered) == ([], 100 * calls)
    print(f"{100 * calls / seconds:.0f} calls/s from 100 threads")


def test_killed_while_many_threads_call(bridge_to, raw):
    bridge, failed, answered = bridge_to({"s": raw()}), [], []
    done = threading.Event()

    def work(number):
        index = 0
        while not done.is_set():
            text = f"{number}/{index}"
            index += 1
            try:
                result = bridge.call_tool("s", "echo", {"text": text}, timeout=20)
            except BackendUnavailableError as error:
                failed.append(error)
            else:
                answered.append(result.structured_content["text"] == text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    seen = set()
    while len(seen) < ROUNDS:
        try:
            pid = pid_of(bridge)
        except BackendUnavailableError:
            continue
        seen.add(pid)
        os.kill(pid, signal.SIGKILL)
    done.set()
    for thread in threads:
        thread.join()
    assert pid_of(bridge) not in seen
    assert all(answered)
    assert answered
    assert psutil.STATUS_ZOMBIE not in children().values()
    print(f"{len(answered)} answered, {len(failed)} failed, {ROUNDS} servers killed")

"""Output of tasks: written and read at once, past the cap, in other processes, and by a thousand tasks."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from executor.tasks import TaskManager
from executor.tasks._files import FileSpool, OutputFolder
from executor.tasks._manager import engine_of

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60.0


def enter(tasks, spool):
    return engine_of(tasks).add(
        "t", "p", "c", spool, cancel=lambda _: False, reached=lambda: None, started=time.monotonic()
    )  # fmt: skip


def follow(read, done, seen):
    """Read from offset to offset until *done* is set and nothing is left; the hash and the length go to *seen*."""
    digest, offset, missing = hashlib.sha256(), 0, 0
    while True:
        last = done.is_set()
        text, offset, dropped = read(offset, 1 << 20)
        assert "\ufffd" not in text, "a character was cut"
        missing += dropped
        digest.update(text.encode())
        if last and not text:
            break
        if not text:
            done.wait(0.01)
    seen.append((digest.hexdigest(), offset, missing))


def write_and_follow(tmp_path, chunks):
    """Write *chunks* chunks of 1 KB while a reader here and one that has a manager of its own poll by offset."""
    cap = chunks * 1100 * 2
    tasks, other = TaskManager.open(tmp_path, output_cap=cap), TaskManager.open(tmp_path)
    spool = engine_of(tasks).new_spool()
    task_id = enter(tasks, spool)
    done, seen, digest, total = threading.Event(), [], hashlib.sha256(), 0
    readers = [
        threading.Thread(target=follow, args=(lambda o, n, m=manager: m.output(task_id, o, n), done, seen))
        for manager in (tasks, other)
    ]
    for reader in readers:
        reader.start()
    for number in range(chunks):
        chunk = f"{number:08} " + "é€😀x" * 100 + "y" * 14 + "\n"
        spool.append(chunk)
        digest.update(chunk.encode())
        total += len(chunk.encode())
    done.set()
    for reader in readers:
        reader.join(SECONDS)
    assert seen == [(digest.hexdigest(), total, 0)] * 2
    tasks.close()
    other.close()


def test_two_readers_see_every_byte_once_and_in_order(tmp_path):
    write_and_follow(tmp_path, 5_000)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_two_readers_of_100_000_chunks_see_every_byte_once_and_in_order(tmp_path):
    write_and_follow(tmp_path, 100_000)


def test_past_the_cap_the_front_is_kept_and_what_is_missing_is_counted(tmp_path):
    cap, line = 1 << 20, "é" * 511 + "\n"
    tasks, other = TaskManager.open(tmp_path, output_cap=cap), TaskManager.open(tmp_path)
    spool = engine_of(tasks).new_spool()
    task_id = enter(tasks, spool)
    size = len(line.encode())
    for _ in range(5_000):
        spool.append(line)
    for manager in (tasks, other):
        text, following, dropped = manager.output(task_id)
        assert following == 5_000 * size
        assert len(text.encode()) + dropped == following
        assert cap - 4 <= len(text.encode()) <= cap
        front, _, _ = manager.output(task_id, 0, cap // 2)
        assert front == (line * 5_000).encode()[: len(front.encode())].decode()
        assert text.endswith(line * 100)
    folder = tmp_path / "output"
    used = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert used <= cap * 1.2
    tasks.close()
    other.close()


@pytest.mark.skipif(not Path("/proc").exists(), reason="counts descriptors by /proc")
def test_the_number_of_open_output_files_is_bounded(tmp_path):
    folder = OutputFolder(tmp_path)
    spools = [FileSpool(lambda: folder, 10_000) for _ in range(200)]
    before = len(os.listdir("/proc/self/fd"))
    for number, spool in enumerate(spools):
        spool.keep(f"local_{number:032}")
    for _ in range(3):
        for spool in spools:
            spool.append("line\n")
    assert len(os.listdir("/proc/self/fd")) - before <= 64
    assert [spool.read(0)[0] for spool in spools] == ["line\n" * 3] * 200
    for number, spool in enumerate(spools):
        spool.finish()
        spool.sync(f"local_{number:032}")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_foreground_call_leaves_no_file_however_much_it_says(tmp_path):
    folder = OutputFolder(tmp_path / "output")
    spool = FileSpool(lambda: folder, 16 << 20)
    spool.append("x" * 1000)
    assert not (tmp_path / "output").exists()
    for _ in range(3):
        spool.append("y" * (1 << 20))
    assert len(folder.stems()) == 1, "past 1 MiB it is on the disk"
    assert spool.read(0, 1001) == ("x" * 1000 + "y", 1001, 0)
    spool.discard()
    spool.append("late")
    assert list(folder.stems()) == []


def test_output_before_the_hand_over_keeps_its_offsets_however_small_the_cap(tmp_path):
    tasks = TaskManager.open(tmp_path, output_cap=1000)
    for _ in range(2):
        spool = engine_of(tasks).new_spool()
        for number in range(5000):
            spool.append(f"{number:09}\n")
        task_id = enter(tasks, spool)
        text, following, dropped = tasks.output(task_id)
        assert (following, dropped, tasks.get(task_id).output_bytes) == (50_000, 49_000, 50_000)
        assert text.startswith("000000000\n")
        assert text.endswith("000004999\n")
    tasks.close()


def test_output_from_memory_and_from_a_file_becomes_the_tasks(tmp_path):
    tasks = TaskManager.open(tmp_path)
    for size in (10, 3 << 20):
        spool = engine_of(tasks).new_spool()
        spool.append("a" * size)
        task_id = enter(tasks, spool)
        spool.append("b")
        assert tasks.output(task_id, size - 1) == ("ab", size + 1, 0)
        assert [path.name for path in OutputFolder(tmp_path / "output").stems() if task_id in path.name]
    tasks.close()


MANY = """
import gc, json, resource, statistics, sys, threading, time
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from executor import ToolCall, ToolExecutor, current_call
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of
count = int(sys.argv[2])
executor = ToolExecutor(tasks=TaskManager.open(sys.argv[1]), max_workers=count + 50, max_background_tasks=count)
go = threading.Event()
def work(args):
    current_call().emit(f"begun {args['n']}\\n")
    assert go.wait(100)
    current_call().emit("ended\\n")
    return {"n": args["n"]}
executor.register("work", work, auto_background=50)
executor.register("quick", lambda args: 1, timeout=30)
executor.register("inline", lambda args: 1)
def latency(name):
    times = []
    for _ in range(2000):
        began = time.perf_counter()
        executor.execute(name)
        times.append(time.perf_counter() - began)
    return statistics.median(times)
def memory():
    gc.collect()
    for line in open("/proc/self/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
executor.tasks.list()
idle = {name: latency(name) for name in ("inline", "quick")}
before = memory()
ids = [executor.start(ToolCall(str(n), "work", {"n": n})).task_id for n in range(count)]
each = (memory() - before) / count
busy = {name: latency(name) for name in ("inline", "quick")}
go.set()
answers = [executor.tasks.result(executor.tasks.wait(task_id, 60).id) for task_id in ids]
right = sum(answer == (True, {"n": n}) for n, answer in enumerate(answers))
texts = sum(executor.tasks.output(task_id)[0] == f"begun {n}\\nended\\n" for n, task_id in enumerate(ids))
executor.shutdown()
print(json.dumps({"right": right, "texts": texts, "each": each, "idle": idle, "busy": busy}))
"""


def many(tmp_path, count):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", MANY, str(tmp_path), str(count)],
        env=environment, capture_output=True, text=True, timeout=SECONDS * 2, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    import json

    return json.loads(done.stdout.splitlines()[-1])


def test_many_tasks_at_once_are_all_answered_with_few_open_files(tmp_path):
    told = many(tmp_path, 300)
    assert (told["right"], told["texts"]) == (300, 300)


@pytest.mark.long
@pytest.mark.timeout(200)
def test_a_thousand_tasks_at_once_cost_little_and_do_not_slow_the_foreground(tmp_path):
    told = many(tmp_path, 1000)
    print(f"\n1,000 tasks: {told}")
    assert (told["right"], told["texts"]) == (1000, 1000)
    assert told["each"] <= 64 * 1024
    for name in ("inline", "quick"):
        assert told["busy"][name] < 1.5 * told["idle"][name]

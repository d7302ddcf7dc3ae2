"""Calls on a cluster of two processes: what becomes of them here is what becomes of them in the background here."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socketserver
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from executor import ResultKind, TaskManager, TaskStatus, ToolCall, ToolExecutor
from executor.engines import DaskEngine, _where
from executor.engines._where import read_ref
from executor.errors import ExecutionError, ExecutorUnavailableError
from executor.tasks._manager import engine_of

from .conftest import rounds

SECONDS = 60.0


def start(executor, name, **arguments):
    return executor.start(ToolCall("1", name, arguments)).task_id


def acknowledged(executor, task_id):
    """A task that was stopped, once its worker has said so."""
    deadline = time.monotonic() + SECONDS
    while (info := executor.tasks.get(task_id)).abandoned and time.monotonic() < deadline:
        threading.Event().wait(0.02)
    return info


def test_a_call_runs_on_a_worker_with_its_output_progress_and_result(executor):
    said, done = [], []
    result = executor.start(
        ToolCall("7", "lines", {"count": 3, "pause": 0.01}), on_output=said.append, on_done=done.append
    )
    info = executor.tasks.wait(result.task_id, SECONDS)
    assert (info.status, info.progress) == (TaskStatus.COMPLETED, (3, 3, "saying lines"))
    output = "".join(f"line {number} ünïcödé\n" for number in range(3))
    assert executor.tasks.output(info.id)[0] == output
    assert "".join(said) == output
    value = executor.tasks.result(info.id)[1]
    assert value["count"] == 3
    assert value["pid"] != os.getpid()
    told = executor.tasks.tool_result(info.id)
    assert (told.call_id, told.task_id, told.kind, told.structured) == ("7", info.id, ResultKind.OK, value)
    assert [each.content for each in done] == [told.content]


@pytest.mark.parametrize(
    ("what", "heard"),
    [("half", (1, 2, "half a character: ?")), ("long", (1e30, 2, "")), ("fraction", (1.5, 2, None))],
)
def test_progress_that_dask_cannot_send_costs_neither_the_call_nor_its_worker(executor, what, heard):
    info = executor.tasks.wait(start(executor, "says", what=what), SECONDS)
    assert (info.status, info.progress) == (TaskStatus.COMPLETED, heard), info.error


def test_a_reason_that_dask_cannot_send_stops_the_call(executor):
    said = threading.Event()
    call = ToolCall("1", "lines", {"count": 10_000, "pause": 0.05})
    task_id = executor.start(call, on_output=lambda _: said.set()).task_id
    assert said.wait(SECONDS)
    assert executor.tasks.cancel(task_id, "half a character: \ud800")
    assert not acknowledged(executor, task_id).abandoned


def test_a_call_that_is_stopped_before_it_is_sent_has_its_end(executor, engine, monkeypatch):
    ask, held, free = engine.ask_there, threading.Event(), threading.Event()

    async def held_up(word, *how, **said):
        if word == "submit":
            held.set()
            await asyncio.to_thread(free.wait, SECONDS)
        return await ask(word, *how, **said)

    monkeypatch.setattr(engine, "ask_there", held_up)
    executor.submit(ToolCall("1", "add"), background=True)
    assert held.wait(SECONDS)
    second = executor.submit(ToolCall("2", "add"), background=True).result(SECONDS).task_id
    assert executor.tasks.cancel(second, "enough")
    free.set()
    assert not acknowledged(executor, second).abandoned


def test_output_can_be_read_while_the_call_runs(executor):
    seen = threading.Event()
    task_id = executor.start(
        ToolCall("1", "lines", {"count": 1000, "pause": 0.05}), on_output=lambda _: seen.set()
    ).task_id
    assert seen.wait(SECONDS)
    assert executor.tasks.get(task_id).status is TaskStatus.RUNNING
    assert executor.tasks.output(task_id)[0].startswith("line 0")
    assert executor.tasks.cancel(task_id)


def test_a_tool_that_raises_fails_as_it_does_here(executor):
    info = executor.tasks.wait(start(executor, "fails"), SECONDS)
    assert (info.status, info.error) == (TaskStatus.FAILED, "bad")
    assert "ValueError" in executor.tasks.result(info.id)[1]["traceback"]


def test_a_time_limit_counts_on_the_worker(executor, tmp_path):
    call = ToolCall("1", "mark", {"path": str(tmp_path / "marks"), "seconds": 100.0})
    info = executor.tasks.wait(executor.start(call, timeout=0.2).task_id, SECONDS)
    assert info.status is TaskStatus.TIMEOUT
    assert executor.tasks.tool_result(info.id).kind is ResultKind.TIMED_OUT


def test_a_threshold_of_zero_is_the_background_too(executor, tools):
    executor.register("away", tools.add, auto_background=0)
    task_id = executor.execute("away", {"number": 1})[1]["task_id"]
    executor.tasks.wait(task_id, SECONDS)
    assert executor.tasks.result(task_id) == (True, 2)


def test_two_hundred_equal_calls_are_two_hundred_runs(executor, tmp_path):
    path = tmp_path / "marks"
    ids = [start(executor, "mark", path=str(path)) for _ in range(200)]
    assert {executor.tasks.wait(task_id, SECONDS).status for task_id in ids} == {TaskStatus.COMPLETED}
    assert len(path.read_text().splitlines()) == 200


def test_a_cancel_reaches_the_worker_and_is_acknowledged(executor, tmp_path):
    begun = threading.Event()
    call = ToolCall("1", "mark", {"path": str(tmp_path / "marks"), "seconds": 100.0})
    task_id = executor.start(call, on_output=lambda _: begun.set()).task_id
    assert begun.wait(SECONDS)
    assert executor.tasks.cancel(task_id, "enough")
    info = acknowledged(executor, task_id)
    assert (info.status, info.error, info.abandoned) == (TaskStatus.CANCELLED, "enough", False)
    assert executor.tasks.output(task_id)[0] == "begun\n"


def test_a_tool_that_does_not_listen_is_abandoned_until_it_comes_back(executor, tmp_path):
    begun, path = threading.Event(), tmp_path / "go"
    task_id = executor.start(ToolCall("1", "deaf", {"path": str(path)}), on_output=lambda _: begun.set()).task_id
    assert begun.wait(SECONDS)
    assert executor.tasks.cancel(task_id)
    info = executor.tasks.get(task_id)
    assert (info.status, info.abandoned) == (TaskStatus.CANCELLED, True)
    path.touch()
    info = acknowledged(executor, task_id)
    assert (info.status, info.abandoned) == (TaskStatus.CANCELLED, False)
    assert executor.tasks.result(task_id)[0] is False


def test_a_call_that_is_stopped_before_its_begin_is_heard_is_abandoned_too(executor, engine, tmp_path, monkeypatch):
    path = tmp_path / "go"
    monkeypatch.setattr(engine, "_hear", lambda *_: None)
    task_id = start(executor, "deaf", path=str(path))
    while not engine.ask("probe", task_ids=[task_id])["tasks"][task_id]["size"]:  # the tool has begun, and said so
        threading.Event().wait(0.02)
    assert executor.tasks.cancel(task_id)
    assert executor.tasks.get(task_id).abandoned
    monkeypatch.undo()
    path.touch()
    info = acknowledged(executor, task_id)
    assert (info.status, info.abandoned) == (TaskStatus.CANCELLED, False)


def test_long_outputs_and_results_come_whole(executor):
    size = 3 * 1024 * 1024
    info = executor.tasks.wait(start(executor, "much", size=size), SECONDS)
    assert (info.status, info.output_bytes) == (TaskStatus.COMPLETED, size)
    text, offset, gone = executor.tasks.output(info.id)
    assert (len(text), offset, gone) == (size, size, 0)
    assert text == ("".join(chr(97 + number % 26) for number in range(1023)) + "\n") * (size // 1024)
    assert executor.tasks.result(info.id) == (True, "r" * size)
    assert len(executor.tasks.tool_result(info.id).content) <= 64 * 1024


@pytest.mark.parametrize("count", rounds(200, 1000))
def test_queued_calls_hold_no_thread_of_the_host(tmp_path, new_cluster, tools, count):
    engine = DaskEngine(new_cluster(workers=0).address)
    alone = ToolExecutor(engine=engine, max_background_tasks=count, tasks=TaskManager.open(tmp_path / "s"))
    alone.register("add", tools.add)
    try:
        first = start(alone, "add")
        before = threading.active_count()
        with ThreadPoolExecutor(16) as callers:
            ids = [first, *callers.map(lambda number: start(alone, "add", number=number), range(count - 1))]
        assert threading.active_count() < before + 5  # the store's and the watch's come and go
        assert {alone.tasks.get(task_id).status for task_id in ids} == {TaskStatus.PENDING}
        assert alone.tasks.cancel(ids[count // 2])
        info = acknowledged(alone, ids[count // 2])
        assert (info.status, info.abandoned) == (TaskStatus.CANCELLED, False)
    finally:
        alone.shutdown(cancel=True, timeout=SECONDS)
        engine.close()
        alone.tasks.close()


class Late(DaskEngine):
    """One that comes back from a stop when the cluster's own news of it was heard."""

    def stop(self, remote, reason):
        ended = super().stop(remote, reason)
        remote.job.wait(SECONDS)
        return ended


def test_what_is_heard_of_a_call_that_was_cancelled_is_no_failure(tmp_path, new_cluster, tools):
    engine = Late(new_cluster(workers=0).address)
    try:
        with ToolExecutor(engine=engine, tasks=TaskManager.open(tmp_path / "s")) as executor:
            executor.register("add", tools.add)
            task_id = start(executor, "add")
            assert executor.tasks.cancel(task_id, "enough")
            info = executor.tasks.get(task_id)
            assert (info.status, info.error) == (TaskStatus.CANCELLED, "enough")
    finally:
        engine.close()


def test_a_function_that_no_other_machine_finds_is_refused_with_what_to_do(executor):
    executor.register("here", lambda args: 1)
    with pytest.raises(ExecutionError, match="define it at the top of a module"):
        start(executor, "here")


def test_tasks_in_memory_would_be_lost(engine, tools):
    with ToolExecutor(engine=engine, tasks=TaskManager.in_memory()) as executor:
        executor.register("add", tools.add)
        with pytest.raises(ExecutionError, match="keeps tasks in memory only"):
            start(executor, "add")


def test_a_pool_and_an_engine_are_one_too_many(engine):
    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="pool and engine"):
        ToolExecutor(pool=pool, engine=engine)


def test_a_cluster_that_is_not_there_is_said_at_once(tools):
    engine = DaskEngine("tcp://127.0.0.1:9")
    with ToolExecutor(engine=engine) as executor:
        executor.register("add", tools.add)
        with pytest.raises(ExecutorUnavailableError, match="cannot be reached"):
            start(executor, "add")
        assert executor.tasks.list() == []
    engine.close()


class _Greets(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.sendall(self.server.greeting)
        self.request.recv(1)  # until the other side has had enough


GREETINGS = {"http": b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10, "ssh": b"SSH-2.0-OpenSSH_9\r\n", "zeros": bytes(100)}


@pytest.mark.parametrize("greeting", GREETINGS.values(), ids=GREETINGS)
def test_what_is_no_scheduler_is_said_to_be_none(tools, greeting):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Greets) as server:
        server.greeting, server.daemon_threads = greeting, True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        engine = DaskEngine(f"tcp://127.0.0.1:{server.server_address[1]}")
        with ToolExecutor(engine=engine) as executor:
            executor.register("add", tools.add)
            with pytest.raises(ExecutorUnavailableError, match="is no scheduler: see to the address"):
                start(executor, "add")
        engine.close()
        server.shutdown()


class _Silent(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.server.asked.set()
        self.server.waited.append(self.server.over.wait(2.0))  # less than those have patience who ask


@pytest.mark.parametrize("way", ["submit", "acall"])
@pytest.mark.parametrize("how", [{"background": True}, {}], ids=["on purpose", "threshold"])
def test_who_submits_a_call_does_not_wait_for_a_cluster_that_does_not_answer(tools, way, how):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Silent) as server:
        server.asked, server.over, server.waited = threading.Event(), threading.Event(), []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        engine = DaskEngine(f"tcp://127.0.0.1:{server.server_address[1]}")

        async def made():
            making = asyncio.ensure_future(executor.acall(ToolCall("1", "add"), **how))
            await asyncio.to_thread(server.asked.wait, SECONDS)
            server.over.set()
            return await making

        def submitted():
            future = executor.submit(ToolCall("1", "add"), **how)
            assert server.asked.wait(SECONDS)
            server.over.set()
            return future.result(SECONDS)

        with ToolExecutor(engine=engine) as executor:
            executor.register("add", tools.add, auto_background=None if how else 0)
            result = submitted() if way == "submit" else asyncio.run(made())
        engine.close()
        server.shutdown()
    assert all(server.waited)
    # What no cluster takes stays here past a threshold of 0.
    assert result.kind is (ResultKind.UNAVAILABLE if how else ResultKind.OK)


def test_a_detached_call_is_nobodys_until_somebody_asks(executor):
    task_id = executor.detach(ToolCall("1", "lines", {"count": 3, "pause": 0.05}))
    assert executor.tasks.open_count() == 0
    info = executor.tasks.wait(task_id, SECONDS)
    assert info.status is TaskStatus.COMPLETED
    assert executor.tasks.result(task_id)[1]["count"] == 3
    assert executor.tasks.output(task_id)[0].count("\n") == 3
    assert executor.tasks.next_undelivered(SECONDS).id == task_id


def test_a_detached_call_that_cannot_be_stored_is_not_submitted(executor, tmp_path):
    path = tmp_path / "marks"
    executor.tasks.wait(start(executor, "add"), SECONDS)  # there is a store
    database = engine_of(executor.tasks).durable.folder() / "tasks.db"
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as held:
        held.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ExecutorUnavailableError, match="Nothing was started"):
            executor.detach(ToolCall("2", "mark", {"path": str(path)}))
    executor.tasks.wait(start(executor, "add"), SECONDS)  # the workers have had their turn
    assert not path.exists()


def test_a_detached_call_can_be_cancelled_by_whoever_asks(executor, tmp_path):
    path = tmp_path / "marks"
    task_id = executor.detach(ToolCall("1", "mark", {"path": str(path), "seconds": 100.0}))
    while not path.exists():
        assert not executor.tasks.wait(task_id, 0.05).status.final
    assert executor.tasks.cancel(task_id, "enough")
    info = executor.tasks.get(task_id)
    assert (info.status, info.error, info.abandoned) == (TaskStatus.CANCELLED, "enough", False)
    assert not executor.tasks.cancel(task_id)


@pytest.mark.parametrize(
    ("address", "options", "wrong"),
    [
        ("127.0.0.1:8786", {}, "address is"),
        ("tcp://127.0.0.1", {}, "address is"),
        ("tcp://10.0.0.1:8786", {}, "without TLS"),
        ("tcp://scheduler:8786", {}, "without TLS"),
        ("tls://scheduler:8786", {}, "ca is missing"),
        ("tcp://127.0.0.1:8786", {"ca": __file__}, "write tls://"),
        ("tls://scheduler:8786", {"ca": "nowhere.pem"}, "no file is"),
    ],
)
def test_an_address_is_checked_at_the_door(address, options, wrong):
    with pytest.raises(ValueError, match=wrong):
        DaskEngine(address, **options)


def test_a_network_of_ones_own_may_do_without_tls():
    DaskEngine("tcp://10.0.0.1:8786", insecure=True).close()


def test_another_user_in_the_place_of_the_scheduler_is_told_nothing(cluster, monkeypatch):
    """What Dask receives may be objects, which are made: an answer can run code."""
    port = urlsplit(cluster.address).port
    monkeypatch.setattr(_where, "stranger_at", lambda at: 4711 if at == port else None)
    engine = DaskEngine(cluster.address)
    with pytest.raises(ExecutorUnavailableError, match=r"another user \(uid 4711\) listens there"):
        engine.open()
    engine.close()
    believed = DaskEngine(cluster.address, insecure=True)
    found, _ = read_ref(believed.open())
    assert found == believed.where
    believed.close()

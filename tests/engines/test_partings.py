"""What lies between two messages: answers that are lost, workers that do not answer, hosts that leave; shares."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from types import SimpleNamespace

import pytest
from distributed import Client

from executor import TaskManager, TaskStatus, ToolCall, ToolExecutor
from executor.engines import DaskEngine, _remote
from executor.engines._entries import Entry, Share
from executor.engines._line import Reattached
from executor.engines._remote import Remote
from executor.engines._scheduler import Tasks
from executor.engines._wire import ENDED, GONE
from executor.errors import ExecutorUnavailableError
from executor.threads._jobs import Job

from .conftest import Cluster

SECONDS = 60.0


def start(executor, name, **arguments):
    return executor.start(ToolCall("1", name, arguments)).task_id


@pytest.fixture(scope="module")
def one_worker(tmp_path_factory):
    """A cluster of one worker, which every test leaves as it is."""
    made = Cluster(tmp_path_factory.mktemp("one"), workers=1)
    yield made
    made.close()


@pytest.fixture
def own(one_worker, tools, tmp_path):
    """An executor and an engine on that."""
    engine = DaskEngine(one_worker.address)
    executor = ToolExecutor(engine=engine, tasks=TaskManager.open(tmp_path / "own", host="mine"))
    for name in ("add", "gated", "mark", "much"):
        executor.register(name, getattr(tools, name))
    yield executor, engine
    executor.shutdown(cancel=True, timeout=SECONDS)
    engine.close()
    executor.tasks.close()


def test_the_output_on_a_worker_that_does_not_answer_for_a_while_comes_whole(own, monkeypatch):
    executor, engine = own
    worker = executor.tasks.result(executor.tasks.wait(start(executor, "mark", path=os.devnull), SECONDS).id)[1]
    read, silent = engine.read, threading.Event()

    async def stopped_before_it_is_read(*what):
        if not silent.is_set():
            os.kill(worker, signal.SIGSTOP)
        try:
            return await read(*what)
        except ExecutorUnavailableError:
            silent.set()
            raise

    monkeypatch.setattr(engine, "read", stopped_before_it_is_read)
    try:
        size = 3 * 1024 * 1024
        task_id = start(executor, "much", size=size)
        assert silent.wait(SECONDS)
        assert executor.tasks.get(task_id).status is TaskStatus.RUNNING
    finally:
        os.kill(worker, signal.SIGCONT)
    info = executor.tasks.wait(task_id, SECONDS)
    assert (info.status, info.output_bytes) == (TaskStatus.COMPLETED, size)
    text, _, gone = executor.tasks.output(task_id)
    assert (len(text), gone) == (size, 0)


def test_a_submission_of_which_nothing_is_known_is_asked_after_until_it_is(own, monkeypatch):
    executor, engine = own
    executor.tasks.wait(start(executor, "add"), SECONDS)
    asked, failures = engine.ask_there, ["submit", "withdraw", "withdraw"]

    async def lost(word, *rest, **said):
        if failures and word == failures[0]:
            failures.pop(0)
            raise RuntimeError("not a word of distributed's own")
        return await asked(word, *rest, **said)

    monkeypatch.setattr(engine, "ask_there", lost)
    info = executor.tasks.wait(start(executor, "add"), SECONDS)
    assert (info.status, failures) == (TaskStatus.FAILED, [])
    assert executor.tasks.wait(start(executor, "add"), SECONDS).status is TaskStatus.COMPLETED


def test_an_engine_that_is_closed_amid_starts_keeps_none_waiting_and_none_without_an_end(own, monkeypatch):
    executor, engine = own
    executor.tasks.wait(start(executor, "add"), SECONDS)
    asked, submitting = engine.ask_there, threading.Event()

    async def stuck(word, *rest, **said):
        if word == "submit":
            submitting.set()
            await asyncio.Event().wait()
        return await asked(word, *rest, **said)

    monkeypatch.setattr(engine, "ask_there", stuck)
    ids = []
    threads = [threading.Thread(target=lambda: ids.append(start(executor, "add"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert submitting.wait(SECONDS)
    while len(engine._remotes) < len(threads):  # the others wait behind the first
        threads[0].join(0.01)
    engine.close()
    for thread in threads:
        thread.join(SECONDS)
    assert {executor.tasks.wait(task_id, SECONDS).status for task_id in ids} == {TaskStatus.FAILED}
    assert len(ids) == len(threads)
    with pytest.raises(ExecutorUnavailableError, match="has been closed"):
        start(executor, "add")


def test_a_call_that_was_said_never_to_have_come_does_not_begin_when_it_comes_late(
    cluster, tools, tmp_path, monkeypatch
):
    engine, late, path = DaskEngine(cluster.address), [], tmp_path / "marks"
    tasks = TaskManager.open(tmp_path / "store", host="mine")
    executor = ToolExecutor(engine=engine, tasks=tasks)
    executor.register("mark", tools.mark)
    monkeypatch.setattr(engine, "submit", late.append)
    task_id = start(executor, "mark", path=str(path))
    sent = late[0].sent()
    late[0].leave()
    tasks.close()
    other = TaskManager.open(tmp_path / "store", host="mine")
    info = other.wait(task_id, SECONDS)
    assert (info.status, info.error) == (TaskStatus.FAILED, "The call never reached the cluster: nothing was started")
    assert engine.ask("submit", host="late", task_ids=[task_id], calls=[sent])
    assert engine.ask("probe", task_ids=[task_id])["tasks"][task_id]["state"] == "unknown"
    assert not path.exists()
    other.close()
    engine.close()
    executor.shutdown(timeout=SECONDS)


def test_a_host_that_had_no_tasks_for_a_while_hears_of_its_next_ones(new_cluster):
    engine = DaskEngine(new_cluster(workers=0).address)
    engine.open()

    def given_up(task_id):
        assert engine.ask("submit", host="mine", task_ids=[task_id], calls=[b"never sent on"])
        assert list(engine.ask("withdraw", task_ids=[task_id])) == [task_id]

    for number in range(3):
        given_up(f"first-{number}")
    told = engine.ask("watch", host="mine", after=0, known=None)
    engine.ask("forget", task_ids=list(json.loads(told["changed"])))  # between two questions: nobody watches now
    given_up("next")
    told = engine.ask("watch", host="mine", after=told["number"], known=None)
    assert json.loads(told["changed"])["next"]["state"] == GONE
    engine.close()


def test_a_call_that_no_worker_begins_says_what_it_waits_for_until_it_ends(new_cluster, tools):
    with closing(DaskEngine(new_cluster(workers=0).address)) as engine, ToolExecutor(engine=engine) as executor:
        executor.register("add", tools.add)
        task_id = executor.start(ToolCall("1", "add", {"number": 1})).task_id
        waiting = executor.tasks.get(task_id)
        assert (waiting.status, waiting.waiting_for) == (TaskStatus.PENDING, "a worker of the cluster")
        executor.tasks.cancel(task_id)
        ended = executor.tasks.wait(task_id, timeout=SECONDS)
        assert (ended.status, ended.waiting_for) == (TaskStatus.CANCELLED, None)


def test_calls_that_come_together_are_shared_out_and_have_each_an_end_of_its_own(
    executor, engine, tmp_path, monkeypatch
):
    go, together, submit = tmp_path / "go", [], engine.submit
    monkeypatch.setattr(engine, "submit", together.append)
    heard = {}
    for number in range(6):
        call = ToolCall(str(number), "gated", {"path": str(go)})
        begun = threading.Event()
        heard[executor.start(call, on_output=lambda _, begun=begun: begun.set()).task_id] = begun
    monkeypatch.undo()
    for remote in together[:-1]:
        remote.call.blocking = False  # nobody waits for its answer
        engine._remotes[remote.task_id] = remote
        engine._waiting.append(remote)
    submit(together[-1])
    assert all(begun.wait(SECONDS) for begun in heard.values())
    workers = {task_id: int(executor.tasks.output(task_id)[0]) for task_id in heard}
    assert sorted(map(list(workers.values()).count, set(workers.values()))) == [3, 3]
    stopped, *_, last = heard
    killed = workers[last]
    assert executor.tasks.cancel(stopped)
    assert workers[stopped] != killed
    os.kill(killed, signal.SIGKILL)
    go.touch()
    for task_id, worker in workers.items():
        wanted = TaskStatus.INTERRUPTED if worker == killed else TaskStatus.COMPLETED
        assert executor.tasks.wait(task_id, SECONDS).status is (TaskStatus.CANCELLED if task_id == stopped else wanted)


def test_a_scheduler_keeps_nothing_of_calls_that_are_stored(own):
    executor, engine = own
    for _ in range(3):
        executor.tasks.wait(start(executor, "much", size=20 * 1024), SECONDS)
    address = engine.where.address
    executor.shutdown(timeout=SECONDS)
    engine.close()  # which says what may be forgotten

    def left(dask_scheduler):
        ours = dask_scheduler.plugins["toolexec"]
        return len(ours._entries), len(ours._shares), len(dask_scheduler.task_prefixes)

    with Client(address) as client:
        assert client.run_on_scheduler(left) == (0, 0, 1), "one name for all calls: the scheduler keeps those for ever"


def test_who_leaves_waits_for_what_the_scheduler_is_being_told(monkeypatch):
    """Else that is given up on the way, and the scheduler keeps what nobody will ever tell it to forget."""
    engine, said = DaskEngine("tcp://127.0.0.1:1"), []

    async def leave():
        asked, free = asyncio.Event(), asyncio.Event()

        async def ask_there(word, **told):
            asked.set()
            await free.wait()
            said.append((word, told))

        monkeypatch.setattr(engine, "ask_there", ask_there)
        engine._ended.append(SimpleNamespace(task_id="a", stored=True))
        saying = asyncio.create_task(engine._forget_stored())
        await asked.wait()
        leaving = asyncio.create_task(engine._forget_stored())
        await asyncio.wait({leaving}, timeout=0)
        assert not leaving.done()
        free.set()
        return await asyncio.gather(saying, leaving)

    assert asyncio.run(leave()) == [True, False]
    assert said == [("forget", {"task_ids": ["a"]})]


def scheduler_of(*workers):
    """A scheduler's extension, and what it stands on."""
    scheduler = SimpleNamespace(handlers={}, stream_handlers={}, tasks={}, running=workers)
    ours = Tasks()
    asyncio.run(ours.start(scheduler))
    return ours, scheduler


def test_a_worker_begins_only_what_the_cluster_has_given_to_it():
    ours, scheduler = scheduler_of("tcp://1", "tcp://2")
    entry = ours._entries["a"] = Entry("a", "host")
    assert ours.on_begin("tcp://1", ["a"], [])["first"] == [], "the cluster has not been given it"
    share = Share([entry])
    assert ours.on_begin("tcp://1", ["a"], [])["first"] == [], "the cluster does not know it any more"
    scheduler.tasks[share.key] = SimpleNamespace(processing_on=SimpleNamespace(address="tcp://2"))
    assert ours.on_begin("tcp://1", ["a"], [])["first"] == [], "another has it by now"
    assert ours.on_begin("tcp://2", ["a"], [])["first"] == ["a"]
    assert ours.on_begin("tcp://2", ["a"], [])["first"] == [], "once"


class Given:
    """The client of a scheduler's extension; what the cluster is given by it."""

    def __init__(self):
        self.shares = asyncio.Queue()

    def map(self, fn, keys, sent, **_):
        del fn
        self.shares.put_nowait([sorted(pickle.loads(calls)) for calls in sent])
        return [SimpleNamespace(release=lambda: None) for _ in keys]


def test_calls_that_come_while_others_are_at_work_are_given_to_the_cluster_together():
    async def submit():
        ours, _ = await asyncio.to_thread(scheduler_of, "tcp://1")
        ours._client = given = Given()
        assert await ours.on_submit("host", ["a"], ["A"])
        assert await given.shares.get() == [["A"]], "the first at once"
        for task_id in "bcd":
            await ours.on_submit("host", [task_id, "a"], [task_id.upper(), "A"])
        assert ours.on_withdraw(["c"]) == ["c"]
        assert await given.shares.get() == [["B", "D"]], "one share, without what was withdrawn"
        for task_id in "bd":
            ours._entries[task_id].state = ENDED
        await ours.on_submit("host", ["e"], ["E"])
        return given.shares.get_nowait()

    assert asyncio.run(submit()) == [["E"]], "at once, since none is at work"


def test_calls_that_the_cluster_cannot_be_given_are_said_not_to_have_started():
    async def submit():
        ours, _ = await asyncio.to_thread(scheduler_of, "tcp://1")
        ours._client = SimpleNamespace()  # closed
        await ours.on_submit("host", ["a", "b"], ["A", "B"])
        told = await ours.on_watch("host", 0, None)
        return json.loads(told["changed"]), ours._shares

    told, shares = asyncio.run(submit())
    assert {seen["state"] for seen in told.values()} == {GONE}
    assert sorted(told) == ["a", "b"]
    assert "could not be started" in told["a"]["why"]
    assert told["a"]["worker"] is None
    assert not shares


def test_calls_that_wait_for_a_connection_that_cannot_be_made_have_its_end_and_try_no_more(monkeypatch):
    engine, tries, held, free = DaskEngine("tcp://127.0.0.1:1"), [], threading.Event(), threading.Event()

    async def connect():
        tries.append(1)
        held.set()
        await asyncio.to_thread(free.wait, SECONDS)
        raise engine.unavailable("it does not answer")

    monkeypatch.setattr(engine, "_connect", connect)
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(engine.open)
        assert held.wait(SECONDS)
        opening = engine._opening = Told(engine._opening)
        others = [threads.submit(engine.open) for _ in range(2)]
        assert opening.asked.acquire(timeout=SECONDS)
        assert opening.asked.acquire(timeout=SECONDS)
        free.set()
        for each in (first, *others):
            with pytest.raises(ExecutorUnavailableError, match="does not answer"):
                each.result(SECONDS)
    assert len(tries) == 1
    engine.close()


class Told:
    """A lock that says who is about to take it."""

    def __init__(self, lock):
        self.lock = lock
        self.asked = threading.Semaphore(0)

    def __enter__(self):
        self.asked.release()
        return self.lock.__enter__()

    def __exit__(self, *error):
        return self.lock.__exit__(*error)


def test_the_child_of_a_fork_amid_connecting_can_connect():
    engine = DaskEngine("tcp://127.0.0.1:1")
    with engine._opening, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
        if child == 0:  # pragma: no cover -- in the child
            os._exit(0 if engine._opening.acquire(timeout=0) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    engine.close()


def left(executor, engine, tmp_path, name, **arguments):
    """A call that has begun, and that its host has left; and the tasks of another process."""
    said = threading.Event()
    task_id = executor.start(ToolCall("1", name, arguments), on_output=lambda _: said.set()).task_id
    assert said.wait(SECONDS)
    engine.close()
    return task_id, TaskManager.open(tmp_path / "own", host="mine")


def test_a_call_that_is_cancelled_by_another_process_and_does_not_listen_keeps_its_output(
    own, tools, tmp_path, monkeypatch
):
    executor, engine = own
    executor.register("deaf", tools.deaf)
    said = threading.Event()

    async def fetch_nothing(*what):
        said.set()

    monkeypatch.setattr(engine, "read", fetch_nothing)
    task_id = start(executor, "deaf", path=str(tmp_path / "go"))
    assert said.wait(SECONDS)
    engine.close()
    tasks = TaskManager.open(tmp_path / "own", host="mine")
    try:
        tasks.cancel(task_id, "enough")
        assert (tasks.get(task_id).status, tasks.output(task_id)[0]) == (TaskStatus.CANCELLED, "begun\n")
    finally:
        (tmp_path / "go").touch()
        tasks.close()


def test_a_cancel_that_is_cut_off_leaves_the_task_to_whoever_asks_next(own, tmp_path, monkeypatch):
    executor, engine = own
    task_id, tasks = left(executor, engine, tmp_path, "gated", path=str(tmp_path / "never"))
    probe, tries = Reattached.probe, []

    def probe_once(line, task_ids):
        tries.append(1)
        if len(tries) == 2:  # the second is after the worker has stopped it
            raise line.unavailable("it does not answer")
        return probe(line, task_ids)

    monkeypatch.setattr(Reattached, "probe", probe_once)
    with pytest.raises(ExecutorUnavailableError):
        tasks.cancel(task_id, "enough")
    assert tasks.wait(task_id, SECONDS).status is TaskStatus.CANCELLED
    tasks.close()


@pytest.mark.parametrize(("began", "wrong"), [(-2e7, -2e7), (3600.0, 3600.0), (0.0, 3600.0), (-1e18, 0.0)])
def test_a_worker_whose_clock_is_wrong_makes_no_old_task_and_none_of_tomorrow(own, tmp_path, monkeypatch, began, wrong):
    executor, engine = own
    task_id, tasks = left(executor, engine, tmp_path, "gated", path=str(tmp_path / "go"))
    record = Reattached.record

    def by_its_clock(line, of, found):
        told = record(line, of, found)
        return {**told, "started": told["started"] + began, "ended": told["ended"] + wrong}

    monkeypatch.setattr(Reattached, "record", by_its_clock)
    (tmp_path / "go").touch()
    info = tasks.wait(task_id, SECONDS)
    tasks.close()
    assert info.created <= info.started <= info.ended <= time.time()


def test_a_clock_that_is_set_while_a_call_runs_has_it_begun_no_earlier_than_it_was_given(own, monkeypatch):
    executor, _ = own
    read = _remote.read_record
    monkeypatch.setattr(_remote, "read_record", lambda text: {**read(text), "started": -1e18})
    monkeypatch.setattr(Remote, "_wait_for", lambda *_: None)
    monkeypatch.setattr(Job, "begin", lambda _: None)  # of its beginning nothing is heard: it is over before that
    info = executor.tasks.wait(start(executor, "add"), SECONDS)
    assert info.created - 1.0 <= info.started <= info.ended


@pytest.mark.parametrize("wrong", [{"size": "x"}, {"progress": 5}, {"size": None, "state": "ended"}, {"record": 5}])
def test_nonsense_that_is_said_of_one_call_is_its_end_and_no_others(own, tmp_path, monkeypatch, wrong):
    executor, engine = own
    ask, to_spoil = engine.ask_there, []

    async def spoilt(word, *args, **said):
        told = await ask(word, *args, **said)
        if word != "watch":
            return told
        changed = json.loads(told["changed"])
        changed |= {each: changed[each] | wrong for each in to_spoil if each in changed}
        return {**told, "changed": json.dumps(changed)}

    monkeypatch.setattr(engine, "ask_there", spoilt)
    task_id = start(executor, "gated", path=str(tmp_path / "go"))
    to_spoil.append(task_id)
    (tmp_path / "go").touch()
    assert executor.tasks.wait(task_id, SECONDS).status is TaskStatus.INTERRUPTED
    assert executor.tasks.wait(start(executor, "add"), SECONDS).status is TaskStatus.COMPLETED


@pytest.mark.parametrize("wrong", [{"size": "x"}, {"record": "{"}, {"record": '{"status": "running"}'}])
def test_nonsense_that_another_process_is_told_of_a_task_is_its_end(own, tmp_path, monkeypatch, wrong):
    executor, engine = own
    task_id, tasks = left(executor, engine, tmp_path, "gated", path=str(tmp_path / "go"))
    ask = Reattached.ask

    def spoilt(line, word, *args, **said):
        told = ask(line, word, *args, **said)
        if word == "probe" and told["tasks"][task_id]["state"] == ENDED:
            told["tasks"][task_id] |= wrong
        return told

    monkeypatch.setattr(Reattached, "ask", spoilt)
    (tmp_path / "go").touch()
    info = tasks.wait(task_id, SECONDS)
    assert (info.status, [each.id for each in tasks.list()]) == (TaskStatus.INTERRUPTED, [task_id])
    assert "cannot be read" in tasks.result(task_id)[1]["error"]
    tasks.close()

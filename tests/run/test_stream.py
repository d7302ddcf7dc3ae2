"""Streams: whatever the backend does and wherever the reader stops, there is one end, and nothing stays behind."""

from __future__ import annotations

import gc
import queue
import threading
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executor import CancelToken, ToolExecutor, current_call, errors
from executor.run import ProgressEvent, Runner, StreamEvent, StreamEventKind, Tool, ToolBackend
from executor.testing import Answer, StubBackend, StubIndex, StubStreams


def kinds(events):
    return [str(event.kind) for event in events]


def count(args):
    yield from range(args.get("n", 3))


def test_a_generator_streams_its_chunks_and_its_return_value(runner_of):
    def work(args):
        yield "a"
        yield {"b": 1}
        return {"whole": True}

    stream = runner_of({"work": work}).run_stream("work")
    assert stream.result is None
    events = list(stream)
    assert kinds(events) == ["chunk", "chunk", "done"]
    assert [event.data for event in events] == ["a", {"b": 1}, {"whole": True}]
    assert {event.tool_id for event in events} == {"work"}
    assert stream.result.structured == {"whole": True}
    assert list(stream) == []


def test_a_with_block_gives_the_stream_and_stops_what_is_left_of_it(runner_of):
    with runner_of({"count": count}).run_stream("count", {"n": 1000}) as stream:
        assert iter(stream) is stream
        assert next(stream).data == 0
    assert kinds(stream)[-1] == "error"


def test_without_a_return_value_the_result_is_the_list_of_chunks(runner_of):
    runner = runner_of({"count": count})
    assert list(runner.run_stream("count"))[-1] == StreamEvent(StreamEventKind.DONE, "count", [0, 1, 2])
    assert runner.run("count").structured == [0, 1, 2]
    assert kinds(runner.run_stream("count", {"n": 0})) == ["done"]


def test_async_generators_stream_too(runner_of):
    async def work(args):
        import asyncio

        for number in range(200):  # more than the buffer holds
            await asyncio.sleep(0)
            yield number

    runner = runner_of({"work": work})
    assert [event.data for event in runner.run_stream("work")][:-1] == list(range(200))
    assert runner.run("work").structured == list(range(200))


def test_progress_is_part_of_the_stream_and_never_goes_back(runner_of):
    def work(args):
        current_call().progress(2, 5, "two")
        yield ProgressEvent(1, 5, "one")
        yield "x"
        yield StreamEvent("progress", None, ProgressEvent(4, 5))
        yield StreamEvent("progress", None, "as it is")

    events = list(runner_of({"work": work}).run_stream("work"))
    assert [event.data for event in events if event.kind == "progress"] == [
        ProgressEvent(2, 5, "two"),
        ProgressEvent(2, 5, "one"),
        ProgressEvent(4, 5, None),
        "as it is",
    ]


@pytest.mark.parametrize("kind", ["mcp", "provider"])
def test_a_backend_streams_events_and_what_it_names_is_kept(remote, kind):
    events = [StreamEvent("chunk", None, "a"), StreamEvent("chunk", "other", "b"), StreamEvent("done", None, {"n": 1})]
    got = list(remote(kind, StubStreams(events)).run_stream("x"))
    assert [(str(event.kind), event.tool_id, event.data) for event in got] == [
        ("chunk", "x", "a"),
        ("chunk", "other", "b"),
        ("done", "x", {"n": 1}),
    ]


def test_the_result_of_a_stream_is_normalised_and_validated(remote):
    tool = Tool("x", output_schema={"type": "object"})
    done = StubStreams([StreamEvent("done", None, Answer.text('{"a": 1}'))], [StreamEvent("done", None, "text")])
    runner = remote("mcp", done, tool)
    assert list(runner.run_stream("x"))[-1].data == {"a": 1}
    (end,) = runner.run_stream("x")
    assert (str(end.kind), end.data) == ("done", "text")  # it was carried out all the same
    (end,) = remote("mcp", StubStreams([StreamEvent("done", None, "text")]), tool, strict_output=True).run_stream("x")
    assert isinstance(end.error, errors.InvalidResultError)
    assert end.error.result == "text"


def test_an_answer_that_says_error_ends_a_stream_in_an_error(remote):
    (end,) = remote("mcp", StubStreams([StreamEvent("done", None, Answer.text("no", is_error=True))])).run_stream("x")
    assert (str(end.kind), end.data, type(end.error)) == ("error", "no", errors.ToolFailedError)


@pytest.mark.parametrize(
    ("events", "error"),
    [
        ([StreamEvent("error", None, "broken")], errors.ExecutionError),
        ([StreamEvent("error", None, None, ConnectionResetError("gone"))], errors.BackendUnavailableError),
        ([StreamEvent("nonsense", None, 1)], errors.ExecutionError),
    ],
)
def test_what_a_backend_sends_as_an_error_is_the_end(remote, events, error):
    after = [*events, StreamEvent("chunk", None, "after the end"), StreamEvent("done")]
    got = list(remote("provider", StubStreams([StreamEvent("chunk", None, 1), *after])).run_stream("x"))
    assert kinds(got) == ["chunk", "error"]
    assert type(got[-1].error) is error
    assert got[-1].error.tool_id == "x"


# What cannot stream --------------------------------------------------------------------------------------------------


def test_what_cannot_stream_says_so_unless_it_is_to_be_adapted(runner_of, remote):
    ran = []
    local = runner_of({"x": lambda args: ran.append(1) or {"n": 1}})
    for runner in (local, remote("mcp", StubBackend({"n": 1})), remote("provider", StubStreams(None))):
        with pytest.raises(errors.StreamNotSupportedError, match="adapt=True") as caught:
            runner.run_stream("x")
        assert (caught.value.op, caught.value.tool_id) == ("stream", "x")
    assert ran == []
    for runner in (local, remote("mcp", StubBackend({"n": 1}))):
        assert [event.data for event in runner.run_stream("x", adapt=True)] == [{"n": 1}, {"n": 1}]


def test_a_stream_is_opened_through_the_whole_pipeline(runner_of):
    def gate(prepared):
        if prepared.arguments.get("n") == 0:
            raise errors.PermissionDeniedError("no")

    schema = {"input_schema": {"properties": {"n": {"type": "integer"}}}}
    runner = runner_of({"count": count}, options={"count": schema}, gate=gate)
    with pytest.raises(errors.InvalidToolIdError) as caught:
        runner.run_stream("")
    assert caught.value.op == "validate_tool_id"
    with pytest.raises(errors.ToolNotFoundError):
        runner.run_stream("nobody")
    with pytest.raises(errors.InvalidArgumentsError):
        runner.run_stream("count", {"n": "x"})
    with pytest.raises(errors.PermissionDeniedError):
        runner.run_stream("count", {"n": 0})
    with pytest.raises(errors.ExecutionError, match="No mcp backend"):
        Runner(StubIndex([Tool("x")], {"x": [ToolBackend.mcp("s")]})).run_stream("x")


def test_a_stream_that_was_cancelled_before_never_opens(remote):
    backend, token = StubStreams([]), CancelToken()
    token.cancel()
    with pytest.raises(errors.ToolCancelledError):
        remote("mcp", backend).run_stream("x", cancel=token)
    assert backend.calls == []


def test_a_stream_that_opens_too_late_is_closed(remote):
    source, go_on, closed = Hostile([], threading.Event()), threading.Event(), threading.Event()
    token = CancelToken()
    source.close = closed.set

    class Slow(StubStreams):
        def call_tool_stream(self, *where, **options):
            token.cancel("enough")
            go_on.wait(30)
            return source

    with pytest.raises(errors.ToolCancelledError):
        remote("mcp", Slow()).run_stream("x", cancel=token)
    go_on.set()
    assert closed.wait(10)


def test_the_backend_of_a_stream_knows_its_time_limit_and_its_token(remote):
    backend = StubStreams([StreamEvent("done")])
    list(remote("mcp", backend).run_stream("x", timeout=20))
    options = backend.calls[0][3]
    assert 19 < options["timeout"] <= 20
    assert options["cancel"].cancelled is False


# Early ends ----------------------------------------------------------------------------------------------------------


class Tidy:
    """A generator tool that can tell when it was tidied up."""

    def __init__(self, before=1, hold=False):
        self.closed = threading.Event()
        self.waiting = threading.Event()
        self._before, self._hold = before, hold

    def __call__(self, args):
        try:
            yield from range(self._before)
            if self._hold:
                self.waiting.set()
                current_call().wait(30)
            while True:
                yield "more"
        finally:
            self.closed.set()


@pytest.mark.parametrize("how", ["close", "with", "drop", "token", "timeout", "another thread"])
@pytest.mark.parametrize("hold", [False, True])
def test_a_stream_that_ends_early_stops_the_tool_and_frees_everything(runner_of, how, hold):
    tool, token = Tidy(hold=hold), CancelToken()
    stream = runner_of({"x": tool}).run_stream("x", cancel=token, timeout=0.6 if how == "timeout" else None)
    assert next(stream).data == 0
    if hold:
        assert tool.waiting.wait(10)
    if how == "close":
        stream.close()
        stream.close()
    elif how == "with":
        with stream:
            pass
    elif how == "token":
        token.cancel("enough")
    elif how == "another thread":
        threading.Thread(target=stream.close).start()
    if how == "drop":
        del stream
        gc.collect()
    else:
        rest = list(stream)
        assert kinds(rest).count("error") == 1
        assert rest[-1].terminal
        expected = errors.ToolTimeoutError if how == "timeout" else errors.ToolCancelledError
        assert type(rest[-1].error) is expected
    assert tool.closed.wait(10)


def test_a_stream_is_dropped_in_a_thread_that_holds_what_its_stop_needs(runner_of):
    lock, taken = threading.Lock(), queue.SimpleQueue()  # as of a ledger, in the middle of a record

    def work(args):
        current_call().on_cancel(lambda: taken.put(lock.acquire(timeout=2)))
        yield 1
        current_call().wait(30)

    stream = runner_of({"work": work}).run_stream("work")
    assert next(stream).data == 1
    with lock:
        del stream
        gc.collect()
    assert taken.get(timeout=10)


def test_a_tool_that_ignores_every_stop_does_not_hold_up_the_reader(runner_of):
    go_on, came_back = threading.Event(), threading.Event()

    def deaf(args):
        yield 1
        go_on.wait(30)
        came_back.set()
        yield 2

    stream = runner_of({"deaf": deaf}).run_stream("deaf", timeout=0.6)
    assert next(stream).data == 1
    (end,) = stream
    assert isinstance(end.error, errors.ToolTimeoutError)
    go_on.set()
    assert came_back.wait(10)
    assert list(stream) == []


def test_a_tool_waits_for_a_slow_reader(runner_of):
    made, full = [], threading.Event()

    def work(args):
        for number in range(1000):
            made.append(number)
            if number == 63:
                full.set()
            yield number

    stream = runner_of({"work": work}).run_stream("work")
    assert full.wait(10)
    ahead = len(made)
    assert ahead <= 66
    assert [next(stream).data for _ in range(10)] == list(range(10))
    assert len(list(stream)) == 991
    assert len(made) == 1000


def test_a_generator_that_cannot_be_closed_is_no_failure(runner_of, caplog):
    def stubborn(args):
        try:
            yield 1
            current_call().wait(30)
            yield 2
        finally:
            raise RuntimeError("I will not")

    stream = runner_of({"x": stubborn}).run_stream("x")
    next(stream)
    stream.close()
    assert kinds(stream) == ["error"]


def test_a_tool_called_in_a_stream_ends_with_it(runner_of):
    """What is started inside a call is stopped with it."""
    inner = Tidy(hold=True)
    runner = runner_of({"inner": inner, "outer": lambda args: None})

    def outer(args):
        stream = runner.run_stream("inner")
        yield next(stream).data
        yield from (event.data for event in stream)

    runner.way.setup.backends.local["outer"] = outer
    stream = runner.run_stream("outer")
    assert next(stream).data == 0
    assert inner.waiting.wait(10)
    stream.close()
    assert inner.closed.wait(10)


class Hostile:
    """A stream of a backend that does one bad thing after another."""

    def __init__(self, acts, gate):
        self._acts, self._gate = iter(acts), gate
        self.closed = 0

    def __iter__(self):
        return self

    def __next__(self):
        act = next(self._acts)
        if act == "raise":
            raise RuntimeError("raised")
        if act == "exit":
            raise SystemExit("exit")
        if act == "block":
            self._gate.wait(30)
            return "late"
        if act == "stop":
            raise StopIteration
        if act == "garbage":
            return StreamEvent("?", 7, object())
        return StreamEvent(act, None, act) if act != "plain" else object()

    def close(self):
        self.closed += 1


ACTS = st.lists(
    st.sampled_from(["chunk", "plain", "progress", "done", "error", "raise", "exit", "block", "stop", "garbage"]),
    max_size=6,
)


@settings(deadline=None)  # threads start when the machine lets them
@given(acts=ACTS, read=st.integers(0, 7), how=st.sampled_from(["close", "token", "thread", "read on"]))
def test_whatever_the_backend_does_there_is_exactly_one_end_and_it_is_the_last(acts, read, how):
    gate, token = threading.Event(), CancelToken()
    hostile = Hostile(acts, gate)
    index = StubIndex([Tool("x")], {"x": [ToolBackend.provider("p", "t")]})
    with Runner(index, provider=StubStreams(hostile)) as runner:
        stream = runner.run_stream("x", cancel=token)
        blocks = "block" in acts
        events = []
        for _, event in zip(range(read if not blocks else 0), stream, strict=False):
            events.append(event)
        stops = {"close": stream.close, "token": token.cancel, "thread": threading.Thread(target=stream.close).start}
        if how in stops:
            stops[how]()
        else:
            gate.set()
        events += list(stream)
        gate.set()
        assert [event.terminal for event in events] == [False] * (len(events) - 1) + [True]
        assert list(stream) == []
    assert runner.way.threads.workers.close(10)
    assert hostile.closed == 1


# Executors, JSON forms, leaks ----------------------------------------------------------------------------------------


def test_an_executor_streams_behind_its_gate():
    asked, stages = [], []

    class Keeper:
        def check_permission(self, name, args, context, call_id):
            asked.append(name)
            return name != "secret", {"reason": "rule", "method": "blacklist"}

    class Book:
        def record(self, stage, payload):
            stages.append((stage, payload.get("outcome")))

    shown = []

    def say(args):
        current_call().emit("live")
        yield 1
        assert current_call().host is executor

    with ToolExecutor(Book(), permission_plugin=Keeper()) as executor:
        executor.register("say", say, auto_background=60)
        executor.register("secret", count)
        executor.register("plain", lambda args: 1)
        stream = executor.execute_stream("say", on_output=shown.append)
        assert asked == ["say"]
        assert kinds(stream) == ["chunk", "done"]
        with pytest.raises(errors.PermissionDeniedError):
            executor.execute_stream("secret")
        with pytest.raises(errors.StreamNotSupportedError):
            executor.execute_stream("plain")
        assert executor.execute("say")[1] == [1]
        assert shown == ["live"]
    assert [stage for stage in stages if stage[0] == "call-end"][:3] == [
        ("call-end", "completed"),
        ("call-end", "failed"),
        ("call-end", "failed"),
    ]


def test_shutting_down_an_executor_ends_its_streams():
    tool = Tidy(hold=True)
    executor = ToolExecutor()
    executor.register("x", tool)
    stream = executor.execute_stream("x")
    assert tool.waiting.wait(10)
    assert executor.shutdown(cancel=True, timeout=10)
    assert kinds(stream)[-1] == "error"
    assert tool.closed.wait(10)
    with pytest.raises(errors.ExecutorUnavailableError):
        executor.execute_stream("x")


def test_events_have_a_json_form_without_their_error():
    event = StreamEvent(StreamEventKind.ERROR, None, None, ValueError("x"))
    assert event.to_dict() == {"kind": "error"}
    chunk = StreamEvent(StreamEventKind.CHUNK, "x", {"a": 1})
    assert StreamEvent.from_dict(chunk.to_dict()) == chunk
    progress = StreamEvent(StreamEventKind.PROGRESS, "x", ProgressEvent(0, 0, ""))
    assert progress.to_dict() == {"kind": "progress", "toolId": "x", "data": {"progress": 0}}
    assert ProgressEvent.from_dict({"progress": 1, "total": 2, "message": "m"}) == ProgressEvent(1, 2, "m")
    with pytest.raises(ValueError, match="nonsense"):
        StreamEvent.from_dict({"kind": "nonsense"})


def test_nothing_of_a_stream_stays_behind(runner_of):
    runner = runner_of({"count": count})
    refs = []
    for _ in range(50):
        stream = runner.run_stream("count", {"n": 100}, timeout=60)
        next(stream)
        refs.append(weakref.ref(stream._channel))
        stream.close()
    del stream
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("executor-")]
    assert runner.way.threads.workers.close(10)
    for thread in threads:  # which hold what they did last until they are gone
        thread.join(10)
    gc.collect()
    assert runner.way.threads.deadlines._heap == []
    assert [ref for ref in refs if ref() is not None] == []

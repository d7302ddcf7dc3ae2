"""The buffer between a stream's producer and its reader, and what the pieces that come mean."""

from __future__ import annotations

import asyncio
import threading

import pytest

from executor.calls._state import CallState
from executor.errors import ExecutionError, ToolCancelledError, ToolFailedError
from executor.run import ProgressEvent, StreamEvent
from executor.run._backends import RunResult
from executor.run._channel import BUFFER, Channel
from executor.run._pump import Pieces, close, pump, pump_async
from executor.run._values import StreamEventKind
from executor.values import Tool, ToolBackend

SECONDS = 20.0
CHUNK, DONE, ERROR, PROGRESS = (StreamEventKind(kind) for kind in ("chunk", "done", "error", "progress"))
RESULT = RunResult(Tool("x"), ToolBackend.local("x"), [1])


def chunk(data):
    return StreamEvent(CHUNK, "x", data)


@pytest.fixture
def call():
    return CallState("c1", "x", {}, None)


@pytest.fixture
def ends():
    return []


@pytest.fixture
def channel(call, ends):
    return Channel(call, ends.append, size=4)


def rest(channel):
    events = []
    while True:
        try:
            events.append(channel.take())
        except StopIteration:
            return events


# The buffer ----------------------------------------------------------------------------------------------------------


def test_events_come_in_their_order_and_then_one_end(channel, ends):
    for number in range(3):
        assert channel.put(chunk(number)) is True
    channel.progress(1, 2, "m")
    assert channel.finish(RESULT) is True
    assert channel.result is None, "the reader has not seen the end"
    assert rest(channel) == [
        *(chunk(number) for number in range(3)), StreamEvent(PROGRESS, "x", ProgressEvent(1, 2, "m")),
        StreamEvent(DONE, "x", [1]),
    ]  # fmt: skip
    assert rest(channel) == []
    assert channel.result is RESULT
    assert ends == [RESULT]


def test_after_the_end_nothing_is_taken_and_no_other_end(channel, ends):
    channel.finish(RESULT)
    assert channel.finish(ValueError("late")) is False
    assert channel.offer(chunk(1)) is False
    assert channel.put(chunk(1)) is False
    assert asyncio.run(channel.put_async(chunk(1))) is False
    assert [event.kind for event in rest(channel)] == [DONE]
    assert ends == [RESULT]


def test_an_error_comes_after_what_was_there_and_a_stop_in_place_of_it(call, ends):
    failed, stopped = Channel(call, ends.append), Channel(call, ends.append)
    error = ToolFailedError("broken")
    for channel in (failed, stopped):
        channel.put(chunk(1))
    failed.finish(error)
    assert rest(failed) == [chunk(1), StreamEvent(ERROR, "x", "broken", error)]
    call.source.cancel("enough")
    stopped.finish(call.source.error)
    assert rest(stopped) == [StreamEvent(ERROR, "x", "enough", call.source.error)]
    assert stopped.result is None
    unknown = Channel(call, ends.append)
    unknown.finish(KeyError("k"))
    assert rest(unknown)[0].data == "KeyError: 'k'"


def test_a_producer_waits_when_the_buffer_is_full_and_goes_on_when_half_of_it_is_read(channel):
    put, taken = [], threading.Event()

    def produce():
        for number in range(6):
            channel.put(chunk(number))
            put.append(number)
        taken.set()
        channel.finish(RESULT)

    producer = threading.Thread(target=produce)
    producer.start()
    assert [channel.take().data for _ in range(6)] == list(range(6))
    assert taken.wait(SECONDS)
    assert rest(channel) == [StreamEvent(DONE, "x", [1])]
    producer.join(SECONDS)


def test_progress_never_waits_for_room(channel):
    for number in range(50):
        channel.progress(number, None, None)
    channel.finish(RESULT)
    assert len(rest(channel)) == 51


@pytest.mark.parametrize("reads", [1, 2, 3])
def test_a_coroutine_waits_for_room_without_its_loop(channel, reads):
    async def produce():
        for number in range(3):
            assert await channel.put_async(chunk(number))
        waiting = asyncio.ensure_future(channel.put_async(chunk(3)))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waiting.done(), "the buffer is full"
        for _ in range(reads):
            channel.take()
        if reads == 1:
            for _ in range(5):
                await asyncio.sleep(0)
            assert not waiting.done(), "half of it is to be read"
            channel.finish(RESULT)
            return await waiting
        return await waiting

    assert asyncio.run(asyncio.wait_for(produce(), SECONDS)) is (reads != 1)


def test_a_thread_that_waits_for_room_is_freed_by_the_end(channel):
    for number in range(3):
        channel.put(chunk(number))
    answers = []
    producer = threading.Thread(target=lambda: answers.append(channel.put(chunk(3))))
    producer.start()
    channel.finish(ToolFailedError("over"))
    producer.join(SECONDS)
    assert answers == [False]


def test_a_usual_buffer_holds_some_events(call):
    channel = Channel(call, print)
    assert all(channel.put(chunk(number)) for number in range(BUFFER - 1))


# What the pieces mean ------------------------------------------------------------------------------------------------


def test_plain_items_are_chunks_and_the_list_of_them_the_result(call):
    taken = []
    assert pump(iter([1, "b", None]), call, lambda event: bool(taken.append(event)) or True) == [1, "b", None]
    assert taken == [chunk(1), chunk("b"), chunk(None)]
    assert pump(iter([]), call) == []


def test_a_result_that_is_returned_beats_one_that_was_sent_and_that_the_chunks(call):
    def returns():
        yield 1
        return "returned"

    def sends(value):
        yield StreamEvent(CHUNK, None, 1)
        yield StreamEvent(DONE, None, value)
        yield pytest.fail("read past the end")

    assert pump(returns(), call) == "returned"
    assert pump(sends(0), call) == 0
    assert pump(sends(None), call) == [1]
    both = Pieces(call)
    both.event(StreamEvent(DONE, None, "sent"))
    assert both.ended
    assert both.result("returned") == "returned"
    assert both.result() == "sent"


def test_events_keep_the_tool_that_they_name_and_get_the_calls_otherwise(call):
    pieces = Pieces(call)
    assert pieces.event(StreamEvent(CHUNK, "other", 1)) == StreamEvent(CHUNK, "other", 1)
    assert pieces.event(StreamEvent("chunk", None, 2)) == chunk(2)
    assert pieces.event(StreamEvent("progress", None, "text")) == StreamEvent(PROGRESS, "x", "text")
    assert pieces.result() == [1, 2]
    assert not pieces.ended


def test_progress_is_told_to_the_call_and_is_no_event_for_the_reader(call):
    told = []
    call.on_progress = lambda *said: told.append(said)
    pieces = Pieces(call)
    assert pieces.event(ProgressEvent(1, 4, "a")) is None
    assert pieces.event(StreamEvent(PROGRESS, None, ProgressEvent(2, 4, "b"))) is None
    assert told == [(1, 4, "a"), (2, 4, "b")]
    assert pieces.result() == []


@pytest.mark.parametrize(
    ("event", "kind", "says"),
    [
        (StreamEvent(ERROR, None, "data", KeyError("k")), KeyError, "'k'"),
        (StreamEvent(ERROR, None, "it broke"), ExecutionError, "it broke"),
        (StreamEvent(ERROR), ExecutionError, "The stream ended in an error"),
        (StreamEvent("odd"), ExecutionError, "The stream of x sent an event of the unknown kind 'odd'"),
    ],
)
def test_an_error_that_is_sent_is_raised(call, event, kind, says):
    with pytest.raises(kind) as error:
        pump(iter([1, event, pytest.fail]), call)
    assert str(error.value) == says


def test_when_nobody_reads_any_more_nothing_more_is_read(call):
    read = []

    def source():
        for number in range(10):
            read.append(number)
            yield number

    assert pump(source(), call, lambda event: event.data < 2) == [0, 1, 2]
    assert read == [0, 1, 2]


@pytest.mark.parametrize("when", ["before", "in", "at the end"])
def test_a_stop_ends_the_reading(call, when):
    def source():
        if when == "in":
            call.source.cancel("enough")
        yield 1
        if when == "at the end":
            call.source.cancel("enough")
            yield StreamEvent(DONE)
        else:
            pytest.fail("read after the stop")

    if when == "before":
        call.source.cancel("enough")
    with pytest.raises(ToolCancelledError, match="enough"):
        pump(source(), call)


@pytest.mark.parametrize("ends_by", ["itself", "done", "reader"])
def test_an_async_source_is_read_and_closed_in_its_loop(call, ends_by):
    closed = []

    async def source():
        try:
            yield 1
            yield 2
            if ends_by == "done":
                yield StreamEvent(DONE, None, "sent")
                pytest.fail("read past the end")
        finally:
            closed.append(True)

    async def take(event):
        return ends_by != "reader"

    async def read():
        return await pump_async(source(), call, take)

    assert asyncio.run(read()) == {"itself": [1, 2], "done": "sent", "reader": [1]}[ends_by]
    assert closed == [True]
    assert asyncio.run(pump_async(source(), call)) == ("sent" if ends_by == "done" else [1, 2])


def test_a_source_that_cannot_be_closed_is_warned_about(call, caplog):
    class Bad:
        def close(self):
            raise SystemExit(3)

    close(Bad(), call)
    close(iter([]), call)
    assert "The stream of x could not be closed: SystemExit(3)" in caplog.text

"""The output of a task, against plain bytes."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import tracemalloc
import weakref
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executor.tasks import _spool, _writer
from executor.tasks._files import FileSpool, OutputFolder
from executor.tasks._spool import MemorySpool


def on_disk(cap):
    """The spool of a task that has a file."""
    folder = OutputFolder(Path(tempfile.mkdtemp(prefix="spool-test-")))
    weakref.finalize(folder, shutil.rmtree, folder.path)
    spool = FileSpool(lambda: folder, cap)
    spool.keep(f"local_{0:032}")
    return spool


SPOOLS = [MemorySpool, on_disk]  # whatever keeps output: made with a cap in bytes, then append, size, read


@pytest.fixture(autouse=True, scope="module")
def small_pieces():
    """The tail goes round often in these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_writer, "SMALLEST_PIECE", 7)
        yield


@pytest.fixture(params=SPOOLS, ids=lambda spool: spool.__name__)
def make(request):
    return request.param


class Reference:
    """All of the stream, and which of its bytes are kept: the front half of the cap, and the newest of the rest."""

    def __init__(self, cap):
        self.cap, self.stream = cap, b""

    def append(self, text):
        self.stream += text.encode("utf-8", "replace")

    def kept(self):
        """(end of the front, start of the tail); equal when nothing is missing."""
        front = self.cap // 2
        if len(self.stream) <= front:
            return len(self.stream), len(self.stream)
        while front and inside(self.stream, front):
            front -= 1
        tail = max(front, len(self.stream) - (self.cap - self.cap // 2))
        while tail > front and inside(self.stream, tail):
            tail += 1
        return front, tail

    def read(self, offset, limit):
        """What a reader may expect, byte by byte: positions that are kept, from the start of a character on."""
        front, tail = self.kept()
        position, dropped, taken = min(offset, len(self.stream)), 0, b""
        while not front < position < tail and inside(self.stream, position):
            position -= 1
        while position < len(self.stream) and (limit is None or len(taken) < limit):
            if front <= position < tail:
                dropped, position = tail - position, tail
                continue
            character = self.stream[position : self._next(position)]
            if limit is not None and len(taken) + len(character) > limit:
                break
            taken += character
            position += len(character)
        return taken.decode(), position, dropped

    def _next(self, position):
        position += 1
        while inside(self.stream, position):
            position += 1
        return position


def inside(stream, position):
    """Whether *position* is within a character."""
    return position < len(stream) and stream[position] & 0xC0 == 0x80


TEXT = st.text(alphabet=st.sampled_from(["a", "\n", "é", "€", "😀", "\x00", "\ud800"]), max_size=30)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), TEXT),
        st.tuples(st.just("read"), st.integers(0, 400), st.one_of(st.none(), st.integers(0, 60))),
        st.tuples(st.just("follow"), st.one_of(st.none(), st.integers(4, 30))),
        st.tuples(st.just("size")),
    ),
    max_size=40,
)


@settings(max_examples=300, deadline=None)
@given(cap=st.one_of(st.integers(0, 12), st.integers(0, 200)), fold=st.sampled_from([0, 5, 1000]), steps=STEPS)
def test_it_reads_as_plain_bytes_do(cap, fold, steps):
    for kind in SPOOLS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_spool, "_FOLD", fold)
            spool, reference, followed = kind(cap), Reference(cap), 0
            for step, *arguments in steps:
                if step == "append":
                    spool.append(*arguments)
                    reference.append(*arguments)
                elif step == "size":
                    assert spool.size == len(reference.stream)
                else:
                    offset, limit = arguments if step == "read" else (followed, arguments[0])
                    result = spool.read(offset, limit)
                    assert result == reference.read(offset, limit)
                    if step == "follow":
                        followed = result[1]
            assert spool.read(spool.size) == ("", len(reference.stream), 0)


@settings(max_examples=150, deadline=None)
@given(cap=st.integers(0, 100), limit=st.integers(4, 40), chunks=st.lists(TEXT, max_size=20))
def test_reading_on_from_offset_to_offset_gives_all_that_is_kept_and_counts_the_rest(cap, limit, chunks):
    for kind in SPOOLS:
        spool, stream = kind(cap), "".join(chunks).encode("utf-8", "replace")
        for chunk in chunks:
            spool.append(chunk)
        offset, seen, missing = 0, 0, 0
        while True:
            text, following, dropped = spool.read(offset, limit)
            if (text, dropped) == ("", 0):
                break
            assert len(text.encode()) <= limit
            assert following == offset + dropped + len(text.encode())
            seen, missing, offset = seen + len(text.encode()), missing + dropped, following
        assert offset == len(stream)
        assert seen + missing == len(stream)
        assert seen <= max(cap, 0)


def test_a_reader_who_follows_sees_each_byte_once(make):
    spool = make(1000)
    seen, offset = "", 0
    for number in range(50):
        spool.append(f"line {number} é\n")
        text, offset, dropped = spool.read(offset)
        assert dropped == 0
        seen += text
    assert seen == "".join(f"line {number} é\n" for number in range(50))
    assert spool.read(offset) == ("", offset, 0)


def test_past_the_cap_the_front_and_the_newest_stay(make):
    spool = make(40)
    spool.append("".join(chr(48 + n) for n in range(70)))
    text, following, dropped = spool.read(0)
    assert text == "".join(chr(48 + n) for n in (*range(20), *range(50, 70)))
    assert (following, dropped) == (70, 30)
    assert spool.read(70) == ("", 70, 0)


def test_an_offset_beyond_the_end_is_the_end(make):
    spool = make(100)
    spool.append("abc")
    assert spool.read(50) == ("", 3, 0)


def test_a_limit_too_small_for_a_character_gives_none_of_it(make):
    spool = make(100)
    spool.append("😀")
    assert spool.read(0, 3) == ("", 0, 0)
    assert spool.read(0, 4) == ("😀", 4, 0)


def test_huge_output_keeps_to_the_cap(make):
    spool = make(1 << 16)
    for _ in range(8):
        spool.append("x" * (1 << 20))
    text, following, dropped = spool.read(0)
    assert len(text) == 1 << 16
    assert following == spool.size == 8 << 20
    assert dropped == (8 << 20) - (1 << 16)


def test_empty_chunks_take_no_memory():
    spool = MemorySpool(100)
    for _ in range(1000):
        spool.append("")
    assert spool._pending == []
    assert spool.size == 0


def test_discarded_output_takes_no_memory():
    tracemalloc.start()
    try:
        spool = MemorySpool(1 << 20)
        for _ in range(32):
            spool.append("x" * (1 << 16))
        assert spool.size == 2 << 20
        assert tracemalloc.get_traced_memory()[0] > 1 << 20
        spool.discard()
        assert tracemalloc.get_traced_memory()[0] < 1 << 18
    finally:
        tracemalloc.stop()


def test_output_of_many_threads_is_whole_chunks(make):
    spool, barrier = make(1 << 20), threading.Barrier(8)

    def write(letter):
        barrier.wait(10)
        for _ in range(200):
            spool.append(letter * 10 + "\n")
            spool.read(0, 100)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    lines = spool.read(0)[0].splitlines()
    assert sorted(lines) == sorted(letter * 10 for letter in "abcdefgh" for _ in range(200))


def test_a_result_in_a_file_has_its_name_only_once_all_of_it_is_on_the_disk(tmp_path, monkeypatch):
    folder, seen = OutputFolder(tmp_path / "output"), []

    def fsync(descriptor):
        seen.append((os.fstat(descriptor).st_size, sorted(path.suffix for path in tmp_path.rglob("*.*"))))

    monkeypatch.setattr("executor.tasks._files.os.fsync", fsync)
    folder.save_result("tool_1", "é" * 100_000)
    assert seen == [(200_000, [".born"])]
    assert folder.load_result("tool_1") == "é" * 100_000


def test_a_file_that_is_being_written_does_not_rest(tmp_path):
    writer = _writer.Writer(tmp_path / "a.log", 1000, _writer.OpenFiles())
    writer.write(b"one")
    with writer._lock:
        assert writer.rest() is False
    assert writer.rest() is True
    writer.write(b"two")
    writer.finish()
    assert (tmp_path / "a.log").read_bytes() == b"onetwo"

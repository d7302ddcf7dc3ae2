"""Keeping and decoding output: for any bytes, cut anywhere."""

import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor_shell import _capture, _pipes
from executor_shell._capture import Capture, Spool, TextDecoder

# Bytes in which characters, halves of characters and bytes that are none meet often.
pieces = st.lists(st.sampled_from([b"a", "é".encode(), "€".encode(), "😀".encode(), b"\xe2\x82", b"\x80", b"\xff"]))


def cut(data, size):
    return [data[i : i + size] for i in range(0, len(data), size)]


@given(pieces, st.integers(1, 5))
def test_text_in_pieces_is_the_text_of_the_whole(parts, size):
    data = b"".join(parts)
    decoder = TextDecoder()
    text = "".join(decoder.decode(piece) for piece in cut(data, size)) + decoder.decode(b"", final=True)
    assert text == data.decode("utf-8", "replace")
    assert decoder.undecodable == (text.encode() != data)


@given(pieces, st.integers(1, 5), st.integers(1, 12))
def test_head_and_tail_are_those_of_the_stream_and_the_count_is_exact(parts, size, limit):
    data = b"".join(parts)
    spooled = bytearray()

    class Memory:
        path = note = None
        write = staticmethod(spooled.extend)

    capture = Capture("stdout", limit, lambda _: Memory())
    for piece in cut(data, size):
        capture.add(piece)
    text = capture.entries()["stdout"]
    if len(data) <= limit:
        assert text == data.decode("utf-8", "replace")
        assert not spooled
        return
    assert spooled == data
    head, middle, tail = text.split("\n")
    missing = int(middle.removeprefix("[... ").removesuffix(" bytes left out ...]"))
    assert any(
        data[:start].decode("utf-8", "replace") == head and data[start + missing :].decode("utf-8", "replace") == tail
        for start in range(max(0, limit // 2 - 3), limit // 2 + 1)
    )
    assert len(data) - missing <= limit


def test_a_tail_begins_with_a_whole_character():
    assert _capture._whole_characters(bytearray("€uro".encode()[1:])) == b"uro"
    assert _capture._whole_characters(bytearray(b"")) == b""


def test_a_file_takes_no_more_than_its_limit_and_says_so(tmp_path):
    spool = Spool(tmp_path, "stdout", limit=10)
    spool.write(b"0123456")
    assert spool.note is None
    spool.write(b"789abc")
    spool.write(b"def")
    spool.close()
    assert spool.path.read_bytes() == b"0123456789"
    assert spool.note == "the file holds the first 10 bytes only"


def test_a_file_of_exactly_the_limit_lacks_nothing(tmp_path):
    spool = Spool(tmp_path, "stdout", limit=10)
    spool.write(b"0123456789")
    spool.close()
    assert spool.note is None


def test_of_more_than_may_be_kept_the_oldest_files_go(tmp_path, monkeypatch):
    monkeypatch.setattr(_capture, "MOST_KEPT", 25)
    kept = []
    for number in range(5):
        spool = Spool(tmp_path, "stdout")
        spool.write(b"0123456789")
        spool.close()
        os.utime(spool.path, (2e9 + number, 2e9 + number))
        kept.append(spool.path)
    (tmp_path / "another").write_bytes(b"0" * 100)
    newest = Spool(tmp_path, "stdout")
    newest.close()
    assert newest.path.exists()
    assert [path.exists() for path in kept] == [False, False, False, True, True]
    assert (tmp_path / "another").exists()


@pytest.mark.parametrize("limit", [100, 5], ids=["with room", "full"])
def test_the_file_of_a_command_that_still_runs_stays_whatever_its_age(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(_capture, "MOST_KEPT", 5)
    silent = Spool(tmp_path, "stdout", limit)
    silent.write(b"0123456789")
    os.utime(silent.path, (1.0, 1.0))
    ended = Spool(tmp_path, "stdout")
    ended.write(b"0123456789")
    ended.close()
    Spool(tmp_path, "stdout").close()
    assert [silent.path.exists(), ended.path.exists()] == [True, False]
    silent.close()
    os.utime(silent.path, (1.0, 1.0))
    Spool(tmp_path, "stdout").close()
    assert not silent.path.exists()


def test_a_link_in_the_folder_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(_capture.secrets, "token_hex", lambda _: "known")
    (tmp_path / "command-known.stdout").symlink_to(tmp_path / "elsewhere")
    spool = Spool(tmp_path, "stdout")
    assert spool.path is None
    assert "could not be kept" in spool.note
    assert not (tmp_path / "elsewhere").exists()


def test_a_pipe_behind_a_socket_gives_the_same_bytes_and_ends():
    read, write = os.pipe()
    with _pipes._through_socket(os.fdopen(read, "rb", buffering=0)) as source:
        os.write(write, b"hello")
        assert source.read(100) == b"hello"
        os.close(write)
        assert source.read(100) == b""


def test_a_bell_may_be_rung_often_and_after_it_was_closed():
    bell = _pipes.Bell()
    bell._far.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    for _ in range(10_000):
        bell.ring()
    bell.hush()
    bell.close()
    bell.ring()
    with pytest.raises(OSError, match="Bad file descriptor"):
        bell.hush()

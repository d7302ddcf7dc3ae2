"""Contents for a model: never longer than they may be, nothing left out without a word, every byte to be read on."""

from __future__ import annotations

import json
import os
import re
import stat
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from executor.calls._answer import answer
from executor.calls._content import LEAST_CONTENT, after, bounded, cut, encoded, json_of
from executor.errors import ToolExecutorError
from executor.tasks import _results
from executor.tasks._results import MemoryResults, StoredResults
from executor.values import Image, ResultKind, Text, ToolResult

IMAGE = Image(b"\x89PNG", "image/png")
LONG = st.builds(
    lambda parts, times: "".join(parts) * times,
    st.lists(st.sampled_from(["a", "é", "€", "😀", "\n", '"', "\x00", "\ud800", "\u0301"]), min_size=1, max_size=40),
    st.integers(1, 400),
)


def refused(text):
    raise AssertionError("nothing is to be saved")


@pytest.mark.parametrize("text", ["", "x" * 1024, "é" * 512, "😀" * 256])
def test_a_text_that_fits_stays_as_it_is(text):
    assert bounded(text, 1024, refused, lambda: True) is text


@given(LONG, st.integers(LEAST_CONTENT, 5000))
@example("😀" * 3000, 1025)
def test_what_is_cut_has_a_beginning_an_end_and_how_to_read_on(text, limit):
    results = MemoryResults()
    content = bounded(text, limit, results.save, lambda: True)
    data = encoded(text)
    assert len(encoded(content)) <= limit
    if len(data) <= limit:
        assert content == text
        return
    head, mark, tail = re.fullmatch(r"(.*)\n(\[… .* …\])\n(.*)", content, re.DOTALL).groups()
    left, total, name, offset = re.fullmatch(
        r'\[… (\d+) of (\d+) bytes are left out here: read on with readResult\(id="(res_\w+)", offset=(\d+)\) …\]', mark
    ).groups()
    assert (int(total), int(offset)) == (len(data), len(head.encode()))
    assert int(left) == len(data) - len(head.encode()) - len(tail.encode())
    assert data.startswith(head.encode())
    assert data.endswith(tail.encode())
    assert results.read(name, 0, None) == (data.decode(), len(data), len(data))


def test_a_tool_that_is_not_there_is_not_named():
    content = bounded("x" * 5000, 1024, lambda _: "res_1", lambda: False)
    assert "bytes are left out here: the program has kept them as res_1 …]" in content
    assert "readResult" not in content


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ToolExecutorError("ä" * 500)])
def test_what_could_not_be_saved_is_said(error):
    def save(text):
        raise error

    content = bounded("x" * 5000, 1024, save, lambda: True)
    assert "could not be saved" in content
    assert len(content.encode()) <= 1024


@given(st.binary() | st.text().map(str.encode), st.integers(-5, 50))
def test_places_to_cut_are_in_the_text_and_between_characters(data, place):
    assert 0 <= cut(data, place) <= max(0, min(place, len(data)))
    assert after(data, place) >= min(max(place, 0), len(data))
    for found in (cut(data, place), after(data, place)):
        assert found == 0 or found >= len(data) or data[found] & 0xC0 != 0x80


@pytest.fixture(params=["memory", "files"])
def results(request, tmp_path):
    return MemoryResults() if request.param == "memory" else StoredResults(lambda: tmp_path / "a" / "results")


@settings(max_examples=60, deadline=None)
@given(text=LONG, pieces=st.lists(st.integers(1, 3000), min_size=1))
@example(text="😀€é", pieces=[1])
def test_reading_on_from_the_offsets_gives_back_every_byte(tmp_path_factory, text, pieces):
    folder = tmp_path_factory.mktemp("store") / "results"
    for results in (MemoryResults(), StoredResults(lambda: folder)):
        name, read, offset, turn = results.save(text), [], 0, 0
        while True:
            piece, following, size = results.read(name, offset, pieces[turn % len(pieces)])
            turn += 1
            assert following == offset + len(piece.encode())
            assert len(piece.encode()) <= max(4, pieces[(turn - 1) % len(pieces)])
            if offset == size:
                assert piece == ""
                break
            assert piece, "a reader would stand still"
            read.append(piece)
            offset = following
        assert "".join(read).encode() == encoded(text)


def test_an_offset_within_a_character_begins_with_that_character(results):
    name = results.save("a😀b")
    for offset in range(1, 5):
        assert results.read(name, offset, None) == ("😀b", 6, 6)
    assert results.read(name, 5, None) == ("b", 6, 6)
    assert results.read(name, 99, None) == ("", 6, 6)


def test_what_is_of_one_conversation_is_unknown_to_another(results):
    own, common = results.save("mine", "ada"), results.save("ours")
    assert results.read(own, 0, None, "ada")[0] == "mine"
    assert (results.read(own, 0, None)[0], results.read(common, 0, None)[0]) == ("mine", "ours")
    problems = []
    for name in (own, "res_" + "0" * 32):
        with pytest.raises(ToolExecutorError) as refused:
            results.read(name, 0, None, "bob")
        problems.append(str(refused.value).replace(name, "NAME"))
    assert problems[0] == problems[1]
    results.prune(time.time() + 1)
    with pytest.raises(ToolExecutorError):
        results.read(own, 0, None, "ada")


@pytest.mark.parametrize("name", ["", "res_", "res_" + "0" * 32, "../../etc/passwd", "res_" + "0" * 31 + "/", "\0"])
def test_an_id_that_was_never_given_is_an_error_that_helps(results, name):
    results.save("x")
    with pytest.raises(ToolExecutorError, match="call the tool again"):
        results.read(name, 0, None)


def test_ids_cannot_be_guessed_and_files_are_for_this_user_only(tmp_path):
    before = os.umask(0)
    try:
        results = StoredResults(lambda: tmp_path / "state" / "results")
        names = {results.save("secret") for _ in range(100)}
    finally:
        os.umask(before)
    assert len(names) == 100
    assert all(re.fullmatch(r"res_[0-9a-f]{32}", name) for name in names)
    for path in [tmp_path / "state", *(tmp_path / "state").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_of_a_disk_that_fails_no_half_text_is_left(tmp_path, monkeypatch):
    results = StoredResults(lambda: tmp_path)

    def full(text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_results, "encoded", full)
    with pytest.raises(OSError, match="No space"):
        results.save("x")
    assert list(tmp_path.iterdir()) == []


def test_old_texts_go_and_the_oldest_of_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(_results, "MOST", 250)
    results = StoredResults(lambda: tmp_path)
    names = [results.save("x" * 100) for _ in range(4)]
    (tmp_path / "other").write_text("not ours")
    for age, name in enumerate(reversed(names)):
        os.utime(tmp_path / f"{name}.txt", (time.time() - age * 60,) * 2)
    os.utime(tmp_path / f"{names[0]}.txt", (0, 0))
    results.clean()
    assert {path.stem for path in tmp_path.iterdir()} == {names[2], names[3], "other"}
    results.prune(time.time() - 30)
    assert {path.stem for path in tmp_path.iterdir()} == {names[3], "other"}


def test_a_clock_that_is_ahead_makes_no_text_old_before_another_day(tmp_path, monkeypatch):
    results, now, day = StoredResults(lambda: tmp_path), time.time(), 24 * 3600

    def saved(when):
        monkeypatch.setattr(_results.time, "time", lambda: when)
        name = results.save("kept")
        os.utime(tmp_path / f"{name}.txt", (when, when))
        results.clean()
        return name

    first, *_ = [saved(when) for when in (now, now + 365 * day, now + 365 * day + 60, now + 60, now + 31 * day)]
    assert results.read(first, 0, None) == ("kept", 4, 4)
    saved(now + 33 * day)
    with pytest.raises(ToolExecutorError, match="There is no result"):
        results.read(first, 0, None)


def test_a_manager_without_a_disk_keeps_a_bounded_number_of_bytes(monkeypatch):
    monkeypatch.setattr(_results, "MOST_IN_MEMORY", 250)
    results = MemoryResults()
    names = [results.save("x" * 100) for _ in range(4)]
    for name in names[:2]:
        with pytest.raises(ToolExecutorError):
            results.read(name, 0, None)
    assert results.read(names[3], 0, 1) == ("x", 1, 100)
    results.prune(time.time() + 1)
    with pytest.raises(ToolExecutorError):
        results.read(names[3], 0, 1)


# Results of values ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "structured", "content"),
    [
        ("text", "text", "text"),
        ({"a": [1, "é"]}, {"a": [1, "é"]}, '{"a":[1,"é"]}'),
        ({"a": 1, "_permission": {"decision": "allowed"}}, {"a": 1}, '{"a":1}'),
        ({"path": Path("/x")}, {"path": "/x"}, '{"path":"/x"}'),
        ({"n": float("nan")}, {"n": None}, '{"n":NaN}'),
        (None, None, "null"),
        (b"bytes", "bytes", '"bytes"'),
        ({(1, 2): 3}, "{(1, 2): 3}", "{(1, 2): 3}"),
    ],
)
def test_a_value_is_content_and_json(value, structured, content):
    result = answer("1", (True, value), ResultKind.OK)
    assert (result.value, result.structured, result.content, result.blocks) == (value, structured, content, ())
    json.dumps(result.structured, allow_nan=False)


def test_a_value_that_is_json_is_not_copied():
    value = {"a": [1, 2, {"b": None}]}
    assert json_of(value)[0] is value


@pytest.mark.parametrize("value", [IMAGE, [IMAGE], (IMAGE,)])
def test_what_a_tool_returns_as_blocks_are_the_results_blocks(value):
    result = answer("1", (True, value), ResultKind.OK)
    assert result.blocks == (IMAGE,)
    assert (result.content, result.structured) == ("[image: image/png, 4 bytes]", None)
    assert result.value == value


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ({"image": IMAGE, "n": 1}, '{"image":"[image: image/png, 4 bytes]","n":1}'),
        ([{"of": [IMAGE]}, Text("x"), {1}], '[{"of":["[image: image/png, 4 bytes]"]},"x",[1]]'),
        ({(1, 2): 3, "a": IMAGE}, "{(1, 2): 3, 'a': Image(4 bytes, 'image/png')}"),
    ],
)
def test_what_is_an_image_within_a_value_is_a_block_after_its_text(value, content):
    result = answer("1", (True, value), ResultKind.OK)
    assert (result.content, result.blocks) == (content, (Text(content), IMAGE))
    assert IMAGE.data not in json.dumps(result.structured)


def test_an_image_in_a_value_that_is_within_itself_is_found():
    value = {"image": IMAGE}
    value["self"] = value
    assert answer("1", (True, value), ResultKind.OK).blocks[1:] == (IMAGE,)


def test_blocks_of_a_server_stand_beside_its_value():
    blocks = (Text("It is 21 °C"), IMAGE)
    result = answer("1", (True, {"celsius": 21}), ResultKind.OK, blocks=blocks)
    assert (result.blocks, result.structured) == (blocks, {"celsius": 21})
    assert result.content == "It is 21 °C\n[image: image/png, 4 bytes]"
    bare = answer("1", (True, [block.to_dict() for block in blocks]), ResultKind.OK, blocks=blocks)
    assert bare.structured is None, "base64 is for no model to read"


def test_a_failure_is_an_error_and_has_no_value():
    result = answer("1", (False, {"error": "no", "traceback": "…"}), ResultKind.TIMED_OUT, bound=str.upper)
    assert (result.error, result.content, result.structured) == ("no", "NO", None)
    assert (result.success, result.is_error, result.kind) == (False, True, "timed_out")


def test_a_result_made_by_hand_knows_its_kind():
    assert ToolResult("1", True).kind is ResultKind.OK
    assert ToolResult("1", False).kind is ResultKind.FAILED
    assert ToolResult("1", True, backgrounded=True, task_id="t").kind is ResultKind.BACKGROUNDED
    assert ToolResult("1", False, kind=ResultKind.DENIED).kind is ResultKind.DENIED
    assert ToolResult("1", False, None, "", None, False).is_error is True
    assert ToolResult("1", True, is_error=True).is_error is False

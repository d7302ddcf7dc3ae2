"""What is read out of a box, whatever stands there: its process is not this one's own."""

from __future__ import annotations

import io
import json
import struct
import sys
import time

import pytest

from executor.tools._frames import UnsayableError, packed, read

ALIKE = [number * sys.hash_info.modulus for number in range(1, 40_001)]  # a set of them takes a quarter of a minute


def said(text):
    data = text.encode()
    return io.BytesIO(struct.pack("<Q", len(data)) + data)


@pytest.mark.parametrize(
    "shape",
    [
        ["set", ALIKE],
        ["frozenset", ALIKE],
        ["pairs", ALIKE, ALIKE],
        ["set", [{"\0": ["tuple", [number]]} for number in ALIKE]],
    ],
    ids=["set", "frozenset", "keys", "tuples"],
)
def test_elements_that_are_chosen_to_have_one_hash_hold_nobody_up(shape):
    began = time.process_time()
    with pytest.raises(UnsayableError, match="have one hash"):
        read(said(json.dumps(["returned", {"\0": shape}])), boxed=True)
    assert time.process_time() - began < 5


def test_elements_that_happen_to_have_one_hash_come_out():
    value = [{-1, -2, 1, 1 + sys.hash_info.modulus}, {1: "a", (1, 2): "b"}]
    assert read(said(packed(value, boxed=True).decode()), boxed=True) == value


@pytest.mark.parametrize("piece", ["[]", "{}", '{"a":0}'])
def test_a_frame_of_nothing_but_brackets_is_not_read(piece):
    pieces = ",".join([piece] * (1 << 22))
    with pytest.raises(UnsayableError, match="brackets"):
        read(said(f'["returned",[{pieces}]]'), boxed=True)


def test_no_box_says_what_is_not_read_outside():
    with pytest.raises(UnsayableError, match="brackets"):
        packed("[" * (1 << 22) + "{", boxed=True)

"""Entries with anything in them, and messages in pieces of any size."""

from __future__ import annotations

import asyncio
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from executor.mcp import ServerConfig, masked, parse_entry, without_secrets
from executor.mcp._child import Child
from executor.mcp._stdio import Streams
from executor.mcp._tail import Tail
from executor.mcp._texts import Halves, whole

KEYS = ("command", "args", "env", "url", "httpUrl", "headers", "type", "cwd", "disabled", "envFile")
TEXT = st.sampled_from(
    ["", "x", "${A}", "${", "${B:-c}", "http://h", "http://u:p@h", "http://[", "--token", "--key=v"]
) | st.text(max_size=5)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(ANYTHING | st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=5))
def test_an_entry_is_a_server_or_has_a_problem(entry):
    server = parse_entry("s", entry, variables={"A": "secret-value"})
    assert isinstance(server, ServerConfig)
    assert server.fingerprint
    assert server.problem is not None or server.command or server.url
    if isinstance(entry, dict):
        assert "secret-value" not in json.dumps(masked(entry))
        stored, _ = without_secrets("s", entry)
        assert without_secrets("s", stored)[1] == []


LINES = st.lists(
    st.sampled_from([b"", b"noise", b"{}", b'{"jsonrpc":"2.0","method":"a"}', b'{"jsonrpc":"2.0","id":1,"result":{}}']),
    max_size=8,
)


@settings(max_examples=200, deadline=None)
@given(LINES, st.lists(st.integers(1, 30), min_size=1, max_size=5))
def test_messages_are_the_same_in_whatever_pieces_they_come(lines, sizes):
    async def read() -> int:
        child = Child(Tail(), lambda: None)
        data, number = b"".join(line + b"\n" for line in lines), 0
        while data:
            size = sizes[number % len(sizes)]
            child.pipe_data_received(1, data[:size])
            data, number = data[size:], number + 1
        child.end()
        async with Streams(child) as (reader, _):
            return len([message async for message in reader])

    assert asyncio.run(read()) == sum(b"jsonrpc" in line for line in lines)


PARTS = ["\ud83d", "\ude00", "\U0001f600", "\\", "u", "d8", "\\ud83d", "\n", '"', "é"]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=8), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_half_a_character_becomes_a_mark_wherever_the_text_is_cut(parts, sizes):
    told = json.dumps("".join(parts)).encode()
    mended = "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in json.loads(told))
    halves, read, rest, number = Halves(), b"", told, 0
    while rest:
        size = sizes[number % len(sizes)]
        read += halves.without(rest[:size])
        rest, number = rest[size:], number + 1
    assert json.loads(read + halves.rest()) == json.loads(whole(told)) == mended

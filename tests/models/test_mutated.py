"""Replies and streams that somebody has spoilt: a clear error, or a right reading."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from executor import models

CASES = json.loads((Path(__file__).parent / "cases.json").read_text("utf-8"))
TURNS = [(turn["form"], turn["response"]) for turn in CASES["turns"]]
STREAMS = [(stream["form"], stream["events"]) for stream in CASES["streams"]]
JUNK = (
    None,
    True,
    0,
    -1,
    2.5,
    "",
    "x",
    "\ud800",
    "function",
    "tool_use",
    [],
    [None],
    ["x"],
    {},
    {"x": 1},
    {"type": []},
    [[]],
)
NAMES = ("id", "type", "name", "index", "arguments", "content", "error", "role", "call_id", "tool_calls", "citations")


def places(tree, found):
    """Every (container, key) in a tree."""
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        found.append((tree, key))
        if isinstance(value, dict | list):
            places(value, found)
    return found


def spoilt(tree, random):
    tree = copy.deepcopy(tree)
    for _ in range(random.randrange(1, 4)):
        found = places(tree, [])
        if not found:
            break
        container, key = random.choice(found)
        way = random.randrange(4)
        if way == 0:
            container[key] = copy.deepcopy(random.choice(JUNK))
        elif way == 1:
            del container[key]
        elif way == 2 and isinstance(container, dict):
            put = container[key] if random.random() < 0.5 else random.choice(JUNK)
            container[random.choice(NAMES)] = copy.deepcopy(put)  # a later round spoils what was put there
        elif isinstance(container, list):
            container.insert(random.randrange(len(container) + 1), copy.deepcopy(container[key]))
    return tree


def check(request):
    """It is a right reading: each call has an id of its own and is answered once."""
    assert isinstance(request.text, str)
    ids = [call.id for call in request.calls]
    assert len(set(ids)) == len(ids)
    for call in request.calls:
        assert isinstance(call.id, str)
        assert isinstance(call.name, str)
        assert isinstance(call.arguments, str | dict)
    results = [
        SimpleNamespace(call_id=each, content=f"<{each}>", is_error=False, blocks=(), structured=None) for each in ids
    ]
    answers = request.answer(results[::-1])
    text = str(answers)
    found = [text.index(f"<{each.encode('utf-8', 'replace').decode()}>") for each in ids]
    assert found == sorted(found)


def run(seeds):
    read = refused = 0
    for seed in seeds:
        random = Random(seed)
        form, response = random.choice(TURNS)
        stream_form, events = random.choice(STREAMS)
        try:
            check(models.read(spoilt(response, random), random.choice((form, None))))
            stream = models.Stream(stream_form)
            for event in spoilt(events, random):
                stream.feed(event)
            check(stream.end())
            read += 1
        except ValueError as error:
            refused += len(str(error)) > 10
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    return read, refused


def test_a_spoilt_reply_is_an_error_or_read_right():
    read, refused = run(range(2_000))
    assert read > 300
    assert refused > 300


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_many_spoilt_replies_are_errors_or_read_right():
    assert sum(run(range(10_000, 110_000))) == 100_000

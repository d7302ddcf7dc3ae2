"""Each case of ``cases.json``: replies and what is answered to them, streams, problems of schemas, names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from executor import models
from executor.models._names import wire_name

CASES = json.loads((Path(__file__).parent / "cases.json").read_text("utf-8"))


def named(cases):
    return [pytest.param(case, id=f"{case.get('form', '')} {case['name'][:40]}".strip()) for case in cases]


def with_ids(value, ids):
    """*value* with the ids that were made in place of ``$MADE0`` …"""
    if isinstance(value, dict):
        return {key: with_ids(inner, ids) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_ids(inner, ids) for inner in value]
    return ids.get(value, value) if isinstance(value, str) else value


def made_ids(calls, wanted):
    return {want["id"]: call.id for call, want in zip(calls, wanted, strict=True) if want["id"].startswith("$MADE")}


def shown(calls):
    return [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]


@pytest.mark.parametrize("told", [True, False], ids=["form given", "form found out"])
@pytest.mark.parametrize("case", named(CASES["turns"]))
def test_a_reply_is_read_and_answered(case, told):
    request = models.read(case["response"], case["form"] if told else None)
    ids = made_ids(request.calls, case["calls"])
    assert request.form == case["form"]
    assert shown(request.calls) == with_ids(case["calls"], ids)
    assert request.remaining == request.calls
    results = [SimpleNamespace(**with_ids(result, ids)) for result in case["results"]]
    assert request.answer(results) == with_ids(case["messages"], ids)
    assert len(set(ids.values())) == len(ids)


@pytest.mark.parametrize("told", [True, False], ids=["form given", "form found out"])
@pytest.mark.parametrize("case", named(CASES["streams"]))
def test_a_stream_is_put_together(case, told):
    stream = models.Stream(case["form"] if told else None)
    ready = [stream.feed(event) for event in case["events"]]
    assert [[{"name": c.name, "arguments": c.arguments} for c in calls] for calls in ready] == case["ready"]
    request = stream.end()
    ids = made_ids(request.calls, case["calls"])
    assert shown(request.calls) == with_ids(case["calls"], ids)
    given = [call for calls in ready for call in calls]
    assert [call for call in request.calls if call not in given] == request.remaining
    assert stream.end() is request


@pytest.mark.parametrize("case", named(CASES["problems"]))
def test_the_problems_of_a_schema(case):
    for form, wanted in case["problems"].items():
        name, _, strict = form.partition("+")
        assert models.problems(case["schema"], name, strict=bool(strict)) == wanted, form


@pytest.mark.parametrize("case", named(CASES["names"]))
def test_a_name_is_made_to_fit_and_kept_where_it_fits(case):
    for form, pattern in CASES["patterns"].items():
        wire = wire_name(case["name"], form)
        assert re.fullmatch(pattern, wire), form
        if form in case["taken"] and (len(wire) < 64 or form in ("mcp", "ollama")):
            assert wire == case["name"], form

"""Descriptions with anything anywhere: each operation is a tool, or is said to be none; nothing else happens."""

from __future__ import annotations

import copy
import importlib.util
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from executor_openapi import Api
from executor_openapi._document import Document, DocumentError
from executor_openapi._operations import Operation, operations

_spec = importlib.util.spec_from_file_location("openapi_service", Path(__file__).with_name("service.py"))
_service = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_service)
WHOLE = _service.description("http://h.example")


def _places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*path, key))


PLACES = [path for path in _places(WHOLE) if path]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "x", "#/paths", "#/components/schemas/Pet"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["$ref", "schema", "properties", "type", "in", "name", "content"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), ANYTHING), min_size=1, max_size=3))
def test_anything_anywhere_in_a_description(changes):
    told = copy.deepcopy(WHOLE)
    for path, value in changes:
        place = told
        try:
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    try:
        document = Document(told, "it")
        document.first_server()
        found = list(operations(document, Api("it")))
    except DocumentError:
        return
    for operation in found:
        if isinstance(operation, Operation):
            assert operation.input_schema["type"] == "object"
        else:
            assert all(isinstance(part, str) for part in operation)

"""The official JSON Schema test-suite, and the places where the two validators differ: both are held to it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import jsonschema
import pytest

from executor import errors
from executor.run import Runner, Tool
from executor.testing import StubIndex
from executor.tools._schema import check_schema, compiled, explain

DIALECTS = {
    "draft-07": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}
SUITE = json.loads(gzip.decompress((Path(__file__).parent / "data" / "json_schema_suite.json.gz").read_bytes()))


def in_dialect(schema, dialect):
    return {"$schema": DIALECTS[dialect], **schema} if isinstance(schema, dict) else schema


def explaining(schema):
    """The validator that words explanations."""
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    return kind(schema)


def is_elsewhere(schema):
    return "http://localhost:1234" in json.dumps(schema)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_both_validators_give_the_verdict_of_the_suite(dialect):
    seen, wrong = 0, []
    for group in SUITE[dialect]:
        schema = in_dialect(group["schema"], dialect)
        if group["keyword"] in ("refRemote", "vocabulary", "dynamicRef") and is_elsewhere(schema):
            continue
        try:
            validator = compiled(schema, "suite")
        except errors.SchemaError:
            wrong.append((group["description"], "refused"))
            continue
        words = explaining(schema)
        for description, value, valid in group["tests"]:
            seen += 1
            if validator.is_valid(value) is not valid or words.is_valid(value) is not valid:
                wrong.append((group["keyword"], group["description"], description))
            if not valid and not explain(schema, validator, value):
                wrong.append((group["keyword"], group["description"], description, "no explanation"))
    assert wrong == []
    assert seen > 850


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_lies_in_another_document_is_never_fetched(dialect):
    elsewhere = [in_dialect(group["schema"], dialect) for group in SUITE[dialect]]
    refused = 0
    for schema in filter(is_elsewhere, elsewhere):
        try:
            compiled(schema, "suite")
        except errors.SchemaError:
            refused += 1
    assert refused >= 11


# Where the two differ the verdict is jsonschema-rs's, which is the dialect's ------------------------------------------

V2020 = DIALECTS["2020-12"]
DIFFERENCES = [
    # schema, value, whether it fits, whether the explaining validator thinks so (None: it cannot tell)
    ({"pattern": r"^\d$"}, "\u0663", False, True),  # digits are 0 to 9
    ({"pattern": r"^\w$"}, "\u00e9", False, True),  # word characters are ASCII
    ({"pattern": r"^\s$"}, "\ufeff", True, False),  # ECMA 262 counts it as white space
    ({"pattern": "^a$"}, "a\n", False, True),  # $ is the very end
    ({"pattern": r"^\p{L}$"}, "\u00e9", True, None),
    ({"multipleOf": 0.1}, 0.3, True, False),  # decimal, not binary, arithmetic
    ({"multipleOf": 0.01}, 19.99, True, False),
    ({"dependencies": {"a": ["b"]}}, {"a": 1}, False, True),  # kept for the sake of older schemas
    ({"$schema": DIALECTS["draft-07"], "contentEncoding": "base64"}, "%", False, True),
    ({"$schema": DIALECTS["draft-07"], "contentMediaType": "application/json"}, "{", False, True),
]


@pytest.mark.parametrize(("schema", "value", "fits", "other"), DIFFERENCES)
def test_where_the_validators_differ_the_stricter_reading_of_the_dialect_decides(schema, value, fits, other):
    schema = {"$schema": V2020, **schema}
    validator = compiled(schema, "x")
    assert validator.is_valid(value) is fits
    if other is None:
        with pytest.raises(Exception, match="bad escape"):
            explaining(schema).is_valid(value)
    else:
        assert explaining(schema).is_valid(value) is other
    if not fits:
        assert explain(schema, validator, value)


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        ({"type": "integer"}, 1.0, True),
        ({"type": "integer"}, "1", False),
        ({"const": 1}, True, False),
        ({"enum": [0]}, False, False),
        ({"uniqueItems": True}, [1, 1.0], False),
        ({"maximum": 2**53}, 2**53 + 1, False),
        ({"maximum": 10**30}, 10**30 + 1, False),
        ({"maxLength": 1}, "\U0001f600", True),
        ({"format": "email"}, "not-an-email", True),
    ],
)
def test_numbers_texts_and_formats_mean_the_same_to_both(schema, value, fits):
    assert compiled(schema, "x").is_valid(value) is fits
    assert explaining(schema).is_valid(value) is fits


@pytest.mark.parametrize("draft", ["draft-04", "draft-06", "draft-07"])
def test_older_dialects_are_their_own_and_not_the_newest(draft):
    schema = {"$schema": f"http://json-schema.org/{draft}/schema#", "items": [{"type": "integer"}]}
    assert not compiled(schema, "x").is_valid(["a"])
    assert compiled(schema, "x").is_valid([1, "a"])


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"$schema": "https://example.com/dialect"}, "example.com"),
        ({"properties": {"a": {"$ref": "https://example.com/s.json"}}}, "another document"),
        ({"type": "nonsense"}, "nonsense"),
        ({"properties": {"a": {"$ref": "#/$defs/missing"}}}, "missing"),
    ],
)
@pytest.mark.parametrize("which", ["input_schema", "output_schema"])
def test_a_schema_that_is_none_is_the_tools_fault_at_its_first_use(schema, text, which):
    runner = Runner(StubIndex([Tool("x", **{which: schema})]), local={"x": lambda args: 1})
    with pytest.raises(errors.SchemaError, match=text) as caught:
        runner.run("x")
    assert caught.value.tool_id == "x"


def test_all_failures_are_reported_up_to_twenty():
    schema = {"properties": {f"p{n}": {"type": "integer"} for n in range(30)}, "required": ["missing"]}
    runner = Runner(StubIndex([Tool("x", schema)]), local={"x": lambda args: 1})
    with pytest.raises(errors.InvalidArgumentsError) as caught:
        runner.run("x", {f"p{n}": "text" for n in range(5)})
    found = caught.value.errors
    assert {(error["path"], error["keyword"]) for error in found} == {
        ("", "required"),
        *((f"/p{n}", "type") for n in range(5)),
    }
    with pytest.raises(errors.InvalidArgumentsError) as caught:
        runner.run("x", {f"p{n}": "text" for n in range(30)})
    assert len(caught.value.errors) == 20


DEFINITIONS = {"A": {"properties": {"b": {"type": "integer"}}}, "B": {"$ref": "#/$defs/A"}, "C": {"type": "string"}}


@pytest.mark.parametrize(
    "reference", ["#/$defs/B", "#/$defs/A/properties/b", "#/$defs/B/properties/none", "#/$defs/D", "#/$defs/A/nothing"]
)
def test_checking_definitions_one_by_one_says_what_compiling_the_whole_says(reference):
    schema = {"properties": {"x": {"$ref": reference}}, "$defs": DEFINITIONS}
    try:
        compiled(schema, "x")
    except errors.SchemaError:
        with pytest.raises(errors.SchemaError):
            check_schema(schema, "x")
    else:
        check_schema(schema, "x")


def test_definitions_are_of_the_dialect_of_the_whole():
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "$defs": {**DEFINITIONS, "N": {"type": 3}}}
    with pytest.raises(errors.SchemaError):
        check_schema({**schema, "properties": {"x": {"$ref": "#/$defs/N"}}}, "x")
    check_schema({**schema, "$defs": {**DEFINITIONS, "N": {"exclusiveMinimum": True, "minimum": 1}}}, "x")


def test_a_schema_is_compiled_once_and_never_changed():
    schema = {"$schema": DIALECTS["draft-07"], "type": "object"}
    before = json.dumps(schema)
    assert compiled(schema, "x") is compiled(schema, "x")
    assert json.dumps(schema) == before

"""What an API refuses in a schema or does not read, and schemas that are mended: they allow more, never less."""

from __future__ import annotations

import json
from random import Random

import jsonschema_rs
import pytest

from executor import ToolCall, ToolDefinition, ToolExecutor, models
from executor.models._dialects import DIALECTS
from executor.models._mend import mend
from executor.models._problems import find
from tests.models import schemas

LOOSE = [form for form in models.FORMS if form != "mcp"]


def mended(schema, form):
    """The schema that *form* is told of, and what its description says beside it."""
    (tool,), _ = models.tools([ToolDefinition("t", "Does it.", schema)], form)
    tool = tool.get("function", tool)
    (found,) = (
        tool[key] for key in ("parameters", "input_schema", "parametersJsonSchema", "inputSchema") if key in tool
    )
    return found, tool["description"]


# Problems -------------------------------------------------------------------------------------------------------------


OBJECT = {"type": "object"}
ANY = {"properties": {"a": {"anyOf": [{"type": "array"}]}}}


@pytest.mark.parametrize(
    ("schema", "refused", "ignored"),
    [
        (OBJECT, {}, {}),
        (OBJECT | {"properties": {}, "additionalProperties": False}, {},
         {"ollama": ": additionalProperties is not understood"}),
        ({}, dict.fromkeys(models.FORMS, ": type must be object"), {}),
        (OBJECT | {"anyOf": [{}]},
         dict.fromkeys(("openai-chat", "openai", "anthropic", "langchain"), ": anyOf at the top level"), {}),
        (OBJECT | {"enum": [{}]}, dict.fromkeys(("openai-chat", "openai", "langchain"), ": enum at the top level"), {}),
        (OBJECT | {"not": {}}, dict.fromkeys(("openai-chat", "openai", "langchain"), ": not at the top level"),
         dict.fromkeys(("gemini", "ollama"), ": not is not understood")),
        (OBJECT | ANY,
         dict.fromkeys(("openai-chat", "openai", "langchain"), "/properties/a/anyOf/0: array without items"), {}),
        (OBJECT | {"properties": {"o": {"properties": {"x/y": {"type": ["array", "null"]}}}}},
         dict.fromkeys(("openai-chat", "openai"), "/properties/o/properties/x~1y: array without items"), {}),
        (OBJECT | {"properties": {"a b": {}}},
         dict.fromkeys(("anthropic", "langchain"), "/properties/a b: property name"), {}),
        (OBJECT | {"properties": {"a": {"properties": {"a b": {}}}}}, {}, {}),
        (OBJECT | {"properties": {"a": True}},
         dict.fromkeys(("openai-chat", "openai", "gemini", "ollama", "langchain"),
                       "/properties/a: a schema that is true or false"), {}),
        (OBJECT | {"properties": {"a": {"required": True}}},
         dict.fromkeys(LOOSE, "/properties/a: required is not what JSON Schema has there"), {}),
        (OBJECT | {"properties": {"a": {"$ref": "other.json"}}},
         dict.fromkeys(("openai-chat", "openai", "anthropic", "langchain"),
                       "/properties/a: $ref to what is not in the schema"),
         dict.fromkeys(("gemini", "ollama"), "/properties/a: $ref is not understood")),
        (OBJECT | {"properties": {"a": {"minLength": 1}}}, {},
         dict.fromkeys(("gemini", "ollama"), "/properties/a: minLength is not understood")),
        (OBJECT | {"properties": {"a": {"minimum": 1}}}, {}, {"ollama": "/properties/a: minimum is not understood"}),
    ],
)  # fmt: skip
def test_what_is_refused_and_what_is_ignored(schema, refused, ignored):
    for form in models.FORMS:
        found = models.problems(schema, form)
        first = {True: refused, False: ignored}
        for kind, wanted in first.items():
            told = [problem for problem in found if problem.refused is kind]
            if form in wanted:
                assert wanted[form] in told, (form, found)
            elif form not in ("langchain",):
                assert told == [], form


@pytest.mark.parametrize("form", models.FORMS)
def test_what_is_no_schema_is_a_problem_everywhere(form):
    assert models.problems(None, form) == [": it is not an object"]
    if form != "mcp":
        assert models.problems(OBJECT | {"properties": {"a": {"items": 3}}}, form)
    deep = {}
    for _ in range(500):
        deep = {"items": deep}
    assert "nested deeper than" in models.problems(OBJECT | {"properties": {"a": deep}}, form)[0]


def test_strict_takes_less():
    schema = {"type": "object", "properties": {"a": {"oneOf": [{}], "default": 1, "multipleOf": 2}}, "required": ["a"]}
    assert models.problems(schema, "openai", strict=True) == [
        ": additionalProperties must be false", "/properties/a: oneOf", "/properties/a: default",
    ]  # fmt: skip
    assert models.problems(schema, "anthropic", strict=True) == [
        ": additionalProperties must be false", "/properties/a: oneOf", "/properties/a: multipleOf",
    ]  # fmt: skip
    assert models.problems(schema | {"additionalProperties": False}, "mcp", strict=True) == []
    assert models.problems({"type": "object", "anyOf": [{}]}, "openai", strict=True)[0] == ": anyOf at the top level"


def test_a_form_that_nobody_speaks_is_refused():
    with pytest.raises(ValueError, match="unknown form 'soap': use one of openai-chat"):
        models.problems({}, "soap")


# Mending --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", models.FORMS)
@pytest.mark.parametrize("schema", [None, {}, True, {"type": ["object", "null"]}])
def test_arguments_are_always_an_object(schema, form):
    assert mended(schema, form) == ({"type": "object", "properties": {}}, "Does it.")


@pytest.mark.parametrize("form", ["openai", "openai-chat", "anthropic", "langchain"])
def test_what_stands_at_the_top_goes_into_the_description(form):
    schema = {
        "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "if": {"required": ["a"]}, "then": {"maxProperties": 1},
    }  # fmt: skip
    found, told = mended(schema, form)
    assert found == {"type": "object", "properties": schema["properties"]}
    assert told.startswith("Does it.\n(")
    assert 'anyOf: [{"required": ["a"]}, {"required": ["b"]}]' in told
    assert "if: " in told
    assert "then: " in told


@pytest.mark.parametrize(
    ("form", "given", "wanted"),
    [
        ("openai", {"type": "array"}, {"type": "array", "items": {}}),
        ("anthropic", {"type": "array"}, {"type": "array"}),
        ("gemini", {"type": "string", "pattern": "^a", "description": "A name."},
         {"type": "string", "description": 'A name. (pattern: "^a")'}),
        ("gemini", {"const": "x", "title": "X"}, {"enum": ["x"], "title": "X"}),
        ("gemini", {"enum": [True, None]}, {"description": "(enum: [true, null])"}),
        ("gemini", {"type": "object", "patternProperties": {"a": {}}, "additionalProperties": False},
         {"type": "object", "description": '(patternProperties: {"a": {}}; additionalProperties: false)'}),
        ("ollama", {"type": "integer", "minimum": 1}, {"type": "integer", "description": "(minimum: 1)"}),
        ("openai", {"additionalProperties": False, "items": True}, {"additionalProperties": False, "items": {}}),
        ("gemini", {"additionalProperties": False}, {"additionalProperties": False}),
        ("openai", True, {}),
        ("openai", False, {"not": {}}),
        ("gemini", False, {}),
        ("openai", {"oneOf": [{"type": "array"}, {}]}, {"anyOf": [{"type": "array", "items": {}}, {}]}),
        ("openai", {"not": {"type": "array"}}, {"description": '(not: {"type": "array"})'}),
        ("anthropic", {"minLength": "x"}, {"description": '(minLength: "x")'}),
        ("anthropic", {"$ref": "other.json", "type": "string"}, {"type": "string"}),
    ],
)  # fmt: skip
def test_what_an_api_does_not_take_is_put_in_words(form, given, wanted):
    assert mended({"type": "object", "properties": {"p": given}}, form)[0]["properties"]["p"] == wanted


REFERRING = {
    "type": "object",
    "properties": {
        "a": {"$ref": "#/$defs/word", "description": "One."},
        "n": {"$ref": "#/$defs/node"},
        "again": {"$ref": "#/properties/a"},
    },
    "$defs": {
        "word": {"type": "string", "maxLength": 3},
        "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}},
    },
}


def test_references_are_kept_where_they_are_followed():
    found, _ = mended(REFERRING | {"$schema": "https://json-schema.org/draft/2020-12/schema"}, "anthropic")
    assert found["properties"]["a"] == REFERRING["properties"]["a"]
    assert found["properties"]["again"] == REFERRING["properties"]["a"]
    assert found["$defs"] == REFERRING["$defs"]


@pytest.mark.parametrize("form", ["gemini", "ollama"])
def test_what_is_referred_to_is_put_in_place_where_they_are_not(form):
    found, _ = mended(REFERRING, form)
    assert "$ref" not in json.dumps(found)
    assert found["properties"]["a"] == {"type": "string", "description": "One. (maxLength: 3)"}
    assert found["properties"]["n"]["properties"]["next"] == {"type": "object"}


def test_a_schema_that_is_a_reference_is_what_it_refers_to():
    schema = {"$ref": "#/$defs/top", "$defs": {"top": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    for form in models.FORMS:
        assert mended(schema, form)[0]["properties"] == {"a": {"type": "string"}}


def test_what_grows_without_end_is_cut_short():
    two = [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}, {"$ref": "#/$defs/c"}, {"$ref": "#/$defs/d"}]
    schema = {"type": "object", "properties": {"x": two[0]}, "$defs": {name: {"anyOf": two * 3} for name in "abcd"}}
    assert len(json.dumps(mended(schema, "gemini")[0])) < 1_000_000


@pytest.mark.parametrize(
    ("draft", "given", "wanted"),
    [
        ("draft-07", {"items": [{"type": "null"}], "additionalItems": False},
         {"prefixItems": [{"type": "null"}], "items": False}),
        ("draft-07", {"$ref": "#/definitions/d", "minimum": 3}, {"$ref": "#/definitions/d"}),
        ("draft-07", {"prefixItems": [False]}, {}),
        ("draft-07", {"dependencies": {"a": ["b"], "b": {"type": "null"}}},
         {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"b": {"type": "null"}}}),
        ("draft-04", {"minimum": 3, "exclusiveMinimum": True}, {"exclusiveMinimum": 3}),
        ("draft-04", {"maximum": 3, "exclusiveMaximum": False}, {"maximum": 3}),
        ("draft-04", {"const": 3, "if": {}, "then": False}, {}),
        ("draft-06", {"const": 3, "then": False}, {"const": 3}),
        ("draft-04", {"id": "http://x", "$ref": "#/definitions/d"}, {"$ref": "#/definitions/d"}),
    ],
)  # fmt: skip
def test_older_drafts_are_told_in_the_words_of_today(draft, given, wanted):
    schema = {
        "$schema": f"http://json-schema.org/{draft}/schema#",
        "type": "object", "properties": {"p": given}, "definitions": {"d": {"type": "integer"}},
    }  # fmt: skip
    assert mended(schema, "anthropic")[0]["properties"]["p"] == wanted


def test_nothing_of_the_callers_is_changed_and_nothing_kept_is_given_out():
    schema = {"type": "object", "properties": {"a": {"type": "array"}}, "anyOf": [{}]}
    before = json.dumps(schema)
    first, _ = mended(schema, "openai")
    first["properties"]["a"]["items"]["spoilt"] = True
    assert mended(schema, "openai")[0]["properties"]["a"] == {"type": "array", "items": {}}
    assert json.dumps(schema) == before
    schema["properties"]["b"] = {"type": "string"}
    assert "b" in mended(schema, "openai")[0]["properties"]


# Names of arguments ---------------------------------------------------------------------------------------------------


def test_arguments_by_names_that_an_api_refuses_go_by_others_and_come_back():
    schema = {
        "type": "object",
        "properties": {"$filter": {"type": "string"}, "filter": {"type": "string"}, "ü": {"description": "One."}},
        "required": ["$filter", "ü"], "dependentRequired": {"ü": ["$filter"]}, "additionalProperties": False,
        "propertyNames": {"maxLength": 7},
    }  # fmt: skip
    seen = []
    executor = ToolExecutor()
    executor.register("search", seen.append, schema=schema)
    (tool,), names = models.tools(executor.list_tools(), "anthropic")
    told = tool["input_schema"]
    wires = {name: wire for wire, name in zip(told["properties"], schema["properties"], strict=True)}
    assert set(told["required"]) == {wires["$filter"], wires["ü"]}
    assert told["dependentRequired"] == {wires["ü"]: [wires["$filter"]]}
    assert wires["filter"] == "filter"
    assert "its own name is $filter" in told["properties"][wires["$filter"]]["description"]
    given = {wires["$filter"]: "a", "filter": "b", wires["ü"]: 1}
    for arguments in (given, json.dumps(given)):
        reply = {"content": [{"type": "tool_use", "id": "1", "name": "search", "input": arguments}]}
        request = models.read(reply, "anthropic", names)
        assert request.calls == [ToolCall("1", "search", {"$filter": "a", "filter": "b", "ü": 1})]
    assert executor.call(request.calls[0]).success
    assert seen == [{"$filter": "a", "filter": "b", "ü": 1}]


def test_text_that_is_no_json_stays_text_whatever_its_names():
    _, names = models.tools([ToolDefinition("t", "", {"type": "object", "properties": {"$a": {}}})], "anthropic")
    reply = {"content": [{"type": "tool_use", "id": "1", "name": "t", "input": '{"a": '}]}
    assert models.read(reply, "anthropic", names).calls == [ToolCall("1", "t", '{"a": ')]


def test_an_argument_that_has_its_own_name_already_is_not_lost():
    _, names = models.tools([ToolDefinition("t", "", {"type": "object", "properties": {"$a": {}}})], "anthropic")
    assert names.arguments("t", {"a": 1}) == {"$a": 1}
    assert names.arguments("t", {"a": 1, "$a": 2}) == {"a": 1, "$a": 2}


# All tools ------------------------------------------------------------------------------------------------------------


def test_a_tool_that_cannot_be_told_of_is_left_out_with_a_warning(caplog):
    bad = {
        "text": "not a schema",
        "array": {"type": "array"},
        "endless": {"properties": {"a": {"default": float("nan")}}},
        "surrogate": {"properties": {"a\ud800": {}}},
        "keys": {"properties": {3: {}}},
    }
    definitions = [ToolDefinition(name, "", schema) for name, schema in bad.items()]
    for form in models.FORMS:
        caplog.clear()
        told, names = models.tools([*definitions, ToolDefinition("good", "Fine.")], form)
        assert len(told) == 1
        assert names == {"good": "good"}
        assert names.left_out.keys() == bad.keys()
        for name in bad:
            assert f"the tool {name!r} is left out of the tools for {form}: " in caplog.text


def test_two_tools_that_would_have_one_name_are_refused():
    definitions = [ToolDefinition("a.b"), ToolDefinition("a_b")]
    for form in ("openai", "openai-chat", "anthropic", "langchain"):
        with pytest.raises(ValueError, match=r"'a\.b' and 'a_b' would both be 'a_b' in the .* form: rename one"):
            models.tools(definitions, form)
    assert models.tools(definitions, "gemini")[1] == {"a.b": "a.b", "a_b": "a_b"}
    assert len(models.tools([definitions[0]] * 2, "openai")[0]) == 1


def test_long_names_are_cut_and_stay_apart():
    for form in ("openai", "openai-chat", "anthropic", "gemini", "langchain"):
        told, names = models.tools([ToolDefinition("x" * 70 + end) for end in "ab"], form)
        assert [len(name) for name in names] == [64, 64]
        assert list(names.values()) == ["x" * 70 + "a", "x" * 70 + "b"]


def test_the_tool_in_the_words_of_each_api():
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    definition = ToolDefinition("x:n", "d", schema, {"type": "string"}, "t")
    function = {"name": "x__n", "description": "d"}
    told = {form: models.tools([definition], form)[0][0] for form in models.FORMS}
    assert told == {
        "mcp": {**function, "inputSchema": schema, "title": "t", "outputSchema": {"type": "string"}},
        "openai": {"type": "function", **function, "parameters": schema, "strict": False},
        "openai-chat": {"type": "function", "function": {**function, "parameters": schema}},
        "langchain": {"type": "function", "function": {**function, "parameters": schema}},
        "ollama": {"type": "function", "function": {**function, "name": "x:n", "parameters": schema}},
        "anthropic": {**function, "input_schema": schema},
        "gemini": {**function, "name": "x:n", "parametersJsonSchema": schema},
    }


IN_PLACE = ("$ref", "not", "if", "then", "else", "allOf", "anyOf", "oneOf")


def refers_without_end(schema):
    """Whether a part leads back to itself at the same place of what is looked at: nobody can say what that allows."""

    def followed(part, above):
        if isinstance(part, list):
            return any(followed(each, above) for each in part)
        if not isinstance(part, dict):
            return False
        if id(part) in above:
            return True
        above = {*above, id(part)}
        below = [target(part[key]) if key == "$ref" else part[key] for key in IN_PLACE if key in part]
        return followed([*below, *part.get("dependentSchemas", {}).values()], above)

    def target(reference):
        found = schema
        for step in reference.removeprefix("#").split("/")[1:]:
            found = found.get(step, True) if isinstance(found, dict) else True
        return found

    def parts(tree):
        yield tree
        for each in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
            yield from parts(each)

    return any(followed(part, frozenset()) for part in parts(schema) if isinstance(part, dict))


def holds_no_more_than(seed):
    """For one schema: what it allows, what is told of it allows too. Returns how often it allowed something."""
    random = Random(seed)
    schema = schemas.tool_schema(random)
    given = [schemas.arguments(random) for _ in range(8)]
    if refers_without_end(schema):
        return 0
    try:
        own = jsonschema_rs.validator_for(schema, validate_formats=False)
    except ValueError:  # references without end
        return 0
    allowed = [each for each in given if own.is_valid(each)]
    for form, dialect in DIALECTS.items():
        try:
            found = mend(schema, dialect)
        except ValueError:
            assert not allowed  # it refers to what is no object: nothing fits it
            continue
        assert [problem for problem in find(found.schema, dialect) if problem.refused] == []
        told = jsonschema_rs.validator_for(found.schema, validate_formats=False)
        wires = {name: wire for wire, name in found.names.items()}
        for each in allowed:
            if not found.names.keys() & each.keys():  # a name of the caller's own, which stands for another here
                named = {wires.get(name, name): value for name, value in each.items()}
                assert told.is_valid(named), (seed, form, each)
    return len(allowed)


def test_what_stood_beside_a_reference_of_the_root_is_still_referred_to():
    """The keywords that both have stand in an allOf, and references to them follow."""
    inner = {"type": "object", "properties": {"c": {"type": "integer"}}}
    schema = {
        "$ref": "#/properties/a",
        "properties": {
            "a": inner,
            "b": {"items": {"$ref": "#/properties/a"}},
            "d": {"const": {"$ref": "#/properties/a"}},
        },
    }
    for dialect in DIALECTS.values():
        told = jsonschema_rs.validator_for(mend(schema, dialect).schema, validate_formats=False)
        assert told.is_valid({"b": [{"c": 1}], "c": 2, "d": {"$ref": "#/properties/a"}})
    told = jsonschema_rs.validator_for(mend(schema, DIALECTS["mcp"]).schema, validate_formats=False)
    assert [told.is_valid(given) for given in ({"b": [{"c": "x"}]}, {"c": "x"}, {"d": 1})] == [False] * 3


def test_what_is_mended_allows_more_and_never_less():
    assert sum(map(holds_no_more_than, range(400))) > 1000


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_what_is_mended_allows_more_and_never_less_for_many():
    assert sum(map(holds_no_more_than, range(1000, 41_000))) > 100_000


def nested(levels, leaf):
    for _ in range(levels):
        leaf = {"type": "object", "properties": {"a": leaf}, "required": ["a"]}
    return leaf


@pytest.mark.parametrize("form", models.FORMS)
def test_what_is_nested_too_deep_is_cut_and_no_tool_is_lost_for_it(form):
    around = {f"t{n}": {"type": "object", "properties": {f"p{m}": {"$ref": f"#/$defs/t{m}"} for m in range(40)}}
              for n in range(40)}  # fmt: skip
    deep = {"not": nested(35, {"type": "string", "maxLength": 3})}
    for schema in (
        nested(40, {"type": "array", "minItems": 1, "x-unknown": 1}),
        {"type": "object", "properties": {"a": deep}},
        {"type": "object", "properties": {"root": {"$ref": "#/$defs/t0"}}, "$defs": around},
    ):
        sent, _ = mended(schema, form)
        assert [each for each in models.problems(sent, form) if each.refused] == []
    value = [1]
    for _ in range(40):
        value = {"a": value}
    sent, _ = mended(nested(40, {"type": "array", "minItems": 1, "x-unknown": 1}), form)
    assert jsonschema_rs.is_valid(sent, value)
    assert "nested too deep to be told" in json.dumps(sent)


def test_gemini_refuses_to_require_what_is_no_property():
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]}
    assert [(each, each.refused) for each in models.problems(schema, "gemini")] == [
        (": required names what is no property: b", True)
    ]
    told, _ = models.tools([ToolDefinition("t", "Does.", schema)], "gemini")
    assert told[0]["parametersJsonSchema"]["required"] == ["a"]
    assert told[0]["description"] == 'Does.\n(required: ["a", "b"])'
    assert models.problems(schema, "openai") == []


@pytest.mark.parametrize("form", models.FORMS)
def test_a_description_that_is_too_long_goes_on_elsewhere(form):
    words = [f"word{n}" for n in range(600)]
    schema = {"type": "object", "description": "Last."}
    told, _ = models.tools([ToolDefinition("t", " ".join(words), schema)], form)
    given = told[0].get("function", told[0])
    schema = next(
        given[key] for key in given if key in ("parameters", "input_schema", "parametersJsonSchema", "inputSchema")
    )
    if form in ("openai-chat", "openai", "langchain"):
        assert len(given["description"]) <= 1024
        assert schema["description"].endswith("word599\nLast.")
        assert [word for word in f"{given['description']} {schema['description']}".split() if word in words] == words
    else:
        assert (given["description"], schema.get("description")) == (" ".join(words), "Last.")

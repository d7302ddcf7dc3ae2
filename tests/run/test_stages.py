"""The stages of a call by themselves: its tool, its backends, its gates, its result; and the plan of a chain."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from executor import Decision, Tool, Verdict
from executor.calls._current import token_of
from executor.calls._scope import block
from executor.calls._state import CallState
from executor.errors import (
    ChainError,
    ExecutionError,
    InvalidArgumentsError,
    InvalidResultError,
    NoBackendsError,
    PermissionDeniedError,
    StreamNotSupportedError,
    ToolNotFoundError,
)
from executor.run import ChainStep, Parallel, Ref
from executor.run import _resolve as resolving
from executor.run._backends import Backends
from executor.run._collection import Tools
from executor.run._gate import MAX_EDITS, pass_gates
from executor.run._normalise import normalise
from executor.run._plan import check_chain, plan
from executor.run._resolve import ResolverSource, entry_of, resolve, select
from executor.run._validate import validate_input, validate_output
from executor.values import ToolBackend

HERE, THERE, PROVIDED = ToolBackend.local("x"), ToolBackend.mcp("s", "there"), ToolBackend.provider("p", "t")


def prepared(*gates, backend=HERE, arguments=None, tool=None, metadata_keys=frozenset()):
    tool = tool or Tool("x")
    return SimpleNamespace(
        call=CallState("c1", "x", {}, None),
        entry=SimpleNamespace(name="x", tool=tool, handler=None),
        arguments=arguments if arguments is not None else {"a": 1},
        backend=backend,
        setup=SimpleNamespace(gates=gates, metadata_keys=metadata_keys),
    )


# Gates ---------------------------------------------------------------------------------------------------------------


class Pause:
    """What a gate gives that takes its time."""

    def __init__(self, verdict):
        self.verdict = verdict

    def block(self):
        if isinstance(self.verdict, BaseException):
            raise self.verdict
        return self.verdict

    def then(self, resume):
        raise AssertionError("a thread waits")


def passed(call, validate=lambda prepared, arguments: dict(arguments)):
    steps = pass_gates(call, validate)
    if steps is not None:
        block(steps)
    return call


def test_without_an_opinion_nothing_is_said_of_permission():
    assert passed(prepared(lambda each: None, lambda each: None)).call.permission is None


@pytest.mark.parametrize("wrap", [lambda verdict: verdict, Pause], ids=["at once", "later"])
def test_the_last_gate_that_says_something_is_what_is_told(wrap):
    gates = [wrap(Verdict(True, None, info)) for info in ({"n": 1}, {"n": 2}, None)]
    call = passed(prepared(*[lambda each, gate=gate: gate for gate in gates]))
    assert call.call.permission == {"n": 2}


@pytest.mark.parametrize("wrap", [lambda verdict: verdict, Pause], ids=["at once", "later"])
@pytest.mark.parametrize(
    ("said", "reason", "method"),
    [
        (Verdict(False, None, {"reason": "no", "method": "policy"}), "no", "policy"),
        (Verdict(False), "no reason was given", "gate"),
        (Verdict("yes"), "no reason was given", "gate"),
        (True, "the gate gave True instead of a Verdict", "error"),
        (Decision("allow"), "instead of a Verdict", "error"),
    ],
)
def test_whatever_is_no_clear_yes_is_a_no(wrap, said, reason, method):
    later = []
    with pytest.raises(PermissionDeniedError) as error:
        passed(prepared(lambda each: wrap(said), later.append))
    assert reason in error.value.message
    assert error.value.message.startswith("Permission denied: ")
    assert error.value.decision.method == error.value.info["method"] == method
    assert error.value.info["decision"] == "denied"
    assert (error.value.tool_id, error.value.backend) == ("x", HERE)
    assert later == []


@pytest.mark.parametrize("later", [True, False])
@pytest.mark.parametrize("error", [ValueError("broken"), KeyError("k")])
def test_a_gate_that_raises_is_a_no_with_its_cause(error, later):
    def gate(each):
        if later:
            return Pause(error)
        raise error

    with pytest.raises(PermissionDeniedError, match="the gate raised") as denied:
        passed(prepared(gate))
    assert denied.value.__cause__ is error
    assert denied.value.decision.method == "error"


@pytest.mark.parametrize("later", [True, False])
def test_a_gate_may_refuse_in_its_own_words(later):
    error = ToolNotFoundError("hidden")

    def gate(each):
        if later:
            return Pause(error)
        raise error

    with pytest.raises(ToolNotFoundError) as raised:
        passed(prepared(gate))
    assert raised.value is error


@pytest.mark.parametrize("wrap", [lambda verdict: verdict, Pause], ids=["at once", "later"])
def test_edited_arguments_are_validated_and_every_gate_is_asked_about_them(wrap):
    seen = {"first": [], "editing": [], "last": []}

    def gate(name, edit=None):
        def gate(each):
            seen[name].append(dict(each.arguments))
            change = edit if edit is not None and each.arguments == {"a": 1} else None
            return wrap(Verdict(True, change, {"by": name}))

        return gate

    call = passed(
        prepared(gate("first"), gate("editing", {"a": "2"}), gate("last")),
        lambda each, arguments: {"a": int(arguments["a"])},
    )
    assert call.arguments == {"a": 2}
    assert seen == {"first": [{"a": 1}, {"a": 2}], "editing": [{"a": 1}, {"a": 2}], "last": [{"a": 2}]}
    assert call.call.permission == {"by": "last", "was_edited": True}
    assert not call.edited


@pytest.mark.parametrize(
    ("given", "edited"),
    [({"a": False}, {"a": 0}), ({"a": 1}, {"a": 1.0}), ({"a": 1}, {"a": True}), ({"a": [0.0]}, {"a": [-0.0]})],
)
def test_an_edit_that_changes_the_type_alone_is_one(given, edited):
    def gate(each):
        return Verdict(True, edited)

    each = prepared(gate)
    each.arguments = given
    call = passed(each, lambda each, arguments: dict(arguments))
    assert repr(call.arguments) == repr(edited)
    assert call.call.permission is None or call.call.permission["was_edited"]


def test_arguments_that_were_given_back_as_they_are_were_not_edited():
    asked = []
    call = passed(prepared(lambda each: asked.append(1) or Verdict(True, {"a": 1}, {"by": "me"})))
    assert asked == [1]
    assert call.call.permission == {"by": "me"}


def test_edited_arguments_that_do_not_fit_are_refused():
    def refuse(each, arguments):
        raise InvalidArgumentsError("do not fit")

    with pytest.raises(InvalidArgumentsError):
        passed(prepared(lambda each: Verdict(True, {"a": 2})), refuse)


@pytest.mark.parametrize("edits", [MAX_EDITS, MAX_EDITS + 1])
def test_a_gate_that_edits_for_ever_is_refused(edits):
    counts = []

    def gate(each):
        counts.append(1)
        return Verdict(True, {"a": len(counts)} if len(counts) <= edits else None)

    call = prepared(gate, arguments={"a": 0})
    if edits == MAX_EDITS:
        assert passed(call).arguments == {"a": MAX_EDITS}
        return
    with pytest.raises(PermissionDeniedError, match="edited 5 times without being accepted") as error:
        passed(call)
    assert error.value.decision.method == "invalid"


# Tools and their backends --------------------------------------------------------------------------------------------


class Index:
    def __init__(self, *backends, tool=None):
        self.tool, self.backends, self.asked = tool or Tool("x"), backends, 0

    def get_tool(self, tool_id):
        self.asked += 1
        if tool_id != "x":
            raise ToolNotFoundError(tool_id)
        return self.tool

    def get_all_backends(self, tool_id):
        if self.backends == ("unknown",):
            raise ToolNotFoundError(tool_id)
        return self.backends


def of_index(index):
    return ResolverSource(index.get_tool, index.get_all_backends)


def test_an_index_is_a_source_that_keeps_what_it_made_while_the_tool_stays(monkeypatch):
    index = Index(HERE)
    source = of_index(index)
    entry = source.find("x")
    assert (entry.name, entry.backends, entry.plugin_name, entry.background) == ("x", (HERE,), "local", False)
    assert source.find("x") is entry
    assert source.find("y") is None
    index.backends = (HERE, THERE)
    assert source.find("x").backends == (HERE, THERE)
    index.tool = Tool("x", auto_background=1.0)
    assert source.find("x").background
    assert [*source.names()] == []
    monkeypatch.setattr(resolving, "CACHED", 1)
    again = source.find("x")
    index.tool = Tool("x")
    assert source.find("x") is not again
    assert len(source._entries) == 1


def test_no_more_tools_are_kept_than_are_told(monkeypatch):
    monkeypatch.setattr(resolving, "CACHED", 3)
    source = ResolverSource(Tool, lambda name: (HERE,))
    kept = []
    for number in range(8):
        assert source.find(f"t{number}").name == f"t{number}"
        kept.append(len(source._entries))
    assert kept == [1, 2, 3, 1, 2, 3, 1, 2]


def test_a_tool_without_backends_is_known_and_cannot_run():
    for source in (of_index(Index()), of_index(Index("unknown")), ResolverSource(lambda name: Tool("x"), None)):
        with pytest.raises(NoBackendsError, match="Nothing can run the tool x: it has no backend") as error:
            resolve("x", [source])
        assert error.value.tool_id == "x"


def test_resolvers_are_a_source():
    def unknown(name):
        raise ToolNotFoundError(name)

    assert ResolverSource(lambda name: None, None).find("x") is None
    assert ResolverSource(unknown, None).find("x") is None
    assert ResolverSource(lambda name: Tool("x"), unknown).find("x").backends == ()
    assert ResolverSource(lambda name: Tool("x"), lambda name: None).find("x").backends == ()
    assert ResolverSource(lambda name: Tool("x"), lambda name: [HERE]).find("x").backends == (HERE,)
    with pytest.raises(ZeroDivisionError):
        ResolverSource(lambda name: 1 / 0, None).find("x")


def test_the_first_source_that_knows_a_tool_has_it_and_near_names_are_a_hint():
    first, second = Tools([Tool("read", fn=lambda args: 1)]), Tools([Tool("read", fn=lambda args: 2)])
    assert resolve("read", [first, second]) is first.find("read")
    with pytest.raises(ToolNotFoundError) as error:
        resolve("raed", [Tools(), first])
    assert error.value.message == "No executor registered for raed. Did you mean read?"
    with pytest.raises(ToolNotFoundError) as error:
        resolve("entirely_other", [first])
    assert error.value.message == "No executor registered for entirely_other"


def test_local_comes_before_provider_before_mcp():
    entry = entry_of("x", Tool("x"), (THERE, PROVIDED, HERE))
    assert select(entry, None) == (HERE,)
    assert select(entry_of("x", Tool("x"), (THERE, PROVIDED)), None) == (PROVIDED,)
    assert select(entry, lambda backends: [THERE, PROVIDED]) == (THERE, PROVIDED)
    assert select(entry, lambda backends: backends[1]) == (PROVIDED,)


@pytest.mark.parametrize(
    ("selector", "says"),
    [
        (lambda backends: 1 / 0, "The backend selector raised ZeroDivisionError"),
        (lambda backends: [], "The backend selector chose no backend at all"),
        (lambda backends: ToolBackend.local("y"), "which is not one of the tool's backends"),
        (lambda backends: [HERE, None], "The backend selector chose None, which is not one"),
    ],
)
def test_a_choice_that_cannot_be_meant_is_refused(selector, says):
    with pytest.raises(ExecutionError) as error:
        select(entry_of("x", Tool("x"), (HERE,)), selector)
    assert says in error.value.message
    assert error.value.tool_id == "x"


class Elsewhere:
    def call_tool(self, *where, **options):
        return where, options


def test_backends_are_asked_with_where_the_tool_is_and_what_the_call_has():
    backends = Backends(mcp=Elsewhere(), provider=Elsewhere())
    call = prepared(backend=THERE)
    where, options = backends.elsewhere(call, "call_tool")
    assert where == ("s", "there", {"a": 1})
    assert options == {"timeout": None, "on_progress": call.call.progress, "cancel": token_of(call.call)}
    bare = prepared(backend=ToolBackend.mcp("s"), tool=Tool("bare", namespace="n"))
    assert backends.elsewhere(bare, "call_tool")[0] == ("s", "bare", {"a": 1})
    assert backends.elsewhere(prepared(backend=PROVIDED), "call_tool") == (("p", "t", {"a": 1}), {})


@pytest.mark.parametrize(
    ("backends", "backend", "says"),
    [
        (Backends(), THERE, "No mcp backend is configured: the tool x cannot be reached"),
        (Backends(), PROVIDED, "No provider backend is configured"),
        (Backends(mcp=Elsewhere()), ToolBackend.mcp(""), "The mcp backend of x does not say where the tool is"),
        (Backends(provider=Elsewhere()), ToolBackend.provider("p", ""), "does not say where the tool is"),
        (Backends(), HERE, "There is no backend of the kind"),
    ],
)
def test_a_backend_that_is_not_there_says_so(backends, backend, says):
    with pytest.raises(ExecutionError) as error:
        backends.elsewhere(prepared(backend=backend), "call_tool")
    assert says in error.value.message


def test_a_backend_without_streams_says_what_to_do():
    with pytest.raises(StreamNotSupportedError, match="stream it with adapt=True") as error:
        Backends(mcp=Elsewhere()).elsewhere(prepared(backend=THERE), "call_tool_stream")
    assert (error.value.tool_id, error.value.backend) == ("x", THERE)


def test_a_local_function_is_found_by_its_backends_name_or_the_tools():
    table = {"x": "by tool", "fn": "by name"}
    assert Backends(local=table).handler(prepared(backend=ToolBackend.local("fn"))) == "by name"
    assert Backends(local=table).handler(prepared(backend=ToolBackend.local(""))) == "by tool"
    for backends in (Backends(), Backends(local={})):
        with pytest.raises(ExecutionError, match="No local function is registered as 'fn'"):
            backends.handler(prepared(backend=ToolBackend.local("fn")))


# Results -------------------------------------------------------------------------------------------------------------


def answer(structured=None, *content, is_error=False):
    return SimpleNamespace(structured_content=structured, content=content, is_error=is_error)


def text(said):
    return {"type": "text", "text": said}


@pytest.mark.parametrize(
    ("given", "structured", "is_error"),
    [
        (answer({"a": 1}, text("x")), {"a": 1}, False),
        (answer(None, text('{"a": 1}')), {"a": 1}, False),
        (answer(None, text("[1]")), [1], False),
        (answer(None, text("1")), "1", False),
        (answer(None, text("plain"), text("")), "plain", False),
        (answer(None, text("a"), text("b")), ["a", "b"], False),
        (answer(None, text("")), None, False),
        (answer(None), None, False),
        (answer(None, text("a"), {"type": "image", "data": "x"}), [text("a"), {"type": "image", "data": "x"}], False),
        (answer(None, SimpleNamespace(type="text", text="object")), "object", False),
        (answer(None, SimpleNamespace(type="image", data="x")), [{"type": "image", "data": "x"}], False),
        (answer(None, text("no"), is_error=True), "no", True),
    ],
)
def test_the_value_of_an_answer_is_what_its_blocks_say(given, structured, is_error):
    result = normalise(prepared(backend=THERE), given)
    assert (result.structured, result.is_error) == (structured, is_error)
    assert result.mcp_result is given
    assert result.content == given.content


def test_text_is_its_json_only_where_the_schema_wants_that():
    def structured(schema):
        return normalise(prepared(tool=Tool("x", None, schema)), answer(None, text("7"))).structured

    assert structured({"type": "integer"}) == 7
    assert structured({"type": "string"}) == "7"
    assert structured({}) == "7"


def test_a_pair_is_a_result_and_its_metadata_only_where_every_key_is_known():
    def made(value):
        result = normalise(prepared(metadata_keys=frozenset({"m"})), value)
        return result.structured, result.metadata

    assert made(({"a": 1}, {"m": 2})) == ({"a": 1}, {"m": 2})
    for value in (({"a": 1}, {"m": 2, "n": 3}), ([1], {"m": 2}), ({"a": 1}, [2]), ({"a": 1},), ({}, {"m": 1}, {})):
        assert made(value) == (value, None)
    assert normalise(prepared(), ({"a": 1}, {"m": 2})).metadata is None


def test_a_server_that_gave_no_answer_is_an_error_and_a_tool_that_returns_nothing_is_none():
    with pytest.raises(ExecutionError, match="The MCP server s gave no answer"):
        normalise(prepared(backend=THERE), None)
    assert normalise(prepared(), None).structured is None
    assert normalise(prepared(backend=THERE), 0).structured == 0


# Validation ----------------------------------------------------------------------------------------------------------


class Validator:
    def validate_input(self, tool, arguments):
        if arguments:
            raise ValueError("none, please")

    def validate_output(self, tool, value):
        if value != 1:
            raise ValueError


def test_a_validator_of_ones_own_is_asked_in_place_of_the_schema():
    tool = Tool("x", {"type": "object", "required": ["b"]}, {"type": "string"})
    entry = entry_of("x", tool, (HERE,))
    assert validate_input(entry, HERE, None, True, Validator()) == {}
    with pytest.raises(InvalidArgumentsError, match=r"Invalid arguments for x: .*none, please") as error:
        validate_input(entry, HERE, {"a": 1}, True, Validator())
    assert (error.value.tool_id, error.value.backend) == ("x", HERE)
    assert isinstance(error.value.__cause__, ValueError)
    assert validate_input(entry, HERE, {"a": 1}, False, Validator()) == {"a": 1}
    validate_output(entry, HERE, 1, Validator())
    with pytest.raises(InvalidResultError, match=r"does not fit its output schema: .*ValueError") as bad:
        validate_output(entry, HERE, 2, Validator())
    assert (bad.value.result, bad.value.tool_id, bad.value.backend) == (2, "x", HERE)


def test_the_schema_is_asked_where_there_is_one():
    entry = entry_of("x", Tool("x", {"type": "object", "required": ["b"]}, {"type": "string"}), (HERE,))
    given = {"b": [1]}
    copied = validate_input(entry, HERE, given, True, None)
    assert copied == given
    assert copied["b"] is not given["b"]
    with pytest.raises(InvalidArgumentsError) as error:
        validate_input(entry, HERE, {}, True, None)
    assert error.value.errors[0]["keyword"] == "required"
    with pytest.raises(InvalidArgumentsError) as error:
        validate_input(entry, HERE, {"b": object()}, True, None)
    assert (error.value.tool_id, error.value.backend) == ("x", HERE)
    validate_output(entry, HERE, "text", None)
    for value in (3, {1: 2}):
        with pytest.raises(InvalidResultError):
            validate_output(entry, HERE, value, None)
    assert validate_input(entry_of("y", Tool("y"), (HERE,)), HERE, {"any": 1}, True, None) == {"any": 1}


# Plans ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "says", "place"),
    [
        ([3], "step 0: 3 is not a step", 0),
        (["x"], "step 0: 'x' is not a step", 0),
        ([{"toolId": "x"}, {"toolId": "a b"}], "step 1: Invalid tool id 'a b'", 1),
        ([Parallel((ChainStep("x"),), 0)], "step 0: max_concurrency is 0", 0),
        ([ChainStep("x", timeout=-1)], "step 0: timeout is -1", 0),
        ([ChainStep("x", retry="often")], "step 0: retry is 'often'", 0),
        ([ChainStep("x", [1])], "step 0, 'x': the arguments are no object of named arguments", 0),
        ([ChainStep("x", on_error="retry")], "on_error is 'retry': use 'stop' or 'continue'", 0),
        ([ChainStep("x", when=3)], "the condition is neither a reference nor a function", 0),
        ([ChainStep("x", name="previous")], "the name 'previous' is not of letters", 0),
        ([ChainStep("x", name="a.b")], "the name 'a.b' is not of letters", 0),
        ([ChainStep("x", name="a"), ChainStep("x", name="a")], "two steps are named 'a': give each", 0),
        ([ChainStep("x", {"a": Ref("n")}, name="n")], "leads back to the step itself: a circle", 0),
        ([ChainStep("x", {"a": [Ref("n")]}), ChainStep("x", name="n")], "a step that has not ended when this one", 0),
        ([[ChainStep("x", name="n"), ChainStep("x", {"a": Ref("n")})]], "a step that has not ended when this one", 1),
        ([ChainStep("x", when=Ref("n"))], "leads to no step; the steps named before this one: none", 0),
        ([ChainStep("x", name="m"), ChainStep("x", {"a": Ref("n.x")})], "the steps named before this one: m", 1),
    ],
)
def test_a_chain_that_cannot_run_is_refused_before_anything_does(steps, says, place):
    with pytest.raises(ChainError) as error:
        plan(steps)
    assert says in error.value.message
    assert error.value.index == place
    (record,) = error.value.steps
    assert record.place == place
    assert record.error is not None


def test_a_plan_knows_what_refers_and_what_is_wanted():
    first, group, last = plan(
        [
            ChainStep("x", name="a"),
            [ChainStep("x", {"deep": [{"er": Ref("a.b")}]}, name="b"), ChainStep("x", name="c")],
            ChainStep("x", {"p": Ref("previous")}, when=Ref("c")),
        ]
    )
    assert (first.place, first.refers, first.wanted) == (0, False, True)
    assert [(each.place, each.refers, each.wanted) for each in group.steps] == [(1, True, False), (2, False, True)]
    assert (last.place, last.refers, last.wanted) == (3, True, False)
    asked = plan([ChainStep("x", name="a"), ChainStep("x", when=lambda values: True)])
    assert asked[0].wanted, "a function may look at any"
    assert [step.name for step in check_chain([ChainStep("x", name="a"), [ChainStep("x", name="b")]])] == ["a", "b"]
    assert check_chain([]) == []


# Collections ---------------------------------------------------------------------------------------------------------


def test_a_collection_is_an_index_and_others_are_chosen_from_it():
    tools = Tools([Tool("a", fn=lambda args: 1, tags=("t",)), Tool("b", fn=lambda args: 2)])
    far = tools.add(Tool("c"), THERE)
    assert [tool.name for tool in tools] == [*tools.names()] == ["a", "b", "c"]
    assert (len(tools), "a" in tools, "z" in tools) == (3, True, False)
    assert tools.get_tool("c") is far
    assert tools.get_all_backends("c") == (THERE,)
    assert tools.find("z") is None
    assert [*tools.filter(lambda tool: tool.tags).names()] == ["a"]
    assert tools.remove("a") is True
    assert tools.remove("a") is False
    assert len(tools) == 2
    for ask in (tools.get_tool, tools.get_all_backends):
        with pytest.raises(ToolNotFoundError, match="There is no tool a") as error:
            ask("a")
        assert error.value.tool_id == "a"

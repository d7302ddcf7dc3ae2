"""Dispatch, selection, normalisation and the errors of the three kinds of backend."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pytest

from executor import CancelToken, ToolCall, Verdict, current_call, errors
from executor.run import BackendKind, Runner, Tool, ToolBackend, ToolId
from executor.testing import Answer, StubBackend, StubIndex


def test_an_mcp_tool_is_called_by_its_bare_name_with_what_it_needs(remote):
    mcp, token = StubBackend(Answer.text("hi")), CancelToken()
    index = StubIndex([Tool("read", namespace="fs")], {"fs:read": [ToolBackend.mcp("disk")]})
    with Runner(index, mcp=mcp) as runner:
        assert runner.run("fs:read", {"path": "a"}, timeout=30, cancel=token).structured == "hi"
    ((server, name, arguments, options),) = mcp.calls
    assert (server, name, arguments) == ("disk", "read", {"path": "a"})
    assert 29 < options["timeout"] <= 30
    assert callable(options["on_progress"])
    assert options["cancel"].cancelled is False


def test_an_mcp_backend_may_name_the_tool_itself():
    mcp = StubBackend(Answer())
    Runner(StubIndex([Tool("x")], {"x": [ToolBackend.mcp("s", "other")]}), mcp=mcp).run("x")
    assert mcp.calls[0][1] == "other"


def test_a_provider_is_called_by_the_backends_own_ids_and_sees_the_call(remote):
    seen = []
    provider = StubBackend(lambda args: seen.append(current_call().remaining) or {"sum": args["n"]})
    result = remote("provider", provider).run("x", {"n": 2}, timeout=20)
    assert provider.calls[0][:3] == ("shop", "buy", {"n": 2})
    assert result.structured == {"sum": 2}
    assert 19 < seen[0] <= 20


@pytest.mark.parametrize("kind", ["mcp", "provider"])
def test_arguments_are_isolated_from_the_backend(remote, kind):
    def change(arguments):
        arguments["list"].append(2)
        return Answer.text("done")

    given = {"list": [1]}
    remote(kind, StubBackend(change)).run("x", given)
    assert given == {"list": [1]}


@pytest.mark.parametrize(
    ("backend", "text"),
    [
        (ToolBackend.mcp("s"), "No mcp backend is configured"),
        (ToolBackend.provider("p", "t"), "No provider backend is configured"),
        (ToolBackend.local("missing"), "'missing'"),
        (ToolBackend("weird"), "no backend of the kind 'weird'"),
    ],
)
def test_a_backend_that_is_not_configured_is_named(backend, text):
    with pytest.raises(errors.ExecutionError, match=text) as caught:
        Runner(StubIndex([Tool("x")], {"x": [backend]})).run("x")
    assert (caught.value.tool_id, caught.value.op, caught.value.backend) == ("x", "execute", backend)


def test_a_backend_that_does_not_say_where_the_tool_is_is_an_error():
    index = StubIndex([Tool("x")], {"x": [ToolBackend(BackendKind.MCP)]})
    with pytest.raises(errors.ExecutionError, match="does not say where"):
        Runner(index, mcp=StubBackend()).run("x")


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (ValueError("broken"), errors.ExecutionError),
        (ConnectionRefusedError("nobody there"), errors.BackendUnavailableError),
        (TimeoutError("too slow"), errors.BackendUnavailableError),
        (errors.ExecutorUnavailableError("down"), errors.BackendUnavailableError),
        (errors.BackendUnavailableError("gone"), errors.BackendUnavailableError),
        (errors.ToolFailedError("no such page"), errors.ToolFailedError),
        (errors.PermissionDeniedError("not there either"), errors.PermissionDeniedError),
        (SystemExit("bye"), errors.ToolFailedError),
    ],
)
@pytest.mark.parametrize("backend", ["mcp", "provider"])
def test_what_a_backend_raises_is_typed_and_keeps_its_cause(remote, backend, raised, kind):
    raised = copy.copy(raised)
    with pytest.raises(errors.ToolError) as caught:
        remote(backend, StubBackend(raised)).run("x")
    assert type(caught.value) is kind
    assert caught.value is raised or caught.value.__cause__ is raised
    assert caught.value.tool_id == "x"
    assert caught.value.backend.kind == backend


def test_an_answer_that_says_error_is_a_result_that_says_so(remote):
    tool = Tool("x", output_schema={"type": "object"})
    result = remote("mcp", StubBackend(Answer.text("bad thing", is_error=True)), tool).run("x")
    assert (result.is_error, result.structured) == (True, "bad thing")


def test_an_answer_that_says_error_fails_the_call_of_an_executor():
    from executor import ToolExecutor

    answers = StubBackend(Answer.text("the file", "is gone", is_error=True), Answer.text("one", "two"))
    runner = Runner(StubIndex([Tool("x")], {"x": [ToolBackend.mcp("s")]}), mcp=answers)
    with ToolExecutor(runner=runner) as executor:
        success, value = executor.execute("x")
        assert (success, value["error"]) == (False, "the file\nis gone")
        result = executor.call(ToolCall("1", "x"))
        assert (result.value, result.content) == (["one", "two"], "one\ntwo")


IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
NUMBER = {"type": "number"}


@pytest.mark.parametrize(
    ("answer", "schema", "structured"),
    [
        (Answer(structured_content={"a": 1}, content=[{"type": "text", "text": "x"}]), None, {"a": 1}),
        (Answer(structured_content={}), None, {}),
        (Answer(structured_content=False), None, False),
        (Answer(structured_content=0), None, 0),
        (Answer.text('{"a": 1}'), None, {"a": 1}),
        (Answer.text("  [1, 2]\n"), None, [1, 2]),
        (Answer.text("[12345678901234567890]"), None, [12345678901234567890]),
        (Answer.text("plain"), None, "plain"),
        (Answer.text("42"), None, "42"),
        (Answer.text("42"), NUMBER, 42),
        (Answer.text("42"), {"type": ["string", "number"]}, "42"),
        (Answer.text("null"), None, "null"),
        (Answer.text("null"), {"type": "null"}, None),
        (Answer.text('{"a": 1} x'), None, '{"a": 1} x'),
        (Answer.text('{"a": NaN}'), None, '{"a": NaN}'),
        (Answer.text('{"a": 1, "a": 2}'), None, '{"a": 1, "a": 2}'),
        (Answer.text(""), None, None),
        (Answer.text("", "x"), None, "x"),
        (Answer.text("one", "two"), None, ["one", "two"]),
        (Answer.text('{"a": 1}', '{"b": 2}'), None, ['{"a": 1}', '{"b": 2}']),
        (Answer(), None, None),
        (Answer([IMAGE]), None, [IMAGE]),
        (Answer([IMAGE, {"type": "text", "text": "c"}]), None, [IMAGE, {"type": "text", "text": "c"}]),
    ],
)
@pytest.mark.parametrize("kind", ["mcp", "provider"])
def test_an_answer_becomes_a_value_and_loses_nothing(remote, kind, answer, schema, structured):
    result = remote(kind, StubBackend(answer), Tool("x", output_schema=schema)).run("x")
    assert result.structured == structured
    assert type(result.structured) is type(structured)
    assert result.content == tuple(answer.content)
    assert result.mcp_result is answer


def test_a_local_function_may_answer_like_a_server(runner_of):
    runner = runner_of({"x": lambda args: Answer.text("a", is_error=True)})
    assert runner.run("x").is_error


def test_an_mcp_server_that_gives_no_answer_at_all_is_at_fault(remote):
    with pytest.raises(errors.ExecutionError, match="gave no answer"):
        remote("mcp", StubBackend(None)).run("x")
    assert remote("provider", StubBackend(None)).run("x").structured is None


def test_blocks_of_the_real_protocol_are_understood(remote):
    from mcp.types import CallToolResult, ImageContent, TextContent

    text = TextContent(type="text", text='{"a": 1}')
    image = ImageContent(type="image", data="aGk=", mime_type="image/png")
    runner = remote("mcp", StubBackend(CallToolResult(content=[text]), CallToolResult(content=[image, text])))
    assert runner.run("x").structured == {"a": 1}
    mixed = runner.run("x")
    assert [block["type"] for block in mixed.structured] == ["image", "text"]
    assert mixed.content == (image, text)
    assert mixed.to_dict()["mcpResult"]["content"][0]["mimeType"] == "image/png"


# Selection -----------------------------------------------------------------------------------------------------------

ANYWHERE = [ToolBackend.mcp("a"), ToolBackend.mcp("b"), ToolBackend.provider("p", "t")]


def fallback(selector, *, tool=None, gate=None, mcp=None, provider=None):
    index = StubIndex([tool or Tool("x")], {"x": ANYWHERE})
    return Runner(index, backend_selector=selector, mcp=mcp, provider=provider, gate=gate)


def test_the_next_candidate_is_tried_when_the_call_never_began():
    asked = []
    down = errors.BackendUnavailableError("no connection", started=False)
    mcp, provider = StubBackend(down), StubBackend("from the provider")
    gate = lambda prepared: asked.append(prepared.backend)
    result = fallback(lambda given: [given[0], given[1], given[2]], gate=gate, mcp=mcp, provider=provider).run("x")
    assert (result.structured, result.backend) == ("from the provider", ANYWHERE[2])
    assert [call[0] for call in mcp.calls] == ["a", "b"]
    assert asked == ANYWHERE  # each of another kind or server crosses the gate


def test_a_call_that_may_have_begun_is_made_once_unless_it_is_idempotent():
    mcp = StubBackend(errors.BackendUnavailableError("broke off"))
    with pytest.raises(errors.BackendUnavailableError):
        fallback(lambda given: given[:2], mcp=mcp).run("x")
    assert len(mcp.calls) == 1
    from executor import ToolAnnotations

    tool = Tool("x", annotations=ToolAnnotations(idempotent=True))
    mcp = StubBackend(errors.BackendUnavailableError("broke off"), Answer.text("second"))
    assert fallback(lambda given: given[:2], tool=tool, mcp=mcp).run("x").structured == "second"


def test_only_a_backend_that_is_down_is_passed_over():
    mcp = StubBackend(errors.ToolFailedError("said no"))
    with pytest.raises(errors.ToolFailedError):
        fallback(lambda given: given, mcp=mcp, provider=StubBackend()).run("x")
    assert len(mcp.calls) == 1


def test_a_candidate_that_the_gate_refuses_is_not_tried():
    def gate(prepared):
        if prepared.backend.kind == "provider":
            raise errors.PermissionDeniedError("not there")

    provider = StubBackend("x")
    mcp = StubBackend(errors.BackendUnavailableError("down", started=False))
    with pytest.raises(errors.PermissionDeniedError, match="not there"):
        fallback(lambda given: [given[0], given[2]], gate=gate, mcp=mcp, provider=provider).run("x")
    assert provider.calls == []


@pytest.mark.parametrize("chosen", [[], ToolBackend.local("stranger"), [ToolBackend.mcp("a"), None], None, "mcp"])
def test_a_selector_that_chooses_a_stranger_or_nothing_is_refused(chosen):
    with pytest.raises(errors.ExecutionError, match="backend selector chose") as caught:
        fallback(lambda given: chosen, mcp=StubBackend()).run("x")
    assert caught.value.op == "select_backend"


def test_a_selector_that_raises_is_an_error_of_its_own():
    def selector(given):
        raise KeyError("nothing fits")

    with pytest.raises(errors.ExecutionError, match="selector raised") as caught:
        fallback(selector).run("x")
    assert caught.value.op == "select_backend"
    assert caught.value.caused_by(KeyError)


# Gate and middleware -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [Verdict(False, None, {"reason": "no"}), True, "yes", 1 / 3])
def test_what_is_no_clear_yes_of_the_gate_is_a_no(runner_of, answer):
    ran = []
    runner = runner_of({"x": ran.append}, gate=lambda prepared: answer)
    with pytest.raises(errors.PermissionDeniedError):
        runner.run("x")
    assert ran == []


def test_a_gate_that_raises_is_a_no(runner_of):
    def gate(prepared):
        raise RuntimeError("the policy is lost")

    with pytest.raises(errors.PermissionDeniedError, match="policy is lost") as caught:
        runner_of({"x": lambda args: 1}, gate=gate).run("x")
    assert caught.value.caused_by(RuntimeError)


def test_edited_arguments_are_validated_and_judged_again(runner_of):
    judged = []

    def gate(prepared):
        judged.append(dict(prepared.arguments))
        return Verdict(True, {"n": 2})

    runner = runner_of({"x": lambda args: args["n"]}, gate=gate)
    assert runner.run("x", {"n": 1}).structured == 2
    assert judged == [{"n": 1}, {"n": 2}]


def test_middleware_is_around_dispatch_and_the_last_is_outermost(runner_of):
    order = []

    def around(name):
        def middleware(prepared, proceed):
            order.append(f"{name} before")
            value = proceed()
            order.append(f"{name} after")
            return value

        return middleware

    runner = runner_of({"x": lambda args: order.append("tool")}, middleware=[around("A"), around("B")])
    runner.run("x")
    assert order == ["B before", "A before", "tool", "A after", "B after"]


def test_middleware_may_answer_by_itself_or_refuse(runner_of):
    ran = []
    assert runner_of({"x": ran.append}, middleware=[lambda prepared, proceed: "cached"]).run("x").structured == "cached"

    def limit(prepared, proceed):
        raise RuntimeError("rate limit")

    with pytest.raises(errors.ExecutionError, match="rate limit") as caught:
        runner_of({"x": ran.append}, middleware=[limit]).run("x")
    assert caught.value.caused_by(RuntimeError)
    assert ran == []


# Validators, ids, JSON forms -----------------------------------------------------------------------------------------


class Strict:
    """A validator of one's own that likes nothing."""

    def validate_input(self, tool, arguments):
        raise ValueError("input invalid")

    def validate_output(self, tool, value):
        raise ValueError("output invalid")


def test_a_validator_of_ones_own_replaces_the_built_in_one(runner_of):
    functions = {"x": lambda args: 1}
    options = {"x": {"output_schema": True}}
    with pytest.raises(errors.InvalidArgumentsError, match="input invalid") as caught:
        runner_of(functions, validator=Strict()).run("x")
    assert caught.value.caused_by(ValueError)
    with pytest.raises(errors.InvalidResultError, match="output invalid"):
        runner_of(functions, options=options, validator=Strict(), validate_input=False).run("x")
    off = runner_of(functions, options=options, validator=Strict(), validate_input=False, validate_output=False)
    assert off.run("x").structured == 1


def test_an_id_is_refused_before_anybody_is_asked():
    asked = []
    runner = Runner(tool_resolver=lambda tool_id: asked.append(tool_id) or Tool("x"))
    for bad in ("", ":name", "namespace:", "ns:a:", "a:b:c:d", "::", " ", "a b"):
        with pytest.raises(errors.InvalidToolIdError) as caught:
            runner.run(bad)
        assert caught.value.op == "validate_tool_id"
    assert asked == []


def test_an_id_has_parts():
    assert ToolId.parse("read") == ToolId("read")
    assert ToolId.parse("fs:read") == ToolId("read", "fs")
    assert ToolId.parse("fs:read:2") == ToolId("read", "fs", "2")


@pytest.mark.parametrize(
    "backend", [ToolBackend.local("f"), ToolBackend.mcp("s"), ToolBackend.mcp("s", "t"), ToolBackend.provider("p", "t")]
)
def test_a_backend_has_a_json_form(backend):
    assert ToolBackend.from_dict(backend.to_dict()) == backend
    assert ToolBackend.provider("p", "t").to_dict() == {
        "kind": "provider",
        "provider": {"providerId": "p", "toolId": "t"},
    }
    with pytest.raises(ValueError, match="unknown key"):
        ToolBackend.from_dict({"kind": "mcp", "mcp": {"server": "s"}})


def test_a_result_has_a_json_form(runner_of):
    result = runner_of({"x": lambda args: {"a": 1}}, options={"x": {"description": "d"}}).run("x")
    assert result.to_dict() == {
        "tool": {"name": "x", "description": "d", "inputSchema": {"type": "object", "properties": {}}},
        "backend": {"kind": "local", "local": {"name": "x"}},
        "structured": {"a": 1},
    }
    assert replace(result, warnings=("not what its schema says",)).to_dict()["warnings"] == ["not what its schema says"]


def test_the_json_form_of_a_result_keeps_the_parts_of_an_id():
    runner = Runner(StubIndex([Tool("read", namespace="fs")]), local={"fs:read": lambda args: 1})
    tool = runner.run("fs:read").to_dict()["tool"]
    assert (tool["name"], tool["namespace"]) == ("read", "fs")


def test_errors_cross_to_another_process_with_whatever_they_carry(runner_of):
    runner = runner_of({"x": lambda args: lambda: 1, "y": lambda args: 1 / 0}, options={"x": {"fn": lambda args: 1}})
    with pytest.raises(errors.ChainError) as caught:
        runner.run_chain([{"toolId": "x"}, {"toolId": "y"}])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.index, len(again.steps), again.steps[0].tool_id) == (1, 2, "x")
    assert again.caused_by(errors.ToolFailedError)
    assert again.caused_by(ZeroDivisionError)
    assert str(again) == str(caught.value)
    twin = copy.deepcopy(caught.value)
    assert twin.__cause__ is caught.value.__cause__
    assert twin.steps == caught.value.steps

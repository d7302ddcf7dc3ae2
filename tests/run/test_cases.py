"""
What run layers of other projects do, case by case, and what this one does.

Each case is named by its area and number. Those that do not apply here are listed in docs/run-layer.md with the reason,
as are those in which this run layer differs on purpose.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from executor import CancelToken, ToolAnnotations, ToolCall, ToolExecutor, ToolResult, current_call, errors
from executor._json import to_text
from executor.run import (
    ChainStep,
    ExponentialRetry,
    Permanent,
    Runner,
    StreamEvent,
    StreamEventKind,
    Tool,
    ToolBackend,
    ToolId,
    Tools,
    observable,
    with_classifier,
    with_error_policy,
    with_max_retries,
    with_on_retry,
    with_retry_policy,
)
from executor.run._normalise import texts_of
from executor.testing import Answer, StubBackend, StubIndex, StubStreams

CASES = {}
LOCAL, PROVIDER, MCP = ToolBackend.local("h"), ToolBackend.provider("p", "t"), ToolBackend.mcp("s")
INTEGER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
DIALECT = "$schema"


def case(*names):
    def add(fn):
        for name in names:
            assert name not in CASES, name
            CASES[name] = fn
        return fn

    return add


def raised(kind, fn, *args, **options):
    """The error of this kind that *fn* raises."""
    with pytest.raises(kind) as caught:
        fn(*args, **options)
    return caught.value


def only(tool=None, backends=(LOCAL,), **options):
    """A runner of one tool."""
    options.setdefault("local", {"h": lambda args: "result"})
    return Runner(StubIndex([tool or Tool("x")], {(tool or Tool("x")).id: list(backends)}), **options)


def told(runner, method, *args, **options):
    """The progress events of a run, and the error it ended in."""
    events = []
    try:
        getattr(runner, method)(*args, events.append, **options)
    except errors.ToolError as error:
        return [(event.progress, event.total, event.message) for event in events], error
    return [(event.progress, event.total, event.message) for event in events], None


# Ids -----------------------------------------------------------------------------------------------------------------

case("tool_id-01")(lambda: ToolId.parse("filesystem:read") == ToolId("read", "filesystem"))
case("tool_id-02")(lambda: ToolId.parse("read") == ToolId("read"))
for name, bad in (("05", ""), ("06", "a:b:c:d"), ("07", ":name"), ("08", "namespace:"), ("11", "ns:a:")):
    case(f"tool_id-{name}")(lambda bad=bad: raised(errors.InvalidToolIdError, ToolId.parse, bad))
case("tool_id-12")(lambda: Tool("x", version="2").id == "x")
case("tool_id-13")(lambda: Tool("x", namespace="n", version="2").id == "n:x:2")
case("tool_id-15")(lambda: raised(errors.InvalidToolIdError, only().run_stream, "").op == "validate_tool_id")
case("tool_id-16")(lambda: raised(errors.InvalidToolIdError, Runner().run, "a:b:c:d"))

# Resolution and selection --------------------------------------------------------------------------------------------


@case("resolve-02")
def _():
    seen = []
    only(backends=[MCP, LOCAL], backend_selector=lambda given: seen.append(len(given)) or given[1]).run("x")
    return seen == [2]


def failing(**parts):
    index = StubIndex([Tool("x")])
    boom = RuntimeError("index down")

    def fail(tool_id):
        raise boom

    for part in parts:
        setattr(index, part, fail)
    runner = Runner(index, tool_resolver=lambda tool_id: Tool("x"), backends_resolver=lambda tool_id: [LOCAL])
    return raised(RuntimeError, runner.run, "x") is boom


case("resolve-03")(lambda: failing(get_all_backends=1))
case("resolve-08")(lambda: failing(get_tool=1))


@case("resolve-04")
def _():
    runner = Runner(
        tool_resolver=lambda tool_id: Tool("resolved-tool"),
        backends_resolver=lambda tool_id: [LOCAL],
        local={"h": lambda args: 1},
    )
    return runner.run("resolved-tool").tool.name == "resolved-tool"


case("resolve-07")(
    lambda: raised(errors.NoBackendsError, Runner(tool_resolver=lambda tool_id: Tool("no")).run, "no").op == "resolve"
)


@case("resolve-10")
def _():
    def down(tool_id):
        raise ConnectionError("db down")

    runner = Runner(tool_resolver=lambda tool_id: Tool("x"), backends_resolver=down)
    return raised(ConnectionError, runner.run, "x")


@case("resolve-11")
def _():
    index = StubIndex([Tool("x")])

    def unknown(tool_id):
        raise errors.ToolNotFoundError(tool_id)

    index.get_all_backends = unknown
    asked = []
    return raised(errors.NoBackendsError, Runner(index, None, asked.append).run, "x") and asked == []


def chosen(backends, selector=None):
    stub = StubBackend("v")
    runner = only(None, backends, backend_selector=selector, mcp=stub, provider=stub)
    return str(runner.run("x").backend.kind)


case("select-01")(lambda: chosen([MCP, PROVIDER, LOCAL]) == "local")
case("select-02")(lambda: chosen([MCP, PROVIDER]) == "provider")
case("select-05")(lambda: chosen([LOCAL, MCP], lambda given: next(b for b in given if b.kind == "mcp")) == "mcp")
case("select-06")(lambda: chosen([MCP, LOCAL], lambda given: given[0]) == "mcp")
case("select-07")(
    lambda: (
        raised(errors.ExecutionError, only(backends=[MCP], backend_selector=lambda given: None).run, "x").op
        == "select_backend"
    )
)

# Validation ----------------------------------------------------------------------------------------------------------


class Validator:
    def __init__(self, problem=None):
        self.problem, self.inputs, self.outputs = problem, 0, 0

    def validate_input(self, tool, arguments):
        self.inputs += 1
        if self.problem:
            raise ValueError(self.problem)

    def validate_output(self, tool, value):
        self.outputs += 1


case("validate_input-01")(
    lambda: (
        raised(errors.InvalidArgumentsError, only(validator=Validator("input invalid")).run, "x", {}).op
        == "validate_input"
    )
)


@case("validate_input-03", "validate_output-03")
def _():
    validator = Validator("x")
    tool = Tool("x", output_schema={"type": "object"})
    only(tool, validator=validator, validate_input=False, validate_output=False).run("x")
    return (validator.inputs, validator.outputs) == (0, 0)


def fits(schema, args, **options):
    return only(Tool("x", schema), **options).run("x", args).structured == "result"


def value_fits(schema, value):
    return only(Tool("x", {"properties": {"v": schema}, DIALECT: schema[DIALECT]})).run("x", {"v": value})


def misfits(schema, args):
    return raised(errors.InvalidArgumentsError, only(Tool("x", schema)).run, "x", args).errors[0]


for name, uri in (
    ("07", "https://json-schema.org/draft/2020-12/schema"),
    ("08", "http://json-schema.org/draft-07/schema#"),
    ("09", "http://json-schema.org/draft-07/schema"),
    ("10", "http://json-schema.org/draft-04/schema#"),
    ("11", "http://json-schema.org/draft-06/schema#"),
):
    case(f"validate_input-{name}")(
        lambda uri=uri: value_fits({"type": "string", DIALECT: uri}, "test").structured == "result"
    )
case("validate_input-12")(
    lambda: raised(errors.SchemaError, fits, {DIALECT: "https://example.com/my-schema", "type": "object"}, {})
)
case("validate_input-13")(
    lambda: raised(errors.SchemaError, fits, {"properties": {"a": {"$ref": "https://ex.com/s.json"}}}, {})
)
case("validate_input-14")(
    lambda: (
        misfits({"$defs": {"I": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/I"}}}, {"a": "x"})["path"]
        == "/a"
    )
)
case("validate_input-15")(lambda: "n" in misfits(INTEGER, None)["message"])
case("validate_input-17")(lambda: fits(INTEGER, {"n": 1.0}))
case("validate_input-18")(lambda: misfits(INTEGER, {"n": "1"})["keyword"] == "type")
case("validate_input-20")(
    lambda: (
        misfits({"properties": {"a": {"type": "integer", "default": 3}}, "required": ["a"]}, {})["keyword"]
        == "required"
    )
)
case("validate_input-21")(lambda: fits({"properties": {"a": {"format": "email"}}}, {"a": "not-an-email"}))


@case("validate_input-23")
def _():
    schema = {DIALECT: "http://json-schema.org/draft-07/schema#", "type": "object"}
    before = json.dumps(schema)
    return fits(schema, {}) and fits(schema, {}) and json.dumps(schema) == before


@case("validate_output-01", "validate_output-04")
def _():
    validator = Validator()
    only(Tool("x", output_schema={"type": "object"}), validator=validator).run("x")
    once = validator.outputs
    only(validator=validator).run("x")
    return once == validator.outputs == 1


case("validate_output-05")(
    lambda: raised(
        errors.InvalidResultError,
        only(Tool("x", output_schema={"type": "object"}), local={"h": lambda args: None}).run,
        "x",
    )
)
case("validate_output-08")(
    lambda: (
        only(
            Tool("x", output_schema={"type": "object"}), [MCP], mcp=StubBackend(Answer.text("bad thing", is_error=True))
        )
        .run("x")
        .is_error
    )
)

# Dispatch and normalisation ------------------------------------------------------------------------------------------


@case("dispatch-01")
def _():
    mcp = StubBackend(Answer())
    only(Tool("mytool", namespace="myns"), [MCP], mcp=mcp).run("myns:mytool")
    return mcp.calls[0][:2] == ("s", "mytool")


@case("dispatch-02")
def _():
    provider = StubBackend(1)
    only(Tool("mytool"), [ToolBackend.provider("specific-provider", "specific-tool")], provider=provider).run("mytool")
    return provider.calls[0][:2] == ("specific-provider", "specific-tool")


for name, backend in (
    ("04", MCP),
    ("05", PROVIDER),
    ("06", ToolBackend("unknown")),
    ("07", ToolBackend.local("nonexistent")),
):
    case(f"dispatch-{name}")(
        lambda backend=backend: raised(errors.ExecutionError, only(backends=[backend]).run, "x").op == "execute"
    )
case("dispatch-11")(
    lambda: raised(errors.ExecutionError, only(local={"h": lambda args: 1 / 0}).run, "x").caused_by(ZeroDivisionError)
)


def becomes(answer, schema=None):
    return only(Tool("x", output_schema=schema), [MCP], mcp=StubBackend(answer)).run("x").structured


IMAGE = {"type": "image", "data": "x"}
RESOURCE = {"type": "resource", "resource": {"uri": "f://a", "text": "inner"}}
for name, answer, structured in (
    ("02", Answer.text('{"parsed":"json"}'), {"parsed": "json"}),
    ("03", Answer.text("plain text result"), "plain text result"),
    ("04", Answer.text("line 1", "line 2"), ["line 1", "line 2"]),
    ("05", Answer(), None),
    ("08", Answer.text("42"), "42"),
    ("09", Answer.text("null"), "null"),
    ("10", Answer.text('"hi"'), '"hi"'),
    ("11", Answer.text('  {"a":1}\n'), {"a": 1}),
    ("12", Answer.text('{"a":1} x'), '{"a":1} x'),
    ("13", Answer.text("NaN"), "NaN"),
    ("14", Answer.text(""), None),
    ("18", Answer([IMAGE, {"type": "text", "text": '{"c":3}'}]), [IMAGE, {"type": "text", "text": '{"c":3}'}]),
    ("19", Answer([RESOURCE]), [RESOURCE]),
    ("20", Answer([{"type": "text", "text": '{"a":1}'}], structured_content=False), False),
):
    case(f"normalize-{name}")(lambda answer=answer, structured=structured: becomes(answer) == structured)
case("normalize-15")(lambda: becomes(Answer.text("12345678901234567890"), {"type": "integer"}) == 12345678901234567890)
case("normalize-21")(
    lambda: only(None, [MCP], mcp=StubBackend(Answer.text("bad thing", is_error=True))).run("x").is_error
)
case("normalize-22")(
    lambda: raised(errors.ExecutionError, only(None, [MCP], mcp=StubBackend(None)).run, "x").backend == MCP
)

# Chains and streams --------------------------------------------------------------------------------------------------


def chain_of(**functions):
    return Runner(StubIndex([Tool(name) for name in functions]), local=functions)


@case("chain-02")
def _():
    chain = chain_of(step1=lambda args: {"step": 1}).run_chain([ChainStep("step1")])
    final, records = chain.final, chain.steps
    return (final.structured, [record.tool_id for record in records]) == ({"step": 1}, ["step1"])


@case("chain-03", "chain-09")
def _():
    order = []
    runner = chain_of(**{name: lambda args, name=name: order.append(name) for name in ("step1", "step2", "step3")})
    chain = runner.run_chain([ChainStep("step1"), ChainStep("step2"), ChainStep("step3")])
    final, records = chain.final, chain.steps
    return order == ["step1", "step2", "step3"] and final is records[-1].result and final.tool.id == "step3"


@case("chain-05")
def _():
    runner = chain_of(step1=lambda args: "first-result", step2=lambda args: args)
    steps = [ChainStep("step1"), ChainStep("step2", {"previous": "old"}, use_previous=True)]
    return runner.run_chain(steps).final.structured["previous"] == "first-result"


@case("chain-07")
def _():
    calls = []
    runner = chain_of(ok=calls.append, fails=lambda args: calls.append(1) or 1 / 0, never=calls.append)
    error = raised(errors.ChainError, runner.run_chain, [ChainStep("ok"), ChainStep("fails"), ChainStep("never")])
    return error.caused_by(errors.ExecutionError) and len(error.steps) == len(calls) == 2 and error.steps[1].error


@case("chain-08", "progress-05")
def _():
    token, calls = CancelToken(), []
    runner = chain_of(step1=lambda args: token.cancel(), step2=calls.append)
    steps = [ChainStep("step1"), ChainStep("step2")]
    events, error = told(runner, "run_chain_with_progress", steps, cancel=token)
    assert events == [(0, 2, "started"), (1, 2, "step_error")]
    return isinstance(error, errors.ToolCancelledError) and len(error.result.steps) == 1 and calls == []


def streamed(*events, name="mytool", **options):
    backend = options.pop("backend", MCP)
    stub = StubStreams(list(events))
    return list(only(Tool(name), [backend], mcp=stub, provider=stub).run_stream(name, **options))


case("stream-01")(lambda: streamed(StreamEvent("done"))[0].kind == "done")
case("stream-02")(lambda: streamed(StreamEvent("chunk", None, "partial"), backend=PROVIDER)[0].kind == "chunk")


@case("stream-05")
def _():
    kept = streamed(StreamEvent("chunk", "original-id", 1), StreamEvent("chunk", None, 2))
    return [event.tool_id for event in kept] == ["original-id", "mytool", "mytool"]


case("stream-06")(lambda: raised(errors.ExecutionError, only(backends=[MCP]).run_stream, "x").op == "execute")
case("stream-07")(
    lambda: raised(errors.StreamNotSupportedError, only(backends=[MCP], mcp=StubStreams(None)).run_stream, "x")
)


@case("stream-09", "cancel-01")
def _():
    token, stub, calls = CancelToken(), StubStreams([]), []
    token.cancel()
    raised(errors.ToolCancelledError, only(backends=[MCP], mcp=stub).run_stream, "x", cancel=token)
    raised(errors.ToolCancelledError, only(local={"h": calls.append}).run, "x", cancel=token)
    return stub.calls == calls == []


@case("stream-10")
def _():
    def work(args):
        yield "chunk"
        current_call().wait(30)

    token = CancelToken()
    with only(local={"h": work}) as runner:
        stream = runner.run_stream("x", cancel=token)
        next(stream)
        token.cancel()
        (end,) = stream
        return isinstance(end.error, errors.ToolCancelledError)


case("stream-12")(lambda: StreamEvent(StreamEventKind.ERROR, error=ValueError("x")).to_dict() == {"kind": "error"})

# Progress, errors, cancellation --------------------------------------------------------------------------------------

case("progress-01")(
    lambda: told(only(), "run_with_progress", "x", None) == ([(0, 1, "started"), (1, 1, "completed")], None)
)
case("progress-02")(lambda: told(only(), "run_with_progress", "", None)[0] == [(0, 1, "started"), (0, 1, "error")])
case("progress-03")(
    lambda: (
        told(only(), "run_chain_with_progress", [ChainStep("x")] * 2)[0]
        == [(0, 2, "started"), (1, 2, "step_completed"), (2, 2, "step_completed")]
    )
)
case("progress-04")(
    lambda: (
        told(only(), "run_chain_with_progress", [ChainStep("x"), ChainStep("no"), ChainStep("x")])[0]
        == [(0, 3, "started"), (1, 3, "step_completed"), (2, 3, "step_error")]
    )
)
case("progress-06")(lambda: only().run_with_progress("x", None, None).structured == "result")


@case("error-01", "error-02", "error-03")
def _():
    error = errors.ToolError("lookup", tool_id="x", op="resolve")
    error.__cause__ = RuntimeError("wrapped")
    error.__cause__.__cause__ = errors.ToolNotFoundError("x")
    return error.caused_by(errors.ToolNotFoundError) and not error.caused_by(errors.ExecutionError)


case("error-04")(lambda: str(errors.ExecutionError("x", tool_id="ns:t", backend=MCP)) == "execute ns:t [mcp]: x")
case("error-05")(
    lambda: str(errors.ToolNotFoundError("tool not found", tool_id="ns:t")) == "resolve ns:t: tool not found"
)


@case("error-08")
def _():
    error = raised(errors.ExecutionError, only(backends=[MCP], mcp=StubBackend(ValueError("mcp failed"))).run, "x")
    return (error.tool_id, error.backend) == ("x", MCP)


@case("error-09")
def _():
    class Custom(Exception):
        pass

    def fail(args):
        raise Custom("typed")

    return isinstance(raised(errors.ExecutionError, only(local={"h": fail}).run, "x").__cause__, Custom)


@case("cancel-02", "cancel-03", "loop-02", "loop-06")
def _():
    go_on = threading.Event()

    def heeds(args):
        current_call().wait(30)
        raise TimeoutError

    with only(local={"h": heeds}) as first, only(local={"h": lambda args: go_on.wait(30) and "late"}) as second:
        raised(errors.ToolTimeoutError, first.run, "x", timeout=0.02)
        error = raised(errors.ToolTimeoutError, second.run, "x", timeout=0.02)
        go_on.set()
    return "timed out" in error.message


# Retries -------------------------------------------------------------------------------------------------------------

AT_ONCE = with_retry_policy(ExponentialRetry(5, initial=0))


def tries(failures, *options, error=None, args=None, **keywords):
    """How often a tool that fails so many times is called, what it comes to, and what the hook was told."""
    calls, hooked = [], []

    def work(given):
        calls.append(given)
        if len(calls) <= failures:
            raise error or ConnectionError("sentinel")
        return "ok"

    hook = with_on_retry(lambda attempt, problem: hooked.append(attempt))
    tool = observable(work, "t", AT_ONCE, *options, hook, annotations={"idempotent": True}, **keywords)
    try:
        return len(calls), tool.execute_rx(args), hooked, calls
    except errors.ToolExecutorError as problem:
        return len(calls), problem, hooked, calls


def count_of(*args, **options):
    _, came_to, hooked, calls = tries(*args, **options)
    return len(calls), came_to, hooked


class AllPermanent:
    def classify(self, error):
        return Permanent(error)


case("retry-01", "mcp_adapter-05")(lambda: count_of(2)[:2] == (3, "ok"))
case("retry-02")(lambda: count_of(99, with_max_retries(2))[0] == 3)
case("retry-04")(lambda: count_of(99, with_max_retries(9), with_max_retries(1))[0] == 2)
case("retry-06")(lambda: count_of(99, with_error_policy(AllPermanent()))[0] == 1)
case("retry-07")(lambda: count_of(99, with_classifier(Permanent))[0] == 1)


@case("retry-10", "mcp_adapter-04")
def _():
    calls, error, _ = count_of(0, args="not-valid-json")
    return calls == 0 and isinstance(error, errors.InvalidArgumentsError) and error.tool_id == "t"


case("retry-12")(lambda: count_of(2)[1:] == ("ok", [1, 2]))
case("retry-15")(lambda: count_of(99, with_max_retries(2))[2] == [1, 2])
case("retry-16")(lambda: count_of(99, with_max_retries(0))[2] == [])


@case("retry-17")
def _():
    error = count_of(99, with_max_retries(2))[1]
    return error.caused_by(ConnectionError) and "t failed 3 times, at last with: sentinel" in error.message


@case("retry-18", "retry-19")
def _():
    token, calls = CancelToken(), []

    def work(args):
        calls.append(1)
        raise ConnectionError

    waits = ExponentialRetry(10, initial=30)
    hook = with_on_retry(lambda attempt, error: token.cancel())
    tool = observable(work, "t", with_retry_policy(waits), hook, retry_unsafe=True)
    return raised(errors.ToolCancelledError, tool.execute_rx, cancel=token) and calls == [1]


@case("retry-20")
def _():
    token, calls = CancelToken(), []
    token.cancel()
    tool = observable(lambda args: calls.append(1), "t", retry_unsafe=True)
    return raised(errors.ToolCancelledError, tool.execute_rx, cancel=token) and calls == []


case("retry-21")(lambda: (count_of(2)[0], count_of(1)[0]) == (3, 2))


@case("retry-22", "retry-23", "retry-24")
def _():
    pytest.importorskip("reactivex")
    calls = []
    cold = observable(lambda args: calls.append(1) or "ok", "t", retry_unsafe=True).as_observable()
    assert calls == []
    return [cold.run(), cold.run()] == ["ok", "ok"] and len(calls) == 2


case("retry-26")(lambda: count_of(0, with_retry_policy(None), with_error_policy(None))[1] == "ok")
case("retry-27")(lambda: count_of(99, error=errors.ToolTimeoutError("the deadline passed"))[0] == 1)


@case("retry-28")
def _():
    policy = ExponentialRetry()
    numbers = (policy.initial, policy.multiplier, policy.jitter, policy.max_delay, policy.max_elapsed)
    return numbers == (0.5, 1.5, 0.5, 60, 900)


@case("args-05")
def _():
    def greet(name: str) -> str:
        return name

    tool = observable(greet, annotations={"read_only": True})
    return raised(errors.InvalidArgumentsError, tool.execute, '{"name": "a", "zz": 1}')


# Middleware, collections, adapters, ports ----------------------------------------------------------------------------


@case("middleware-02")
def _():
    calls = []
    runner = only(local={"h": calls.append}, middleware=[lambda prepared, proceed: "cached result"])
    return runner.run("x").structured == "cached result" and calls == []


@case("middleware-03")
def _():
    def limit(prepared, proceed):
        raise RuntimeError("rate limit")

    return raised(errors.ExecutionError, only(middleware=[limit]).run, "x").caused_by(RuntimeError)


def made(name, value):
    return Tool(name, fn=lambda args: value)


@case("registry-01")
def _():
    tools = Tools([made("a", "v1"), made("b", "b"), made("a", "v2")])
    return [tool.id for tool in tools] == ["a", "b"] and Runner(tools).run("a").structured == "v2"


case("registry-02")(lambda: raised(errors.InvalidToolIdError, Tools, [made("", 1)]))


@case("registry-04", "filter-01", "filter-05")
def _():
    tools = Tools([made("a", 1), made("b", 2)])
    chosen = [tool.id for tool in tools.filter(lambda tool: tool.id == "a")]
    return (chosen, len(tools), len(tools.filter(lambda tool: False))) == (["a"], 2, 0)


case("mcp_adapter-02")(lambda: becomes(Answer()) is None)
case("mcp_adapter-03")(lambda: becomes(Answer([{"type": "image"}])) == [{"type": "image"}])


@case("mcp_adapter-06")
def _():
    mcp = StubBackend(ConnectionError("down"))
    tool = Tool("x", annotations=ToolAnnotations(idempotent=True))
    raised(errors.BackendUnavailableError, only(tool, [MCP], mcp=mcp).run, "x")
    return len(mcp.calls) == 1


def texts(*blocks):
    return texts_of(blocks)


case("port-01")(
    lambda: texts({"type": "text", "text": "line 1"}, {"type": "text", "text": "line 2"}) == "line 1\nline 2"
)
case("port-02")(lambda: texts({"type": "image", "data": "b64"}, {"type": "text", "text": "caption"}) == "caption")
case("port-03")(lambda: to_text("already a string") == "already a string")
case("port-05")(lambda: to_text({"unexpected": "shape"}) == '{"unexpected":"shape"}')
case("port-09")(lambda: ToolResult("1", False, content="ERROR: file not found").success is False)

# Batches -------------------------------------------------------------------------------------------------------------


def batch(work, names, **options):
    with ToolExecutor() as executor:
        executor.register("work", work)
        return executor.execute_many([ToolCall(name, "work") for name in names], **options)


@case("loop-01")
def _():
    results = batch(lambda args: 1, ["c0", "c1", "c2"])
    return [(result.call_id, result.success) for result in results] == [("c0", True), ("c1", True), ("c2", True)]


@case("loop-03", "loop-05")
def _():
    lock, now, most = threading.Lock(), [], []
    trio = threading.Barrier(3)

    def work(args):
        with lock:
            now.append(1)
            most.append(len(now))
        trio.wait(10)
        with lock:
            now.pop()

    results = batch(work, [str(n) for n in range(9)], max_concurrency=3)
    return max(most) == 3 and all(result.success for result in results)


@case("loop-04", "bridge-01")
def _():
    def down(args):
        raise errors.BackendUnavailableError("infrastructure down")

    (result,) = batch(down, ["c0"])
    return not result.success and "infrastructure down" in result.content


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_case_comes_out_as_it_should(name):
    assert CASES[name]()


def test_every_case_is_a_test_or_has_its_reason_in_the_documentation():
    text = (Path(__file__).parents[2] / "docs" / "run-layer.md").read_text(encoding="utf-8")
    for name in ("error-06", "mcp_adapter-01", "port-06", "port-07", "loop-07", "loop-09", "loop-10"):
        assert f"`{name}`" in text
        assert name not in CASES
    assert len(CASES) == 143

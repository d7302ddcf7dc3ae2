"""Spans and measurements of calls, as a program sees them that has set OpenTelemetry up."""

from __future__ import annotations

import json
import threading

import pytest

from executor import (
    CancelToken,
    Decision,
    PluginRegistry,
    TaskManager,
    TokenLedger,
    ToolCall,
    ToolExecutor,
    Verdict,
    current_call,
    hookimpl,
)
from executor_otel import OtelPlugin

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

SECONDS = 20
SECRET = "sk-ant-api03-" + "a1B2" * 12


class Gate:
    """Denies tools that are called so, and asks about others."""

    def decide(self, call, context):
        verdict = {"forbidden": "deny", "asked": "ask"}.get(call.name, "allow")
        return Decision(verdict, "because", "policy")

    def ask(self, call, decision, context):
        return Verdict(True, None, {"reason": "yes", "method": "user_approved"})


class Telemetry:
    """A program that has set OpenTelemetry up, and an executor with the plugin."""

    def __init__(self, executor, spans, reader, tracer, ledger, registry):
        self.executor, self.tracer, self.ledger, self.registry = executor, tracer, ledger, registry
        self._spans, self._reader = spans, reader

    def spans(self):
        return {span.name.removeprefix("execute_tool "): span for span in self._spans.get_finished_spans()}

    def points(self):
        data = self._reader.get_metrics_data()
        metrics = data.resource_metrics[0].scope_metrics[0].metrics if data is not None else []
        (metric,) = metrics or [None]
        assert metric is None or (metric.name, metric.unit) == ("gen_ai.execute_tool.duration", "s")
        return {point.attributes["gen_ai.tool.name"]: point for point in (metric.data.data_points if metric else ())}


@pytest.fixture
def make():
    made = []

    def make(config=None, **options):
        spans, reader, ledger = InMemorySpanExporter(), InMemoryMetricReader(), TokenLedger()
        tracers, meters = TracerProvider(shutdown_on_exit=False), MeterProvider([reader], shutdown_on_exit=False)
        tracers.add_span_processor(SimpleSpanProcessor(spans))
        registry = PluginRegistry(bundled=False, entry_points=False)
        registry.register(OtelPlugin(tracers, meters), "otel")
        assert registry.expose("otel", config)
        executor = ToolExecutor(
            ledger, registry=registry, permission_plugin=Gate(), tasks=TaskManager.in_memory(), **options
        )
        made.append((executor, tracers, meters))
        return Telemetry(executor, spans, reader, tracers.get_tracer("test"), ledger, registry)

    yield make
    for executor, *providers in made:
        executor.shutdown(cancel=True)
        for provider in providers:
            provider.shutdown()


def test_a_call_has_a_span_and_a_measurement_by_the_conventions(make):
    told = make()
    told.executor.register("double", lambda args: 2 * args["n"], description="Doubles.")
    assert told.executor.execute("double", {"n": 2}, call_id="call_1") == (True, 4)
    (span,) = told.spans().values()
    assert (span.name, span.kind, span.status.status_code) == (
        "execute_tool double",
        SpanKind.INTERNAL,
        StatusCode.UNSET,
    )
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "double",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Doubles.",
        "toolexec.permission.decision": "allowed",
        "toolexec.permission.method": "policy",
    }
    point = told.points()["double"]
    assert (point.count, point.sum) == (1, pytest.approx((span.end_time - span.start_time) / 1e9))
    assert dict(point.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "double",
        "gen_ai.tool.type": "function",
    }


def fail(args):
    raise ValueError("secret words")


@pytest.mark.parametrize(
    ("tool", "arguments", "kind", "measured"),
    [
        ("failing", {}, "failed", "failing"),
        ("forbidden", {}, "denied", "forbidden"),
        ("typed", {"n": "x"}, "invalid_arguments", "_OTHER"),
        ("missing", {}, "not_found", "_OTHER"),
        ("slow", {}, "timed_out", "slow"),
    ],
)
def test_what_fails_or_is_denied_has_a_span_that_says_so_and_nothing_of_what_was_said(
    make, tool, arguments, kind, measured
):
    told = make()
    told.executor.register("failing", fail)
    told.executor.register("forbidden", lambda args: 1)
    told.executor.register("typed", lambda n: n, schema={"type": "object", "properties": {"n": {"type": "integer"}}})
    told.executor.register("slow", lambda args: current_call().wait(), timeout=0.01)
    result = told.executor.call(ToolCall("1", tool, arguments))
    assert not result.success
    span = told.spans()[tool]
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, str(result.kind))
    assert span.attributes["error.type"] == str(result.kind) == kind
    assert told.points()[measured].attributes["error.type"] == kind
    assert "secret words" not in span.to_json()
    assert not {"gen_ai.tool.call.arguments", "gen_ai.tool.call.result"} & span.attributes.keys()


def test_a_denial_says_how_it_was_decided(make):
    told = make()
    told.executor.register("forbidden", lambda args: 1)
    told.executor.register("asked", lambda args: 1)
    told.executor.execute("forbidden")
    told.executor.execute("asked")
    found = {
        name: (span.attributes["toolexec.permission.decision"], span.attributes["toolexec.permission.method"])
        for name, span in told.spans().items()
    }
    assert found == {"forbidden": ("denied", "policy"), "asked": ("allowed", "user_approved")}


def test_content_is_recorded_on_request_and_masked(make):
    told = make({"content": True})
    told.executor.register("give", lambda args: {"password": "hunter2", "city": "Oslo"})
    told.executor.register("failing", lambda args: fail(args))
    told.executor.execute("give", {"token": SECRET, "city": "Oslo", "long": "x" * 100_000})
    told.executor.execute("give", json.dumps({"api_key": "hunter2"}), call_id="2")
    told.executor.execute("failing")
    for span in told.spans().values():
        assert SECRET not in span.to_json()
        assert "hunter2" not in span.to_json()
    first = next(span for span in told._spans.get_finished_spans() if span.name == "execute_tool give")
    assert '"city": "Oslo"' in first.attributes["gen_ai.tool.call.arguments"]
    assert "more characters" in first.attributes["gen_ai.tool.call.arguments"]
    assert json.loads(first.attributes["gen_ai.tool.call.result"])["city"] == "Oslo"
    assert "secret words" in told.spans()["failing"].status.description


@pytest.mark.parametrize("content", [False, True])
def test_what_a_model_makes_up_is_masked_in_names_and_can_be_encoded_by_an_exporter(make, content):
    told = make({"content": content})
    told.executor.register("odd", lambda args: "a\udcff", description="\udcff")
    told.executor.execute("odd", call_id="\udcff")
    told.executor.execute("no\udcffsuch", {"a": "\udcff"}, call_id="2")
    told.executor.execute(f"tool-{SECRET}", call_id="3")
    spans = told._spans.get_finished_spans()
    assert len(spans) == 3
    for span in spans:
        assert SECRET not in span.to_json()
        for text in (span.name, span.status.description or "", *map(str, span.attributes.values())):
            text.encode()


# Who is whose parent -------------------------------------------------------------------------------------------------


async def in_loop(args):
    return trace.get_current_span().get_span_context().span_id


def outright(args):
    return trace.get_current_span().get_span_context().span_id


def pieces(args):
    yield trace.get_current_span().get_span_context().span_id


@pytest.mark.parametrize("route", ["execute", "call", "many", "submit", "stream"])
@pytest.mark.parametrize(
    ("fn", "options"),
    [(outright, {}), (outright, {"timeout": 10}), (in_loop, {}), (in_loop, {"timeout": 10}), (pieces, {})],
    ids=["inline", "limited", "async", "async limited", "pieces"],
)
def test_the_span_of_a_call_is_current_in_its_tool_and_nowhere_else(make, fn, options, route):
    told = make()
    told.executor.register("work", fn, **options)
    call = ToolCall("1", "work")
    routes = {
        "execute": lambda: told.executor.execute("work"),
        "call": lambda: told.executor.call(call, cancel=CancelToken()),
        "many": lambda: told.executor.execute_many([call]),
        "submit": lambda: told.executor.submit(call).result(SECONDS),
        "stream": lambda: list(told.executor.execute_stream("work", adapt=True)),
    }
    with told.tracer.start_as_current_span("turn") as turn:
        came = routes[route]()
        assert trace.get_current_span() is turn
    told.executor.shutdown()
    span = told.spans()["work"]
    assert span.parent.span_id == turn.get_span_context().span_id
    assert str(span.get_span_context().span_id) in repr(came)


def test_calls_that_a_tool_makes_are_below_it_in_its_threads_too(make):
    told = make()

    def outer(args):
        call = current_call()
        call.host.call(ToolCall("2", "inner"))
        call.run_in_thread(lambda: call.host.call(ToolCall("3", "other"))).join(SECONDS)

    for name, fn in (("outer", outer), ("inner", outright), ("other", outright)):
        told.executor.register(name, fn, timeout=10 if name == "inner" else None)
    assert told.executor.execute("outer")[0]
    spans = told.spans()
    for name in ("inner", "other"):
        assert spans[name].parent.span_id == spans["outer"].get_span_context().span_id
    assert spans["outer"].parent is None


# In the background ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["threshold", "start", "submitted"])
@pytest.mark.parametrize("outcome", ["ok", "failed", "cancelled"])
def test_the_span_of_work_in_the_background_ends_with_the_work(make, kind, outcome):
    told, go_on = make(), threading.Event()
    ended = threading.Event()

    class Last:
        @hookimpl(trylast=True)
        def executor_task_done(self, task):
            ended.set()

    told.registry.register(Last(), "last")
    told.registry.expose("last")

    def work(args):
        current_call().on_cancel(go_on.set)
        assert go_on.wait(SECONDS)
        if outcome == "failed":
            raise ValueError("no")
        return outright(args)

    told.executor.register("work", work, auto_background=0.01)
    call = ToolCall("1", "work")
    if kind == "threshold":
        result = told.executor.call(call)
    elif kind == "start":
        result = told.executor.start(call)
    else:
        result = told.executor.submit(call, background=True).result(SECONDS)
    assert told.spans() == {}
    told.executor.tasks.cancel(result.task_id) if outcome == "cancelled" else go_on.set()
    assert ended.wait(SECONDS)
    span = told.spans()["work"]
    assert span.attributes["toolexec.task.id"] == result.task_id
    assert span.attributes.get("error.type") == (None if outcome == "ok" else outcome)
    if outcome == "ok":
        assert told.executor.tasks.result(result.task_id) == (True, span.get_span_context().span_id)
    assert told.points()["work"].count == 1


def test_the_end_of_the_plugin_ends_the_spans_of_what_still_works(make):
    told, go_on = make(), threading.Event()
    told.executor.register("work", lambda args: go_on.wait(SECONDS), auto_background=0.01)
    told.executor.call(ToolCall("1", "work"))
    told.registry.unexpose("otel")
    assert "error.type" not in told.spans()["work"].attributes
    go_on.set()
    told.executor.shutdown()
    assert len(told._spans.get_finished_spans()) == 1


# The ledger ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["work", "forbidden", "missing", "long"])
def test_every_record_of_a_call_carries_its_trace(make, tool):
    told = make()
    told.executor.register("work", outright)
    told.executor.register("forbidden", outright)
    told.executor.register("long", outright, auto_background=0)
    told.executor.execute(tool)
    told.executor.shutdown()
    found = told.spans()[tool].get_span_context()
    records = told.ledger.records
    assert {record["stage"] for record in records} >= {"call-start", "call-end"}
    assert ("task-end" in {record["stage"] for record in records}) == (tool == "long")
    assert {(record["trace_id"], record["span_id"]) for record in records} == {
        (f"{found.trace_id:032x}", f"{found.span_id:016x}")
    }


# Without an SDK, and configured wrongly ------------------------------------------------------------------------------


def test_without_an_sdk_calls_are_made_as_ever():
    registry = PluginRegistry(entry_points=False)
    assert "otel" not in registry.expose_all({"shell": {}})
    assert "otel" in registry.expose_all({"otel": {}})
    ledger = TokenLedger()
    with ToolExecutor(ledger, registry=registry) as executor:
        executor.register("work", outright)
        assert executor.execute("work") == (True, 0)
    assert not any("trace_id" in record for record in ledger.records)
    registry.close()


@pytest.mark.parametrize(("config", "message"), [({"contents": True}, "contents"), ({"content": "yes"}, "'yes'")])
def test_a_configuration_that_cannot_be_meant_is_an_error(config, message):
    registry = PluginRegistry(bundled=False, entry_points=False)
    registry.register(OtelPlugin(), "otel")
    assert not registry.expose("otel", config)
    (failure,) = registry.failures()
    assert message in str(failure.error)

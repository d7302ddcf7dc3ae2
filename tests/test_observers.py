"""What observers are given (copies of what is JSON, and what is not JSON as it is), and when."""

from __future__ import annotations

import pytest

from executor import Decision, PluginRegistry, ToolCall, ToolExecutor, Verdict, current_call, hookimpl
from executor.errors import PermissionDeniedError

SECONDS = 20.0


@pytest.fixture
def observed():
    """An executor, and the calls and results that its observer was given after each call."""
    seen = []

    class Observer:
        @hookimpl
        def executor_after_call(self, call, result):
            seen.append((call.arguments, result.value))

    registry = PluginRegistry(bundled=False, entry_points=False)
    registry.register(Observer(), "observer")
    registry.expose("observer")
    with ToolExecutor(registry=registry) as executor:
        yield executor, seen


def test_an_observer_is_given_a_result_that_is_no_json_as_it_is(observed):
    executor, seen = observed
    value = {1, 2}
    executor.register("give", lambda args: value)
    assert executor.execute("give", {"a": 1})[1] is value
    assert seen == [({"a": 1}, value)]
    assert seen[0][1] is value


def test_an_observer_is_given_a_copy_of_a_result_that_is_json(observed):
    executor, seen = observed
    value = {"list": [1]}
    executor.register("give", lambda args: value)
    executor.execute("give")
    seen[0][1]["list"].append(2)
    assert value == {"list": [1]}


def test_an_observer_is_given_the_arguments_of_a_call_that_were_refused_for_not_being_json(observed):
    executor, seen = observed
    thing = object()
    executor.register("give", lambda args: 1)
    success, refused = executor.execute("give", {"a": thing})
    assert not success
    assert len(seen) == 1
    assert seen[0][1]["error"] == refused["error"]


@pytest.mark.parametrize(("given", "seen_as"), [('{"a": [1]}', {"a": [1]}), (None, {}), ("", {}), ("[1", "[1")])
def test_arguments_are_seen_as_an_object_in_whichever_form_they_came(observed, given, seen_as):
    executor, seen = observed
    current = []
    executor.register("give", lambda args: current.append(current_call().arguments))
    executor.call(ToolCall("1", "give", given))
    assert [arguments for arguments, _ in seen] == [seen_as]
    assert current == ([seen_as] if type(seen_as) is dict else [])


# When observers are told, on every route ------------------------------------------------------------------------------


class Watch:
    """Keeps what happened, with the call that was current then."""

    def __init__(self):
        self.events = []

    def note(self, event, call, *further):
        current = current_call()
        self.events.append((event, call.id, current.id if current else None, *further))

    @hookimpl
    def executor_before_call(self, call):
        self.note("before", call)

    @hookimpl
    def executor_deny_call(self, call, decision):
        self.note("deny", call, decision.reason)

    @hookimpl
    def executor_after_call(self, call, result):
        self.note("after", call, str(result.kind))


class Gate:
    def __init__(self, watch, verdict="allow"):
        self.watch, self.verdict = watch, verdict

    def decide(self, call, context):
        self.watch.note("gate", call)
        return Decision(self.verdict, "policy", "test")

    def ask(self, call, decision, context):
        return Verdict(True)


@pytest.fixture
def watched():
    watch = Watch()
    registry = PluginRegistry(bundled=False, entry_points=False)
    registry.register(watch, "watch")
    registry.expose("watch")
    with ToolExecutor(registry=registry, permission_plugin=Gate(watch)) as executor:
        executor.register("work", lambda args: watch.note("tool", current_call()))

        async def work(args):
            watch.note("tool", current_call())

        def stream(args):
            watch.note("tool", current_call())
            yield 1

        executor.register("async", work)
        executor.register("stream", stream)
        executor.register("bound", lambda args: watch.note("tool", current_call()), resources=lambda a: ["one"])
        yield executor, watch


ROUTES = {
    "inline": lambda ex: ex.execute("work", {}, None, "id"),
    "worker": lambda ex: ex.execute("work", {}, None, "id", timeout=20),
    "call": lambda ex: ex.call(ToolCall("id", "work", {})),
    "async": lambda ex: ex.call(ToolCall("id", "async", {})),
    "bound": lambda ex: ex.call(ToolCall("id", "bound", {})),
    "submit": lambda ex: ex.submit(ToolCall("id", "work", {})).result(20),
    "submit_limit": lambda ex: ex.submit(ToolCall("id", "work", {}), timeout=20).result(20),
    "submit_async": lambda ex: ex.submit(ToolCall("id", "async", {})).result(20),
    "submit_bound": lambda ex: ex.submit(ToolCall("id", "bound", {})).result(20),
    "many": lambda ex: ex.execute_many([ToolCall("id", "work", {})]),
    "stream": lambda ex: list(ex.execute_stream("stream", {}, None, "id")),
    "adapted": lambda ex: list(ex.execute_stream("work", {}, None, "id", adapt=True)),
}


@pytest.mark.parametrize("route", ROUTES)
def test_observers_are_told_before_the_gate_and_after_the_call_while_it_is_current(watched, route):
    executor, watch = watched
    ROUTES[route](executor)
    executor.shutdown(timeout=20)
    assert watch.events == [
        ("before", "id", "id"), ("gate", "id", "id"), ("tool", "id", "id"), ("after", "id", "id", "ok"),
    ]  # fmt: skip


@pytest.mark.parametrize("route", ROUTES)
def test_observers_see_calls_that_were_denied(watched, route):
    executor, watch = watched
    executor.set_permission_plugin(Gate(watch, "deny"))
    try:
        ROUTES[route](executor)
    except PermissionDeniedError:
        assert route in ("stream", "adapted")
    executor.shutdown(timeout=20)
    assert watch.events == [
        ("before", "id", "id"), ("gate", "id", "id"), ("deny", "id", "id", "policy"), ("after", "id", "id", "denied"),
    ]  # fmt: skip


def test_observers_see_each_step_of_a_chain(watched):
    executor, watch = watched
    executor.execute_chain([{"toolId": "work"}, {"toolId": "async"}])
    names = [event[0] for event in watch.events]
    assert names == ["before", "gate", "tool", "after"] * 2
    assert all(event[1] == event[2] for event in watch.events)
    assert len({event[1] for event in watch.events}) == 2


@pytest.mark.parametrize("start", [
    lambda ex: ex.start(ToolCall("id", "work", {})),
    lambda ex: ex.call(ToolCall("id", "work", {}), background=True),
    lambda ex: ex.submit(ToolCall("id", "work", {}), background=True).result(20),
])  # fmt: skip
def test_observers_see_a_call_that_is_started_in_the_background(watched, start):
    executor, watch = watched
    start(executor)
    executor.shutdown(timeout=20)
    assert watch.events[:2] == [("before", "id", "id"), ("gate", "id", "id")]
    assert sorted(watch.events[2:]) == [("after", "id", "id", "backgrounded"), ("tool", "id", "id")]


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("route", ["inline", "worker", "submit", "many", "async"])
def test_an_observer_that_raises_changes_no_result(raised, route):
    class Breaks:
        @hookimpl
        def executor_before_call(self, call):
            raise raised("x")

        @hookimpl
        def executor_after_call(self, call, result):
            raise raised("x")

    watch = Watch()
    registry = PluginRegistry(bundled=False, entry_points=False)
    for name, plugin in (("breaks", Breaks()), ("watch", watch)):
        registry.register(plugin, name)
        registry.expose(name)
    with ToolExecutor(registry=registry) as executor:
        executor.register("work", lambda args: 1)

        async def work(args):
            return 1

        executor.register("async", work)
        ROUTES[route](executor)
    assert [(event[0], event[-1]) for event in watch.events] == [("before", "id"), ("after", "ok")]


def test_an_observer_that_writes_to_a_result_changes_nothing_of_what_the_caller_is_given():
    class Writes:
        @hookimpl
        def executor_check_permission(self, call):
            return Decision("allow", "fine", "test")

        @hookimpl
        def executor_after_call(self, call, result):
            result.value["list"].append(2)
            result.structured["list"].append(3)
            result.permission["decision"] = "denied"

    with PluginRegistry(bundled=False, entry_points=False) as registry:
        registry.register(Writes(), "writes")
        registry.expose("writes")
        with ToolExecutor(registry=registry) as executor:
            executor.register("give", lambda args: {"list": [1]})
            results = [executor.call(ToolCall("1", "give")), executor.submit(ToolCall("2", "give")).result(SECONDS)]
            own = executor.execute("give")[1]
            assert registry.failures() == []
    for result in results:
        assert result.structured == {"list": [1]}
        assert result.content == '{"list":[1]}'
        assert result.permission["decision"] == "allowed"
    for value in (own, *(result.value for result in results)):
        assert value["list"] == [1]
        assert value["_permission"]["decision"] == "allowed"

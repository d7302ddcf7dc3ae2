"""`check`, the ways of calling beside `submit`, and what results say of themselves."""

from __future__ import annotations

import threading

import pytest

from executor import Decision, PluginRegistry, TokenLedger, ToolCall, ToolExecutor, Verdict, current_call, hookimpl
from executor.errors import (
    BackendUnavailableError,
    CapacityError,
    PermissionDeniedError,
    ToolExecutorError,
    ToolFailedError,
)
from executor.run import ChainStep
from executor.values import Image

SECONDS = 20.0


class Policy:
    def __init__(self, verdict="allow"):
        self.verdict = verdict
        self.settled, self.asked, self.contexts = [], [], []

    def decide(self, call, context):
        self.contexts.append(context)
        return Decision(self.verdict, "because", "test", rule="work *")

    def ask(self, call, decision, context):
        self.asked.append(call)
        self.contexts.append(context)
        return Verdict(True)

    def settle(self, decision):
        self.settled.append(decision)
        return True


# check ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("verdict", "kind"), [("allow", "ok"), ("ask", "ask"), ("deny", "denied")])
def test_check_says_what_would_be_decided_and_does_nothing(verdict, kind):
    ran, seen = [], []

    class Watches:
        @hookimpl
        def executor_before_call(self, call):
            seen.append(call)

        @hookimpl
        def executor_after_call(self, call, result):
            seen.append(call)

        @hookimpl
        def executor_deny_call(self, call, decision):
            seen.append(call)

    registry = PluginRegistry(bundled=False, entry_points=False)
    registry.register(Watches(), "watches")
    registry.expose("watches")
    policy, ledger = Policy(verdict), TokenLedger()
    with ToolExecutor(registry=registry, permission_plugin=policy, ledger=ledger) as executor:
        executor.register("work", ran.append, schema={"properties": {"n": {"type": "integer", "default": 1}}})
        found = executor.check(ToolCall("1", "work", {"n": 3}), context={"who": "me"})
    assert (found.kind, found.tool, found.arguments) == (kind, "work", {"n": 3})
    assert (found.decision.verdict, found.decision.rule, found.decision.reason) == (verdict, "work *", "because")
    assert (ran, seen, policy.asked, policy.settled, ledger.records) == ([], [], [], [], [])
    assert policy.contexts == [{"who": "me"}]


def test_check_says_what_keeps_a_call_from_running(executor):
    executor.register("work", lambda a: 1, schema={"type": "object", "required": ["n"]})
    assert executor.check(ToolCall("1", "wrk", {})).kind == "not_found"
    found = executor.check(ToolCall("1", "work", {}))
    assert found.kind == "invalid_arguments"
    assert found.errors[0]["keyword"] == "required"
    assert executor.check(ToolCall("1", "work", {"n": 1})).kind == "ok"


def test_check_does_not_use_up_a_grant_and_the_call_does():
    policy = Policy()
    with ToolExecutor(permission_plugin=policy) as executor:
        executor.register("work", lambda a: 1)
        for _ in range(10):
            assert executor.check(ToolCall("1", "work", {})).kind == "ok"
        assert policy.settled == []
        executor.call(ToolCall("1", "work", {}))
        assert len(policy.settled) == 1


# The kinds -----------------------------------------------------------------------------------------------------------


def situations():
    def ctrl_c(args):
        raise KeyboardInterrupt

    def fail(args):
        raise ValueError("no")

    def on_purpose(args):
        raise ToolFailedError("no")

    def down(args):
        raise BackendUnavailableError("down")

    yield "ok", lambda a: 1, {}, {}
    yield "ok", lambda a: {"error": "a result like others"}, {}, {}
    yield "invalid_arguments", lambda a: 1, {"schema": {"required": ["x"]}}, {}
    yield "failed", fail, {}, {}
    yield "failed", on_purpose, {}, {}
    yield "interrupted", ctrl_c, {}, {}
    yield "unavailable", down, {}, {}
    yield "invalid_result", lambda a: 1, {"output_schema": {"type": "string"}}, {}
    yield "timed_out", lambda a: current_call().wait(SECONDS), {}, {"timeout": 0.02}
    yield "cancelled", lambda a: current_call().token.cancel(), {}, {}
    yield "backgrounded", lambda a: 1, {"auto_background": 0}, {}


@pytest.mark.parametrize(
    ("kind", "fn", "options", "how"), list(situations()), ids=lambda v: v if type(v) is str else ""
)
@pytest.mark.parametrize("route", ["call", "submit", "many", "completed"])
def test_every_situation_has_its_kind_on_every_route(executor, kind, fn, options, how, route):
    executor.register("work", fn, **options)
    asked = ToolCall("7", "work", {})
    result = {
        "call": lambda: executor.call(asked, **how),
        "submit": lambda: executor.submit(asked, **how).result(SECONDS),
        "many": lambda: executor.execute_many([asked], **how)[0],
        "completed": lambda: next(iter(executor.as_completed([asked], **how))),
    }[route]()
    assert result.kind == kind
    assert result.call_id == "7"
    assert result.is_error is (not result.success) is (kind not in ("ok", "backgrounded"))
    assert (result.error is None) is result.success
    assert result.backgrounded is (kind == "backgrounded") is (result.task_id is not None)


def test_what_is_unknown_denied_or_shut_down_has_its_kind():
    release = threading.Event()
    executor = ToolExecutor(permission_plugin=Policy("deny"), max_background_tasks=1)
    executor.register("work", lambda a: release.wait(SECONDS))
    assert executor.call(ToolCall("1", "wrok", {})).kind == "not_found"
    assert executor.call(ToolCall("1", "work", {})).kind == "denied"
    executor.set_permission_plugin(None)
    assert executor.call(ToolCall("1", "work", {}), background=True).kind == "backgrounded"
    assert executor.call(ToolCall("1", "work", {}), background=True).kind == "capacity"
    release.set()
    executor.shutdown()
    assert executor.call(ToolCall("1", "work", {})).kind == "unavailable"


def test_blocks_and_structured_values(executor):
    executor.register("image", lambda a: Image(b"png", "image/png"))
    executor.register("dict", lambda a: {"a": 1})
    result = executor.call(ToolCall("1", "image", {}))
    assert [type(block) for block in result.blocks] == [Image]
    assert result.blocks[0].raw == b"png"
    plain = executor.call(ToolCall("1", "dict", {}))
    assert (plain.structured, plain.content) == ({"a": 1}, '{"a":1}')


def test_long_content_is_bounded_and_can_be_read_on():
    registry = PluginRegistry(entry_points=False)
    registry.expose("background")
    text = "".join(f"line {n}\n" for n in range(20_000))
    with ToolExecutor(registry=registry, max_content=4096) as executor:
        executor.register("long", lambda a: text)
        result = executor.call(ToolCall("1", "long", {}))
        assert result.value == text
        assert len(result.content.encode()) <= 4096
        found = result.content.partition('readResult(id="')[2].partition('"')[0]
        offset = int(result.content.partition("offset=")[2].partition(")")[0])
        pieces = [text.encode()[:offset].decode()]
        for _ in range(1000):
            more = executor.call(ToolCall("2", "readResult", {"id": found, "offset": offset}))
            assert more.success, more.error
            pieces.append(more.value["text"])
            offset = more.value["next_offset"]
            if not more.value["has_more"]:
                break
        assert "".join(pieces) == text


# The other ways of calling -------------------------------------------------------------------------------------------


def test_execute_takes_a_limit_and_a_token(executor):
    from executor import CancelToken

    token = CancelToken()
    executor.register("work", lambda a: current_call().wait(SECONDS))
    success, value = executor.execute("work", timeout=0.02)
    assert (success, value["timed_out"]) == (False, True)
    started = threading.Event()
    executor.register("wait", lambda a: started.set() or current_call().wait(SECONDS))
    stopper = threading.Thread(target=lambda: started.wait(SECONDS) and token.cancel("stop it"))
    stopper.start()
    success, value = executor.execute("wait", cancel=token)
    stopper.join()
    assert (success, value["cancelled"]) == (False, True)
    assert "stop it" in value["error"]


def test_execute_many_tells_which_call_each_piece_belongs_to(executor):
    def work(args):
        current_call().emit(f"out {args['n']}")
        current_call().progress(args["n"], 9, "m")
        return args["n"]

    executor.register("work", work)
    calls = [ToolCall(str(n), "work", {"n": n}) for n in range(20)]
    output, progress, done = [], [], []
    results = executor.execute_many(
        calls,
        on_output=lambda call, chunk: output.append((call.id, chunk)),
        on_progress=lambda call, *how: progress.append((call.id, *how)),
        on_done=done.append,
    )
    assert [result.value for result in results] == list(range(20))
    assert sorted(output) == sorted((str(n), f"out {n}") for n in range(20))
    assert sorted(progress) == sorted((str(n), n, 9, "m") for n in range(20))
    assert sorted(result.call_id for result in done) == sorted(call.id for call in calls)


def test_execute_many_gives_each_call_its_limit(executor):
    executor.register("work", lambda a: current_call().wait(SECONDS) if a["long"] else 1)
    calls = [ToolCall(str(n), "work", {"long": n % 2}) for n in range(8)]
    assert [r.kind for r in executor.execute_many(calls, timeout=0.2)] == ["ok", "timed_out"] * 4


def test_as_completed_gives_what_ends_first_first_and_stops_the_rest_when_closed(executor):
    began, stopped = threading.Event(), threading.Event()

    def work(args):
        if args["n"] == 0:
            began.set()
            if current_call().wait(SECONDS):
                stopped.set()
            return None
        return args["n"]

    executor.register("work", work)
    results = executor.as_completed([ToolCall(str(n), "work", {"n": n}) for n in range(4)], max_concurrency=4)
    assert {next(results).value for _ in range(3)} == {1, 2, 3}
    assert began.wait(SECONDS)
    results.close()
    assert stopped.wait(SECONDS)


def test_start_starts_any_tool_when_asked(executor):
    release, done = threading.Event(), []
    executor.register("plain", lambda a: release.wait(SECONDS) and 5)
    result = executor.start(ToolCall("1", "plain", {}), on_done=done.append)
    assert (result.kind, result.success) == ("backgrounded", True)
    assert done == []
    release.set()
    executor.tasks.wait(result.task_id, SECONDS)
    executor.shutdown(timeout=SECONDS)
    assert [(r.value, r.task_id) for r in done] == [(5, result.task_id)]


def test_start_without_room_names_what_runs():
    release = threading.Event()
    with ToolExecutor(max_background_tasks=1) as executor:
        executor.register("plain", lambda a: release.wait(SECONDS))
        first = executor.start(ToolCall("1", "plain", {}))
        with pytest.raises(CapacityError, match=first.task_id):
            executor.start(ToolCall("2", "plain", {}))
        release.set()


def test_a_listener_of_tools_is_told_of_each_change(executor):
    told = []
    end = executor.on_tools_changed(lambda: told.append(sorted(d.name for d in executor.list_tools())))
    executor.register("a", lambda x: 1)
    executor.register("a", lambda x: 2)
    executor.unregister("a")
    executor.unregister("a")
    end()
    executor.register("b", lambda x: 1)
    assert told == [["a"], ["a"], []]


def test_a_listener_that_raises_or_calls_back_keeps_nobody_from_registering(executor):
    def listener():
        executor.execute("a")
        raise ValueError

    executor.on_tools_changed(listener)
    executor.register("a", lambda x: 1)
    assert executor.execute("a") == (True, 1)


def test_a_context_goes_to_the_plugin_in_place_of_the_executors():
    policy = Policy("ask")
    with ToolExecutor(permission_plugin=policy, permission_context={"n": 0}) as executor:
        executor.register("work", lambda a: current_call().context)
        assert executor.call(ToolCall("1", "work", {}), context={"n": 1}).value["n"] == 1
        executor.call(ToolCall("1", "work", {}))
        executor.call(ToolCall("1", "work", {}), context={})
    assert policy.contexts == [{"n": 1}, {"n": 1}, {"n": 0}, {"n": 0}, {}, {}]


class Guests:
    """Denies a tool to whoever is a guest."""

    def decide(self, call, context):
        agent = (context or {}).get("agent")
        return Decision("deny" if agent == "guest" and call.name == "danger" else "allow", f"for {agent}", "test")

    def ask(self, call, decision, context):
        raise AssertionError("nobody is asked")


@pytest.fixture
def guarded():
    registry = PluginRegistry(entry_points=False)
    registry.expose("background")
    with ToolExecutor(registry=registry, permission_plugin=Guests(), permission_context={"agent": "owner"}) as executor:
        executor.register("danger", lambda a: "ran")
        executor.register("outer", lambda a: current_call().host.call(ToolCall("inner", "danger", {})).content)
        executor.register("deeper", lambda a: current_call().host.call(ToolCall("o", "outer", {})).content)
        executor.register("given", lambda a: current_call().host.call(ToolCall("i", "danger", {}), context=a).content)
        executor.register("seen", lambda a: current_call().context)
        yield executor


GUEST = {"agent": "guest"}
ROUTES = {
    "call": lambda e, name: e.call(ToolCall("1", name, {}), context=GUEST).content,
    "submit": lambda e, name: e.submit(ToolCall("1", name, {}), context=GUEST).result(SECONDS).content,
    "many": lambda e, name: e.execute_many([ToolCall("1", name, {})], context=GUEST)[0].content,
    "completed": lambda e, name: next(iter(e.as_completed([ToolCall("1", name, {})], context=GUEST))).content,
    "chain": lambda e, name: str(e.execute_chain([ChainStep(name)], context=GUEST)),
    "stream": lambda e, name: str([event.data for event in e.execute_stream(name, adapt=True, context=GUEST)]),
}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", ["danger", "outer", "deeper"])
def test_what_is_denied_to_a_context_is_denied_in_the_calls_within_by_every_route(guarded, route, name):
    try:
        said = ROUTES[route](guarded, name)
    except ToolExecutorError as error:
        said = f"{error} {error.__cause__}"
    assert "for guest" in said
    assert "ran" not in said


def test_a_carrier_carries_the_context(guarded):
    carried = ToolCall("1", "startBackgroundTask", {"tool_name": "danger"})
    assert "for guest" in guarded.call(carried, context=GUEST).content
    with pytest.raises(PermissionDeniedError):
        guarded.start(ToolCall("2", "danger", {}), context=GUEST)
    task = guarded.start(ToolCall("3", "outer", {}), context=GUEST).task_id
    guarded.tasks.wait(task, SECONDS)
    assert "for guest" in guarded.tasks.tool_result(task).content


def test_a_tool_may_make_a_call_for_another_context_and_sees_its_own(guarded):
    assert guarded.call(ToolCall("1", "given", {"agent": "owner"}), context=GUEST).content == "ran"
    assert guarded.call(ToolCall("1", "given", {"agent": "guest"})).kind == "ok"
    assert "for guest" in guarded.call(ToolCall("1", "given", {"agent": "guest"})).content
    assert guarded.call(ToolCall("1", "seen", {})).structured["agent"] == "owner"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"tool_name": "danger"}, "denied"),
        ({"tool_name": "seen"}, "ok"),
        ({"tool_name": "missing"}, "not_found"),
        ({"tool_name": "startBackgroundTask", "arguments": {"tool_name": "danger"}}, "denied"),
        ({"tool_name": "startBackgroundTask", "arguments": {}}, "invalid_arguments"),
        ({}, "invalid_arguments"),
    ],
)
def test_check_of_a_carrier_is_about_the_call_inside(guarded, arguments, kind):
    checked = guarded.check(ToolCall("1", "startBackgroundTask", arguments), context=GUEST)
    assert (checked.tool, checked.kind) == ("startBackgroundTask", kind)


@pytest.mark.parametrize("request_", [None, "work", {"id": "1", "name": "seen"}])
def test_what_is_no_request_is_refused_at_the_door(guarded, request_):
    for ask in (guarded.call, guarded.submit, guarded.start, guarded.check, guarded.judged, guarded.detach):
        with pytest.raises(TypeError, match="ToolCall"):
            ask(request_)

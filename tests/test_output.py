"""The current call: output reaches the right callback and nobody else, in whatever thread, and when nested."""

from __future__ import annotations

import contextvars
import threading

import pytest

from executor import CancelToken, ToolCall, ToolExecutor, current_call, get_current_tool_output_callback
from executor.calls._token import source_of


@pytest.fixture
def speak(executor):
    def speak(args):
        get_current_tool_output_callback()(args["text"])

    executor.register("speak", speak)
    return executor


def test_outside_a_call_there_is_no_callback_and_no_call():
    assert get_current_tool_output_callback() is None
    assert current_call() is None


def test_output_reaches_the_calls_own_callback_first(speak):
    own, instance = [], []
    speak.set_tool_output_callback(instance.append)
    speak.execute("speak", {"text": "a"}, own.append)
    speak.execute("speak", {"text": "b"})
    assert (own, instance) == (["a"], ["b"])


def test_an_inner_call_without_a_callback_speaks_through_the_outer_one(speak):
    own, instance = [], []
    speak.set_tool_output_callback(instance.append)
    speak.register("outer", lambda args: speak.execute("speak", {"text": "inner"}))
    speak.execute("outer", {}, own.append)
    assert (own, instance) == (["inner"], [])


def test_nested_calls_restore_the_outer_callback(speak):
    outer, inner = [], []

    def both(args):
        say = get_current_tool_output_callback()
        say("before")
        speak.execute("speak", {"text": "inside"}, inner.append)
        assert get_current_tool_output_callback() == say
        get_current_tool_output_callback()("after")

    speak.register("both", both)
    assert speak.execute("both", {}, outer.append)[0]
    assert (outer, inner) == (["before", "after"], ["inside"])
    assert current_call() is None


def test_without_any_listener_a_tool_may_still_speak(speak):
    assert speak.execute("speak", {"text": "nobody hears this"}) == (True, None)


@pytest.mark.parametrize("route", ["inline", "worker"])
def test_sixteen_threads_with_sixteen_callbacks_never_mix(route):
    with ToolExecutor() as executor:
        together = threading.Barrier(16)

        def chatter(args):
            together.wait(20)  # all sixteen are inside their tool now
            for n in range(50):
                current_call().emit(f"{args['me']}:{n}")
            together.wait(20)

        executor.register("chatter", chatter, timeout=60 if route == "worker" else None)
        heard = [[] for _ in range(16)]
        threads = [
            threading.Thread(target=executor.execute, args=("chatter", {"me": me}, heard[me].append))
            for me in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert heard == [[f"{me}:{n}" for n in range(50)] for me in range(16)]


def test_the_callers_context_variables_reach_a_worker(executor):
    variable = contextvars.ContextVar("variable", default="unset")
    executor.register("look", lambda args: variable.get(), timeout=20)
    variable.set("set")
    assert executor.execute("look") == (True, "set")


def test_a_callback_that_raises_is_left_out_and_the_tool_goes_on(executor, caplog):
    heard = []

    def broken(chunk):
        heard.append(chunk)
        raise SystemExit("no")

    def talk(args):
        for n in range(3):
            current_call().emit(str(n))
        return "done"

    executor.register("talk", talk)
    assert executor.execute("talk", {}, broken) == (True, "done")
    assert heard == ["0"]
    assert len(caplog.records) == 1
    assert "left out" in caplog.text


def test_bytes_and_other_values_become_text(executor, recorder):
    def talk(args):
        for chunk in (b"\xffbytes", 7):
            current_call().emit(chunk)

    executor.register("talk", talk)
    executor.execute("talk", {}, recorder)
    assert recorder.chunks == ["\ufffdbytes", "7"]


def test_after_the_answer_a_tool_is_no_longer_heard(executor, recorder):
    kept = []
    executor.register("keep", lambda args: kept.append(get_current_tool_output_callback()))
    executor.execute("keep", {}, recorder)
    kept[0]("late")
    assert recorder.chunks == []


def test_a_tools_own_thread_belongs_to_the_call_when_it_is_started_by_it(executor, recorder):
    def work(args):
        seen = []
        bare = threading.Thread(target=lambda: seen.append(current_call()))
        bare.start()
        bare.join(10)
        current_call().run_in_thread(lambda: get_current_tool_output_callback()("from a thread")).join(10)
        return seen

    executor.register("work", work)
    assert executor.execute("work", {}, recorder) == (True, [None])
    assert recorder.text == "from a thread"


def test_progress_reaches_the_host_and_never_goes_back(executor):
    def work(args):
        current_call().progress(1, 10, "one")
        current_call().progress(5, 10)
        current_call().progress(3, 10, "back?")

    seen = []
    executor.register("work", work)
    executor.call(ToolCall("1", "work"), on_progress=lambda *told: seen.append(told))
    assert seen == [(1, 10, "one"), (5, 10, None), (5, 10, "back?")]


def test_a_progress_callback_that_raises_is_left_out(executor, caplog):
    def work(args):
        current_call().progress(1)
        current_call().progress(2)
        return "done"

    executor.register("work", work)
    result = executor.call(ToolCall("1", "work"), on_progress=lambda *told: 1 / 0)
    assert result.value == "done"
    assert len(caplog.records) == 1


def test_tools_see_themselves_and_their_host(executor):
    def look(args):
        call = current_call()
        return call.id, call.tool.name, call.tool.annotations.read_only, call.host is executor

    executor.register("look", look, annotations={"read_only": True})
    assert executor.execute("look", call_id="c9") == (True, ("c9", "look", True, True))


def test_the_gate_sees_the_tool_that_is_called(executor):
    seen = []

    class Plugin:
        def check_permission(self, name, args, context, call_id):
            call = current_call()
            seen.append((call.id, call.tool.argument_kinds, len(call.tool.definition_hash)))
            return True, {}

    executor.register("run", lambda args: 1, argument_kinds={"command": "shell"})
    executor.set_permission_plugin(Plugin())
    executor.execute("run", {}, None, "c1")
    assert seen == [("c1", {"command": "shell"}, 64)]


class TestCancelToken:
    def test_cancelling_runs_every_function_once_and_wakes_every_wait(self):
        token, ran, woken = CancelToken(), [], []
        waiting = threading.Barrier(3)

        def wait():
            waiting.wait(10)
            woken.append(token.wait(30))

        threads = [threading.Thread(target=wait) for _ in range(2)]
        for thread in threads:
            thread.start()
        token.on_cancel(lambda: ran.append(1))
        forget = token.on_cancel(lambda: ran.append(2))
        forget()
        waiting.wait(10)
        assert token.cancel("enough") is True
        assert token.cancel() is False
        for thread in threads:
            thread.join(10)
        assert (ran, woken) == ([1], [True, True])

    def test_a_function_given_too_late_runs_at_once(self):
        token, ran = CancelToken(), []
        token.cancel()
        token.on_cancel(lambda: ran.append(1))
        assert ran == [1]
        assert token.wait(30) is True

    def test_waiting_without_a_stop_says_so(self):
        assert CancelToken().wait(0.001) is False

    def test_one_function_that_raises_does_not_keep_the_others(self, caplog):
        token, ran = CancelToken(), []
        token.on_cancel(lambda: 1 / 0)
        token.on_cancel(lambda: ran.append(1))
        token.cancel()
        assert ran == [1]
        assert "on_cancel" in caplog.text

    def test_whoever_comes_first_has_it(self):
        ended, stopped = CancelToken(), CancelToken()
        assert source_of(ended).end() is None
        assert ended.cancel() is False
        assert not ended.cancelled
        stopped.cancel("stop")
        assert str(source_of(stopped).end()) == "stop"


def test_a_function_given_to_on_cancel_may_block_without_holding_up_who_cancels(executor):
    started, release, blocked = threading.Event(), threading.Event(), threading.Event()

    def block():
        blocked.set()
        release.wait(30)

    def work(args):
        current_call().on_cancel(block)
        started.set()
        release.wait(30)

    executor.register("work", work, timeout=30)
    results = []
    thread = threading.Thread(target=lambda: results.append(executor.execute("work", call_id="c")))
    thread.start()
    assert started.wait(10)
    assert executor.cancel("c")
    assert blocked.wait(10)
    thread.join(10)
    assert results[0][1]["cancelled"]
    release.set()


def test_general_output_goes_to_plugins_exposed_now_and_later():
    from executor import PluginRegistry, hookimpl

    class Speaker:
        def __init__(self):
            self.callback = None

        @hookimpl
        def executor_set_output_callback(self, callback):
            self.callback = callback

    registry, now, later = PluginRegistry(bundled=False, entry_points=False), Speaker(), Speaker()
    registry.register(now, "now")
    registry.expose("now")
    heard = []
    with ToolExecutor(registry=registry) as executor:
        executor.set_output_callback(lambda *told: heard.append(told))
        registry.register(later, "later")
        registry.expose("later")
        now.callback("now", "text", "write")
        later.callback("later", "text", "append")
        assert executor.get_output_callback() is now.callback
    assert heard == [("now", "text", "write"), ("later", "text", "append")]


def test_an_executor_gives_a_registry_its_callback_and_none_where_it_has_none():
    from executor import PluginRegistry, hookimpl

    class Speaker:
        def __init__(self):
            self.given = []

        @hookimpl
        def executor_set_output_callback(self, callback):
            self.given.append(callback)

    registry, speaker = PluginRegistry(bundled=False, entry_points=False), Speaker()
    registry.register(speaker, "speaker")
    registry.expose("speaker")
    speaker.given.clear()
    with ToolExecutor() as silent, ToolExecutor() as early, ToolExecutor() as late:
        silent.set_registry(registry)
        assert speaker.given == []
        early.set_output_callback(print)
        early.set_registry(registry)
        assert speaker.given == [print]
        late.set_registry(registry)
        late.set_output_callback(repr)
        assert speaker.given == [print, repr]

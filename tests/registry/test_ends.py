"""When plugins are shut down: unexposed, closed, or left by the last executor."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from executor import Decision, PluginRegistry, TaskManager, Tool, ToolCall, ToolExecutor, Verdict, hookimpl
from executor.errors import BackendUnavailableError, ToolFailedError
from executor.run import ExponentialRetry, RetryConfig, ToolBackend


class Holder:
    """Notes what it is told, in the list it shares with others."""

    def __init__(self, told, name, error=None):
        self.told, self.name, self.error = told, name, error

    @hookimpl
    def executor_configure(self, config):
        self.told.append(f"{self.name} configured")

    @hookimpl
    def executor_register_tools(self, register):
        register(self.name, lambda args: self.name)

    @hookimpl
    def executor_shutdown(self):
        self.told.append(f"{self.name} ended")
        if self.error is not None:
            raise self.error


@pytest.fixture
def told():
    return []


@pytest.fixture
def holders(registry, told):
    for name in ("one", "two"):
        registry.register(Holder(told, name), name)
    registry.expose_all()
    told.clear()
    return registry


def test_a_plugin_is_ended_when_it_is_unexposed_and_configured_when_exposed_again(holders, told):
    holders.unexpose("one")
    assert told == ["one ended"]
    holders.unexpose("one")
    assert holders.expose("one")
    assert told == ["one ended", "one configured"]


def test_a_plugin_whose_configuration_changes_is_ended_first(holders, told):
    assert holders.expose("one", {"size": 1})
    assert told == ["one ended", "one configured"]


def test_closing_ends_every_plugin_once_the_last_first(holders, told):
    holders.close()
    holders.close()
    assert told == ["two ended", "one ended"]
    assert holders.tools == {}


def test_a_with_block_closes(told):
    with PluginRegistry(bundled=False, entry_points=False) as registry:
        registry.register(Holder(told, "one"), "one")
        registry.expose("one")
    assert told == ["one configured", "one ended"]


def test_what_the_last_executor_ended_is_not_ended_again(holders, told):
    ToolExecutor(registry=holders).shutdown()
    assert told == ["two ended", "one ended"]
    holders.close()
    assert told == ["two ended", "one ended"]


def test_every_last_executor_ends_the_plugins(holders, told):
    ToolExecutor(registry=holders).shutdown()
    told.clear()
    with ToolExecutor(registry=holders) as executor:
        assert executor.execute("one") == (True, "one")
    assert told == ["two ended", "one ended"]


def test_a_plugin_that_fails_to_end_is_recorded_and_the_others_are_ended(registry, told):
    registry.register(Holder(told, "one"), "one")
    registry.register(Holder(told, "two", SystemExit(1)), "two")
    registry.expose_all()
    registry.close()
    assert told[2:] == ["two ended", "one ended"]
    (failure,) = registry.failures()
    assert (failure.plugin, failure.stage) == ("two", "executor_shutdown")


def test_a_plugin_that_was_configured_and_fails_to_register_is_ended(registry, told):
    class Broken(Holder):
        @hookimpl
        def executor_register_tools(self, register):
            raise RuntimeError("no")

    registry.register(Broken(told, "one"), "one")
    assert registry.expose("one") is False
    assert told == ["one configured", "one ended"]


def test_a_refresh_that_began_before_its_plugin_was_unexposed_brings_nothing_back(registry):
    asked, go_on, again = threading.Event(), threading.Event(), []

    class Slow:
        @hookimpl
        def executor_register_tools(self, register):
            if again:
                asked.set()
                assert go_on.wait(10)
            again.append(register.again)
            register("work", lambda args: 1)

    registry.register(Slow(), "slow")
    registry.expose("slow")
    thread = threading.Thread(target=again[0])
    thread.start()
    assert asked.wait(10)
    registry.unexpose("slow")
    go_on.set()
    thread.join(10)
    assert not thread.is_alive()
    assert registry.tools == {}
    assert registry.list_exposed() == []


def test_executors_know_that_tools_are_gone_before_their_plugin_is_ended(registry):
    offered = []

    class Observer(Holder):
        @hookimpl
        def executor_shutdown(self):
            offered.append(executor.list_tools())

    registry.register(Observer([], "one"), "one")
    registry.expose("one")
    with ToolExecutor(registry=registry) as executor:
        assert [tool.name for tool in executor.list_tools()] == ["one"]
        registry.unexpose("one")
    assert offered == [[]]


def test_a_listener_may_use_the_registry_while_another_thread_exposes(registry, told):
    """Neither waits for the other: who is told holds no lock that exposing needs, and the other way round."""
    holding, go_on = threading.Event(), threading.Event()

    class Slow:
        @hookimpl
        def executor_configure(self, config):
            holding.set()
            assert go_on.wait(10)

    registry.register(Slow(), "slow")
    registry.register(Holder(told, "one"), "one")
    heard = []

    def listen():
        go_on.set()
        heard.append(len(registry.describe()))

    registry.expose("one")
    registry.on_tools_changed(listen)
    thread = threading.Thread(target=registry.expose, args=("slow",))
    thread.start()
    assert holding.wait(10)
    registry.refresh("one")
    thread.join(10)
    assert not thread.is_alive()
    assert heard == [2, 2]


def test_an_executor_that_is_dropped_is_not_kept_by_its_registry(registry, told):
    registry.register(Holder(told, "one"), "one")
    registry.expose("one")
    dropped = [weakref.ref(ToolExecutor(registry=registry)) for _ in range(3)]
    gc.collect()
    assert [each() for each in dropped] == [None] * 3
    told.clear()
    registry.refresh("one")
    with ToolExecutor(registry=registry) as executor:
        assert executor.execute("one") == (True, "one")
    assert told == ["one ended"], "those that were dropped count no more"


class Configured:
    """Tools of every kind that say what the plugin is configured with now."""

    @hookimpl
    def executor_configure(self, config):
        self.word = config["word"]

    @hookimpl
    def executor_register_tools(self, register):
        async def on_loop(args):
            return self.word

        def in_pieces(args):
            yield self.word

        register("plain", lambda args: self.word)
        register("typed", self.typed)
        register("apart", lambda args: self.word, timeout=60)
        register("on_loop", on_loop)
        register("in_pieces", in_pieces)
        register(Tool("elsewhere"), backend=ToolBackend.provider("it", "elsewhere"))

    def typed(self) -> str:
        return self.word

    @hookimpl
    def executor_register_backends(self, register):
        register("provider", self)

    def call_tool(self, provider_id, tool_id, args):
        return self.word


class Meanwhile:
    """Says yes, after it has done something."""

    def __init__(self, act):
        self.act = act

    def decide(self, call, context):
        return Decision("ask")

    def ask(self, call, decision, context):
        self.act()
        return Verdict(True)


def ways(executor, name):
    """What the call of a tool comes to, on each way."""
    yield executor.call(ToolCall("1", name))
    yield executor.submit(ToolCall("2", name)).result(10)
    task = executor.start(ToolCall("3", name)).task_id
    executor.tasks.wait(task, 10)
    yield executor.tasks.tool_result(task)


@pytest.mark.parametrize("name", ["plain", "typed", "apart", "on_loop", "in_pieces", "elsewhere"])
def test_a_call_that_was_judged_is_not_carried_out_by_a_plugin_that_was_configured_anew_meanwhile(registry, name):
    registry.register(Configured(), "it")
    count = iter(range(100))

    def anew():
        registry.expose("it", {"word": f"of another kind {next(count)}"})

    anew()
    with ToolExecutor(registry=registry, permission_plugin=Meanwhile(anew), tasks=TaskManager.in_memory()) as executor:
        for result in ways(executor, name):
            assert (result.success, result.kind, result.value.get("unavailable")) == (False, "unavailable", True)
            assert "Nothing was started: the plugin 'it' was taken away, or configured anew" in result.error
        if name == "in_pieces":
            with pytest.raises(BackendUnavailableError, match="configured anew"):
                executor.execute_stream(name)
        executor.set_permission_plugin(None)
        assert all("of another kind" in str(result.value) for result in ways(executor, name))


@pytest.mark.parametrize("when", ["by then", "while it waits"])
def test_a_try_after_a_failure_is_not_made_by_a_plugin_that_was_configured_anew(registry, when):
    made, waits = [], []

    def anew() -> None:
        registry.expose("it", {"word": "another"})

    def on_retry(attempt: int, error: BaseException, delay: float) -> None:
        waits.append(attempt)
        anew()

    class Fails(Configured):
        @hookimpl
        def executor_register_tools(self, register):
            retry = RetryConfig(ExponentialRetry(initial=0.0), on_retry=on_retry)
            register("again", self.again, retry=retry, annotations={"idempotent": True})

        def again(self) -> str:
            made.append(self.word)
            if when == "by then":
                anew()
            raise ToolFailedError("not yet")

    registry.register(Fails(), "it")
    registry.expose("it", {"word": "one"})
    with ToolExecutor(registry=registry) as executor:
        assert executor.execute("again")[1]["error"] == "not yet"  # and not that nothing was started
    assert made == ["one"]
    assert waits == ([] if when == "by then" else [1])

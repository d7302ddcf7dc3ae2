"""Calling hooks: through pluggy, in order, each failure by itself."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import re
import threading
import types
from pathlib import Path

import pluggy
import pytest

from executor import (
    Decision,
    PluginRegistry,
    TokenLedger,
    ToolCall,
    ToolExecutor,
    ToolResult,
    errors,
    hookimpl,
    hookspecs,
)
from executor.hookspecs import CallScope
from executor.registry._hooks import HOOKS, _Manager


class Plugin:
    """One tool, `tool`, and what it was configured with."""

    def __init__(self, tool="work", result="done"):
        self.tool, self.result, self.config = tool, result, None

    @hookimpl
    def executor_configure(self, config):
        self.config = config
        if config.get("broken"):
            raise ValueError("broken: leave it out")
        if config.get("exits"):
            raise SystemExit(0)

    @hookimpl
    def executor_register_tools(self, register):
        register(self.tool, lambda args: self.result, description="Work.")


def test_hook_wrappers_are_refused(registry):
    class Wrapper:
        @hookimpl(wrapper=True)
        def executor_check_permission(self):
            return (yield)

    with pytest.raises(errors.PluginLoadError, match="wrapper"):
        registry.register(Wrapper(), "wrapper")
    assert registry.list_available() == []


async def later(self, register):
    register("late", lambda args: 1)


def bit_by_bit(self, register):
    yield register("late", lambda args: 1)


@pytest.mark.parametrize("body", [later, bit_by_bit])
def test_a_hook_of_which_nothing_runs_is_a_failure_that_says_so(registry, body):
    idle = type("Idle", (), {"executor_register_tools": hookimpl(body)})
    registry.register(idle(), "idle")
    registry.expose("idle")
    assert "executor_register_tools is async or has a yield in it" in registry.failures()[0].error


def test_an_observer_that_is_async_is_recorded_and_changes_nothing(registry):
    class Async:
        @hookimpl
        async def executor_after_call(self, call, result):
            pass

    registry.register(Async(), "async")
    registry.expose("async")
    with ToolExecutor(registry=registry) as executor:
        executor.register("one", lambda args: 1)
        assert executor.execute("one") == (True, 1)
    assert [failure.plugin for failure in registry.failures()] == ["async"]


def test_an_implementation_with_a_wrong_argument_is_refused(registry):
    class Wrong:
        @hookimpl
        def executor_check_permission(self, nonsense):
            pass

    with pytest.raises(errors.PluginLoadError, match="nonsense"):
        registry.register(Wrong(), "wrong")


def test_a_misspelt_hook_is_a_warning_that_names_the_plugin(registry, caplog):
    class Misspelt:
        @hookimpl
        def executor_register_tolls(self):
            pass

    registry.register(Misspelt(), "misspelt")
    assert "'misspelt'" in caplog.text
    assert "executor_register_tolls" in caplog.text


def test_tracing_prints_each_hook_call(monkeypatch, capsys):
    monkeypatch.setenv("TOOLEXEC_TRACE_PLUGINS", "1")
    registry = PluginRegistry(bundled=False, entry_points=False)
    registry.register(Plugin(), "one")
    registry.expose("one")
    assert "executor_register_tools -> one(register)" in capsys.readouterr().err


def test_observers_see_frozen_copies_of_what_happens(registry):
    seen = []

    class Observer:
        @hookimpl
        def executor_before_call(self, call):
            seen.append(("before", call.name, dict(call.arguments)))
            call.arguments["a"] = "changed"

        @hookimpl
        def executor_after_call(self, call, result):
            seen.append(("after", call.id, result.success))
            result.value["x"] = "changed"

    registry.register(Observer(), "observer")
    registry.expose("observer")
    with ToolExecutor(registry=registry) as executor:
        executor.register("give", lambda args: {"a": args["a"]})
        assert executor.execute("give", {"a": 1}, call_id="c1") == (True, {"a": 1})
    assert seen == [("before", "give", {"a": 1}), ("after", "c1", True)]


def test_an_observer_that_raises_is_recorded_and_changes_nothing(registry, caplog):
    class Broken:
        @hookimpl
        def executor_before_call(self, call):
            raise SystemExit("no")

        @hookimpl
        def executor_after_call(self, call, result):
            raise RuntimeError("no")

    registry.register(Broken(), "broken")
    registry.expose("broken")
    with ToolExecutor(registry=registry) as executor:
        executor.register("give", lambda args: 1)
        assert [executor.execute("give") for _ in range(3)] == [(True, 1)] * 3
    assert {failure.stage for failure in registry.failures()} == {"executor_before_call", "executor_after_call"}
    assert len(caplog.records) == 2


def test_the_end_of_a_task_is_observed_once(registry):
    ended, told = threading.Event(), []

    class Observer:
        @hookimpl
        def executor_task_done(self, task):
            told.append((task.tool_name, str(task.status)))
            ended.set()

    registry.register(Observer(), "observer")
    registry.expose("observer")
    with ToolExecutor(registry=registry) as executor:
        executor.register("work", lambda args: 1, auto_background=0)
        executor.execute("work")
        assert ended.wait(10)
    assert told == [("work", "completed")]


def test_plugins_are_told_to_free_what_they_hold_after_the_last_executor(registry):
    freed = []

    class Holder:
        @hookimpl
        def executor_shutdown(self):
            freed.append(1)

    registry.register(Holder(), "holder")
    registry.expose("holder")
    first, second = ToolExecutor(registry=registry), ToolExecutor(registry=registry)
    first.shutdown()
    first.shutdown()
    assert freed == []
    second.shutdown()
    assert freed == [1]


ORDERED = [
    "executor_start_call",
    "executor_before_call",
    "executor_deny_call",
    "executor_after_call",
    "executor_task_done",
]


@pytest.fixture
def ordered(registry):
    """Registers plugins that note their names when an observing hook is called."""
    called = []

    def add(name, **options):
        def note(self):
            called.append(name)

        registry.register(type(name, (), {hook: hookimpl(**options)(note) for hook in ORDERED})(), name)
        registry.expose(name)

    add("one")
    add("late", trylast=True)
    add("two")
    add("early", tryfirst=True)
    return called


def test_observers_are_called_in_the_order_of_registration_but_for_tryfirst_and_trylast(registry, ordered):
    call = ToolCall("c", "work", {})
    hooks = registry.hooks
    assert hooks.observes
    for tell in (
        lambda: hooks.start_call(call),
        lambda: hooks.before_call(call),
        lambda: hooks.deny_call(call, Decision("deny")),
        lambda: hooks.after_call(call, ToolResult("c", success=True)),
        lambda: hooks.task_done(None),
    ):
        tell()
        assert ordered == ["early", "one", "two", "late"]
        ordered.clear()


def test_what_plugins_put_around_a_call_is_seen_by_its_tool_and_left_in_the_reverse_order(registry):
    word, order = contextvars.ContextVar("word", default="nothing"), []

    @contextlib.contextmanager
    def around(name):
        token = word.set(f"{word.get()} {name}")
        order.append(name)
        yield
        word.reset(token)
        order.append(f"{name} is left")

    def plugin(name, **notes):
        start = hookimpl(lambda self, call: CallScope(notes, around(name)))
        return type(name, (), {"executor_start_call": start})()

    registry.register(plugin("one", a="1", b="1"), "one")
    registry.register(plugin("two", b="2"), "two")
    registry.register(type("none", (), {"executor_start_call": hookimpl(lambda self: None)})(), "none")
    registry.expose_all()
    ledger = TokenLedger()
    with ToolExecutor(ledger, registry=registry) as executor:
        executor.register("say", lambda args: word.get())
        executor.register("limited", lambda args: word.get(), timeout=10)
        assert executor.execute("say") == (True, "nothing one two")
        assert word.get() == "nothing"
        assert order == ["one", "two", "two is left", "one is left"]
        assert executor.submit(ToolCall("2", "limited")).result(10).value == "nothing one two"
        assert not executor.execute("missing")[0]
    assert len(order) == 12
    assert {(record["a"], record["b"]) for record in ledger.records} == {("1", "2")}
    assert word.get() == "nothing"


def test_a_scope_that_fails_is_recorded_and_the_others_are_entered_and_left(registry):
    seen = []

    class Scope(contextlib.AbstractContextManager):
        def __init__(self, fails):
            self.fails = fails

        def __enter__(self):
            seen.append("entered")
            if self.fails == "enter":
                raise ValueError("no")

        def __exit__(self, *error):
            seen.append("left")
            if self.fails == "exit":
                raise SystemExit("no")

    class Surrounding:
        def __init__(self, fails):
            self.fails = fails

        @hookimpl
        def executor_start_call(self, call):
            if self.fails == "call":
                raise KeyError("no")
            return CallScope(around=Scope(self.fails))

    for number, fails in enumerate(["exit", "enter", "call", ""]):
        registry.register(Surrounding(fails), f"p{number}")
        registry.expose(f"p{number}")
    with ToolExecutor(registry=registry) as executor:
        executor.register("give", lambda args: 1)
        assert executor.execute("give") == (True, 1)
    assert seen == ["entered", "entered", "entered", "left", "left"]
    assert sorted(failure.plugin for failure in registry.failures()) == ["p0", "p1", "p2"]


@pytest.mark.parametrize(("options", "first"), [({}, "one"), ({"tryfirst": True}, "two")])
def test_of_two_denials_the_reason_of_the_first_is_shown(registry, options, first):
    def deny(name, **marks):
        fn = hookimpl(**marks)(lambda self: Decision("deny", reason=name))
        registry.register(type(name, (), {"executor_check_permission": fn})(), name)
        registry.expose(name)

    deny("one")
    deny("two", **options)
    with ToolExecutor(registry=registry) as executor:
        executor.register("work", lambda args: 1)
        assert executor.execute("work")[1]["error"] == f"Permission denied: {first}"


@pytest.mark.parametrize("mark", ["tryfirst", "trylast"])
def test_an_order_that_cannot_matter_is_warned_about(registry, caplog, mark):
    fn = hookimpl(**{mark: True})(lambda self, register: None)
    registry.register(type("P", (), {"executor_register_tools": fn})(), "eager")
    assert "executor_register_tools" in caplog.text
    assert "'eager'" in caplog.text
    assert mark in registry.describe()[0]["remarks"][0]


def test_two_implementations_of_one_hook_in_a_plugin_are_refused(registry):
    class Twice:
        @hookimpl
        def executor_before_call(self):
            pass

        @hookimpl(specname="executor_before_call")
        def other(self):
            pass

    with pytest.raises(errors.PluginLoadError, match="twice"):
        registry.register(Twice(), "twice")


def test_an_observer_of_denials_is_told_the_decision(registry):
    told = []

    class Observer:
        @hookimpl
        def executor_deny_call(self, call, decision):
            told.append((call.name, decision.reason))

    registry.register(Observer(), "observer")
    registry.expose("observer")
    registry.hooks.deny_call(ToolCall("c", "work", {}), Decision("deny", reason="no"))
    assert told == [("work", "no")]


def test_a_plugin_that_cannot_be_hashed_works(registry):
    class Unhashable(Plugin):
        __hash__ = None

        def __eq__(self, other):
            return True

    registry.register(Unhashable("one"), "one")
    registry.register(Unhashable("two"), "two")
    assert registry.expose_all() == ["one", "two"]
    assert sorted(registry.tools) == ["one", "two"]


def test_the_output_callback_is_given_to_plugins_now_and_to_those_exposed_later(registry):
    taken = []

    def taker(name):
        fn = hookimpl(lambda self, callback: taken.append((name, callback)))
        registry.register(type(name, (), {"executor_set_output_callback": fn})(), name)
        registry.expose(name)

    taker("one")
    registry.set_output_callback(print)
    taker("two")
    assert taken == [("one", None), ("one", print), ("two", print)]


def test_every_hook_is_in_the_table_of_the_documentation():
    text = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(executor_\w+)\((.*)\)` \| (.*) \|$", text, re.MULTILINE)
    specs = [getattr(hookspecs, name) for name in HOOKS]
    assert told == [
        (spec.__name__, ", ".join(inspect.signature(spec).parameters), said(spec.__doc__)) for spec in specs
    ]


def said(doc):
    """What a hook's docstring says, as a cell of a table."""
    text = doc.strip().rstrip(".").replace("``", "`")
    return text[0].lower() + text[1:]


def test_every_way_to_implement_a_hook_that_pluggy_knows_is_found():
    def fn(self=None):
        pass

    class Plugin:
        executor_configure = hookimpl(lambda self: None)
        executor_start_call = staticmethod(hookimpl(lambda: None))
        executor_before_call = classmethod(hookimpl(lambda cls: None))
        executor_after_call = hookimpl(staticmethod(lambda: None))
        executor_deny_call = hookimpl(lambda self: None).__get__(1)
        executor_task_done = property(fn)
        unmarked = fn

        @hookimpl(specname="executor_shutdown")
        def __call__(self):
            pass

        @hookimpl(specname="executor_register_tools")
        def __eq__(self, other):
            return self is other

        __hash__ = object.__hash__

    module = types.ModuleType("module")
    vars(module).update({name: value for name, value in vars(Plugin).items() if not name.startswith("__")})
    module.executor_task_done = Plugin().__call__
    module.other = hookimpl(specname="executor_set_output_callback")(lambda: None)
    for plugin in (Plugin(), Plugin, module):
        known, ours = pluggy.PluginManager("executor"), _Manager("executor")
        found = {name: known.parse_hookimpl_opts(plugin, name) for name in dir(plugin)}
        assert {name: ours.parse_hookimpl_opts(plugin, name) for name in dir(plugin)} == found
        assert sum(options is not None for options in found.values()) >= 6, found

"""The table of situations: what `execute` and `call` return for whatever can happen to a call."""

from __future__ import annotations

import functools
import threading

import pytest

from executor import ToolCall, ToolExecutor, current_call, errors
from executor.testing import HeldTool

ADD = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


class Gatekeeper:
    """A permission plugin that says what it was told to say, and remembers what it was asked."""

    def __init__(self, *answers):
        self.answers = list(answers) or [(True, {"reason": "ok", "method": "whitelist"})]
        self.asked = []

    def check_permission(self, name, args, context, call_id):
        self.asked.append((name, args, context, call_id))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
def add(executor):
    calls = []

    def add(args):
        calls.append(args)
        return {"sum": args["a"] + args["b"]}

    executor.register("add", add, schema=ADD)
    return calls


def test_a_tool_returns_its_result(executor, add):
    assert executor.execute("add", {"a": 1, "b": 2}) == (True, {"sum": 3})


def test_arguments_may_be_json_text_as_some_models_give_them(executor, add):
    assert executor.execute("add", '{"a": 1, "b": 2}') == (True, {"sum": 3})


def test_no_arguments_are_empty_arguments(executor):
    executor.register("count", lambda args: len(args))
    assert executor.execute("count") == executor.execute("count", None) == executor.execute("count", {}) == (True, 0)


def test_an_unknown_tool_asks_nobody(executor):
    keeper = Gatekeeper()
    executor.set_permission_plugin(keeper)
    assert executor.execute("wholly", {}) == (False, {"error": "No executor registered for wholly"})
    assert keeper.asked == []


def test_an_unknown_tool_with_a_near_name_gets_a_hint(executor, add):
    _, value = executor.execute("ad", {})
    assert value == {"error": "No executor registered for ad. Did you mean add?"}


@pytest.mark.parametrize("name", ["", "a b", "a:b:c:d", ":a", "a::b", "x\x1b[31m", "ä", None, 3, [], "a" * 129])
def test_a_malformed_name_is_said_to_be_one(executor, name):
    success, value = executor.execute(name, {})
    assert not success
    assert value["error"].startswith("Invalid tool id")
    assert "\x1b" not in value["error"]


@pytest.mark.parametrize(
    ("args", "path", "keyword"),
    [
        ({"a": 1}, "", "required"),
        ({"a": 1, "b": "x"}, "/b", "type"),
        ({"a": 1, "b": 2, "c": 3}, "", "additionalProperties"),
        ({"a": 1, "b": float("nan")}, "/b", "type"),
        ({"a": 1, "b": float("inf")}, "/b", "type"),
        ({"a": 1, "b": {1, 2}}, "/b", "type"),
        ({"a": 1, "b": [b"bytes"]}, "/b/0", "type"),
        ({"a": 1, 2: 3}, "", "propertyNames"),
        ({"a": 1, "b": "\ud800"}, "/b", "encoding"),
        ([1, 2], "", "type"),
        (7, "", "type"),
        ("[1, 2]", "", "type"),
        ("{nonsense", "", "json"),
        ('{"a": 1, "a": 2}', "", "uniqueKeys"),
        ('{"a": NaN}', "", "json"),
        ('{"a": 1} trailing', "", "json"),
        ('{"a": "\\ud800"}', "/a", "encoding"),
        ('{"a":' * 5000, "", "json"),
    ],
)
def test_arguments_that_do_not_fit_never_reach_the_tool_or_the_gate(executor, add, args, path, keyword):
    keeper = Gatekeeper()
    executor.set_permission_plugin(keeper)
    success, value = executor.execute("add", args)
    assert not success
    assert value["errors"][0]["path"] == path
    assert value["errors"][0]["keyword"] in (keyword, "maxDepth")
    assert value["errors"][0]["message"]
    assert value["error"]
    assert add == []
    assert keeper.asked == []


def test_arguments_that_contain_themselves_are_refused(executor, add):
    args = {"a": 1}
    args["b"] = args
    success, value = executor.execute("add", args)
    assert not success
    assert value["errors"][0]["keyword"] == "maxDepth"


def test_what_the_tool_gets_is_a_copy(executor):
    inner = ["x"]
    args = {"list": inner, "pair": (1, 2)}

    def change(args):
        args["list"].append("y")
        args["new"] = 1
        return args["pair"]

    executor.register("change", change)
    assert executor.execute("change", args) == (True, [1, 2])
    assert args == {"list": ["x"], "pair": (1, 2)}


@pytest.mark.parametrize("value", [None, 0, "", [], {"error": "mine"}, (1, 2), ({"a": 1}, {"b": 2}), object()])
def test_whatever_a_tool_returns_is_the_result(executor, value):
    executor.register("give", lambda args: value)
    assert executor.execute("give") == (True, value)


def test_a_pair_with_metadata_becomes_one_dict(executor):
    first = {"output": "x"}
    executor.register("give", lambda args: (first, {"continuation_id": "s", "show_output": False}))
    assert executor.execute("give") == (True, {"output": "x", "continuation_id": "s", "show_output": False})
    assert first == {"output": "x"}


def test_further_metadata_keys_can_be_registered(executor):
    executor.register("give", lambda args: ({"x": 1}, {"colour": "red"}))
    assert executor.execute("give") == (True, ({"x": 1}, {"colour": "red"}))
    executor.register_metadata_keys("colour")
    assert executor.execute("give") == (True, {"x": 1, "colour": "red"})


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (ValueError("bad"), "bad"),
        (ValueError(), "ValueError"),
        (SystemExit("bye"), "SystemExit: bye"),
        (SystemExit(), "SystemExit"),
        (GeneratorExit("g"), "GeneratorExit: g"),
        (KeyError("k"), "KeyError: 'k'"),  # what args["k"] raises: the key alone would tell a model nothing
    ],
)
@pytest.mark.parametrize("route", ["inline", "worker"])
def test_whatever_a_tool_raises_is_an_error_with_its_traceback(executor, raised, text, route):
    def fail(args):
        raise raised

    executor.register("fail", fail, timeout=20 if route == "worker" else None)
    success, value = executor.execute("fail")
    assert not success
    assert value["error"] == text
    assert "in fail" in value["traceback"]


def test_ctrl_c_inside_a_tool_ends_the_call_and_says_so(executor):
    def fail(args):
        raise KeyboardInterrupt

    executor.register("fail", fail)
    success, value = executor.execute("fail")
    assert not success
    assert value["interrupted"] is True


def test_an_error_whose_text_cannot_be_made_is_still_an_error(executor):
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    def fail(args):
        raise Broken

    executor.register("fail", fail)
    success, value = executor.execute("fail")
    assert not success
    assert value["error"].startswith("Broken")


def test_a_tool_that_fails_on_purpose_chooses_its_words(executor):
    def fail(args):
        raise errors.ToolFailedError("the file is gone: list the folder", result={"tried": 2})

    executor.register("fail", fail)
    _, value = executor.execute("fail")
    assert value["error"] == "the file is gone: list the folder"
    assert value["result"] == {"tried": 2}


def test_a_backend_that_is_down_is_said_to_be_unavailable(executor):
    def fail(args):
        raise errors.BackendUnavailableError("the server is gone")

    executor.register("fail", fail)
    assert executor.execute("fail")[1]["unavailable"] is True
    with pytest.raises(errors.ExecutorUnavailableError, match="the server is gone"):
        executor.as_port().execute(ToolCall("1", "fail"))


def test_a_result_that_does_not_fit_its_schema_is_an_error_that_keeps_it(executor):
    executor.register("give", lambda args: {"n": "x"}, output_schema={"properties": {"n": {"type": "integer"}}})
    success, value = executor.execute("give")
    assert not success
    assert value["result"] == {"n": "x"}
    assert value["errors"] == [{"path": "/n", "keyword": "type", "message": "'x' is not of type 'integer'"}]


def test_a_result_that_is_no_json_does_not_fit_a_schema(executor):
    executor.register("give", lambda args: {1: object()}, output_schema={"type": "object"})
    success, value = executor.execute("give")
    assert not success
    assert value["errors"]


# The gate ------------------------------------------------------------------------------------------------------------


def test_an_allowed_call_carries_what_was_decided_on_a_copy(executor):
    kept = {"x": 1}
    executor.register("give", lambda args: kept)
    executor.set_permission_plugin(Gatekeeper((True, {"reason": "ok", "method": "whitelist", "rule": "give"})))
    success, value = executor.execute("give")
    assert success
    permission = {"decision": "allowed", "reason": "ok", "method": "whitelist", "rule": "give"}
    assert value == {"x": 1, "_permission": permission}
    assert kept == {"x": 1}


def test_a_denied_call_never_runs(executor, add):
    executor.set_permission_plugin(Gatekeeper((False, {"reason": "no way", "method": "blacklist"})))
    success, value = executor.execute("add", {"a": 1, "b": 2})
    assert not success
    permission = {"decision": "denied", "reason": "no way", "method": "blacklist"}
    assert value == {"error": "Permission denied: no way", "_permission": permission}
    assert add == []


def test_a_users_comment_reaches_the_model_without_a_prefix(executor, add):
    executor.set_permission_plugin(Gatekeeper((False, {"reason": "use b=3", "method": "user_comment"})))
    assert executor.execute("add", {"a": 1, "b": 2})[1]["error"] == "use b=3"


@pytest.mark.parametrize(
    "answer",
    [RuntimeError("broken"), SystemExit(1), KeyboardInterrupt(), None, True, (1, {}), ("yes", {}), (True, "info"), ()],
)
def test_a_permission_plugin_that_fails_is_a_denial(executor, add, answer):
    executor.set_permission_plugin(Gatekeeper(answer))
    success, value = executor.execute("add", {"a": 1, "b": 2})
    assert not success
    assert value["error"].startswith("Permission check failed: ")
    assert value["traceback"]
    assert value["_permission"]["decision"] == "denied"
    assert value["_permission"]["method"] == "error"
    assert add == []


def test_the_plugin_gets_name_arguments_context_and_id(executor, add):
    keeper, context = Gatekeeper(), {"session_id": "abc"}
    executor.set_permission_plugin(keeper, context)
    executor.execute("add", {"a": 1, "b": 2}, None, "call_7")
    ((name, args, given, call_id),) = keeper.asked
    assert (name, args, call_id) == ("add", {"a": 1, "b": 2}, "call_7")
    assert given is context


def test_a_plugin_that_changes_its_copy_does_not_change_the_call(executor, add):
    class Sly:
        def check_permission(self, name, args, context, call_id):
            args["a"] = 1000
            return True, {"reason": "", "method": "x"}

    executor.set_permission_plugin(Sly())
    assert executor.execute("add", {"a": 1, "b": 2})[1]["sum"] == 3


def test_edited_arguments_are_judged_again_and_run(executor, add):
    edit = (
        True,
        {"reason": "edited", "method": "user_approved", "was_edited": True, "modified_args": {"a": 5, "b": 5}},
    )
    keeper = Gatekeeper(edit, (True, {"reason": "ok", "method": "user_approved"}))
    executor.set_permission_plugin(keeper)
    success, value = executor.execute("add", {"a": 1, "b": 2})
    assert success
    assert value["sum"] == 10
    assert value["_permission"]["was_edited"] is True
    assert [asked[1] for asked in keeper.asked] == [{"a": 1, "b": 2}, {"a": 5, "b": 5}]


def test_arguments_may_be_edited_to_nothing(executor):
    ran_with = []
    executor.register("note", ran_with.append)
    executor.set_permission_plugin(
        Gatekeeper((True, {"reason": "", "method": "x", "was_edited": True, "modified_args": {}}))
    )
    executor.execute("note", {"cmd": "ORIGINAL"})
    assert ran_with == [{}]


def test_edited_arguments_that_do_not_fit_run_nothing(executor, add):
    bad = (True, {"reason": "", "method": "x", "was_edited": True, "modified_args": {"a": "BAD"}})
    executor.set_permission_plugin(Gatekeeper(bad))
    success, value = executor.execute("add", {"a": 1, "b": 2})
    assert not success
    assert value["errors"]
    assert add == []


def test_edited_arguments_can_be_denied(executor, add):
    edit = (True, {"reason": "", "method": "x", "was_edited": True, "modified_args": {"a": 5, "b": 5}})
    executor.set_permission_plugin(Gatekeeper(edit, (False, {"reason": "not that", "method": "blacklist"})))
    assert executor.execute("add", {"a": 1, "b": 2})[1]["_permission"]["method"] == "blacklist"
    assert add == []


def test_a_plugin_that_edits_for_ever_is_a_denial(executor, add):
    class Restless:
        def check_permission(self, name, args, context, call_id):
            edited = {"a": args["a"] + 1, "b": 0}
            return True, {"reason": "", "method": "x", "was_edited": True, "modified_args": edited}

    executor.set_permission_plugin(Restless())
    success, value = executor.execute("add", {"a": 1, "b": 2})
    assert not success
    assert value["_permission"]["method"] == "invalid"
    assert add == []


def test_an_object_that_is_no_permission_plugin_is_refused(executor):
    with pytest.raises(TypeError, match="check_permission"):
        executor.set_permission_plugin(object())


# `call`, the port, and the end ---------------------------------------------------------------------------------------


def test_call_gives_one_result_with_the_calls_id(executor, add):
    result = executor.call(ToolCall("toolu_1", "add", {"a": 1, "b": 2}))
    assert (result.call_id, result.success, result.is_error) == ("toolu_1", True, False)
    assert result.value == {"sum": 3}
    assert result.content == '{"sum":3}'
    assert result.error is None


def test_what_the_gate_decided_is_told_to_the_host_and_not_to_the_model(executor, add):
    executor.set_permission_plugin(Gatekeeper())
    result = executor.call(ToolCall("1", "add", {"a": 1, "b": 2}))
    assert result.permission == {"decision": "allowed", "reason": "ok", "method": "whitelist"}
    assert result.content == '{"sum":3}'


def test_a_failure_is_told_to_the_model_in_words(executor):
    result = executor.call(ToolCall("1", "gone"))
    assert (result.success, result.is_error) == (False, True)
    assert result.content == result.error == "No executor registered for gone"


@pytest.mark.parametrize("args", [None, {}, "", " \n", "null", " null ", b"", b"null", "{}"])
def test_no_arguments_may_be_said_in_any_way_that_model_apis_have(executor, args):
    executor.register("give", lambda arguments: [arguments])
    assert executor.execute("give", args) == (True, [{}])


@pytest.mark.parametrize(
    ("value", "content"), [("text", "text"), (None, "null"), ([1, "é"], '[1,"é"]'), ({"a": b"\xff"}, '{"a":"�"}')]
)
def test_content_is_text_for_a_model(executor, value, content):
    executor.register("give", lambda args: value)
    assert executor.call(ToolCall("1", "give")).content == content


def test_the_port_lists_and_executes(executor, add):
    port = executor.as_port()
    assert [tool.name for tool in port.list_tools()] == ["add"]
    assert port.execute(ToolCall("1", "add", {"a": 1, "b": 2})).value == {"sum": 3}
    assert port.execute(ToolCall("2", "add", {})).success is False


def test_a_time_limit_ends_the_call_and_drops_the_late_result(executor):
    with HeldTool() as held:
        executor.register("held", held, timeout=0.02)
        success, value = executor.execute("held")
        assert not success
        assert value == {"error": "held timed out after 0.02 s", "timed_out": True}
        assert executor.abandoned == 1


def test_the_callers_time_limit_beats_the_tools_own(executor):
    with HeldTool() as held:
        executor.register("held", held, timeout=20)
        assert executor.call(ToolCall("1", "held"), timeout=0.02).value["timed_out"]


def test_a_default_time_limit_holds_for_tools_without_one():
    with ToolExecutor(default_timeout=0.02) as executor, HeldTool() as held:
        executor.register("held", held)
        assert executor.execute("held")[1]["timed_out"]


@pytest.mark.parametrize("limit", [0, -1, True, "1", float("nan")])
def test_a_time_limit_that_cannot_be_meant_is_refused(executor, limit):
    with pytest.raises(ValueError, match="timeout"):
        executor.call(ToolCall("1", "x"), timeout=limit)


@pytest.mark.parametrize("route", ["inline", "worker"])
def test_a_foreground_call_can_be_stopped_by_its_id(executor, route):
    started = threading.Event()

    def work(args):
        started.set()
        current_call().wait(30)
        return "late"

    executor.register("work", work, timeout=30 if route == "worker" else None)
    results = []
    thread = threading.Thread(target=lambda: results.append(executor.execute("work", call_id="c1")))
    thread.start()
    assert started.wait(10)
    assert executor.cancel("c2") is False
    assert executor.cancel("c1") is True
    assert executor.cancel("c1") is False
    thread.join(10)
    assert results == [(False, {"error": "The call was cancelled", "cancelled": True})]


def test_a_call_that_is_cancelled_before_it_begins_never_runs(executor, add):
    from executor import CancelToken

    token = CancelToken()
    token.cancel("not any more")
    result = executor.call(ToolCall("1", "add", {"a": 1, "b": 2}), cancel=token)
    assert result.value == {"error": "not any more", "cancelled": True}
    assert add == []


def test_stopping_the_outer_call_stops_the_inner_one(executor):
    started, inner_result = threading.Event(), []

    def inner(args):
        started.set()
        current_call().wait(30)

    executor.register("inner", inner)
    executor.register("outer", lambda args: inner_result.append(executor.execute("inner")))
    thread = threading.Thread(target=lambda: executor.execute("outer", call_id="o"))
    thread.start()
    assert started.wait(10)
    executor.cancel("o")
    thread.join(10)
    assert inner_result[0][1]["cancelled"] is True


def test_a_tool_that_calls_itself_without_end_is_found(executor):
    executor.register("again", lambda args: executor.execute("again"))
    value = executor.execute("again")
    for _ in range(200):
        if not value[0]:
            break
        value = value[1]
    assert "nested deeper" in value[1]["error"]


def test_after_shutdown_calls_are_refused_and_say_why(executor, add):
    executor.shutdown()
    assert executor.execute("add", {"a": 1, "b": 2})[1] == {
        "error": "The executor has been shut down",
        "unavailable": True,
    }


def test_every_form_of_tool_can_be_called(executor):
    class Box:
        def __call__(self, args):
            return "object"

        def method(self, args: dict):
            return "method"

    executor.register("lambda", lambda a: "lambda")
    executor.register("partial", functools.partial(lambda args, extra: extra, extra=3))
    executor.register("object", Box())
    executor.register("method", Box().method)
    assert [executor.execute(name)[1] for name in ("lambda", "partial", "object", "method")] == [
        "lambda",
        3,
        "object",
        "method",
    ]

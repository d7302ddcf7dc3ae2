"""The run layer by itself: resolution, selection, validation and the order of the stages, without an executor."""

from __future__ import annotations

import pytest

from executor import CancelToken, current_call, errors
from executor.run import BackendKind, Runner, Tool, ToolBackend

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


class Index:
    """A tool index with these tools, each with these backends."""

    def __init__(self, tools, backends=None, error=None):
        self.tools, self.backends, self.error = tools, backends or {}, error

    def get_tool(self, tool_id):
        if self.error is not None:
            raise self.error
        if tool_id not in self.tools:
            raise errors.ToolNotFoundError(tool_id)
        return self.tools[tool_id]

    def get_all_backends(self, tool_id):
        return self.backends.get(tool_id, [ToolBackend.local(tool_id)])


@pytest.fixture
def local():
    return {"double": lambda args: 2 * args["n"], "other": lambda args: "other"}


def test_a_tool_of_the_index_runs_on_its_local_function(local):
    runner = Runner(Index({"double": Tool("double", SCHEMA)}), local=local)
    result = runner.run("double", {"n": 21})
    assert (result.structured, result.backend, result.is_error) == (42, ToolBackend.local("double"), False)
    assert result.tool.name == "double"


def test_what_the_index_does_not_know_the_resolvers_are_asked(local):
    runner = Runner(
        Index({}),
        tool_resolver=lambda tool_id: Tool("double", SCHEMA) if tool_id == "ns:double" else None,
        backends_resolver=lambda tool_id: [ToolBackend.local("double")],
        local=local,
    )
    assert runner.run("ns:double", {"n": 1}).structured == 2
    with pytest.raises(errors.ToolNotFoundError):
        runner.run("ns:triple", {"n": 1})


def test_a_source_that_fails_is_not_one_that_does_not_know(local):
    down = ConnectionError("the database is down")
    runner = Runner(Index({}, error=down), tool_resolver=lambda tool_id: Tool("double"), local=local)
    with pytest.raises(ConnectionError) as caught:
        runner.run("double")
    assert caught.value is down


def test_a_tool_that_nothing_can_run_is_an_error_of_its_own():
    runner = Runner(Index({"x": Tool("x")}, {"x": []}))
    with pytest.raises(errors.NoBackendsError, match="x"):
        runner.run("x")


def test_local_comes_before_provider_before_mcp_in_list_order(local):
    backends = [
        ToolBackend.mcp("s"),
        ToolBackend.provider("p", "t"),
        ToolBackend.local("other"),
        ToolBackend.local("double"),
    ]
    runner = Runner(Index({"x": Tool("x")}, {"x": backends}), local=local)
    assert runner.run("x").structured == "other"


def test_a_selector_chooses_and_a_stranger_is_refused(local):
    backends = [ToolBackend.local("other"), ToolBackend.local("double")]
    index = Index({"x": Tool("x")}, {"x": backends})
    assert Runner(index, backend_selector=lambda given: given[1], local=local).run("x", {"n": 2}).structured == 4
    with pytest.raises(errors.ExecutionError, match="not one of the tool's backends") as caught:
        Runner(index, backend_selector=lambda given: ToolBackend.local("z"), local=local).run("x")
    assert caught.value.op == "select_backend"


@pytest.mark.parametrize(
    ("backend", "text"),
    [
        (ToolBackend.mcp("server"), "No mcp backend is configured"),
        (ToolBackend.provider("p", "t"), "No provider backend is configured"),
        (ToolBackend.local("missing"), "'missing'"),
    ],
)
def test_a_backend_that_is_not_there_is_named(backend, text):
    with pytest.raises(errors.ExecutionError, match=text):
        Runner(Index({"x": Tool("x")}, {"x": [backend]})).run("x")


def test_arguments_and_results_are_validated_unless_switched_off(local):
    bad = Tool("double", SCHEMA, {"type": "string"})
    index = Index({"double": bad})
    with pytest.raises(errors.InvalidArgumentsError) as caught:
        Runner(index, local=local).run("double", {"n": "x"})
    assert str(caught.value).startswith("validate_input double [local]: Invalid arguments for double: /n:")
    with pytest.raises(errors.InvalidResultError) as caught:
        Runner(index, local=local).run("double", {"n": 1})
    assert caught.value.result == 2
    assert Runner(index, local=local, validate_output=False).run("double", {"n": 1}).structured == 2
    assert (
        Runner(index, local=local, validate_input=False, validate_output=False).run("double", {"n": "x"}).structured
        == "xx"
    )


def test_a_broken_schema_of_an_index_is_the_tools_fault(local):
    with pytest.raises(errors.SchemaError, match="'double'"):
        Runner(Index({"double": Tool("double", {"type": "nonsense"})}), local=local).run("double", {"n": 1})


def test_a_malformed_id_is_refused(local):
    with pytest.raises(errors.InvalidToolIdError):
        Runner(local=local).run("a:b:c:d")


def test_a_tool_that_raises_fails_with_the_original_as_its_cause():
    def fail(args):
        raise KeyError("k")

    with pytest.raises(errors.ToolFailedError) as caught:
        Runner(Index({"x": Tool("x")}), local={"x": fail}).run("x")
    assert isinstance(caught.value.__cause__, KeyError)
    assert (caught.value.tool_id, caught.value.backend.kind) == ("x", BackendKind.LOCAL)


def test_the_gate_stands_between_validation_and_the_tool(local):
    seen = []

    def gate(prepared):
        seen.append(prepared.arguments)
        raise errors.PermissionDeniedError("no")

    runner = Runner(Index({"double": Tool("double", SCHEMA)}), local=local, gate=gate)
    with pytest.raises(errors.InvalidArgumentsError):
        runner.run("double", {})
    assert seen == []
    with pytest.raises(errors.PermissionDeniedError):
        runner.run("double", {"n": 1})
    assert seen == [{"n": 1}]


def test_a_run_can_be_stopped_and_a_stopped_one_never_starts(local):
    ran, token = [], CancelToken()

    def work(args):
        ran.append(1)
        token.cancel("enough")
        assert current_call().cancelled
        return "late"

    runner = Runner(Index({"x": Tool("x")}), local={"x": work})
    with pytest.raises(errors.ToolCancelledError, match="enough"):
        runner.run("x", cancel=token)
    with pytest.raises(errors.ToolCancelledError):
        runner.run("x", cancel=token)
    assert ran == [1]


def test_coroutines_run_without_an_executor_too():
    async def work(args):
        return args["n"]

    runner = Runner(Index({"x": Tool("x")}), local={"x": work})
    assert runner.run("x", {"n": 3}).structured == 3
    runner.close()


def test_an_executor_asks_a_given_runner_after_its_own_tools(executor, local):
    from executor import ToolExecutor

    runner = Runner(Index({"double": Tool("double", SCHEMA), "other": Tool("other")}), local=local)
    with ToolExecutor(runner=runner) as executor:
        executor.register("other", lambda args: "mine")
        assert executor.execute("double", {"n": 2}) == (True, 4)
        assert executor.execute("other") == (True, "mine")

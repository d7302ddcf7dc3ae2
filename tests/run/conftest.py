"""What the tests of the run layer share."""

from __future__ import annotations

import pytest

from executor.run import Runner, Tool, ToolBackend
from executor.testing import StubIndex


@pytest.fixture
def runner_of():
    """Makes a runner of local functions by name, each with the given tool options; closed at the end of the test."""
    made = []

    def make(functions=None, *, options=None, **keywords):
        functions = functions or {}
        tools = [Tool(name, **(options or {}).get(name, {})) for name in functions]
        runner = Runner(StubIndex(tools), local=dict(functions), **keywords)
        made.append(runner)
        return runner

    yield make
    for runner in made:
        runner.close()


@pytest.fixture
def remote():
    """Makes a runner of one tool ``x`` on one backend elsewhere, ``mcp`` or ``provider``."""
    made = []

    def make(kind, backend, tool=None, **keywords):
        where = ToolBackend.mcp("server") if kind == "mcp" else ToolBackend.provider("shop", "buy")
        index = StubIndex([tool or Tool("x")], {"x": [where]})
        runner = Runner(index, **{kind: backend}, **keywords)
        made.append(runner)
        return runner

    yield make
    for runner in made:
        runner.close()

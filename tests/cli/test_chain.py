"""``toolexec chain`` and ``toolexec call --stream``: files of steps, rehearsals, events and exit codes."""

from __future__ import annotations

import json

import pytest

PLUGIN = """
from executor import current_call, hookimpl
from executor.run import StreamEvent

READS = {"annotations": {"read_only": True}}


def count(args):
    for number in range(args["to"]):
        current_call().progress(number + 1, args["to"])
        yield number
    if args.get("sum"):
        return {"sum": sum(range(args["to"]))}


def speak(args):
    yield "hello "
    yield "there"


def stumble(args):
    yield "so far"
    raise ValueError("and no further")


@hookimpl
def executor_register_tools(register):
    anything = {"type": "object"}
    register("give", lambda args: {"n": args["n"], "list": [1, 2]}, schema=anything, **READS)
    number = {"properties": {"n": {"type": "integer"}}, "required": ["n"]}
    register("double", lambda args: 2 * args["n"], schema=number, **READS)
    register("last", lambda args: args["previous"], schema=anything, **READS)
    register("fails", lambda args: 1 / 0, schema=anything, **READS)
    register("alter", lambda args: "altered", schema=anything)
    for fn in (count, speak, stumble):
        register(fn.__name__, fn, schema=anything, **READS)
"""


@pytest.fixture(autouse=True)
def plugin(add_plugin, policy):
    add_plugin("stepping", PLUGIN)
    allowed = ["echo", "give", "double", "last", "fails", "count", "speak", "stumble"]
    policy({"whitelist": {"tools": allowed}})


@pytest.fixture
def chain(run, tmp_path):
    """Run a chain of these steps, from a file."""

    def invoke(steps, *words, name="steps.json"):
        file = tmp_path / name
        file.write_text(steps if isinstance(steps, str) else json.dumps(steps), encoding="utf-8")
        return run("chain", str(file), *words)

    return invoke


STEPS = [
    {"toolId": "give", "args": {"n": 4}, "name": "four"},
    {"parallel": [{"toolId": "double", "args": {"n": {"$step": "four.n"}}}, {"toolId": "double", "args": {"n": 1}}]},
    {"toolId": "last", "usePrevious": True},
]


def test_the_last_result_goes_to_stdout(chain):
    result = chain(STEPS)
    assert (result.exit_code, json.loads(result.stdout), result.stderr) == (0, [8, 2], "")


def test_json_has_every_step(chain):
    told = json.loads(chain(STEPS, "--json").stdout)
    assert told["final"] == [8, 2]
    assert [step["toolId"] for step in told["steps"]] == ["give", "double", "double", "last"]
    assert told["steps"][0]["value"] == {"n": 4, "list": [1, 2]}


def test_a_chain_may_be_toml_or_come_from_stdin(chain, run):
    toml = """
        [[steps]]
        toolId = "give"
        name = "a"
        args = {n = 3}
        [[steps]]
        toolId = "double"
        args = {n = {"$step" = "a.n"}}
    """
    assert chain(toml, name="steps.toml").stdout == "6\n"
    assert run("chain", "-", stdin='{"steps": [{"toolId": "double", "args": {"n": 2}}], "timeout": 20}').stdout == "4\n"
    assert chain([]).stdout == ""


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("{", "not JSON"),
        ({"step": []}, "unknown key 'step'"),
        ({"steps": 7}, 'no "steps"'),
        ("7", 'no "steps"'),
        ([{"toolId": "double", "args": {"n": {"$step": "nobody"}}}], "leads to no step"),
        ([{"tool": "double"}], "unknown key 'tool'"),
        ([{"toolId": "doubel"}], "Did you mean double?"),
        (
            [{"toolId": "give", "args": {"n": 1}}, {"toolId": "double", "args": {"n": "x"}}],
            "'x' is not of type 'integer'",
        ),
    ],
)
def test_what_is_wrong_with_a_chain_is_said_as_wrong_usage(chain, steps, said):
    result = chain(steps)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_a_file_that_is_not_there_is_said(run):
    result = run("chain", "nowhere.json")
    assert (result.exit_code, "cannot be read" in result.stderr) == (2, True)


def test_a_step_that_fails_ends_the_chain_with_its_exit_code_and_the_records(chain):
    result = chain([{"toolId": "give", "args": {"n": 1}}, {"toolId": "fails"}], "--json")
    error = json.loads(result.stderr.splitlines()[-1])["error"]
    assert result.exit_code == error["exit_code"] == 5
    assert error["details"]["index"] == 1
    assert [step["toolId"] for step in error["details"]["steps"]] == ["give", "fails"]
    assert "division by zero" in error["details"]["steps"][1]["error"]


def test_every_step_is_asked_for_like_a_call(chain):
    steps = [{"toolId": "give", "args": {"n": 1}}, {"toolId": "alter"}]
    refused = chain(steps)
    assert refused.exit_code == 3
    assert "pass --yes" in refused.stderr
    assert chain(steps, "--yes").stdout == "altered\n"


def test_a_rehearsal_says_what_would_be_decided_and_runs_nothing(chain):
    steps = [*STEPS, {"toolId": "alter"}]
    told = json.loads(chain(steps, "--dry-run", "--json").stdout)["steps"]
    assert [(step["tool"], step["decision"], step["arguments_checked"]) for step in told] == [
        ("give", "allow", True),
        ("double", "allow", False),
        ("double", "allow", True),
        ("last", "allow", False),
        ("alter", "ask", True),
    ]
    lines = chain(steps, "--dry-run").stdout.splitlines()
    assert lines[1].startswith("1 double: allow")
    assert lines[1].endswith("its arguments are checked when it runs")
    assert lines[-1] == "Nothing was run."


def test_a_rehearsal_finds_arguments_that_do_not_fit(chain):
    result = chain([{"toolId": "double", "args": {"n": "x"}}], "--dry-run")
    assert result.exit_code == 2
    assert "not of type" in result.stderr


# Streams -------------------------------------------------------------------------------------------------------------


def test_pieces_are_written_as_they_are(run):
    assert run("call", "speak", "--stream").stdout == "hello there\n"
    assert run("call", "count", "to:=2", "--stream").stdout == "0\n1\n"
    assert run("call", "count", "to:=2", "sum:=true", "--stream").stdout == '0\n1\n{"sum":1}\n'


def test_what_gives_its_result_in_one_piece_is_one_piece(run):
    assert run("call", "echo", "text=hi", "--stream").stdout == '{"text":"hi"}\n'


def test_json_is_one_event_a_line(run):
    events = [json.loads(line) for line in run("call", "count", "to:=1", "--stream", "--json").stdout.splitlines()]
    assert events == [
        {"kind": "progress", "toolId": "count", "data": {"progress": 1, "total": 1}},
        {"kind": "chunk", "toolId": "count", "data": 0},
        {"kind": "done", "toolId": "count", "data": [0]},
    ]


def test_a_stream_that_fails_ends_with_its_exit_code(run):
    result = run("call", "stumble", "--stream")
    assert (result.exit_code, result.stdout) == (5, "so far\n")
    assert "and no further" in result.stderr
    refused = run("call", "alter", "--stream")
    assert (refused.exit_code, refused.stdout) == (3, "")

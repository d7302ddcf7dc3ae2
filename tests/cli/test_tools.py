"""``toolexec tools``."""

from __future__ import annotations

import json

import pytest

KEYS = {
    "name", "plugin", "signature", "title", "description", "annotations", "argument_kinds", "background",
    "threshold_seconds", "timeout_seconds", "input_schema", "output_schema",
}  # fmt: skip


def test_list_shows_signatures_by_plugin(run):
    result = run("tools", "list")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines.index("shell") < next(
        i for i, line in enumerate(lines) if line.startswith("  runCommand(command?: string")
    )
    assert "  echo(text: string)" in lines


def test_list_as_json_has_the_documented_keys(run_json):
    tools = {tool["name"]: tool for tool in run_json("tools", "list")}
    assert all(tool.keys() == KEYS for tool in tools.values())
    assert tools["echo"]["annotations"] == {"readOnlyHint": True, "idempotentHint": True}
    assert tools["runCommand"]["argument_kinds"]["command"] == "shell"


def test_list_without_any_tool_says_where_to_look(run, monkeypatch):
    monkeypatch.setenv("TOOLEXEC_PLUGINS", "")
    result = run("tools", "list")
    assert (result.exit_code, result.stdout, "plugins list" in result.stderr) == (0, "", True)


def test_list_of_a_plugin_without_tools_says_so_of_it_alone(run):
    result = run("tools", "list", "--plugin", "openapi")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "the plugin 'openapi' brings no tool: see" in result.stderr


def test_list_of_one_plugin_has_its_tools_only(run, run_json):
    assert [tool["name"] for tool in run_json("tools", "list", "--plugin", "echo")] == ["echo"]
    result = run("tools", "list", "--plugin", "nosuch")
    assert (result.exit_code, "'nosuch'" in result.stderr) == (2, True)


def test_show_has_the_schema(run, run_json):
    assert run_json("tools", "show", "echo").keys() == KEYS
    result = run("tools", "show", "echo")
    assert result.stdout.startswith("echo(text: string)\n")
    assert '"What to say back."' in result.stdout


def test_show_of_an_unknown_tool_names_near_ones(run):
    result = run("tools", "show", "echoo")
    assert (result.exit_code, "Did you mean echo?" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("form", "schema"),
    [
        ("mcp", lambda tool: tool["inputSchema"]),
        ("openai", lambda tool: tool["parameters"]),
        ("openai-chat", lambda tool: tool["function"]["parameters"]),
        ("anthropic", lambda tool: tool["input_schema"]),
        ("gemini", lambda tool: tool["parametersJsonSchema"]),
    ],
)
def test_export_speaks_the_words_of_each_api(run, form, schema):
    result = run("tools", "export", "--format", form)
    assert result.exit_code == 0
    assert all(schema(tool)["type"] == "object" for tool in json.loads(result.stdout))


def test_export_refuses_names_that_would_become_one(run, add_plugin):
    source = "from executor import hookimpl\n@hookimpl\ndef executor_register_tools(register):\n"
    add_plugin("twins", source + "    register('a.b', lambda args: 1)\n    register('a_b', lambda args: 1)\n")
    result = run("tools", "export", "--format", "openai")
    assert (result.exit_code, "a.b" in result.stderr) == (2, True)

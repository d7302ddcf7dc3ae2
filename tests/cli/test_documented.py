"""Every command, option, setting and environment variable stands in the documentation."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
from dataclasses import fields
from pathlib import Path

import pytest

from executor import ToolOptions
from executor.cli._config import ENGINE_KEYS, KEYS, TOOL_KEYS, VARIABLES
from executor.registry import BUNDLED

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WRITING = runpy.run_path(str(DOCS / "write_commands.py"))
CLI = (DOCS / "cli.md").read_text(encoding="utf-8")
CONTRIBUTING = (DOCS / "CONTRIBUTING.md").read_text(encoding="utf-8")
CODE = sorted([*(ROOT / "executor").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")])
OURS = re.compile(r"_?TOOLEXEC_\w*[A-Z]")


def test_the_page_of_commands_is_what_the_commands_say():
    stored = WRITING["PAGE"].read_text(encoding="utf-8")
    assert stored == WRITING["write"](), "run: python docs/write_commands.py"


def test_every_command_that_writes_json_is_in_the_table_of_its_shapes():
    section = CLI.partition("## JSON\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    told = {name.partition(" --")[0] for row in rows for name in re.findall(r"`([^`]+)`", row)}
    writing = [
        context.command_path.removeprefix("toolexec ")
        for context in WRITING["commands"]()
        if any("--json" in parameter.opts for parameter in context.command.params)
    ]
    assert len(writing) > 30
    assert sorted(told) == sorted(writing)


def test_every_command_and_option_has_its_help():
    contexts = list(WRITING["commands"]())
    assert len(contexts) > 50
    for context in contexts:
        assert context.command.help, context.command_path
        for written, said in WRITING["options"](context):
            assert re.sub(r"\[.*?\]", "", said).strip(), (context.command_path, written)


def test_every_command_is_in_the_overview():
    overview, _, rest = CLI.partition("\n## ")
    for context in WRITING["commands"]():
        first, *words = context.command_path.split()[1:] or [""]
        if len(words) < 2:
            assert any(names_all(line, [first, *words]) for line in overview.splitlines()), context.command_path
        else:
            assert any(names_all(line, words) for line in rest.splitlines()), context.command_path


def names_all(line, words):
    return all(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", line) for word in words)


READERS = {"os.environ.get", "os.environ.pop", "os.getenv", "environ.get"}  # the last: of a copy


def read_variables(path):
    """The environment variables that a module reads by a name that stands in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        name = None
        if isinstance(node, ast.Call) and ast.unparse(node.func) in READERS:
            name = node.args[0]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            name = node.slice
        elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[-1]) == "os.environ":
            name = node.left
        if isinstance(name, ast.Constant):
            yield name.value
        elif isinstance(name, ast.Name) and isinstance(constants.get(name.id), str):
            yield constants[name.id]


def test_every_environment_variable_is_in_the_table():
    read = {name for path in CODE for name in read_variables(path)}
    read |= {name for path in CODE for name in OURS.findall(path.read_text(encoding="utf-8"))}
    assert read >= {*VARIABLES, "NO_COLOR", "EDITOR", "_TOOLEXEC_COMPLETE"}
    assert read | {"XDG_STATE_HOME"} == documented()  # that platformdirs reads


def documented():
    section = CLI.partition("## Environment\n")[2].partition("\n## ")[0]
    return set(re.findall(r"`([A-Z_]+)`", section))


def test_the_variables_of_the_developers_are_documented_where_they_read():
    scripts = [*(ROOT / ".ci").iterdir(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    used = {name for path in scripts for name in OURS.findall(path.read_text(encoding="utf-8"))}
    for name in used - documented() - {"TOOLEXEC_CALL"}:  # which a test sets to see that it means nothing
        assert f"`{name}`" in CONTRIBUTING, name


def test_every_setting_of_the_file_is_documented():
    section = CLI.partition("## Configuration\n")[2].partition("\n## ")[0]
    for key in KEYS:
        assert re.search(rf"^(\[{key}[.\]]|{key} = )", section, re.MULTILINE), key
    for key in ENGINE_KEYS:
        assert re.search(rf"^{key} = ", section.partition("[engine]")[2].partition("[")[0], re.MULTILINE), key
    tool = section.partition("[tools.")[2]
    for key in TOOL_KEYS:
        assert re.search(rf"^{key} = ", tool, re.MULTILINE), key


def bundled(name):
    """The bundled plugin of this name."""
    module = importlib.import_module(BUNDLED[name])
    return module.executor_plugin() if hasattr(module, "executor_plugin") else module


def known_settings(plugin):
    """The keys that a bundled plugin takes: it names them when it refuses another one."""
    with pytest.raises(ValueError, match=r"unknown key '?zz'?:") as refused:
        bundled(plugin).executor_configure({"zz": 1})
    return re.split(r", | and ", str(refused.value).partition(": use ")[2])


@pytest.mark.parametrize("plugin", [name for name in BUNDLED if hasattr(bundled(name), "executor_configure")])
def test_every_setting_of_a_bundled_plugin_is_in_the_table_or_on_its_page(plugin):
    in_table = re.findall(rf"^\| `plugins\.{plugin}\.(\w+)` \|", CLI, re.MULTILINE)
    texts = [page.read_text(encoding="utf-8") for page in DOCS.glob("*.md") if page.name != "cli.md"]
    on_its_page = "\n".join(text for text in texts if f"[plugins.{plugin}" in text)
    keys = known_settings(plugin)
    assert set(in_table) <= {*keys, "…"}
    for key in keys:
        assert key in in_table or re.search(rf"\b{key}\b", on_its_page), key


def test_every_setting_of_a_server_and_of_a_service_is_on_its_page():
    from executor_mcp._settings import Options
    from executor_openapi._settings import Api

    servers, services = ((DOCS / page).read_text(encoding="utf-8") for page in ("mcp.md", "providers.md"))
    for name in Options._fields:
        assert re.search(rf"\b{name}\b", servers), name
    for field in fields(Api):
        assert field.name == "problem" or re.search(rf"\b{field.name}\b", services), field.name


def test_every_option_of_a_tool_is_documented():
    text = (DOCS / "tools.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(ToolOptions.__annotations__)

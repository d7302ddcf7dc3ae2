"""``toolexec plugins``, and commands that plugins bring."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from executor.cli import _template

BROKEN = "raise RuntimeError('no luck')\n"


def test_a_new_plugin_that_does_not_fit_on_the_disk_leaves_nothing(run, tmp_path, monkeypatch):
    files = _template.files

    def full(*told):  # the names of files that the system refuses to make, once some are there
        return {**files(*told), Path("x" * 300): ""}

    with monkeypatch.context() as patched:
        patched.setattr(_template, "files", full)
        result = run("plugins", "new", "weather", str(tmp_path / "deep" / "weather"))
    assert (result.exit_code, "it cannot be written" in result.stderr) == (1, True)
    assert not (tmp_path / "deep").exists()
    assert run("plugins", "new", "weather", str(tmp_path / "deep" / "weather")).exit_code == 0


def test_list_has_the_bundled_plugins_with_their_tools(run, run_json):
    rows = {row["name"]: row for row in run_json("plugins", "list")}
    assert rows["echo"] == {
        "name": "echo",
        "origin": "bundled",
        "version": None,
        "status": "exposed",
        "tools": ["echo"],
        "hooks": ["executor_register_tools"],
        "load_seconds": rows["echo"]["load_seconds"],
        "remarks": [],
        "failures": [],
    }
    assert "runCommand" in run("plugins", "list").stdout


def test_installed_plugin_has_its_distribution_and_version(run_json, tools):
    made = next(row for row in run_json("plugins", "list") if row["name"] == "made")
    assert (made["origin"], made["version"]) == ("cli_test_made", "1.2")


def test_plugin_that_fails_is_listed_with_the_reason_and_the_others_work(run, run_json, add_plugin):
    add_plugin("broken", BROKEN)
    row = next(row for row in run_json("plugins", "list") if row["name"] == "broken")
    assert (row["status"], row["failures"][0]["stage"]) == ("failed", "load")
    result = run("plugins", "list")
    assert "no luck" in result.stderr
    assert run("call", "echo", "text=a").exit_code == 0


def test_warnings_are_objects_when_json_was_asked_for(run, add_plugin):
    add_plugin("broken", BROKEN)
    result = run("tools", "list", "--json")
    assert "no luck" in json.loads(result.stderr)["warning"]
    assert json.loads(result.stdout)


def test_what_a_plugin_prints_is_no_part_of_the_result(run, add_plugin):
    add_plugin("chatty", "print('hello!')\n")
    result = run("tools", "list", "--json")
    assert json.loads(result.stdout)
    assert result.stderr == "hello!\n"


def test_show_has_hooks_tools_and_the_traceback_of_a_failure(run, add_plugin):
    add_plugin("broken", BROKEN)
    assert "RuntimeError: no luck" in run("plugins", "show", "broken").stdout
    assert "executor_register_tools" in run("plugins", "show", "echo").stdout
    result = run("plugins", "show", "nosuch")
    assert (result.exit_code, "echo" in result.stderr) == (2, True)


def test_new_writes_a_plugin_and_never_overwrites(run, run_json, tmp_path):
    folder = tmp_path / "weather"
    told = run_json("plugins", "new", "weather", str(folder))
    assert told["files"] == [
        str(folder / name)
        for name in (
            "pyproject.toml", "README.md", "executor_weather/__init__.py", "executor_weather/py.typed",
            "tests/test_weather.py", ".github/workflows/tests.yml", ".gitignore",
        )
    ]  # fmt: skip
    assert sorted(map(str, (path for path in folder.rglob("*") if path.is_file()))) == sorted(told["files"])
    before = (folder / "executor_weather" / "__init__.py").read_text()
    result = run("plugins", "new", "weather", str(folder))
    assert (result.exit_code, "nothing is overwritten" in result.stderr) == (2, True)
    assert (folder / "executor_weather" / "__init__.py").read_text() == before


def test_new_names_a_folder_that_looks_like_an_option_as_a_folder(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("plugins", "new", "weather", "--", "-w")
    assert "pip install -e './-w[test]'" in result.stderr
    assert "pytest ./-w" in result.stderr


@pytest.mark.parametrize("name", ["Wéather", "1st", "../x", "", "echo", "shell", "class"])
def test_new_refuses_names_that_cannot_be_used(run, tmp_path, name):
    assert run("plugins", "new", name, str(tmp_path / "new")).exit_code == 2
    assert not (tmp_path / "new").exists()


def test_new_says_when_it_cannot_write(run, tmp_path):
    (tmp_path / "file").write_text("")
    result = run("plugins", "new", "weather", str(tmp_path / "file" / "below"))
    assert (result.exit_code, "Traceback" in result.stderr) == (1, False)


@pytest.mark.parametrize("name", ["weather", "my-weather", "a_b_c"])
def test_new_writes_what_tools_for_python_take(run, tmp_path, name):
    assert run("plugins", "new", name, str(tmp_path)).exit_code == 0
    module = name.replace("-", "_")
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text())
    assert project["project"]["name"] == "executor-" + name.replace("_", "-")
    assert project["project"]["entry-points"]["executor"] == {module: f"executor_{module}"}
    (needed,) = project["project"]["dependencies"]
    assert re.fullmatch(r"toolexec>=\d+\.\d+", needed)
    workflow = yaml.safe_load((tmp_path / ".github/workflows/tests.yml").read_text())
    assert workflow["jobs"]["tests"]["steps"][1]["with"]["python-version"] == "${{ matrix.python }}"
    for command in (["check", "--select", "E,F,UP,B,SIM,RUF"], ["format", "--check", "--diff"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", str(tmp_path)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout


@pytest.mark.packaging
def test_new_plugin_can_be_installed_and_called(run, process, tmp_path, monkeypatch):
    assert run("plugins", "new", "my-weather", str(tmp_path / "source")).exit_code == 0
    installed = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(installed), str(tmp_path / "source")], check=True, capture_output=True)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(installed), os.environ["PYTHONPATH"]]))
    done = process("call", "myWeather", "text=wind and rain", "--json", "--yes")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["words"] == 3
    row = next(row for row in json.loads(process("plugins", "list", "--json").stdout) if row["name"] == "my_weather")
    assert (row["origin"], row["version"], row["status"]) == ("executor-my-weather", "0.1.0", "exposed")


COMMANDS = """
import click
from executor import hookimpl

@hookimpl
def executor_register_commands(cli):
    @cli.command("hello")
    def hello():
        "Greet."
        click.echo("hello from a plugin")
        return 3

    @cli.command("version")
    def version():
        click.echo("not mine to take")
"""


def test_plugin_adds_a_command(run, add_plugin):
    add_plugin("polite", COMMANDS)
    result = run("hello")
    assert (result.exit_code, result.stdout) == (0, "hello from a plugin\n")
    assert "Greet." in run("hello", "--help").stdout


def test_command_that_exists_stays_as_it_was_and_that_is_said(run, add_plugin):
    add_plugin("polite", COMMANDS)
    assert "toolexec" in run("version").stdout
    for word in ("hello", "nosuch"):
        assert run(word).stderr.count("the command 'version' of cli_test_polite is left out") == 1


def test_plugin_that_fails_to_add_its_commands_takes_no_other_with_it(run, add_plugin):
    add_plugin("angry", "from executor import hookimpl\n@hookimpl\ndef executor_register_commands(cli):\n    1 / 0\n")
    add_plugin("polite", COMMANDS)
    result = run("hello")
    assert (result.exit_code, result.stdout) == (0, "hello from a plugin\n")
    assert "angry" in result.stderr

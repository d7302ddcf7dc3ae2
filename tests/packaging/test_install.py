"""The real thing: the README's first command in a copy of the tree, and plugins of other packages beside it. Slow."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(400)]


def run(*command, cwd, check=True, **environment):
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=350,
        check=False,
        env={**clean, "PIP_COMPILE": "0", **environment},  # of all that is installed little is ever imported
    )
    assert not check or done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of what belongs to the project, without git and without anything installed."""
    copy = tmp_path_factory.mktemp("clone") / "toolexec"
    kept = ("executor", "plugins", "pyproject.toml", "setup.cfg", "README.md", "LICENSE", "permissions.example.json")
    copy.mkdir()
    for name in kept:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def first_command(checkout):
    """The README's first shell block, as it stands, with what it printed."""
    block = next(code for language, code in BLOCKS if language == "sh").replace("python3", sys.executable, 1)
    return run("bash", "-euc", block, cwd=checkout)


def toolexec(checkout, *arguments, **options):
    return run(str(checkout / ".venv/bin/toolexec"), *arguments, cwd=checkout.parent, **options)


def test_the_first_command_installs_and_runs_a_real_command(first_command):
    shown = first_command.stderr + first_command.stdout
    assert len(re.findall(r"\d\d:\d\d:\d\d", shown)) == 4
    assert re.search(r"shell_[0-9a-f]{24,}", shown)


# Of the other dependencies mcp asks for a newer one than we do.
OURS = ("click", "docstring-parser", "jsonschema-rs", "mcp", "pluggy", "tenacity", "tree-sitter", "tree-sitter-bash")


def test_the_oldest_dependencies_that_are_permitted_do(checkout, tmp_path):
    asked = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    oldest = [f"{name}=={least}" for name, least in (re.match(r"([\w-]+)>=([\d.]+)", each).groups() for each in asked)]
    oldest = [each for each in oldest if each.partition("==")[0] in OURS]
    assert len(oldest) == len(OURS)
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"), cwd=tmp_path)
    run(str(tmp_path / "venv/bin/pip"), "install", "--quiet", *oldest, str(checkout), cwd=tmp_path)
    command = str(tmp_path / "venv/bin/toolexec")
    policy = {"TOOLEXEC_PERMISSIONS": str(checkout / "permissions.example.json"), "HOME": str(tmp_path)}
    called = run(command, "call", "runCommand", "command=echo one && date", cwd=tmp_path, **policy)
    assert called.stdout.startswith("one\n")
    refused = run(command, "nonsense", cwd=tmp_path, check=False, **policy)
    assert refused.returncode == 2
    assert "No such command 'nonsense'" in refused.stderr


def test_the_wheel_holds_the_package_and_the_plugins_and_nothing_else(checkout, first_command, tmp_path):
    pip = str(checkout / ".venv/bin/pip")
    run(pip, "wheel", "--quiet", "--no-deps", "-w", str(tmp_path), str(checkout), cwd=tmp_path)
    (wheel,) = tmp_path.glob("toolexec-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    plugins = {path.name for path in (ROOT / "plugins").iterdir() if path.name.startswith("executor_")}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"executor", *plugins}
    for package in ("executor", *plugins):
        assert f"{package}/py.typed" in names
    assert "executor_permissions/starter.json" in names
    assert {"executor_console/static/index.html", "executor_console/static/page.js"} <= {*names}
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_a_plugin_of_another_package_is_found_and_a_broken_one_is_reported(checkout, first_command, tmp_path):
    toml = next(code for language, code in BLOCKS if language == "toml")
    echo = (ROOT / "plugins/executor_echo/__init__.py").read_text(encoding="utf-8")
    hello, broken = tmp_path / "hello", tmp_path / "broken"
    hello.mkdir()
    (hello / "pyproject.toml").write_text(toml)
    (hello / "executor_hello.py").write_text(echo.replace('register("echo"', 'register("hello"'))
    broken.mkdir()
    (broken / "pyproject.toml").write_text(toml.replace("hello", "broken"))
    (broken / "executor_broken.py").write_text("raise RuntimeError('broken on purpose')\n")
    pip = str(checkout / ".venv/bin/pip")
    run(pip, "install", "--quiet", "--no-deps", str(hello), str(broken), cwd=tmp_path)

    listed = toolexec(checkout, "plugins", "list", "--json")
    rows = {row["name"]: row for row in json.loads(listed.stdout)}
    assert rows["hello"]["status"] == "exposed"
    assert rows["hello"]["origin"] == "executor-hello"
    assert rows["broken"]["status"] == "failed"
    assert "broken on purpose" in listed.stdout

    called = toolexec(checkout, "call", "hello", "text=from another package", "--json", "--yes")
    assert json.loads(called.stdout)["text"] == "from another package"
    others = toolexec(checkout, "call", "echo", "text=still works", "--json", TOOLEXEC_BLOCK_PLUGINS="hello,broken")
    assert json.loads(others.stdout)["text"] == "still works"


def test_a_new_plugin_is_written_installed_tested_and_listed_within_a_minute(
    checkout, environment, comes_from, tmp_path
):
    programs = environment / "bin"
    run(str(programs / "python"), "-m", "pip", "install", "--quiet", "--no-compile", str(checkout), cwd=tmp_path)
    comes_from(environment)
    began = time.monotonic()  # its author has toolexec already
    run(str(programs / "toolexec"), "plugins", "new", "my-greeting", cwd=tmp_path)
    folder = tmp_path / "executor-my-greeting"
    workflow = yaml.safe_load((folder / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    steps = [step["run"] for step in workflow["jobs"]["tests"]["steps"] if "run" in step]
    *_, tested = [run("bash", "-euc", step, cwd=folder, PATH=f"{programs}:{os.environ['PATH']}") for step in steps]
    assert re.search(r"^=+ 3 passed", tested.stdout, re.MULTILINE), tested.stdout
    listed = run(str(programs / "toolexec"), "tools", "list", "--plugin", "my_greeting", cwd=tmp_path)
    assert listed.stdout.startswith("my_greeting\n  myGreeting(text: string)\n")
    assert time.monotonic() - began < 60


@pytest.mark.long  # .ci/run does the same at its start
def test_the_developers_commands_install_what_the_suite_needs_and_run_it(checkout, first_command):
    block = [code for language, code in BLOCKS if language == "sh"][1].replace("python3", sys.executable, 1)
    for name in ("tests/conftest.py", "tests/test_paths.py"):
        (checkout / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    done = run("bash", "-euc", block, cwd=checkout, PYTEST_ADDOPTS="tests/test_paths.py")
    assert re.search(r"^=+ \d+ passed", done.stdout, re.MULTILINE)

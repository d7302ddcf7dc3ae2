"""The files of a new plugin: what ``toolexec plugins new`` writes."""

from __future__ import annotations

from pathlib import PurePosixPath

_PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "executor-{dashed}"
version = "0.1.0"
description = "A plugin for toolexec: the tool {tool}."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["toolexec>={toolexec}"]

[project.optional-dependencies]
test = ["pytest>=8"]

[project.entry-points.executor]
{name} = "executor_{name}"

[tool.setuptools]
packages = ["executor_{name}"]

[tool.setuptools.package-data]
"*" = ["py.typed"]

[tool.pytest.ini_options]
testpaths = ["tests"]
filterwarnings = ["error"]
"""

_MODULE = '''\
"""The toolexec plugin {name}: one tool, {tool}."""

from __future__ import annotations

from typing import Any

from executor import current_call, hookimpl


def {name}(args: dict[str, Any]) -> dict[str, Any]:
    """Say the text back, and count its words."""
    call = current_call()
    words = args["text"].split()
    for word in words:
        if call is not None:
            call.emit(word + "\\n")  # shown live
    return {{"text": args["text"], "words": len(words)}}


@hookimpl
def executor_register_tools(register: Any) -> None:
    register(
        "{tool}",
        {name},
        schema={{
            "type": "object",
            "properties": {{
                "text": {{"type": "string", "description": "What to say back."}},
            }},
            "required": ["text"],
            "additionalProperties": False,
        }},
        annotations={{"read_only": True, "idempotent": True}},
    )
'''

_TESTS = '''\
"""The plugin {name}."""

from __future__ import annotations

import executor_{name}
import pytest
from executor import PluginRegistry, ToolExecutor
from executor.testing import Recorder, check_plugin


@pytest.fixture
def executor():
    """An executor with this plugin alone."""
    with PluginRegistry(bundled=False, entry_points=False) as registry:
        registry.register(executor_{name}, "{name}")
        registry.expose("{name}")
        with ToolExecutor(registry=registry) as made:
            yield made


def test_it_counts_the_words_and_shows_each(executor):
    shown = Recorder()
    assert executor.execute("{tool}", {{"text": "wind and rain"}}, shown) == (
        True,
        {{"text": "wind and rain", "words": 3}},
    )
    assert shown.chunks == ["wind\\n", "and\\n", "rain\\n"]


def test_it_refuses_what_its_schema_does_not_have(executor):
    ok, result = executor.execute("{tool}", {{"txt": "wind"}})
    assert not ok
    assert "text" in result["error"]


def test_nothing_is_wrong_with_the_plugin():
    assert check_plugin(executor_{name}) == []
'''

_README = """\
# executor-{dashed}

A plugin for [toolexec](https://pypi.org/project/toolexec/): the tool `{tool}`, which says a text
back and counts its words.

```console
$ pip install executor-{dashed}
$ toolexec tools list --plugin {name}
$ toolexec call {tool} text='wind and rain'
```

## Develop

```console
$ python3 -m venv .venv
$ .venv/bin/pip install -e '.[test]'
$ .venv/bin/python -m pytest
```

The tests run on every push too: `.github/workflows/tests.yml`. `toolexec plugins show {name}` says what became of the
plugin, and shows the traceback if it failed.
"""

_WORKFLOW = """\
name: tests
on: [push, pull_request]
permissions:
  contents: read
jobs:
  tests:
    runs-on: ubuntu-latest
    strategy:
      fail-fast: false
      matrix:
        python: ["3.11", "3.12", "3.13", "3.14"]
    steps:
      - uses: actions/checkout@v4
        with:
          persist-credentials: false
      - uses: actions/setup-python@v5
        with:
          python-version: ${{{{ matrix.python }}}}
      - run: python -m pip install -e '.[test]'
      - run: python -m pytest
"""

_IGNORED = """\
__pycache__/
*.egg-info/
build/
dist/
.pytest_cache/
.venv/
"""


def files(name: str, tool: str, version: str) -> dict[PurePosixPath, str]:
    """
    The files of the plugin *name*, with their texts.

    Args:
        name: Lower-case letters, digits and ``_``.
        tool: What its tool is called.
        version: The version of toolexec that it is written for, as ``0.2.1``: older ones than 0.2 will not do.
    """
    words = {
        "name": name,
        "dashed": name.replace("_", "-"),
        "tool": tool,
        "toolexec": ".".join(version.split(".")[:2]),
    }
    texts = {
        "pyproject.toml": _PROJECT,
        "README.md": _README,
        f"executor_{name}/__init__.py": _MODULE,
        f"executor_{name}/py.typed": "",
        f"tests/test_{name}.py": _TESTS,
        ".github/workflows/tests.yml": _WORKFLOW,
        ".gitignore": _IGNORED,
    }
    return {PurePosixPath(path): text.format(**words) for path, text in texts.items()}

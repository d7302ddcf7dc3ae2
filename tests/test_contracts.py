"""What plugins and the command may import: the contracts that the import linter has no words for."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parent.parent / "plugins"
FILES = sorted(PLUGINS.rglob("*.py"))
COMMAND = Path(__file__).parent.parent / "executor" / "cli"
OWN = "executor.cli"  # what is private there is the command's own


def imported(text):
    """(module, name or None) of every import in *text*: of type checkers, within functions, and by `import_module`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module":
            yield from ((str(arg.value), None) for arg in node.args if isinstance(arg, ast.Constant))


def is_private(module, name):
    return any(part.startswith("_") for part in [*module.split("."), name or ""])


def of_the_core(text):
    return [(module, name) for module, name in imported(text) if module.split(".")[0] == "executor"]


def check_public(path, found):
    for module, name in found:
        assert not is_private(module, name), f"{path}: {module} {name or ''}"
        public = getattr(importlib.import_module(module), "__all__", None)
        if name is not None and public is not None:
            assert name in public or importlib.util.find_spec(f"{module}.{name}"), f"{path}: {module}.{name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PLUGINS)))
def test_plugins_import_public_names_of_the_core_only(path):
    check_public(path, of_the_core(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", sorted(COMMAND.rglob("*.py")), ids=lambda path: path.name)
def test_the_command_imports_public_names_of_the_library_only(path):
    found = of_the_core(path.read_text(encoding="utf-8"))
    check_public(path, [(module, name) for module, name in found if f"{module}.".partition("._")[0].rstrip(".") != OWN])


@pytest.mark.parametrize(
    "text",
    [
        "from executor._json import mask",
        "from executor.permission._inbox import Inbox",
        "from executor import _log",
        "import executor.calls._token",
        "if TYPE_CHECKING:\n    from executor.calls._token import CancelToken",
        "def f():\n    from executor.run._plan import plan",
        "importlib.import_module('executor._json')",
    ],
)
def test_every_way_of_importing_a_private_name_is_seen(text):
    assert [is_private(*found) for found in of_the_core(text)] == [True]

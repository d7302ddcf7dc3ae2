"""The picture and the page of the architecture name what is there."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "executor"
DRAWING = runpy.run_path(str(ROOT / "docs" / "draw_architecture.py"))
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROOMS = [room for floor in DRAWING["floors"]() for room in floor]


def test_the_picture_is_what_the_contract_says():
    stored = DRAWING["PICTURE"].read_text(encoding="utf-8")
    assert stored == DRAWING["draw"](), "run: python docs/draw_architecture.py"
    shown = [element.text for element in ET.fromstring(stored).iter() if element.text]
    assert set(ROOMS) <= set(shown)


def test_every_room_exists_and_every_package_is_a_room():
    for room in ROOMS:
        assert (PACKAGE / room).is_dir() or (PACKAGE / f"{room}.py").is_file(), room
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} <= set(ROOMS)


def test_the_page_says_what_is_in_each_room():
    for room in ROOMS:
        if room.startswith("_"):
            continue
        assert re.search(rf"^\| .*`{room}`.* \|", PAGE, re.MULTILINE), room


def test_every_file_that_is_named_exists():
    named = {*DRAWING["files"](), *re.findall(r"`((?:\w+/)?_\w+\.py)`", PAGE)}
    assert len(named) > 20
    for file in named:
        assert (PACKAGE / file).is_file(), file


def test_every_lock_that_is_named_exists():
    code = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    for name, lock in re.findall(r"`(\w+)\.(_\w+|lock)`", PAGE.partition("## Locks")[2]):
        assert re.search(rf"^class {name}\b", code, re.MULTILINE), name
        assert re.search(rf"self\.{lock} = (threading\.|fork_safe\()", code), lock


def test_who_takes_the_lock_of_a_condition_takes_the_lock_itself():
    """`Condition.__enter__` is a function of Python: a Ctrl-C that comes as it returns leaves the lock taken."""
    files = [*PACKAGE.rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]
    entered, made = set(), 0
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        conditions = {
            ast.unparse(target)
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and "Condition(" in ast.unparse(node.value)
            for target in node.targets
        }
        made += len(conditions)
        items = [item for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items]
        entered |= {
            (file.name, one.context_expr.lineno) for one in items if ast.unparse(one.context_expr) in conditions
        }
    assert made > 5
    assert not entered

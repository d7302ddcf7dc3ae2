"""
How far a reader has to go to follow a call: the files it enters, the names its arguments bear, the climbs.

The figures stand in docs/architecture.md, which is compared with what is measured here.
"""

from __future__ import annotations

import dataclasses
import re
import runpy
import sys
from pathlib import Path

import pytest

import executor
from executor import ToolExecutor

ROOT = Path(__file__).parent.parent
PACKAGE = str(Path(executor.__file__).parent) + "/"
FLOORS = runpy.run_path(str(ROOT / "docs" / "draw_architecture.py"))["floors"]()
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
WORD = "the arguments are known by this word"

# No more than these; whoever makes the way shorter lowers them.
MOST_CHANGES = 12
MOST_NAMES = 7
MOST_CLIMBS = 2


def floor_of(file: str) -> int:
    """How high *file* lies."""
    room = file.partition("/")[0].removesuffix(".py")
    for number, rooms in enumerate(FLOORS):
        if room in rooms:
            return len(FLOORS) - number
    raise AssertionError(f"{file} is in no layer of setup.cfg")


def is_arguments(value: object) -> bool:
    return isinstance(value, dict) and value.get("word") == WORD


def carries(value: object) -> bool:
    """Whether *value* is the arguments, or an object of ours that has them."""
    if is_arguments(value):
        return True
    return type(value).__module__.startswith("executor") and is_arguments(getattr(value, "arguments", None))


@dataclasses.dataclass
class Route:
    """What one call entered, in this order: files, and the floors of functions that were given the arguments."""

    files: list[str] = dataclasses.field(default_factory=list)
    floors: list[int] = dataclasses.field(default_factory=list)
    names: set[str] = dataclasses.field(default_factory=set)

    @property
    def changes(self) -> int:
        return sum(one != other for one, other in zip(self.files, self.files[1:], strict=False))

    @property
    def climbs(self) -> int:
        return sum(one < other for one, other in zip(self.floors, self.floors[1:], strict=False))


@pytest.fixture(scope="module")
def route() -> Route:
    """The route of a plain call: a function that takes a dict, with a schema, run in its caller's thread."""
    found = Route()

    def profile(frame, event, _):
        file = frame.f_code.co_filename
        if event not in ("call", "return") or not file.startswith(PACKAGE):
            return
        bearing = {name for name, value in frame.f_locals.items() if name != "self" and carries(value)}
        file = file.removeprefix(PACKAGE)
        found.files.append(file)  # on the way back too
        if event == "return":
            found.names.update(bearing)
            return
        if bearing:
            found.floors.append(floor_of(file))

    with ToolExecutor() as made:
        made.register("echo", lambda args: {"said": args["word"]}, schema=SCHEMA)
        for _ in range(2):  # before, so that everything is imported, and the schema compiled
            made.execute("echo", {"word": "another one"})
        arguments = {"word": WORD}
        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            outcome = made.execute("echo", arguments)
        finally:
            sys.setprofile(before)
    assert outcome == (True, {"said": WORD})
    return found


def test_a_plain_call_changes_file_no_more_often_than_this(route):
    assert route.files[0] == "_calls.py"
    assert route.changes <= MOST_CHANGES, route.files


def test_its_arguments_bear_few_names(route):
    assert {"args", "arguments", "call"} <= route.names
    assert len(route.names) <= MOST_NAMES, route.names


def test_its_arguments_hardly_ever_climb_back_up(route):
    assert route.climbs <= MOST_CLIMBS, route.floors


def test_the_page_tells_the_figures(route):
    told = re.search(r"enters (\d+) files, changes file (\d+) times.*?(\d+) names.*?climb (\d+)", PAGE, re.DOTALL)
    assert told is not None
    assert [int(figure) for figure in told.groups()] == [
        len(set(route.files)), route.changes, len(route.names), route.climbs
    ]  # fmt: skip


def test_each_file_of_the_route_stands_on_the_page(route):
    for file in set(route.files):
        assert f"`{file}`" in PAGE, file

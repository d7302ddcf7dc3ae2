# ruff: noqa: INP001 -- a script, in no package
"""
Draws docs/architecture.svg: the rooms, from the import contract in setup.cfg, and the way of a call through them.

    python docs/draw_architecture.py
"""

from __future__ import annotations

import configparser
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

DOCS = Path(__file__).parent
PICTURE = DOCS / "architecture.svg"
WIDTH, LEFT, MIDDLE, PAUSES = 800, 24, 318, 606  # where the three columns begin, in pixels
FLOOR, STEP = 31, 74  # how far apart the floors are, and the steps
TOP = 64
TIP = "<marker id='tip' markerWidth='8' markerHeight='8' refX='5' refY='3' orient='auto'>"
FONT = "font-family='DejaVu Sans, Verdana, Helvetica, Arial, sans-serif'"

# The colour of a room, and of the steps that happen there.
COLOURS = {
    "_executor": "#cfe3ff",
    "_several": "#cfe3ff",
    "_calls": "#cfe3ff",
    "run": "#cdeed3",
    "permission": "#ffe0b5",
    "calls": "#e5d8ff",
    "background": "#c6f0ee",
    "tasks": "#c6f0ee",
}
PLAIN = "#f1f2f4"

# What happens and where, and what it waits for or turns to: (title, detail, files, beside it, its file).
STEPS = [
    ("execute · call · submit", "make the state of the call", "_calls.py calls/_state.py", "", ""),
    ("admit", "links to whatever may stop it", "run/_way.py", "", ""),
    ("prepare", "resolve → select → validate", "run/_pipeline.py", "", ""),
    ("gates", "deny > ask > allow", "run/_gate.py permission/_gate.py", "a person answers", "permission/_inbox.py"),
    ("turn", "resources, places, rate", "run/_turns.py", "other calls end", "calls/_locks.py"),
    ("work", "here, on a worker, on the loop", "calls/_work.py", "threshold → task", "background/_handover.py"),
    ("finish", "dispatch → normalise → validate", "run/_pipeline.py", "the tool", "run/_dispatch.py"),
    ("end", "an outcome, a ToolResult, a task id", "run/_ended.py", "", ""),
]  # fmt: skip


def floors() -> list[list[str]]:
    """The rooms of the package ``executor`` from the top down; those side by side do not import each other."""
    contract = configparser.ConfigParser()
    contract.read(DOCS.parent / "setup.cfg")
    lines = contract["importlinter:contract:layers"]["layers"].strip().splitlines()
    return [[module.strip().removeprefix("executor.") for module in line.split(":")] for line in lines]


def files() -> list[str]:
    """Every file that the picture names."""
    return [file for _, _, here, _, there in STEPS for file in f"{here} {there}".split()]


def text(x: float, y: float, words: str, *, size: int = 13, colour: str = "#1f2328", more: str = "") -> str:
    """A line of text whose left end, on the line, is at x, y."""
    return f"<text x='{x:g}' y='{y:g}' font-size='{size}' fill='{colour}' {more}>{escape(words)}</text>"


def box(x: float, y: float, width: float, height: float, colour: str, more: str = "") -> str:
    """A box whose upper left corner is at x, y."""
    place = f"x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}'"
    return f"<rect {place} rx='6' fill='{colour}' stroke='#8c959f' {more}/>"


def _colour(where: str) -> str:
    return COLOURS[where.partition("/")[0].partition(".")[0]]


def _rooms() -> list[str]:
    width, gap = 256, 5
    drawn = []
    for floor, rooms in enumerate(floors()):
        each = (width - gap * (len(rooms) - 1)) / len(rooms)
        for place, room in enumerate(rooms):
            x, y = LEFT + place * (each + gap), TOP + floor * FLOOR
            drawn.append(box(x, y, each, FLOOR - gap, COLOURS.get(room, PLAIN)))
            drawn.append(text(x + each / 2, y + 18, room, size=12, more="text-anchor='middle'"))
    return drawn


def _step(number: int) -> list[str]:
    title, detail, where, beside, there = STEPS[number]
    y = TOP + number * STEP
    drawn = [
        box(MIDDLE, y, 256, STEP - 16, _colour(where)),
        text(MIDDLE + 10, y + 18, title, size=14, more="font-weight='bold'"),
        text(MIDDLE + 10, y + 34, detail, size=12),
        text(MIDDLE + 10, y + 50, where, size=11, colour="#57606a"),
    ]
    if number + 1 < len(STEPS):
        x = MIDDLE + 40
        drawn.append(f"<path d='M{x} {y + STEP - 16} V{y + STEP - 2}' stroke='#57606a' marker-end='url(#tip)'/>")
    if beside:
        dashes = "" if there == "run/_dispatch.py" else "stroke-dasharray='4 3'"
        drawn += [
            box(PAUSES, y + 6, 170, STEP - 28, _colour(there), dashes),
            text(PAUSES + 10, y + 25, beside, size=12),
            text(PAUSES + 10, y + 42, there, size=11, colour="#57606a"),
            f"<path d='M{MIDDLE + 256} {y + 29} H{PAUSES - 2}' stroke='#57606a' {dashes} marker-end='url(#tip)'/>",
        ]
    return drawn


def picture(title: str, height: float, drawn: Iterable[str]) -> str:
    """A picture, as SVG. It has a light background of its own, so that it can be read on a dark page too."""
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' {FONT} fill='none'>",
        f"<title>{escape(title)}</title>",
        f"<defs>{TIP}<path d='M0 0 L6 3 L0 6 z' fill='#57606a'/></marker></defs>",
        f"<rect width='{WIDTH}' height='{height}' rx='10' fill='#ffffff' stroke='#d0d7de'/>",
        *drawn,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def draw() -> str:
    """The rooms, and the way of a call."""
    end = TOP + len(STEPS) * STEP
    height = max(TOP + len(floors()) * FLOOR, end) + 26
    heads = [(LEFT, "Rooms: imports run down only"), (MIDDLE, "The way of a call"), (PAUSES, "Where it may wait")]
    drawn = [
        *(text(x, 42, head, size=15, more="font-weight='bold'") for x, head in heads),
        *_rooms(),
        *(line for number in range(len(STEPS)) for line in _step(number)),
        text(PAUSES, TOP + 18, "`call` blocks at a pause,", size=12),
        text(PAUSES, TOP + 34, "`submit` leaves the thread", size=12),
        text(PAUSES, TOP + 50, "and goes on when it is over", size=12),
    ]
    return picture("The rooms of the package executor, and the way of a call through them", height, drawn)


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")

# ruff: noqa: INP001 -- a script, in no package
"""
Draws docs/states.svg, the states of a task, and docs/judgement.svg, the order in which a call is judged.

    python docs/draw_figures.py
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from draw_architecture import LEFT, box, picture, text

from executor import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DOCS = Path(__file__).parent
GREY, BLUE, GREEN, AMBER, RED = "#f1f2f4", "#cfe3ff", "#cdeed3", "#ffe0b5", "#ffd3d0"
BOLD = "font-weight='bold'"
LINE, DASHES = "stroke='#57606a'", "stroke-dasharray='4 3'"

# What ends a running task in which state.
ENDS = {
    TaskStatus.COMPLETED: ("the tool returned", GREEN),
    TaskStatus.FAILED: ("it raised, or could not start", RED),
    TaskStatus.CANCELLED: ("somebody stopped it", AMBER),
    TaskStatus.TIMEOUT: ("its time limit has passed", AMBER),
    TaskStatus.INTERRUPTED: ("its process is gone", AMBER),
}
NEVER_RAN = [state for state in ENDS if state is not TaskStatus.COMPLETED]

# What is looked at, in this order: the question, the details of it, what a yes comes to, its colour.
JUDGING = [
    ("Can it be judged at all?", "an object, of sound types and names", "denied, or a person is asked", AMBER),
    ("Is any part in the blacklist?", "in any spelling, in every folder", "denied: nothing overrules it", RED),
    ("Is any part in the ask list?", "whatever the whitelist says", "a person is asked", AMBER),
    ("Is every part granted or in the whitelist?", "what people answered “always” to, then rules", "allowed", GREEN),
    ("What does defaultPolicy say?", "ask, where it says nothing", "allowed, asked or denied", GREY),
]
# How the opinions combine then, and what follows: as above, but without a yes.
AFTER = [
    ("All opinions are combined", "policy, plugins' hooks, the gate of a Runner: deny beats ask beats allow"),
    ("A person answers what is asked", "unless skipped for a turn; no answer, a late one, an error: denied"),
    ("What no person has seen runs in a box", "the profile that `confine` names, held by the system"),
]


def arrow(path: str, *, dashed: bool = False) -> str:
    """A line with a tip at its end."""
    return f"<path d='{path}' {LINE} {DASHES if dashed else ''} marker-end='url(#tip)'/>"


def states() -> str:
    """The states of a task, and what leads from one to another."""
    first, height, step, right = 60, 40, 56, 560
    rows = {state: first + number * step for number, state in enumerate(ENDS)}
    middle = rows[TaskStatus.CANCELLED]
    bottom = first + len(ENDS) * step + 14
    drawn = [text(LEFT, 34, "The states of a task", size=15, more=BOLD)]
    for state, x in ((TaskStatus.PENDING, LEFT), (TaskStatus.RUNNING, 206)):
        drawn.append(box(x, middle, 110, height, BLUE))
        drawn.append(text(x + 55, middle + 25, state, size=14, more=f"text-anchor='middle' {BOLD}"))
    drawn += [text(140, middle + 12, "it starts", size=11), arrow(f"M134 {middle + 20} H202")]
    for state, (why, colour) in ENDS.items():
        y = rows[state]
        drawn.append(box(right, y, 130, height, colour))
        drawn.append(text(right + 65, y + 25, state, size=14, more=f"text-anchor='middle' {BOLD}"))
        drawn.append(text(356, y + 14, why, size=12))
        drawn.append(arrow(f"M316 {middle + 20} H340 V{y + 20} H{right - 4}"))
        if state in NEVER_RAN:
            drawn.append(arrow(f"M740 {y + 20} H{right + 134}", dashed=True))
    drawn.append(f"<path d='M79 {middle + height} V{bottom} H740 V{rows[NEVER_RAN[0]] + 20}' {LINE} {DASHES}/>")
    drawn.append(text(92, bottom - 8, "it never ran", size=12))
    return picture("The states of a task, and what leads from one to another", bottom + 24, drawn)


def _stages(y: float) -> list[str]:
    drawn = []
    for number, (question, details, yes, colour) in enumerate(JUDGING, 1):
        drawn.append(box(LEFT, y, 410, 46, GREY))
        drawn.append(text(LEFT + 12, y + 19, f"{number}  {question}", size=14, more=BOLD))
        drawn.append(text(LEFT + 30, y + 36, details, size=12))
        drawn.append(box(530, y + 4, 246, 38, colour))
        drawn.append(text(542, y + 28, yes, size=13))
        drawn.append(arrow(f"M{LEFT + 410} {y + 23} H526"))
        if number < len(JUDGING):
            drawn.append(text(448, y + 17, "no" if number == 1 else "yes", size=12))
            drawn.append(arrow(f"M80 {y + 46} V{y + 66}"))
            drawn.append(text(90, y + 62, "yes" if number == 1 else "no", size=12))
        y += 70
    return drawn


def judgement() -> str:
    """The order in which the policy judges, and what follows."""
    top, step = 54, 62
    below = top + 70 * len(JUDGING) + 34
    drawn = [text(LEFT, 34, "The order in which a policy judges a call", size=15, more=BOLD), *_stages(top)]
    drawn.append(text(LEFT, below - 14, "What follows", size=15, more=BOLD))
    for number, (what, details) in enumerate(AFTER):
        y = below + number * step
        drawn.append(box(LEFT, y, 752, 46, BLUE))
        drawn.append(text(LEFT + 12, y + 19, what, size=14, more=BOLD))
        drawn.append(text(LEFT + 12, y + 36, details, size=12))
        if number + 1 < len(AFTER):
            drawn.append(arrow(f"M80 {y + 46} V{y + step - 4}"))
    return picture("The order in which a call is judged", below + step * len(AFTER) + 8, drawn)


FIGURES: Mapping[Path, Callable[[], str]] = {DOCS / "states.svg": states, DOCS / "judgement.svg": judgement}

if __name__ == "__main__":
    for path, draw in FIGURES.items():
        path.write_text(draw(), encoding="utf-8")

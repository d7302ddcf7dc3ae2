"""Tools that workers of a cluster find by name."""

from __future__ import annotations

import os
import threading
from fractions import Fraction
from pathlib import Path

from executor import Decision, ToolCall, Verdict, current_call
from executor.confine import Profile

_gates: dict[str, threading.Event] = {}


def lines(count: int = 5, pause: float = 0.0):
    """Say lines, and how far it is."""
    call = current_call()
    for number in range(count):
        call.emit(f"line {number} ünïcödé\n")
        call.progress(number + 1, count, "saying lines")
        if pause and call.wait(pause):
            return "stopped"
    return {"pid": os.getpid(), "count": count}


def add(number: int = 0):
    return number + 1


def mark(path: str, seconds: float = 0.0):
    """Leave a line of its own in a file, then wait."""
    with Path(path).open("a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")
    current_call().emit("begun\n")
    return "stopped" if seconds and current_call().wait(seconds) else os.getpid()


def deaf(path: str):
    """Wait for a file without listening to a stop."""
    current_call().emit("begun\n")
    while not Path(path).exists():
        threading.Event().wait(0.01)
    return "late"


def much(size: int):
    """Say *size* bytes and return as many."""
    call = current_call()
    piece = "".join(chr(97 + number % 26) for number in range(1023)) + "\n"
    for _ in range(size // 1024):
        call.emit(piece)
    return "r" * size


def gated(path: str):
    """Say who this is, then wait for a file."""
    call = current_call()
    call.emit(f"{os.getpid()}\n")
    while not Path(path).exists():
        if call.wait(0.02):
            return "stopped"
    return os.getpid()


UNSENDABLE = {
    "half": (1, 2, "half a character: \ud800"),
    "long": (10**30, 2, ""),
    "fraction": (Fraction(3, 2), 2, None),
}


def says(what: str):
    """Say how far it is in a way that no message of Dask's can hold."""
    current_call().progress(1, 2)
    current_call().progress(*UNSENDABLE[what])
    current_call().wait(0.05)
    return "done"


def fails():
    raise ValueError("bad")


def calls(name: str):
    """Make a call of its own."""
    result = current_call().host.call(ToolCall("inner", name, {"text": "hi"}))
    return {"success": result.success, "kind": str(result.kind), "error": result.error, "value": result.value}


def threads(args):
    return threading.active_count()


class Asked:
    """A permission plugin that can be pickled, and tells where it was asked."""

    def __init__(self, path: str, confine: Profile | None = None, forbidden: str = "") -> None:
        self.path = path
        self.forbidden = forbidden
        self.confine = confine

    def decide(self, call, context):
        with Path(self.path).open("a", encoding="utf-8") as file:
            file.write(f"{call.name} {os.getpid()} {context}\n")
        if call.name == self.forbidden:
            return Decision("deny", "not that one", "test")
        return Decision("allow", "it is a test", "test", confine=self.confine)

    def ask(self, call, decision, context):
        return Verdict(True, None, {"reason": "it is a test", "method": "test"})


def at_fifos(reached: str, go: str):
    """Say that it is here, and wait to be let on."""
    Path(reached).write_text("")
    Path(go).read_text()


class Held:
    """Is made on a worker only when somebody lets it."""

    def __init__(self, reached: str, go: str):
        self.fifos = reached, go

    def __reduce__(self):
        return at_fifos, self.fifos


def staging():
    return "staging"


def production():
    return "production"


def own_echo(args):
    return f"own {args['text']}"

"""Every shell line of the corpora that can be run: those here, and those that the reader of lines is tested with."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tests.plugins.permissions.test_misreadings import FAMILIES

HERE = Path(__file__).parent
PERMISSIONS = HERE.parent / "plugins" / "permissions"
ATTACKS = ("attacks.txt", "calls.json", "runnable.txt")
MARKS = {
    "@C": "/srv/canary", "@S": "/srv/file", "@O": "/srv", "@K": "/home/user/.ssh/id_rsa", "@U": "/run/docker.sock",
}  # fmt: skip


class Line(NamedTuple):
    """A line, and the corpus that it is from."""

    corpus: str
    text: str


def lines() -> list[Line]:
    """All of them, each once."""
    found = [*_attacks(), *_calls(), *_here(), *_misreadings()]
    return list({line.text: line for line in found if "\0" not in line.text}.values())


def sample() -> list[Line]:
    """Some of each corpus."""
    everything = lines()
    chosen = []
    for corpus in dict.fromkeys(line.corpus for line in everything):
        chosen += [line for line in everything if line.corpus == corpus][:: 24 if corpus in ATTACKS else 96]
    return chosen


def harmful(chosen: list[Line]) -> list[Line]:
    """Those of *chosen* that do harm where nothing holds them, as idle.txt says of the attacks."""
    idle = {_decoded(line) for line in _of_file(HERE / "idle.txt")}
    return [line for line in chosen if line.corpus in ATTACKS and line.text not in idle]


def _of_file(path: Path) -> list[str]:
    """The lines of a corpus; what stands before its first heading is about it."""
    body = path.read_text(encoding="utf-8").partition("\n== ")[2].splitlines()[1:]
    return [line for line in body if line and not line.startswith("== ") and (not line.startswith("# ") or "⏎" in line)]


def _decoded(line: str) -> str:
    line = re.sub(r"<U\+([0-9A-F]+)>", lambda match: chr(int(match[1], 16)), line)
    return line.replace("⏎", "\n").replace("␉", "\t")


def _attacks():
    for name in ("attacks.txt", "benign.txt"):
        for line in _of_file(PERMISSIONS / "corpus" / name):
            yield Line(name, _decoded(line))


def _calls():
    calls = json.loads((PERMISSIONS / "corpus" / "calls.json").read_text(encoding="utf-8"))
    for call in (*calls["attacks"], *calls["benign"]):
        arguments = call["args"].get("arguments") or call["args"]
        command = arguments.get("command")
        if isinstance(command, str) and (call["policy"] in ("dev", "open") and call["tool"] != "git"):
            words = [command, *map(str, arguments.get("args") or ())]
            yield Line("calls.json", " ".join(words))


def _here():
    for line in _of_file(HERE / "runnable.txt"):
        kind, _, rest = line.partition(" ")
        text = rest if kind in ("net", "udp", "unix") else line
        for mark, value in {**MARKS, "@N": "7778" if kind == "udp" else "7777"}.items():
            text = text.replace(mark, value)
        yield Line("runnable.txt", _decoded(text))


def _misreadings():
    for families in FAMILIES.values():
        for line in chain.from_iterable(families):
            yield Line("misreadings", line.replace("canary", "/srv/canary").replace("./evil", "evil"))

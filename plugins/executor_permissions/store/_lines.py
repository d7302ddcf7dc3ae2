"""Where things stand in a JSON file: the line of every key and item, and keys that stand twice."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)

KeyPath = tuple[str | int, ...]


@dataclass(slots=True)
class Lines:
    """
    The lines of a JSON text.

    Attributes:
        of: Path of keys and indexes -> line, from 1.
        twice: (path, line) of each key that stands twice in one object; the line is that of the second.
    """

    of: dict[KeyPath, int] = field(default_factory=dict)
    twice: list[tuple[KeyPath, int]] = field(default_factory=list)

    def line(self, path: KeyPath) -> int:
        """The line of *path*, or of the nearest thing around it that has one."""
        while path and path not in self.of:
            path = path[:-1]
        return self.of.get(path, 1)


def find_lines(text: str) -> Lines:
    """The lines of *text*, which must be valid JSON."""
    import json

    lines = Lines({(): 1})
    stack: list[list[str | int | bool]] = []  # [current key or index, whether a key comes next (objects)]
    line, scanned = 1, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", scanned, token.start())
        scanned = token.start()
        symbol = token[0]
        if symbol == "{":
            _note(lines, stack, line)
            stack.append(["", True])
        elif symbol == "[":
            _note(lines, stack, line)
            stack.append([0, False])
        elif symbol in "}]":
            stack.pop()
        elif symbol == ",":
            if isinstance(stack[-1][0], int):
                stack[-1][0] += 1
            else:
                stack[-1][1] = True
        elif symbol == ":":
            stack[-1][1] = False
        elif stack and stack[-1][1]:
            stack[-1][0] = json.loads(symbol, strict=False)
            path = _path(stack)
            if path in lines.of:
                lines.twice.append((path, line))
            lines.of[path] = line
        else:
            _note(lines, stack, line)
    return lines


def _path(stack: list[list[str | int | bool]]) -> KeyPath:
    return tuple(entry[0] for entry in stack)


def _note(lines: Lines, stack: list[list[str | int | bool]], line: int) -> None:
    """Note the line of a value; an object's member keeps the line of its key."""
    if stack and isinstance(stack[-1][0], int):
        lines.of[_path(stack)] = line

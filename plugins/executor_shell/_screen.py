"""
A terminal's screen, as plain text: what the control sequences of a program come to.

It is the part of a VT220 and of xterm that decides what is read; `_page` has what the sequences do. There is no library
for it that has a permissive licence and is looked after (pyte is LGPL).
"""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003 -- of the tables below

from executor_shell._page import Page, Row
from executor_shell._sequences import Tokens

_ANSWERS = {"5n": "\x1b[0n", "c": "\x1b[?62;22c", "0c": "\x1b[?62;22c", ">c": "\x1b[>1;10;0c", ">0c": "\x1b[>1;10;0c"}
_KEPT_MODES = {"1", "25", "2004"}  # what whoever attaches later has to be told


class Screen(Page):
    """
    Takes what a program writes, and knows what a person would see of it, in two ways.

    `kept` is the text as it stands in the end, with what has scrolled off: each line once, as it was last. `said` is
    the text as it comes, for whoever follows: nothing that was said is taken back, and a line that changes is said
    again. Whoever takes them clears them.

    Args:
        columns: How wide it is.
        rows: How high it is.
        answer: Sends the program what a terminal answers to its questions.
    """

    def __init__(self, columns: int, rows: int, answer: Callable[[str], object]) -> None:
        self.kept: list[str] = []
        self.said: list[str] = []
        self.modes: dict[str, bool] = {}
        self.again = 0  # how many lines were said again since there was a new one
        self._answer = answer
        self._tokens = Tokens()
        self._open: Row | None = None  # the row that was said last, without an end of its line
        self._finished = False
        super().__init__(columns, rows)

    # In ----------------------------------------------------------------------------------------------------------

    def feed(self, text: str) -> str:
        """Take a piece of output. Returns what of it may be passed on to a person's own terminal."""
        safe = []
        for kind, name, given, passed in self._tokens.cut(text):
            safe.append(passed)
            if kind == "text":
                self.write(name)
            elif kind == "lines":
                self.write_lines(name)
            elif kind == "line":
                self.column = 0
                self.line_feed()
            elif kind == "control":
                _CONTROLS.get(name, _nothing)(self)
            elif kind == "csi":
                self._sequence(given, name)
            elif given in ("(", ")"):
                self.boxes[given == ")"] = name == "0"
            elif name == "c" and not given:
                self.clear_all()
                self.reset()
                self.modes.clear()
                safe.append("\x1b[m\x1b[r\x1b[H\x1b[2J")
            elif not given:
                _ESCAPES.get(name, _nothing)(self)
        return "".join(safe)

    # Out ---------------------------------------------------------------------------------------------------------

    def tell(self) -> None:
        """Have what is on the screen said, also a line that has not ended: nothing has changed for a while."""
        for row in self.lines:
            if (text := row.text()) and text != row.told:
                self._say(row)

    def finish(self) -> None:
        """Nothing more comes: all is said, and kept. A second time it does nothing."""
        if self._finished:
            return
        self._finished = True
        self.tell()
        shown, row = (self.lines, self.row) if self.main is None else self.main[:2]
        lines = list(shown)  # what is on the screen stays, for who looks only now
        while lines and not lines[-1].cells:
            lines.pop()
        text = "".join(_line(each) for each in lines)
        self.kept.append(text if row >= len(lines) else text.removesuffix("\n"))

    def picture(self) -> str:
        """What draws the screen on a terminal of this size."""
        shown = "\r\n".join("".join(row.cells) for row in self.lines).rstrip("\r\n")
        modes = "".join(f"\x1b[?{mode}{'h' if on else 'l'}" for mode, on in self.modes.items())
        other = "\x1b[?1049h" if self.main is not None else ""
        place = f"\x1b[{self.row + 1};{min(self.column, self.columns - 1) + 1}H"
        return f"{other}\x1b[m\x1b[r\x1b[H\x1b[2J{shown}{modes}{place}"

    def _say(self, row: Row) -> None:
        text = row.text()
        if row is self._open and text.startswith(row.told or ""):
            self.said.append(text[len(row.told or "") :])
        else:
            self.again += row.told is not None
            self.said.append(text if self._open is None else f"\n{text}")
        row.told, self._open = text, row

    def passed(self, row: Row) -> None:
        """The cursor leaves *row* for the next one: its line has ended for now."""
        if self.main is not None:
            return  # programs with the other screen draw all over it
        if row.told is None:
            self.again = 0
        if row.told is None or row.text() != row.told:
            self._say(row)
        if row is self._open:
            if not row.wrapped:
                self.said.append("\n")
            self._open = None

    def scrolled_off(self, row: Row) -> None:
        if row.told is None or row.text() != row.told:
            self.passed(row)
        self.kept.append(_line(row))

    def flooded(self, text: str) -> None:
        """See `Page`."""
        self.said.append(text if self._open is None else f"\n{text}")
        self.kept.append(text)
        self._open, self.again = None, 0

    # Sequences ---------------------------------------------------------------------------------------------------

    def _sequence(self, given: str, name: str) -> None:
        if given + name in _ANSWERS:
            self._answer(_ANSWERS[given + name])
        elif given == "6" and name == "n":
            self._answer(f"\x1b[{self.row + 1};{min(self.column, self.columns - 1) + 1}R")
        elif given.startswith("?") and name in "hl":
            for mode in given[1:].split(";"):
                self._set_mode(mode, on=name == "h")
        elif not given.strip("0123456789;:") and name in _MOVES:
            numbers = [min(int(number[:6]), _MOST) if number.isdecimal() else 0 for number in given.split(";")]
            _MOVES[name](self, numbers[0], numbers[1] if len(numbers) > 1 else 0)

    def _set_mode(self, mode: str, *, on: bool) -> None:
        if mode == "7":
            self.wraps = on
        elif mode in ("47", "1047", "1049") and on != (self.main is not None):
            self.change_screen(on=on)
        elif mode in _KEPT_MODES:
            self.modes[mode] = on


def _line(row: Row) -> str:
    return row.text() if row.wrapped else f"{row.text()}\n"


def _nothing(_: Screen) -> None:
    pass


_MOST = 99_999  # what a number in a sequence can mean
_CONTROLS: dict[str, Callable[[Screen], None]] = {
    "\b": Screen.backspace,
    "\t": Screen.tab,
    "\n": Screen.line_feed,
    "\x0b": Screen.line_feed,
    "\x0c": Screen.line_feed,
    "\r": Screen.carriage_return,
    "\x0e": lambda screen: screen.shift(1),
    "\x0f": lambda screen: screen.shift(0),
}
_ESCAPES: dict[str, Callable[[Screen], None]] = {
    "7": Screen.save,
    "8": Screen.restore,
    "D": Screen.index,
    "E": Screen.next_line,
    "M": Screen.reverse_index,
}
_MOVES: dict[str, Callable[[Screen, int, int], None]] = {
    "A": lambda screen, n, _: screen.go(screen.row - max(n, 1), screen.column),
    "B": lambda screen, n, _: screen.go(screen.row + max(n, 1), screen.column),
    "C": lambda screen, n, _: screen.go(screen.row, screen.column + max(n, 1)),
    "D": lambda screen, n, _: screen.go(screen.row, screen.column - max(n, 1)),
    "E": lambda screen, n, _: screen.go(screen.row + max(n, 1), 0),
    "F": lambda screen, n, _: screen.go(screen.row - max(n, 1), 0),
    "G": lambda screen, n, _: screen.go(screen.row, n - 1),
    "`": lambda screen, n, _: screen.go(screen.row, n - 1),
    "a": lambda screen, n, _: screen.go(screen.row, screen.column + max(n, 1)),
    "d": lambda screen, n, _: screen.go(n - 1, screen.column),
    "e": lambda screen, n, _: screen.go(screen.row + max(n, 1), screen.column),
    "H": lambda screen, row, column: screen.go(row - 1, column - 1),
    "f": lambda screen, row, column: screen.go(row - 1, column - 1),
    "I": lambda screen, n, _: screen.go(screen.row, (screen.column // 8 + max(n, 1)) * 8),
    "Z": lambda screen, n, _: screen.go(screen.row, ((screen.column + 7) // 8 - max(n, 1)) * 8),
    "J": Screen.erase_display,
    "K": Screen.erase_line,
    "L": Screen.insert_lines,
    "M": Screen.delete_lines,
    "@": Screen.insert_characters,
    "P": Screen.delete_characters,
    "X": Screen.erase_characters,
    "b": Screen.repeat,
    "S": lambda screen, n, _: screen.scroll(max(n, 1)),
    "T": Screen.scroll_down,
    "r": Screen.margins,
}

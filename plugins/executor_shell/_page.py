"""
The rows of a terminal's screen and its cursor: characters, moving, erasing, scrolling, margins, and the other screen of
full-screen programs. Colours are not kept.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_BOXES = str.maketrans("`afgjklmnopqrstuvwxyz{|}~", "◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")  # DEC's line drawing
_MOST_MARKS = 16  # characters of a cell


@lru_cache(maxsize=4096)
def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Row:
    """
    A row of the screen.

    Attributes:
        cells: Its characters; the second cell of a wide one is empty.
        wrapped: Whether its line goes on in the next row.
        told: Its text as `Screen.said` has it; None: not at all.
    """

    __slots__ = ("cells", "told", "wrapped")

    def __init__(self) -> None:
        self.cells: list[str] = []
        self.wrapped = False
        self.told: str | None = None

    def text(self) -> str:
        text = "".join(self.cells)
        return text if self.wrapped else text.rstrip(" ")


class Page:
    """
    What is on the screen. `passed`, `scrolled_off` and `flooded` tell what becomes of its lines.

    Attributes:
        lines: The rows of the screen that is shown.
        main: The rows and the cursor of the first screen, while the other one is shown; else None.
        row: In which row the cursor is.
        column: In which column; one past the last when the next character begins a row.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.reset()

    def reset(self) -> None:
        """Begin with an empty screen."""
        self.lines = [Row() for _ in range(self.rows)]
        self.main: tuple[list[Row], int, int] | None = None  # the first screen, while the other one is shown
        self.row = self.column = 0
        self.saved = (0, 0)
        self.top, self.bottom = 0, self.rows - 1
        self.wraps = True
        self.boxes = [False, False]
        self.shifted = 0
        self.last = " "

    def passed(self, row: Row) -> None:
        """The cursor leaves *row* for the next one: its line has ended for now."""

    def scrolled_off(self, row: Row) -> None:
        """*row*, of the first screen, is seen no more."""

    def flooded(self, text: str) -> None:
        """Whole lines, of the first screen, came and went."""

    def resize(self, columns: int, rows: int) -> None:
        """The window has another size."""
        if self.main is not None:
            lines, row, column = self.main
            self.main = lines, self._fit(lines, row, rows, keep=True), column
        self.row = self._fit(self.lines, self.row, rows, keep=self.main is None)
        self.column = min(self.column, columns)
        self.columns, self.rows = columns, rows
        self.top, self.bottom = 0, rows - 1

    def _fit(self, lines: list[Row], row: int, rows: int, *, keep: bool) -> int:
        """Make *lines* so many, above all those around the cursor. Returns in which of them it is then."""
        while len(lines) > rows and row < len(lines) - 1 and not lines[-1].cells:
            lines.pop()
        gone = max(0, len(lines) - rows)
        if keep:
            for each in lines[:gone]:
                self.scrolled_off(each)
        del lines[:gone]
        lines += [Row() for _ in range(rows - len(lines))]
        return max(0, row - gone)

    # Characters --------------------------------------------------------------------------------------------------

    def write(self, run: str) -> None:
        if self.boxes[self.shifted]:
            run = run.translate(_BOXES)
        if not run.isascii():
            self.write_wide(run)
            return
        while run:
            room = self.room(1)
            self.put(list(run[:room]))
            run = run[room:]

    def write_lines(self, block: str) -> None:
        """Many lines of plain text: all but the last of them scroll off."""
        lines = block.split("\r\n")
        here = self.lines[self.row :]
        plain = self.column == 0 and self.main is None and not self.boxes[self.shifted]
        if plain and len(lines) > self.rows and self.bottom - self.top + 1 == self.rows and not any(
            row.cells or row.told for row in here
        ):  # fmt: skip
            for row in self.lines[: self.row]:
                self.scrolled_off(row)
            gone = "".join(f"{line.rstrip(' ')}\n" for line in lines[: -self.rows])
            self.flooded(gone)
            self.lines, self.row = [Row() for _ in range(self.rows)], 0
            lines = lines[-self.rows :]
        for line in lines[:-1]:
            self.write(line)
            self.column = 0
            self.line_feed()

    def write_wide(self, run: str) -> None:
        for character in run:
            width = min(_width(character), self.columns)
            if width:
                self.room(width)
                self.put([character, ""][:width])
            elif cells := self.lines[self.row].cells[: self.column]:
                at = len(cells) - (2 if cells[-1] == "" and len(cells) > 1 else 1)
                if len(cells[at]) < _MOST_MARKS:
                    self.lines[self.row].cells[at] += character

    def room(self, least: int) -> int:
        """How many columns are left, once the line goes on in the next row where there are fewer than *least*."""
        if self.column + least > self.columns:
            if self.wraps and self.columns >= least:
                self.lines[self.row].wrapped = True
                self.line_feed()
                self.column = 0
            else:
                self.column = max(0, self.columns - least)
        return self.columns - self.column

    def put(self, cells: list[str]) -> None:
        row, column = self.lines[self.row].cells, self.column
        if len(row) < column:
            row += " " * (column - len(row))
        row[column : column + len(cells)] = cells
        self.column = column + len(cells)
        self.last = cells[-1] or cells[0]

    # Moving ------------------------------------------------------------------------------------------------------

    def line_feed(self) -> None:
        row = self.lines[self.row]
        self.passed(row)
        self.index()

    def index(self) -> None:
        if self.row == self.bottom:
            self.scroll(1)
        else:
            self.row = min(self.row + 1, self.rows - 1)

    def reverse_index(self) -> None:
        if self.row == self.top:
            self.lines.insert(self.top, Row())
            del self.lines[self.bottom + 1]
        else:
            self.row = max(0, self.row - 1)

    def scroll(self, count: int) -> None:
        for _ in range(min(count, self.bottom - self.top + 1)):
            row = self.lines.pop(self.top)
            self.lines.insert(self.bottom, Row())
            if self.top == 0 and self.main is None:
                self.scrolled_off(row)

    def carriage_return(self) -> None:
        self.column = 0

    def backspace(self) -> None:
        self.column = max(0, min(self.column, self.columns - 1) - 1)

    def tab(self) -> None:
        self.column = min((self.column // 8 + 1) * 8, self.columns - 1)

    def next_line(self) -> None:
        self.column = 0
        self.line_feed()

    def save(self) -> None:
        self.saved = self.row, self.column

    def restore(self) -> None:
        self.row, self.column = min(self.saved[0], self.rows - 1), min(self.saved[1], self.columns)

    def shift(self, which: int) -> None:
        self.shifted = which

    def go(self, row: int, column: int) -> None:
        self.row, self.column = max(0, min(row, self.rows - 1)), max(0, min(column, self.columns - 1))

    # Erasing and more ----------------------------------------------------------------------------------------------

    def change_screen(self, *, on: bool) -> None:
        if on:
            self.main = self.lines, self.row, self.column
            self.lines = [Row() for _ in range(self.rows)]
        elif self.main is not None:
            (self.lines, self.row, self.column), self.main = self.main, None
        self.top, self.bottom = 0, self.rows - 1

    def erase_display(self, how: int, _: int) -> None:
        if how >= 2:
            if how == 2:  # 3 is what has scrolled off: that stays
                self.clear_all()
            return
        self.erase_line(how, 0)
        for row in self.lines[self.row + 1 :] if how == 0 else self.lines[: self.row]:
            row.cells.clear()
            row.wrapped = False

    def clear_all(self) -> None:
        """Erase everything; what was on the first screen is kept, as if it had scrolled off."""
        if self.main is None:
            while self.lines and not self.lines[-1].cells:
                self.lines.pop()
            for row in self.lines:
                self.scrolled_off(row)
        self.lines = [Row() for _ in range(self.rows)]

    def erase_line(self, how: int, _: int) -> None:
        row = self.lines[self.row]
        if how == 0:
            del row.cells[self.column :]
            row.wrapped = False
        elif how == 1:
            end = min(self.column + 1, len(row.cells))
            row.cells[:end] = " " * end
        else:
            row.cells.clear()
            row.wrapped = False

    def insert_lines(self, count: int, _: int) -> None:
        if self.top <= self.row <= self.bottom:
            for _ in range(min(max(count, 1), self.bottom - self.row + 1)):
                del self.lines[self.bottom]
                self.lines.insert(self.row, Row())

    def delete_lines(self, count: int, _: int) -> None:
        if self.top <= self.row <= self.bottom:
            for _ in range(min(max(count, 1), self.bottom - self.row + 1)):
                del self.lines[self.row]
                self.lines.insert(self.bottom, Row())

    def insert_characters(self, count: int, _: int) -> None:
        cells = self.lines[self.row].cells
        if self.column < len(cells):
            cells[self.column : self.column] = " " * min(max(count, 1), self.columns)
            del cells[self.columns :]

    def delete_characters(self, count: int, _: int) -> None:
        del self.lines[self.row].cells[self.column : self.column + max(count, 1)]

    def erase_characters(self, count: int, _: int) -> None:
        cells = self.lines[self.row].cells
        end = min(self.column + max(count, 1), len(cells))
        if self.column < end:
            cells[self.column : end] = " " * (end - self.column)

    def repeat(self, count: int, _: int) -> None:
        self.write(self.last * min(max(count, 1), self.columns * self.rows))

    def scroll_down(self, count: int, _: int) -> None:
        for _ in range(min(max(count, 1), self.bottom - self.top + 1)):
            self.lines.insert(self.top, Row())
            del self.lines[self.bottom + 1]

    def margins(self, top: int, bottom: int) -> None:
        last = min(bottom or self.rows, self.rows) - 1
        if max(top, 1) - 1 < last:
            self.top, self.bottom = max(top, 1) - 1, last
            self.go(0, 0)

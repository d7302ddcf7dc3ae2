"""Tables as text: drawn by rich where it is installed, in plain columns elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def has_rich() -> bool:
    """Whether tables and colours can be drawn."""
    import importlib.util

    return importlib.util.find_spec("rich") is not None


def rich_table(headers: Sequence[str], rows: Sequence[Sequence[str]], whole: Sequence[str]) -> str:
    """As wide as the terminal; what does not fit is cut, but in the columns *whole*, whose words go on below."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    columns = (Column(header, overflow="fold" if header in whole else "ellipsis") for header in headers)
    table = Table(*columns, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def plain_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """As wide as it is: a pipe or file has no width."""
    lines = [headers, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )

"""The one style of tables on a terminal: plain columns that never cut a word off.

A table that is too wide first loses its optional columns, then becomes one block a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rlassay.report.words import plain

GAP = 2  # spaces between columns
LEAST_FOLDED = 24  # width below which folded text is a ladder of words
Cell = str | Text


@dataclass(frozen=True)
class Column:
    """A column: the larger `optional` is, the sooner it goes; a folded one may take several lines."""

    heading: str
    align: Literal["left", "right"] = "left"
    style: str = ""
    optional: int = 0
    fold: bool = False


def show_table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    console: Console,
    title: str = "",
) -> None:
    """Print rows under their headings in as many columns as the terminal has room for."""
    cells = [[_text(cell) for cell in row] for row in rows]
    if title:
        console.print(Text(plain(title), style="bold"))
    shown = fitting(columns, cells, console.width)
    if shown is None:
        _print_blocks(columns, cells, console)
        return
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="dim")
    for place in shown:
        column = columns[place]
        table.add_column(
            Text(column.heading),
            justify=column.align,
            style=column.style,
            no_wrap=not column.fold,
            overflow="fold",
        )
    for row in cells:
        table.add_row(*[row[place] for place in shown])
    console.print(table)


def fitting(
    columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int
) -> list[int] | None:
    """Places of the columns that fit into `width` without a cut word; None where the needed ones do not."""
    widths = [_width(column, [row[place] for row in rows]) for place, column in enumerate(columns)]
    shown = list(range(len(columns)))
    while sum(widths[place] for place in shown) + GAP * (len(shown) - 1) > width:
        droppable = [place for place in shown if columns[place].optional]
        if not droppable:
            return None
        shown.remove(max(droppable, key=lambda place: columns[place].optional))
    return shown


def _width(column: Column, cells: Sequence[Text]) -> int:
    longest = max((line.cell_len for cell in cells for line in cell.split()), default=0)
    if column.fold:
        longest = min(longest, LEAST_FOLDED)
    return max(longest, Text(column.heading).cell_len)


def _print_blocks(
    columns: Sequence[Column], rows: Sequence[Sequence[Text]], console: Console
) -> None:
    """A row as a block: its first cell as the head, the others under it with their headings."""
    for row in rows:
        console.print(Text.assemble(row[0], style="bold"))
        for column, cell in zip(columns[1:], row[1:], strict=True):
            if cell.plain:
                heading = f"{column.heading}: " if column.heading else ""
                console.print(Text.assemble(f"  {heading}", *_joined(cell)))


def _joined(cell: Text) -> list[Text]:
    """The lines of a cell as one."""
    return [part for line in cell.split() for part in (line, Text(" "))][:-1]


def _text(cell: Cell) -> Text:
    """Text from data: no markup, no emoji codes, no control characters."""
    if isinstance(cell, Text):
        return cell
    return Text("\n".join(plain(line) for line in cell.split("\n")))

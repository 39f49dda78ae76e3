"""The text of a study on a terminal: its Markdown tables as columns, wide ones split into groups that fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

GAP = 2  # blanks between two columns
LABELS = 2  # leading columns that every group repeats at most


def show_study(text: str, console: Console) -> None:
    """Print the study: Markdown as it is into a pipe or file, tables that fit on a terminal."""
    if not console.is_terminal:
        console.file.write(f"{text}\n")
        return
    for lines in _blocks(text):
        if lines[0].startswith("|"):
            _print_table([_cells(line) for line in lines if not line.startswith("|-")], console)
        else:
            for line in lines:
                heading = line.startswith("#")
                console.print(Text(line.lstrip("# "), style="bold" if heading else "default"))


def _blocks(text: str) -> Iterator[list[str]]:
    """Runs of lines that are all of a table, or all not."""
    block: list[str] = []
    for line in text.splitlines():
        if block and line.startswith("|") != block[0].startswith("|"):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _print_table(rows: Sequence[Sequence[str]], console: Console) -> None:
    groups = column_groups(rows, console.width)
    for k, columns in enumerate(groups):
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, GAP, 0, 0))
        for column in columns:
            is_label = all(not _is_number(row[column]) for row in rows[1:])
            table.add_column(Text(rows[0][column]), justify="left" if is_label else "right")
        for row in rows[1:]:
            table.add_row(*(Text(row[column]) for column in columns))
        console.print(table)
        if k < len(groups) - 1:
            console.print()


def column_groups(rows: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """Columns of each part: as many as fit, behind the labels; headings may fold, numbers may not."""
    widths = [
        max(_width(row[column], k == 0) for k, row in enumerate(rows)) + GAP
        for column in range(len(rows[0]))
    ]
    labels = _labels(rows)
    groups, taken = [list(labels)], sum(widths[k] for k in labels)
    for column in range(len(labels), len(widths)):
        if taken + widths[column] > width and len(groups[-1]) > len(labels):
            groups.append(list(labels))
            taken = sum(widths[k] for k in labels)
        groups[-1].append(column)
        taken += widths[column]
    return groups


def _labels(rows: Sequence[Sequence[str]]) -> list[int]:
    """Leading columns of words, which name the rows."""
    found: list[int] = []
    for column in range(min(LABELS, len(rows[0]))):
        if any(_is_number(row[column]) for row in rows[1:]):
            break
        found.append(column)
    return found or [0]


def _width(cell: str, heading: bool) -> int:
    """Cells stay whole; a heading may break between its words."""
    return max((cell_len(word) for word in cell.split()), default=0) if heading else cell_len(cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell.split(" [")[0])
    except ValueError:
        return False
    return True

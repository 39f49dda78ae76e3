"""Fill the tables of README.md and docs/ from results/, so that no number is copied by hand; a test checks they are current.

    python scripts/fill_docs.py

A table stands between two comments. The first names its source: a Markdown file, whole, or a CSV with the columns to show
and, behind `where`, the rows:

    <!-- table results/fig2/table.md -->
    <!-- table results/bench/agents.csv: agent, speedup where threads=1 -->
    ...
    <!-- end -->

A picture `images/results/X` that a page of docs/ shows is a copy of `results/X`: the site holds nothing outside docs/.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from rlassay.study.grid.files import markdown_table, read_table

ROOT = Path(__file__).parent.parent
PICTURE = re.compile(r"\]\((images/results/(?P<source>[^)]+))\)")
BLOCK = re.compile(r"(<!-- table (?P<what>[^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text: str) -> str:
    """The page with every table made anew; a source that is not there yet says so."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{render(found['what'])}\n{found[3]}", text)


def render(what: str) -> str:
    source, _, asked = what.partition(":")
    path = ROOT / source.strip()
    if not path.exists():
        return f"Being computed; it will be in `{source.strip()}`.\n"
    if path.suffix == ".md":
        return path.read_text()
    columns, _, conditions = asked.partition(" where ")
    rows = [row for row in read_table(path) if matches(row, conditions)]
    names = [column.strip() for column in columns.split(",")]
    whole = {name for name in names if all(is_whole(row[name]) for row in rows)}
    shown = [{k: int(v) if k in whole else v for k, v in row.items()} for row in rows]
    return markdown_table(shown, names)


def stale_pictures() -> dict[Path, Path]:
    """Copies that are missing or differ, with what they are copies of."""
    found = {}
    for page in pages():
        for link in PICTURE.finditer(page.read_text()):
            copy, source = page.parent / link[1], ROOT / "results" / link["source"]
            if not copy.exists() or copy.read_bytes() != source.read_bytes():
                found[copy] = source
    return found


def is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


def matches(row: dict, conditions: str) -> bool:
    """Whether the row meets `column=value and column=value`; numbers compare as numbers."""
    for condition in filter(None, conditions.split(" and ")):
        name, _, value = (part.strip() for part in condition.partition("="))
        known = row[name]
        if (known != float(value)) if isinstance(known, float) else (str(known) != value):
            return False
    return True


def main() -> None:
    for page in pages():
        text = page.read_text()
        if (new := filled(text)) != text:
            page.write_text(new)
            print(f"filled {page.relative_to(ROOT)}")
    for copy, source in stale_pictures().items():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        print(f"copied {source.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

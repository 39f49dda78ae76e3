"""Write the table of scores in docs/scores/index.md from the scores themselves: python scripts/make_score_docs.py"""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "scores" / "index.md"
BEGIN, END = "<!-- scores -->\n", "<!-- end of scores -->\n"


def page(text: str) -> str:
    """The page with its table made anew."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2]


def table() -> str:
    """One row a score: name, title, meaning, direction and unit."""
    from rlassay.scoring import SCORES

    lines = ["| score | title | what it says | better | unit |", "|---|---|---|---|---|"]
    lines += [
        f"| `{name}` | {spec.title} | {spec.meaning} | {spec.direction} | {spec.unit} |"
        for name, spec in SCORES.items()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))

"""Write the table of scores in docs/scores/index.md and one page a score, from the scores themselves and the committed study.

python scripts/make_score_docs.py
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "scores"
PAGE = FOLDER / "index.md"
BEGIN, END = "<!-- scores -->\n", "<!-- end of scores -->\n"
CORRELATIONS = ROOT / "results" / "fig2" / "correlations.csv"
SCOPE = "pooled, both min-max"
PANELS = {"all": "all 30 datasets", "mixtures": "15 mixtures"}
QUESTIONS = ROOT / "results" / "long" / "questions.csv"


def page(text: str) -> str:
    """The page of all scores with its table made anew."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2]


def table() -> str:
    """One row a score: name, title, meaning, direction and unit."""
    from rlassay.scoring import SCORES

    lines = ["| score | title | what it says | better | unit |", "|---|---|---|---|---|"]
    lines += [
        f"| [`{name}`](each/{name}.md) | {spec.title} | {spec.meaning} | {spec.direction} | {spec.unit} |"
        for name, spec in SCORES.items()
    ]
    return "\n".join(lines) + "\n"


def pages() -> dict[Path, str]:
    """Every score's own page."""
    from rlassay.scoring import SCORES

    families = family_of()
    return {
        FOLDER / "each" / f"{name}.md": score_page(name, spec, families[name])
        for name, spec in SCORES.items()
    }


def score_page(name: str, spec, family: tuple[str, str]) -> str:
    """What it says, how to ask for it, where it is explained and made, and how well it predicts."""
    title, place = family
    lines = [
        f"# `{name}`: {spec.title}",
        "",
        f"{spec.meaning} {spec.direction.capitalize()} is better. Unit: {spec.unit}.{possible(spec)}",
        "",
        *of_discrete(spec),
        f"- **Given** {given(name, spec)}.",
        f"- **Rests on** {rests_on(spec)}.",
        f"- **Interval**: 95 %, from episodes that are resampled{', and from seeds' if spec.seeded else ''}; each entry is one {spec.per}.",
        f"- **Formula, limits, when it fails**: [{title}](../{place}).",
        "- **Made in**: see [where is X made](../../architecture.md#where-is-x-made).",
        "",
        "```bash",
        f"rlassay score data.hdf5 --scores {name}",
        "```",
        "",
        *evidence(name),
    ]
    return "\n".join(lines) + "\n"


def possible(spec) -> str:
    """What values it can have, where that is bounded."""
    if spec.least == -float("inf") and spec.most == float("inf"):
        return ""
    if spec.most == float("inf"):
        return f" Never below {spec.least:g}."
    return f" Between {spec.least:g} and {spec.most:g}."


def of_discrete(spec) -> list[str]:
    """What it says of discrete actions, where that is something else."""
    if spec.discrete is None:
        return []
    return [f"- **Of discrete actions**: {spec.discrete.meaning} Unit: {spec.discrete.unit}."]


def given(name: str, spec) -> str:
    """When a card holds it."""
    from rlassay.scoring.registry import FIRST_ASKED

    if spec.retired:
        return "only where it is named: it is retired"
    return "on every card" if name in FIRST_ASKED else "with `--all`, or where it is named"


def rests_on(spec) -> str:
    """Its inputs, and whether something is learned for it."""
    columns = ", ".join(f"`{need}`" for need in spec.needs)
    if spec.of_critic:
        return f"{columns}: values of a [critic](../../critic.md) that is fitted to the data"
    return columns


def evidence(name: str) -> list[str]:
    """Its correlations with what agents reach, of the committed studies."""
    rows = {
        row["panel"]: row
        for row in rows_of(CORRELATIONS, name)
        if row["scope"] == SCOPE and row["kind"] == "pearson"
    }
    known = [(label, rows[panel]) for panel, label in PANELS.items() if panel in rows]
    if not known:
        return []
    lines = [
        "## Does it predict?",
        "",
        "Pearson correlation with what seven agents reach, pooled over three environments (`rlassay study fig2`, oracle `lite`; [rules and limits](../../study.md)):",
    ]
    return [*lines, *correlations("datasets", known), *on_long(name)]


def on_long(name: str) -> list[str]:
    """The same on the long oracle, by what one may train; scores that have no place on D4RL's scale have none."""
    known = [
        (
            f"{row['target']}, {row['n']} {'mixtures' if row['panel'] == 'mixtures' else 'datasets'}",
            row,
        )
        for row in rows_of(QUESTIONS, name)
        if row["scaling"] == "D4RL's scale"
    ]
    if not known:
        return []
    lines = [
        "",
        "After 150,000 updates, on D4RL's scale (`rlassay study long`; [rules and answers](../../long-oracle.md)):",
    ]
    return [*lines, *correlations("with what is reached by", known)]


def rows_of(path: Path, name: str) -> list[dict[str, str]]:
    """The rows of one score in a committed table."""
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["score_name"] == name]


def correlations(heading: str, known: list[tuple[str, dict[str, str]]]) -> list[str]:
    """One row a correlation with its interval."""
    lines = ["", f"| {heading} | correlation | 95 % interval |", "|---|---|---|"]
    return lines + [
        f"| {label} | {float(row['value']):.2f} | {float(row['low']):.2f} to {float(row['high']):.2f} |"
        for label, row in known
    ]


def family_of() -> dict[str, tuple[str, str]]:
    """The page that explains a score, by the table of families on the page of all scores."""
    found = {}
    for title, place, scores in re.findall(
        r"^\| \[([^\]]+)\]\((\w+\.md)\) \| ([^|]+) \|", PAGE.read_text(), re.M
    ):
        found |= dict.fromkeys(re.findall(r"`([^`]+)`", scores), (title, place))
    return found


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

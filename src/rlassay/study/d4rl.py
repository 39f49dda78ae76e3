"""Table 1 on real D4RL files, for people who have them: our scores beside the published oracle."""

from __future__ import annotations

import re
from pathlib import Path

from rlassay.errors import DatasetError, SettingsError
from rlassay.scoring import signs
from rlassay.study.analysis.correlate import correlation_rows, make_points
from rlassay.study.grid.cells import Report
from rlassay.study.grid.files import Row, markdown_table, write_table

NAME = re.compile(
    r"(halfcheetah|hopper|walker2d)[-_](random|medium|medium[-_]replay|medium[-_]expert|expert)-v2\.hdf5"
)
SEEDS = 3


def d4rl_table(name: str, folder: Path, results: Path, report: Report) -> tuple[str, list[str]]:
    """Score every `<env>-<split>-v2.hdf5` of a folder and correlate with the published oracle."""
    if name != "table1":
        raise SettingsError("--data belongs to table1", allowed="table1", got=name)
    files = find_files(folder)
    rows = [row for path, dataset in files for row in score_rows(path, dataset, report)]
    target = results / "d4rl"
    about = {
        "command": f"rlassay study table1 --data {folder.name}",
        "seeds": SEEDS,
        "complete": True,
    }
    columns = ["environment", "dataset", "score_name", "seed", "value"]
    write_table(target / "scores.csv", rows, columns, about)
    oracle = {(row["environment"], row["dataset"]): row["oracle"] for row in rows}
    table = [
        {"environment": key[0], "dataset": key[1], "oracle": value, **_means(rows, key)}
        for key, value in oracle.items()
    ]
    write_table(target / "table.csv", table, list(table[0]), about)
    text = markdown_table(table, list(table[0]))
    points = make_points(rows, oracle, signs())
    if len(points.y) >= 3:
        found = correlation_rows(points, "splits")
        write_table(target / "correlations.csv", found, list(found[0]), about)
        shown = [row for row in found if row["kind"] == "pearson"]
        text += "\n### Pearson with the published oracle\n\n"
        text += markdown_table(shown, ["scope", "score_name", "n", "value", "low", "high"])
    return text, []


def find_files(folder: Path) -> list[tuple[Path, str]]:
    """D4RL files of the three environments by name; a folder without any is refused."""
    found = sorted(
        (path, path.stem.replace("_", "-"))
        for path in folder.glob("*.hdf5")
        if NAME.fullmatch(path.name)
    )
    if not found:
        raise DatasetError(
            f"{folder} holds no D4RL file of the study",
            allowed="<env>-<split>-v2.hdf5 of halfcheetah, hopper and walker2d",
            remedy="download the files with D4RL, then name their folder",
        )
    return found


def score_rows(path: Path, dataset: str, report: Report) -> list[Row]:
    """Every score of one file and seed, with the published oracle of its name."""
    from rlassay.oracle import published_oracle
    from rlassay.scoring import score

    card = score(path, seeds=SEEDS)
    report(f"{dataset}: scored in {card.seconds['total']:.0f} s")
    oracle = published_oracle(dataset).score["value"]
    environment, _, split = dataset.removesuffix("-v2").partition("-")
    return [
        {
            "environment": environment,
            "dataset": split,
            "score_name": name,
            "seed": seed,
            "value": value,
            "oracle": oracle,
        }
        for name, found in card.scores.items()
        for seed, value in enumerate(found.per_seed)
    ]


def _means(rows: list[Row], key: tuple[str, str]) -> Row:
    values: dict[str, list[float]] = {}
    for row in rows:
        if (row["environment"], row["dataset"]) == key:
            values.setdefault(row["score_name"], []).append(row["value"])
    return {name: sum(found) / len(found) for name, found in values.items()}

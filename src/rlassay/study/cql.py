"""CQL once more: variants that see bounded actions and weigh the conservative term anew, on `expert` data of three environments.

The rule is in docs/long-oracle.md: a variant that reaches half of BC on `expert` in every environment joins the long oracle.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rlassay.study.grid.cells import Cell, Report, read_runs
from rlassay.study.grid.files import Row, read_table
from rlassay.study.grid.plan import Profile
from rlassay.study.grid.sweep import run_sweep, write_sweep

DATASET = "expert"
ENVIRONMENTS = (
    "Hopper-v5",
    "HalfCheetah-v5",
    "Walker2d-v5",
)  # the second and third only where the first is passed
MARGIN = {"cql.likelihood_margin": 0.03}
SCALED = MARGIN | {"cql.conservative_scaling": "values", "cql.conservative_weight": 0.05}
VARIANTS = {
    "margin": MARGIN,
    "margin, weight by values": SCALED,
    "margin, weight by values, cloning 0.25": SCALED | {"cql.cloning_share": 0.25},
    "margin, weight 0.5": MARGIN | {"cql.conservative_weight": 0.5},
    "margin, weight by values, published rates": SCALED
    | {"cql.learning_rate": 3e-4, "cql.actor_learning_rate": 1e-4, "cql.target_rate": 0.005},
}
SHARE = 0.5  # of BC's score
COLUMNS = ("environment", "variant", "score", "bc", "passed")


def cells(environment: str, profile: Profile, zoo: Path, report: Report) -> list[Cell]:
    """Every variant, one seed."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.training import training_cells

    data = study_data(environment, (DATASET,), profile, zoo, report)
    return [
        cell
        for name, changes in VARIANTS.items()
        for cell in training_cells(data.values(), ["cql"], [0], profile.name, changes, name)
    ]


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Train on Hopper what is missing, and on the others where a variant passes there."""
    failures = run_sweep("cql", cells, results, profile, zoo, report, ENVIRONMENTS[:1])
    if not failures and any(row["passed"] for row in table_rows(results)):
        failures = run_sweep("cql", cells, results, profile, zoo, report, ENVIRONMENTS)
    return failures


def render(results: Path) -> str:
    """Each variant's score beside BC's on the same data."""
    rows = table_rows(results)
    text = write_sweep("cql", results, rows, COLUMNS)
    return f"{verdict(rows)}\n\n{text}"


def table_rows(results: Path) -> list[Row]:
    """Scores of the variants, BC's of the committed `lite` runs, and whether half of it is reached."""
    cloned = {
        row["environment"]: row["score"]
        for row in read_table(results / "table1" / "runs.csv")
        if row["agent"] == "bc" and row["dataset"] == DATASET
    }
    return [
        {
            "environment": row["environment"],
            "variant": row["variant"],
            "score": row["score"],
            "bc": cloned[row["environment"]],
            "passed": row["score"] >= SHARE * cloned[row["environment"]],
        }
        for row in read_runs("cql", results)
        if row["score"] is not None
    ]


def verdict(rows: Sequence[Row]) -> str:
    """Which variants pass everywhere, in a sentence."""
    passed = [
        name
        for name in VARIANTS
        if {row["environment"] for row in rows if row["variant"] == name and row["passed"]}
        == set(ENVIRONMENTS)
    ]
    if passed:
        return f"Reach half of BC on `{DATASET}` in every environment: {', '.join(passed)}."
    return f"No variant of CQL reaches half of BC on `{DATASET}` in every environment: the long oracle has six agents."
